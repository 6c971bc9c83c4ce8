"""Linear equations with a symmetric matrix of expressions, solved by elimination."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kane_dynamics.symbolic.graph import Expr, Graph

SINGULAR = 1e-13
"""A pivot this much smaller than its diagonal element is zero up to rounding."""


@dataclass(frozen=True)
class Factorization:
    """M = Lᵀ D L, row by row.

    Attributes
    ----------
    lower : list of dict
        Nonzero elements of the unit lower triangular L left of the diagonal, a row each.
    pivots : list of Expr
        Diagonal of D: the inertia felt at each speed when the speeds outboard of it are free.
    """

    lower: list[dict[int, Expr]]
    pivots: list[Expr]


def sound(pivot: Expr, diagonal: Expr) -> Expr:
    """A pivot, or zero if it is no more than rounding beside its diagonal element."""
    graph = pivot.graph
    return graph.select(pivot - SINGULAR * diagonal, pivot, graph.zero)


def factorized(
    graph: Graph, M: Sequence[Sequence[Expr]], doubtful: Collection[int] = ()
) -> Factorization:
    """Eliminate the speeds last to first (Featherstone 2005, the order that keeps the zeros).

    Parameters
    ----------
    doubtful : collection of int
        Pivots that may vanish; these become zero where rounding is all that is left of them.
    """
    count = len(M)
    rows = [
        {j: M[i][j] for j in range(i + 1) if M[i][j] is not graph.zero or i == j}
        for i in range(count)
    ]
    for k in reversed(range(count)):
        if k in doubtful:
            rows[k][k] = sound(rows[k][k], M[k][k])
        inverse = graph.one / rows[k][k] if rows[k][k] is not graph.zero else graph.zero
        scaled = {j: element * inverse for j, element in rows[k].items() if j != k}
        for i, factor in scaled.items():
            for j in scaled:
                if j <= i:
                    before = rows[i].get(j, graph.zero)
                    rows[i][j] = before - factor * rows[k][j]
        rows[k] = {**scaled, k: rows[k][k]}
    pivots = [rows[k].pop(k) for k in range(count)]
    return Factorization(rows, pivots)


def solved(graph: Graph, factors: Factorization, right: Sequence[Expr]) -> list[Expr]:
    """x in Lᵀ D L x = right."""
    x = list(right)
    count = len(x)
    for i in reversed(range(count)):
        for j, element in factors.lower[i].items():
            x[j] = x[j] - element * x[i]
    for i in range(count):
        x[i] = x[i] * (graph.one / factors.pivots[i])
        for j, element in factors.lower[i].items():
            x[i] = x[i] - element * x[j]
    return x
