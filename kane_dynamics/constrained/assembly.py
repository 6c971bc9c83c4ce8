"""Closing loops: coordinates that satisfy constraints, near given ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.constrained.active import Rows
from kane_dynamics.errors import ArgumentError

ASSEMBLED = 1e-10
"""Error in m or rad that is left at most."""

ITERATIONS = 200
LONGEST = 0.5
"""Step in rad or m, beyond which Newton's is shortened."""

WEAK = 1e-7
"""Share of the strongest direction below which steps do not go: at a dead centre they are long."""


def assembled(
    q: Array,
    rows: Callable[[Array], Rows],
    moved: Callable[[Array, Array], Array],
    free: Sequence[int],
) -> Array:
    """Coordinates with no errors, by Newton's method with shortened steps.

    Parameters
    ----------
    q : array
        Where to begin.
    rows : callable
        What constraints say of coordinates.
    moved : callable
        Coordinates q after a small motion (n,), such as speeds times a short time.
    free : sequence of int
        Entries of the motion that may differ from zero.

    Raises
    ------
    ArgumentError
        If there are none near; the message names the constraint that is the furthest off.
    """
    now = _positions(rows(q))
    size, floor = _size(now[1]), 0
    for _ in range(ITERATIONS):
        if size == 0.0 or floor > 2:
            break
        step = _newton(*now, free)
        share = min(1.0, LONGEST / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        while share > 1e-6:
            trial = moved(q, share * step)
            then = _positions(rows(trial))
            if _size(then[1]) < size:
                break
            share /= 2
        else:
            break
        floor = floor + 1 if size < ASSEMBLED else 0
        q, now, size = trial, then, _size(then[1])
    if not size <= ASSEMBLED:
        last = rows(q)
        name, off = last.worst(np.where(last.positions, last.errors, 0.0))
        raise ArgumentError(
            f"constraint {name!r} cannot be assembled from here: it is off by {off:.3g} at best, "
            "expected another q, or fewer joints that are fixed"
        )
    return q


def _positions(rows: Rows) -> tuple[Array, Array]:
    return rows.A[rows.positions], rows.errors[rows.positions]


def _size(errors: Array) -> float:
    return float(np.linalg.norm(errors))


def _newton(A: Array, errors: Array, free: Sequence[int]) -> Array:
    step = np.zeros(A.shape[1])
    if len(free):
        step[list(free)] = -np.linalg.pinv(A[:, list(free)], rcond=WEAK) @ errors
    return step
