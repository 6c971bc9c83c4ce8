"""An economy: turning joints with parallel axes, one after the other, are passed at one go.

Over all of them vectors turn about one direction, by the sum of the joint angles. So what is known
at the first joint of such a series, its root, can be passed to every body of it directly, and what
has to come to the root can go there directly from every body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from kane_dynamics.kane.tree.angle import Angle
from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.motion import Movement
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Matrix, Vector

if TYPE_CHECKING:
    from kane_dynamics.kane.tree.joints import Joint, Revolute


# -------------------------------------------------------------------------------------- outward
@dataclass(frozen=True)
class Series:
    """Turning joints with parallel axes, one after the other, up to one of them.

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


def turned_about_axis(
    i: int, joint: Revolute, inboard: Movement, speed: Expr, acceleration: Expr, passes_alpha: bool
) -> tuple[Vector, Vector, Matrix, Series]:
    """Angular velocity and acceleration, and U, of body i, and the series that it belongs to.

    U times the direction of the axis is one vector for both bodies that a turning joint connects:
    it is passed on instead of the angular acceleration, which follows from it.
    """
    axis = joint.axis
    series = _series(i, joint, inboard)
    turned = series.omega.turned(series.angle.cos, -series.angle.sin)
    omega = Vector(turned.x, turned.y, axis.dot(inboard.omega) + speed)
    column = series.U_axis.turned(series.angle.cos, -series.angle.sin)
    alpha_z = axis.dot(inboard.alpha) + acceleration
    alpha, U = _from_axis_column(omega, column, alpha_z, passes_alpha)
    return omega, alpha, U, series


def _series(i: int, joint: Revolute, inboard: Movement) -> Series:
    """The series that a turning joint continues, or a new one that it starts."""
    before = inboard.series
    if before is not None and before.saves and joint.is_parallel:
        return Series(before.root, before.omega, before.U_axis, before.angle.plus(joint.angle))
    omega, U_axis = joint.to_axis(inboard.omega), joint.to_axis(inboard.U @ joint.axis)
    return Series(i, omega, U_axis, joint.angle)


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


# --------------------------------------------------------------------------------------- inward
class Inward:
    """Passes vectors inward over joints, from the tips on.

    In a series of parallel axes the part across the axes is needed only inboard of the root, and
    goes there directly.

    Parameters
    ----------
    graph : Graph
    joints : sequence of Joint
    roots : sequence of int
        For every body the first one of its series; itself where there is none.
    angles : sequence of (Angle or None)
        What each has turned by since the root; None for joints that do not turn about an axis.
    """

    def __init__(
        self,
        graph: Graph,
        joints: Sequence[Joint],
        roots: Sequence[int],
        angles: Sequence[Angle | None],
    ) -> None:
        self._zero, self._joints, self._roots, self._angles = graph.zero, joints, roots, angles
        self._across = [Vector(graph.zero, graph.zero, graph.zero)] * len(joints)

    def is_root(self, i: int) -> bool:
        """Whether all of a vector passes over joint i."""
        return self._roots[i] == i

    def __call__(self, i: int, v: Vector) -> Vector:
        """A vector of body i, or what of it passes over joint i, in the inboard frame."""
        joint, root, angle, zero = self._joints[i], self._roots[i], self._angles[i], self._zero
        if angle is None:
            return joint.inward(v)
        across = Vector(v.x, v.y, zero).turned(angle.cos, angle.sin)
        self._across[root] = across = self._across[root] + across
        passed = across if root == i else Vector(zero, zero, zero)
        return cast("Revolute", joint).from_axis(Vector(passed.x, passed.y, v.z))


def inward_after(graph: Graph, joints: Sequence[Joint], motions: Sequence[Movement]) -> Inward:
    """The way back over the series that motions have come out by."""
    series = [state.series if joint.turns else None for joint, state in zip(joints, motions)]
    roots = [i if each is None else each.root for i, each in enumerate(series)]
    return Inward(graph, joints, roots, [each.angle if each else None for each in series])


def parallel_series(
    bodies: Sequence[FramedBody], joints: Sequence[Joint]
) -> tuple[list[int], list[Angle | None]]:
    """For every turning body the first one with a parallel axis, and the angle turned since."""
    roots = list(range(len(bodies)))
    angles: list[Angle | None] = []
    for i, (body, joint) in enumerate(zip(bodies, joints)):
        if not joint.turns:
            angles.append(None)
            continue
        turn, before = cast("Revolute", joint), angles[body.parent] if body.parent >= 0 else None
        if before is not None and turn.is_parallel:
            roots[i] = roots[body.parent]
            angles.append(before.plus(turn.angle))
        else:
            angles.append(turn.angle)
    return roots, angles


def outward_from_roots(
    bodies: Sequence[FramedBody],
    joints: Sequence[Joint],
    roots: Sequence[int],
    angles: Sequence[Angle | None],
    v: Vector,
) -> list[Vector]:
    """A vector of the ground in the frame of every body."""
    at_root: dict[int, Vector] = {}
    result: list[Vector] = []
    for i, (body, joint, angle) in enumerate(zip(bodies, joints, angles)):
        inboard = result[body.parent] if body.parent >= 0 else v
        if angle is None:
            result.append(joint.outward(inboard))
            continue
        if roots[i] == i:
            at_root[i] = cast("Revolute", joint).to_axis(inboard)
        result.append(at_root[roots[i]].turned(angle.cos, -angle.sin))
    return result
