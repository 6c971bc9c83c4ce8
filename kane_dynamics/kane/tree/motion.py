"""How a body moves: its velocities and accelerations, by measure numbers in its own frame.

The acceleration of a point at r of a rigid body is a + U r, where a is the acceleration of the
frame's origin and U = [alpha x] + [omega x][omega x].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kane_dynamics.symbolic.graph import Graph
from kane_dynamics.symbolic.vector import Matrix, Vector

if TYPE_CHECKING:
    from kane_dynamics.kane.tree.parallel import Series


@dataclass(frozen=True)
class Velocity:
    """Angular velocity of a body and velocity of its frame's origin."""

    omega: Vector
    v: Vector


@dataclass(frozen=True)
class Movement:
    """Velocities and accelerations of a body.

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


def ground(graph: Graph, gravity: Vector) -> Movement:
    """The ground at rest. Accelerating it upwards by g puts all weights into the equations."""
    zero = Vector(graph.zero, graph.zero, graph.zero)
    return Movement(zero, zero, Matrix(zero, zero, zero), -gravity)


def acceleration_matrix(omega: Vector, alpha: Vector) -> Matrix:
    """U = [alpha x] + [omega x][omega x]."""
    x, y, z = omega
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return Matrix(
        Vector(-(yy + zz), xy - alpha.z, xz + alpha.y),
        Vector(xy + alpha.z, -(xx + zz), yz - alpha.x),
        Vector(xz - alpha.y, yz + alpha.x, -(xx + yy)),
    )
