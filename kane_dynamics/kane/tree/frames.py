"""Body-fixed frames that make the equations small.

A URDF places frames where its author liked. Here every body that turns gets a frame whose z-axis
is the joint axis and whose x-axis is perpendicular to the axis of the next joint as well, so that
going from a body to the next takes one turn about x by a constant angle, the *twist*, and one
about z by the joint angle. The frame's origin is put where the common perpendicular meets the
axis, which leaves few measure numbers of the offsets between bodies different from zero. A body
that slides has a frame parallel to the frame of the body it slides in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.robot.body import SIZES
from kane_dynamics.robot.tree import Body, Tree

SAME_ANGLE = 2e-11
"""Directions that differ by less (rad) are the same: pi in a URDF has eleven digits or more."""

SMALLEST = 1e-12
"""What rounding leaves of an offset that is zero, relative to the terms that add up to it."""

ATOM = 5e-11
"""Offsets (m) that are smaller, and so much smaller than the largest, are rounding in the file."""

FARTHEST = 1e4
"""Largest distance of a frame from a body, in sizes of the body: about a point so far away its own
moments would lose their digits."""

NEARLY_PARALLEL = 0.05
"""Below this sine between two axes the foot of their common perpendicular is too far away."""


@dataclass(frozen=True)
class FramedBody:
    """A body, its joint and its inertia, in a frame of our choice.

    Attributes
    ----------
    name, joint, kind, parent, coordinate, speed, damping, friction
        As in `kane_dynamics.robot.tree.Body`.
    multiplier, offset : float
        The joint angle (or displacement) is ``multiplier * q + offset``.
    swing, twist : float
        The joint axis is the parent's z-axis turned by the twist about x, then the swing about z.
    axis : array (3,)
        Direction of a joint that slides, or is a screw, in the parent's frame.
    position, position_size : array (3,)
        Of this frame's origin in the parent's frame, with a sliding joint at zero, and a screw
        where its coordinate is zero; and how large the terms are that add up to each component.
    rotation : array (3, 3)
        Of the joint frame of a floating or ball joint in the parent's frame.
    orientation, origin : array (3, 3), array (3,)
        Of this frame in the frame of the link after which the body is named.
    mass, first_moment, second_moment
        Integrals of 1, r and r rᵀ over the mass, r from this frame's origin: numbers, and
        expressions where they depend on late numbers and these are `settled`.
    pitch : float
        How far a screw moves along its axis, m/rad.
    sizes : array (4, 4)
        How large the terms are that add up to each component of the integral of (r, 1) (r, 1)ᵀ.
    late : array (count, 4, 4)
        What a unit of each late number of the robot adds to the integral of (r, 1) (r, 1)ᵀ.
    """

    name: str
    joint: str
    kind: str
    parent: int
    coordinate: int
    speed: int
    multiplier: float
    offset: float
    swing: float
    twist: float
    axis: Array
    position: Array
    rotation: Array
    orientation: Array
    origin: Array
    mass: Any
    first_moment: NDArray[Any]
    second_moment: NDArray[Any]
    damping: float
    friction: float
    pitch: float = 0.0
    position_size: Array = field(default_factory=lambda: np.zeros(3))
    sizes: Array = field(default_factory=lambda: np.zeros((4, 4)))
    late: Array = field(default_factory=lambda: np.zeros((0, 4, 4)))

    @property
    def speeds(self) -> range:
        """Indices of the speeds of the joint."""
        return range(self.speed, self.speed + SIZES.get(self.kind, (1, 1))[1])


def framed(tree: Tree) -> tuple[FramedBody, ...]:
    """The bodies of a tree, each in a frame aligned with its joint axis and the next."""
    signs = _axis_signs(tree)
    offsets = [abs(x) for body in tree.bodies if body.parent >= 0 for x in body.translation]
    unmeant = ATOM * min(1.0, max(offsets, default=0.0))
    orientations: list[Array] = []
    heights: list[float] = []
    for i in range(len(tree.bodies)):
        orientation, height = _frame(tree, i, signs, orientations)
        orientations.append(orientation)
        near = unmeant < abs(height) < FARTHEST * _extent(tree.bodies[i])
        heights.append(height if near else 0.0)
    result = []
    for body, sign, orientation, height in zip(tree.bodies, signs, orientations, heights):
        ground = body.parent < 0
        inboard = np.eye(3) if ground else orientations[body.parent]
        inboard_height = 0.0 if ground else heights[body.parent]
        own = _framed(body, sign, orientation, height, inboard, inboard_height)
        result.append(replace(own, position=without_noise(own.position, unmeant)))
    return tuple(result)


def _extent(body: Body) -> float:
    """How far the mass of a body is from its origin in the mean; infinite where it is all there."""
    spread = sum(body.second_moment[k][k] for k in range(3))
    return math.sqrt(spread / body.mass) if spread > 0.0 < body.mass else math.inf


def _axis_signs(tree: Tree) -> list[float]:
    """-1 where an axis is antiparallel to the one before, so that parallel axes point one way."""
    signs = [1.0] * len(tree.bodies)
    for i, body in enumerate(tree.bodies):
        if body.kind != "revolute" or body.parent < 0:
            continue
        carrier = body.parent
        axis = np.array(body.rotation) @ body.axis
        while tree.bodies[carrier].kind == "prismatic" and tree.bodies[carrier].parent >= 0:
            axis = np.array(tree.bodies[carrier].rotation) @ axis
            carrier = tree.bodies[carrier].parent
        inboard = tree.bodies[carrier]
        if inboard.kind == "revolute":
            cosine = signs[carrier] * np.dot(axis, inboard.axis)
            antiparallel = cosine < 0 and np.linalg.norm(np.cross(axis, inboard.axis)) < SAME_ANGLE
            signs[i] = -1.0 if antiparallel else 1.0
    return signs


def _frame(
    tree: Tree, i: int, signs: list[float], orientations: list[Array]
) -> tuple[Array, float]:
    """Orientation of body i's frame in its link frame, and how far along z its origin is."""
    body = tree.bodies[i]
    if body.kind in ("floating", "ball"):
        return np.eye(3), 0.0
    if body.kind == "prismatic":
        inboard = np.eye(3) if body.parent < 0 else orientations[body.parent]
        return np.array(body.rotation).T @ inboard, 0.0
    z = signs[i] * np.array(body.axis)
    outboard = _largest_subtree(tree, i)
    if outboard is None:
        x, height = _towards_centre_of_mass(body, z), 0.0
    else:
        x, height = _common_perpendicular(tree.bodies[outboard], z)
    if x is None:
        x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x = x / np.linalg.norm(x)
    # A cross product of nearly parallel directions is across them only to its own rounding.
    x = x - np.dot(x, z) * z
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z]), height


