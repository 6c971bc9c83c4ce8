"""Accelerations, by elimination of one speed after the other from the tips inward.

Accelerations make the sum over bodies of inertia times acceleration squared, less twice the work
of forces, as small as possible (Gauss). Of each node this is a quadratic function of its own
acceleration; put in terms of the parent's acceleration and of the node's own speeds, those speeds
that nothing else depends on can be eliminated at once, and what is left is added to the parent.
So the cost of a chain grows with its length. What has no such order is eliminated at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kane_dynamics.kane.general.motion import Edge
from kane_dynamics.kane.general.nodes import Node
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Matrix, Vector

Variable = int
"""A speed, by its position; or a measure number of the acceleration of the present node, -6 to -1:
those of the angular acceleration first."""

Linear = dict[Variable, Expr]


@dataclass
class Quadratic:
    """½ xᵀ A x - xᵀ b, with the elements that are not zero.

    Of A one of each pair is kept, under (smaller, larger).
    """

    A: dict[tuple[Variable, Variable], Expr] = field(default_factory=dict)
    b: Linear = field(default_factory=dict)

    def add(self, i: Variable, j: Variable, element: Expr) -> None:
        key = (i, j) if i <= j else (j, i)
        _put(self.A, key, element)

    def push(self, i: Variable, element: Expr) -> None:
        _put(self.b, i, element)

    @property
    def variables(self) -> set[Variable]:
        return {each for pair in self.A for each in pair} | set(self.b)

    def row(self, i: Variable) -> Linear:
        """Elements of A that couple a variable with others."""
        return {a + b - i: element for (a, b), element in self.A.items() if (a == i) != (b == i)}

    def drop(self, i: Variable) -> None:
        self.A = {key: element for key, element in self.A.items() if i not in key}
        self.b.pop(i, None)


@dataclass(frozen=True)
class Eliminated:
    """x = right - Σ factors · others: a speed by those that are found before it."""

    speed: int
    right: Expr
    factors: Linear
    node: int


def accelerations(
    graph: Graph,
    nodes: Sequence[Node],
    edges: Sequence[Edge | None],
    right: Sequence[Expr],
) -> list[Expr]:
    """The udot of M udot = right."""
    count = len(right)
    uses = Counter(k for node in nodes for k in node.own if k < count)
    costs = [inertia_of(graph, node) for node in nodes]
    seen = [Counter(k for k in node.own if k < count) for node in nodes]
    done: list[Eliminated] = []
    ground = Quadratic()
    for k, each in enumerate(right):
        if each is not graph.zero:
            ground.push(k, each)
    for i in reversed(range(len(nodes))):
        node = nodes[i]
        cost = in_terms_of_parent(graph, node, edges[i], costs[i], count)
        for k in sorted(seen[i], reverse=True):
            if seen[i][k] == uses[k] and cost.A.get((k, k), graph.zero) is not graph.zero:
                if k in ground.b:
                    cost.push(k, ground.b.pop(k))
                done.append(_eliminate(graph, cost, k, i))
                del seen[i][k]
        target = ground if node.parent < 0 else costs[node.parent]
        for pair, element in cost.A.items():
            target.add(*pair, element)
        for k, element in cost.b.items():
            target.push(k, element)
        if node.parent >= 0:
            seen[node.parent].update(seen[i])
    left = sorted(set(range(count)) - {each.speed for each in done}, reverse=True)
    done += [_eliminate(graph, ground, k, -1) for k in left]
    return _found(graph, nodes, edges, done, count)


def inertia_of(graph: Graph, node: Node) -> Quadratic:
    cost = Quadratic()
    if node.mass is not None:
        for k in (-3, -2, -1):
            cost.add(k, k, node.mass)
    if node.inertia is not None:
        for i in range(3):
            for j in range(i, 3):
                cost.add(i - 6, j - 6, node.inertia[i][j])
    return cost


def in_terms_of_parent(
    graph: Graph, node: Node, edge: Edge | None, cost: Quadratic, count: int
) -> Quadratic:
    """The cost with measure numbers of the node's acceleration replaced."""
    terms = _terms(graph, node, edge, count)
    present = sorted(cost.variables)
    products: dict[Variable, Linear] = {}
    result = Quadratic()
    for i in present:
        for j, element in _whole_row(cost, i).items():
            for name, factor in terms[j].items() if j < 0 else ((j, graph.one),):
                _put(products.setdefault(i, {}), name, element * factor)
    for i in present:
        for name, factor in terms[i].items() if i < 0 else ((i, graph.one),):
            if i in cost.b:
                result.push(name, factor * cost.b[i])
            for other, element in products.get(i, {}).items():
                if name <= other:
                    result.add(name, other, factor * element)
    return result


