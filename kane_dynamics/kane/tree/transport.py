"""Mass times position times velocity: what forces depend on when the velocities are changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Matrix, Vector, vector

if TYPE_CHECKING:
    from kane_dynamics.kane.tree.joints import Joint


@dataclass(frozen=True)
class Transport:
    """Of bodies together, about the origin of a frame.

    Attributes
    ----------
    linear : Vector
        Sum of v dm.
    D : Matrix
        Sum of r v' dm.
    """

    linear: Vector
    D: Matrix

    def __add__(self, other: Transport) -> Transport:
        rows = (a + b for a, b in zip(self.D, other.D))
        return Transport(self.linear + other.linear, Matrix(*rows))

    @property
    def trace(self) -> Expr:
        return self.D.x.x + self.D.y.y + self.D.z.z

    def swept(self, omega: Vector) -> tuple[Vector, Vector]:
        """Force and moment of omega x v dm: the moment is the sum of r x (omega x v) dm."""
        return omega.cross(self.linear), self.trace * omega - self.D.transposed @ omega

    def couple(self, v: Vector, omega: Vector) -> Vector:
        """What a field v + omega x r makes of `swept`: its power is this times that omega."""
        return self.linear.cross(v) + self.trace * omega - self.D @ omega

    def inward(self, joint: Joint) -> Transport:
        """In the inboard frame, about its origin."""
        linear, D = joint.inward(self.linear), joint.matrix_inward(self.D)
        rows = (row + length * linear for row, length in zip(D, joint.position))
        return Transport(linear, Matrix(*rows))


def transport_of(
    graph: Graph, mass: Any, first: Any, second: Any, omega: Vector, v: Vector
) -> Transport:
    """Of a body with these moments of mass, whose origin has the velocity v."""
    line = vector(graph, first)
    rows = (omega.cross(vector(graph, row)) + length * v for row, length in zip(second, line))
    return Transport(mass * v + omega.cross(line), Matrix(*rows))
