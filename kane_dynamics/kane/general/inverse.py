"""Kane's equations: generalized inertia forces and active forces, from the tips inward."""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.general.kinematics import Kinematics
from kane_dynamics.kane.general.motion import Moving, MovingNodes
from kane_dynamics.kane.general.nodes import Node
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.vector import Matrix, Vector

Wrench = tuple[Vector, Vector]
"""Torque in the frame of a node, force in its basis."""


def inertia_forces(
    nodes: Sequence[Node], kinematics: Kinematics, motion: MovingNodes
) -> list[Wrench]:
    """Of every node the inertia torque and force, with the opposite sign."""
    return [_inertia(node, kinematics, each) for node, each in zip(nodes, motion.moving)]


def loads(nodes: Sequence[Node], kinematics: Kinematics) -> list[Wrench]:
    """Of every node the torque and force that act on it."""
    zero, found = kinematics.zero, []
    for node in nodes:
        torque, force = zero, zero
        for each in node.torques:
            torque = torque + each
        for each in node.forces:
            force = force + each
        found.append((torque, force))
    return found


def generalized(
    nodes: Sequence[Node],
    kinematics: Kinematics,
    motion: MovingNodes,
    wrenches: Sequence[Wrench],
    speeds: int,
) -> list[Expr]:
    """Generalized forces of what acts on the nodes, auxiliary speeds included."""
    result = [kinematics.graph.zero] * speeds
    gathered = list(wrenches)
    for k in reversed(range(len(nodes))):
        node, (torque, force) = nodes[k], gathered[k]
        for speed, column in node.turns.items():
            result[speed] = result[speed] + column.dot(torque)
        for speed, column in node.moves.items():
            result[speed] = result[speed] + column.dot(force)
        edge = motion.edges[k]
        if edge is None:
            continue
        before_torque, before_force = gathered[node.parent]
        if node.turned:
            before_torque = before_torque + edge.rotation.transposed @ torque
        if node.velocity is not None:
            before_force = before_force + edge.move.transposed @ force
            if node.lever is not None:
                arm = edge.arm.transposed @ force
                before_torque = before_torque + node.lever.cross(arm)
        gathered[node.parent] = before_torque, before_force
    return result


def _inertia(node: Node, kinematics: Kinematics, moving: Moving) -> Wrench:
    torque, force = kinematics.zero, kinematics.zero
    if node.mass is not None:
        force = node.mass * moving.acceleration
        (rate,) = kinematics.inner_rate([node.mass], f"the mass of {node.name}")
        force = force + rate * moving.velocity
    if node.inertia is not None:
        momentum = node.inertia @ moving.omega
        torque = node.inertia @ moving.alpha + moving.omega.cross(momentum)
        if node.body != node.frame:  # where it was found to be that of a rigid body
            return torque, force
        flat = [element for row in node.inertia for element in row]
        rates = kinematics.inner_rate(flat, f"the inertia of {node.name}")
        changes = Matrix(*(Vector(*rates[k : k + 3]) for k in (0, 3, 6)))
        torque = torque + changes @ moving.omega
    return torque, force
