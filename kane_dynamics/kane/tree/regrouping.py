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
from numpy.typing import NDArray

from kane_dynamics.kane.tree.frames import SMALLEST, FramedBody, without_noise

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
            kept = np.zeros_like(own.mass)
            if balanced and parent and _balances(bodies, first_child, i):
                kept = _balancing_mass(own, parent, positions[i], axis, heaviest, farthest)
            given = own.give_along_z(kept)
            if parent:
                parent.take_line(*given, positions[i], axis)
        elif body.kind == "ball":
            mass, none = own.mass, np.zeros_like(own.mass)
            own.mass = none
            if parent:
                parent.take_line(mass, none, none, positions[i], np.zeros(3))
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
            **own.cleaned(),
        )
        for body, own, position, origin in zip(bodies, sums, positions, origins)
    )


def _size(bodies: Sequence[FramedBody]) -> float:
    """Length of all offsets between frames and to centres of mass together."""
    offsets = [body.position for body in bodies if body.parent >= 0]
    offsets += [body.first_moment / body.mass for body in bodies if body.mass]
    return float(sum(np.linalg.norm(offset) for offset in offsets))


class _Sums:
    """Moments of one body while inertia moves, and how large the numbers were that went in.

    Each stands in a column of its own: what is known, and what a unit of each late number adds.
    """

    def __init__(self, body: FramedBody) -> None:
        self.mass = np.array([body.mass, *body.late[:, 3, 3]])
        self.first = np.array([body.first_moment, *body.late[:, :3, 3]])
        self.second = np.array([body.second_moment, *body.late[:, :3, :3]])
        sizes = [np.abs(self.mass), np.abs(self.first).max(1), np.abs(self.second).max((1, 2))]
        self.sizes = np.array(sizes)

    def give_along_z(self, kept: Array) -> tuple[Array, Array, Array]:
        """Mass, first and second moment of the line distribution given away."""
        given = (self.mass - kept, self.first[:, 2].copy(), self.second[:, 2, 2].copy())
        self.mass, self.first[:, 2], self.second[:, 2, 2] = kept, 0.0, 0.0
        self.sizes[0] = np.maximum(self.sizes[0], np.abs(kept))
        return given

    def take_line(
        self, mass: Array, first: Array, second: Array, origin: Array, axis: Array
    ) -> None:
        """Add mass distributed along a line through `origin` in direction `axis`."""
        across = np.outer(origin, axis)
        parts = (
            mass[:, None, None] * np.outer(origin, origin),
            first[:, None, None] * (across + across.T),
            second[:, None, None] * np.outer(axis, axis),
        )
        moved = mass[:, None] * origin
        self.mass = self.mass + mass
        self.first += moved + first[:, None] * axis
        self.second += sum(parts)
        self.sizes[0] += np.abs(mass)
        self.sizes[1] += np.abs(moved).max(1) + np.abs(first)
        self.sizes[2] += sum(np.abs(part).max((1, 2)) for part in parts)

    def give_second_moment(self, parent: _Sums | None, farthest: float) -> Array:
        """Become a particle at the centre of mass, if that is near; returns where it was.

        A centre of mass that depends on late numbers stays where it is.
        """
        mass, first = self.mass[0], self.first[0]
        near = np.linalg.norm(first) < abs(mass) * farthest
        late = self.mass[1:].any() or self.first[1:].any()
        shift = first / mass if near and not late else np.zeros(3)
        if parent:
            parent.second += self.second - self.mass[:, None, None] * np.outer(shift, shift)
            parent.sizes[2] += self.sizes[2]
        self.first = self.first - self.mass[:, None] * shift
        self.second = np.zeros_like(self.second)
        return shift

    def cleaned(self) -> dict[str, Any]:
        """The moments without what only rounding has left."""
        smallest = NEGLIGIBLE * self.sizes
        mass = without_noise(self.mass, smallest[0])
        first = without_noise(self.first, smallest[1][:, None])
        second = without_noise(self.second, smallest[2][:, None, None])
        late = np.empty((len(mass) - 1, 4, 4))
        late[:, 3, 3], late[:, :3, :3] = mass[1:], second[1:]
        late[:, :3, 3] = late[:, 3, :3] = first[1:]
        known = {"mass": float(mass[0]), "first_moment": first[0], "second_moment": second[0]}
        return {**known, "late": late}


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


def _balancing_mass(
    own: _Sums, parent: _Sums, position: Array, axis: Array, heaviest: float, farthest: float
) -> Array:
    """Mass to keep at the joint so that the parent's first moment along x vanishes."""
    if position[0] == 0.0:
        return np.zeros_like(own.mass)
    total = parent.first[:, 0] + own.mass * position[0] + own.first[:, 2] * axis[0]
    kept = np.asarray(total / position[0])
    if kept[1:].any():  # masses are not known: lengths have to tell
        light = farthest < FARTHEST * HEAVIEST * abs(position[0])
    else:
        light = abs(kept[0]) < heaviest
    return kept if light else np.zeros_like(kept)
