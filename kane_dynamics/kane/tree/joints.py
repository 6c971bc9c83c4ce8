"""The kinds of joints, a class each: what a joint adds to motion, and how vectors pass over it.

The frame outboard of a joint is that of the body it carries, the frame inboard that of the body
it sits on. Partial velocities of a joint's own speeds are constant in the frame outboard, which is
all that Kane's equations ask of it; the rest are economies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kane_dynamics.kane.tree import quaternion
from kane_dynamics.kane.tree.angle import Angle, angle, constant_angle
from kane_dynamics.kane.tree.elimination import REMAINDER, Coefficients, screws
from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.moments import Moments
from kane_dynamics.kane.tree.motion import Movement, Velocity, acceleration_matrix
from kane_dynamics.kane.tree.parallel import turned_about_axis
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Matrix, Vector, matrix, vector

Partial = tuple[Vector, Vector]
"""Velocity of the frame's origin and angular velocity, for a unit of one speed."""


@dataclass(frozen=True)
class Joint(ABC):
    """A joint at given coordinates.

    Attributes
    ----------
    speed : int
        Index of its first speed.
    multiplier : float
        By which its motion is faster than that speed; not 1 for joints that mimic others.
    position : Vector
        Of the origin of the outboard frame, in the inboard frame.
    """

    speed: int
    multiplier: float
    position: Vector
    turns: ClassVar[bool] = False
    """Whether it turns about an axis, that is z of the outboard frame."""
    is_free: ClassVar[bool] = False
    """Whether it lets the body move in every way."""
    passes_inertia: ClassVar[bool] = False
    """Whether `inertia_inward` is known, which the formulation of order n asks for."""

    @abstractmethod
    def outward(self, v: Vector) -> Vector:
        """A vector of the inboard frame in the outboard frame."""

    @abstractmethod
    def inward(self, v: Vector) -> Vector:
        """A vector of the outboard frame in the inboard frame."""

    @property
    @abstractmethod
    def partial_velocities(self) -> Sequence[Partial]:
        """For each of its speeds, but for the multiplier; in the outboard frame."""

    def generalized_forces(self, force: Vector, moment: Vector) -> list[tuple[int, Expr]]:
        """Speed by speed: v_r · force + omega_r · moment (Kane and Levinson, eqs. 78 and 90).

        Parameters
        ----------
        force, moment : Vector
            Resultant of all forces outboard of the joint and their moment about the origin of the
            outboard frame, in that frame.
        """
        return [
            (self.speed + k, self.multiplier * (v.dot(force) + omega.dot(moment)))
            for k, (v, omega) in enumerate(self.partial_velocities)
        ]

    def velocity(self, inboard: Velocity, u: Sequence[Expr]) -> Velocity:
        """Velocity of the outboard body."""
        v, omega = self._added(u)
        carried = inboard.v + inboard.omega.cross(self.position)
        return Velocity(self.outward(inboard.omega) + omega, self.outward(carried) + v)

    def motion(
        self, i: int, inboard: Movement, u: Sequence[Expr], udot: Sequence[Expr], passes_alpha: bool
    ) -> Movement:
        """Motion of the outboard body, the i-th.

        Parameters
        ----------
        passes_alpha : bool
            Whether a joint with another axis follows, which needs that body's angular acceleration.
        """
        v, w = self._added(u)
        vdot, wdot = self._added(udot)
        carried = self.outward(inboard.omega)
        omega = carried + w
        alpha = self.outward(inboard.alpha) + carried.cross(w) + wdot
        a = self.outward(inboard.a + inboard.U @ self.position)
        a = a + vdot + (carried + omega).cross(v)
        return Movement(omega, alpha, acceleration_matrix(omega, alpha), a)

    def _added(self, rates: Sequence[Expr]) -> Partial:
        """Partial velocities times speeds, or times their derivatives."""
        graph = self.position.x.graph
        none = Vector(graph.zero, graph.zero, graph.zero)
        v, omega = none, none
        for k, (partial_v, partial_omega) in enumerate(self.partial_velocities):
            rate = self.multiplier * rates[self.speed + k]
            v, omega = v + rate * partial_v, omega + rate * partial_omega
        return v, omega

    def coordinate_rates(self, q: Sequence[Expr], u: Sequence[Expr]) -> list[Expr]:
        """Rates of its coordinates q, from all speeds u."""
        return [u[self.speed]]

    def asks_for_alpha(self, outboard_asks: bool) -> bool:
        """Whether it needs the angular acceleration of the inboard body."""
        return True

    def moments_inward(self, moments: Moments) -> Moments:
        """Moments of mass about the outboard origin, in directions of the inboard frame."""
        return moments.seen_through(self.inward)

    def matrix_inward(self, D: Matrix) -> Matrix:
        """A matrix that gives vectors for vectors of the outboard frame, for the inboard frame."""
        half = Matrix(*(self.inward(row) for row in D)).transposed
        return Matrix(*(self.inward(column) for column in half)).transposed

    def inertia_inward(self, total: Coefficients) -> Coefficients:
        """What a subsystem asks for, about the inboard origin, in directions of that frame."""
        raise NotImplementedError

    def carried(
        self, inboard: Movement, v: Vector, own: Movement, own_v: Vector
    ) -> tuple[Movement, Vector]:
        """Motion of the inboard body, and its velocity, at the outboard origin in that frame.

        Parameters
        ----------
        inboard, own : Movement
            Of the inboard and of the outboard body.
        v, own_v : Vector
            Velocities of their origins.
        """
        omega, alpha = self.outward(inboard.omega), self.outward(inboard.alpha)
        a = self.outward(inboard.a + inboard.U @ self.position)
        v = self.outward(v + inboard.omega.cross(self.position))
        return Movement(omega, alpha, acceleration_matrix(omega, alpha), a), v

    def axes(self, x: Vector, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Axes of the outboard frame somewhere else, from those of the inboard frame there."""
        columns = (self.inward(unit) for unit in units(self.position.x.graph))
        a, b, c = (column.x * x + column.y * y + column.z * z for column in columns)
        return a, b, c


@dataclass(frozen=True)
class Revolute(Joint):
    """Turns about z, after a swing about the inboard z and a twist about x by constant angles."""

    swing: tuple[Expr, Expr]
    twist: tuple[Expr, Expr]
    angle: Angle
    turns: ClassVar[bool] = True
    passes_inertia: ClassVar[bool] = True

    @property
    def partial_velocities(self) -> Sequence[Partial]:
        none, z = _none(self), units(self.position.x.graph)[2]
        return [(none, z)]

    def to_axis(self, v: Vector) -> Vector:
        """From the inboard frame to the one at the joint that does not turn yet."""
        (cos, sin), (cosine, sine) = self.swing, self.twist
        return v.turned(cos, -sin).tilted(cosine, -sine)

    def from_axis(self, v: Vector) -> Vector:
        return v.tilted(*self.twist).turned(*self.swing)

    def outward(self, v: Vector) -> Vector:
        return self.to_axis(v).turned(self.angle.cos, -self.angle.sin)

    def inward(self, v: Vector) -> Vector:
        return self.from_axis(v.turned(self.angle.cos, self.angle.sin))

    @property
    def axis(self) -> Vector:
        """Its axis in the inboard frame."""
        return self.from_axis(units(self.position.x.graph)[2])

    @property
    def is_parallel(self) -> bool:
        """Whether its axis is the inboard z-axis, in direction."""
        return self.axis == units(self.position.x.graph)[2]

    def motion(
        self, i: int, inboard: Movement, u: Sequence[Expr], udot: Sequence[Expr], passes_alpha: bool
    ) -> Movement:
        """Here U times the axis is one vector for both bodies, and spares the angular acceleration.

        For the points of the axis belong to both. Eqs. 13-22 and 56-75 of Kane and Levinson are
        what this gives for the Stanford Arm.
        """
        speed, acceleration = (self.multiplier * rates[self.speed] for rates in (u, udot))
        omega, alpha, U, series = turned_about_axis(
            i, self, inboard, speed, acceleration, passes_alpha
        )
        a = self.outward(inboard.a + inboard.U @ self.position)
        return Movement(omega, alpha, U, a, series)

    def asks_for_alpha(self, outboard_asks: bool) -> bool:
        return not self.is_parallel

    def moments_inward(self, moments: Moments) -> Moments:
        turned = moments.turned(self.angle.cos, self.angle.sin)
        return turned.tilted(*self.twist).turned(*self.swing)

    def matrix_inward(self, D: Matrix) -> Matrix:
        turned = D.turned(self.angle.cos, self.angle.sin)
        return turned.tilted(*self.twist).turned(*self.swing)

    def inertia_inward(self, total: Coefficients) -> Coefficients:
        """In three screws, about its axis, the x-axis after the swing and the inboard z-axis.

        A screw costs less than any other displacement.
        """
        lengths = screws(self.position, self.swing, self.twist)
        along, x, y, z = (total.graph.constant(length) for length in lengths)
        total = total.turned(2, self.angle.cos, self.angle.sin).moved(2, along)
        total = total.turned(0, *self.twist).moved(0, x).moved(1, y)
        return total.turned(2, *self.swing).moved(2, z)

    def carried(
        self, inboard: Movement, v: Vector, own: Movement, own_v: Vector
    ) -> tuple[Movement, Vector]:
        """Along the axis, and that is all that is asked for, both bodies move alike."""
        return own, own_v

    def axes(self, x: Vector, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        """The first two only turn in the plane across the axis."""
        columns = (self.from_axis(unit) for unit in units(self.position.x.graph))
        a, b, c = (column.x * x + column.y * y + column.z * z for column in columns)
        cos, sin = self.angle.cos, self.angle.sin
        return cos * a + sin * b, cos * b - sin * a, c


@dataclass(frozen=True)
class Screw(Revolute):
    """Turns about z and moves along it by the pitch, in m/rad."""

    pitch: float
    passes_inertia: ClassVar[bool] = False

    @property
    def partial_velocities(self) -> Sequence[Partial]:
        z = units(self.position.x.graph)[2]
        return [(self.pitch * z, z)]

    def motion(
        self, i: int, inboard: Movement, u: Sequence[Expr], udot: Sequence[Expr], passes_alpha: bool
    ) -> Movement:
        state = super().motion(i, inboard, u, udot, passes_alpha)
        v, _ = self._added(u)
        vdot, _ = self._added(udot)
        a = state.a + vdot + 2.0 * state.omega.cross(v)
        return Movement(state.omega, state.alpha, state.U, a, state.series)

    def carried(
        self, inboard: Movement, v: Vector, own: Movement, own_v: Vector
    ) -> tuple[Movement, Vector]:
        """Here the outboard origin moves along the axis."""
        return Joint.carried(self, inboard, v, own, own_v)


@dataclass(frozen=True)
class Prismatic(Joint):
    """Slides along an axis; the frames stay parallel."""

    axis: Vector
    passes_inertia: ClassVar[bool] = True

    @property
    def partial_velocities(self) -> Sequence[Partial]:
        return [(self.axis, _none(self))]

    def outward(self, v: Vector) -> Vector:
        return v

    def inward(self, v: Vector) -> Vector:
        return v

    def motion(
        self, i: int, inboard: Movement, u: Sequence[Expr], udot: Sequence[Expr], passes_alpha: bool
    ) -> Movement:
        """The Coriolis term is twice omega x velocity."""
        speed, acceleration = (self.multiplier * rates[self.speed] for rates in (u, udot))
        coriolis = (speed + speed) * inboard.omega.cross(self.axis)
        a = inboard.a + inboard.U @ self.position + coriolis + acceleration * self.axis
        return Movement(inboard.omega, inboard.alpha, inboard.U, a, inboard.series)

    def asks_for_alpha(self, outboard_asks: bool) -> bool:
        return outboard_asks

    def moments_inward(self, moments: Moments) -> Moments:
        return moments

    def matrix_inward(self, D: Matrix) -> Matrix:
        return D

    def inertia_inward(self, total: Coefficients) -> Coefficients:
        x, y, z = self.position
        return total.moved(0, x).moved(1, y).moved(2, z)

    def carried(
        self, inboard: Movement, v: Vector, own: Movement, own_v: Vector
    ) -> tuple[Movement, Vector]:
        """Both bodies turn alike, and that is all that is asked for."""
        return own, own_v


@dataclass(frozen=True)
class Ball(Joint):
    """Turns freely about a point; speeds are the angular velocity in the outboard frame."""

    rotation: Matrix

    @property
    def partial_velocities(self) -> Sequence[Partial]:
        none = _none(self)
        return [(none, unit) for unit in units(self.position.x.graph)]

    def outward(self, v: Vector) -> Vector:
        return self.rotation.transposed @ v

    def inward(self, v: Vector) -> Vector:
        return self.rotation @ v

    def coordinate_rates(self, q: Sequence[Expr], u: Sequence[Expr]) -> list[Expr]:
        return quaternion.rates(q[:4], Vector(*u[self.speed : self.speed + 3]))


@dataclass(frozen=True)
class Float(Ball):
    """Moves freely; speeds are velocity and angular velocity in the outboard frame."""

    is_free: ClassVar[bool] = True
    passes_inertia: ClassVar[bool] = True

    def coordinate_rates(self, q: Sequence[Expr], u: Sequence[Expr]) -> list[Expr]:
        """Of the position too: the velocity v + 2 e x (e x v + e4 v), along the joint's frame."""
        v, e, e4 = Vector(*u[self.speed : self.speed + 3]), Vector(*q[3:6]), q[6]
        turned = v + 2.0 * e.cross(e.cross(v) + e4 * v)
        return [*turned, *super().coordinate_rates(q[3:], u[3:])]

    @property
    def partial_velocities(self) -> Sequence[Partial]:
        none = _none(self)
        turning = super().partial_velocities
        return [*((unit, none) for _, unit in turning), *turning]

    def inertia_inward(self, total: Coefficients) -> Coefficients:
        """All that a free body hands on are the force and the torque of its joint."""
        force, moment = (Vector(*(total[m + k, REMAINDER] for k in range(3))) for m in (0, 3))
        force = self.inward(force)
        moment = self.inward(moment) + self.position.cross(force)
        handed = {(k, REMAINDER): part for k, part in enumerate((*force, *moment))}
        return total.of_speeds().changed(handed)


def units(graph: Graph) -> tuple[Vector, Vector, Vector]:
    """Unit vectors along x, y and z."""
    zero, one = graph.zero, graph.one
    return Vector(one, zero, zero), Vector(zero, one, zero), Vector(zero, zero, one)


def _none(joint: Joint) -> Vector:
    zero = joint.position.x.graph.zero
    return Vector(zero, zero, zero)


# ------------------------------------------------------------------------------- at coordinates
def joints_of(graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr]) -> list[Joint]:
    """The joints that carry bodies, at coordinates q."""
    return [_MADE[body.kind](graph, body, q[body.coordinate :]) for body in bodies]


