"""The robot as a simulation sees it: equations without dry friction, and what its joints feel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.dynamics import Dynamics
from kane_dynamics.robot.tree import Body

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Plant:
    """A robot ready to be simulated.

    Attributes
    ----------
    dynamics : Dynamics
        Equations of the robot with the damping of its joints, without their dry friction.
    coordinate : array (n,) of int
        Index of the coordinate whose rate each speed is; -1 for the speeds of free joints.
    free : array (number of free joints, 2) of int
        Where the coordinates and the speeds of each free joint begin.
    damping, friction : array (n,)
        Viscous and dry friction felt by each speed.
    """

    dynamics: Dynamics
    coordinate: Indices
    free: Indices
    damping: Array
    friction: Array

    @property
    def driven(self) -> Indices:
        """The speeds that a joint can drive: all but those of free joints."""
        return np.flatnonzero(self.coordinate >= 0)


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
    for body in filter(_is_simple, tree.bodies):
        coordinate[body.speed] = body.coordinate
        damping[body.speed] += body.multiplier**2 * body.damping
        friction[body.speed] += abs(body.multiplier) * body.friction
    free = [(body.coordinate, body.speed) for body in tree.bodies if not _is_simple(body)]
    return Plant(
        dynamics.with_tree(smooth),
        coordinate,
        np.array(free, np.int64).reshape(-1, 2),
        damping,
        friction,
    )


def _is_simple(body: Body) -> bool:
    return body.kind != "floating"
