"""The efforts of a plan at its points and between them, judged by the limits of the robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.commands.bounds import outside
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.limits import as_commanded, torques_of
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.trajectories.plans import Plan
from kane_dynamics.simulation.trajectory import Sample

CAUSE = "limits"

IMPOSSIBLE = 2.0
"""Times the effort limit that no joint is asked for."""

TO_REST = 0.001
"""Seconds after which a trajectory whose last point still decelerates is at rest.

Short, for a controller goes over to the effort that holds the arm linearly.
"""

AT_REST = 1e-6
"""Rad/s or m/s, up to which a last point is at rest: senders round."""


class Course(NamedTuple):
    """A plan at times close to each other.

    Attributes
    ----------
    times : array (N,)
        In s after the reference time: those given, others between them, the last one at rest.
    states : Sample
        Of all joints (N, n).
    efforts : array (N, n)
        Within the effort limits.
    beyond : str
        The sentence about a joint that exceeds a limit; empty if none does.
    unfit : str
        The same, if the robot must not be moved so.
    restless : str
        The sentence about a joint that still moves at the last point, after which it would have to
        stand still: this node does not follow that, a controller may. Empty if none does.
    """

    times: Array
    states: Sample
    efforts: Array
    beyond: str
    unfit: str
    restless: str


def course_of(plan: Plan, model: Model, settings: Settings) -> Course:
    """The course of a plan.

    Raises Fault if efforts are not finite, or limits are exceeded and the settings reject that.
    """
    motion = plan.motion
    times = _dense(motion.times, settings.point_spacing, settings.max_trajectory_points)
    states = _exact(plan, times)
    at_rest = (np.abs(motion.velocities[-1]) <= AT_REST).all()
    if at_rest and motion.accelerations[-1].any():
        times = np.append(times, times[-1] + TO_REST)
        last = (states.positions[-1:], *(np.zeros_like(x[-1:]) for x in states[1:]))
        states = Sample(*(np.vstack(pair) for pair in zip(states, last)))
    if at_rest:  # a controller takes the smallest speed at the end for one
        states.velocities[-1] = 0.0
    efforts = torques_of(model.efforts, *states)
    moves = _beyond_motion(model, times, states)
    needs, worst = _beyond_effort(model, times, efforts)
    impossible = needs if worst > IMPOSSIBLE else ""
    if settings.limits == "reject" and (moves or needs):
        raise Fault(CAUSE, moves or needs)
    if settings.limits == "warn" and impossible:
        raise Fault(CAUSE, f"{impossible}: give the motion more time")
    unfit = moves or impossible
    efforts = as_commanded(efforts, states.positions, model, settings)
    restless = "" if at_rest else _restless(model, times, states)
    return Course(times, states, efforts, moves or needs, unfit, restless)


def _dense(times: Array, spacing: float, most: int) -> Array:
    """Times with others between them, none farther apart than the spacing."""
    if not spacing or len(times) < 2:
        return times
    gaps = np.diff(times)
    room = max(most - len(times), 0)
    spacing = max(spacing, float(times[-1] - times[0]) / room) if room else np.inf
    pieces = np.maximum(np.ceil(gaps / spacing - 1e-9), 1).astype(np.intp)
    if (pieces == 1).all():
        return times
    starts, lengths = np.repeat(times[:-1], pieces), np.repeat(gaps / pieces, pieces)
    within = np.arange(len(starts)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.append(starts + within * lengths, times[-1])


def _exact(plan: Plan, times: Array) -> Sample:
    """States at times; at the points of the motion exactly those of the points."""
    states, motion = plan.states(times), plan.motion
    if plan.whole is not None:
        return states
    rows = np.searchsorted(times, motion.times)
    columns = np.ix_(rows, plan.joints)
    for values, given in zip(states, (motion.positions, motion.velocities, motion.accelerations)):
        values[columns] = given
    return states


def _beyond_motion(model: Model, times: Array, states: Sample) -> str:
    """The sentence about a joint beyond its limits of position or velocity; empty if none is."""
    limits = model.dynamics.limits
    far = outside(states.positions, limits.lower, limits.upper)
    # a joint that is beyond a limit already may come back
    far &= np.abs(states.positions - states.positions[0]) > 1e-9
    back = np.where(
        states.positions > limits.upper,
        states.positions <= states.positions[0],
        states.positions >= states.positions[0],
    )
    far &= ~back
    if far.any():
        k, j = (int(index) for index in np.argwhere(far)[0])
        low, high = limits.lower[j], limits.upper[j]
        return (
            f"joint {model.joint_names[j]!r} is to be at {states.positions[k, j]:.4g} at "
            f"{times[k]:.4g} s, its limits are {low:.4g} and {high:.4g}"
        )
    excess = np.abs(states.velocities) - model.velocity_limits * (1.0 + 1e-6)
    k, j = (int(index) for index in np.unravel_index(int(excess.argmax()), excess.shape))
    if excess[k, j] <= 0.0:
        return ""
    return (
        f"joint {model.joint_names[j]!r} is to move at {states.velocities[k, j]:.4g} at "
        f"{times[k]:.4g} s, its velocity limit is {model.velocity_limits[j]:g}"
    )


def _restless(model: Model, times: Array, states: Sample) -> str:
    last = states.velocities[-1]
    worst = int(np.abs(last).argmax())
    return (
        f"joint {model.joint_names[worst]!r} is to move at {last[worst]:.4g} at the last point, at "
        f"{times[-1]:.4g} s, expected a trajectory that ends at rest"
    )


def _beyond_effort(model: Model, times: Array, efforts: Array) -> tuple[str, float]:
    """The sentence about the effort that exceeds its limit most, and how many times it does."""
    limits = model.effort_limits
    # a limit of zero is more often a URDF without limits than a joint without effort
    shares = np.where(
        limits > 0.0, np.abs(efforts) / np.maximum(limits, 1e-300), 0.0 + 1.5 * (efforts != 0.0)
    )
    k, j = (int(index) for index in np.unravel_index(int(shares.argmax()), shares.shape))
    if shares[k, j] <= 1.0:
        return "", 0.0
    sentence = (
        f"joint {model.joint_names[j]!r} needs {efforts[k, j]:.4g} at {times[k]:.4g} s, "
        f"beyond its effort limit of {model.effort_limits[j]:g}"
    )
    return sentence, float(shares[k, j])
