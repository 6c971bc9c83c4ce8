"""What constraints by name make of accelerations and of states, in NumPy; as in constraints.c."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.kane.recombination import REDUNDANT, recombination
from kane_dynamics.simulation.named import (
    NO_GRIP,
    OPEN,
    PUSHES,
    SLIDES,
    STICKS,
    Modes,
    Named,
)
from kane_dynamics.simulation.status import Ended, Status

CLOSED = 1e-12
"""Error in m or rad that need not be corrected."""

STILL = 1e-13
"""Speed in m/s or rad/s against constraints that need not be corrected."""

CORRECTIONS = 4
"""Newton's steps back onto constraints after a step of the motion; one nearly always does."""

PATIENCE = 16
"""Steps of a long run that go by, at most, before it is seen whether constraints are satisfied."""

CHOSEN_BELOW = 2.0
"""How much a dependent speed may follow from an independent one when speeds are chosen."""

UNDECIDED = 1e-12
"""Determinant of the equations of sliding contacts below which they have no solution."""

RELEASE = 1.0 + 1e-12
"""Share of the limit of its force beyond which a constraint no longer holds."""

BARELY = 1e-10
"""Speed of slip in m/s whose direction is not known."""

FAR_FROM = 10.0
"""Multiple of what an event function may be below zero, beyond which it may no longer."""

MOST_PARTS = 1000
"""Parts of one step that end with a change of a joint's friction, where there are constraints."""


