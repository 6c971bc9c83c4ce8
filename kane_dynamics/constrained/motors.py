"""Motors that cannot move their joints, because of what constraints leave.

What counts are constraints that neither slip nor come apart, in states that satisfy them and are
otherwise arbitrary: at a dead centre a joint has no motion, either, but only for a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.constrained.active import Rows
from kane_dynamics.constrained.assembly import assembled
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.recombination import normalized

SPREADS = (0.3, 1.0, 0.1, 2.0, 0.3, 0.1)
"""How far from the zero configuration, or from a state, others are looked for, rad or m."""

ENOUGH = 2
"""States that are looked at: a dead centre may be met by chance, but not twice."""

LEFT = 1e-6
"""Singular value, of rows of length one, below which they are taken to leave a motion: near a dead
centre, and where links are overconstrained but for rounding, nothing is refused in doubt."""

MOVES = 1e-9
"""Share of a joint in a motion of length one, below which it is rounding."""


def refuse_stuck(
    motors: Mapping[str, Sequence[int]],
    neutral: tuple[Array, int],
    rows: Callable[[Array], Rows],
    moved: Callable[[Array, Array], Array],
    inertia: Callable[[Array], Array],
) -> None:
    """Refuse motors of joints to which constraints leave no motion.

    Parameters
    ----------
    motors : dict from str to sequence of int
        Joints, and their speeds.
    neutral : array, int
        The zero configuration, and how many speeds there are.
    rows : callable
        What the constraints that count say of coordinates.
    moved : callable
        Coordinates after a small motion.
    inertia : callable
        Diagonal of the mass matrix: by it speeds are measured, rad/s and m/s alike.
    """
    stuck, looked, chance = dict(motors), 0, np.random.default_rng(0)
    around, dof = neutral
    for spread in SPREADS:
        begin = moved(around, spread * chance.standard_normal(dof))
        try:
            around = assembled(begin, rows, moved, range(dof))
        except (ArgumentError, np.linalg.LinAlgError):
            continue
        found, scale = rows(around), inertia(around)
        moves = _moves(found.A, scale)
        stuck = {joint: own for joint, own in stuck.items() if not moves[own].any()}
        looked += 1
        if not stuck:
            return
        if looked == ENOUGH:
            joint, own = next(iter(stuck.items()))
            names = _responsible(found, scale, own)
            raise ArgumentError(f"actuated: {_leave(names)} joint {joint!r} no motion")


def _moves(A: Array, inertia: Array) -> NDArray[np.bool_]:
    """Which speeds can differ from zero."""
    rows, _ = normalized(A / np.sqrt(np.where(inertia > 0.0, inertia, 1.0)))
    _, sizes, motions = np.linalg.svd(rows)
    left = motions[int((sizes > LEFT).sum()) :]
    return np.asarray(np.linalg.norm(left, axis=0) > MOVES)


def _responsible(rows: Rows, inertia: Array, speeds: Sequence[int]) -> list[str]:
    """Constraints that stop these speeds together, none of which can be left out."""
    owners, needed = np.array(rows.names), list(dict.fromkeys(rows.names))
    for name in tuple(needed):
        others = [each for each in needed if each != name]
        if not _moves(rows.A[np.isin(owners, others)], inertia)[speeds].any():
            needed = others
    return needed


def _leave(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"constraint {names[0]!r} leaves"
    return f"constraints {', '.join(map(repr, names))} leave"
