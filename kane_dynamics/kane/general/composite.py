"""The mass matrix from composite bodies: a node and all that moves with it, as if it were rigid.

Of such a body mass, first moment and inertia are known; accelerated by one speed, it resists with a
force and a torque, which are felt by that speed and by all further inward. It is how trees have it,
and takes fewer operations than quadratic forms do (`mass`), wherever velocities of points are given
in the frames of their bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics.kane.general.motion import Edge
from kane_dynamics.kane.general.nodes import Node
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Matrix, Vector, vector

Wrench = tuple[Vector, Vector]
"""Torque and force in the frame of a node."""


@dataclass
class Composite:
    """Mass, first moment and inertia about the point of a node.

    And the wrenches with which it resists speeds further outward.
    """

    mass: Expr
    first: Vector
    inertia: Matrix
    carried: dict[int, Wrench]


def has_composites(nodes: Sequence[Node]) -> bool:
    """Whether velocities of all points are given in the frames of their bodies."""
    return all(node.velocity is None or node.basis == node.frame for node in nodes)


def composite_rows(
    graph: Graph, nodes: Sequence[Node], edges: Sequence[Edge | None], speeds: int
) -> list[list[Expr]]:
    """Coefficients of the rates of speeds in the generalized inertia forces, sign turned."""
    zero = vector(graph, (0, 0, 0))
    none = Matrix(zero, zero, zero)
    rows = [[graph.zero] * speeds for _ in range(speeds)]
    bodies = [Composite(node.mass or graph.zero, zero, node.inertia or none, {}) for node in nodes]
    for node, edge, body in reversed(list(zip(nodes, edges, bodies))):
        own: dict[int, Wrench] = {}
        for k in node.own:
            felt = _resisting(body, node.turns.get(k, zero), node.moves.get(k, zero))
            for j in node.own:
                if j >= k:
                    _add(rows, j, k, _felt(node, j, felt, zero))
            for j, each in body.carried.items():
                found = _felt(node, k, each, zero)
                _add(rows, j, k, found + found if j == k else found)
            own[k] = felt
        if edge is not None:
            for k, each in own.items():
                _put(body.carried, k, each)
            _give(node, edge, body, bodies[node.parent])
    return rows


def _resisting(body: Composite, alpha: Vector, a: Vector) -> Wrench:
    torque = body.inertia @ alpha + body.first.cross(a)
    return torque, body.mass * a + alpha.cross(body.first)


def _felt(node: Node, speed: int, wrench: Wrench, zero: Vector) -> Expr:
    torque, force = wrench
    turns, moves = node.turns.get(speed, zero), node.moves.get(speed, zero)
    return turns.dot(torque) + moves.dot(force)


def _add(rows: list[list[Expr]], i: int, j: int, element: Expr) -> None:
    rows[i][j] = rows[j][i] = rows[i][j] + element


def _give(node: Node, edge: Edge, body: Composite, parent: Composite) -> None:
    """To the parent, all that moves with it."""
    turn, zero = edge.rotation.transposed, vector(body.mass.graph, (0, 0, 0))
    if node.turned:
        parent.inertia = _sum(parent.inertia, _turned(body.inertia, turn))
    if node.velocity is not None:
        first = turn @ body.first if node.turned else zero
        parent.mass = parent.mass + body.mass
        lever = node.lever
        if lever is None:
            parent.first = parent.first + first
        else:
            whole = first + body.mass * lever
            parent.first = parent.first + whole
            parent.inertia = _sum(parent.inertia, _shifted(first, whole, lever))
    for k, (torque, force) in body.carried.items():
        before_torque, before_force = zero, zero
        if node.turned:
            before_torque = turn @ torque
        if node.velocity is not None:
            before_force = edge.move.transposed @ force
            if node.lever is not None:
                before_torque = before_torque + node.lever.cross(edge.arm.transposed @ force)
        _put(parent.carried, k, (before_torque, before_force))


def _put(carried: dict[int, Wrench], speed: int, wrench: Wrench) -> None:
    if speed in carried:
        (a, b), (c, d) = carried[speed], wrench
        wrench = a + c, b + d
    carried[speed] = wrench


def _turned(inertia: Matrix, turn: Matrix) -> Matrix:
    """Seen from a frame, into which a matrix turns: about one of its axes, most often."""
    for axis in range(3):
        j, k = (axis + 1) % 3, (axis + 2) % 3
        if turn[axis][axis] is turn.x.x.graph.one:
            order = (j, k, axis)
            back = [order.index(i) for i in range(3)]
            return inertia.renamed(*order).turned(turn[j][j], turn[k][j]).renamed(*back)
    return turn.times(inertia).times(turn.transposed)


def _shifted(first: Vector, whole: Vector, lever: Vector) -> Matrix:
    """What inertia gains about a point that the own one is `lever` away from.

    Parameters
    ----------
    first, whole : Vector
        First moments about the own point, and about the other.
    """
    x, y, z = (s * r for s, r in zip(first + whole, lever))
    xy, yz, zx = (-(first[i] * lever[j] + lever[i] * whole[j]) for i, j in ((0, 1), (1, 2), (2, 0)))
    return Matrix(Vector(y + z, xy, zx), Vector(xy, x + z, yz), Vector(zx, yz, x + y))


def _sum(a: Matrix, b: Matrix) -> Matrix:
    return Matrix(*(x + y for x, y in zip(a, b)))
