"""The mass matrix: coefficients of the accelerations in the generalized inertia forces.

Element r, s is the sum over bodies of partial velocities of r dotted into the inertia forces due
to a unit acceleration of s. Outboard of joint s the robot then moves as one rigid body, whose
moments of mass are summed from the tips inward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics.kane.frames import FramedBody
from kane_dynamics.kane.partial_velocities import generalized_forces
from kane_dynamics.kane.passage import Float, Passage, Slide, passage
from kane_dynamics.kane.singular import speeds
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector, vector


@dataclass(frozen=True)
class Moments:
    """Mass, first and second moment of mass about a frame's origin."""

    mass: float
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

    def moved(self, r: Vector) -> Moments:
        """About a point from which the own origin is at r."""
        first, mass = self.first, self.mass
        # E + (r first' + first r') + mass r r', with the last two terms taken together
        half = first + 0.5 * mass * r
        diagonal = Vector(*(2.0 * (r[k] * half[k]) for k in range(3)))
        pairs = ((1, 2), (0, 2), (0, 1))
        products = Vector(*(r[j] * half[k] + r[k] * half[j] for j, k in pairs))
        return Moments(mass, first + mass * r, self.diagonal + diagonal, self.products + products)


def _turned(d: Vector, p: Vector, cos: Expr, sin: Expr) -> tuple[Vector, Vector]:
    """Second moments in a frame turned back about z, with as few products as possible."""
    k = sin * (d.x - d.y) + cos * (p.z + p.z)
    shift = sin * k
    across = Vector(p.y, p.x, p.z).turned(cos, sin)
    return Vector(d.x - shift, d.y + shift, d.z), Vector(across.y, across.x, cos * k - p.z)


def mass_matrix(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], count: int
) -> list[list[Expr]]:
    """The symmetric matrix M of Kane's equations, M udot + … = torques."""
    return _summed(graph, bodies, q, [0] * count)


def diagonal(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], count: int
) -> list[Expr]:
    """The diagonal of M alone: the inertia felt at each speed when no other speed changes."""
    inward = reversed(list(enumerate(bodies)))
    innermost = {speed: i for i, body in inward for speed in speeds(body)}
    M = _summed(graph, bodies, q, [innermost[speed] for speed in range(count)])
    return [M[speed][speed] for speed in range(count)]


def _summed(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr], innermost: Sequence[int]
) -> list[list[Expr]]:
    """M, or of the column of each speed only what comes from bodies up to the innermost named."""
    ways = [passage(graph, body, q) for body in bodies]
    composite = [_moments(graph, body) for body in bodies]
    M = [[graph.zero] * len(innermost) for _ in innermost]
    for i in reversed(range(len(bodies))):
        body, way = bodies[i], ways[i]
        for speed, force, moment in _unit_accelerations(graph, body, way, composite[i]):
            _accumulate(M, bodies, ways, i, innermost[speed], speed, force, moment)
        if body.parent >= 0:
            passed = _inward(way, composite[i]).moved(way.position)
            composite[body.parent] = composite[body.parent] + passed
    return M


def _moments(graph: Graph, body: FramedBody) -> Moments:
    E = body.second_moment
    return Moments(
        body.mass,
        vector(graph, body.first_moment),
        vector(graph, (E[0, 0], E[1, 1], E[2, 2])),
        vector(graph, (E[1, 2], E[0, 2], E[0, 1])),
    )


def _inward(way: Passage, moments: Moments) -> Moments:
    if isinstance(way, Slide):
        return moments
    if isinstance(way, Float):
        return _rotated(way, moments)
    turned = moments.turned(way.angle.cos, way.angle.sin)
    return turned.tilted(*way.twist).turned(*way.swing)


def _rotated(way: Float, moments: Moments) -> Moments:
    """By a full rotation matrix: only for a free body carried by another."""
    d, p = moments.diagonal, moments.products
    rows = [Vector(d.x, p.z, p.y), Vector(p.z, d.y, p.x), Vector(p.y, p.x, d.z)]
    half = [way.inward(row) for row in rows]
    columns = [way.inward(Vector(*column)) for column in zip(*half)]
    diagonal = Vector(columns[0].x, columns[1].y, columns[2].z)
    products = Vector(columns[1].z, columns[0].z, columns[0].y)
    return Moments(moments.mass, way.inward(moments.first), diagonal, products)


def _unit_accelerations(
    graph: Graph, body: FramedBody, way: Passage, moments: Moments
) -> list[tuple[int, Vector, Vector]]:
    """Speed, force and moment about the origin that give a unit of its acceleration."""
    zero, one, first = graph.zero, graph.one, moments.first
    axes = [Vector(one, zero, zero), Vector(zero, one, zero), Vector(zero, zero, one)]
    d, p = moments.diagonal, moments.products
    if isinstance(way, Slide):
        axis = body.multiplier * way.axis
        return [(body.speed, moments.mass * axis, first.cross(axis))]
    spins = [
        Vector(d.y + d.z, -p.z, -p.y),
        Vector(-p.z, d.x + d.z, -p.x),
        Vector(-p.y, -p.x, d.x + d.y),
    ]
    if isinstance(way, Float):
        pushes = [(moments.mass * axis, first.cross(axis)) for axis in axes]
        turns = [(axis.cross(first), spin) for axis, spin in zip(axes, spins)]
        return [(body.speed + k, f, m) for k, (f, m) in enumerate(pushes + turns)]
    force = Vector(-first.y, first.x, zero)
    return [(body.speed, body.multiplier * force, body.multiplier * spins[2])]


def _accumulate(
    M: list[list[Expr]],
    bodies: Sequence[FramedBody],
    ways: Sequence[Passage],
    i: int,
    innermost: int,
    speed: int,
    force: Vector,
    moment: Vector,
) -> None:
    """Partial velocities of body i and of the joints inboard of it dotted into force and moment."""
    at = i
    while True:
        body, way = bodies[at], ways[at]
        for row, part in generalized_forces(body, way, force, moment):
            M[row][speed] = M[row][speed] + part
            if at != i:  # by symmetry; twice on the diagonal where a joint mimics one inboard
                M[speed][row] = M[speed][row] + part
        at = body.parent
        if at < innermost:
            return
        force = way.inward(force)
        moment = way.inward(moment) + way.position.cross(force)
