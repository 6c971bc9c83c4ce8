"""Inertia moved from body to body where no motion of the robot can tell the difference.

Mass on the axis of a turning joint moves with both bodies that the joint connects. So any
distribution of mass along that axis, negative ones too, may be taken from the outer body and
given to the inner one: three numbers, its mass, first and second moment along the axis, are free
at every turning joint. A body that only slides in another turns with it, so its whole second
moment may be given away. Mass at the centre of a ball joint moves with both bodies, too. What
reaches the ground is dropped. The numbers that remain are the base parameters of the robot; here
the free ones are chosen such that most products vanish.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.kane.tree.frames import SMALLEST, FramedBody, quarter_turns, without_noise
from kane_dynamics.robot.rotation import cosine_sine

NEGLIGIBLE = 1e-13
"""What rounding leaves of a moment that is zero, relative to the terms that add up to it."""

HEAVIEST = 50.0
"""Most mass, in masses of the whole robot, that a body may keep to balance the one before it."""


FARTHEST = 10.0
"""Longest way, in sizes of the whole robot, that a frame may be moved to a centre of mass."""


def regrouped(bodies: Sequence[FramedBody], balanced: bool) -> tuple[FramedBody, ...]:
    """The same robot with fewer nonzero inertia parameters.

    Parameters
    ----------
    bodies : sequence of FramedBody
    balanced : bool
        Every body keeps as much mass as makes the first moment of its parent along the line from
        joint to joint vanish, as in a rod replaced by two masses at its ends. Worth it where
        accelerations of the joints are computed anyway; otherwise bodies keep no mass at all.
    """
    sums = [_Sums(body) for body in bodies]
    positions = [body.position.copy() for body in bodies]
    position_sizes = [body.position_size.copy() for body in bodies]
    origins = [body.origin.copy() for body in bodies]
    heaviest = HEAVIEST * sum(abs(body.mass) for body in bodies)
    farthest = FARTHEST * _size(bodies)
    first_child = {body.parent: i for i, body in reversed(list(enumerate(bodies)))}
    for i in reversed(range(len(bodies))):
        body, own = bodies[i], sums[i]
        parent = sums[body.parent] if body.parent >= 0 else None
        if body.kind == "revolute":
            axis = _joint_axis(body)
            mass = own.moments[:, 3, 3], own.sizes[:, 3, 3]
            if balanced and parent and _balances(bodies, first_child, i):
                mass = _balancing_mass(own, parent, positions[i], axis, heaviest, farthest)
            given = own.give_along_z(*mass)
            if parent:
                parent.take_line(*given, positions[i], axis)
        elif body.kind == "ball":
            given = own.give_mass()
            if parent:
                parent.take_line(*given, positions[i], np.zeros(3))
        elif body.kind == "prismatic":
            shift = own.give_second_moment(parent, farthest)
            origins[i] += bodies[i].orientation @ shift
            moved = {j: -shift for j, other in enumerate(bodies) if other.parent == i}
            for j, way in {**moved, i: shift}.items():
                positions[j] += way
                position_sizes[j] += np.abs(way)
    return tuple(
        replace(
            body,
            position=without_noise(position, SMALLEST * size),
            origin=origin,
            **own.cleaned(),
        )
        for body, own, position, size, origin in zip(
            bodies, sums, positions, position_sizes, origins
        )
    )


def _size(bodies: Sequence[FramedBody]) -> float:
    """Length of all offsets between frames and to centres of mass together."""
    offsets = [body.position for body in bodies if body.parent >= 0]
    offsets += [body.first_moment / body.mass for body in bodies if body.mass]
    return float(sum(np.linalg.norm(offset) for offset in offsets))


class _Sums:
    """Moments of one body while inertia moves, and how large the terms were that went in.

    Both are integrals of (r, 1) (r, 1)ᵀ over the mass: what is known, then what a unit of each late
    number adds. Each component has a size of its own: next to a large one, a small one is no noise.
    """

    def __init__(self, body: FramedBody) -> None:
        known = np.empty((4, 4))
        known[:3, :3], known[3, 3] = body.second_moment, body.mass
        known[:3, 3] = known[3, :3] = body.first_moment
        self.moments = np.concatenate([known[None], body.late])
        self.sizes = np.concatenate([body.sizes[None], _late_sizes(body.late)])

    @property
    def mass(self) -> Array:
        return np.asarray(self.moments[:, 3, 3])

    def give_along_z(self, mass: Array, mass_size: Array) -> tuple[Array, Array]:
        """Integrals of (z, 1) (z, 1)ᵀ over the mass given away, which may be thought on the axis.

        Of `mass` itself there may be more or less than the body has; and their sizes.
        """
        line = np.ix_(range(len(self.moments)), (2, 3), (2, 3))
        given, sizes = self.moments[line], self.sizes[line]
        given[:, 1, 1], sizes[:, 1, 1] = mass, mass_size
        self.moments[:, 2, 2] = self.moments[:, 2, 3] = self.moments[:, 3, 2] = 0.0
        self.moments[:, 3, 3] -= given[:, 1, 1]
        self.sizes[:, 3, 3] += mass_size
        return given, sizes

    def give_mass(self) -> tuple[Array, Array]:
        """The same of all mass, which may be thought at the origin."""
        given, sizes = np.zeros((2, len(self.moments), 2, 2))
        given[:, 1, 1], sizes[:, 1, 1] = self.moments[:, 3, 3], self.sizes[:, 3, 3]
        self.moments[:, 3, 3] = 0.0
        return given, sizes

    def take_line(self, given: Array, sizes: Array, origin: Array, axis: Array) -> None:
        """Add mass distributed along a line through `origin` in direction `axis`."""
        line = np.zeros((4, 2))
        line[:3, 0], line[:3, 1], line[3, 1] = axis, origin, 1.0
        self.moments += line @ given @ line.T
        self.sizes += np.abs(line) @ sizes @ np.abs(line).T

    def give_second_moment(self, parent: _Sums | None, farthest: float) -> Array:
        """Become a particle at the centre of mass, if that is near; returns where it was.

        A centre of mass that depends on late numbers stays where it is.
        """
        mass, first = self.moments[0, 3, 3], self.cleaned_moments()[0, :3, 3]
        near = np.linalg.norm(first) < abs(mass) * farthest
        late = self.moments[1:, 3].any()
        shift = first / mass if near and not late else np.zeros(3)
        if parent:
            particle = self.mass[:, None, None] * np.outer(shift, shift)
            parent.moments[:, :3, :3] += self.moments[:, :3, :3] - particle
            parent.sizes[:, :3, :3] += self.sizes[:, :3, :3] + np.abs(particle)
        self.moments[:, :3, 3] -= self.mass[:, None] * shift
        self.moments[:, 3, :3] = self.moments[:, :3, 3]
        self.moments[:, :3, :3] = 0.0
        return shift

    def cleaned_moments(self) -> Array:
        """The moments without what only rounding has left."""
        return without_noise(self.moments, NEGLIGIBLE * self.sizes)

    def cleaned(self) -> dict[str, Any]:
        """The same as attributes of a body."""
        known, *late = self.cleaned_moments()
        return {
            "mass": float(known[3, 3]),
            "first_moment": known[:3, 3],
            "second_moment": known[:3, :3],
            "late": np.array(late).reshape(-1, 4, 4),
            "sizes": self.sizes[0],
        }


def _late_sizes(late: Array) -> Array:
    """Of lengths, and their squares, which is what units of late numbers are multiplied by."""
    sizes = np.abs(late)
    sizes[:, :3, 3] = sizes[:, 3, :3] = sizes[:, :3, 3].max(1, keepdims=True)
    sizes[:, :3, :3] = sizes[:, :3, :3].max((1, 2), keepdims=True)
    return sizes


def _joint_axis(body: FramedBody) -> Array:
    """Axis of a turning joint in the parent's frame."""
    (cos, sin), (cosine, sine) = map(_cosine_sine, (body.swing, body.twist))
    return np.array([sin * sine, -cos * sine, cosine])


