"""Derivatives by the chain rule over the graph: nothing is expanded, sharing is kept."""

from __future__ import annotations

from collections.abc import Sequence

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
    columns = [_tangents(graph, nodes, x) for x in inputs]
    return [[column.get(y, graph.zero) for column in columns] for y in outputs]


def _tangents(graph: Graph, nodes: Sequence[Expr], x: Expr) -> dict[Expr, Expr]:
    """Derivative with respect to x of every node that depends on it."""
    tangent = {x: graph.one}
    for node in nodes:
        if node is x or not any(arg in tangent for arg in node.args):
            continue
        slopes = [tangent.get(arg, graph.zero) for arg in node.args]
        tangent[node] = OPERATIONS[node.op].slope(graph, node, slopes)
    return tangent