@dataclass(frozen=True, eq=False)
class Holding:
    """Constraints by name in the modes in which they stand.

    Attributes
    ----------
    named : Named
    modes : Modes
    moved : callable
        Coordinates q after a small motion (n,), at a time.
    inertia : array (n,)
        What each speed feels alone at the start; by it small corrections are measured.
    """

    named: Named
    modes: Modes
    moved: Callable[[float, Array, Array], Array]
    inertia: Array

    @property
    def acts(self) -> bool:
        """Whether constraints do anything to the motion."""
        return bool(self.modes.holds.any() or (self.modes.grip == SLIDES).any())

    def said(self, t: float, q: Array, u: Array) -> Array:
        """Coefficients, bias and error of all rows; slip is aimed along its velocity."""
        said = self.named.rows(t, q, u, self.modes.anchors)
        modes = self.modes
        for k, limit in enumerate(self.named.limits):
            begun, size = modes.direction[k], limit.size
            v = said[limit.first : limit.first + size, :-2] @ u
            speed, along = float(np.linalg.norm(v)), float(v @ begun[:size])
            modes.aimed[k] = begun
            if modes.grip[k] == SLIDES and size > 1 and speed > BARELY and along != 0.0:
                modes.aimed[k, :size] = np.sign(along) * v / speed
        return said

    # ------------------------------------------------------------------------ the equations
    def constrained(
        self, said: Array, M: Array, applied: Array, held: NDArray[np.intp]
    ) -> tuple[Array, Array, Array]:
        """While some speeds are held at zero besides.

        Returns
        -------
        udot, forces, on_held
            Accelerations, forces of all rows, and what holds each held speed.
        """
        modes, n, count = self.modes, len(applied), len(said)
        rows = np.flatnonzero(modes.holds)
        A = np.concatenate([said[rows, :-2], np.eye(n)[held]])
        bias = np.concatenate([said[rows, -2], np.zeros(len(held))])
        own = recombination(A, np.diagonal(M))
        friction, pressed = self._slips(said, rows)
        free = [k for k in friction if k not in pressed]
        right = applied + sum((friction[k] * modes.factors[k] for k in free), 0.0)
        udot = own.accelerations(M, right, bias)
        forces = own.forces(M @ udot - right)
        amounts = {k: modes.factors[k] for k in free}
        if pressed:
            udot, forces, more = self._slide(own, M, udot, forces, friction, pressed)
            amounts.update(more)
        all_forces = np.zeros(count)
        all_forces[rows] = forces[: len(rows)]
        for k, amount in amounts.items():
            limit = self.named.limits[k]
            own_rows = slice(limit.first, limit.first + limit.size)
            all_forces[own_rows] = -amount * modes.aimed[k, : limit.size]
        return udot, all_forces, forces[len(rows) :]

    def _slips(
        self, said: Array, rows: NDArray[np.intp]
    ) -> tuple[dict[int, Array], dict[int, int]]:
        """Generalized force of each slip per unit of friction; and which row presses it."""
        friction: dict[int, Array] = {}
        pressed: dict[int, int] = {}
        places = {int(row): k for k, row in enumerate(rows)}
        for k, limit in enumerate(self.named.limits):
            if self.modes.grip[k] != SLIDES:
                continue
            own = said[limit.first : limit.first + limit.size, :-2]
            friction[k] = -(self.modes.aimed[k, : limit.size] @ own)
            if limit.of in places:
                pressed[k] = places[limit.of]
            elif limit.of >= 0:
                del friction[k]
        return friction, pressed

    def _slide(
        self,
        own: object,
        M: Array,
        udot: Array,
        forces: Array,
        friction: dict[int, Array],
        pressed: dict[int, int],
    ) -> tuple[Array, Array, dict[int, float]]:
        """Friction that is a share of forces which it changes itself."""
        which, none = list(pressed), np.zeros(len(forces))
        motions = [own.accelerations(M, friction[k], none) for k in which]  # type: ignore[attr-defined]
        answers = [
            own.forces(M @ motion - friction[k])  # type: ignore[attr-defined]
            for k, motion in zip(which, motions)
        ]
        rows = [pressed[k] for k in which]
        factors = np.array([self.modes.factors[k] for k in which])
        # What only pushes does so, whatever it would do without friction.
        of = [self.named.limits[k].of for k in which]
        pulled = (forces[rows] < 0.0) & (self.modes.watched[of] != PUSHES)
        factors = np.where(pulled, -factors, factors)
        couple = np.eye(len(which)) - np.array(answers)[:, rows].T * factors
        if not np.linalg.det(couple) > UNDECIDED:
            raise Ended(Status.UNSOLVABLE)
        amounts = factors * np.linalg.solve(couple, forces[rows])
        udot = udot + amounts @ np.array(motions)
        forces = forces + amounts @ np.array(answers)
        return udot, forces, dict(zip(which, amounts.tolist()))

    # ------------------------------------------------------------------------------ events
    def watched(self, said: Array, u: Array, udot: Array, forces: Array) -> tuple[Array, Array]:
        """Functions that are not negative while modes last, and their rates as far as known."""
        modes, count = self.modes, len(said)
        g, rate = np.full(len(modes.slack), np.inf), np.zeros(len(modes.slack))
        for row in np.flatnonzero(modes.watched == PUSHES):
            g[row] = forces[row] + modes.slack[row]
        for row in np.flatnonzero(modes.watched == OPEN):
            g[row], rate[row] = said[row, -1] + modes.slack[row], said[row, :-2] @ u
        for k, limit in enumerate(self.named.limits):
            if modes.grip[k] == NO_GRIP:
                continue
            own, slack = slice(limit.first, limit.first + limit.size), modes.slack[count + k]
            if modes.grip[k] == STICKS:
                pressed = 1.0 if limit.of < 0 else abs(forces[limit.of])
                size = float(np.linalg.norm(forces[own]))
                g[count + k] = RELEASE * limit.static * pressed - size + slack
            else:
                direction = modes.direction[k, : limit.size]
                g[count + k] = direction @ (said[own, :-2] @ u) + slack
                rate[count + k] = direction @ (said[own, :-2] @ udot + said[own, -2])
        return g, rate

    def go_on(self, g: Array) -> None:
        """Slips go on from where they go to now; what has come free is watched closely."""
        modes = self.modes
        far = np.isfinite(g) & (g > FAR_FROM * modes.slack)
        modes.slack[far] = 0.0
        slides = modes.grip == SLIDES
        modes.direction[slides] = modes.aimed[slides]

    # ------------------------------------------------------------------ back onto constraints
    def corrected(self, t: float, q: Array, u: Array) -> tuple[Array, Array]:
        """The nearest state that satisfies the constraints."""
        rows = np.flatnonzero(self.modes.holds)
        of_positions = rows[self.named.positions[rows]]
        for turn in range(CORRECTIONS + 1):
            said = self.named.rows(t, q, u, self.modes.anchors)
            errors = said[of_positions, -1]
            if turn == CORRECTIONS or not np.abs(errors).max(initial=0.0) > CLOSED:
                break
            q = self.moved(t, q, self._nearest(said[of_positions, :-2], -errors))
        A = said[rows, :-2]
        left = A @ u + self.named.drifts(t, q, self.modes.anchors)[rows]
        if not np.abs(left).max(initial=0.0) > STILL:
            return q, u
        return q, u + self._nearest(A, -left)

    def _nearest(self, A: Array, right: Array) -> Array:
        """The smallest motion with A motion = right."""
        own = recombination(A, self.inertia)
        found = np.linalg.pinv(own.rows, rcond=REDUNDANT) @ (right / own.lengths)
        return np.asarray(own.scale * found)
