"""The mass matrix: coefficients of the accelerations in the generalized inertia forces.

Element r, s is the sum over bodies of partial velocities of r dotted into the inertia forces due
to a unit acceleration of s. Outboard of joint s the robot then moves as one rigid body, whose
moments of mass are summed from the tips inward.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.joints import Joint, joints_of
from kane_dynamics.kane.tree.moments import moments_of
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector


def mass_matrix(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], count: int
) -> list[list[Expr]]:
    """The symmetric matrix M of Kane's equations, M udot + … = torques."""
    return _summed(graph, bodies, q, [0] * count)


def diagonal(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], count: int
) -> list[Expr]:
    """The diagonal of M alone: the inertia felt at each speed when no other speed changes."""
    inward = reversed(list(enumerate(bodies)))
    innermost = {speed: i for i, body in inward for speed in body.speeds}
    M = _summed(graph, bodies, q, [innermost[speed] for speed in range(count)])
    return [M[speed][speed] for speed in range(count)]


def _summed(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], innermost: Sequence[int]
) -> list[list[Expr]]:
    """M, or of the column of each speed only what comes from bodies up to the innermost named."""
    joints = joints_of(graph, bodies, q)
    composite = [moments_of(graph, body) for body in bodies]
    M = [[graph.zero] * len(innermost) for _ in innermost]
    for i in reversed(range(len(bodies))):
        body, joint = bodies[i], joints[i]
        for k, (v, omega) in enumerate(joint.partial_velocities):
            force, moment = composite[i].accelerated(v, omega)
            force, moment = joint.multiplier * force, joint.multiplier * moment
            speed = joint.speed + k
            _accumulate(M, bodies, joints, i, innermost[speed], speed, force, moment)
        if body.parent >= 0:
            passed = joint.moments_inward(composite[i]).moved(joint.position)
            composite[body.parent] = composite[body.parent] + passed
    return M


def _accumulate(
    M: list[list[Expr]],
    bodies: Sequence[FramedBody],
    joints: Sequence[Joint],
    i: int,
    innermost: int,
    speed: int,
    force: Vector,
    moment: Vector,
) -> None:
    """Partial velocities of body i and of the joints inboard of it dotted into force and moment."""
    at = i
    while True:
        body, joint = bodies[at], joints[at]
        for row, part in joint.generalized_forces(force, moment):
            M[row][speed] = M[row][speed] + part
            if at != i:  # by symmetry; twice on the diagonal where a joint mimics one inboard
                M[speed][row] = M[speed][row] + part
        at = body.parent
        if at < innermost:
            return
        force = joint.inward(force)
        moment = joint.inward(moment) + joint.position.cross(force)
