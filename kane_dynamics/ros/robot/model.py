"""The robot that the node serves: its dynamics in terms of what joint states can say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.dynamics import Dynamics
from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.loading import load
from kane_dynamics.robot.urdf import read_urdf
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.axes import Axes
from kane_dynamics.ros.robot.names import repeated, shown
from kane_dynamics.ros.robot.outside_names import SAME_NAMES, OutsideNames, outside_names
from kane_dynamics.simulation.trajectory import Sample, trajectory_through
from kane_dynamics.symbolic.program import Operations

if TYPE_CHECKING:
    from kane_dynamics.constrained.active import Rows

NO_MODEL = "there is no model of the robot yet: try again later"

FASTEST_TURNING, FASTEST_SLIDING = 6.3, 2.0
"""Rad/s and m/s, of joints without velocity limit."""

_ROUNDING = 1e-9  # N m s/rad or N m: less friction than that is none

_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Model:
    """A robot of n moving joints, each with one position.

    Efforts and positions are those of the joints alone; the base, where it floats, is at the origin
    of the world, upright and at rest.
    """

    dynamics: Dynamics
    outside: OutsideNames = SAME_NAMES

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
        """The order of all arrays; names are those in messages."""
        return tuple(map(self.outside, self.dynamics.joint_names))

    @cached_property
    def index(self) -> dict[str, int]:
        """Place of each joint in the arrays."""
        return {name: k for k, name in enumerate(self.joint_names)}

    def places(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Places of joints in the arrays.

        Raises ArgumentError if one is there twice, is no joint of the robot, or does not move by
        itself.
        """
        twice = repeated(names)
        if twice is not None:
            raise ArgumentError(f"joint {twice!r} is named twice")
        for name in names:
            if name in self.other_joints:
                raise ArgumentError(
                    f"joint {name!r} does not move: it is fixed, locked, or follows"
                )
            if name not in self.index:
                known = shown(self.joint_names)
                raise ArgumentError(f"there is no joint {name!r}: the robot has {known}")
        return np.array([self.index[name] for name in names], dtype=np.intp)

    @cached_property
    def other_joints(self) -> frozenset[str]:
        """Joints of the robot that do not move by themselves."""
        joints = self.dynamics.robot.joints
        return frozenset(self.outside(joint.name) for joint in joints) - set(self.index)

    @cached_property
    def floating(self) -> bool:
        """Whether the base has speeds, which come before those of the joints."""
        return self.dynamics.dof > len(self.joint_names)

    @cached_property
    def effort_limits(self) -> Array:
        """Largest efforts, infinite where the URDF gives none."""
        return np.abs(self.dynamics.limits.effort)

    @cached_property
    def axes(self) -> Axes:
        """Which joints are continuous: a turn more or less is the same position; which slide."""
        robot = self.dynamics.robot
        kinds = np.array([robot.joint(name).kind for name in self.dynamics.joint_names])
        return Axes(self.joint_names, kinds == "continuous", kinds == "prismatic")

    @cached_property
    def velocity_limits(self) -> Array:
        """Largest velocities, infinite where the URDF gives none, or zero."""
        limits = np.abs(self.dynamics.limits.velocity)
        return np.where(limits > 0.0, limits, np.inf)

    @cached_property
    def usual_speeds(self) -> Array:
        """Largest velocities, those of usual robots where the URDF gives none."""
        usual = np.where(self.axes.prismatic, FASTEST_SLIDING, FASTEST_TURNING)
        return np.where(np.isfinite(self.velocity_limits), self.velocity_limits, usual)

    def off(self, wanted: Array, positions: Array) -> Array:
        """What positions lack to the wanted ones; whole turns of continuous joints do not count."""
        return self.axes.off(wanted, positions)

    def apart(self, positions: Array, others: Array) -> Array:
        """How far positions are from others; whole turns of continuous joints do not count."""
        return np.abs(self.off(positions, others))

    @cached_property
    def gravity(self) -> Any:
        """Function from positions, (n,) or (N, n), to the efforts that hold the robot still."""
        if not self.floating:
            return self.dynamics.gravity
        return lambda positions: self.dynamics.gravity(self.coordinates(positions))[..., 6:]

    def efforts(self, positions: Array, velocities: Array, accelerations: Array) -> Array:
        """Efforts that produce the accelerations, (n,) or (N, n)."""
        return self.free_efforts(positions, velocities, accelerations)

    def free_efforts(self, positions: Array, velocities: Array, accelerations: Array) -> Array:
        """The same of a robot that has no constraints."""
        if not self.floating:
            return self.dynamics.inverse_dynamics(positions, velocities, accelerations)
        return self.dynamics.inverse_dynamics(
            self.coordinates(positions), self.speeds(velocities), self.speeds(accelerations)
        )[..., 6:]

    @cached_property
    def friction(self) -> tuple[Array, Array]:
        """Viscous and dry friction of the joints, as far as it is part of the efforts."""
        rest = np.zeros(len(self.joint_names))
        one, two = (self._odd(rest, rest + speed) for speed in (1.0, 2.0))
        viscous, dry = two - one, 2.0 * one - two
        return np.where(viscous > _ROUNDING, viscous, 0.0), np.where(dry > _ROUNDING, dry, 0.0)

    def _odd(self, positions: Array, velocities: Array) -> Array:
        """The part of efforts that a motion the other way has with the other sign: friction."""
        there, back = (self.free_efforts(positions, v, 0.0 * v) for v in (velocities, -velocities))
        return 0.5 * (there - back)

    def rigid_efforts(self, positions: Array, velocities: Array, accelerations: Array) -> Array:
        """Efforts that produce the accelerations where joints have no friction."""
        efforts = self.efforts(positions, velocities, accelerations)
        damping, dry = self.friction
        if self._any_friction:
            efforts = efforts - damping * velocities - dry * np.sign(velocities)
        return efforts

    @cached_property
    def _any_friction(self) -> bool:
        return bool(np.any(self.friction))

    def mass_matrix(self, positions: Array) -> Array:
        """Mass matrix (n, n) of the joints."""
        matrix = self.free_mass_matrix(self.coordinates(positions))
        return matrix[6:, 6:] if self.floating else matrix

    def free_mass_matrix(self, q: Array) -> Array:
        """Mass matrix of all speeds, those of a floating base too, without constraints."""
        return self.dynamics.mass_matrix(q)

    def decelerations(self, positions: Array, velocities: Array, share: float) -> Array:
        """Decelerations (n,) that joints have the effort for.

        Parameters
        ----------
        share : float
            Of the efforts that gravity leaves.
        """
        return self._spare(positions, share) / np.diagonal(self.mass_matrix(positions))

    def _spare(self, positions: Array, share: float) -> Array:
        limits = self.effort_limits
        return np.maximum(share * (limits - np.abs(self.gravity(positions))), 0.05 * limits)

    @property
    def commanded(self) -> Model:
        """The model with which effort commands are computed."""
        return self

    def check_driven(self, positions: Array) -> None:
        """Raise an ArgumentError if effort commands cannot move the robot as they want."""
        if self.floating:
            raise ArgumentError(
                "effort commands need a fixed base: joint states do not say where a floating one is"
            )

    def borne(self, positions: Array, efforts: Array) -> Array:
        """Efforts of motors that do the same as efforts at all joints."""
        return efforts

    def following(self, positions: Array, velocities: Array) -> Array:
        """Velocities of all joints while motors have theirs."""
        return velocities

    def switched(self, active: Mapping[str, bool], positions: Array) -> Model:
        """The model with other constraints that hold, which begin at positions (n,).

        Raises ArgumentError if there is no such constraint, or positions violate one.
        """
        raise ArgumentError(
            "the robot has no constraints: name their file in the parameter constraints"
        )

    def rows(self, q: Array, u: Array) -> Rows | None:
        """What constraints say about a state; None where there are none."""
        return None

    def coordinates(self, positions: Array, base: Any = _ORIGIN) -> Array:
        """Coordinates q, with the pose of the base where it floats."""
        return _with_base(base, positions) if self.floating else positions

    def speeds(self, velocities: Array, base: Any = (0.0,) * 6) -> Array:
        """Speeds u, with the twist of the base where it floats."""
        return _with_base(base, velocities) if self.floating else velocities

    def prepare(self) -> None:
        """Call what states from outside need besides."""
        self.gravity(np.zeros(len(self.joint_names)))

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of all constraints, whether they hold or not."""
        return ()

    @property
    def active(self) -> tuple[str, ...]:
        """Names of constraints that hold."""
        return ()

    @cached_property
    def actuated(self) -> NDArray[np.bool_]:
        """Which joints have motors."""
        return np.ones(len(self.joint_names), bool)

    def completed(
        self,
        part: Sample,
        joints: NDArray[np.intp],
        held: Array,
        times: Array | None = None,
    ) -> Sample:
        """States of all joints, of which some are given; the others are at rest at `held`."""
        return among_others(part, joints, held)

    def moving(
        self,
        positions: Array,
        velocities: Array,
        joints: NDArray[np.intp],
        held: Array,
        times: Array | None = None,
    ) -> tuple[Array, Array]:
        """Positions and velocities as in `completed`."""
        return self.completed(Sample(positions, velocities, velocities), joints, held)[:2]

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process it is made anew; only the operations need not be counted again."""
        return remade, (self.operations, Model, self.dynamics, self.outside)


