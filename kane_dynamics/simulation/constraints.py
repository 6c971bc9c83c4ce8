"""Constraints that are switched on and off: dry friction and stops, and motion while they hold.

Every constraint has a mode, which is a number, and an event function of the state that is not
negative while the mode lasts. What follows a mode depends on the kind of the constraint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.equations import Given, rated_coordinates
from kane_dynamics.simulation.request import Request
from kane_dynamics.symbolic.graph import Expr

PARTS_AT_STOPS = 10
"""Parts of a step while a joint is at a stop, which is too stiff for a whole one."""

SHARE_OF_PART = 0.1
"""Frequency of a joint at its stop times the length of a part: small enough to be accurate, and
stable even where a joint feels a hundredth of the inertia it has at the start."""

LARGEST_DEPTH = 10.0
"""How far beyond a limit a joint may start, in m/s or rad/s times the time constant of its stop: a
motion can be continued from where it rests, or rebounds, at a compliant stop."""

ROUNDING = 1e-9
"""How far beyond a limit a joint may always start, in rad or m, or as a share of the position."""

Bounds = Mapping[str, tuple[float, float]]
"""Lower and upper limits of positions, by the names of their speeds."""


class Kind(IntEnum):
    """What becomes of a constraint; the same numbers stand in steps.c."""

    LIMITED = 0
    """Holds its speed at zero (mode 0) up to a limit of its force, then slides (mode ±1)."""
    ONE_SIDED = 1
    """Pushes while it touches (mode 1), and does nothing while it does not (mode 0)."""
    FINAL = 2
    """Ends the motion."""


@dataclass(frozen=True)
class Friction:
    """Dry friction that a speed feels, up to a force in N m or N."""

    name: str
    row: int
    limit: float
    kind: ClassVar[Kind] = Kind.LIMITED

    @property
    def form(self) -> tuple[object, ...]:
        """What expressions depend on."""
        return ("friction", self.row)

    @property
    def numbers(self) -> tuple[float, ...]:
        """What they are given."""
        return (self.limit,)

    def mode(self, q: Array, u: Array) -> float:
        """The mode at the start."""
        return float(np.sign(u[self.row]))

    def force(self, given: Given, mode: Expr, numbers: Sequence[Expr]) -> Expr:
        """Generalized force while it slides."""
        return -(mode * numbers[0])

    def event(
        self, given: Given, qdot: Sequence[Expr], mode: Expr, numbers: Sequence[Expr]
    ) -> tuple[Expr, Expr]:
        """The event function while it slides; its rate follows from udot."""
        return mode * given["u"][self.row], given.graph.zero


@dataclass(frozen=True)
class Stop:
    """A limit of a coordinate: the end, or a spring and a damper that never pull.

    `side` is 1 at an upper limit, -1 at a lower one; `stiffness` and `absorption` are in N m/rad
    and N m s/rad, or N/m and N s/m.
    """

    name: str
    kind: Kind
    row: int
    coordinate: int
    side: int
    limit: float
    stiffness: float = 0.0
    absorption: float = 0.0

    @property
    def form(self) -> tuple[object, ...]:
        return ("stop", int(self.kind), self.row, self.coordinate, self.side)

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.limit, self.stiffness, self.absorption)

    def mode(self, q: Array, u: Array) -> float:
        beyond = self.side * (q[self.coordinate] - self.limit) > 0.0
        return float(beyond and self.kind == Kind.ONE_SIDED)

    def _depth(self, given: Given, numbers: Sequence[Expr]) -> Expr:
        return self.side * (given["q"][self.coordinate] - numbers[0])

    def force(self, given: Given, mode: Expr, numbers: Sequence[Expr]) -> Expr:
        if self.kind == Kind.FINAL:
            return given.graph.zero
        _, stiffness, absorption = numbers
        depth, rate = self._depth(given, numbers), self.side * given["u"][self.row]
        push = stiffness * depth + absorption * rate
        return -self.side * (mode * given.graph.select(push, push, given.graph.zero))

    def event(
        self, given: Given, qdot: Sequence[Expr], mode: Expr, numbers: Sequence[Expr]
    ) -> tuple[Expr, Expr]:
        away = 2.0 * mode - 1.0  # depth while it touches, else the distance
        return away * self._depth(given, numbers), away * (self.side * qdot[self.coordinate])


Constraint = Friction | Stop


def recombined(M: Array, right: Array, held: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Accelerations while some speeds are held at zero, and the forces that hold them, negative.

    Kane's equations in p independent speeds are combinations of those for all n: udot = T udot_p
    gives TᵀM T udot_p = Tᵀ right. While speeds themselves are held, T selects the others.

    Parameters
    ----------
    M : array (n, n)
        Mass matrix.
    right : array (n,)
        Generalized forces less the bias.
    held : array (n,)
        Which speeds are held.
    """
    free = np.flatnonzero(~held)
    udot = np.zeros(len(right))
    udot[free] = np.linalg.solve(M[np.ix_(free, free)], right[free])
    return udot, np.where(held, right - M @ udot, 0.0)


