"""How far a motion can be trusted: what should be zero, and how large it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.robot.tree import GROUND, Body
from kane_dynamics.simulation.plant import Plant

if TYPE_CHECKING:
    from kane_dynamics.simulation.motion import Motion

Array = NDArray[np.float64]

IMBALANCE = 0.1
ROUNDING = 1e-9
PARALLEL = 1e-12
AXES = "xyz"


@dataclass(frozen=True)
class Checks:
    """What should be zero in a simulated motion.

    Attributes
    ----------
    energy_error : float
        Largest difference between the change of mechanical energy since the start and the work of
        torques, friction, stops and wrenches, J.
    relative_energy_error : float
        The same, divided by the largest energy that went back and forth.
    local_error : float
        Largest estimated error of one step, over coordinates and speeds in their units: by two
        steps of half the length, or with a tolerance a hundred times smaller, in a sample of steps.
    round_trip_error : float
        Largest difference between the forces that acted and those that inverse dynamics asks for
        the motion, N m or N.
    momentum_errors : dict from str to float
        Largest change of each momentum that nothing acts on, such as "angular momentum about z"
        (kg m²/s) or "momentum of joint 'slide'".
    """

    energy_error: float
    relative_energy_error: float
    local_error: float
    round_trip_error: float
    momentum_errors: Mapping[str, float]


def count_before_imbalance(kinetic: Array, potential: Array, work: Array) -> int:
    """Number of states before the first whose energy does not come from the work done; at least 1.

    That is where a diverging motion has ceased to be one of the robot.
    """
    energy = kinetic + potential
    missing = np.abs(energy - energy[0] - work)
    exchanged = np.max([kinetic, np.abs(potential - potential[0]), np.abs(work)], axis=0)
    largest = IMBALANCE * np.maximum.accumulate(exchanged) + ROUNDING * np.abs(energy[0])
    wrong = np.flatnonzero(missing > largest)
    return int(wrong[0]) if len(wrong) else len(energy)


def checks_of(motion: Motion, plant: Plant, local_error: float) -> Checks:
    """Compute the checks of a motion."""
    energy = motion.kinetic + motion.potential
    energy_error = float(np.abs(energy - energy[0] - motion.work).max())
    scale = max(np.max(motion.kinetic), np.ptp(motion.potential), np.ptp(motion.work))
    force = motion.tau + motion.other_forces
    asked = plant.dynamics.inverse_dynamics(motion.q, motion.u, motion.udot)
    errors = {
        name: float(np.abs(values - values[0]).max())
        for name, values in _conserved(motion, plant, force)
    }
    return Checks(
        energy_error=energy_error,
        relative_energy_error=energy_error / float(scale) if scale > 0.0 else 0.0,
        local_error=local_error,
        round_trip_error=float(np.abs(asked - force).max()),
        momentum_errors=errors,
    )


def _conserved(motion: Motion, plant: Plant, force: Array) -> Iterator[tuple[str, Array]]:
    """Names and values (K,) of momenta that nothing acts on."""
    tree, gravity = plant.dynamics.tree, np.array(plant.dynamics.gravity_vector)
    rooted = [body for body in tree.bodies if body.parent == GROUND]
    if len(rooted) == 1 and rooted[0].kind == "floating":
        if not force[:, rooted[0].speed : rooted[0].speed + 6].any():
            yield from _conserved_of_whole(motion, plant, gravity)
        return
    for body in rooted:
        shared = sum(other.speed == body.speed for other in tree.bodies) > 1
        if body.kind == "floating" or shared or not _is_free(body, plant, gravity, force):
            continue
        # the generalized momentum of a joint on the ground: its coordinate is cyclic
        rows = plant.dynamics.mass_matrix(motion.q)[:, body.speed]
        name = tree.speed_names[body.speed]
        yield f"momentum of joint '{name}'", np.einsum("ki,ki->k", rows, motion.u)


def _conserved_of_whole(
    motion: Motion, plant: Plant, gravity: Array
) -> Iterator[tuple[str, Array]]:
    linear, angular = plant.dynamics.momentum(motion.q, motion.u)
    for k, axis in enumerate(AXES):
        if gravity[k] == 0.0:
            yield f"linear momentum along {axis}", linear[:, k]
        if not np.delete(gravity, k).any():
            yield f"angular momentum about {axis}", angular[:, k]


def _is_free(body: Body, plant: Plant, gravity: Array, force: Array) -> bool:
    """Whether nothing acts along a joint on the ground: no force, no damping, no weight."""
    if force[:, body.speed].any() or plant.damping[body.speed]:
        return False
    axis = np.array(body.rotation) @ np.array(body.axis)
    along = np.cross(axis, gravity) if body.kind == "revolute" else axis @ gravity
    return bool(np.abs(along).max() <= PARALLEL * max(np.abs(gravity).max(), 1.0))
