"""Trajectories at their place in time: from where they start, and which one counts when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.stamps import SECOND
from kane_dynamics.ros.trajectories import CAUSE, LONGEST, Points
from kane_dynamics.simulation.trajectory import Sample, Start, Trajectory, trajectory_through

_MOST_WAITING = 16


@dataclass(frozen=True, eq=False)
class Plan:
    """A trajectory of some joints at its place in time; the other joints are held.

    Attributes
    ----------
    motion : Trajectory
        Of the joints named, in s after `reference`.
    joints : array of int
        Their places in the robot.
    held : array (n,)
        Where the others are.
    reference, begin, end : int
        Time of time_from_start = 0, and when the plan takes over and ends, in ns.
    """

    motion: Trajectory
    joints: NDArray[np.intp]
    held: Array
    reference: int
    begin: int
    end: int

    def at(self, now: int) -> Sample:
        """State of all joints of the robot at a time in ns; after the end they rest."""
        t = (now - self.reference) / SECOND
        part = self.motion.sample(min(t, self.motion.end) if now <= self.end else t)
        return among_others(part, self.joints, self.held)

    def last_points(self, count: int) -> Sample:
        """State of all joints at the last points of the motion."""
        motion = self.motion
        parts = (motion.positions, motion.velocities, motion.accelerations)
        return among_others(Sample(*(x[-count:] for x in parts)), self.joints, self.held)


def among_others(part: Sample, joints: NDArray[np.intp], held: Array) -> Sample:
    """The state of all joints, those not in `part` at rest at `held`."""
    shape = (*part.positions.shape[:-1], len(held))
    whole = Sample(np.broadcast_to(held, shape).copy(), np.zeros(shape), np.zeros(shape))
    for all_joints, some in zip(whole, part):
        all_joints[..., joints] = some
    return whole


class Schedule:
    """Plans one after the other, each until the next one begins."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def add(self, plan: Plan) -> None:
        """Put a plan in place of all that would have come after it begins."""
        earlier = [each for each in self.plans if each.begin < plan.begin]
        if len(earlier) > _MOST_WAITING:
            raise Fault(CAUSE, f"{_MOST_WAITING} trajectories are waiting for their time already")
        self.plans = [*earlier, plan]

    def due(self, now: int) -> Plan | None:
        """The plan that counts at a time; None before the first begins."""
        return next((plan for plan in reversed(self.plans) if plan.begin <= now), None)

    def drop_finished(self, now: int) -> None:
        """Forget plans that have ended, and those that another one has replaced."""
        due = self.due(now)
        first = 0 if due is None else self.plans.index(due)
        self.plans = [plan for plan in self.plans[first:] if plan.end > now or plan.begin > now]


def plan_for(
    points: Points, stamp: int, now: int, model: Model, states: JointStates, schedule: Schedule
) -> Plan:
    """The plan for points of a message.

    Parameters
    ----------
    stamp, now : int
        Stamp of the message and present time, in ns; a stamp of zero stands for now.

    Raises
    ------
    Fault
        If the trajectory lies in the past or in the far future, its points are no motion, or the
        position of a joint is needed and not known.
    """
    reference = stamp or now
    end = reference + round(float(points.times[-1]) * SECOND)
    if end < now:
        raise Fault(CAUSE, f"the trajectory ended {(now - end) / SECOND:.3g} s ago")
    if reference - now > LONGEST * SECOND:
        raise Fault(
            CAUSE,
            f"the trajectory starts in {(reference - now) / SECOND:.3g} s: does its sender use "
            "another clock?",
        )
    begin = max(now, reference)
    positions, velocities = _state_at(begin, now, states, schedule)
    _check_held(positions, points, model)
    held = np.where(np.isnan(positions), 0.0, positions)
    start = None
    if not np.isnan(positions[points.joints]).any():
        where = _nearest_turn(positions, points, model)
        start = Start((begin - reference) / SECOND, where, velocities[points.joints])
    try:
        motion = trajectory_through(
            points.times,
            points.positions,
            points.velocities,
            points.accelerations,
            start,
            points.names,
        )
    except ArgumentError as error:
        raise Fault(CAUSE, str(error)) from None
    begin = max(begin, reference + round(motion.begin * SECOND))
    return Plan(motion, points.joints, held, reference, begin, end)


def _state_at(begin: int, now: int, states: JointStates, schedule: Schedule) -> tuple[Array, Array]:
    """Positions and velocities when a plan takes over; NaN where they are not known.

    Now that is the joint state; later it is where the plan before will have brought the joints.
    """
    before = schedule.due(begin)
    if begin > now and before is not None:
        state = before.at(begin)
        return state.positions, state.velocities
    moving = states.velocities if begin == now else np.zeros_like(states.velocities)
    return states.positions.copy(), moving.copy()


def _check_held(positions: Array, points: Points, model: Model) -> None:
    unknown = set(np.flatnonzero(np.isnan(positions))) - set(points.joints)
    if unknown:
        name = model.joint_names[min(unknown)]
        raise Fault(
            CAUSE,
            f"joint {name!r} is not in the trajectory, and where to hold it is not known: "
            "no joint state has named it yet",
        )


def _nearest_turn(positions: Array, points: Points, model: Model) -> Array:
    """Start positions, those of continuous joints by whole turns nearest to the first point."""
    where: Array = positions[points.joints]
    turns = np.round((points.positions[0] - where) / (2.0 * np.pi))
    return where + np.where(model.turns[points.joints], 2.0 * np.pi * turns, 0.0)
