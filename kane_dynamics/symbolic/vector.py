"""Vectors by their three measure numbers in some frame, as expressions.

>>> from kane_dynamics.symbolic.graph import Graph
>>> graph = Graph()
>>> x, y, z = (vector(graph, unit) for unit in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
>>> x.cross(y) == z
True
>>> x.turned(graph.cos(graph.zero), graph.sin(graph.zero)) == x
True
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kane_dynamics.symbolic.graph import Expr, Graph, Number


class Vector(NamedTuple):
    """Measure numbers of a vector in one frame."""

    x: Expr
    y: Expr
    z: Expr

    def __add__(self, other: Vector) -> Vector:  # type: ignore[override]
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vector:
        return Vector(-self.x, -self.y, -self.z)

    def __rmul__(self, factor: Expr | Number) -> Vector:  # type: ignore[override]
        return Vector(factor * self.x, factor * self.y, factor * self.z)

    def dot(self, other: Vector) -> Expr:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vector) -> Vector:
        return Vector(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def turned(self, cos: Expr, sin: Expr) -> Vector:
        """The vector rotated about z; or, of a frame rotated about z, the way back."""
        return Vector(cos * self.x - sin * self.y, sin * self.x + cos * self.y, self.z)

    def tilted(self, cos: Expr, sin: Expr) -> Vector:
        """The vector rotated about x."""
        return Vector(self.x, cos * self.y - sin * self.z, sin * self.y + cos * self.z)


class Matrix(NamedTuple):
    """Three rows; times a vector of the same frame."""

    x: Vector
    y: Vector
    z: Vector

    def __matmul__(self, v: Vector) -> Vector:
        return Vector(self.x.dot(v), self.y.dot(v), self.z.dot(v))

    def times(self, other: Matrix) -> Matrix:
        """The product of two matrices."""
        return Matrix(*(other.transposed @ row for row in self))

    def turned(self, cos: Expr, sin: Expr) -> Matrix:
        """Seen from a frame that the own one is turned against about z.

        The trace and the skew part of the block across z do not change; what does takes four
        products.
        """
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = self
        mixed = sin * (xx - yy) + cos * (xy + yx)
        shift, along = sin * mixed, cos * mixed
        xz, yz = cos * xz - sin * yz, sin * xz + cos * yz
        zx, zy = cos * zx - sin * zy, sin * zx + cos * zy
        return Matrix(
            Vector(xx - shift, along - yx, xz),
            Vector(along - xy, yy + shift, yz),
            Vector(zx, zy, zz),
        )

    def tilted(self, cos: Expr, sin: Expr) -> Matrix:
        """Likewise about x: the same with the axes renamed."""
        return self.renamed(1, 2, 0).turned(cos, sin).renamed(2, 0, 1)

    def renamed(self, i: int, j: int, k: int) -> Matrix:
        """The same with other axes as x, y and z."""
        rows = (Vector(self[n][i], self[n][j], self[n][k]) for n in (i, j, k))
        return Matrix(*rows)

    @property
    def transposed(self) -> Matrix:
        return Matrix(*(Vector(*column) for column in zip(*self)))


def vector(graph: Graph, numbers: Iterable[Expr | Number]) -> Vector:
    """A vector of numbers, or of expressions."""
    return Vector(*map(graph.expr, numbers))


def matrix(graph: Graph, rows: Iterable[Iterable[Number]]) -> Matrix:
    """A constant matrix."""
    return Matrix(*(vector(graph, row) for row in rows))
