"""Derivatives of the torques by coordinates, speeds and accelerations, without differentiating.

A unit change of a coordinate displaces everything outboard of its joint as one rigid body: a point
at r by S(r), the partial velocity of the joint's speed. That displacement is fixed in the inboard
body, so the velocity of the point changes by the first, its acceleration by the second derivative
of S as the inboard body carries it along. A field S'(r) at points that move with velocity v gives
besides the acceleration 2 omega' x v, where omega' is its angular part. So three sums over the
bodies outboard of a joint are enough, formed once from the tips inward:

- moments of mass, which give the forces that a field of accelerations takes;
- twice the momentum and twice the sum of r v', which give those of 2 omega' x v;
- the forces and moments themselves, which turn with the displacement.

These are the derivatives of Singh, Russell and Wensing (2022, Efficient analytical derivatives of
rigid-body dynamics using spatial vector algebra), by points and vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.inverse import inertia_force, inertia_torque, passes_alpha
from kane_dynamics.kane.tree.joints import Joint, joints_of
from kane_dynamics.kane.tree.moments import Moments, moments_of
from kane_dynamics.kane.tree.motion import Movement, Velocity, ground
from kane_dynamics.kane.tree.transport import Transport, transport_of
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector, vector


class Field(NamedTuple):
    """Vectors v + omega x r, as a rigid body has them at r from the origin of a frame."""

    v: Vector
    omega: Vector

    def __add__(self, other: Field) -> Field:  # type: ignore[override]
        return Field(self.v + other.v, self.omega + other.omega)


class Wrench(NamedTuple):
    """A force, and a moment about the origin of a frame."""

    force: Vector
    moment: Vector

    def __add__(self, other: Wrench) -> Wrench:  # type: ignore[override]
        return Wrench(self.force + other.force, self.moment + other.moment)

    def dot(self, field: Field) -> Expr:
        return self.force.dot(field.v) + self.moment.dot(field.omega)

    def turned_by(self, field: Field) -> Wrench:
        """Its rate when it is carried along by a body that moves like that."""
        moment = field.omega.cross(self.moment) + field.v.cross(self.force)
        return Wrench(field.omega.cross(self.force), moment)

    def inward(self, joint: Joint) -> Wrench:
        """In the inboard frame, about its origin."""
        force = joint.inward(self.force)
        return Wrench(force, joint.inward(self.moment) + joint.position.cross(force))


class Fields(NamedTuple):
    """Of a joint's speed: what is displaced, and how that changes.

    Attributes
    ----------
    own : Field
        The partial velocity.
    first, second : Field
        Its derivatives in the ground as the inboard body carries it: what velocities and
        accelerations gain when the coordinate changes.
    by_speed : Field
        What accelerations gain when the speed changes.
    """

    own: Field
    first: Field
    second: Field
    by_speed: Field


class Derivatives(NamedTuple):
    """Of the torques by coordinates, speeds and accelerations: a row a torque."""

    by_q: list[list[Expr]]
    by_u: list[list[Expr]]
    by_udot: list[list[Expr]]


def inverse_dynamics_derivatives(
    graph: Graph,
    bodies: Sequence[FramedBody],
    gravity: Sequence[float],
    q: Sequence[Expr],
    u: Sequence[Expr],
    udot: Sequence[Expr],
) -> Derivatives:
    """Derivatives of the torques; those by q are along the partial velocities. No friction."""
    joints = joints_of(graph, bodies, q)
    motions, fields = _outward(graph, bodies, joints, gravity, u, udot)
    masses = [moments_of(graph, body) for body in bodies]
    flows = [_transport(graph, body, motion, v) for body, (motion, v) in zip(bodies, motions)]
    forces = [
        Wrench(inertia_force(graph, body, motion), inertia_torque(graph, body, motion))
        for body, (motion, _) in zip(bodies, motions)
    ]
    result = Derivatives(*([[graph.zero] * len(u) for _ in u] for _ in range(3)))
    for i in reversed(range(len(bodies))):
        joint, parent = joints[i], bodies[i].parent
        for column in range(len(fields[i])):
            _add_speed(result, bodies, joints, fields, i, column, masses[i], flows[i], forces[i])
        if parent >= 0:
            passed = joint.moments_inward(masses[i]).moved(joint.position)
            masses[parent] = masses[parent] + passed
            flows[parent] = flows[parent] + flows[i].inward(joint)
            forces[parent] = forces[parent] + forces[i].inward(joint)
    return result


# -------------------------------------------------------------------------------------- outward
def _outward(
    graph: Graph,
    bodies: Sequence[FramedBody],
    joints: Sequence[Joint],
    gravity: Sequence[float],
    u: Sequence[Expr],
    udot: Sequence[Expr],
) -> tuple[list[tuple[Movement, Vector]], list[list[Fields]]]:
    """Motion of every body and velocity of its origin, and the fields of its joint's speeds."""
    at_rest = ground(graph, vector(graph, gravity)), Vector(*[graph.zero] * 3)
    passing = passes_alpha(bodies, joints)
    motions: list[tuple[Movement, Vector]] = []
    fields = []
    for i, (body, joint) in enumerate(zip(bodies, joints)):
        inboard, v = motions[body.parent] if body.parent >= 0 else at_rest
        own = joint.motion(i, inboard, u, udot, passing[i])
        moved = own, joint.velocity(Velocity(inboard.omega, v), u).v
        motions.append(moved)
        carried = joint.carried(inboard, v, *moved)
        fields.append([_fields(Field(*each), carried, moved) for each in joint.partial_velocities])
    return motions, fields


