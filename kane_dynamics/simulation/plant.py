"""The robot as a simulation sees it: equations without dry friction, and what its joints feel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.dynamics import Dynamics

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Plant:
    """A robot ready to be simulated.

    Attributes
    ----------
    dynamics : Dynamics
        Equations of the robot with the damping of its joints, without their dry friction.
    coordinate : array (n,) of int
        Index of the coordinate whose rate each speed is; -1 for the speeds of free and ball joints.
    turning : array (number of quaternions, 2) of int
        Where each quaternion begins among the coordinates, and its angular velocity among the
        speeds.
    moving : array (number of free joints, 3) of int
        Where the position of each free joint, its quaternion and its velocity begin.
    damping, friction : array (n,)
        Viscous and dry friction felt by each speed.
    """

    dynamics: Dynamics
    coordinate: Indices
    turning: Indices
    moving: Indices
    damping: Array
    friction: Array

    @property
    def driven(self) -> Indices:
        """The speeds that a joint can drive: all but those of free and ball joints."""
        return np.flatnonzero(self.coordinate >= 0)

    def coordinate_rates(self, q: Array, u: Array) -> Array:
        """Rates of the coordinates: speeds, and those of positions and quaternions."""
        qdot = np.zeros(len(q))
        driven = self.driven
        qdot[self.coordinate[driven]] = u[driven]
        for quaternion, speed in self.turning:
            e, e4, w = q[quaternion : quaternion + 3], q[quaternion + 3], u[speed : speed + 3]
            qdot[quaternion : quaternion + 3] = 0.5 * (e4 * w + np.cross(e, w))
            qdot[quaternion + 3] = -0.5 * (e @ w)
        for position, quaternion, speed in self.moving:
            e, e4, v = q[quaternion : quaternion + 3], q[quaternion + 3], u[speed : speed + 3]
            qdot[position : position + 3] = v + 2.0 * np.cross(e, np.cross(e, v) + e4 * v)
        return qdot

    def normalized(self, q: Array) -> Array:
        """The coordinates with quaternions of unit length."""
        if len(self.turning):
            q = q.copy()
        for first, _ in self.turning:
            quaternion = q[first : first + 4]
            quaternion /= np.linalg.norm(quaternion)
        return q


_plants: WeakKeyDictionary[Dynamics, Plant] = WeakKeyDictionary()


def plant_of(dynamics: Dynamics) -> Plant:
    """The robot of a `Dynamics` as a plant; the same one whenever it is asked for again."""
    plant = _plants.get(dynamics)
    if plant is None:
        plant = _plants[dynamics] = _plant(dynamics)
    return plant


def _plant(dynamics: Dynamics) -> Plant:
    tree = dynamics.tree
    smooth = replace(tree, bodies=tuple(replace(body, friction=0.0) for body in tree.bodies))
    coordinate = np.full(tree.nu, -1, np.int64)
    damping, friction = np.zeros(tree.nu), np.zeros(tree.nu)
    for body in (each for each in tree.bodies if each.quaternion is None):
        coordinate[body.speed] = body.coordinate
        damping[body.speed] += body.multiplier**2 * body.damping
        friction[body.speed] += abs(body.multiplier) * body.friction
    rotated = [(body, body.quaternion) for body in tree.bodies if body.quaternion is not None]
    turning = [(quaternion, body.speeds[-3]) for body, quaternion in rotated]
    moving = [
        (body.coordinate, quaternion, body.speed)
        for body, quaternion in rotated
        if body.kind == "floating"
    ]
    return Plant(
        dynamics.with_tree(smooth),
        coordinate,
        np.array(turning, np.int64).reshape(-1, 2),
        np.array(moving, np.int64).reshape(-1, 3),
        damping,
        friction,
    )