def among_others(part: Sample, joints: NDArray[np.intp], held: Array) -> Sample:
    """The state of all joints, those not in `part` at rest at `held`."""
    shape = (*part.positions.shape[:-1], len(held))
    whole = Sample(np.broadcast_to(held, shape).copy(), np.zeros(shape), np.zeros(shape))
    for all_joints, some in zip(whole, part):
        all_joints[..., joints] = some
    return whole


def load_model(
    description: str,
    settings: Settings,
    silent: Mapping[str, float] | None = None,
    operations: dict[str, Operations] | None = None,
) -> Model:
    """The model of a robot description, with everything compiled that callbacks call.

    Raises KaneDynamicsError if the description is no URDF, or the settings do not fit the robot.

    Parameters
    ----------
    description : str
        The URDF as text.
    silent : dict from str to float, optional
        Positions of joints, as the URDF calls them, that are locked besides those of the settings.
    operations : dict from str to Operations, optional
        Those of the model, if they were counted before; else its equations are derived for them.
    """
    silent = silent or {}
    backend: Any = settings.backend
    if not description.lstrip("\ufeff \t\r\n").startswith("<"):  # no path of a file, either
        raise ModelError(f"the robot description is no URDF: it begins with {description[:40]!r}")
    robot = read_urdf(description)
    names = [joint.name for joint in robot.joints]
    outside = outside_names(names, settings.joint_prefix, settings.name_map)
    moving = [outside.inside(name) for name in settings.joints]
    locked = {outside.inside(name): at for name, at in settings.locked.items()}
    dynamics = load(
        robot,
        joints=[name for name in moving if name not in silent] or None,
        locked={**locked, **silent},
        base=settings.base,
        gravity=settings.gravity,
        joint_friction=settings.joint_friction,
        backend=backend,
        cache=settings.cache_dir or True,
        constraints=settings.constraints or None,
        actuated=[outside.inside(name) for name in settings.actuated] or None,
    )
    for name in dynamics.joint_names:
        kind = dynamics.robot.joint(name).kind
        if kind in ("floating", "planar"):
            raise ModelError(
                f"joint {name!r} is {kind}, and joint states carry one position for each joint: "
                "name the others in the parameter joints, and it is locked"
            )
    model = _model(operations, dynamics, outside, settings)
    warm_up(model)
    return model


