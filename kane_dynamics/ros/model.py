"""The robot that the node serves: its dynamics in terms of what joint states can say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.dynamics import Dynamics
from kane_dynamics.errors import ModelError
from kane_dynamics.loading import load
from kane_dynamics.ros.parameters import Settings
from kane_dynamics.simulation.trajectory import trajectory_through
from kane_dynamics.symbolic.program import Operations

Array = NDArray[np.float64]

NO_MODEL = "there is no model of the robot yet: try again later"

_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Model:
    """A robot of n moving joints, each with one position.

    Efforts and positions are those of the joints alone; the base, where it floats, is at the origin
    of the world, upright and at rest.
    """

    dynamics: Dynamics

    @cached_property
    def backend(self) -> str:
        """Whether compiled C or NumPy computes."""
        return "c" if self.dynamics.compiled else "numpy"

    @cached_property
    def operations(self) -> dict[str, Operations]:
        """Arithmetic operations of what is called most."""
        return {name: self.dynamics.operations(name) for name in ("gravity", "inverse_dynamics")}

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The order of all arrays."""
        return self.dynamics.joint_names

    @cached_property
    def index(self) -> dict[str, int]:
        """Place of each joint in the arrays."""
        return {name: k for k, name in enumerate(self.joint_names)}

    @cached_property
    def other_joints(self) -> frozenset[str]:
        """Joints of the robot that do not move by themselves."""
        return frozenset(joint.name for joint in self.dynamics.robot.joints) - set(self.index)

    @cached_property
    def floating(self) -> bool:
        """Whether the base has speeds, which come before those of the joints."""
        return self.dynamics.dof > len(self.joint_names)

    @cached_property
    def effort_limits(self) -> Array:
        """Largest efforts, infinite where the URDF gives none."""
        return np.abs(self.dynamics.limits.effort)

    @cached_property
    def turns(self) -> NDArray[np.bool_]:
        """Which joints are continuous: a turn more or less is the same position."""
        return self._are("continuous")

    @cached_property
    def slides(self) -> NDArray[np.bool_]:
        """Which joints are prismatic."""
        return self._are("prismatic")

    def _are(self, kind: str) -> NDArray[np.bool_]:
        robot = self.dynamics.robot
        return np.array([robot.joint(name).kind == kind for name in self.joint_names])

    def apart(self, positions: Array, others: Array) -> Array:
        """How far positions are from others; whole turns of continuous joints do not count."""
        moved = positions - others
        turns = np.round(moved / (2.0 * np.pi)) * (2.0 * np.pi)
        return np.abs(moved - np.where(self.turns, turns, 0.0))

    @cached_property
    def gravity(self) -> Any:
        """Function from positions, (n,) or (N, n), to the efforts that hold the robot still."""
        if not self.floating:
            return self.dynamics.gravity
        return lambda positions: self.dynamics.gravity(self.coordinates(positions))[..., 6:]

    def efforts(self, positions: Array, velocities: Array, accelerations: Array) -> Array:
        """Efforts that produce the accelerations, (n,) or (N, n)."""
        if not self.floating:
            return self.dynamics.inverse_dynamics(positions, velocities, accelerations)
        return self.dynamics.inverse_dynamics(
            self.coordinates(positions), self.speeds(velocities), self.speeds(accelerations)
        )[..., 6:]

    def coordinates(self, positions: Array, base: Any = _ORIGIN) -> Array:
        """Coordinates q, with the pose of the base where it floats."""
        return _with_base(base, positions) if self.floating else positions

    def speeds(self, velocities: Array, base: Any = (0.0,) * 6) -> Array:
        """Speeds u, with the twist of the base where it floats."""
        return _with_base(base, velocities) if self.floating else velocities


def load_model(description: str, settings: Settings) -> Model:
    """The model of a robot description, with everything compiled that callbacks call.

    Raises
    ------
    KaneDynamicsError
        If the description is no URDF, or the settings do not fit the robot.
    """
    dynamics = load(
        _text(description),
        joints=settings.joints or None,
        locked=settings.locked,
        base=settings.base,
        gravity=settings.gravity,
        joint_friction=settings.joint_friction,
        backend=settings.backend,  # type: ignore[arg-type]
        cache=settings.cache_dir or True,
    )
    for name in dynamics.joint_names:
        kind = dynamics.robot.joint(name).kind
        if kind in ("floating", "planar"):
            raise ModelError(
                f"joint {name!r} is {kind}, and joint states carry one position for each joint: "
                "name the others in the parameter joints, and it is locked"
            )
    model = Model(dynamics)
    _warm_up(model)
    return model


def _text(description: str) -> str:
    """The description, which must not be taken for the path of a file."""
    if not description.lstrip("\ufeff \t\r\n").startswith("<"):
        raise ModelError(f"the robot description is no URDF: it begins with {description[:40]!r}")
    return description


def _warm_up(model: Model) -> None:
    """Call once whatever a callback calls, so that none of them has to derive or compile."""
    rest = np.zeros(len(model.joint_names))
    batch = np.zeros((2, len(rest)))
    model.gravity(rest)
    model.efforts(rest, rest, rest)
    model.efforts(batch, batch, batch)
    if len(rest):
        trajectory_through(np.arange(3.0), np.zeros((3, len(rest))))
    q, u = model.coordinates(rest), model.speeds(rest)
    model.dynamics.mass_matrix(q)
    model.dynamics.bias(q, u)
    model.dynamics.energy(q, u)
    model.dynamics.gravity(q)
    for name in ("backend", "operations", "index", "other_joints", "effort_limits", "turns"):
        getattr(model, name)


def _with_base(base: Any, joints: Array) -> Array:
    wide = np.broadcast_to(np.asarray(base, dtype=np.float64), (*joints.shape[:-1], len(base)))
    return np.concatenate((wide, joints), axis=-1)
