"""What happens to a joint at the limits of its position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.errors import ArgumentError
from kane_dynamics.simulation.plant import Plant

Array = NDArray[np.float64]
LimitPolicy = Literal["ignore", "stop", "compliant"]

POLICIES = ("ignore", "stop", "compliant")

PARTS_AT_STOPS = 10
"""Parts of a step while a joint is at a stop; the same stands in integrator.c."""

SHARE_OF_PART = 0.1
"""Frequency of a joint at its stop times the length of a part: small enough to be accurate, and
stable even where a joint feels a hundredth of the inertia it has at the start."""


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

    A compliant stop is critically damped, and as stiff as the step allows for the inertia that a
    joint feels at the start when all others are free.
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
    _refuse_outside(plant, q, lower, upper)
    if policy == "compliant":
        frequency = SHARE_OF_PART * PARTS_AT_STOPS / step
        inertia = _felt_inertia(dynamics.mass_matrix(q))
        stiffness, absorption = inertia * frequency**2, 2.0 * inertia * frequency
    return Stops(policy, lower, upper, stiffness, absorption)


def _refuse_outside(plant: Plant, q: Array, lower: Array, upper: Array) -> None:
    for speed in plant.driven:
        position = q[plant.coordinate[speed]]
        if not lower[speed] <= position <= upper[speed]:
            raise ArgumentError(
                f"q0: '{plant.dynamics.speed_names[speed]}' starts at {position:g}, outside of its "
                f"limits {lower[speed]:g} and {upper[speed]:g}; start inside, or ignore limits"
            )


def _felt_inertia(mass: Array) -> Array:
    try:
        inertia: Array = 1.0 / np.diag(np.linalg.inv(mass))
    except np.linalg.LinAlgError:
        inertia = np.diag(mass).copy()
    return inertia
