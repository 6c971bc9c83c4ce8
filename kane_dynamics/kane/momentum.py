"""Kinetic energy and momentum."""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.frames import FramedBody
from kane_dynamics.kane.kinematics import Velocity, velocities
from kane_dynamics.kane.passage import passage
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector, vector


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
    ways = [passage(graph, body, q) for body in bodies]
    terms = []
    for body, state in zip(bodies, velocities(graph, bodies, ways, u)):
        linear, angular = _momentum(graph, body, state)
        terms.append(linear.dot(state.v) + angular.dot(state.omega))
    return 0.5 * graph.sum(terms)


def momentum(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], u: Sequence[Expr]
) -> list[Expr]:
    """Linear momentum, then angular momentum about the origin of the root link, in its frame."""
    ways = [passage(graph, body, q) for body in bodies]
    states = velocities(graph, bodies, ways, u)
    parts = [_momentum(graph, body, state) for body, state in zip(bodies, states)]
    none = Vector(graph.zero, graph.zero, graph.zero)
    total_linear, total_angular = none, none
    for i in reversed(range(len(bodies))):
        way, parent = ways[i], bodies[i].parent
        linear = way.inward(parts[i][0])
        angular = way.inward(parts[i][1]) + way.position.cross(linear)
        if parent >= 0:
            parts[parent] = (parts[parent][0] + linear, parts[parent][1] + angular)
        else:
            total_linear, total_angular = total_linear + linear, total_angular + angular
    return [*total_linear, *total_angular]