def _cosine_sine(angle: float) -> tuple[float, float]:
    """Exactly 0 and ±1 where the angle is a right angle but for rounding."""
    turns = quarter_turns(angle)
    return cosine_sine(angle if turns is None else turns * math.pi / 2)


def _balances(bodies: Sequence[FramedBody], first_child: dict[int, int], i: int) -> bool:
    """One body may balance its parent, and only a turning one is worth balancing."""
    parent = bodies[i].parent
    return bodies[parent].kind == "revolute" and first_child[parent] == i


def _balancing_mass(
    own: _Sums, parent: _Sums, position: Array, axis: Array, heaviest: float, farthest: float
) -> tuple[Array, Array]:
    """Mass to give away so that the parent's first moment along x vanishes; its size.

    All mass, where that cannot be or would leave too much.
    """
    m, n = own.moments, own.sizes
    every = m[:, 3, 3], n[:, 3, 3]
    if position[0] == 0.0:
        return every
    total = parent.moments[:, 0, 3] + m[:, 2, 3] * axis[0]
    size = parent.sizes[:, 0, 3] + n[:, 2, 3] * abs(axis[0])
    given = -without_noise(total, NEGLIGIBLE * size) / position[0]
    kept = m[:, 3, 3] - given
    if kept[1:].any():  # masses are not known: lengths have to tell
        light = farthest < FARTHEST * HEAVIEST * abs(position[0])
    else:
        light = abs(kept[0]) < heaviest
    return (given, size / abs(position[0])) if light else every
