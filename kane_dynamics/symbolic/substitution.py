"""The same expressions of other inputs, in the same graph or in another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kane_dynamics.symbolic.graph import Expr, Graph, reachable


def substituted(
    graph: Graph, outputs: Sequence[Expr], inputs: Mapping[str, Sequence[Expr]]
) -> list[Expr]:
    """Expressions of a graph in which inputs of these names are these expressions.

    >>> first, second = Graph(), Graph()
    >>> x, y = first.inputs("x", 2)
    >>> substituted(second, [x - y], {"x": 2 * [second.one]})
    [Expr(0.0)]
    """
    made: dict[Expr, Expr] = {}
    for node in reachable(outputs):
        if node.op == "const":
            made[node] = graph.constant(node.value)
        elif node.op == "input":
            name, position = node.entry
            found = inputs.get(name)
            made[node] = graph.inputs(name, position + 1)[-1] if found is None else found[position]
        else:
            made[node] = graph.make(node.op, *[made[arg] for arg in node.args])
    return [made[output] for output in outputs]