def _largest_subtree(tree: Tree, i: int) -> int | None:
    sizes = [1] * len(tree.bodies)
    for j in reversed(range(len(tree.bodies))):
        if tree.bodies[j].parent >= 0:
            sizes[tree.bodies[j].parent] += sizes[j]
    children = [j for j, body in enumerate(tree.bodies) if body.parent == i]
    return max(children, key=lambda j: sizes[j], default=None)


def _towards_centre_of_mass(body: Body, z: Array) -> Array | None:
    """Perpendicular to z, such that one first moment of the last body is zero."""
    x = np.array(body.first_moment) - np.dot(body.first_moment, z) * z
    return x if np.linalg.norm(x) > 1e-9 * (1e-9 + np.linalg.norm(body.first_moment)) else None


def _common_perpendicular(child: Body, z: Array) -> tuple[Array | None, float]:
    """Direction perpendicular to z and to the child's axis, and how far along z it starts."""
    point = np.array(child.translation)
    height = float(np.dot(point, z))
    if child.kind in ("floating", "ball"):
        return None, 0.0
    axis = np.array(child.rotation) @ child.axis
    x = np.cross(z, axis)
    sine = float(np.linalg.norm(x))
    if sine < SAME_ANGLE:
        arm = point - height * z
        return (arm if np.linalg.norm(arm) > 1e-9 else None), height
    if sine > NEARLY_PARALLEL:
        x = x / sine
        height = float(np.linalg.solve(np.column_stack([z, x, -axis]), point)[0])
    return x, height


def _framed(
    body: Body,
    sign: float,
    orientation: Array,
    height: float,
    inboard: Array,
    inboard_height: float,
) -> FramedBody:
    rotation = inboard.T @ np.array(body.rotation)
    swing, twist, turn = (0.0, 0.0, 0.0)
    multiplier, offset = body.multiplier, body.offset
    if body.kind in ("revolute", "screw"):
        swing, twist, turn = _turns(rotation @ orientation)
        multiplier, offset = sign * multiplier, sign * offset + turn
    axis = cleaned(rotation @ body.axis, SAME_ANGLE)
    # The origin lies on the axis of a turning joint: the joint does not move it, but for a screw.
    along = sign * height + body.pitch * body.offset
    position, position_size = _position(body, along * axis, inboard, inboard_height)
    moments, sizes = _moments(body, orientation, height)
    return FramedBody(
        name=body.name,
        joint=body.joint,
        kind=body.kind,
        parent=body.parent,
        coordinate=body.coordinate,
        speed=body.speed,
        multiplier=multiplier,
        offset=offset,
        swing=swing,
        twist=twist,
        axis=axis,
        position=position,
        rotation=cleaned(rotation, SAME_ANGLE),
        orientation=orientation,
        origin=height * orientation[:, 2],
        mass=body.mass,
        first_moment=moments[:3, 3],
        second_moment=moments[:3, :3],
        damping=body.damping,
        friction=body.friction,
        pitch=body.pitch,
        position_size=position_size,
        sizes=sizes,
    )


