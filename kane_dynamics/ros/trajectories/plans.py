"""Trajectories at their place in time: from where they start, and which one is due when."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.ros.faults import Fault, blamed_on
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.model import Model, among_others
from kane_dynamics.ros.trajectories.observer import Observer
from kane_dynamics.ros.trajectories.points import CAUSE, LONGEST, Points
from kane_dynamics.ros.trajectories.verdicts import Code, Verdict
from kane_dynamics.simulation.trajectory import Sample, Start, Trajectory

CONSTRAINTS = "constraints"

SPACING = 0.01
"""Seconds between times at which joints are moved as constraints allow, at least so close."""

_MOST_PIECES, _MOST_WAITING = 10_000, 16


@dataclass(eq=False)
class Plan:
    """A trajectory of some joints at its place in time; others are held, or follow from it.

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
    observer : Observer
        Sees how it is followed.
    whole : Trajectory, optional
        Of all joints, where there are constraints that hold.
    withdrawn : bool
        Whether the robot is not to be moved by it, or no longer.
    followed : bool
        Whether the robot has been moved by it; who does so then tells the observer how it ends.
    """

    motion: Trajectory
    joints: NDArray[np.intp]
    held: Array
    reference: int
    begin: int
    end: int
    observer: Observer
    whole: Trajectory | None = None
    withdrawn: bool = False
    followed: bool = False

    def at(self, now: int) -> Sample:
        """State of all joints of the robot at a time in ns; after the end they rest."""
        t = (now - self.reference) / SECOND
        motion = self.motion if self.whole is None else self.whole
        part = motion.sample_one(min(t, motion.end) if now <= self.end else t)
        if self._all or self.whole is not None:
            return part
        return among_others(part, self.joints, self.held)

    @cached_property
    def _all(self) -> bool:
        """Whether all joints are named, in the order of the robot."""
        return np.array_equal(self.joints, np.arange(len(self.held)))

    def states(self, times: Array) -> Sample:
        """State of all joints at times (N,) in s after the reference time."""
        if self.whole is not None:
            return self.whole.sample(times)
        return among_others(self.motion.sample(times), self.joints, self.held)

    def judged(
        self, now: int, wanted: Sample, positions: Array, velocities: Array
    ) -> Verdict | None:
        """The observer's verdict; success counts from the end on."""
        t = (now - self.reference) / SECOND
        if not self._all:
            joints = self.joints
            wanted = Sample(*(values[joints] for values in wanted))
            positions, velocities = positions[joints], velocities[joints]
        verdict = self.observer.state(t, wanted, positions, velocities)
        early = verdict is not None and verdict.code is Code.SUCCESSFUL and now <= self.end
        return None if early else verdict

    @property
    def trips(self) -> bool:
        """Whether it is a fault if it cannot be followed."""
        return self.observer.trips

    def over(self, sentence: str) -> None:
        """Tell the observer that the plan is not followed any more."""
        self.observer.over(sentence)

    def withdraw(self, sentence: str) -> None:
        """Let the robot not be moved by it, and tell the observer why."""
        if not self.withdrawn:
            self.withdrawn = True
            self.over(sentence)


class Timetable:
    """Plans one after the other, each until the next one begins."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def add(self, plan: Plan) -> None:
        """Put a plan in place of all that would have come after it begins."""
        earlier = [each for each in self.plans if each.begin < plan.begin]
        if len(earlier) > _MOST_WAITING:
            raise Fault(CAUSE, f"{_MOST_WAITING} trajectories are waiting for their time already")
        for each in self.plans[len(earlier) :]:
            if not each.followed:
                each.withdraw("another trajectory has taken its place")
        self.plans = [*earlier, plan]

    def due(self, now: int) -> Plan | None:
        """The plan that is due at a time, from its begin to its end; None if none is.

        This is the one value that says so, to all who ask.
        """
        plan = self.newest(now)
        return plan if plan is not None and now <= plan.end else None

    def newest(self, now: int) -> Plan | None:
        """The plan that has begun last, over or not."""
        return next((plan for plan in reversed(self.plans) if plan.begin <= now), None)

    def drop_finished(self, now: int) -> None:
        """Forget plans that have ended, and those that another one has replaced.

        Who waits for the end of one that the robot was never moved by hears of it.
        """
        newest = self.newest(now)
        first = 0 if newest is None else self.plans.index(newest)
        known = self.plans
        self.plans = [plan for plan in known[first:] if plan.end >= now or plan.begin > now]
        for plan in known:
            if plan not in self.plans and not plan.followed and not plan.trips:
                plan.withdraw("its time has passed before the robot could follow it")

    def withdraw(self, sentence: str) -> None:
        """Let the robot be moved by none of the plans."""
        for plan in self.plans:
            plan.withdraw(sentence)

    def withdraw_waiting(self, sentence: str) -> None:
        """Let the robot be moved by none of the plans that it is not moved by yet."""
        for plan in self.plans:
            if not plan.followed:
                plan.withdraw(sentence)


def plan_for(
    points: Points, reference: int, now: int, model: Model, start: Sample, observer: Observer
) -> Plan:
    """The plan for points.

    Raises Fault if the trajectory lies in the past or in the far future, its points are no motion,
    or the position of a joint is needed and not known.

    Parameters
    ----------
    reference, now : int
        Time of time_from_start = 0, and the present time, in ns.
    start : Sample
        State of the joints when the plan takes over; positions are NaN where they are not known.
    """
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
    _check_held(start.positions, points, model)
    held = np.where(np.isnan(start.positions), 0.0, start.positions)
    known = None
    if not np.isnan(start.positions[points.joints]).any():
        where = _nearest_turn(start.positions, points, model)
        known = Start((begin - reference) / SECOND, where, start.velocities[points.joints])
    with blamed_on(CAUSE):
        motion = points.motion(known)
    begin = max(begin, reference + round(motion.begin * SECOND))
    whole = _whole(motion, points, held, model) if model.active else None
    return Plan(motion, points.joints, held, reference, begin, end, observer, whole)


def _whole(motion: Trajectory, points: Points, held: Array, model: Model) -> Trajectory:
    """The motion of all joints; Fault if it violates constraints, which names one and the time."""
    pieces = max(1, min(int(np.ceil((motion.end - motion.begin) / SPACING)), _MOST_PIECES))
    between = np.linspace(motion.begin, motion.end, pieces + 1)
    times = np.unique(np.concatenate([motion.times, between]))
    times = times[np.append(True, np.diff(times) > 1e-9)]
    with blamed_on(CONSTRAINTS):
        states = model.completed(motion.sample(times), points.joints, held, times)
    return Trajectory(times, *states)


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
    return where + np.where(model.axes.continuous[points.joints], 2.0 * np.pi * turns, 0.0)
