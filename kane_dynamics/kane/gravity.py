"""Gravity: the torques that hold the robot still, and its potential energy.

The weights of all bodies outboard of a joint act on their common first moment of mass. So it is
first moments that are summed from the tips inward, not forces.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.frames import FramedBody
from kane_dynamics.kane.partial_velocities import generalized_forces
from kane_dynamics.kane.passage import Angle, Passage, Turn, passage
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector, vector


def gravity_torques(
    graph: Graph,
    bodies: Sequence[FramedBody],
    gravity: Sequence[float],
    q: Sequence[Expr],
    count: int,
) -> list[Expr]:
    """Minus the generalized active forces of the weights."""
    ways = [passage(graph, body, q) for body in bodies]
    roots, angles = _parallel_series(bodies, ways)
    up = -vector(graph, gravity)
    ups = _upward(bodies, ways, roots, angles, up)
    none = Vector(graph.zero, graph.zero, graph.zero)
    first = [vector(graph, body.first_moment) for body in bodies]
    masses = [body.mass for body in bodies]
    across = [none] * len(bodies)  # first moments of a series of parallel axes, at its root
    turning = [graph.zero] * len(bodies)  # moment about the axis from bodies with a parallel axis
    result = [graph.zero] * count
    for i in reversed(range(len(bodies))):
        body, way = bodies[i], ways[i]
        x, y, z = first[i].cross(ups[i])
        torque = turning[i] + z
        force = masses[i] * ups[i]
        for speed, part in generalized_forces(body, way, force, Vector(x, y, torque)):
            result[speed] = result[speed] + part
        if body.parent < 0:
            continue
        masses[body.parent] += masses[i]
        passed = way.inward(first[i])
        if isinstance(way, Turn):
            turned = first[i].turned(angles[i].cos, angles[i].sin)
            if roots[i] == i:
                passed = way.from_axis(turned + across[i])
            else:
                across[roots[i]] = across[roots[i]] + Vector(turned.x, turned.y, graph.zero)
                turning[body.parent] = turning[body.parent] + torque
                passed = way.from_axis(Vector(graph.zero, graph.zero, first[i].z))
        first[body.parent] = first[body.parent] + passed + masses[i] * way.position
    return result


def _parallel_series(
    bodies: Sequence[FramedBody], ways: Sequence[Passage]
) -> tuple[list[int], list[Angle]]:
    """For every turning body the first one with a parallel axis, and the angle turned since."""
    roots = list(range(len(bodies)))
    angles: list[Angle] = []
    for i, (body, way) in enumerate(zip(bodies, ways)):
        if not isinstance(way, Turn):
            angles.append(None)  # type: ignore[arg-type]
            continue
        if way.is_parallel and body.parent >= 0 and isinstance(ways[body.parent], Turn):
            roots[i] = roots[body.parent]
            angles.append(angles[body.parent].plus(way.angle))
        else:
            angles.append(way.angle)
    return roots, angles


def _upward(
    bodies: Sequence[FramedBody],
    ways: Sequence[Passage],
    roots: Sequence[int],
    angles: Sequence[Angle],
    up: Vector,
) -> list[Vector]:
    """Minus the acceleration of gravity in every body's frame."""
    at_root: dict[int, Vector] = {}
    ups: list[Vector] = []
    for i, (body, way) in enumerate(zip(bodies, ways)):
        inboard = ups[body.parent] if body.parent >= 0 else up
        if isinstance(way, Turn):
            if roots[i] == i:
                at_root[i] = way.to_axis(inboard)
            ups.append(at_root[roots[i]].turned(angles[i].cos, -angles[i].sin))
        else:
            ups.append(way.outward(inboard))
    return ups


def potential_energy(
    graph: Graph, bodies: Sequence[FramedBody], gravity: Sequence[float], q: Sequence[Expr]
) -> Expr:
    """Minus g times the first moment of all masses, zero at the origin of the root link.

    `bodies` are as framed, not regrouped: regrouping drops what the ground carries.
    """
    first = [vector(graph, body.first_moment) for body in bodies]
    masses = [body.mass for body in bodies]
    total = Vector(graph.zero, graph.zero, graph.zero)
    for i in reversed(range(len(bodies))):
        way = passage(graph, bodies[i], q)
        passed = way.inward(first[i]) + masses[i] * way.position
        parent = bodies[i].parent
        if parent >= 0:
            masses[parent] += masses[i]
            first[parent] = first[parent] + passed
        else:
            total = total + passed
    return -vector(graph, gravity).dot(total)
