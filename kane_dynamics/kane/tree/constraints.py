"""Rows of the constraints of a robot: how its links and joints may not move, as expressions.

Frames and their velocities are along the axes of the world. A difference is always that of the
first frame less the second, so that multipliers of rows are forces that act on the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, cast

from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.constraints import Constraints, Limit, Row, Shape
from kane_dynamics.kane.equations import Given
from kane_dynamics.kane.tree.equations import TreeEquations
from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.links import Placement, link_placement, placements
from kane_dynamics.names import unknown_name
from kane_dynamics.robot.body import GROUND, Body, Frame, Tree
from kane_dynamics.robot.constraints import (
    WORLD,
    Constraint,
    Contact,
    Coupling,
    Lock,
    Loop,
    Rolling,
    Weld,
)
from kane_dynamics.robot.model import Vector as Numbers3
from kane_dynamics.robot.rotation import add, from_rpy, multiply, rotate, unit
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.vector import Vector, vector

LAST_HALF_TURN = 1e-4
"""1 + cosine of the angle between frames, below which they are taken for opposite."""


class TreeConstraints(Constraints):
    """Constraints of a tree of rigid bodies.

    Parameters
    ----------
    equations : TreeEquations
    definitions : sequence of Constraint

    Raises
    ------
    ArgumentError
        If a definition names a link or joint that is not there, or that it cannot hold.
    """

    equations: TreeEquations

    def __init__(self, equations: TreeEquations, definitions: Sequence[Constraint]) -> None:
        super().__init__(equations)
        self.definitions = tuple(definitions)
        for each in definitions:
            try:
                _check(equations.tree, each)
            except ArgumentError as error:
                raise ArgumentError(f"constraint {each.name!r}: {error}") from None

    @cached_property
    def key(self) -> Any:
        return repr([_bare(each) for each in self.definitions])

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        tree = self.equations.tree
        return tuple(_shape(tree, each) for each in self.definitions)

    def rows(self, given: Given) -> list[Row]:
        moving = Moving(self.equations, given)
        found: list[Row] = []
        for each in self.definitions:
            anchors = given["anchors"][self.anchor_slices[each.name]]
            found += _WRITTEN[type(each)](moving, each, anchors)
        return found

    def begun(self, given: Given) -> list[Expr]:
        zeros = [given.graph.zero] * self.equations.tree.nu
        moving = Moving(self.equations, given.but(u=zeros))
        return [number for each in self.definitions for number in _begun(moving, each)]


# ------------------------------------------------------------------------------- links that move
class Moved(NamedTuple):
    """A frame of a link in the world, its angular velocity and the velocity of its origin."""

    at: Placement
    omega: Vector
    v: Vector


class Moving:
    """Where all links are, and how they move, for coordinates and speeds that are given."""

    def __init__(self, equations: TreeEquations, given: Given) -> None:
        self.tree, self.graph = equations.tree, given.graph
        self.q, self.u = given["q"], given["u"]
        self._framed: Sequence[FramedBody] = equations.framed
        self._ground, self._placed, joints = placements(self.graph, self._framed, self.q)
        none = self._ground.position
        still = self._still = Moved(self._ground, none, none)
        self._bodies: list[Moved] = []
        for body, joint, own in zip(self._framed, joints, self._placed):
            inboard = self._bodies[body.parent] if body.parent >= 0 else still
            omega = inboard.omega
            v = inboard.v + omega.cross(own.position - inboard.at.position)
            for k, (partial_v, partial_omega) in enumerate(joint.partial_velocities):
                rate = joint.multiplier * self.u[joint.speed + k]
                v = v + rate * own.direction(partial_v)
                omega = omega + rate * own.direction(partial_omega)
            self._bodies.append(Moved(own, omega, v))

    def frame(self, link: str, at: Sequence[float] | None = None) -> Moved:
        """A frame at x y z, roll pitch yaw in that of a link."""
        frame = Frame(GROUND) if link == WORLD else self.tree.frame(link)
        if at is not None:
            frame = _displaced(frame, at)
        place = link_placement(self.graph, frame, self._framed, self._ground, self._placed)
        body = self._bodies[frame.body] if frame.body >= 0 else self._still
        v = body.v + body.omega.cross(place.position - body.at.position)
        return Moved(place, body.omega, v)


def _displaced(frame: Frame, at: Sequence[float]) -> Frame:
    x, y, z, *rpy = at
    rotation = multiply(frame.rotation, from_rpy(cast("Numbers3", tuple(rpy))))
    return Frame(frame.body, rotation, add(frame.translation, rotate(frame.rotation, (x, y, z))))


# ---------------------------------------------------------------------------- rows of each kind
def _loop(moving: Moving, loop: Loop, anchors: Sequence[Expr]) -> list[Row]:
    one, two = moving.frame(loop.link1, loop.at1), moving.frame(loop.link2, loop.at2)
    rows = _together(one, two)
    if loop.keeps == "axis":
        x, y, z = one.at.axes
        sine, cosine = two.at.axes[2].cross(z), two.at.axes[2].dot(z)
        errors = _angles([sine.dot(x), sine.dot(y)], cosine)
        turning = one.omega - two.omega
        rows += [Row(turning.dot(axis), error) for axis, error in zip((x, y), errors)]
    elif loop.keeps == "pose":
        rows += _aligned(one, two)
    return rows


def _weld(moving: Moving, weld: Weld, anchors: Sequence[Expr]) -> list[Row]:
    one, two = moving.frame(weld.link1, weld.at1), moving.frame(weld.link2, weld.at2)
    if weld.at1 is None:  # the second frame is where the first was, seen from the second link
        x, y, z, r = (Vector(*anchors[k : k + 3]) for k in (0, 3, 6, 9))
        axes = (two.at.direction(x), two.at.direction(y), two.at.direction(z))
        place = Placement(two.at.point(r), axes)
        v = two.v + two.omega.cross(place.position - two.at.position)
        two = Moved(place, two.omega, v)
    return [*_together(one, two), *_aligned(one, two)]


def _rolling(moving: Moving, rolling: Rolling, anchors: Sequence[Expr]) -> list[Row]:
    """The lowest point of the rim, as a point of the wheel, moves as the ground does there."""
    graph = moving.graph
    wheel, ground = moving.frame(rolling.wheel), moving.frame(rolling.ground)
    axis = wheel.at.direction(vector(graph, rolling.axis))
    normal = ground.at.direction(vector(graph, rolling.normal))
    across = normal.cross(axis)
    along = (graph.one / graph.sqrt(across.dot(across))) * across  # where it rolls to, or from
    down = along.cross(axis)
    contact = wheel.at.position + rolling.radius * down
    slip = wheel.v + rolling.radius * wheel.omega.cross(down)
    slip = slip - ground.v - ground.omega.cross(contact - ground.at.position)
    height = normal.dot(contact - ground.at.position) - rolling.offset
    rows = [Row(slip.dot(normal), height), Row(slip.dot(along))]
    return rows if rolling.side_slip else [*rows, Row(slip.dot(along.cross(normal)))]


def _contact(moving: Moving, contact: Contact, anchors: Sequence[Expr]) -> list[Row]:
    """The point of the sphere that is nearest to the plane; then two directions in the plane."""
    graph = moving.graph
    at = (*contact.at, 0.0, 0.0, 0.0)
    middle, ground = moving.frame(contact.link, at), moving.frame(contact.ground)
    normal, *tangents = (
        ground.at.direction(vector(graph, axis)) for axis in plane_axes(contact.normal)
    )
    down = -contact.radius * normal
    point = middle.at.position + down
    v = middle.v + middle.omega.cross(down)
    v = v - ground.v - ground.omega.cross(point - ground.at.position)
    gap = normal.dot(point - ground.at.position) - contact.offset
    rows = [Row(v.dot(normal), gap)]
    return rows if contact.friction[0] == 0.0 else [*rows, *(Row(v.dot(t)) for t in tangents)]


def _coupling(moving: Moving, coupling: Coupling, anchors: Sequence[Expr]) -> list[Row]:
    bodies = _coupled(moving.tree, coupling)
    graph = moving.graph
    speed = graph.sum([factor * moving.u[body.speed] for body, factor in bodies])
    return [Row(speed, _coupled_position(moving, coupling) - anchors[0])]


def _lock(moving: Moving, lock: Lock, anchors: Sequence[Expr]) -> list[Row]:
    """Rows of the joint's own speeds: a floating joint's are along the axes of its body."""
    joint = _joint_bodies(moving.tree, lock.joint)
    if lock.stops:
        speed, at = moving.u[joint[0].speed], moving.q[joint[0].coordinate]
        if lock.most is None:
            return [Row(speed, at - cast(float, lock.least))]
        return [Row(-speed, lock.most - at)]
    speeds = [moving.u[k] for body in joint for k in body.speeds]
    if joint[0].kind not in ("floating", "ball"):
        positions = [moving.q[body.coordinate] for body in joint]
        return [Row(u, q - begun) for u, q, begun in zip(speeds, positions, anchors)]
    (body,) = joint
    q, errors = moving.q[body.coordinate :], []
    if body.kind == "floating":
        errors, q, anchors = [a - b for a, b in zip(q[:3], anchors)], q[3:], anchors[3:]
    e, e4, f, f4 = Vector(*q[:3]), q[3], Vector(*anchors[:3]), anchors[3]
    half = f4 * e - e4 * f - f.cross(e)  # vector part of the turn since it was locked
    backward = e4 * f4 + e.dot(f)
    graph = moving.graph
    doubled = graph.select(backward, graph.constant(2.0), graph.constant(-2.0)) * half
    turned = Vector(*errors) if errors else None
    if turned is not None:  # along the axes of the body, as the speeds are
        errors = list(turned + 2.0 * e.cross(e.cross(turned) - e4 * turned))
    return [Row(u, error) for u, error in zip(speeds, [*errors, *doubled])]


_Written = Callable[[Moving, Any, Sequence[Expr]], list[Row]]
_WRITTEN: dict[type[Constraint], _Written] = {
    Loop: _loop,
    Weld: _weld,
    Rolling: _rolling,
    Coupling: _coupling,
    Lock: _lock,
    Contact: _contact,
}


def _together(one: Moved, two: Moved) -> list[Row]:
    """The origins of two frames coincide."""
    return [Row(*pair) for pair in zip(one.v - two.v, one.at.position - two.at.position)]


def _aligned(one: Moved, two: Moved) -> list[Row]:
    """The axes of two frames are parallel; half the sum of cross products is the axis·sine."""
    pairs = list(zip(two.at.axes, one.at.axes))
    first, second, third = (a.cross(b) for a, b in pairs)
    graph = one.v.x.graph
    cosine = 0.5 * (graph.sum([a.dot(b) for a, b in pairs]) - 1.0)
    errors = _angles(list(0.5 * (first + second + third)), cosine)
    return [Row(*pair) for pair in zip(one.omega - two.omega, errors)]


def _angles(sines: Sequence[Expr], cosine: Expr) -> list[Expr]:
    """Twice the sine of half an angle, times its axis: zero nowhere but where the angle is."""
    graph = cosine.graph
    least = graph.constant(LAST_HALF_TURN)
    beyond = graph.one + cosine - least
    shorter = graph.select(beyond, graph.one + cosine, least)
    first, *others = (graph.sqrt(2.0 / shorter) * sine for sine in sines)
    opposite = graph.select(first, first + 1.0, first - 1.0)
    return [graph.select(beyond, first, opposite), *others]


# --------------------------------------------------------------------- where a constraint begins
def _begun(moving: Moving, constraint: Constraint) -> list[Expr]:
    if isinstance(constraint, Coupling):
        return [_coupled_position(moving, constraint)]
    if isinstance(constraint, Lock) and not constraint.stops:
        return [moving.q[k] for k in _locked_coordinates(moving.tree, constraint)]
    if isinstance(constraint, Weld) and constraint.at1 is None:
        one, two = moving.frame(constraint.link1).at, moving.frame(constraint.link2).at
        seen = [*one.axes, one.position - two.position]
        return [each.dot(axis) for each in seen for axis in two.axes]
    return []


def _coupled_position(moving: Moving, coupling: Coupling) -> Expr:
    bodies = _coupled(moving.tree, coupling)
    return moving.graph.sum([factor * moving.q[body.coordinate] for body, factor in bodies])


# ----------------------------------------------------------------------------- what names stand for
def _check(tree: Tree, constraint: Constraint) -> None:
    """Refuse names that nothing has."""
    if isinstance(constraint, Coupling):
        for joint, _ in constraint.factors:
            if len(_joint_bodies(tree, joint)[0].speeds) > 1 or len(_joint_bodies(tree, joint)) > 1:
                raise ArgumentError(f"joint {joint!r} has several speeds, expected joints with one")
        return
    if isinstance(constraint, Lock):
        speeds = sum(len(body.speeds) for body in _joint_bodies(tree, constraint.joint))
        if speeds > 1 and (constraint.stops or constraint.of is not None):
            raise ArgumentError(
                f"joint {constraint.joint!r} has {speeds} speeds, expected a joint with one for a "
                "stop, and for a limit that is a share of a force"
            )
        return
    links = _links(constraint)
    frames = dict(tree.frames)
    for link in links:
        if link != WORLD and link not in frames:
            raise unknown_name("link", link, [*frames, WORLD])
    one, two = (GROUND if link == WORLD else frames[link].body for link in links)
    if one == two:
        raise ArgumentError(
            f"{links[0]!r} and {links[1]!r} do not move relative to each other, expected links"
            " that do"
        )


def _links(constraint: Loop | Weld | Rolling | Contact) -> tuple[str, str]:
    if isinstance(constraint, Rolling):
        return constraint.wheel, constraint.ground
    if isinstance(constraint, Contact):
        return constraint.link, constraint.ground
    return constraint.link1, constraint.link2


def _joint_bodies(tree: Tree, joint: str) -> list[Body]:
    """The bodies that a joint carries: three for a planar one."""
    bodies = [body for body in tree.bodies if body.joint == joint]
    if not bodies:
        raise unknown_name("joint that moves", joint, {body.joint for body in tree.bodies})
    return bodies


def _coupled(tree: Tree, coupling: Coupling) -> list[tuple[Body, float]]:
    """Bodies of coupled joints, and factors of their coordinates, the largest of which is one."""
    found = [(_joint_bodies(tree, joint)[0], factor) for joint, factor in coupling.factors]
    factors = [body.multiplier * factor for body, factor in found]
    largest = max(map(abs, factors))
    return [(body, factor / largest) for (body, _), factor in zip(found, factors)]


def _locked_coordinates(tree: Tree, lock: Lock) -> list[int]:
    sizes = {"floating": 7, "ball": 4}
    bodies = _joint_bodies(tree, lock.joint)
    return [body.coordinate + k for body in bodies for k in range(sizes.get(body.kind, 1))]


def plane_axes(normal: Sequence[float]) -> tuple[Numbers3, Numbers3, Numbers3]:
    """A unit vector and two across it: (0, 0, 1) has x and y, in this order."""
    x, y, z = normal
    if abs(x) < 0.9:
        first = unit((1.0 - x * x, -x * y, -x * z))
    else:
        first = unit((-y * x, 1.0 - y * y, -y * z))
    a, b, c = first
    return (x, y, z), first, (y * c - z * b, z * a - x * c, x * b - y * a)


def _limit(
    rows: tuple[int, ...], pair: Sequence[float], of: tuple[str, int] | None = None
) -> Limit:
    static, kinetic = pair
    return Limit(rows, static, kinetic, of)


def _shape(tree: Tree, constraint: Constraint) -> Shape:
    size = _size(tree, constraint)
    name, rows = constraint.name, size[0]
    if isinstance(constraint, Contact):
        tangents = _limit((1, 2), constraint.friction, (name, 0))
        limits = (tangents,) if rows > 1 else ()
        return Shape(name, *size, True, constraint.restitution, limits)
    pair, other = getattr(constraint, "limit", None), getattr(constraint, "of", None)
    of = None if other is None else (other, 0)
    if isinstance(constraint, Rolling):
        along = tuple(range(1, rows))
        if constraint.friction is not None:
            return Shape(name, *size, limits=(_limit(along, constraint.friction, (name, 0)),))
        return Shape(name, *size, limits=() if pair is None else (_limit(along, pair, of),))
    if isinstance(constraint, Lock) and constraint.stops:
        return Shape(name, *size, True, constraint.restitution)
    each = () if pair is None else tuple(_limit((row,), pair, of) for row in range(rows))
    return Shape(name, *size, limits=each)


def _size(tree: Tree, constraint: Constraint) -> tuple[int, int, int]:
    """Rows and anchors of a constraint, and how many of the rows are about positions."""
    if isinstance(constraint, Rolling):
        return 2 if constraint.side_slip else 3, 0, 1
    if isinstance(constraint, Contact):
        return 1 if constraint.friction[0] == 0.0 else 3, 0, 1
    anchors = 0
    if isinstance(constraint, Loop):
        rows = {"point": 3, "axis": 5, "pose": 6}[constraint.keeps]
    elif isinstance(constraint, Weld):
        rows, anchors = 6, 12 if constraint.at1 is None else 0
    elif isinstance(constraint, Coupling):
        rows, anchors = 1, 1
    else:
        rows = sum(len(body.speeds) for body in _joint_bodies(tree, constraint.joint))
        anchors = 0 if constraint.stops else len(_locked_coordinates(tree, constraint))
    return rows, anchors, rows


def _bare(constraint: Constraint) -> Constraint:
    """A definition without what expressions do not depend on."""
    bare = replace(constraint, name="-", active=True)
    if isinstance(bare, Contact):
        return replace(bare, restitution=0.0, friction=float(bare.friction[0] > 0.0))
    if isinstance(bare, Rolling):
        return replace(bare, friction=None, limit=None, of=None)
    if isinstance(bare, Lock):
        return replace(bare, limit=None, of=None, restitution=0.0)
    return replace(bare, limit=None, of=None) if isinstance(bare, Coupling) else bare
