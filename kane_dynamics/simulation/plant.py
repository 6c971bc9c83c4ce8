"""The robot as a simulation sees it: equations without dry friction, and what its joints feel."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.codegen import Backend
from kane_dynamics.codegen.address import state_address
from kane_dynamics.dynamics import Dynamics
from kane_dynamics.kane.programs import program, signature
from kane_dynamics.robot.model import Robot
from kane_dynamics.robot.tree import Body, Tree

Array = NDArray[np.float64]
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
    cache : bool or str
        Where compiled code is kept, as in `kane_dynamics.load`.
    """

    dynamics: Dynamics
    coordinate: Indices
    free: Indices
    damping: Array
    friction: Array
    cache: bool | str
    _addresses: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict, repr=False)

    @property
    def driven(self) -> Indices:
        """The speeds that a joint can drive: all but those of free joints."""
        return np.flatnonzero(self.coordinate >= 0)

    def address(self, name: str, links: tuple[str, ...] = ()) -> int:
        """Address of a compiled function of one state; CompileError where there is no compiler."""
        if (name, links) not in self._addresses:
            dynamics = self.dynamics
            self._addresses[name, links] = state_address(
                dynamics._key(links),
                lambda: program(dynamics._equations, name, links),
                signature(dynamics._tree, name, links),
                self.cache,
            )
        return self._addresses[name, links]


def plant_of(dynamics: Dynamics) -> Plant:
    """The robot of a `Dynamics` as a plant; the same one whenever it is asked for again."""
    cache = dynamics._cache
    return _plant(
        dynamics.robot,
        dynamics._tree,
        dynamics._equations.gravity,
        dynamics._backend,
        cache if isinstance(cache, bool) else os.fspath(cache),
    )


@lru_cache(maxsize=32)
def _plant(
    robot: Robot,
    tree: Tree,
    gravity: tuple[float, float, float],
    backend: Backend,
    cache: bool | str,
) -> Plant:
    smooth = replace(tree, bodies=tuple(replace(body, friction=0.0) for body in tree.bodies))
    coordinate = np.full(tree.nu, -1, np.int64)
    damping, friction = np.zeros(tree.nu), np.zeros(tree.nu)
    for body in filter(_is_simple, tree.bodies):
        coordinate[body.speed] = body.coordinate
        damping[body.speed] += body.multiplier**2 * body.damping
        friction[body.speed] += abs(body.multiplier) * body.friction
    free = [(body.coordinate, body.speed) for body in tree.bodies if not _is_simple(body)]
    return Plant(
        Dynamics(robot, smooth, gravity, backend, cache),
        coordinate,
        np.array(free, np.int64).reshape(-1, 2),
        damping,
        friction,
        cache,
    )


def _is_simple(body: Body) -> bool:
    return body.kind != "floating"
