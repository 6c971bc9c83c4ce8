"""Inverse dynamics: the generalized forces that produce a motion, by Kane's equations.

K_r + K_r* = 0: the torques are the negatives of the generalized inertia forces, weights included
by accelerating the ground upwards. The r-th partial velocities of all bodies outboard of joint r
are those of one rigid body turning about its axis, so the sum over bodies (Kane and Levinson,
eqs. 77 and 78) is formed once for all r, from the tips inward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.joints import Joint, joints_of
from kane_dynamics.kane.tree.motion import Movement, ground
from kane_dynamics.kane.tree.parallel import inward_after
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector, vector


def inverse_dynamics(
    graph: Graph,
    bodies: Sequence[FramedBody],
    gravity: Sequence[float],
    q: Sequence[Expr],
    u: Sequence[Expr],
    udot: Sequence[Expr],
) -> list[Expr]:
    """Torques and forces at the joints for given accelerations; friction is not included."""
    joints = joints_of(graph, bodies, q)
    passing = passes_alpha(bodies, joints)
    at_rest = ground(graph, vector(graph, gravity))
    motions: list[Movement] = []
    for i, (body, joint) in enumerate(zip(bodies, joints)):
        inboard = motions[body.parent] if body.parent >= 0 else at_rest
        motions.append(joint.motion(i, inboard, u, udot, passing[i]))
    return torques_of(graph, bodies, joints, motions, len(u))


def torques_of(
    graph: Graph,
    bodies: Sequence[FramedBody],
    joints: Sequence[Joint],
    motions: Sequence[Movement],
    count: int,
) -> list[Expr]:
    """Of the joints for given motions of the bodies, speed by speed."""
    none = Vector(graph.zero, graph.zero, graph.zero)
    forces, moments = [none] * len(bodies), [none] * len(bodies)  # about the frames' origins
    inward = inward_after(graph, joints, motions)
    torques = [graph.zero] * count
    for i in reversed(range(len(bodies))):
        body, joint, state = bodies[i], joints[i], motions[i]
        force = forces[i] + inertia_force(graph, body, state)
        moment = moments[i] + inertia_torque(graph, body, state)
        for speed, contribution in joint.generalized_forces(force, moment):
            torques[speed] = torques[speed] + contribution
        if body.parent >= 0:
            moment, force = inward(i, moment), joint.inward(force)
            forces[body.parent] = forces[body.parent] + force
            moments[body.parent] = moments[body.parent] + moment + joint.position.cross(force)
    return torques


def passes_alpha(bodies: Sequence[FramedBody], joints: Sequence[Joint]) -> list[bool]:
    """For every body, whether a joint follows that needs its angular acceleration."""
    result = [False] * len(bodies)
    for i in reversed(range(len(bodies))):
        if bodies[i].parent >= 0:
            result[bodies[i].parent] |= joints[i].asks_for_alpha(result[i])
    return result


def inertia_force(graph: Graph, body: FramedBody, state: Movement) -> Vector:
    """Minus the inertia force, -R* = m a* = m a + U (m r*) (Kane and Levinson, eq. 79)."""
    carried: Vector = body.mass * state.a
    return carried + state.U @ vector(graph, body.first_moment)


def inertia_torque(graph: Graph, body: FramedBody, state: Movement) -> Vector:
    """Minus the inertia torque about the frame's origin: the sum of r x (a + U r) dm.

    With E the second moment this is the vector of the skew part of U E, and m r* x a; about the
    mass centre it is -T* = alpha · I + omega x I · omega of eq. 79. The diagonal part about z is
    written as there, I3 alpha3 + (I2 - I1) omega1 omega2.
    """
    E = body.second_moment
    U, omega, alpha = state.U, state.omega, state.alpha
    diagonal = Vector(
        E[1, 1] * U.z.y - E[2, 2] * U.y.z,
        E[2, 2] * U.x.z - E[0, 0] * U.z.x,
        (E[0, 0] + E[1, 1]) * alpha.z + _difference(E) * (omega.x * omega.y),
    )
    x2, y2, z2 = omega.x * omega.x, omega.y * omega.y, omega.z * omega.z
    products = Vector(
        E[0, 1] * U.z.x - E[0, 2] * U.y.x + E[1, 2] * (z2 - y2),
        E[1, 2] * U.x.y - E[0, 1] * U.z.y + E[0, 2] * (x2 - z2),
        E[0, 2] * U.y.z - E[1, 2] * U.x.z + E[0, 1] * (y2 - x2),
    )
    return diagonal + products + vector(graph, body.first_moment).cross(state.a)


def _difference(E: NDArray[Any]) -> Any:
    """E11 - E22, exactly zero for a body symmetric about z."""
    difference = E[0, 0] - E[1, 1]
    if isinstance(difference, Expr):
        return difference
    return float(difference) if abs(difference) > 1e-13 * abs(E[0, 0]) else 0.0
