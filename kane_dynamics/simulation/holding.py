"""Constraints that hold throughout a simulation: what they make of accelerations and of states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.recombination import REDUNDANT, recombination, unsatisfied

BROKEN = 1e-6
"""Error in m or rad, or share of the speeds, by which a motion may violate constraints at first."""

CLOSED = 1e-12
"""Error in m or rad that need not be corrected."""

CORRECTIONS = 4
"""Newton's steps back onto constraints after a step of the motion; one nearly always does."""


@dataclass(frozen=True)
class Said:
    """What constraints say about a state: A u = 0, A u̇ + bias = 0, and no errors of positions."""

    A: Array
    bias: Array
    errors: Array
    names: tuple[str, ...]
    positions: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Holding:
    """Constraints that hold.

    Attributes
    ----------
    said : callable
        What they say about q and u.
    moved : callable
        Coordinates q after a small motion (n,).
    inertia : array (n,)
        What each speed feels alone at the start; by it small corrections are measured.
    """

    said: Callable[[Array, Array], Said]
    moved: Callable[[Array, Array], Array]
    inertia: Array

    def accelerations(
        self, q: Array, u: Array, M: Array, right: Array, held: NDArray[np.intp]
    ) -> tuple[Array, Array, Array]:
        """While some speeds are held at zero besides.

        Returns
        -------
        udot, generalized, on_held
            Accelerations, generalized forces of all that holds, and what holds each held speed.
        """
        said, n = self.said(q, u), len(u)
        A = np.concatenate([said.A, np.eye(n)[held]])
        bias = np.concatenate([said.bias, np.zeros(len(held))])
        own = recombination(A, np.diagonal(M))
        udot = own.accelerations(M, right, bias)
        generalized = M @ udot - right
        forces = own.forces(generalized) if len(held) else np.zeros(len(bias))
        return udot, generalized, forces[len(said.bias) :]

    def corrected(self, q: Array, u: Array) -> tuple[Array, Array]:
        """The nearest state that satisfies the constraints."""
        for _ in range(CORRECTIONS):
            said = self.said(q, u)
            rows, errors = said.A[said.positions], said.errors[said.positions]
            if not np.abs(errors).max(initial=0.0) > CLOSED:
                break
            q = self.moved(q, self._nearest(rows, -errors))
        said = self.said(q, u)
        return q, u + self._nearest(said.A, -said.A @ u)

    def refuse_violation(self, q: Array, u: Array) -> None:
        """ArgumentError if a motion cannot begin here; it names the constraint."""
        said = self.said(q, u)
        errors = np.where(said.positions, np.abs(said.errors), 0.0)
        if not errors.max(initial=0.0) <= BROKEN:
            k = int(np.argmax(np.where(np.isfinite(errors), errors, np.inf)))
            raise ArgumentError(
                f"simulate: q0 violates constraint {said.names[k]!r} by {errors[k]:.3g}, expected "
                "one that satisfies it: assemble finds one"
            )
        off = unsatisfied(said.A, 0.0 * said.bias, u)
        if not off.max(initial=0.0) <= BROKEN:
            raise ArgumentError(
                f"simulate: u0 violates constraint {said.names[int(off.argmax())]!r}, expected "
                "speeds that satisfy it: admissible_speeds gives them"
            )

    def _nearest(self, A: Array, right: Array) -> Array:
        """The smallest motion with A motion = right."""
        own = recombination(A, self.inertia)
        found = np.linalg.pinv(own.rows, rcond=REDUNDANT) @ (right / own.lengths)
        return np.asarray(own.scale * found)