def coordinate_rates(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], u: Sequence[Expr]
) -> list[Expr]:
    """Rates of all coordinates."""
    rates: dict[int, Expr] = {}
    for body, joint in zip(bodies, joints_of(graph, bodies, q)):
        for k, rate in enumerate(joint.coordinate_rates(q[body.coordinate :], u)):
            rates[body.coordinate + k] = rate
    return [rates[k] for k in range(len(q))]


def _turn(graph: Graph, body: FramedBody, q: Sequence[Expr]) -> Revolute:
    return Revolute(
        body.speed, body.multiplier, vector(graph, body.position), *_turning(graph, body, q)
    )


def _turning(
    graph: Graph, body: FramedBody, q: Sequence[Expr]
) -> tuple[tuple[Expr, Expr], tuple[Expr, Expr], Angle]:
    swing, twist = constant_angle(graph, body.swing), constant_angle(graph, body.twist)
    return swing, twist, angle(body.multiplier * q[0], body.offset)


def _screw(graph: Graph, body: FramedBody, q: Sequence[Expr]) -> Screw:
    axis = body.pitch * vector(graph, body.axis)
    position = vector(graph, body.position) + (body.multiplier * q[0]) * axis
    turning = _turning(graph, body, q)
    return Screw(body.speed, body.multiplier, position, *turning, body.pitch)


def _slide(graph: Graph, body: FramedBody, q: Sequence[Expr]) -> Prismatic:
    axis = vector(graph, body.axis)
    position = vector(graph, body.position) + (body.multiplier * q[0] + body.offset) * axis
    return Prismatic(body.speed, body.multiplier, position, axis)


def _ball(graph: Graph, body: FramedBody, q: Sequence[Expr]) -> Ball:
    rotation = quaternion.rotation(matrix(graph, body.rotation), q[:4])
    return Ball(body.speed, body.multiplier, vector(graph, body.position), rotation)


def _float(graph: Graph, body: FramedBody, q: Sequence[Expr]) -> Float:
    at_rest = matrix(graph, body.rotation)
    position = vector(graph, body.position) + at_rest @ Vector(*q[:3])
    return Float(body.speed, body.multiplier, position, quaternion.rotation(at_rest, q[3:7]))


_MADE = {
    "revolute": _turn,
    "screw": _screw,
    "prismatic": _slide,
    "ball": _ball,
    "floating": _float,
}
