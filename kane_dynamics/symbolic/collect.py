"""Like products of inputs, collected where sums contain them in parts: a u v - b u v = (a - b) u v.

Inertia torques and moments of inertia forces multiply the same speeds by numbers of their own; in
Euler's equations each product stands once. Sums within sums, and within multiples of sums, are
taken as one; all that is no product of inputs stays together as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kane_dynamics.symbolic.graph import Expr, Graph, reachable

Factors = tuple[Expr, ...]

MOST_FACTORS = 4


class Terms(NamedTuple):
    """A sum: multiples of products of inputs, and all else."""

    products: dict[Factors, float]
    rest: Expr


def collected(graph: Graph, outputs: Sequence[Expr]) -> list[Expr]:
    """The same expressions, perhaps with fewer operations, perhaps with more.

    >>> graph = Graph()
    >>> u, v, w = graph.inputs("u", 3)
    >>> (short,) = collected(graph, [2.0 * u * v + w - 3.0 * (w + 4.0 * u * v)])
    >>> short == -10.0 * (u * v) + (w - 3.0 * w)
    True
    """
    nodes = reachable(outputs)
    uses = Counter(arg for node in nodes for arg in node.args)
    uses.update(outputs)
    sums: dict[Expr, Terms] = {}
    products: dict[Expr, tuple[float, Factors]] = {}
    made: dict[Expr, Expr] = {}
    for node in nodes:
        products[node] = _product(graph, node, products)
        if node.op in ("const", "input"):
            made[node] = node
            continue
        found = _terms(graph, node, uses, sums, products, made)
        if found is None:
            made[node] = graph.make(node.op, *(made[arg] for arg in node.args))
        else:
            sums[node], made[node] = found, _whole(graph, found)
    return [made[output] for output in outputs]


def _product(
    graph: Graph, node: Expr, products: dict[Expr, tuple[float, Factors]]
) -> tuple[float, Factors]:
    """A number times inputs; no inputs if it is something else."""
    if node.op == "const":
        return node.value, ()
    if node.op == "input":
        return 1.0, (node,)
    if node.op == "neg":
        number, factors = products[node.args[0]]
        return -number, factors
    if node.op == "mul":
        (m, a), (n, b) = (products[arg] for arg in node.args)
        constants = [arg.op == "const" for arg in node.args]
        if (a or constants[0]) and (b or constants[1]) and len(a) + len(b) <= MOST_FACTORS:
            return m * n, tuple(sorted((*a, *b), key=lambda each: each.index))
    return 1.0, ()


def _terms(
    graph: Graph,
    node: Expr,
    uses: Counter[Expr],
    sums: dict[Expr, Terms],
    products: dict[Expr, tuple[float, Factors]],
    made: dict[Expr, Expr],
) -> Terms | None:
    """A sum, or a multiple of one that nothing else uses; None for what is neither."""

    def part(x: Expr) -> Terms:
        number, factors = products[x]
        if len(factors) > 1:
            return Terms({factors: number}, graph.zero)
        if x in sums and uses[x] == 1:
            return sums[x]
        return Terms({}, made[x])

    if node.op == "add":
        (first, a), (second, b) = (part(arg) for arg in node.args)
        total = dict(first)
        for factors, number in second.items():
            total[factors] = total.get(factors, 0.0) + number
        return Terms(total, a + b)
    if node.op == "neg" and node.args[0] in sums:
        terms = part(node.args[0])
        return Terms({key: -number for key, number in terms.products.items()}, -terms.rest)
    if node.op == "mul" and node.args[0].op == "const" and node.args[1] in sums:
        factor, terms = node.args[0], part(node.args[1])
        times = {key: factor.value * number for key, number in terms.products.items()}
        return Terms(times, factor * terms.rest)
    return None


def _whole(graph: Graph, terms: Terms) -> Expr:
    total = terms.rest
    for factors, number in sorted(
        terms.products.items(), key=lambda item: [each.index for each in item[0]]
    ):
        if number:
            product = factors[0]
            for each in factors[1:]:
                product = product * each
            total = total + number * product
    return total
