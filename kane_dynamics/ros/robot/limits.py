"""Efforts against the limits of the URDF: warned about, cut off, or refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.faults import Faults, Unsafe
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model

CAUSE = "effort limits"
NOT_FINITE = "torques not finite"


def torques_of(function: Callable[..., Array], *state: Array) -> Array:
    """What a function of a model gives for a state.

    Raises Unsafe if that is not finite.
    """
    try:
        return function(*state)
    except ArgumentError as error:
        raise Unsafe(NOT_FINITE, str(error)) from None


def within_limits(efforts: Array, model: Model, policy: str, faults: Faults) -> Array:
    """Efforts, (n,) or (N, n), as the policy lets them pass.

    Raises Unsafe if an effort is beyond its limit, and the policy is to reject it.

    Parameters
    ----------
    policy : {"warn", "clamp", "reject"}
    """
    if (np.abs(efforts) <= model.effort_limits).all():
        return efforts
    fault = Unsafe(CAUSE, beyond_limits(efforts, model))
    if policy == "reject":
        raise fault
    faults.record(fault)
    return clamped(efforts, model) if policy == "clamp" else efforts


def beyond_limits(efforts: Array, model: Model) -> str:
    """The sentence about the effort that exceeds its limit most; empty if none does."""
    rows = np.atleast_2d(efforts)
    excess = np.abs(rows) - model.effort_limits
    point, joint = np.unravel_index(int(excess.argmax()), excess.shape)
    if excess[point, joint] <= 0.0:
        return ""
    place = f" at point {point}" if efforts.ndim == 2 else ""
    return (
        f"joint {model.joint_names[joint]!r} needs {rows[point, joint]:.4g}{place}, "
        f"beyond its effort limit of {model.effort_limits[joint]:g}"
    )


def clamped(efforts: Array, model: Model) -> Array:
    """Efforts, those beyond a limit at the limit."""
    return np.minimum(np.maximum(efforts, -model.effort_limits), model.effort_limits)


def as_commanded(efforts: Array, positions: Array, model: Model, settings: Settings) -> Array:
    """Efforts within the limits, without those against gravity where the robot adds them itself.

    What it adds counts for its limits: its joints have no more effort for that.
    """
    within = clamped(efforts, model)
    if settings.robot_compensates_gravity:
        within = within - model.gravity(positions)
    return within
