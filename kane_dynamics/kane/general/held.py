"""The constraints of a model: rows of velocities that are kept at zero, by name.

Whoever gives a constraint of the configuration to `KanesMethod` gives its derivative as well, among
the constraints of motion. Here it is differentiated anyway, and of constraints of motion those that
follow from others are left out: they are redundant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ModelError
from kane_dynamics.kane.constraints import Row
from kane_dynamics.symbolic.derivative import derivatives, rates
from kane_dynamics.symbolic.evaluate import evaluations
from kane_dynamics.symbolic.graph import Expr, reachable

if TYPE_CHECKING:
    from kane_dynamics.kane.general.reading import Reading

FOLLOWS = 1e-9
"""What is left of a row that others have been taken from, as a share of it, that is rounding."""


@dataclass(frozen=True)
class Held:
    """A constraint of a model.

    Attributes
    ----------
    name : str
    rows : tuple of Row
        With their errors first, if they have any.
    named : bool
        Whether it was given by name, besides those of the model.
    """

    name: str
    rows: tuple[Row, ...]
    named: bool


def held_rows(reading: Reading) -> list[Held]:
    """The constraints of a model without those that follow from others."""
    model = reading.model
    found = []
    for kind, given in (("configuration", model.configuration), ("motion", model.motion)):
        for k, each in enumerate(given, 1):
            rows = [_row(reading, each, f"{kind} constraint {k}")]
            found.append(Held(f"{kind} {k}", tuple(rows), False))
    for name, given in model.named.items():
        rows = [_row(reading, each, f"constraint {name!r}") for each in given]
        rows.sort(key=lambda row: row.error is None)
        found.append(Held(name, tuple(rows), True))
    return _without_followers(reading, found)


def coefficients(reading: Reading, rows: Sequence[Row]) -> tuple[list[list[Expr]], list[Expr]]:
    """Of speeds, auxiliary ones last, in the velocities; and what is left without speeds."""
    from kane_dynamics.symbolic.substitution import substituted

    graph, velocities = reading.graph, [row.velocity for row in rows]
    matrix = derivatives(graph, velocities, [*reading.u, *reading.aux])
    zeros = {"u": [graph.zero] * len(reading.u), "aux": [graph.zero] * len(reading.aux)}
    return matrix, substituted(graph, velocities, zeros)


def _row(reading: Reading, given: Any, where: str) -> Row:
    graph = reading.graph
    expression = reading.convert(given, where)
    names = {node.entry[0] for node in reachable([expression]) if node.op == "input"}
    row = Row(expression)
    if not names & {"u", "aux"}:
        changing = reading.changing([expression], where)
        row = Row(rates(graph, [expression], changing)[0], expression)
    matrix = derivatives(graph, [row.velocity], [*reading.u, *reading.aux])
    for node in reachable(matrix[0]):
        if node.op == "input" and node.entry[0] == "u":
            speed = reading.model.u[node.entry[1]]
            raise ModelError(f"{where} is not linear in the speed {speed}")
    if all(each is graph.zero for each in matrix[0]):
        raise ModelError(f"{where} contains no speed and no coordinate that moves: {given}")
    return row


def _without_followers(reading: Reading, held: Sequence[Held]) -> list[Held]:
    """Leave out rows that follow from those before, and refuse those that contradict them."""
    if not held:
        return []
    model, count = reading.model, len(reading.u) + len(reading.aux)
    matrix, rest = coefficients(reading, [row for each in held for row in each.rows])
    flat = [e for row in matrix for e in row] + rest
    values = np.array(list(evaluations(flat, reading.trials)))
    numbers = values[:, : -len(rest)].reshape(len(values), -1, count)
    constant = values[:, -len(rest) :]
    owners = [(each, row) for each in held for row in each.rows]
    errors = [reading.graph.zero if row.error is None else row.error for _, row in owners]
    apart = np.array(list(evaluations(errors, reading.trials)))
    basis: list[int] = []
    # those of the configuration first: constraints of motion alone cannot say where
    for k in sorted(range(len(owners)), key=lambda k: owners[k][1].error is None):
        each, row = owners[k]
        ours = [*basis, k]
        if _independent(numbers[:, ours, : len(reading.u)]):
            basis.append(k)
            continue
        wide = np.concatenate([numbers[:, ours], constant[:, ours, None]], axis=-1)
        placed = [j for j in ours if owners[j][1].error is not None]
        contradicts = (
            _independent(wide) if row.error is None else _misses(wide, ours, placed, apart)
        )
        if contradicts:
            raise ModelError(f"constraint {each.name!r} contradicts those before it")
        doubled = [*range(len(model.configuration)), k]
        if each.named or _independent(numbers[:, doubled, : len(reading.u)]):
            reading.redundant.append(each.name)
    found, k = [], 0
    for each in held:
        rows = [row for j, row in enumerate(each.rows, k) if j in basis]
        k += len(each.rows)
        found += [Held(each.name, tuple(rows), each.named)] if rows else []
    if len(basis) >= len(reading.u):
        raise ModelError(
            f"{len(basis)} constraints ({', '.join(each.name for each in found)}) leave no freedom "
            f"to {len(reading.u)} speeds"
        )
    return found


def _independent(rows: Array) -> bool:
    """Whether the last row is none of the combinations of the others, at some point."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled = rows / np.where(lengths > 0.0, lengths, 1.0)
    for each in scaled:
        *before, last = each
        left = last.copy()
        if before:
            q, _ = np.linalg.qr(np.array(before).T)
            left -= q @ (q.T @ left)
        if np.linalg.norm(left) > FOLLOWS:
            return True
    return False


def _misses(rows: Array, ours: list[int], placed: list[int], errors: Array) -> bool:
    """Whether the last error differs by a constant from the combination that its rate is."""
    before = [ours.index(j) for j in placed[:-1]]
    weights = np.array([np.linalg.lstsq(each[before].T, each[-1])[0] for each in rows])
    left = rows[:, -1] - np.einsum("ti,tij->tj", weights, rows[:, before])
    scale = np.abs(weights).max(initial=0.0)
    if np.abs(left).max() > FOLLOWS * np.abs(rows).max() or scale == 0.0:
        return False
    if np.ptp(weights, axis=0).max() > FOLLOWS * scale:
        return False
    off = errors[:, placed[-1]] - np.einsum("ti,ti->t", weights, errors[:, placed[:-1]])
    rounding = FOLLOWS * np.abs(errors).max()
    return bool(np.ptp(off) <= rounding < np.abs(off).max())
