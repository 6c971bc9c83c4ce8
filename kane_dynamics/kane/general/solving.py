"""Linear equations with any square matrix of expressions, most elements of which are zero.

Equations are taken apart into blocks that can be solved one after the other; blocks of up to three
by the adjugate, which divides by nothing but the determinant, so that there are no singularities
but those of the equations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.symbolic.graph import Expr, Graph

Rows = Sequence[Sequence[Expr]]

ADJUGATE = 3
"""Largest block that is solved by its adjugate."""


def solved_exactly(graph: Graph, rows: Rows, right: Sequence[Expr], numbers: Array) -> list[Expr]:
    """x in rows · x = right.

    Parameters
    ----------
    numbers : array (N, n, n)
        The matrix somewhere, by which pivots are chosen.
    """
    return [row[0] for row in solved_columns(graph, rows, [[each] for each in right], numbers)]


def solved_columns(graph: Graph, rows: Rows, right: Rows, numbers: Array) -> list[list[Expr]]:
    """The same for several right-hand sides: a row an unknown."""
    count = len(rows)
    x: list[list[Expr]] = [[] for _ in range(count)]
    done: set[int] = set()
    for equations, unknowns in blocks(graph, rows, numbers):
        left = [
            [
                total - graph.sum([rows[i][j] * x[j][c] for j in sorted(done)])
                for c, total in enumerate(right[i])
            ]
            for i in equations
        ]
        block = [[rows[i][j] for j in unknowns] for i in equations]
        values = numbers[:, equations][:, :, unknowns]
        solve = _by_adjugate if len(unknowns) <= ADJUGATE else _by_elimination
        for j, found in zip(unknowns, solve(graph, block, left, values)):
            x[j] = found
        done.update(unknowns)
    return x


def blocks(graph: Graph, rows: Rows, numbers: Array) -> list[tuple[list[int], list[int]]]:
    """Equations with the unknowns that they give, in the order in which they can be solved."""
    n = len(rows)
    there = [
        [j for j in range(n) if rows[i][j] is not graph.zero and np.abs(numbers[:, i, j]).max() > 0]
        for i in range(n)
    ]
    equation = _matching(there)
    # an unknown comes after those that stand in its equation
    return [
        ([equation[j] for j in block], block)
        for block in _strongly_connected({j: there[equation[j]] for j in equation})
    ]


def _matching(there: Sequence[Sequence[int]]) -> dict[int, int]:
    """For every unknown an equation that contains it, by augmenting paths."""
    owner: dict[int, int] = {}

    def place(i: int, seen: set[int]) -> bool:
        for j in there[i]:
            if j not in seen:
                seen.add(j)
                if j not in owner or place(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    for i in range(len(there)):
        place(i, set())
    return owner


def _strongly_connected(after: dict[int, Sequence[int]]) -> list[list[int]]:
    """Groups of nodes that lead to each other, those that others lead to first (Tarjan 1972)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    groups: list[list[int]] = []

    def visit(node: int) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in after[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            cut = stack.index(node)
            groups.append(sorted(stack[cut:]))
            del stack[cut:]

    for node in after:
        if node not in index:
            visit(node)
    return groups


def _by_adjugate(graph: Graph, block: Rows, right: Rows, numbers: Array) -> list[list[Expr]]:
    if len(block) == 1:
        ((pivot,),) = block
        return [[each / pivot for each in right[0]]]
    adjugate, determinant = _adjugate(graph, block)
    inverse = graph.one / determinant
    return [
        [
            graph.sum([row[i] * right[i][c] for i in range(len(right))]) * inverse
            for c in range(len(right[0]))
        ]
        for row in adjugate
    ]


def _adjugate(graph: Graph, block: Rows) -> tuple[list[list[Expr]], Expr]:
    if len(block) == 2:
        (a, b), (c, d) = block
        return [[d, -b], [-c, a]], a * d - b * c
    (a, b, c), (d, e, f), (g, h, i) = block
    first = [e * i - f * h, f * g - d * i, d * h - e * g]
    adjugate = [
        [first[0], c * h - b * i, b * f - c * e],
        [first[1], a * i - c * g, c * d - a * f],
        [first[2], b * g - a * h, a * e - b * d],
    ]
    return adjugate, a * first[0] + b * first[1] + c * first[2]


def _by_elimination(graph: Graph, block: Rows, right: Rows, numbers: Array) -> list[list[Expr]]:
    """Gauss, with pivots that are large in numbers and few elements beside them."""
    n, wide = len(block), [[*row, *rest] for row, rest in zip(block, right)]
    values, order = numbers.copy(), []
    free = list(range(n))
    for column in range(n):
        pivot = _pivot(graph, wide, values, free, column)
        order.append(pivot)
        free.remove(pivot)
        inverse = graph.one / wide[pivot][column]
        for i in free:
            if wide[i][column] is graph.zero:
                continue
            factor = wide[i][column] * inverse
            wide[i] = [
                a - factor * b if j > column else graph.zero
                for j, (a, b) in enumerate(zip(wide[i], wide[pivot]))
            ]
            ratio = values[:, i, column] / values[:, pivot, column]
            values[:, i] = values[:, i] - ratio[:, None] * values[:, pivot]
    x: list[list[Expr]] = [[] for _ in range(n)]
    for column in reversed(range(n)):
        row = wide[order[column]]
        x[column] = [
            (row[n + c] - graph.sum([row[j] * x[j][c] for j in range(column + 1, n)])) / row[column]
            for c in range(len(right[0]))
        ]
    return x


def _pivot(
    graph: Graph, wide: Sequence[Sequence[Expr]], values: Array, free: Sequence[int], column: int
) -> int:
    sizes = {i: float(np.abs(values[:, i, column]).min()) for i in free}
    largest = max(sizes.values())
    fit = [i for i in free if sizes[i] >= 1e-3 * largest and wide[i][column] is not graph.zero]
    constant = [i for i in fit if wide[i][column].op == "const"]
    few = constant or fit or list(free)
    return min(few, key=lambda i: sum(each is not graph.zero for each in wide[i]))
