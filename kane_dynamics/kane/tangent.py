"""Derivatives along the motions that speeds give, of expressions that coordinates are put into.

Coordinates of a free body are seven and its speeds six; so what is asked for is not the derivative
by a coordinate but by a displacement: a unit of displacement r changes the coordinates by their
rates for a unit of speed r. Where speeds are rates of coordinates, both are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.linear import factorized, solved
from kane_dynamics.symbolic.derivative import derivatives
from kane_dynamics.symbolic.graph import Expr, Graph

Rows = list[list[Expr]]


def displacements(graph: Graph, rates: Sequence[Expr], u: Sequence[Expr]) -> Rows:
    """What a unit of each displacement adds to the coordinates: a row a coordinate."""
    return derivatives(graph, rates, u)


def along(
    graph: Graph, outputs: Sequence[Expr], q: Sequence[Expr], displaced: Sequence[Sequence[Expr]]
) -> Rows:
    """Derivatives by displacements: a row an output."""
    return product(graph, derivatives(graph, outputs, q), displaced)


def product(graph: Graph, A: Sequence[Sequence[Expr]], B: Sequence[Sequence[Expr]]) -> Rows:
    """A times B."""
    columns = list(zip(*B))
    return [[graph.sum([a * b for a, b in zip(row, column)]) for column in columns] for row in A]


def displacement_rates(
    graph: Graph, rates: Sequence[Expr], q: Sequence[Expr], u: Sequence[Expr]
) -> Rows:
    """Coefficients of displacements from a motion in their own rates: a row a rate.

    A neighbour of the motion q(t) is q + T d, where T are the `displacements`. That its rates are
    T u, too, gives T d' = (dT u/dq T - T') d + T du: solved for d' by least squares, for which it
    always has an exact solution. All zero where T is constant.
    """
    T = displacements(graph, rates, u)
    changed = along(graph, rates, q, T)
    flat = [element for row in T for element in row]
    turned = product(graph, derivatives(graph, flat, q), [[rate] for rate in rates])
    count = len(u)
    left = [[changed[k][r] - turned[count * k + r][0] for r in range(count)] for k in range(len(q))]
    columns = list(zip(*T))
    normal = product(graph, columns, T)
    right = product(graph, columns, left)
    factors = factorized(graph, normal)
    solutions = [solved(graph, factors, column) for column in zip(*right)]
    return [list(row) for row in zip(*solutions)]
