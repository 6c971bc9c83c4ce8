"""Angular velocities, velocities and accelerations of the bodies, each in the body's own frame.

The acceleration of a point at r of a rigid body is a + U r, where a is the acceleration of the
frame's origin and U = [alpha x] + [omega x][omega x]. The points of a joint axis belong to both
bodies that it connects, so U times the direction of the axis is one vector for both: it is passed
on instead of the angular acceleration, which follows from it. Eqs. 13-22 and 56-75 of Kane and
Levinson are what this gives for the Stanford Arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics.kane.frames import FramedBody
from kane_dynamics.kane.passage import Angle, Float, Passage, Slide, Turn
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Matrix, Vector


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


@dataclass(frozen=True)
class Series:
    """Turning joints with parallel axes, one after the other.

    Two of the three measure numbers of angular velocity follow for every body of the series from
    those at its root, by the sum of the joint angles; where one of them is zero at the root, this
    is half the work.

    Attributes
    ----------
    root : int
        The first body of the series.
    omega, U_axis : Vector
        Angular velocity and U times axis of the body before it, in the frame at its joint.
    angle : Angle
        Sum of the joint angles.
    """

    root: int
    omega: Vector
    U_axis: Vector
    angle: Angle

    @property
    def saves(self) -> bool:
        zero = self.omega.x.graph.zero
        return self.omega.x is zero or self.omega.y is zero


@dataclass(frozen=True)
class Motion:
    """Motion of a body: all measure numbers are for the body's own frame.

    Attributes
    ----------
    omega, alpha : Vector
        Angular velocity and angular acceleration.
    U : Matrix
        The acceleration of the point at r is ``a + U r``.
    a : Vector
        Acceleration of the frame's origin.
    series : Series or None
        The parallel axes that this body's joint belongs to.
    """

    omega: Vector
    alpha: Vector
    U: Matrix
    a: Vector
    series: Series | None = None


def ground(graph: Graph, gravity: Vector) -> Motion:
    """The ground at rest. Accelerating it upwards by g puts all weights into the equations."""
    zero = Vector(graph.zero, graph.zero, graph.zero)
    return Motion(zero, zero, Matrix(zero, zero, zero), -gravity)


def motion(
    i: int,
    body: FramedBody,
    way: Passage,
    inboard: Motion,
    u: Sequence[Expr],
    udot: Sequence[Expr],
    passes_alpha: bool,
) -> Motion:
    """Motion of body i from the motion of the body that carries it.

    Parameters
    ----------
    passes_alpha : bool
        Whether a joint with another axis follows, which needs this body's angular acceleration.
    """
    if isinstance(way, Float):
        s = slice(body.speed, body.speed + 6)
        return _floating(way, inboard, u[s], udot[s])
    speed, acceleration = body.multiplier * u[body.speed], body.multiplier * udot[body.speed]
    if isinstance(way, Slide):
        return _sliding(way, inboard, speed, acceleration)
    return _turning(i, way, inboard, speed, acceleration, passes_alpha)


def _turning(
    i: int, way: Turn, inboard: Motion, speed: Expr, acceleration: Expr, passes_alpha: bool
) -> Motion:
    axis = way.axis
    series = _series(i, way, inboard)
    turned = series.omega.turned(series.angle.cos, -series.angle.sin)
    omega = Vector(turned.x, turned.y, axis.dot(inboard.omega) + speed)
    column = series.U_axis.turned(series.angle.cos, -series.angle.sin)
    alpha_z = axis.dot(inboard.alpha) + acceleration
    alpha, U = _from_axis_column(omega, column, alpha_z, passes_alpha)
    a = way.outward(inboard.a + inboard.U @ way.position)
    return Motion(omega, alpha, U, a, series)


def _series(i: int, way: Turn, inboard: Motion) -> Series:
    """The series that a turning joint continues, or a new one that it starts."""
    before = inboard.series
    if before is not None and before.saves and way.is_parallel:
        return Series(before.root, before.omega, before.U_axis, before.angle.plus(way.angle))
    omega, U_axis = way.to_axis(inboard.omega), way.to_axis(inboard.U @ way.axis)
    return Series(i, omega, U_axis, way.angle)


def _from_axis_column(
    omega: Vector, column: Vector, alpha_z: Expr, passes_alpha: bool
) -> tuple[Vector, Matrix]:
    """Angular acceleration and U of a body, from the column of U along z."""
    x, y, z = omega
    xz, yz, xy = x * z, y * z, x * y
    alpha = Vector(yz - column.y, column.x - xz, alpha_z)
    if passes_alpha:
        row = (xz - alpha.y, yz + alpha.x)
    else:  # alpha is not needed itself: leave it out of the last row
        row = (x * (z + z) - column.x, y * (z + z) - column.y)
    U = Matrix(
        Vector(-(y * y + z * z), xy - alpha.z, column.x),
        Vector(xy + alpha.z, -(x * x + z * z), column.y),
        Vector(row[0], row[1], -(x * x + y * y)),
    )
    return alpha, U


def _sliding(way: Slide, inboard: Motion, speed: Expr, acceleration: Expr) -> Motion:
    """The Coriolis term is twice omega x velocity."""
    coriolis = (speed + speed) * inboard.omega.cross(way.axis)
    a = inboard.a + inboard.U @ way.position + coriolis + acceleration * way.axis
    return Motion(inboard.omega, inboard.alpha, inboard.U, a, inboard.series)


def _floating(way: Float, inboard: Motion, u: Sequence[Expr], udot: Sequence[Expr]) -> Motion:
    """A free body; speeds are its velocity and angular velocity in the parent, in its own frame."""
    v, w = Vector(*u[:3]), Vector(*u[3:])
    carried = way.outward(inboard.omega)
    omega = carried + w
    alpha = way.outward(inboard.alpha) + carried.cross(w) + Vector(*udot[3:])
    a = way.outward(inboard.a + inboard.U @ way.position)
    a = a + Vector(*udot[:3]) + (carried + omega).cross(v)
    return Motion(omega, alpha, acceleration_matrix(omega, alpha), a)


def acceleration_matrix(omega: Vector, alpha: Vector) -> Matrix:
    """U = [alpha x] + [omega x][omega x]."""
    x, y, z = omega
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return Matrix(
        Vector(-(yy + zz), xy - alpha.z, xz + alpha.y),
        Vector(xy + alpha.z, -(xx + zz), yz - alpha.x),
        Vector(xz - alpha.y, yz + alpha.x, -(xx + yy)),
    )


def passes_alpha(bodies: Sequence[FramedBody], ways: Sequence[Passage]) -> list[bool]:
    """For every body, whether a joint follows whose axis is not parallel to its own."""
    result = [False] * len(bodies)
    for i in reversed(range(len(bodies))):
        parent = bodies[i].parent
        if parent < 0:
            continue
        way = ways[i]
        if isinstance(way, Slide):
            result[parent] |= result[i]
        elif isinstance(way, Float):
            result[parent] = True
        else:
            result[parent] |= not way.is_parallel
    return result