def _fields(own: Field, carried: tuple[Movement, Vector], moved: tuple[Movement, Vector]) -> Fields:
    """From the motion of the inboard body at the outboard origin, and from that of the outboard."""
    first = _first(own, *carried)
    motion, v = carried
    twice = v + v
    second = Field(
        motion.U @ own.v + twice.cross(first.omega) + motion.a.cross(own.omega),
        motion.U @ own.omega,
    )
    return Fields(own, first, second, first + _first(own, *moved))


def _first(field: Field, motion: Movement, v: Vector) -> Field:
    """Rate of a field that a body carries along, at points that do not move."""
    omega = motion.omega
    return Field(omega.cross(field.v) + v.cross(field.omega), omega.cross(field.omega))


def _transport(graph: Graph, body: FramedBody, motion: Movement, v: Vector) -> Transport:
    first, second = 2.0 * body.first_moment, 2.0 * body.second_moment
    return transport_of(graph, 2.0 * body.mass, first, second, motion.omega, v)


# --------------------------------------------------------------------------------------- inward
def _add_speed(
    result: Derivatives,
    bodies: Sequence[FramedBody],
    joints: Sequence[Joint],
    fields: Sequence[Sequence[Fields]],
    i: int,
    column: int,
    masses: Moments,
    flow: Transport,
    forces: Wrench,
) -> None:
    """What one speed of joint i has to do with the speeds of its joint and of those inboard."""
    joint, of = joints[i], fields[i][column]
    factor, speed = joint.multiplier, joint.speed + column
    by_udot = _scaled(factor, Wrench(*masses.accelerated(*of.own)))
    by_u = _scaled(factor, _resisted(masses, flow, of.by_speed, of.own))
    by_q = _scaled(factor, _resisted(masses, flow, of.second, of.first))
    couple = factor * flow.couple(*of.own)
    for by, wrench in zip(result, (by_q, by_u, by_udot)):
        for row, part in joint.generalized_forces(*wrench):
            by[row][speed] = by[row][speed] + part
    by_q = by_q + _scaled(factor, forces.turned_by(of.own))
    at = i
    while bodies[at].parent >= 0:
        by_q, by_u, by_udot = (each.inward(joints[at]) for each in (by_q, by_u, by_udot))
        couple = joints[at].inward(couple)
        at = bodies[at].parent
        inboard = joints[at]
        for by, wrench in zip(result, (by_q, by_u, by_udot)):
            for row, part in inboard.generalized_forces(*wrench):
                by[row][speed] = by[row][speed] + part
        for k, of in enumerate(fields[at]):
            other, times = inboard.speed + k, inboard.multiplier
            gained = (
                couple.dot(of.first.omega) + by_udot.dot(of.second),
                couple.dot(of.own.omega) + by_udot.dot(of.by_speed),
                by_udot.dot(of.own),
            )
            for by, part in zip(result, gained):
                by[speed][other] = by[speed][other] + times * part


def _resisted(masses: Moments, flow: Transport, acceleration: Field, velocity: Field) -> Wrench:
    """What a change of accelerations and of velocities takes."""
    return Wrench(*masses.accelerated(*acceleration)) + Wrench(*flow.swept(velocity.omega))


def _scaled(factor: float, wrench: Wrench) -> Wrench:
    return Wrench(factor * wrench.force, factor * wrench.moment)
