"""Kinetic energy and momentum."""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.joints import Joint, joints_of
from kane_dynamics.kane.tree.motion import Velocity
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector, vector


def velocities(
    graph: Graph, bodies: Sequence[FramedBody], joints: Sequence[Joint], u: Sequence[Expr]
) -> list[Velocity]:
    """From the ground outward; eqs. 13-43 of Kane and Levinson are the Stanford Arm's."""
    none = Vector(graph.zero, graph.zero, graph.zero)
    result: list[Velocity] = []
    for body, joint in zip(bodies, joints):
        inboard = result[body.parent] if body.parent >= 0 else Velocity(none, none)
        result.append(joint.velocity(inboard, u))
    return result


def _momentum(graph: Graph, body: FramedBody, state: Velocity) -> tuple[Vector, Vector]:
    """Linear momentum, and angular momentum about the frame's origin, of one body."""
    first, E = vector(graph, body.first_moment), body.second_moment
    x, y, z = state.omega
    linear = body.mass * state.v + state.omega.cross(first)
    spin = Vector(
        (E[1, 1] + E[2, 2]) * x - E[0, 1] * y - E[0, 2] * z,
        (E[0, 0] + E[2, 2]) * y - E[0, 1] * x - E[1, 2] * z,
        (E[0, 0] + E[1, 1]) * z - E[0, 2] * x - E[1, 2] * y,
    )
    return linear, spin + first.cross(state.v)


def kinetic_energy(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], u: Sequence[Expr]
) -> Expr:
    """Half the sum of momentum times velocity over the bodies."""
    joints = joints_of(graph, bodies, q)
    terms = []
    for body, state in zip(bodies, velocities(graph, bodies, joints, u)):
        linear, angular = _momentum(graph, body, state)
        terms.append(linear.dot(state.v) + angular.dot(state.omega))
    return 0.5 * graph.sum(terms)


def momentum(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], u: Sequence[Expr]
) -> list[Expr]:
    """Linear momentum, then angular momentum about the origin of the root link, in its frame."""
    joints = joints_of(graph, bodies, q)
    states = velocities(graph, bodies, joints, u)
    parts = [_momentum(graph, body, state) for body, state in zip(bodies, states)]
    none = Vector(graph.zero, graph.zero, graph.zero)
    total_linear, total_angular = none, none
    for i in reversed(range(len(bodies))):
        joint, parent = joints[i], bodies[i].parent
        linear = joint.inward(parts[i][0])
        angular = joint.inward(parts[i][1]) + joint.position.cross(linear)
        if parent >= 0:
            parts[parent] = (parts[parent][0] + linear, parts[parent][1] + angular)
        else:
            total_linear, total_angular = total_linear + linear, total_angular + angular
    return [*total_linear, *total_angular]