def _whole_row(cost: Quadratic, i: Variable) -> Linear:
    row = cost.row(i)
    if (i, i) in cost.A:
        row[i] = cost.A[i, i]
    return dict(sorted(row.items()))


def _terms(graph: Graph, node: Node, edge: Edge | None, count: int) -> dict[int, Linear]:
    """Every measure number by those of the parent, and by speeds."""
    terms: dict[int, Linear] = {k: {} for k in range(-6, 0)}
    for columns, first in ((node.turns, -6), (node.moves, -3)):
        for k, column in columns.items():
            if k < count:
                for i in range(3):
                    _put(terms[first + i], k, column[i])
    if edge is not None:
        if node.turned:
            _put_matrix(terms, -6, -6, edge.rotation)
        if node.velocity is not None:
            _put_matrix(terms, -3, -3, edge.move)
            if node.lever is not None:
                _put_matrix(terms, -3, -6, edge.arm.times(_crossed(graph, node.lever)))
    return terms


def _put_matrix(terms: dict[int, Linear], row: int, column: int, matrix: Matrix) -> None:
    for i in range(3):
        for j in range(3):
            _put(terms[row + i], column + j, matrix[i][j])


def _crossed(graph: Graph, r: Vector) -> Matrix:
    """What gives alpha × r."""
    zero = graph.zero
    return Matrix(Vector(zero, r.z, -r.y), Vector(-r.z, zero, r.x), Vector(r.y, -r.x, zero))


def _eliminate(graph: Graph, cost: Quadratic, k: int, node: int) -> Eliminated:
    pivot = cost.A.get((k, k), graph.zero)
    inverse = graph.one / pivot
    row = dict(sorted(cost.row(k).items()))
    factors = {j: element * inverse for j, element in row.items()}
    right = cost.b.get(k, graph.zero)
    cost.drop(k)
    for i, factor in factors.items():
        for j, element in row.items():
            if i <= j:
                cost.add(i, j, -(factor * element))
        if right is not graph.zero:
            cost.push(i, -(factor * right))
    return Eliminated(k, right * inverse, factors, node)


def _found(
    graph: Graph,
    nodes: Sequence[Node],
    edges: Sequence[Edge | None],
    done: Sequence[Eliminated],
    count: int,
) -> list[Expr]:
    """Speeds in the opposite order; accelerations of nodes where they are needed for that."""
    udot: dict[int, Expr] = {}
    needed: dict[int, Linear] = {}
    children: dict[int, list[Eliminated]] = {}
    for each in reversed(done):
        children.setdefault(each.node, []).append(each)
    for each in children.get(-1, ()):
        _solve(graph, each, {}, udot)
    for i, node in enumerate(nodes):
        # the acceleration of the parent is that of nodes before
        before = needed.get(node.parent, {}) if node.parent >= 0 else {}
        for each in children.get(i, ()):
            _solve(graph, each, before, udot)
        terms = _terms(graph, node, edges[i], count)
        own: Linear = {}
        for k, parts in terms.items():
            total = graph.zero
            for name, factor in parts.items():
                value = udot[name] if name >= 0 else before.get(name, graph.zero)
                total = total + factor * value
            own[k] = total
        needed[i] = own
    return [udot[k] for k in range(count)]


def _solve(graph: Graph, each: Eliminated, before: Linear, udot: dict[int, Expr]) -> None:
    value = each.right
    for name, factor in each.factors.items():
        value = value - factor * (udot[name] if name >= 0 else before.get(name, graph.zero))
    udot[each.speed] = value


def _put(where: dict[Any, Expr], key: Any, element: Expr) -> None:
    graph = element.graph
    total = where[key] + element if key in where else element
    if total is graph.zero:
        where.pop(key, None)
    else:
        where[key] = total
