"""A point that constraints keep from moving: where a wheel touches, where a loop is closed.

The rows of such constraints are measure numbers of its velocity, multiplied out. As the velocity
of a node that moves with bodies, in the basis of that node, it says the same in few operations, and
its acceleration comes with those of the bodies. Whether a point of the model is one that the rows
hold is judged in numbers at a few configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ModelError
from kane_dynamics.kane.constraints import Row
from kane_dynamics.kane.general.held import FOLLOWS, coefficients
from kane_dynamics.symbolic.evaluate import evaluations

if TYPE_CHECKING:
    from kane_dynamics.kane.general.reading import Reading


class Closure(NamedTuple):
    """A point that is held, and which rows of all constraints say more than that."""

    point: Any
    kept: tuple[int, ...]


def closure(reading: Reading) -> Closure | None:
    """The point of which most rows of the constraints speak."""
    rows = [row for each in reading.constraints for row in each.rows]
    if len(rows) < 2 or reading.aux:
        return None
    held, best = _numbers(reading, rows), None
    for point in _points(reading):
        try:
            velocity = reading.kinematics.velocity(point, reading.kinematics.inertial)
        except ModelError:
            continue
        moves = _numbers(reading, [Row(each) for each in velocity])
        if not np.isfinite(moves).all() or not moves.any() or not _follow(moves, held):
            continue
        kept = _kept(moves, held)
        if best is None or len(kept) < len(best.kept):
            best = Closure(point, kept)
    return best if best is not None and len(rows) - len(best.kept) > 1 else None


def _numbers(reading: Reading, rows: Sequence[Row]) -> Array:
    """Coefficients of the speeds, and what is left without speeds: (trials, rows, speeds + 1)."""
    matrix, rest = coefficients(reading, rows)
    flat = [e for row, b in zip(matrix, rest) for e in (*row, b)]
    values = np.array(list(evaluations(flat, reading.trials)))
    return values.reshape(len(values), len(rows), -1)


def _points(reading: Reading) -> list[Any]:
    """All that positions are stated of, from the bodies on."""
    waiting = [body.masscenter for body in reading.model.bodies]
    found: list[Any] = []
    while waiting:
        point = waiting.pop(0)
        if point not in found:
            found.append(point)
            waiting += point._pos_dict
    return found


def _rank(rows: Array) -> int:
    """Of the scaled rows, at most configurations."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled = rows / np.where(lengths > FOLLOWS * lengths.max(), lengths, np.inf)
    return int(np.median(np.linalg.matrix_rank(scaled, tol=FOLLOWS)))


def _follow(rows: Array, held: Array) -> bool:
    return _rank(np.concatenate([held, rows], axis=1)) == _rank(held)


def _kept(moves: Array, held: Array) -> tuple[int, ...]:
    """Rows that do not follow from the velocity of the point, nor from those kept before."""
    found: list[int] = []
    taken = moves
    for k in range(held.shape[1]):
        longer = np.concatenate([taken, held[:, k : k + 1]], axis=1)
        if _rank(longer) > _rank(taken):
            taken = longer
            found.append(k)
    return tuple(found)
