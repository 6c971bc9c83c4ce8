"""Velocities and accelerations of all nodes, outward from the ground."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kane_dynamics.kane.general.kinematics import Kinematics
from kane_dynamics.kane.general.nodes import Columns, Node, at_rest
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.vector import Matrix, Vector


class Moving(NamedTuple):
    """A node in motion.

    Attributes
    ----------
    omega, alpha : Vector
        Angular velocity and acceleration, in the frame of the node.
    velocity, acceleration : Vector
        In its basis.
    turning, spin : Vector
        Angular velocity of the frame, and of the basis, each in itself.
    """

    omega: Vector
    alpha: Vector
    velocity: Vector
    acceleration: Vector
    turning: Vector
    spin: Vector


class Edge(NamedTuple):
    """From the frames of a parent to those of a node.

    Attributes
    ----------
    rotation, move, arm : Matrix
        From frame to frame, from basis to basis, and from the frame of the parent to the basis.
    """

    rotation: Matrix
    move: Matrix
    arm: Matrix


class MovingNodes:
    """All nodes in motion.

    Parameters
    ----------
    nodes : sequence of Node
    kinematics : Kinematics
    u, udot : sequence of Expr
        Speeds without the auxiliary ones, and their rates.
    auxiliary : int
        How many of those there are.

    Attributes
    ----------
    rest : list of (Vector, Vector)
        Angular velocities, and velocities, while all speeds are zero.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        kinematics: Kinematics,
        u: Sequence[Expr],
        udot: Sequence[Expr],
        auxiliary: int,
    ) -> None:
        self._kinematics, self._u, self._udot = kinematics, u, udot
        self._auxiliary = auxiliary
        self.edges: list[Edge | None] = []
        self.moving: list[Moving] = []
        self._turnings: dict[Any, Vector] = {}
        self.rest: list[tuple[Vector, Vector]] = []
        for node in nodes:
            self._add(node, nodes)

    def _add(self, node: Node, nodes: Sequence[Node]) -> None:
        zero = self._kinematics.zero
        rest = tuple(
            zero if v is None else at_rest(v, len(self._u), self._auxiliary)
            for v in (node.omega, node.velocity)
        )
        self.rest.append((rest[0], rest[1]))
        if node.parent < 0:
            self.edges.append(None)
            self.moving.append(self._alone(node))
            return
        parent, before = nodes[node.parent], self.moving[node.parent]
        edge = _edge(self._kinematics, parent, node)
        self.edges.append(edge)
        self.moving.append(self._carried(node, parent, before, edge))

    def _alone(self, node: Node) -> Moving:
        """A node on the ground moves as the model states it."""
        zero, name = self._kinematics.zero, node.name
        omega = zero if node.omega is None else node.omega
        turning = self._turning(node, omega)
        alpha = self._inner(omega, name) + self._sum(node.turns, self._udot)
        if node.body != node.frame:
            alpha = alpha + turning.cross(omega)
        velocity = zero if node.velocity is None else node.velocity
        spin = self._spin(node, turning)
        inner = self._inner(velocity, name) + spin.cross(velocity)
        acceleration = inner + self._sum(node.moves, self._udot)
        return Moving(omega, alpha, velocity, acceleration, turning, spin)

    def _carried(self, node: Node, parent: Node, before: Moving, edge: Edge) -> Moving:
        """A node with a parent moves with it, and by its own speeds besides."""
        zero, name = self._kinematics.zero, node.name
        rest_omega, rest_velocity = self.rest[node.parent]
        omega, alpha, turning = zero, zero, zero
        if node.omega is not None:
            own = self._sum(node.turns, self._u) + self.rest[-1][0]
            if node.turned:
                omega, alpha = edge.rotation @ before.omega, edge.rotation @ before.alpha
                own = own - edge.rotation @ rest_omega
            omega = omega + own
            turning = self._turning(node, omega)
            alpha = alpha + self._inner(own, name) + turning.cross(own)
            alpha = alpha + self._sum(node.turns, self._udot)
        spin = self._spin(node, turning)
        velocity, acceleration = zero, zero
        if node.velocity is not None:
            own = self._sum(node.moves, self._u) + self.rest[-1][1]
            own = own - edge.move @ rest_velocity
            velocity = edge.move @ before.velocity
            acceleration = edge.move @ before.acceleration
            if node.lever is not None:
                arm, r = before.omega.cross(node.lever), node.lever
                rate = self._inner(r, name) + before.turning.cross(r)
                velocity = velocity + edge.arm @ arm
                swung = before.alpha.cross(r) + before.omega.cross(rate)
                acceleration = acceleration + edge.arm @ swung
                own = own - edge.arm @ rest_omega.cross(r)
            velocity = velocity + own
            acceleration = acceleration + self._inner(own, name) + spin.cross(own)
            acceleration = acceleration + self._sum(node.moves, self._udot)
        return Moving(omega, alpha, velocity, acceleration, turning, spin)

    def _turning(self, node: Node, omega: Vector) -> Vector:
        """Of the frame of a node; the same expressions for all nodes of that frame."""
        if node.omega is None:
            return omega
        if node.frame not in self._turnings:
            fixed = self._kinematics.is_fixed(node.body, node.frame)
            self._turnings[node.frame] = omega if fixed else self._stated(node.frame)
        return self._turnings[node.frame]

    def _stated(self, frame: Any) -> Vector:
        return self._kinematics.angular_velocity(frame, frame)

    def _spin(self, node: Node, turning: Vector) -> Vector:
        if node.velocity is None or node.basis == self._kinematics.inertial:
            return self._kinematics.zero
        if node.omega is not None and node.basis == node.frame:
            return turning
        return self._turnings.get(node.basis) or self._stated(node.basis)

    def _inner(self, v: Vector, name: str) -> Vector:
        """Rate of the measure numbers while no speed changes."""
        return Vector(*self._kinematics.inner_rate(v, f"the velocity of {name}"))

    def _sum(self, columns: Columns, speeds: Sequence[Expr]) -> Vector:
        total = self._kinematics.zero
        for k, each in columns.items():
            if k < len(speeds):
                total = total + speeds[k] * each
        return total


def _edge(kinematics: Kinematics, parent: Node, node: Node) -> Edge:
    rotation: Callable[[Any, Any], Matrix] = kinematics.rotation
    return Edge(
        rotation(parent.frame, node.frame),
        rotation(parent.basis, node.basis),
        rotation(parent.frame, node.basis),
    )
