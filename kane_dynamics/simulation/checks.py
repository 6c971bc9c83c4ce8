"""How far a motion can be trusted: what should be zero, and how large it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.robot.tree import GROUND, Body
from kane_dynamics.simulation.plant import Plant

if TYPE_CHECKING:
    from kane_dynamics.simulation.motion import Motion


SLOW = 1e-6
"""Speed below which a robot is at rest, rad/s or m/s."""

ROUNDING = 1e-9
"""Share of an energy within which changes are not told from rounding."""

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
        The same, divided by the largest energy that went back and forth; or by what speeds of
        1e-6 rad/s and m/s amount to, in a robot that rests.
    local_error : float
        Largest estimated error of one step, over coordinates and speeds in their units: by two
        steps of half the length, or with a tolerance a hundred times smaller; in those steps that
        seem worse than all before them, and in a sample of the others.
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


def energy_at_rest(plant: Plant, q: Array, potential: Array) -> float:
    """Energy that a robot may seem to exchange when it does not move, J: q (nq,) is its start."""
    tree = plant.dynamics.tree
    weight = sum(body.mass for body in tree.bodies) * np.linalg.norm(plant.dynamics.gravity_vector)
    height = np.abs(potential).max() + weight * 1.0  # m
    inertia = np.trace(plant.dynamics.mass_matrix(q))
    return float(0.5 * SLOW**2 * inertia + ROUNDING * height)


def checks_of(motion: Motion, plant: Plant, local_error: float) -> Checks:
    """Compute the checks of a motion."""
    energy = motion.kinetic + motion.potential
    energy_error = float(np.abs(energy - energy[0] - motion.work).max())
    scale = max(
        np.max(motion.kinetic),
        np.ptp(motion.potential),
        np.ptp(motion.work),
        energy_at_rest(plant, motion.q[0], motion.potential),
    )
    force = motion.tau + motion.other_forces
    asked = plant.dynamics.inverse_dynamics(motion.q, motion.u, motion.udot)
    errors = {
        name: float(np.abs(values - values[0]).max())
        for name, values in _conserved(motion, plant, force)
    }
    return Checks(
        energy_error=energy_error,
        relative_energy_error=energy_error / float(scale),
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
        if (
            body.kind not in ("revolute", "prismatic")
            or shared
            or not _is_free(body, plant, gravity, force)
        ):
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
