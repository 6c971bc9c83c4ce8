"""Moments of mass, mass times position to the powers zero, one and two, seen from other frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector, vector


@dataclass(frozen=True)
class Moments:
    """Mass, first and second moment of mass about a frame's origin."""

    mass: Expr | float
    first: Vector
    diagonal: Vector  # E11, E22, E33
    products: Vector  # E23, E13, E12

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.mass + other.mass,
            self.first + other.first,
            self.diagonal + other.diagonal,
            self.products + other.products,
        )

    def turned(self, cos: Expr, sin: Expr) -> Moments:
        """Seen from a frame that the own one is turned against about z."""
        diagonal, products = _turned(self.diagonal, self.products, cos, sin)
        return Moments(self.mass, self.first.turned(cos, sin), diagonal, products)

    def tilted(self, cos: Expr, sin: Expr) -> Moments:
        """Likewise about x: the same with the axes renamed."""
        d, p = self.diagonal, self.products
        d, p = _turned(Vector(d.y, d.z, d.x), Vector(p.y, p.z, p.x), cos, sin)
        diagonal, products = Vector(d.z, d.x, d.y), Vector(p.z, p.x, p.y)
        return Moments(self.mass, self.first.tilted(cos, sin), diagonal, products)

    def seen_through(self, inward: Callable[[Vector], Vector]) -> Moments:
        """Seen from any other frame, to which vectors pass like that."""
        d, p = self.diagonal, self.products
        rows = [Vector(d.x, p.z, p.y), Vector(p.z, d.y, p.x), Vector(p.y, p.x, d.z)]
        half = [inward(row) for row in rows]
        columns = [inward(Vector(*column)) for column in zip(*half)]
        diagonal = Vector(columns[0].x, columns[1].y, columns[2].z)
        products = Vector(columns[1].z, columns[0].z, columns[0].y)
        return Moments(self.mass, inward(self.first), diagonal, products)

    def moved(self, r: Vector) -> Moments:
        """About a point from which the own origin is at r."""
        first, mass = self.first, self.mass
        # E + (r first' + first r') + mass r r', with the last two terms taken together
        half = first + 0.5 * mass * r
        diagonal = Vector(*(2.0 * (r[k] * half[k]) for k in range(3)))
        pairs = ((1, 2), (0, 2), (0, 1))
        products = Vector(*(r[j] * half[k] + r[k] * half[j] for j, k in pairs))
        return Moments(mass, first + mass * r, self.diagonal + diagonal, self.products + products)

    def accelerated(self, a: Vector, alpha: Vector) -> tuple[Vector, Vector]:
        """Force, and moment about the origin, that accelerate what is at rest by a and alpha."""
        d, p = self.diagonal, self.products
        spin = Vector(
            (d.y + d.z) * alpha.x - p.z * alpha.y - p.y * alpha.z,
            (d.x + d.z) * alpha.y - p.z * alpha.x - p.x * alpha.z,
            (d.x + d.y) * alpha.z - p.y * alpha.x - p.x * alpha.y,
        )
        force = self.mass * a + alpha.cross(self.first)
        return force, self.first.cross(a) + spin


def _turned(d: Vector, p: Vector, cos: Expr, sin: Expr) -> tuple[Vector, Vector]:
    """Second moments in a frame turned back about z, with as few products as possible."""
    k = sin * (d.x - d.y) + cos * (p.z + p.z)
    shift = sin * k
    across = Vector(p.y, p.x, p.z).turned(cos, sin)
    return Vector(d.x - shift, d.y + shift, d.z), Vector(across.y, across.x, cos * k - p.z)


def moments_of(graph: Graph, body: FramedBody) -> Moments:
    """Of a body about the origin of its frame."""
    E = body.second_moment
    return Moments(
        body.mass,
        vector(graph, body.first_moment),
        vector(graph, (E[0, 0], E[1, 1], E[2, 2])),
        vector(graph, (E[1, 2], E[0, 2], E[0, 1])),
    )
