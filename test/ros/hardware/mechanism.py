"""A robot of rigid links in MuJoCo, with motors and brakes at its joints."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from hardware.settings import Payload, Settings

Array = NDArray[np.float64]

TICK = 1e-3
"""s, in which torques do not change."""

_SUBSTEPS_OF_CONTACTS = 4
"""Steps in a tick where friction or stops are solved for; a tick is a step without."""

# MuJoCo softens friction so that it creeps: by default at 1 % of the acceleration it holds back.
_HARD = [0.999, 0.9999, 0.001, 0.5, 2.0]


@dataclass
class Push:
    """A force in N, in the world's axes, at a point of a link; for some ticks."""

    body: int
    offset: Array
    force: Array
    ticks: int


class Mechanism:
    """The state of a robot, and how it goes on; vectors are in the order of `joints`.

    Attributes
    ----------
    braked : bool
        Whether brakes hold the joints where they are.
    position, velocity, effort : array (n,)
        Effort is that of the motors.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.joints = list(settings.joints)
        motors = settings.motors or self.joints
        self._limits = effort_limits(settings.urdf, motors)
        self._driven = np.array([self.joints.index(name) for name in motors])
        self.braked = settings.braked
        self._pushes: list[Push] = []
        self.carry(settings.payload)
        if len(settings.initial):
            self._qpos[self._order] = settings.initial
        self.position = self._qpos[self._order]
        self.velocity = np.zeros(len(self.joints))
        self.effort = np.zeros(len(self.joints))

    def carry(self, payload: Payload) -> None:
        """Have a payload, instead of the one before."""
        model = compiled(self._settings, payload)
        data = mujoco.MjData(model)
        before = getattr(self, "_data", None)
        if before is not None:
            data.qpos[:], data.qvel[:], data.ctrl[:] = before.qpos, before.qvel, before.ctrl
        self._model, self._data = model, data
        self._steps = round(TICK / model.opt.timestep)
        joints = [model.joint(name) for name in self.joints]
        self._order = np.array([int(joint.qposadr[0]) for joint in joints])
        self._qpos, self._qvel, self._ctrl = data.qpos, data.qvel, data.ctrl

    def command(self, efforts: Array) -> None:
        """Efforts that the motors exert from now on, as far as their limits allow."""
        self._ctrl[:] = np.minimum(np.maximum(efforts, -self._limits), self._limits)
        self.effort = np.zeros(len(self.joints))
        self.effort[self._driven] = self._ctrl

    def push(
        self, link: str, force: Sequence[float], seconds: float, offset: Sequence[float]
    ) -> None:
        body = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_BODY, link)
        if body < 0:
            raise ValueError(f"there is no link {link!r} to push")
        vectors = np.array([offset, force], dtype=float)
        self._pushes.append(Push(body, *vectors, max(round(seconds / TICK), 1)))

    def tick(self) -> None:
        """Go on by a tick."""
        if self.braked:
            self._qvel[:] = 0.0
        else:
            if self._pushes:
                self._apply_pushes()
            mujoco.mj_step(self._model, self._data, self._steps)
        self.position = self._qpos[self._order]
        self.velocity = self._qvel[self._order]

    def energy(self) -> tuple[float, float]:
        """Potential and kinetic, J."""
        self._model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        mujoco.mj_forward(self._model, self._data)
        self._model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        return float(self._data.energy[0]), float(self._data.energy[1])

    def _apply_pushes(self) -> None:
        model, data = self._model, self._data
        data.qfrc_applied[:] = 0.0
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        for push in self._pushes:
            if push.ticks > 0:
                turn = data.xmat[push.body].reshape(3, 3)
                point = data.xpos[push.body] + turn @ push.offset
                mujoco.mj_applyFT(
                    model, data, push.force, np.zeros(3), point, push.body, data.qfrc_applied
                )
            push.ticks -= 1
        # one that has ended stays for a tick more, in which it takes its force away
        self._pushes = [push for push in self._pushes if push.ticks >= 0]


def compiled(settings: Settings, payload: Payload) -> mujoco.MjModel:
    """The model of MuJoCo."""
    spec = mujoco.MjSpec.from_string(_bare_urdf(settings.urdf, settings.joints))
    contacts = settings.stops
    for joint in spec.joints:
        joint.limited = settings.stops
        joint.damping[0] += _of_joint(settings.viscous, joint.name)
        joint.frictionloss += _of_joint(settings.dry, joint.name)
        joint.solimp_friction = _HARD
        contacts |= joint.frictionloss > 0.0
    for name in settings.motors or settings.joints:
        spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    # without contacts this is exact to 1e-8 rad in seconds; with friction to some 1e-5
    spec.option.gravity = settings.gravity
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    contacts |= bool(settings.pins or settings.gears)
    spec.option.timestep = TICK / (_SUBSTEPS_OF_CONTACTS if contacts else 1)
    stiff = [2.0 * spec.option.timestep, 1.0]
    for joint in spec.joints:
        joint.solref_friction = stiff
    for k, pinned in enumerate(settings.pins):
        tie = spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, solref=stiff, solimp=_HARD)
        tie.objtype, tie.name1, tie.name2 = mujoco.mjtObj.mjOBJ_SITE, f"pin{k}:0", f"pin{k}:1"
        for side, (link, at) in enumerate(pinned):
            spec.body(link).add_site(name=f"pin{k}:{side}", pos=at)
    for first, second, ratio in settings.gears:
        tie = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, solref=stiff, solimp=_HARD)
        # the second's position is a polynomial of the first's
        tie.name1, tie.name2, tie.data[:2] = second, first, (0.0, ratio)
    if payload.mass > 0.0:
        link = spec.body(payload.link)
        if link is None:
            raise ValueError(f"there is no link {payload.link!r} that could carry a payload")
        body = link.add_body(name="payload", pos=payload.offset, mass=payload.mass)
        body.explicitinertial, body.ipos, body.inertia = True, np.zeros(3), np.zeros(3)
    model: mujoco.MjModel = spec.compile()
    return model


def effort_limits(urdf: str, joints: Sequence[str]) -> Array:
    """Largest efforts that a URDF allows joints; infinite where it names none."""
    found = {}
    for joint in ElementTree.fromstring(urdf).findall("joint"):
        limit = joint.find("limit")
        effort = 0.0 if limit is None else float(limit.get("effort", 0.0))
        found[joint.get("name")] = effort if effort > 0.0 else np.inf
    return np.array([found[name] for name in joints])


def _bare_urdf(urdf: str, joints: Sequence[str]) -> str:
    """A URDF without shapes, in which no other joints move, and every link remains a body."""
    root = ElementTree.fromstring(urdf)
    names = {joint.get("name") for joint in root.findall("joint")}
    if missing := [name for name in joints if name not in names]:
        raise ValueError(f"the URDF has no joint {missing[0]!r}")
    for parent in (*root.findall("link"), *root.findall("joint")):
        for child in list(parent):
            if child.tag in ("visual", "collision", "mimic", "safety_controller"):
                parent.remove(child)
        if parent.tag == "joint" and parent.get("name") not in joints:
            parent.set("type", "fixed")
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", fusestatic="false")
    return ElementTree.tostring(root, encoding="unicode")


def _of_joint(values: float | Mapping[str, float], name: str) -> float:
    return values.get(name, 0.0) if isinstance(values, Mapping) else values
