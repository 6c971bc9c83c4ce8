"""Robots with constraints, as the node serves them: efforts of actuated joints, joints that follow.

States that come from encoders and splines satisfy constraints nearly, those of equations do so
exactly: what is near enough is moved onto the constraints, what is not is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.constrained.active import Rows
from kane_dynamics.constrained.dynamics import ConstrainedDynamics
from kane_dynamics.dynamics import Dynamics
from kane_dynamics.errors import ArgumentError
from kane_dynamics.robot.constraints import only_pushes
from kane_dynamics.ros.robot.model import Model, remade
from kane_dynamics.simulation.trajectory import Sample

CAUSE = "constraints"

TIME = 0.1
"""Seconds: so much in m or rad is as bad as what in this time comes of a speed or acceleration."""

PIECE = 0.05
"""Rad or m by which joints go before those that follow are looked for again."""

ITERATIONS = 20
CLOSED = 1e-11
"""Errors in m or rad that need not be corrected."""

WEAK = 1e-7
"""Share of the strongest direction below which corrections do not go: at a dead centre."""


@dataclass(frozen=True, eq=False)
class ConstrainedModel(Model):
    """A robot with constraints, some of which hold.

    Efforts are those of its actuated joints, zero at all others. A floating base is, for its
    constraints as well, at the origin, upright and at rest.

    Attributes
    ----------
    tolerance : float
        How far states that come from outside may violate constraints, in m or rad.
    """

    dynamics: ConstrainedDynamics
    tolerance: float = 0.0

    @cached_property
    def gravity(self) -> Any:
        """Function from positions to efforts that hold the robot, constraints doing their part."""
        joints = len(self.joint_names)
        return lambda positions: self.dynamics.gravity(self.coordinates(positions))[..., -joints:]

    def efforts(self, positions: Array, velocities: Array, accelerations: Array) -> Array:
        """Efforts that produce the accelerations, or the nearest ones that constraints allow."""
        q, u, udot = self._onto(positions, velocities, accelerations)
        return self.dynamics.inverse_dynamics(q, u, udot)[..., -len(self.joint_names) :]

    def free_efforts(self, positions: Array, velocities: Array, accelerations: Array) -> Array:
        q, u = self.coordinates(positions), self.speeds(velocities)
        free = Dynamics.inverse_dynamics(self.dynamics, q, u, self.speeds(accelerations))
        return free[..., -len(self.joint_names) :]

    def free_mass_matrix(self, q: Array) -> Array:
        return Dynamics.mass_matrix(self.dynamics, q)

    @cached_property
    def commanded(self) -> Model:
        from kane_dynamics.ros.robot.driven import DrivenModel  # which is made of this class

        return remade(self.operations, DrivenModel, self.dynamics, self.outside, self.tolerance)

    def rows(self, q: Array, u: Array) -> Rows:
        return self.dynamics.constraint_rows(q, u)

    def prepare(self) -> None:
        for states in ((), (2,)):  # one and many are compiled apart
            rest = self.coordinates(np.zeros((*states, len(self.joint_names))))
            Dynamics.gravity(self.dynamics, rest)
            self.free_mass_matrix(rest)
            self.dynamics.constraint_rows(rest, np.zeros((*states, self.dynamics.dof)))

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of all constraints, whether they hold or not."""
        return tuple(each.name for each in self.dynamics.constraints)

    @property
    def active(self) -> tuple[str, ...]:
        """Names of constraints that hold."""
        return self.dynamics.active

    @cached_property
    def actuated(self) -> NDArray[np.bool_]:
        """Which joints have motors."""
        return np.isin(self.dynamics.joint_names, self.dynamics.actuated)

    # ------------------------------------------------------------------------------ other states
    def completed(
        self,
        part: Sample,
        joints: NDArray[np.intp],
        held: Array,
        times: Array | None = None,
    ) -> Sample:
        """States (N, n) of all joints, of which some are given; the others follow from `held` on.

        Raises ArgumentError if a state violates a constraint; it names the constraint, and the
        time if there are any.
        """
        begun = self._begun_at(held)
        positions, velocities = begun._moving(part.positions, part.velocities, joints, held, times)
        rows = begun._rows(positions, velocities)
        A = rows.A[..., -len(held) :]
        accelerations = _nearest(A, self._others(joints), joints, part.accelerations, rows.bias)
        left = (A @ accelerations[..., None])[..., 0] + rows.bias
        most = self.tolerance / TIME**2
        _refuse(rows, np.abs(left), most, "accelerations violate", times, "/s²")
        return Sample(positions, velocities, accelerations - _least(A, left))

    def moving(
        self,
        positions: Array,
        velocities: Array,
        joints: NDArray[np.intp],
        held: Array,
        times: Array | None = None,
    ) -> tuple[Array, Array]:
        """Positions and velocities as in `completed`."""
        return self._begun_at(held)._moving(positions, velocities, joints, held, times)

    def _begun_at(self, held: Array) -> ConstrainedModel:
        """The robot where what keeps what it finds has begun at positions, if not elsewhere."""
        return self._with(self.dynamics.begun_at(self.coordinates(held)))

    def _moving(
        self,
        positions: Array,
        velocities: Array,
        joints: NDArray[np.intp],
        held: Array,
        times: Array | None,
    ) -> tuple[Array, Array]:
        where = self._closed(self._following(positions, joints, held), times)
        rows = self._rows(where, np.zeros_like(where))
        A = rows.A[..., -len(held) :]
        still = np.zeros(rows.bias.shape)
        speeds = _nearest(A, self._others(joints), joints, velocities, still)
        left = (A @ speeds[..., None])[..., 0]
        _refuse(rows, np.abs(left), self.tolerance / TIME, "velocities violate", times, "/s")
        return where, speeds - _least(A, left)

    def _others(self, joints: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.setdiff1d(np.arange(len(self.joint_names)), joints)

    def _following(self, given: Array, joints: NDArray[np.intp], held: Array) -> Array:
        """Positions (N, n): joints go straight from one state to the next, and others follow.

        They are followed from one `PIECE` of the way to the next, and between these all at once.
        """
        positions = np.broadcast_to(held, (*given.shape[:-1], len(held))).copy()
        positions[:, joints] = given
        free = self._others(joints)
        if not (len(free) and self.active):
            return positions
        ways = np.abs(np.diff(given, axis=0, prepend=held[None, joints])).max(axis=1, initial=0.0)
        gone = np.cumsum(ways)
        last = np.diff(gone // PIECE, append=np.inf) > 0.0  # of each piece
        now, found = held.copy(), [held[free]]
        for where in positions[last]:
            way = where[joints] - now[joints]
            pieces = max(1, int(np.ceil(np.abs(way).max(initial=0.0) / PIECE)))
            for _ in range(pieces):
                now = self._step(now, joints, way / pieces, free)
            now[joints] = where[joints]
            found.append(now[free])
        known = np.append(0.0, gone[last])
        for k, joint in enumerate(free):
            positions[:, joint] = np.interp(gone, known, np.array(found)[:, k])
        return self._follow(positions, free)

    def _step(
        self, now: Array, joints: NDArray[np.intp], way: Array, free: NDArray[np.intp]
    ) -> Array:
        """Positions after a small motion of some joints; the free ones follow."""
        if not way.any():
            return self._follow(now, free)
        count = len(now)
        half = now.copy()
        half[joints] += 0.5 * way
        for place in (now, half):  # the rule of the middle
            A = self._rows(place, np.zeros(count)).A[:, -count:]
            there = _nearest(A, free, joints, way, np.zeros(len(A)))
            half = now + 0.5 * there
        return self._follow(now + there, free)

    def _follow(self, now: Array, free: NDArray[np.intp]) -> Array:
        """Positions with errors as small as free joints can make them."""
        size = float("inf")
        for _ in range(ITERATIONS):
            A, errors = self._positions(now)
            if not CLOSED < np.abs(errors).max(initial=0.0) < size:
                break
            size = float(np.abs(errors).max())
            now = now.copy()
            step = np.linalg.pinv(A[..., free], rcond=WEAK) @ errors[..., None]
            now[..., free] -= step[..., 0]
        return now

    def _closed(self, positions: Array, times: Array | None) -> Array:
        """The nearest positions without errors."""
        count = positions.shape[-1]
        for k in range(ITERATIONS):
            rows = self._rows(positions, np.zeros_like(positions))
            errors = np.where(rows.positions, rows.errors, 0.0)
            if k == 0:
                _refuse(rows, np.abs(errors), self.tolerance, "positions violate", times, "")
            if not np.abs(errors).max(initial=0.0) > CLOSED:
                break
            A = np.where(rows.positions[:, None], rows.A[..., -count:], 0.0)
            positions = positions - _least(A, errors)
        return positions

    def _onto(self, p: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """A state with the nearest velocities and accelerations that constraints allow."""
        q, u, udot = self.coordinates(p), self.speeds(v), self.speeds(a)
        if self.active:
            rows = self.dynamics.constraint_rows(q, u)
            u = u - _least(rows.A, (rows.A @ u[..., None])[..., 0])
            rows = self.dynamics.constraint_rows(q, u)
            udot = udot - _least(rows.A, (rows.A @ udot[..., None])[..., 0] + rows.bias)
        return q, u, udot

    @cached_property
    def _lasting(self) -> ConstrainedDynamics:
        """The robot without contacts and stops, which a motion may leave."""
        contacts = self._contacts & set(self.active)
        return self.dynamics.switched(dict.fromkeys(contacts, False)) if contacts else self.dynamics

    @cached_property
    def _contacts(self) -> set[str]:
        return {each.name for each in self.dynamics.constraints if only_pushes(each)}

    def _rows(self, positions: Array, velocities: Array) -> Rows:
        return self._lasting.constraint_rows(self.coordinates(positions), self.speeds(velocities))

    def _positions(self, positions: Array) -> tuple[Array, Array]:
        """Rows about positions, in terms of the joints, and their errors."""
        rows = self._rows(positions, np.zeros_like(positions))
        count = positions.shape[-1]
        return rows.A[..., rows.positions, -count:], rows.errors[..., rows.positions]

    # ----------------------------------------------------------------------------------- switching
    def switched(self, active: Mapping[str, bool], positions: Array) -> ConstrainedModel:
        where = None
        if any(active.values()):
            asked = self._with(self.dynamics.switched(active))
            joints = np.arange(len(positions))
            still = np.zeros((1, len(positions)))
            found, _ = asked.moving(positions[None], still, joints, positions)
            where = self.coordinates(found[0])
        contacts = {name: holds for name, holds in active.items() if name in self._contacts}
        others = {name: holds for name, holds in active.items() if name not in contacts}
        return self._with(self.dynamics.switched(others, where).switched(contacts))

    def _with(self, dynamics: ConstrainedDynamics) -> ConstrainedModel:
        return remade(self.operations, ConstrainedModel, dynamics, self.outside, self.tolerance)

    def __reduce__(self) -> tuple[Any, ...]:
        made_of = (self.dynamics, self.outside, self.tolerance)
        return remade, (self.operations, ConstrainedModel, *made_of)


def _nearest(
    A: Array, free: NDArray[np.intp], joints: NDArray[np.intp], given: Array, bias: Array
) -> Array:
    """Motions of all joints (..., n) with A motion + bias = 0 as far as the free ones can do it."""
    motion = np.zeros((*given.shape[:-1], A.shape[-1]))
    motion[..., joints] = given
    if len(free) and A.shape[-2]:
        left = (A @ motion[..., None])[..., 0] + bias
        found = np.linalg.pinv(A[..., free], rcond=WEAK) @ -left[..., None]
        motion[..., free] += found[..., 0]
    return motion


def _least(A: Array, right: Array) -> Array:
    """The smallest motion with A motion = right."""
    return np.asarray((np.linalg.pinv(A, rcond=WEAK) @ right[..., None])[..., 0])


def _refuse(rows: Rows, off: Array, most: float, what: str, times: Array | None, unit: str) -> None:
    """ArgumentError about the first state (of one, or of many) that is too far off."""
    each = np.atleast_2d(off)
    bad = np.flatnonzero(~(each.max(axis=-1, initial=0.0) <= most))
    if len(bad):
        k = int(bad[0])
        name = rows.names[int(np.where(np.isfinite(each[k]), each[k], np.inf).argmax())]
        when = "" if times is None else f" at {times[k]:.4g} s"
        raise ArgumentError(
            f"{what} constraint {name!r}{when} by {each[k].max():.3g} m{unit} or rad{unit}, "
            f"expected at most {most:.3g}"
        )
