"""Rows about robots with constraints: one forward dynamics, and steps of a simulation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import kane_dynamics as kd
from benchmarks.contacts import WITHIN
from benchmarks.contacts import block as _block
from benchmarks.robots import BUNDLED, ROBOTS
from benchmarks.rows import Row
from benchmarks.timing import Pair, Run, burst, now

TURNS, STEP_TURNS = 300, 3
STEPS, STEP = 20_000, 1e-3
SWITCHED_STEPS, SWITCHES = 10_000, 1_000
PROXIMAL = 1e-12, 1e-12, 10
"""Of Pinocchio's iteration, so that accelerations agree to 1e-8: accuracies, iterations."""

GRIPPING = (0.3, 0.3, -0.3, -0.3, -0.3, 0.3)
"""Angles of the gripper, and directions in which it moves."""

LEGS = {"HAA": 0.1, "HFE": 0.7, "KFE": -1.4}
"""Angles of the quadruped's front legs; the hind legs bend the other way."""


# ------------------------------------------------------------------------------------ mechanisms
class Quadruped:
    """Solo on four feet, which are points that stay where they are."""

    path = ROBOTS / "robots" / "solo_description" / "robots" / "solo12.urdf"
    feet = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")

    @cached_property
    def robot(self) -> kd.Dynamics:
        free, q = kd.load(self.path, base="floating"), self.q
        stands = [
            kd.Loop(foot, foot, "world", at2=tuple(free.pose(foot, q)[:3, 3])) for foot in self.feet
        ]
        return kd.load(self.path, base="floating", constraints=stands)

    @cached_property
    def q(self) -> np.ndarray:
        names = kd.load(self.path, base="floating").joint_names
        bent = [LEGS[name[-3:]] * (-1 if name[0] == "H" else 1) for name in names]
        return np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0, *bent])

    @cached_property
    def model(self) -> pin.Model:
        return pin.buildModelFromUrdf(str(self.path), pin.JointModelFreeFlyer())

    def ends(self) -> list[tuple[Any, ...]]:
        """For each constraint, a link and a point on it; then those of the other link, if any."""
        return [(foot, np.zeros(3)) for foot in self.feet]


class Gripper:
    """The bundled gripper; its gears are left out, of which Pinocchio does not know."""

    path = BUNDLED / "parallel_gripper.urdf"

    @cached_property
    def robot(self) -> kd.Dynamics:
        return kd.load(self.path, constraints=self.loops)

    @cached_property
    def loops(self) -> list[Any]:
        at = {"left": (0.02, -0.01, 0.0), "right": (0.02, 0.01, 0.0)}
        return [
            kd.Loop(side, f"{side}_finger", f"{side}_follower", at1=at[side], at2=(0.05, 0.0, 0.0))
            for side in at
        ]

    @cached_property
    def q(self) -> np.ndarray:
        return np.array(GRIPPING)

    @cached_property
    def model(self) -> pin.Model:
        return pin.buildModelFromUrdf(str(self.path))

    def ends(self) -> list[tuple[Any, ...]]:
        return [
            (each.link1, np.array(each.at1[:3]), each.link2, np.array(each.at2[:3]))
            for each in self.loops
        ]


# ---------------------------------------------------------------------------- forward dynamics
def _forward(mechanism: Callable[[], Any]) -> Pair:
    """One call of each, once it is seen that both give the same."""
    made = mechanism()
    robot, random = made.robot, np.random.default_rng(1)
    q = robot.assemble(made.q)
    u = robot.admissible_speeds(q, random.normal(size=robot.dof))
    base = robot.dof - len(robot.joint_names)
    tau = np.append(np.zeros(base), random.normal(size=len(robot.joint_names)))
    theirs, order = _theirs(made, q, u, tau, base)
    expected = pin.constraintDynamics(*theirs)[order]
    found = robot.forward_dynamics(q, u, tau)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    ours = burst(robot.forward_dynamics, q, u, tau)
    return Pair(ours, burst(pin.constraintDynamics, *theirs))


def _theirs(made: Any, q: Any, u: Any, tau: Any, base: int) -> tuple[Any, Any]:
    """Arguments of pin.constraintDynamics, and where our speeds are in theirs."""
    model, data = made.model, made.model.createData()
    names = made.robot.joint_names
    order = list(range(base)) + [model.joints[model.getJointId(name)].idx_v for name in names]
    x = pin.neutral(model)
    if base:
        x[:7] = q[:7]
    for name, position in zip(names, q[len(q) - len(names) :]):
        joint = model.joints[model.getJointId(name)]
        turns = [np.cos(position), np.sin(position)]
        x[joint.idx_q : joint.idx_q + joint.nq] = turns if joint.nq == 2 else [position]
    v, torque = np.zeros((2, model.nv))
    v[order], torque[order] = u, tau
    models, own = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for ends in made.ends():
        models.append(_point(model, *ends))
        own.append(models[-1].createData())
    pin.initConstraintDynamics(model, data, models, own)
    return (model, data, x, v, torque, models, own, pin.ProximalSettings(*PROXIMAL)), order


