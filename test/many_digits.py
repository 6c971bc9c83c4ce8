"""Torques of a robot with sixty digits, from the decimal numbers of its URDF, and their sizes.

Newton's and Euler's equations in the frames of the links, as in every textbook, outward and then
inward. They share nothing with the package, not even the reader. Every vector is known together
with its size: how large the numbers are that add up to each of its components. Where these cancel,
or are so different that one hides the other, an error shows in proportion to what should be there.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import mpmath
import numpy as np
from numpy.typing import NDArray

Digits = NDArray[Any]
"""Of numbers with sixty digits."""

mp = mpmath.MPContext()
mp.dps = 60

RIGHT_ANGLE = mp.mpf("1e-14")
"""Angles nearer to a multiple of a right angle are meant to be one."""


class Sized(NamedTuple):
    """A vector, and how large the terms are that add up to each component."""

    value: Digits
    size: NDArray[np.float64]

    def plus(self, *others: Sized) -> Sized:
        every = (self, *others)
        return Sized(sum(each.value for each in every), sum(each.size for each in every))

    def times(self, number: Any) -> Sized:
        return Sized(self.value * number, abs(float(number)) * self.size)

    def cross(self, other: Sized) -> Sized:
        (a, b, c), (x, y, z) = self.value, other.value
        (i, j, k), (p, q, r) = self.size, other.size
        value = [b * z - c * y, c * x - a * z, a * y - b * x]
        return Sized(np.array(value), np.array([j * r + k * q, k * p + i * r, i * q + j * p]))

    def turned(self, R: Digits) -> Sized:
        """Along other axes; lengths of sizes stay, too, however often this is done."""
        return Sized(R @ self.value, np.sqrt(R.astype(float) ** 2 @ self.size**2))

    def through(self, I: Sized) -> Sized:  # noqa: E741
        """A tensor times this vector."""
        return Sized(I.value @ self.value, I.size @ self.size)

    def along(self, other: Sized) -> tuple[Any, float]:
        """Scalar product and its size."""
        return self.value @ other.value, float(self.size @ other.size)


def sized(numbers: Sequence[Any]) -> Sized:
    value = np.array([mp.mpf(number) for number in numbers])
    return Sized(value, np.abs(value.astype(float)))


def _nothing() -> Sized:
    return sized([0, 0, 0])


@dataclass
class _Link:
    mass: Any = field(default_factory=lambda: mp.mpf(0))
    center: Sized = field(default_factory=_nothing)
    inertia: Sized = field(
        default_factory=lambda: Sized(_digits(np.zeros((3, 3))), np.zeros((3, 3)))
    )


@dataclass
class _Joint:
    """A joint and the link it carries; `follows` is (joint, multiplier, offset)."""

    name: str
    kind: str
    parent: str
    child: str
    position: Sized
    rotation: Digits
    axis: Sized
    follows: tuple[str, Any, Any] | None
    coordinate: int = -1
    speed: int = -1


class _Motion(NamedTuple):
    omega: Sized
    alpha: Sized
    a: Sized


class ManyDigits:
    """A robot, asked for what torques produce a motion.

    Parameters
    ----------
    text : str
        URDF with revolute, continuous, prismatic, floating and fixed joints.
    gravity : sequence of float
    base : str
        "fixed" or "floating".
    """

    def __init__(self, text: str, gravity: Sequence[float], base: str = "fixed") -> None:
        root = ElementTree.fromstring(text)
        self._gravity = sized([-g for g in gravity])
        self._links = {each.get("name"): _link(each) for each in root.findall("link")}
        joints = [_joint(each) for each in root.findall("joint")]
        (ground,) = set(self._links) - {joint.child for joint in joints}
        if base == "floating":
            joint = _Joint(
                "base", "floating", "", ground, _nothing(), _digits(np.eye(3)), _nothing(), None
            )
            joints.insert(0, joint)
            ground = ""
        self._named = {joint.name: joint for joint in joints}
        self.nq, self.dof = 0, 0
        for joint in joints:
            if joint.kind == "fixed" or joint.follows is not None:
                continue
            joint.coordinate, joint.speed = self.nq, self.dof
            self.nq += 7 if joint.kind == "floating" else 1
            self.dof += 6 if joint.kind == "floating" else 1
        self._ground = ground
        self._joints = _outward(joints, ground)
        self._state: tuple[Any, dict[str, tuple[Digits, Sized]]] | None = None

    def torques(
        self, q: Sequence[float], u: Sequence[float], udot: Sequence[float], weight: bool = True
    ) -> tuple[Digits, NDArray[np.float64]]:
        """Torques and forces that produce a motion, and their sizes."""
        none = _nothing()
        motions = {self._ground: _Motion(none, none, self._gravity if weight else none)}
        places = self._places(q)
        for joint in self._joints:
            motions[joint.child] = self._moved(joint, *places[joint.name], motions, u, udot)
        forces = {name: [none, none] for name in motions}
        value, size = _digits(np.zeros(self.dof)), np.zeros(self.dof)
        for joint in reversed(self._joints):
            force, moment = forces[joint.child]
            own = _inertia_forces(self._links[joint.child], motions[joint.child])
            force, moment = force.plus(own[0]), moment.plus(own[1])
            for speed, amount, large in self._generalized(joint, force, moment):
                value[speed] += amount
                size[speed] += large
            R, p = places[joint.name]
            force, moment = force.turned(R), moment.turned(R)
            f, n = forces[joint.parent]
            forces[joint.parent] = [f.plus(force), n.plus(moment, p.cross(force))]
        return value, size

    def mass_matrix(self, q: Sequence[float]) -> tuple[Digits, NDArray[np.float64]]:
        """And its size: the smaller of those of an element and of the one across."""
        rest = [0.0] * self.dof
        columns = [self.torques(q, rest, unit, weight=False) for unit in np.eye(self.dof)]
        value, size = (np.array(each).T for each in zip(*columns, strict=True))
        return value, np.maximum(size, size.T)

    def _law(self, joint: _Joint) -> tuple[_Joint, Any, Any]:
        """The joint that moves this one, multiplier and offset."""
        multiplier, offset = mp.mpf(1), mp.mpf(0)
        while joint.follows is not None:
            name, factor, shift = joint.follows
            offset += multiplier * shift
            multiplier *= factor
            joint = self._named[name]
        return joint, multiplier, offset

    def _places(self, q: Sequence[float]) -> dict[str, tuple[Digits, Sized]]:
        """Of all joints; those of the state before, if it is the same."""
        if self._state is None or not np.array_equal(self._state[0], q):
            self._state = np.array(q), {joint.name: self._place(joint, q) for joint in self._joints}
        return self._state[1]

    def _place(self, joint: _Joint, q: Sequence[float]) -> tuple[Digits, Sized]:
        """Of the frame outboard of a joint in the one inboard."""
        if joint.kind == "fixed":
            return joint.rotation, joint.position
        master, multiplier, offset = self._law(joint)
        if joint.kind == "floating":
            at = [mp.mpf(float(each)) for each in q[joint.coordinate : joint.coordinate + 7]]
            shift = sized(at[:3]).turned(joint.rotation)
            return joint.rotation @ _turned_by(at[3:]), joint.position.plus(shift)
        position = multiplier * mp.mpf(float(q[master.coordinate])) + offset
        if joint.kind == "prismatic":
            shift = joint.axis.times(position).turned(joint.rotation)
            return joint.rotation, joint.position.plus(shift)
        return joint.rotation @ _turn(joint.axis.value, position), joint.position

    def _moved(
        self,
        joint: _Joint,
        R: Digits,
        p: Sized,
        motions: dict[str, _Motion],
        u: Sequence[float],
        udot: Sequence[float],
    ) -> _Motion:
        inboard = motions[joint.parent]
        carried = inboard.omega.turned(R.T)
        v, w = self._added(joint, u)
        vdot, wdot = self._added(joint, udot)
        omega = carried.plus(w)
        alpha = inboard.alpha.turned(R.T).plus(carried.cross(w), wdot)
        swing = inboard.omega.cross(inboard.omega.cross(p))
        a = inboard.a.plus(inboard.alpha.cross(p), swing).turned(R.T)
        return _Motion(omega, alpha, a.plus(vdot, carried.plus(omega).cross(v)))

    def _added(self, joint: _Joint, rates: Sequence[float]) -> tuple[Sized, Sized]:
        """What a joint adds to velocity and angular velocity, or to accelerations."""
        if joint.kind == "fixed":
            return _nothing(), _nothing()
        if joint.kind == "floating":
            six = rates[joint.speed : joint.speed + 6]
            return sized(six[:3]), sized(six[3:])
        master, multiplier, _ = self._law(joint)
        along = joint.axis.times(multiplier * mp.mpf(float(rates[master.speed])))
        return (along, _nothing()) if joint.kind == "prismatic" else (_nothing(), along)

    def _generalized(
        self, joint: _Joint, force: Sized, moment: Sized
    ) -> list[tuple[int, Any, float]]:
        """Generalized forces, speed by speed, with their sizes."""
        if joint.kind == "fixed":
            return []
        if joint.kind == "floating":
            both = [*zip(*force, strict=True), *zip(*moment, strict=True)]
            return [(joint.speed + k, *each) for k, each in enumerate(both)]
        master, multiplier, _ = self._law(joint)
        amount, size = joint.axis.along(force if joint.kind == "prismatic" else moment)
        return [(master.speed, multiplier * amount, abs(float(multiplier)) * size)]


def _inertia_forces(link: _Link, motion: _Motion) -> tuple[Sized, Sized]:
    """Mass times acceleration, and its moment about the origin of the link."""
    omega, alpha, a = motion
    c = link.center
    force = a.plus(alpha.cross(c), omega.cross(omega.cross(c))).times(link.mass)
    spin = alpha.through(link.inertia).plus(omega.cross(omega.through(link.inertia)))
    return force, c.cross(force).plus(spin)


# ------------------------------------------------------------------------------------ the file
def _digits(numbers: Any) -> Digits:
    return np.vectorize(lambda x: mp.mpf(float(x)), otypes=[object])(numbers)


_ONE = _digits(np.eye(3))


def _numbers(element: ElementTree.Element | None, name: str, default: str) -> list[Any]:
    text = default if element is None else element.get(name, default)
    return [mp.mpf(each) for each in text.split()]


def _link(element: ElementTree.Element) -> _Link:
    inertial = element.find("inertial")
    if inertial is None:
        return _Link()
    origin, tensor = inertial.find("origin"), inertial.find("inertia")
    xx, xy, xz, yy, yz, zz = (
        _numbers(tensor, name, "0")[0] for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    value = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    R = _from_rpy(_numbers(origin, "rpy", "0 0 0"))
    reach = np.abs(R.astype(float))
    return _Link(
        _numbers(inertial.find("mass"), "value", "0")[0],
        sized(_numbers(origin, "xyz", "0 0 0")),
        Sized(R @ value @ R.T, reach @ np.abs(value.astype(float)) @ reach.T),
    )


def _joint(element: ElementTree.Element) -> _Joint:
    origin, mimic = element.find("origin"), element.find("mimic")
    axis = np.array(_numbers(element.find("axis"), "xyz", "1 0 0"))
    follows = None
    if mimic is not None:
        multiplier, offset = (
            _numbers(mimic, name, default)[0]
            for name, default in (("multiplier", "1"), ("offset", "0"))
        )
        follows = (mimic.get("joint"), multiplier, offset)
    return _Joint(
        element.get("name"),
        element.get("type"),
        element.find("parent").get("link"),
        element.find("child").get("link"),
        sized(_numbers(origin, "xyz", "0 0 0")),
        _from_rpy(_numbers(origin, "rpy", "0 0 0")),
        sized(axis / mp.sqrt(axis @ axis)),
        follows,
    )


def _outward(joints: list[_Joint], ground: str) -> list[_Joint]:
    """Inboard joints first."""
    reached, result, waiting = {ground}, [], list(joints)
    while waiting:
        ready = [joint for joint in waiting if joint.parent in reached]
        reached |= {joint.child for joint in ready}
        result += ready
        waiting = [joint for joint in waiting if joint.parent not in reached or joint not in ready]
    return result


# ----------------------------------------------------------------------------------- rotations
def _cosine_sine(angle: Any) -> tuple[Any, Any]:
    quarters = mp.nint(2 * angle / mp.pi)
    if abs(angle - quarters * mp.pi / 2) <= RIGHT_ANGLE:
        return [(mp.one, mp.zero), (mp.zero, mp.one), (-mp.one, mp.zero), (mp.zero, -mp.one)][
            int(quarters) % 4
        ]
    return mp.cos(angle), mp.sin(angle)


def _turn(axis: Digits, angle: Any) -> Digits:
    """Rotation about a unit vector (Rodrigues)."""
    cos, sin = _cosine_sine(angle)
    x, y, z = axis
    zero = mp.zero
    K = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
    return _ONE + K * sin + (K @ K) * (1 - cos)


def _from_rpy(rpy: Sequence[Any]) -> Digits:
    if not any(rpy):
        return _ONE
    x, y, z = (_turn(axis, angle) for axis, angle in zip(_ONE, rpy, strict=True))
    return z @ y @ x


def _turned_by(quaternion: Sequence[Any]) -> Digits:
    """Rotation of a quaternion (x, y, z, w), whatever its length."""
    x, y, z, w = quaternion
    zero = mp.zero
    K = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
    s = 2 / (x * x + y * y + z * z + w * w)
    return _ONE + (K * w + K @ K) * s
