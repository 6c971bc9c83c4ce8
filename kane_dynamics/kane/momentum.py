"""Velocities of the bodies, kinetic energy, and momentum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics.kane.frames import FramedBody
from kane_dynamics.kane.passage import Float, Passage, Slide, passage
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector, vector


@dataclass(frozen=True)
class Velocity:
    """Angular velocity of a body and velocity of its frame's origin, in its own frame."""

    omega: Vector
    v: Vector


def velocities(
    graph: Graph,
    bodies: Sequence[FramedBody],
    ways: Sequence[Passage],
    u: Sequence[Expr],
) -> list[Velocity]:
    """From the ground outward; eqs. 13-43 of Kane and Levinson are the Stanford Arm's."""
    none = Vector(graph.zero, graph.zero, graph.zero)
    result: list[Velocity] = []
    for body, way in zip(bodies, ways):
        inboard = result[body.parent] if body.parent >= 0 else Velocity(none, none)
        omega = way.outward(inboard.omega)
        v = way.outward(inboard.v + inboard.omega.cross(way.position))
        if isinstance(way, Float):
            s = body.speed
            omega, v = omega + Vector(*u[s + 3 : s + 6]), v + Vector(*u[s : s + 3])
        elif isinstance(way, Slide):
            v = v + (body.multiplier * u[body.speed]) * way.axis
        else:
            omega = Vector(omega.x, omega.y, omega.z + body.multiplier * u[body.speed])
        result.append(Velocity(omega, v))
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