def _point(model: pin.Model, *ends: Any) -> pin.RigidConstraintModel:
    places = []
    for link, at in zip(ends[::2], ends[1::2]):
        frame = model.frames[model.getFrameId(link, pin.FrameType.BODY)]
        places += [frame.parentJoint, frame.placement * pin.SE3(np.eye(3), at)]
    places += [0, pin.SE3.Identity()] if len(places) == 2 else []
    kind, axes = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    return pin.RigidConstraintModel(kind, model, *places, axes)


# ----------------------------------------------------------------------------------- simulation
def _steps(name: str, start: tuple[float, ...], speeds: tuple[float, ...]) -> Pair:
    """A step of a mechanism that moves under its constraints, and of the same bodies without."""
    urdf: Path = BUNDLED / f"{name}.urdf"
    held = kd.load(urdf, constraints=BUNDLED / f"{name}.yaml")
    assert isinstance(held, kd.ConstrainedDynamics)
    q, free = held.assemble(np.array(start)), kd.load(urdf)
    u = held.admissible_speeds(q, np.array(speeds))
    assert np.abs(u).max() > 0.05
    for each in (held, free):
        each.simulate(STEPS * STEP, q, u, step=STEP)  # derived and compiled before it is timed
    return Pair(*(_step(partial(each.simulate, STEPS * STEP, q, u)) for each in (held, free)))


def _step(simulate: Callable[..., object]) -> Run:
    """Seconds of a step of many."""

    def run() -> float:
        begin = now()
        simulate(step=STEP, output_step=STEPS * STEP)
        return (now() - begin) / STEPS

    return run


def _switching(limit: float | None = None) -> Pair:
    """What a lock costs that is switched on and off, and a step; its force may have a limit."""
    urdf = BUNDLED / "mobile_manipulator.urdf"
    wheels = [kd.Rolling(f"{side}_rolls", f"{side}_wheel", 0.1) for side in ("left", "right")]
    brake = kd.Lock("brake", "elbow", active=False, limit=limit)
    robot = kd.load(urdf, constraints=[*wheels, brake])
    assert isinstance(robot, kd.ConstrainedDynamics)
    q, duration = np.zeros(7), SWITCHED_STEPS * STEP
    u = robot.admissible_speeds(q, 0.1 * np.ones(7))
    times = (np.arange(SWITCHES) + 0.5) * duration / SWITCHES
    switches = [kd.Switch("brake", on=k % 2 == 0, at=float(t)) for k, t in enumerate(times)]

    def seconds(*some: kd.Switch) -> float:
        begin = now()
        motion = robot.simulate(
            duration, q, u, step=STEP, output_step=duration, switches=list(some)
        )
        taken = now() - begin
        assert len([each for each in motion.events if each.kind in ("on", "off")]) == len(some)
        return taken

    seconds(*switches)  # derived and compiled before it is timed

    def unswitched() -> float:
        """As many steps, half of them with the lock, as there are between the switches."""
        early = kd.Switch("brake", on=True, at=STEP)
        return 0.5 * (min(seconds() for _ in range(3)) + min(seconds(early) for _ in range(3)))

    def switch() -> float:
        return (seconds(*switches) - unswitched()) / SWITCHES

    return Pair(switch, lambda: unswitched() / SWITCHED_STEPS)


ROWS = (
    Row(
        "constraints-block",
        f"block on four contacts: a second, within {WITHIN * 1e3:g} mm of where it comes to rest",
        "MuJoCo",
        1.0,
        _block,
        STEP_TURNS,
    ),
    Row(
        "constraints-switch",
        "mobile manipulator: a lock switched while it moves",
        "ours, a step",
        20.0,
        _switching,
        STEP_TURNS,
    ),
    Row(
        "constraints-switch-limited",
        "the same, of a lock that slips beyond 5 N m",
        "ours, a step",
        20.0,
        partial(_switching, 5.0),
        STEP_TURNS,
    ),
    Row(
        "constraints-forward-quadruped",
        "Solo on four feet: one forward dynamics",
        "pin.constraintDynamics",
        0.5,
        partial(_forward, Quadruped),
        TURNS,
    ),
    Row(
        "constraints-forward-loops",
        "gripper of two loops: one forward dynamics",
        "pin.constraintDynamics",
        0.5,
        partial(_forward, Gripper),
        TURNS,
    ),
    Row(
        "constraints-step-gripper",
        f"gripper: a step of {STEPS}, RK4",
        "ours, without constraints",
        3.0,
        partial(_steps, "parallel_gripper", GRIPPING, tuple(0.3 * q for q in GRIPPING)),
        STEP_TURNS,
    ),
    Row(
        "constraints-step-mobile",
        f"mobile manipulator: a step of {STEPS}, RK4",
        "ours, without constraints",
        3.0,
        partial(_steps, "mobile_manipulator", (0.0,) * 7, (0.1,) * 7),
        STEP_TURNS,
    ),
)
