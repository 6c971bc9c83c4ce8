"""Gravity: the torques that hold the robot still, and its potential energy.

The weights of all bodies outboard of a joint act on their common first moment of mass. So it is
first moments that are summed from the tips inward, not forces.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.joints import joints_of
from kane_dynamics.kane.tree.parallel import Inward, outward_from_roots, parallel_series
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
    joints = joints_of(graph, bodies, q)
    series = parallel_series(bodies, joints)
    ups = outward_from_roots(bodies, joints, *series, -vector(graph, gravity))
    inward = Inward(graph, joints, *series)
    first = [vector(graph, body.first_moment) for body in bodies]
    masses = [body.mass for body in bodies]
    turning = [graph.zero] * len(bodies)  # moment about the axis from bodies with a parallel axis
    result = [graph.zero] * count
    for i in reversed(range(len(bodies))):
        body, joint = bodies[i], joints[i]
        x, y, z = first[i].cross(ups[i])
        moment = Vector(x, y, turning[i] + z)
        for speed, part in joint.generalized_forces(masses[i] * ups[i], moment):
            result[speed] = result[speed] + part
        if body.parent < 0:
            continue
        masses[body.parent] += masses[i]
        passed = inward(i, first[i]) + masses[i] * joint.position
        first[body.parent] = first[body.parent] + passed
        if not inward.is_root(i):
            turning[body.parent] = turning[body.parent] + moment.z
    return result


def potential_energy(
    graph: Graph,
    grouped: Sequence[FramedBody],
    framed: Sequence[FramedBody],
    gravity: Sequence[float],
    q: Sequence[Expr],
) -> Expr:
    """Minus g times the first moment of all masses, zero at the origin of the root link.

    Regrouped bodies are simpler. What they lack, the ground carries: it is what is missing where
    all coordinates are zero.
    """
    g = vector(graph, gravity)
    zero = [graph.zero] * len(q)
    missing = _first_moment(graph, framed, zero) - _first_moment(graph, grouped, zero)
    return -g.dot(_first_moment(graph, grouped, q) + missing)


def _first_moment(graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr]) -> Vector:
    """Of all masses, about the origin of the root link and in its frame."""
    first = [vector(graph, body.first_moment) for body in bodies]
    masses = [body.mass for body in bodies]
    total = Vector(graph.zero, graph.zero, graph.zero)
    joints = joints_of(graph, bodies, q)
    for i in reversed(range(len(bodies))):
        passed = joints[i].inward(first[i]) + masses[i] * joints[i].position
        parent = bodies[i].parent
        if parent >= 0:
            masses[parent] += masses[i]
            first[parent] = first[parent] + passed
        else:
            total = total + passed
    return total
