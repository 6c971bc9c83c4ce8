"""How vectors pass from the frame of a body to the frame of the next, as functions of q."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics.kane.frames import FramedBody, quarter_turns
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Matrix, Vector, matrix, vector

_RIGHT_ANGLES = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


@dataclass(frozen=True)
class Angle:
    """An angle as expression plus number, with cosine and sine of the sum."""

    variable: Expr
    offset: float
    cos: Expr
    sin: Expr

    def plus(self, other: Angle) -> Angle:
        return angle(self.variable + other.variable, self.offset + other.offset)


def angle(variable: Expr, offset: float) -> Angle:
    """cos(x + offset) and sin(x + offset); an offset by right angles costs nothing."""
    graph = variable.graph
    turns = quarter_turns(offset)
    if turns is None:
        shifted = variable + offset
        return Angle(variable, offset, graph.cos(shifted), graph.sin(shifted))
    cos, sin = graph.cos(variable), graph.sin(variable)
    for _ in range(turns):
        cos, sin = -sin, cos
    return Angle(variable, offset, cos, sin)


def constant_angle(graph: Graph, value: float) -> tuple[Expr, Expr]:
    """Cosine and sine of a number."""
    turns = quarter_turns(value)
    cos, sin = (math.cos(value), math.sin(value)) if turns is None else _RIGHT_ANGLES[turns]
    return graph.constant(cos), graph.constant(sin)


@dataclass(frozen=True)
class Turn:
    """Passage over a turning joint: swing about z, twist about x, then the joint angle about z."""

    swing: tuple[Expr, Expr]
    twist: tuple[Expr, Expr]
    angle: Angle
    position: Vector

    def to_axis(self, v: Vector) -> Vector:
        """From the parent's frame to the one at the joint that does not turn yet."""
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
        """The joint axis in the parent's frame."""
        zero, one = self.position.x.graph.zero, self.position.x.graph.one
        return self.from_axis(Vector(zero, zero, one))

    @property
    def is_parallel(self) -> bool:
        """Whether the joint axis is the parent's z-axis, in direction."""
        zero, one = self.position.x.graph.zero, self.position.x.graph.one
        return self.axis == Vector(zero, zero, one)


@dataclass(frozen=True)
class Slide:
    """Passage over a sliding joint: frames stay parallel."""

    axis: Vector
    position: Vector

    def outward(self, v: Vector) -> Vector:
        return v

    def inward(self, v: Vector) -> Vector:
        return v


@dataclass(frozen=True)
class Float:
    """Passage to a free body, whose orientation is a quaternion."""

    rotation: Matrix
    position: Vector

    def outward(self, v: Vector) -> Vector:
        return self.rotation.transposed @ v

    def inward(self, v: Vector) -> Vector:
        return self.rotation @ v


Passage = Turn | Slide | Float


def passage(graph: Graph, body: FramedBody, q: Sequence[Expr]) -> Passage:
    """The passage from the parent's frame to a body's, at coordinates q."""
    position = vector(graph, body.position)
    if body.kind == "floating":
        return _float(graph, body, q[body.coordinate : body.coordinate + 7])
    variable = body.multiplier * q[body.coordinate]
    if body.kind == "prismatic":
        axis = vector(graph, body.axis)
        return Slide(axis, position + (variable + body.offset) * axis)
    return Turn(
        swing=constant_angle(graph, body.swing),
        twist=constant_angle(graph, body.twist),
        angle=angle(variable, body.offset),
        position=position,
    )


def _float(graph: Graph, body: FramedBody, q: Sequence[Expr]) -> Float:
    """Rotation matrix of the unit quaternion (x, y, z, w), in the joint's frame."""
    x, y, z, w = q[3:]
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    quaternion = Matrix(
        Vector(1.0 - (yy + zz), xy - wz, xz + wy),
        Vector(xy + wz, 1.0 - (xx + zz), yz - wx),
        Vector(xz - wy, yz + wx, 1.0 - (xx + yy)),
    )
    joint = matrix(graph, body.rotation)
    columns = [joint @ column for column in quaternion.transposed]
    position = vector(graph, body.position) + joint @ Vector(*q[:3])
    return Float(Matrix(*columns).transposed, position)
