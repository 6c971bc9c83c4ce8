"""From a robot to its moving bodies: choose joints, merge rigid links, number what moves."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.robot.body import GROUND, STANDING, Body, Frame, Tree
from kane_dynamics.robot.choice import Law, position_laws
from kane_dynamics.robot.late import moving_links
from kane_dynamics.robot.magnitude import check_frictions, check_inertias, check_joints
from kane_dynamics.robot.model import IDENTITY, ZERO, Inertia, Joint, Link, Matrix, Robot, Vector
from kane_dynamics.robot.rotation import (
    about_axis,
    add,
    change_basis,
    dot,
    multiply,
    plane_axes,
    reach,
    rotate,
    scale,
    sizes,
    without_traces,
)
from kane_dynamics.robot.structure import root_link

__all__ = ["GROUND", "Body", "Frame", "Tree", "moving_tree"]

_logger = logging.getLogger("kane_dynamics")

_UP: Vector = (0.0, 0.0, 1.0)
_TRACE = 1e-14  # of what rounding leaves beside larger numbers
_POSE = (".x", ".y", ".z", ".qx", ".qy", ".qz", ".qw")
_TWIST = (".vx", ".vy", ".vz", ".wx", ".wy", ".wz")
_PLANE = (".x", ".y", ".angle")
_ENTRIES = {
    "floating": (_POSE, _TWIST),
    "ball": (_POSE[3:], _TWIST[3:]),
    "planar": (_PLANE, _PLANE),
}
"""Ends of the names of coordinates and of speeds, for joints that have several."""


def moving_tree(
    robot: Robot,
    joints: Iterable[str] | None = None,
    locked: Mapping[str, float] | None = None,
    base: str = "fixed",
    joint_friction: bool = True,
) -> Tree:
    """Return the bodies of a robot that move.

    Coordinates q and speeds u are, in this order: those of a floating base, then those of the
    joints that move, in the order of the file. A floating base or joint has seven coordinates
    (position x y z, quaternion x y z w) and six speeds (linear, then angular velocity, in the frame
    of the body); a ball joint has the last four and the last three of these; a planar joint has
    three (x, y, angle) and their rates; others have one. A joint
    that mimics one that moves carries a body of its own, and has the coordinate of that one.

    Parameters
    ----------
    robot : Robot
        The robot.
    joints : iterable of str, optional
        Joints that move, in any order; by default all that are not fixed, mimicking or locked.
    locked : mapping of str to float, optional
        Positions in rad or m of joints that stand still; those not named stand at zero, or where
        the joint they mimic puts them.
    base : str
        "fixed": the root link is the ground. "floating": the root link moves freely.
    joint_friction : bool
        Whether the bodies carry the damping and friction of their joints. Those of planar, floating
        and ball joints, for which there is no unit, are never used; the log says so.

    Raises
    ------
    ArgumentError
        If an argument names no joint, or one that cannot be moved or locked as asked.
    ModelError
        If nothing moves, or a number is too large to compute with.
    """
    if base not in ("fixed", "floating"):
        raise ArgumentError(f"base is {base!r}, expected 'fixed' or 'floating'")
    laws = position_laws(robot, joints, locked)
    check_joints(robot, laws)
    tree = _tree(robot, laws, base)
    if not tree.bodies:
        raise ModelError(
            f"{robot.source}: nothing moves, expected a joint that does or base='floating'"
        )
    check_inertias(robot, dict(tree.frames), GROUND)
    if joint_friction:
        check_frictions(robot, tree.bodies)
        _log_unused_friction(robot, laws)
        return tree
    return replace(
        tree, bodies=tuple(replace(body, damping=0.0, friction=0.0) for body in tree.bodies)
    )


def whole_tree(robot: Robot) -> Tree:
    """Return all bodies of a robot, with each joint that is not fixed moving by itself.

    It may have no bodies, and its numbers may be too large to compute with: to be judged, not used.
    """
    laws = {j.name: Law(None if j.kind == "fixed" else j.name, 1.0, 0.0) for j in robot.joints}
    return _tree(robot, laws, "fixed")


def with_late(
    tree: Tree, robot: Robot, late: str | Iterable[str], payload: str | Iterable[str]
) -> Tree:
    """Return the tree without inertia that is to be given at run time.

    Parameters
    ----------
    late : str or iterable of str
        Links whose inertia is given at run time.
    payload : str or iterable of str
        Links that carry a body whose inertia is given at run time.

    Raises
    ------
    ArgumentError
        If one of them does not exist, does not move, or is there twice.
    """
    frames = dict(tree.frames)
    own, attached = (moving_links(*e, frames) for e in (("late", late), ("payload", payload)))
    if not own and not attached:
        return tree
    bare = [
        replace(
            body,
            mass=0.0,
            first_moment=ZERO,
            second_moment=(ZERO, ZERO, ZERO),
            first_size=ZERO,
            second_size=(ZERO, ZERO, ZERO),
        )
        for body in tree.bodies
    ]
    known = [link for link in robot.links if link.name not in own]
    *bodies, _ = _with_inertias([*bare, STANDING], known, frames)
    return replace(tree, bodies=tuple(bodies), late=own, payload=attached)


def _tree(robot: Robot, laws: Mapping[str, Law], base: str) -> Tree:
    """Number coordinates and speeds, and merge links."""
    first: dict[str, tuple[int, int]] = {}
    coordinates: list[str] = []
    speeds: list[str] = []
    moving = [(j.name, j.kind) for j in robot.joints if laws[j.name].master == j.name]
    for name, kind in [("base", "floating"), *moving] if base == "floating" else moving:
        first[name] = (len(coordinates), len(speeds))
        of_position, of_speed = _ENTRIES.get(kind, (("",), ("",)))
        coordinates += [name + entry for entry in of_position]
        speeds += [name + entry for entry in of_speed]
    builder = _Builder(robot, laws, first)
    builder.place_root(base)
    builder.place_links()
    *bodies, ground = builder.finished_bodies()
    return Tree(
        tuple(bodies),
        tuple((link.name, builder.frames[link.name]) for link in robot.links),
        tuple(name for name, _ in moving),
        tuple(coordinates),
        tuple(speeds),
        ground=ground,
    )


def _log_unused_friction(robot: Robot, laws: Mapping[str, Law]) -> None:
    for joint in robot.joints:
        several = joint.kind in _ENTRIES and laws[joint.name].master is not None
        if several and (joint.damping or joint.friction):
            _logger.warning(
                "%s: joint %r is %s: its damping and friction are not used",
                robot.source,
                joint.name,
                joint.kind,
            )


class _Builder:
    """Walks from the root outward, adding bodies and placing links in them."""

    def __init__(
        self, robot: Robot, laws: Mapping[str, Law], first: Mapping[str, tuple[int, int]]
    ) -> None:
        self.robot = robot
        self.laws = laws
        self.first = first  # coordinate and speed of each joint that moves by itself
        self.bodies: list[Body] = []
        self.frames: dict[str, Frame] = {}

    def place_root(self, base: str) -> None:
        root = root_link(self.robot)
        if base == "floating":
            self.bodies.append(Body(root, "base", "floating", GROUND, IDENTITY, ZERO, _UP, 0, 0))
        self.frames[root] = Frame(len(self.bodies) - 1)

    def place_links(self) -> None:
        outboard: dict[str, list[Joint]] = {}
        for joint in reversed(self.robot.joints):
            outboard.setdefault(joint.parent, []).append(joint)
        pending = list(outboard.get(root_link(self.robot), ()))
        while pending:
            joint = pending.pop()
            inboard = self.frames[joint.parent]
            rotation = multiply(inboard.rotation, joint.rotation)
            at = _moved(inboard, joint.translation)
            at = replace(at, rotation=rotation)
            law = self.laws[joint.name]
            if law.master is None:
                self.frames[joint.child] = _displaced(at, joint, law.offset)
            else:
                self._carry(joint, at, law)
                self.frames[joint.child] = Frame(len(self.bodies) - 1)
            pending.extend(outboard.get(joint.child, ()))

    def _carry(self, joint: Joint, at: Frame, law: Law) -> None:
        """Add the body that a moving joint carries; for a planar joint, three."""
        coordinate, speed = self.first[law.master or joint.name]
        if joint.kind == "planar":
            for entry, axis in zip(_PLANE, plane_axes(joint.axis), strict=False):
                self._add(joint.name + entry, joint.name, "prismatic", at, axis, coordinate, speed)
                coordinate, speed = coordinate + 1, speed + 1
                at = Frame(len(self.bodies) - 1)
        kind = {"continuous": "revolute", "planar": "revolute"}.get(joint.kind, joint.kind)
        axis = _UP if kind in ("floating", "ball") else joint.axis
        self._add(joint.child, joint.name, kind, at, axis, coordinate, speed)
        if joint.kind not in _ENTRIES:
            self.bodies[-1] = replace(
                self.bodies[-1],
                multiplier=law.multiplier,
                offset=law.offset,
                damping=joint.damping,
                friction=joint.friction,
                pitch=joint.pitch,
            )

    def _add(
        self, name: str, joint: str, kind: str, at: Frame, axis: Vector, coordinate: int, speed: int
    ) -> None:
        body = Body(
            name, joint, kind, at.body, at.rotation, at.translation, axis, coordinate, speed
        )
        self.bodies.append(replace(body, translation_size=at.size))

    def finished_bodies(self) -> list[Body]:
        """Return the bodies with the inertia of all their links; the last one is the ground."""
        return _with_inertias([*self.bodies, STANDING], self.robot.links, self.frames)


def _displaced(at: Frame, joint: Joint, position: float) -> Frame:
    """Return the frame of the link outboard of a joint that stands still at `position`."""
    if position == 0.0:
        return at
    if joint.kind == "prismatic":
        return _moved(at, scale(position, joint.axis))
    turned = multiply(at.rotation, about_axis(joint.axis, position))
    return replace(_moved(at, scale(joint.pitch * position, joint.axis)), rotation=turned)


def _moved(at: Frame, shift: Vector) -> Frame:
    """Return the frame displaced by a vector given in its own axes."""
    shift = without_traces(shift)
    return Frame(
        at.body,
        at.rotation,
        add(at.translation, rotate(at.rotation, shift)),
        add(at.size, rotate(reach(at.rotation), sizes(shift))),
    )


def _with_inertias(
    bodies: list[Body], links: Iterable[Link], frames: Mapping[str, Frame]
) -> list[Body]:
    for link in links:
        frame = frames[link.name]
        if link.inertia is not None:
            bodies[frame.body] = _with_inertia(bodies[frame.body], link.inertia, frame)
    return bodies


def _with_inertia(body: Body, inertia: Inertia, frame: Frame) -> Body:
    inertia = _as_meant(inertia)
    center = add(frame.translation, rotate(frame.rotation, inertia.center))
    first = scale(inertia.mass, center)
    second = change_basis(frame.rotation, _central_second_moment(inertia.tensor))
    x, y, z = (
        add(total, add(row, scale(component, first)))
        for total, row, component in zip(body.second_moment, second, center, strict=True)
    )
    return replace(
        body,
        mass=body.mass + inertia.mass,
        first_moment=add(body.first_moment, first),
        second_moment=(x, y, z),
        **_larger_sizes(body, inertia, frame),
    )


def _as_meant(inertia: Inertia) -> Inertia:
    """Return the inertia without what rounding has left in the file.

    Products of inertia that no body can have, whose moments of inertia are so small.
    """
    center = without_traces(inertia.center)
    second = _central_second_moment(inertia.tensor)
    large = max(abs(element) for row in inertia.tensor for element in row)
    least = _TRACE * max(large, abs(inertia.mass) * dot(center, center))
    kept = [
        [
            i == k or abs(second[i][k]) > least or second[i][k] ** 2 <= second[i][i] * second[k][k]
            for k in range(3)
        ]
        for i in range(3)
    ]
    x, y, z = (
        (row[0] * keep[0] + 0.0, row[1] * keep[1] + 0.0, row[2] * keep[2] + 0.0)
        for row, keep in zip(inertia.tensor, kept, strict=True)
    )
    return replace(inertia, center=center, tensor=(x, y, z))


def _larger_sizes(body: Body, inertia: Inertia, frame: Frame) -> dict[str, Any]:
    """Return how large the terms are that add up to the moments, with those of one link more."""
    center = add(frame.size, rotate(reach(frame.rotation), sizes(inertia.center)))
    first = scale(abs(inertia.mass), center)
    # a tensor was turned from other axes, perhaps: its zeros are zeros, the rest may be rounding
    central = _central_second_moment(inertia.tensor)
    largest = max(abs(element) for row in inertia.tensor for element in row)
    x, y, z = (scale(largest, row) for row in reach(central))
    second = change_basis(reach(frame.rotation), (x, y, z))
    a, b, c = (
        add(total, add(row, scale(component, first)))
        for total, row, component in zip(body.second_size, second, center, strict=True)
    )
    return {"first_size": add(body.first_size, first), "second_size": (a, b, c)}


def _central_second_moment(tensor: Matrix) -> Matrix:
    """Return ∫r rᵀ dm about the centre of mass: half the trace of the inertia, less the inertia."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor
    return (
        ((yy + zz - xx) / 2, -xy + 0.0, -xz + 0.0),
        (-xy + 0.0, (zz + xx - yy) / 2, -yz + 0.0),
        (-xz + 0.0, -yz + 0.0, (xx + yy - zz) / 2),
    )
