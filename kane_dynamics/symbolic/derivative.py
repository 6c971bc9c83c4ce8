"""Derivatives by the chain rule over the graph: nothing is expanded, sharing is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kane_dynamics.symbolic.graph import Expr, Graph, reachable

# Partial derivatives of an operation with respect to each of its arguments; `y` is its value.
_PARTIALS: dict[str, Callable[..., tuple[Expr, ...]]] = {
    "neg": lambda g, y, a: (-g.one,),
    "add": lambda g, y, a, b: (g.one, g.one),
    "mul": lambda g, y, a, b: (b, a),
    "div": lambda g, y, a, b: (1.0 / b, -(y / b)),
    "sin": lambda g, y, a: (g.cos(a),),
    "cos": lambda g, y, a: (-g.sin(a),),
    "sqrt": lambda g, y, a: (0.5 / y,),
    "sign": lambda g, y, a: (g.zero,),
}


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
        if node.op == "select":  # not a sum of products: zero times what is undefined is undefined
            condition, *branches = node.args
            slopes = (tangent.get(branch, graph.zero) for branch in branches)
            tangent[node] = graph.select(condition, *slopes)
            continue
        partials = _PARTIALS[node.op](graph, node, *node.args)
        terms = [p * tangent[a] for p, a in zip(partials, node.args) if a in tangent]
        tangent[node] = graph.sum(terms)
    return tangent
