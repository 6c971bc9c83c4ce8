"""Derivatives by the chain rule over the graph: nothing is expanded, sharing is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kane_dynamics.symbolic.graph import Expr, Graph, reachable
from kane_dynamics.symbolic.operations import OPERATIONS


def derivatives(graph: Graph, outputs: Sequence[Expr], inputs: Sequence[Expr]) -> list[list[Expr]]:
    """Derivative of every output with respect to every input: one row an output.

    >>> graph = Graph()
    >>> x, y = graph.inputs("x", 2)
    >>> [[dx, dy]] = derivatives(graph, [x * graph.sin(y)], [x, y])
    >>> dx is graph.sin(y), dy is x * graph.cos(y)
    (True, True)
    """
    nodes = reachable(outputs)
    columns = [_tangents(graph, nodes, {x: graph.one}) for x in inputs]
    return [[column.get(y, graph.zero) for column in columns] for y in outputs]


def rates(graph: Graph, outputs: Sequence[Expr], of_inputs: Mapping[Expr, Expr]) -> list[Expr]:
    """Rate of every output when inputs change at these rates, and all others do not.

    >>> graph = Graph()
    >>> x, xdot = graph.inputs("x", 2)
    >>> rates(graph, [graph.sin(x)], {x: xdot}) == [graph.cos(x) * xdot]
    True
    """
    tangent = _tangents(graph, reachable(outputs), of_inputs)
    return [tangent.get(y, graph.zero) for y in outputs]


def _tangents(
    graph: Graph, nodes: Sequence[Expr], of_inputs: Mapping[Expr, Expr]
) -> dict[Expr, Expr]:
    """Rate of every node that depends on inputs which change."""
    tangent = dict(of_inputs)
    for node in nodes:
        if node in of_inputs or not any(arg in tangent for arg in node.args):
            continue
        slopes = [tangent.get(arg, graph.zero) for arg in node.args]
        tangent[node] = OPERATIONS[node.op].slope(graph, node, slopes)
    return tangent
