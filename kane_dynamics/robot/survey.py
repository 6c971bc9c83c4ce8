"""A robot measured for judging it: mass and size of its links, and of the bodies they make up.

A body is all links that move as one. Links that are only frames belong to their body like any
other; so an empty tool frame is no fault, and a sensor of no size counts as part of its carrier.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kane_dynamics.robot.model import Joint, Link, Robot

Array = NDArray[np.float64]
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
    joint : the moving joint that carries each body, None for the ground
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
class Fault:
    """Where a rule is broken, and a sentence about it.

    Attributes
    ----------
    place : position in the file, by index of the link or of the joint's outboard link
    name : of the link or joint
    message : what was found, what was expected and how to repair it
    """

    place: int
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Survey:
    """What the rules look at."""

    robot: Robot
    parts: Parts
    bodies: Bodies

    def at_link(self, index: int, message: str) -> Fault:
        """Return a fault of a link, of whom `message` says something."""
        name = self.robot.links[index].name
        return Fault(index, name, f"link {name!r} {message}")

    def at_joint(self, joint: Joint, message: str) -> Fault:
        """Return a fault of a joint, of which `message` says something."""
        names = [link.name for link in self.robot.links]
        return Fault(names.index(joint.child), joint.name, f"joint {joint.name!r} {message}")


def survey(robot: Robot) -> Survey:
    """Measure `robot`."""
    frames = _Frames(robot)
    parts = _parts(robot.links, frames)
    return Survey(robot, parts, _bodies(robot.links, frames, parts))


class _Frames:
    """Which body each link belongs to and how its frame lies in that of the body."""

    def __init__(self, robot: Robot) -> None:
        index = {link.name: i for i, link in enumerate(robot.links)}
        outboard: dict[str, list[Joint]] = {}
        for joint in robot.joints:
            outboard.setdefault(joint.parent, []).append(joint)
        count = len(robot.links)
        self.body: Indices = np.zeros(count, dtype=np.intp)
        self.rotation: Array = np.tile(np.eye(3), (count, 1, 1))
        self.translation: Array = np.zeros((count, 3))
        root = index[robot.root]
        self.first = [root]
        self.joint: list[Joint | None] = [None]
        self.place: list[tuple[int, Array, Array]] = [(-1, np.eye(3), np.zeros(3))]
        queue = [root]
        for here in queue:
            for joint in outboard.get(robot.links[here].name, ()):
                child = index[joint.child]
                rotation = self.rotation[here] @ np.array(joint.rotation)
                offset = _bounded(joint.translation)
                translation = self.translation[here] + self.rotation[here] @ offset
                if joint.kind == "fixed":
                    self.body[child] = self.body[here]
                    self.rotation[child] = rotation
                    self.translation[child] = translation
                else:
                    self.body[child] = len(self.joint)
                    self.joint.append(joint)
                    self.first.append(child)
                    self.place.append((int(self.body[here]), rotation, translation))
                queue.append(child)


def _bounded(numbers: ArrayLike) -> Array:
    return np.clip(np.asarray(numbers, dtype=np.float64), -_LARGEST, _LARGEST)


def _parts(links: tuple[Link, ...], frames: _Frames) -> Parts:
    weighty = [
        (i, link.inertia)
        for i, link in enumerate(links)
        if link.inertia is not None and (link.inertia.mass or np.any(link.inertia.tensor))
    ]
    chosen = np.array([i for i, _ in weighty], dtype=np.intp)
    mass = _bounded([inertia.mass for _, inertia in weighty])
    center = _bounded([inertia.center for _, inertia in weighty]).reshape(-1, 3)
    tensor = _bounded([inertia.tensor for _, inertia in weighty]).reshape(-1, 3, 3)
    rotation = frames.rotation[chosen]
    spread = 0.5 * np.trace(tensor, axis1=1, axis2=2)[:, None, None] * np.eye(3) - tensor
    return Parts(
        link=chosen,
        body=frames.body[chosen],
        mass=mass,
        center=frames.translation[chosen] + np.einsum("nij,nj->ni", rotation, center),
        lever=np.linalg.norm(center, axis=1),
        tensor=tensor,
        spread=rotation @ spread @ rotation.transpose(0, 2, 1),
        principal=np.asarray(np.linalg.eigvalsh(tensor), dtype=np.float64),
    )


def _bodies(links: tuple[Link, ...], frames: _Frames, parts: Parts) -> Bodies:
    count = len(frames.joint)
    mass = np.zeros(count)
    np.add.at(mass, parts.body, parts.mass)
    moment = np.zeros((count, 3))
    np.add.at(moment, parts.body, parts.mass[:, None] * parts.center)
    center = moment / np.where(mass > 0.0, mass, 1.0)[:, None]
    arm = parts.center - center[parts.body]
    spread = np.zeros((count, 3, 3))
    steiner = parts.mass[:, None, None] * arm[:, :, None] * arm[:, None, :]
    np.add.at(spread, parts.body, parts.spread + steiner)
    tensor = np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(3) - spread
    main = np.array(frames.first, dtype=np.intp)
    lightest_first = np.argsort(parts.mass, kind="stable")
    main[parts.body[lightest_first]] = parts.link[lightest_first]
    low, high, shaped = _boxes(links, frames)
    return Bodies(
        joint=tuple(frames.joint),
        parent=np.array([parent for parent, _, _ in frames.place], dtype=np.intp),
        main=main,
        rotation=np.array([rotation for _, rotation, _ in frames.place]),
        translation=np.array([translation for _, _, translation in frames.place]),
        mass=mass,
        center=center,
        spread=spread,
        principal=np.linalg.eigvalsh(tensor),
        low=low,
        high=high,
        shaped=shaped,
    )


def _boxes(links: tuple[Link, ...], frames: _Frames) -> tuple[Array, Array, NDArray[np.bool_]]:
    owner = [*frames.body, *(parent for parent, _, _ in frames.place[1:])]
    points = [frames.translation, *(place[None] for _, _, place in frames.place[1:])]
    shaped = np.zeros(len(frames.joint), dtype=np.bool_)
    for i, link in enumerate(links):
        for shape in link.shapes:
            extent = CORNERS * _bounded(shape.extent)
            corners = _bounded(shape.translation) + extent @ np.array(shape.rotation).T
            points.append(frames.translation[i] + corners @ frames.rotation[i].T)
            owner.extend([frames.body[i]] * len(CORNERS))
            shaped[frames.body[i]] = True
    low = np.full((len(frames.joint), 3), np.inf)
    high = -low
    where = np.concatenate(points)
    np.minimum.at(low, owner, where)
    np.maximum.at(high, owner, where)
    return low, high, shaped