def _model(
    operations: dict[str, Operations] | None,
    dynamics: Dynamics,
    outside: OutsideNames,
    settings: Settings,
) -> Model:
    if not settings.constraints:
        return remade(operations, Model, dynamics, outside)
    from kane_dynamics.ros.robot.constrained import ConstrainedModel  # others start sooner without

    tolerance = settings.constraint_tolerance
    return remade(operations, ConstrainedModel, dynamics, outside, tolerance)


Kind = TypeVar("Kind", bound="Model")


def remade(operations: dict[str, Operations] | None, kind: type[Kind], *made_of: Any) -> Kind:
    """A model whose operations were counted before, if they were."""
    model = kind(*made_of)
    if operations is not None:
        model.__dict__["operations"] = operations
    return model


def warm_up(model: Model) -> None:
    """Call once whatever a callback calls, so that none of them has to derive, compile or load."""
    rest = np.zeros(len(model.joint_names))
    batch = np.zeros((2, len(rest)))
    model.prepare()
    model.free_efforts(rest, rest, rest)
    model.free_efforts(batch, batch, batch)
    if len(rest):
        trajectory_through(np.arange(3.0), np.zeros((3, len(rest))))
    q, u = model.coordinates(rest), model.speeds(rest)
    model.mass_matrix(rest)
    model.dynamics.bias(q, u)
    model.dynamics.energy(q, u)
    for name in ("backend", "operations", "index", "other_joints", "effort_limits", "axes"):
        getattr(model, name)


def _with_base(base: Any, joints: Array) -> Array:
    wide = np.broadcast_to(np.asarray(base, dtype=np.float64), (*joints.shape[:-1], len(base)))
    return np.concatenate((wide, joints), axis=-1)
