"""Kane's equations under constraints, by recombination of those without.

Constraints A u = 0 of motion leave p of the n speeds independent: u = T u_p. The partial
velocities of the constrained mechanism are combinations of those of the free one, so that

    TᵀM T u̇_p = Tᵀ(Q - M c),    u̇ = T u̇_p + c,

where M is the mass matrix, Q the generalized forces less the bias, and c a vector with A c = -b
for the bias b of the constraints. Forces of the constraints do no work in motions T, and are found
afterwards from Aᵀλ = M u̇ - Q. Everything here takes matrices of one state, or of many at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.errors import SingularError

REDUNDANT = 1e-10
"""What is left of a row that others have been taken from, as a share of it, that is rounding."""

VANISHED = 1e-13
"""Share of the largest row below which one is zero."""

SATISFIED = 1e-7
"""How far constraints that contradict each other may be from satisfied, relative to their terms."""

ROUNDED = 1e-8
"""Share of coefficient times largest acceleration below which terms are no measure."""

STEADY = 1e-2
"""Pivot, of rows and speeds in units in which they have length one, below which the order in which
they are eliminated is looked for again."""

LEFT_OVER = 1e-8
"""What may be left of a row that follows from others, before speeds are chosen again."""

STAYS_BELOW = 10.0
"""How much a dependent speed may follow from an independent one, before speeds are chosen again."""

Selection = NDArray[np.intp]


@dataclass(frozen=True)
class Recombination:
    """Which motions constraints leave, for states that have as many independent speeds.

    Attributes
    ----------
    rows : array (..., m, n)
        Coefficients of the speeds, in units of these, as rows of length one.
    lengths : array (..., m)
        What the rows have been divided by.
    scale : array (..., n)
        Units of the speeds, in which the kinetic energy of each alone is the same.
    dependent, independent : array (..., r), array (..., n - r)
        The speeds that follow from others, and those others.
    T : array (..., n, n - r)
        All speeds from the independent ones.
    """

    rows: Array
    lengths: Array
    scale: Array
    dependent: Selection
    independent: Selection
    T: Array

    @property
    def rank(self) -> int:
        return int(self.dependent.shape[-1])

    def particular(self, right: Array) -> Array:
        """c with A c = right, in the dependent speeds alone; least squares if there is none."""
        c = np.zeros(self.T.shape[:-1])
        if self.rank:
            block = _columns(self.rows, self.dependent)
            found = np.linalg.pinv(block, rcond=REDUNDANT) @ (right / self.lengths)[..., None]
            units = np.take_along_axis(self.scale, self.dependent, -1)
            np.put_along_axis(c, self.dependent, units * found[..., 0], -1)
        return c

    def accelerations(self, M: Array, Q: Array, bias: Array) -> Array:
        """All accelerations."""
        c = self.particular(-bias)
        T, across = self.T, np.swapaxes(self.T, -1, -2)
        if not T.shape[-1]:
            return c
        reduced = across @ M @ T
        right = across @ (Q[..., None] - M @ c[..., None])
        return np.asarray(c + (T @ _solved(reduced, right))[..., 0])

    def forces(self, generalized: Array) -> Array:
        """λ with Aᵀλ = generalized forces; of least norm where rows are redundant."""
        redundant = self.rank < self.lengths.shape[-1]
        units = np.ones_like(self.lengths) if redundant else self.lengths
        across = np.swapaxes(self.rows * (self.lengths / units)[..., None], -1, -2)
        found = np.linalg.pinv(across, rcond=REDUNDANT) @ (generalized * self.scale)[..., None]
        return np.asarray(found[..., 0] / units)

    def torques(self, generalized: Array, actuated: Selection) -> tuple[Array, Array]:
        """Torques of least norm at some speeds that do in all motions what these forces do.

        Returns
        -------
        torques : array (..., n)
            Zero at all other speeds.
        missing : array (..., n - r)
            What they cannot do, for each independent speed, as a share of what is to be done.
        """
        across = np.swapaxes(self.T, -1, -2)
        wanted = (across @ generalized[..., None])[..., 0]
        acting = across[..., actuated]
        some = (np.linalg.pinv(acting, rcond=REDUNDANT) @ wanted[..., None])[..., 0]
        torques = np.zeros(self.T.shape[:-1])
        torques[..., actuated] = some
        missing = wanted - (acting @ some[..., None])[..., 0]
        terms = np.abs(across) @ np.abs(generalized)[..., None]
        scale = terms[..., 0].max(axis=-1, initial=0.0)[..., None]
        return torques, missing / np.where(scale > 0.0, scale, 1.0)


def recombination(A: Array, inertia: Array, dependent: Selection | None = None) -> Recombination:
    """Choose dependent speeds, by QR factorization with pivoting.

    Parameters
    ----------
    A : array (..., m, n)
        Coefficients of the speeds in the constraints.
    inertia : array (..., n)
        Diagonal of the mass matrix: by it speeds are measured, rad/s and m/s alike.
    dependent : array (r,), optional
        Those that are to be dependent in all states; by default they are chosen state by state,
        and must be as many in each.
    """
    scale = 1.0 / np.sqrt(np.where(inertia > 0.0, inertia, 1.0))
    scaled, lengths = normalized(A * scale[..., None, :])
    if dependent is None:
        order, ranks = pivoted(scaled)
        rank = int(ranks.flat[0]) if ranks.size else 0
        assert (ranks == rank).all()
        dependent, independent = np.sort(order[..., :rank]), np.sort(order[..., rank:])
    else:
        rank, others = len(dependent), np.setdiff1d(np.arange(A.shape[-1]), dependent)
        dependent = np.broadcast_to(dependent, (*A.shape[:-2], rank))
        independent = np.broadcast_to(others, (*A.shape[:-2], len(others)))
    T = np.zeros((*A.shape[:-2], A.shape[-1], A.shape[-1] - rank))
    ones = np.broadcast_to(np.eye(T.shape[-1]), (*A.shape[:-2], *2 * T.shape[-1:]))
    np.put_along_axis(T, independent[..., None], ones, -2)
    if rank and T.shape[-1]:
        block, rest = _columns(scaled, dependent), _columns(scaled, independent)
        follow = -np.linalg.pinv(block, rcond=REDUNDANT) @ rest
        own, free = (np.take_along_axis(scale, each, -1) for each in (dependent, independent))
        follow = follow * own[..., :, None] / free[..., None, :]
        np.put_along_axis(T, dependent[..., None], follow, -2)
    return Recombination(scaled, lengths, scale, dependent, independent, T)


def ranks_of(A: Array, inertia: Array) -> NDArray[np.intp]:
    """How many independent rows there are, state by state."""
    scale = 1.0 / np.sqrt(np.where(inertia > 0.0, inertia, 1.0))
    return pivoted(normalized(A * scale[..., None, :])[0])[1]


def normalized(A: Array) -> tuple[Array, Array]:
    """Rows of length one, zero where rounding is all there is of them, and their lengths."""
    lengths = np.linalg.norm(A, axis=-1)
    there = lengths > VANISHED * lengths.max(axis=-1, keepdims=True, initial=0.0)
    lengths = np.where(there, lengths, 1.0)
    return np.where(there[..., None], A / lengths[..., None], 0.0), lengths


def pivoted(A: Array) -> tuple[Selection, NDArray[np.intp]]:
    """Columns of A in the order that QR with pivoting takes them, and how many are independent.

    The longest of what is left of the columns comes first (Businger and Golub 1965); what is left
    is made orthogonal twice, so that rounding does not add up.
    """
    *states, m, n = A.shape
    left, order = A.copy(), np.broadcast_to(np.arange(n), (*states, n)).copy()
    ranks = np.zeros(states, np.intp)
    basis = np.zeros((*states, m, 0))
    for k in range(min(m, n)):
        lengths = np.linalg.norm(left[..., k:], axis=-2)
        best = lengths.argmax(axis=-1)[..., None]
        length = np.take_along_axis(lengths, best, -1)
        goes_on = (length[..., 0] > REDUNDANT) & (ranks == k)
        if not goes_on.any():
            break
        ranks = np.where(goes_on, k + 1, ranks)
        _exchange(order, k, best + k)
        _exchange(left, k, (best + k)[..., None, :])
        q = left[..., k] / np.where(length > 0.0, length, 1.0)
        q = q - (basis @ (np.swapaxes(basis, -1, -2) @ q[..., None]))[..., 0]
        q = q / np.maximum(np.linalg.norm(q, axis=-1, keepdims=True), REDUNDANT)
        basis = np.concatenate([basis, q[..., None]], axis=-1)
        rest = left[..., k + 1 :]
        for _ in range(2):
            rest -= q[..., None] * (q[..., None, :] @ rest)
    return order, ranks


def _exchange(array: Any, k: int, other: Selection) -> None:
    """Let entry k along the last axis and another one change places."""
    first = array[..., k : k + 1].copy()
    index = np.broadcast_to(other, first.shape)
    array[..., k : k + 1] = np.take_along_axis(array, index, -1)
    np.put_along_axis(array, index, first, -1)


def unsatisfied(A: Array, bias: Array, udot: Array) -> Array:
    """How far rows are from A u̇ + bias = 0, relative to their terms; `SATISFIED` is enough."""
    left = (A @ udot[..., None])[..., 0] + bias
    terms = (np.abs(A) @ np.abs(udot)[..., None])[..., 0] + np.abs(bias)
    size = np.maximum(terms, 1e-3 * terms.max(axis=-1, keepdims=True, initial=0.0))
    # where all terms are rounding beside other accelerations, so is what is left of them
    largest = np.abs(udot).max(axis=-1, keepdims=True, initial=0.0)
    size = np.maximum(size, ROUNDED * np.abs(A).max(axis=-1, initial=0.0) * largest)
    return np.asarray(np.abs(left) / np.where(size > 0.0, size, 1.0))


def _columns(A: Array, which: Selection) -> Array:
    return np.take_along_axis(A, which[..., None, :], -1)


def _solved(matrix: Array, right: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        raise SingularError(
            "a motion that constraints leave has no inertia to be accelerated"
        ) from None
