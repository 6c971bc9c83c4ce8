"""Generalized speeds that make partial velocities vanish: the column reduction of Maher and Samak.

Velocities and angular velocities of all bodies are A s, with the partial velocities in the columns
of A. Multiples of a column are taken from columns before it, from the last column to the first,
where that leaves more of them zero. Then A = B T, with the new speeds T s and fewer partial
velocities in B (Maher and Samak 2000, eqs. 7 to 9). Multiples are constants: what vanishes does so
in every configuration, and the new speeds are as good as the old ones everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.symbolic.evaluate import evaluations
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.program import Operations

ZERO = 1e-10
"""What is this much smaller than the largest partial velocity of its kind is zero."""

Rows = list[list[Expr]]
Points = Sequence[Mapping[str, Sequence[float]]]


class Vanished(NamedTuple):
    """A partial velocity that became zero: of which body, which kind, and for which speed."""

    body: str
    kind: str
    speed: str


class Reduction(NamedTuple):
    """A = B T, and the places (group of rows, group of columns) of B that were not zero in A."""

    B: Rows
    T: Array
    vanished: list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class ReducedSpeeds:
    """Speeds found by column reduction.

    Attributes
    ----------
    names : tuple of str
        Of the speeds before; the new ones have the same, with a star.
    T : array (n, n)
        The new speeds are T times the old ones.
    vanished : tuple of Vanished
        Partial velocities that are zero for the new speeds, and were not for the old ones.
    before, after : Operations
        What Kane's equations take, formed body by body from partial velocities (inverse dynamics
        with all zeros left out), in the old speeds and in the new ones.
    """

    names: tuple[str, ...]
    T: Array
    vanished: tuple[Vanished, ...]
    before: Operations
    after: Operations

    @property
    def speeds(self) -> dict[str, dict[str, float]]:
        """Every new speed as multiples of old ones."""
        return {
            f"{name}*": {
                old: float(number) for old, number in zip(self.names, row) if number != 0.0
            }
            for name, row in zip(self.names, self.T)
        }

    def __str__(self) -> str:
        lines = [f"{name} = {_sum(parts)}" for name, parts in self.speeds.items()]
        lines += [f"zero: {kind} of {body} for {speed}*" for body, kind, speed in self.vanished]
        return "\n".join([*lines, f"before: {self.before}", f"after: {self.after}"])


def _sum(parts: Mapping[str, float]) -> str:
    text = ""
    for name, number in parts.items():
        size = "" if abs(number) == 1.0 else f"{abs(number):g} "
        sign = "-" if number < 0.0 else "+"
        text += f" {sign} {size}{name}" if text else f"{'-' if number < 0 else ''}{size}{name}"
    return text


def column_reduction(
    graph: Graph,
    A: Sequence[Sequence[Expr]],
    rows: Sequence[Sequence[int]],
    columns: Sequence[Sequence[int]],
    points: Points,
) -> Reduction:
    """Take multiples of columns from columns before them so that most elements vanish.

    Elements are blocks: what vanishes is the velocity of a body for all speeds of a group, such as
    the three of a ball joint.

    Parameters
    ----------
    A : sequence of sequence of Expr
        The matrix of partial velocities, one row a measure number. In which frame those of a body
        are given does not matter.
    rows : sequence of sequence of int
        Rows that belong together: those of one vector.
    columns : sequence of sequence of int
        Columns that belong together, in the order from which the last is taken first.
    points : sequence of mapping
        Inputs, anywhere, by which it is judged what is zero and what is proportional.
    """
    flat = [element for row in A for element in row]
    values = np.array(list(evaluations(flat, points))).reshape(len(points), len(A), -1)
    sizes = np.array([np.abs(values[:, block]).max() for block in rows])
    smallest = ZERO * np.where(sizes > 0.0, sizes, 1.0)
    T, B = np.eye(len(A[0])), [list(row) for row in A]
    zero = _zeros(values, rows, columns, smallest)
    for c in reversed(range(len(columns))):
        for d in reversed(range(c)):
            k = _multiple(values, rows, columns[c], columns[d], smallest)
            if k is None:
                continue
            values[:, :, columns[d]] -= values[:, :, columns[c]] @ k
            T[np.ix_(columns[c], columns[d])] = k
            for row in B:
                for j, at in enumerate(columns[d]):
                    taken = [number * row[i] for number, i in zip(k[:, j], columns[c])]
                    row[at] = row[at] - graph.sum(taken)
    remaining = _zeros(values, rows, columns, smallest)
    places = [(int(b), int(c)) for b, c in np.argwhere(remaining & ~zero)]
    for b, c in np.argwhere(remaining):
        for i in rows[b]:
            for j in columns[c]:
                B[i][j] = graph.zero
    return Reduction(B, T, places)


def _zeros(
    values: Array, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]], smallest: Array
) -> np.ndarray:
    """Which blocks are zero at all points."""
    return np.array(
        [
            [np.abs(values[:, block][:, :, group]).max() <= least for group in columns]
            for block, least in zip(rows, smallest)
        ]
    )


def _multiple(
    values: Array,
    rows: Sequence[Sequence[int]],
    pivot: Sequence[int],
    target: Sequence[int],
    smallest: Array,
) -> Array | None:
    """By what the pivot columns must be multiplied to leave most of the target columns zero."""
    groups = [list(pivot)], [list(target)]
    is_zero, was_zero = (_zeros(values, rows, each, smallest)[:, 0] for each in groups)
    best, most = None, int(was_zero.sum())
    for b in np.flatnonzero(~is_zero & ~was_zero).tolist():
        block = values[:, list(rows[b])]
        left, right = (np.concatenate(block[:, :, list(each)]) for each in (pivot, target))
        k = np.linalg.lstsq(left, right, rcond=None)[0]
        k = np.where(np.abs(k - np.round(k)) < ZERO, np.round(k), k) + 0.0
        if np.abs(left @ k - right).max() > smallest[b]:
            continue
        changed = values[:, :, target] - values[:, :, pivot] @ k
        zeros = sum(
            np.abs(changed[:, block]).max() <= least for block, least in zip(rows, smallest)
        )
        if zeros > most:
            best, most = k, int(zeros)
    return best
