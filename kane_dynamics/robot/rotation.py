"""Rotations and translations in three dimensions, as tuples of floats.

A rotation matrix has the axes of the rotated frame as columns, so that it takes components in
the rotated frame to components in the frame it is given in.
"""

from __future__ import annotations

from math import cos, hypot, pi, remainder, sin

from kane_dynamics.robot.model import Matrix, Vector

# rad by which a right angle written with fifteen digits may be off
_ROUNDING = 1e-14

# of the largest component of a vector
_TRACE = 1e-15


def dot(a: Vector, b: Vector) -> float:
    """Return the scalar product, never -0.0."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + 0.0


def add(a: Vector, b: Vector) -> Vector:
    """Return the sum of two vectors."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def scale(factor: float, a: Vector) -> Vector:
    """Return a vector times a number."""
    return (factor * a[0] + 0.0, factor * a[1] + 0.0, factor * a[2] + 0.0)


def cross(a: Vector, b: Vector) -> Vector:
    """Return the vector product."""
    return (
        a[1] * b[2] - a[2] * b[1] + 0.0,
        a[2] * b[0] - a[0] * b[2] + 0.0,
        a[0] * b[1] - a[1] * b[0] + 0.0,
    )


def unit(a: Vector) -> Vector:
    """Return the vector of length one in the direction of `a`; ZeroDivisionError if it is zero."""
    largest = max(abs(component) for component in a)
    x, y, z = a[0] / largest, a[1] / largest, a[2] / largest
    length = hypot(x, y, z)
    return (x / length + 0.0, y / length + 0.0, z / length + 0.0)


def sizes(a: Vector) -> Vector:
    """Return the magnitudes of the components."""
    return (abs(a[0]), abs(a[1]), abs(a[2]))


def without_traces(a: Vector) -> Vector:
    """Return the vector without components that only rounding can have left beside the largest."""
    least = _TRACE * max(sizes(a))
    x, y, z = (0.0 if abs(component) <= least else component for component in a)
    return (x, y, z)


def reach(a: Matrix) -> Matrix:
    """Return ones where a rotation is not zero.

    Its elements are sums of terms that are no larger than one, and exactly zero only where all of
    these are: anything else may be what rounding has left.
    """
    x, y, z = ((float(r[0] != 0.0), float(r[1] != 0.0), float(r[2] != 0.0)) for r in a)
    return (x, y, z)


def transpose(a: Matrix) -> Matrix:
    """Return the transpose, which is the inverse of a rotation."""
    return (
        (a[0][0], a[1][0], a[2][0]),
        (a[0][1], a[1][1], a[2][1]),
        (a[0][2], a[1][2], a[2][2]),
    )


def rotate(a: Matrix, b: Vector) -> Vector:
    """Return the product of a matrix and a vector."""
    return (dot(a[0], b), dot(a[1], b), dot(a[2], b))


def multiply(a: Matrix, b: Matrix) -> Matrix:
    """Return the product of two matrices."""
    columns = transpose(b)
    return (rotate(columns, a[0]), rotate(columns, a[1]), rotate(columns, a[2]))


def change_basis(rotation: Matrix, tensor: Matrix) -> Matrix:
    """Return the components of a symmetric tensor, given in the rotated frame's axes."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = multiply(
        multiply(rotation, tensor), transpose(rotation)
    )
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def cosine_sine(angle: float) -> tuple[float, float]:
    """Return cosine and sine, exactly 0 and ±1 where `angle` is a right angle but for rounding.

    >>> cosine_sine(1.5707963267948966)
    (0.0, 1.0)
    """
    excess = remainder(angle, pi / 2)
    if abs(excess) <= _ROUNDING:
        quarter = round((angle - excess) / (pi / 2)) % 4
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter]
    return cos(angle), sin(angle)


def about_axis(axis: Vector, angle: float) -> Matrix:
    """Return the rotation by `angle`, in rad, about a unit vector."""
    c, s = cosine_sine(angle)
    x, y, z = axis
    v = 1.0 - c
    return (
        (x * x * v + c + 0.0, x * y * v - z * s + 0.0, x * z * v + y * s + 0.0),
        (y * x * v + z * s + 0.0, y * y * v + c + 0.0, y * z * v - x * s + 0.0),
        (z * x * v - y * s + 0.0, z * y * v + x * s + 0.0, z * z * v + c + 0.0),
    )


def from_rpy(rpy: Vector) -> Matrix:
    """Return the rotation by roll, pitch, yaw, in rad: about fixed x, then y, then z."""
    cr, sr = cosine_sine(rpy[0])
    cp, sp = cosine_sine(rpy[1])
    cy, sy = cosine_sine(rpy[2])
    return (
        (cy * cp + 0.0, cy * sp * sr - sy * cr + 0.0, cy * sp * cr + sy * sr + 0.0),
        (sy * cp + 0.0, sy * sp * sr + cy * cr + 0.0, sy * sp * cr - cy * sr + 0.0),
        (-sp + 0.0, cp * sr + 0.0, cp * cr + 0.0),
    )


def from_quaternion(x: float, y: float, z: float, w: float) -> Matrix:
    """Return the rotation of a quaternion of any length but zero, exact where it is a right angle.

    >>> from_quaternion(0.0, 0.0, 0.7071067811865475, 0.7071067811865476)
    ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    """
    largest = max(abs(x), abs(y), abs(z), abs(w))
    x, y, z, w = x / largest, y / largest, z / largest, w / largest
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        _exact(1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)),
        _exact(s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)),
        _exact(s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)),
    )


def _exact(*row: float) -> Vector:
    """Return 0 and ±1 for components that are so but for rounding."""
    x, y, z = (float(round(c)) if abs(c - round(c)) <= _ROUNDING else c for c in row)
    return (x, y, z)


def plane_axes(normal: Vector) -> tuple[Vector, Vector]:
    """Return two unit vectors that make a right-handed basis with the unit vector `normal`.

    They are x and y when `normal` is z.
    """
    guide = (1.0, 0.0, 0.0) if abs(normal[0]) < 0.9 else (0.0, 1.0, 0.0)
    second = unit(cross(normal, guide))
    return cross(second, normal), second
