"""Values of expressions for given inputs: slow, exact to rounding, for checks while deriving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kane_dynamics.symbolic.graph import Expr, reachable
from kane_dynamics.symbolic.operations import OPERATIONS


def evaluate(outputs: Sequence[Expr], inputs: Mapping[str, Sequence[float]]) -> list[float]:
    """Numbers for the outputs. A division by zero and the root of a negative number give nan.

    >>> from kane_dynamics.symbolic.graph import Graph
    >>> graph = Graph()
    >>> x, y = graph.inputs("x", 2)
    >>> evaluate([x * y, x / y], {"x": [3.0, 2.0]})
    [6.0, 1.5]
    """
    return next(evaluations(outputs, [inputs]))


def evaluations(
    outputs: Sequence[Expr], points: Iterable[Mapping[str, Sequence[float]]]
) -> Iterator[list[float]]:
    """The same, for inputs one after the other."""
    nodes = reachable(outputs)
    for inputs in points:
        values: dict[Expr, float] = {}
        for node in nodes:
            if node.op == "const":
                values[node] = node.value
            elif node.op == "input":
                name, position = node.entry
                values[node] = float(inputs[name][position])
            else:
                values[node] = OPERATIONS[node.op].value(*[values[arg] for arg in node.args])
        yield [values[output] for output in outputs]
