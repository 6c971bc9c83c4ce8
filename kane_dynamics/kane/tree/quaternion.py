"""Unit quaternions (x, y, z, w) as expressions: the rotation that they say, and their rates."""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.vector import Matrix, Vector


def rotation(at_rest: Matrix, quaternion: Sequence[Expr]) -> Matrix:
    """Rotation matrix of a unit quaternion, after that of the joint's frame."""
    x, y, z, w = quaternion
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    turned = Matrix(
        Vector(1.0 - (yy + zz), xy - wz, xz + wy),
        Vector(xy + wz, 1.0 - (xx + zz), yz - wx),
        Vector(xz - wy, yz + wx, 1.0 - (xx + yy)),
    )
    columns = [at_rest @ column for column in turned.transposed]
    return Matrix(*columns).transposed


def rates(quaternion: Sequence[Expr], omega: Vector) -> list[Expr]:
    """Half of it times the angular velocity, which is that in the frame that turns."""
    e, e4 = Vector(*quaternion[:3]), quaternion[3]
    return [*(0.5 * (e4 * omega + e.cross(omega))), -0.5 * e.dot(omega)]
