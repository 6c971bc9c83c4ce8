"""The mass matrix: coefficients of the accelerations in the generalized inertia forces.

Element r, s is the sum over bodies of partial velocities of r dotted into the inertia forces due
to a unit acceleration of s. Outboard of joint s the robot then moves as one rigid body, whose
moments of mass are summed from the tips inward.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.frames import FramedBody
from kane_dynamics.kane.joints import Joint, joints_of
from kane_dynamics.kane.moments import moments_of
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector


def mass_matrix(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], count: int
) -> list[list[Expr]]:
    """The symmetric matrix M of Kane's equations, M udot + … = torques."""
    joints = joints_of(graph, bodies, q)
    composite = [moments_of(graph, body) for body in bodies]
    M = [[graph.zero] * count for _ in range(count)]
    for i in reversed(range(len(bodies))):
        body, joint = bodies[i], joints[i]
        for k, (v, omega) in enumerate(joint.partial_velocities):
            force, moment = composite[i].accelerated(v, omega)
            force, moment = joint.multiplier * force, joint.multiplier * moment
            _accumulate(M, bodies, joints, i, joint.speed + k, force, moment)
        if body.parent >= 0:
            passed = joint.moments_inward(composite[i]).moved(joint.position)
            composite[body.parent] = composite[body.parent] + passed
    return M


def _accumulate(
    M: list[list[Expr]],
    bodies: Sequence[FramedBody],
    joints: Sequence[Joint],
    i: int,
    speed: int,
    force: Vector,
    moment: Vector,
) -> None:
    """Partial velocities of body i and of all inboard joints dotted into force and moment."""
    at = i
    while True:
        body, joint = bodies[at], joints[at]
        for row, part in joint.generalized_forces(force, moment):
            M[row][speed] = M[row][speed] + part
            if at != i:  # by symmetry; twice on the diagonal where a joint mimics one inboard
                M[speed][row] = M[speed][row] + part
        if body.parent < 0:
            return
        force = joint.inward(force)
        moment = joint.inward(moment) + joint.position.cross(force)
        at = body.parent