def _position(
    body: Body, shift: Array, inboard: Array, inboard_height: float
) -> tuple[Array, Array]:
    """Of the origin that is shifted from the joint, in the parent's frame; and its size."""
    axes = _axes(inboard)
    lift = np.array([0.0, 0.0, inboard_height])
    position = axes.T @ np.array(body.translation) - lift + shift
    terms = np.maximum(body.translation_size, np.abs(body.translation))
    size = (axes.T != 0.0) @ terms + np.abs(lift) + np.abs(shift)
    return without_noise(position, SMALLEST * size), size


def _moments(body: Body, orientation: Array, height: float) -> tuple[Array, Array]:
    """Integral of (r, 1) (r, 1)ᵀ over the mass, r from a frame's origin; and its size.

    First turned, then moved along z: where the origin is far away, moments across z keep all of
    their digits.
    """
    whole, terms = np.zeros((2, 4, 4))
    whole[:3, :3], whole[3, 3] = body.second_moment, body.mass
    whole[:3, 3] = whole[3, :3] = body.first_moment
    terms[:3, :3], terms[3, 3] = body.second_size, body.mass
    terms[:3, 3] = terms[3, :3] = body.first_size
    terms = np.maximum(terms, np.abs(whole))
    turned, moved, slack = np.eye(4), np.eye(4), np.zeros((4, 4))
    turned[:3, :3], moved[2, 3] = _axes(orientation).T, -height
    slack[:3, :3] = np.abs(orientation.T - turned[:3, :3])
    noise = 2.0 * slack @ np.abs(whole) @ np.abs(turned.T)
    seen = without_noise(turned @ whole @ turned.T, noise + noise.T)
    reach = np.abs(moved) @ (turned != 0.0)
    return moved @ seen @ moved.T, reach @ terms @ reach.T


def _axes(orientation: Array) -> Array:
    """The same, with zeros where directions are across each other but for rounding."""
    return without_noise(orientation, SAME_ANGLE)


def _turns(rotation: Array) -> tuple[float, float, float]:
    """Angles about z, x, z of a rotation; the first is kept small.

    Where the second is small, only the sum of the first and the third is well known; so the third
    is what the other two leave.
    """
    sine = math.hypot(rotation[0, 2], rotation[1, 2])
    if sine < SAME_ANGLE:
        # Antiparallel axes are a twist by pi.
        twist = 0.0 if rotation[2, 2] > 0 else math.pi
        return 0.0, twist, math.atan2(rotation[1, 0] * math.cos(twist), rotation[0, 0])
    swing = math.atan2(rotation[0, 2], -rotation[1, 2])
    twist = math.atan2(sine, rotation[2, 2])
    if abs(swing) > math.pi / 2 + SAME_ANGLE:
        swing -= math.copysign(math.pi, swing)
        twist = -twist
    if abs(swing) * sine < SAME_ANGLE:
        swing = 0.0
    cos, sin = math.cos(swing), math.sin(swing)
    x = cos * rotation[0, 0] + sin * rotation[1, 0]
    y = cos * rotation[1, 0] - sin * rotation[0, 0]
    y = math.cos(twist) * y + math.sin(twist) * rotation[2, 0]
    return swing, twist, math.atan2(y, x)


def without_noise(numbers: Array, smallest: Array | float) -> Array:
    """Numbers no larger than the largest that does not count made zero."""
    return np.where(np.abs(numbers) <= smallest, 0.0, numbers)


def cleaned(numbers: Array, tolerance: float) -> Array:
    """Numbers within the tolerance of 0, 1 or -1 made exactly that."""
    rounded = np.round(numbers)
    near = (np.abs(numbers - rounded) < tolerance) & (np.abs(rounded) <= 1)
    return np.where(near, rounded, numbers) + 0.0


def quarter_turns(angle: float) -> int | None:
    """How many right angles an angle is, if it is a whole number of them."""
    turns = round(angle / (math.pi / 2))
    return turns % 4 if abs(angle - turns * math.pi / 2) < SAME_ANGLE else None
