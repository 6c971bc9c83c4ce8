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

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.kane.frames import SMALLEST, FramedBody, without_noise

Array = NDArray[np.float64]

NEGLIGIBLE = 1e-14
"""Relative size of what rounding leaves of a moment that is zero."""

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
    origins = [body.origin.copy() for body in bodies]
    heaviest = HEAVIEST * sum(abs(body.mass) for body in bodies)
    farthest = FARTHEST * _size(bodies)
    first_child = {body.parent: i for i, body in reversed(list(enumerate(bodies)))}
    for i in reversed(range(len(bodies))):
        body, own = bodies[i], sums[i]
        parent = sums[body.parent] if body.parent >= 0 else None
        if body.kind == "revolute":
            axis = _joint_axis(body)
            kept = 0.0
            if balanced and parent and _balances(bodies, first_child, i):
                kept = _balancing_mass(own, parent, positions[i], axis, heaviest)
            given = own.give_along_z(kept)
            if parent:
                parent.take_line(*given, positions[i], axis)
        elif body.kind == "ball":
            mass, own.mass = own.mass, 0.0
            if parent:
                parent.take_line(mass, 0.0, 0.0, positions[i], np.zeros(3))
        elif body.kind == "prismatic":
            shift = own.give_second_moment(parent, farthest)
            positions[i] += shift
            origins[i] += bodies[i].orientation @ shift
            for j, other in enumerate(bodies):
                if other.parent == i:
                    positions[j] -= shift
    return tuple(
        replace(
            body,
            position=without_noise(position, SMALLEST * farthest),
            origin=origin,
            mass=own.clean_mass(),
            first_moment=own.clean(own.first, 1),
            second_moment=own.clean(own.second, 2),
        )
        for body, own, position, origin in zip(bodies, sums, positions, origins)
    )


def _size(bodies: Sequence[FramedBody]) -> float:
    """Length of all offsets between frames and to centres of mass together."""
    offsets = [body.position for body in bodies if body.parent >= 0]
    offsets += [body.first_moment / body.mass for body in bodies if body.mass]
    return float(sum(np.linalg.norm(offset) for offset in offsets))


class _Sums:
    """Moments of one body while inertia moves, and how large the numbers were that went in."""

    def __init__(self, body: FramedBody) -> None:
        self.mass = body.mass
        self.first = body.first_moment.copy()
        self.second = body.second_moment.copy()
        self.sizes = np.array([abs(self.mass), np.abs(self.first).max(), np.abs(self.second).max()])

    def give_along_z(self, kept: float) -> tuple[float, float, float]:
        """Mass, first and second moment of the line distribution given away."""
        given = (self.mass - kept, float(self.first[2]), float(self.second[2, 2]))
        self.mass, self.first[2], self.second[2, 2] = kept, 0.0, 0.0
        self.sizes[0] = max(self.sizes[0], abs(kept))
        return given

    def take_line(
        self, mass: float, first: float, second: float, origin: Array, axis: Array
    ) -> None:
        """Add mass distributed along a line through `origin` in direction `axis`."""
        across = np.outer(origin, axis)
        parts = (
            mass * np.outer(origin, origin),
            first * (across + across.T),
            second * np.outer(axis, axis),
        )
        self.mass += mass
        self.first += mass * origin + first * axis
        self.second += sum(parts)
        largest = [abs(mass), np.abs(mass * origin).max() + abs(first)]
        self.sizes += [*largest, sum(np.abs(part).max() for part in parts)]

    def give_second_moment(self, parent: _Sums | None, farthest: float) -> Array:
        """Become a particle at the centre of mass, if that is near; returns where it was."""
        near = np.linalg.norm(self.first) < abs(self.mass) * farthest
        shift = self.first / self.mass if near else np.zeros(3)
        if parent:
            parent.second += self.second - self.mass * np.outer(shift, shift)
            parent.sizes[2] += self.sizes[2]
        self.first = self.first - self.mass * shift
        self.second = np.zeros((3, 3))
        return shift

    def clean(self, moment: Array, order: int) -> Array:
        """A moment of the given order without what only rounding has left."""
        return np.where(np.abs(moment) <= NEGLIGIBLE * self.sizes[order], 0.0, moment)

    def clean_mass(self) -> float:
        return float(self.clean(np.array(self.mass), 0))


def _joint_axis(body: FramedBody) -> Array:
    """Axis of a turning joint in the parent's frame."""
    sine = math.sin(body.twist)
    return np.array(
        [math.sin(body.swing) * sine, -math.cos(body.swing) * sine, math.cos(body.twist)]
    )


def _balances(bodies: Sequence[FramedBody], first_child: dict[int, int], i: int) -> bool:
    """One body may balance its parent, and only a turning one is worth balancing."""
    parent = bodies[i].parent
    return bodies[parent].kind == "revolute" and first_child[parent] == i


def _balancing_mass(own: _Sums, parent: _Sums, position: Array, axis: Array, limit: float) -> float:
    """Mass to keep at the joint so that the parent's first moment along x vanishes."""
    if position[0] == 0.0:
        return 0.0
    total = parent.first[0] + own.mass * position[0] + own.first[2] * axis[0]
    kept = float(total / position[0])
    return kept if abs(kept) < limit else 0.0
