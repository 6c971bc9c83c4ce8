"""What happens to a joint at the limits of its position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.simulation.constants import PARTS_AT_STOPS
from kane_dynamics.simulation.plant import Plant

LimitPolicy = Literal["ignore", "stop", "compliant"]

POLICIES = ("ignore", "stop", "compliant")

SHARE_OF_PART = 0.1
"""Frequency of a joint at its stop times the length of a part: small enough to be accurate, and
stable even where a joint feels a hundredth of the inertia it has at the start."""


LARGEST_DEPTH = 10.0
"""How far beyond a limit a joint may start, in m/s or rad/s times the time constant of its stop: a
motion can be continued from where it rests, or rebounds, at a compliant stop."""

ROUNDING = 1e-9
"""How far beyond a limit a joint may always start, in rad or m, or as a share of the position."""


@dataclass(frozen=True, eq=False)
class Stops:
    """Limits of positions, and the springs and dampers behind them.

    Attributes
    ----------
    policy : str
        ``"ignore"``, ``"stop"`` or ``"compliant"``.
    lower, upper : array (n,)
        For each speed the limits of its coordinate, infinite where there are none.
    stiffness, absorption : array (n,)
        N m/rad and N m s/rad, or N/m and N s/m.
    """

    policy: LimitPolicy
    lower: Array
    upper: Array
    stiffness: Array
    absorption: Array


def stops_of(plant: Plant, policy: LimitPolicy, q: Array, step: float) -> Stops:
    """Limits of a robot that starts at q.

    A compliant stop is critically damped, and its time constant is `step`, whatever the method: a
    joint that runs into it at a speed u goes u·step/e too far. Its stiffness is that for the
    inertia that the joint feels at the start when all others are free.
    """
    if policy not in POLICIES:
        raise ArgumentError(
            f"limits must be one of {', '.join(map(repr, POLICIES))}, got {policy!r}"
        )
    dynamics = plant.dynamics
    lower, upper = np.full(dynamics.dof, -np.inf), np.full(dynamics.dof, np.inf)
    stiffness, absorption = np.zeros(dynamics.dof), np.zeros(dynamics.dof)
    if policy == "ignore":
        return Stops(policy, lower, upper, stiffness, absorption)
    for joint, name in enumerate(dynamics.joint_names):
        if name in dynamics.speed_names:
            speed = dynamics.speed_names.index(name)
            lower[speed] = dynamics.limits.lower[joint]
            upper[speed] = dynamics.limits.upper[joint]
    depth = LARGEST_DEPTH * step if policy == "compliant" else 0.0
    _refuse_outside(plant, q, lower - depth, upper + depth, depth)
    if policy == "compliant":
        frequency = SHARE_OF_PART * PARTS_AT_STOPS / step
        inertia = _felt_inertia(dynamics.mass_matrix(q))
        stiffness, absorption = inertia * frequency**2, 2.0 * inertia * frequency
    return Stops(policy, lower, upper, stiffness, absorption)


def within(stops: Stops, plant: Plant, q: Array) -> Array:
    """Coordinates to start from: where limits are the end, none is beyond them by rounding."""
    if stops.policy != "stop":
        return q
    q, driven = q.copy(), plant.driven
    coordinate = plant.coordinate[driven]
    q[coordinate] = np.clip(q[coordinate], stops.lower[driven], stops.upper[driven])
    return q


def _refuse_outside(plant: Plant, q: Array, lower: Array, upper: Array, depth: float) -> None:
    for speed in plant.driven:
        position = q[plant.coordinate[speed]]
        rounding = ROUNDING * max(1.0, abs(position))
        if not lower[speed] - rounding <= position <= upper[speed] + rounding:
            raise ArgumentError(
                f"q0: '{plant.dynamics.speed_names[speed]}' starts at {position:.12g}, outside of "
                f"its limits {lower[speed] + depth:.12g} and {upper[speed] - depth:.12g}; start "
                "inside, or ignore limits"
            )


def _felt_inertia(mass: Array) -> Array:
    try:
        inertia: Array = 1.0 / np.diag(np.linalg.inv(mass))
    except np.linalg.LinAlgError:
        inertia = np.diag(mass).copy()
    return inertia