def constraints_of(
    functions: Functions, request: Request, bounds: Bounds, q: Array, M: Array | None
) -> tuple[Constraint, ...]:
    """The constraints of a mechanism that starts at q, where its mass matrix is M if it has stops.

    A compliant stop is critically damped, and its time constant is the step, whatever the method: a
    joint that runs into it at a speed u goes u·step/e too far. Its stiffness is that for the
    inertia that the joint feels at the start when all others are free.
    """
    equations = functions.equations
    found: list[Constraint] = [
        Friction(name, row, limit)
        for row, (name, limit) in enumerate(zip(equations.speed_names, equations.friction))
        if limit > 0.0
    ]
    if request.limits == "ignore":
        return tuple(found)
    inertia = _felt_inertia(M) if M is not None else np.zeros(len(equations.speed_names))
    frequency = SHARE_OF_PART * PARTS_AT_STOPS / request.step
    kind = Kind.FINAL if M is None else Kind.ONE_SIDED
    rated = rated_coordinates(equations)
    for name, limits in bounds.items():
        row = equations.speed_names.index(name) if name in equations.speed_names else -1
        coordinate = None if row < 0 else rated[row]
        if coordinate is None:
            continue
        _refuse_outside(name, q[coordinate], limits, 0.0 if M is None else request.step)
        spring = inertia[row] * frequency**2, 2.0 * inertia[row] * frequency
        found += [
            Stop(name, kind, row, coordinate, side, limit, *spring)
            for side, limit in zip((-1, 1), limits)
            if np.isfinite(limit)
        ]
    return tuple(found)


def within(constraints: Sequence[Constraint], q: Array) -> Array:
    """Coordinates to start from: where limits are the end, none is beyond them by rounding."""
    q = q.copy()
    for each in constraints:
        if isinstance(each, Stop) and each.kind == Kind.FINAL:
            nearer = np.minimum if each.side > 0 else np.maximum
            q[each.coordinate] = nearer(q[each.coordinate], each.limit)
    return q


def _refuse_outside(name: str, position: float, limits: tuple[float, float], step: float) -> None:
    lower, upper = limits
    margin = LARGEST_DEPTH * step + ROUNDING * max(1.0, abs(position))
    if not lower - margin <= position <= upper + margin:
        raise ArgumentError(
            f"q0: '{name}' starts at {position:.12g}, outside of its limits {lower:.12g} and "
            f"{upper:.12g}; start inside, or ignore limits"
        )


def _felt_inertia(M: Array) -> Array:
    try:
        inertia: Array = 1.0 / np.diag(np.linalg.inv(M))
    except np.linalg.LinAlgError:
        inertia = np.diag(M).copy()
    return inertia
