"""A robot measured for judging it: mass and size of its links, and of the bodies they make up.

The bodies are those of the tree that dynamics uses. Links that are only frames belong to their body
like any other; so an empty tool frame is no fault, and a sensor of no size counts as part of its
carrier.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.robot.body import GROUND, Tree
from kane_dynamics.robot.model import Joint, Robot

Indices = NDArray[np.intp]

CORNERS: Array = np.array(list(product((-1.0, 1.0), repeat=3)))
_LARGEST = 1e50  # beyond it numbers are absurd anyway, and their products would overflow


@dataclass(frozen=True, slots=True)
class Parts:
    """The links that have mass or inertia; first axis of every array: one entry a link.

    Attributes
    ----------
    link : indices into the links of the robot
    body : indices into the bodies
    mass : (n,) in kg
    center : (n, 3) centre of mass in the frame of the body, in m
    lever : (n,) distance of the centre of mass from the origin of the link, in m
    tensor : (n, 3, 3) inertia about the centre of mass along the axes of the link, in kg m²
    spread : (n, 3, 3) second moment of mass about the centre of mass, ∫ r rᵀ dm, in kg m²,
        along the axes of the body
    principal : (n, 3) principal moments of inertia, ascending, in kg m²
    """

    link: Indices
    body: Indices
    mass: Array
    center: Array
    lever: Array
    tensor: Array
    spread: Array
    principal: Array


@dataclass(frozen=True, slots=True)
class Bodies:
    """Links that move as one; the first body is the ground, parents stand before children.

    Attributes
    ----------
    joint : the joint that carries each body, None for the ground and a floating base
    parent : indices of bodies, -1 for that of the ground
    main : indices of the links to name the bodies by: the heaviest, or the first
    rotation, translation : (b, 3, 3), (b, 3) frame of each body in that of its parent, joint at 0
    mass, center, spread, principal : as for parts, of all links together
    low, high : (b, 3) corners of the box around the origins of links and joints and the shapes
    shaped : (b,) whether boxes, cylinders or spheres tell the size of the body
    """

    joint: tuple[Joint | None, ...]
    parent: Indices
    main: Indices
    rotation: Array
    translation: Array
    mass: Array
    center: Array
    spread: Array
    principal: Array
    low: Array
    high: Array
    shaped: NDArray[np.bool_]

    @property
    def span(self) -> Array:
        """Diagonals of the boxes around the bodies, in m."""
        return np.asarray(np.linalg.norm(self.high - self.low, axis=1))


@dataclass(frozen=True, slots=True)
class Violation:
    """Where a rule is broken, and a sentence about it.

    Attributes
    ----------
    place : position in the file, by index of the link or of the joint's outboard link
    name : of the link or joint
    message : what was found, what was expected and how to repair it
    moves : whether the link or joint does
    """

    place: int
    name: str
    message: str
    moves: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """What the rules look at; `body` has the body of every link."""

    robot: Robot
    body: Indices
    parts: Parts
    bodies: Bodies

    def at_link(self, index: int, message: str) -> Violation:
        """Return a fault of a link, of whom `message` says something."""
        name = self.robot.links[index].name
        return Violation(index, name, f"link {name!r} {message}", bool(self.body[index] > 0))

    def at_joint(self, joint: Joint, message: str) -> Violation:
        """Return a fault of a joint, of which `message` says something."""
        place = [link.name for link in self.robot.links].index(joint.child)
        moves = any(carrier is joint for carrier in self.bodies.joint)
        return Violation(place, joint.name, f"joint {joint.name!r} {message}", moves)


def survey(robot: Robot, tree: Tree) -> Survey:
    """Measure the bodies that `tree` makes of `robot`, and the ground."""
    frames = _Frames(robot, tree)
    parts = _parts(robot, frames)
    return Survey(robot, frames.body, parts, _bodies(robot, tree, frames, parts))


class _Frames:
    """Bodies as they are counted here, and frames of all links in those of their bodies.

    The ground is counted first, and a planar joint carries one body, the last of its three.
    """

    def __init__(self, robot: Robot, tree: Tree) -> None:
        planar = {joint.name for joint in robot.joints if joint.kind == "planar"}
        slides = [body.kind == "prismatic" and body.joint in planar for body in tree.bodies]
        self.kept = [GROUND, *(i for i, slide in enumerate(slides) if not slide)]
        frames = [frame for _, frame in tree.frames]
        self.body = self.indices(frame.body for frame in frames)
        self.rotation: Array = np.array([frame.rotation for frame in frames])
        self.translation = _bounded([frame.translation for frame in frames])

    def indices(self, bodies: Iterable[int]) -> Indices:
        """Return where bodies of the tree are counted here."""
        return np.array([bisect_left(self.kept, body) for body in bodies], dtype=np.intp)


def _bounded(numbers: ArrayLike) -> Array:
    # of a number and none, fmin and fmax return the number
    return np.fmax(-_LARGEST, np.fmin(_LARGEST, np.asarray(numbers, dtype=np.float64)))


def _parts(robot: Robot, frames: _Frames) -> Parts:
    weighty = [
        (i, link.inertia)
        for i, link in enumerate(robot.links)
        if link.inertia is not None and (link.inertia.mass or np.any(link.inertia.tensor))
    ]
    chosen = np.array([i for i, _ in weighty], dtype=np.intp)
    center = _bounded([inertia.center for _, inertia in weighty]).reshape(-1, 3)
    tensor = _bounded([inertia.tensor for _, inertia in weighty]).reshape(-1, 3, 3)
    rotation = frames.rotation[chosen]
    spread = 0.5 * np.trace(tensor, axis1=1, axis2=2)[:, None, None] * np.eye(3) - tensor
    return Parts(
        link=chosen,
        body=frames.body[chosen],
        mass=_bounded([inertia.mass for _, inertia in weighty]),
        center=frames.translation[chosen] + np.einsum("nij,nj->ni", rotation, center),
        lever=np.linalg.norm(center, axis=1),
        tensor=tensor,
        spread=rotation @ spread @ rotation.transpose(0, 2, 1),
        principal=np.asarray(np.linalg.eigvalsh(tensor), dtype=np.float64),
    )


def _bodies(robot: Robot, tree: Tree, frames: _Frames, parts: Parts) -> Bodies:
    everything = (*tree.bodies, tree.ground)  # of which the ground is the one at GROUND
    bodies = [everything[i] for i in frames.kept]
    inboard = [tree.ground, *(everything[i + 1] for i in frames.kept[:-1])]
    parent = frames.indices(body.parent for body in inboard)
    parent[0] = -1
    mass = _bounded([body.mass for body in bodies])
    moment = _bounded([body.first_moment for body in bodies])
    center = moment / np.where(mass > 0.0, mass, 1.0)[:, None]
    about_origin = _bounded([body.second_moment for body in bodies])
    spread = about_origin - mass[:, None, None] * center[:, :, None] * center[:, None, :]
    tensor = np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(3) - spread
    index = {link.name: i for i, link in enumerate(robot.links)}
    first = [index[robot.root], *(index[body.name] for body in bodies[1:])]
    main = np.array(first, dtype=np.intp)
    lightest_first = np.argsort(parts.mass, kind="stable")
    main[parts.body[lightest_first]] = parts.link[lightest_first]
    joints = {joint.child: joint for joint in robot.joints}
    translation = _bounded([body.translation for body in inboard])
    low, high, shaped = _boxes(robot, frames, parent, translation)
    return Bodies(
        joint=(None, *(joints.get(body.name) for body in bodies[1:])),
        parent=parent,
        main=main,
        rotation=np.array([body.rotation for body in inboard]),
        translation=translation,
        mass=mass,
        center=center,
        spread=spread,
        principal=np.linalg.eigvalsh(tensor),
        low=low,
        high=high,
        shaped=shaped,
    )


def _boxes(
    robot: Robot, frames: _Frames, parent: Indices, translation: Array
) -> tuple[Array, Array, NDArray[np.bool_]]:
    shapes = [(i, shape) for i, link in enumerate(robot.links) for shape in link.shapes]
    link = np.array([i for i, _ in shapes], dtype=np.intp)
    axes = np.array([shape.rotation for _, shape in shapes]).reshape(-1, 3, 3)
    extent = _bounded([shape.extent for _, shape in shapes]).reshape(-1, 1, 3)
    middle = _bounded([shape.translation for _, shape in shapes]).reshape(-1, 1, 3)
    corners = middle + (CORNERS * extent) @ axes.transpose(0, 2, 1)
    corners = frames.translation[link, None] + corners @ frames.rotation[link].transpose(0, 2, 1)
    owner = [*frames.body, *parent[1:], 0, *np.repeat(frames.body[link], len(CORNERS))]
    where = [*frames.translation, *translation[1:], np.zeros(3), *corners.reshape(-1, 3)]
    low = np.full((len(parent), 3), np.inf)
    high = -low
    np.minimum.at(low, owner, where)
    np.maximum.at(high, owner, where)
    return low, high, np.isin(np.arange(len(parent)), frames.body[link])
