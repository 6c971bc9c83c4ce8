"""How far joints may be from a trajectory, and at its end from the goal.

What the numbers in a goal mean is what they mean to joint_trajectory_controller: a positive one is
the tolerance, zero stands for the default of the node, and -1 for no tolerance at all. Tolerances
of accelerations are read but not looked at, because joint states carry none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.axes import Axes
from kane_dynamics.ros.trajectories.verdicts import Code, Refused, Verdict
from kane_dynamics.simulation.trajectory import Sample

ERASED = -1.0
"""What stands for no tolerance in a goal."""

_ANY = math.inf


class Tolerances(NamedTuple):
    """What a goal asks of m joints.

    Attributes
    ----------
    path, goal : array (2, m)
        Largest errors of positions and of velocities on the way, and at the end; infinite where
        any will do.
    goal_time : float
        Time after the last point within which the joints must be within `goal`, s.
    """

    path: Array
    goal: Array
    goal_time: float


def tolerances_of(goal: Any, names: Sequence[str], settings: Settings) -> Tolerances:
    """The tolerances of a goal message about some joints, those of the settings where it has none.

    Raises Refused if they are about joints that are not in the trajectory, or a number means
    nothing.
    """
    for field in ("component_path_tolerance", "component_goal_tolerance"):
        if getattr(goal, field):
            raise Refused(
                Code.INVALID_GOAL,
                f"{field} is about joints with several degrees of freedom, and the robot has none",
            )
    given = goal.goal_time_tolerance
    seconds = given.sec + given.nanosec / SECOND
    at_end = settings.goal_tolerance, settings.stopped_velocity_tolerance
    return Tolerances(
        _bounds("path_tolerance", goal.path_tolerance, names, settings.path_tolerance, 0.0),
        _bounds("goal_tolerance", goal.goal_tolerance, names, *at_end),
        _resolved("goal_time_tolerance", seconds, settings.goal_time),
    )


def _bounds(
    field: str, messages: Sequence[Any], names: Sequence[str], position: float, velocity: float
) -> Array:
    bounds = np.array([[position or _ANY] * len(names), [velocity or _ANY] * len(names)])
    for message in messages:
        if message.name not in names:
            raise Refused(
                Code.INVALID_JOINTS,
                f"{field} names joint {message.name!r}, which is not in the trajectory",
            )
        about = f"of joint {message.name!r} in {field}"
        bounds[:, names.index(message.name)] = (
            _resolved(f"position {about}", message.position, position),
            _resolved(f"velocity {about}", message.velocity, velocity),
        )
        _resolved(f"acceleration {about}", message.acceleration, 0.0)
    return bounds


def _resolved(what: str, given: float, default: float) -> float:
    """The tolerance that a number in a goal stands for."""
    if given == 0.0:
        return default or _ANY
    if given == ERASED:
        return _ANY
    if given > 0.0:
        return given
    raise Refused(
        Code.INVALID_GOAL,
        f"{what} is {given:g}, expected a positive number, 0 for the default, or -1 for any",
    )


class Judge:
    """Judges how the joints of a goal follow its trajectory, whose last point is at `end` s."""

    def __init__(self, tolerances: Tolerances, end: float, axes: Axes) -> None:
        self._tolerances, self._end, self._axes = tolerances, end, axes
        self._errors = np.empty_like(tolerances.path)
        self._first = True

    def judge(
        self, t: float, desired: Sample, positions: Array, velocities: Array
    ) -> Verdict | None:
        """The verdict on a state at a time in s; None as long as there is none.

        A trajectory that lies behind when it is looked at for the first time must be within the
        tolerance of its path, too.
        """
        self._errors[0] = self._axes.off(desired.positions, positions)
        self._errors[1] = desired.velocities - velocities
        np.abs(self._errors, out=self._errors)
        if t < self._end or self._first:
            self._first = False
            excess = self._excess(self._tolerances.path)
            if excess:
                sentence = f"at {t:.3f} s of the trajectory, {excess}"
                return Verdict(Code.PATH_TOLERANCE_VIOLATED, sentence)
        if t < self._end:
            return None
        excess = self._excess(self._tolerances.goal)
        if not excess:
            return Verdict(Code.SUCCESSFUL)
        late = t - self._end
        if late <= self._tolerances.goal_time:
            return None
        return Verdict(
            Code.GOAL_TOLERANCE_VIOLATED,
            f"{late:.3f} s after the end of the trajectory, {excess}; the time for that was "
            f"{self._tolerances.goal_time:g} s",
        )

    def _excess(self, bounds: Array) -> str:
        """What is beyond its bound by the largest factor, in words; nothing if all is within."""
        if (self._errors <= bounds).all():
            return ""
        factors = np.nan_to_num(self._errors / bounds, nan=np.inf, posinf=np.inf)
        of_velocity, k = np.unravel_index(int(factors.argmax()), factors.shape)
        what = "the velocity" if of_velocity else "the position"
        unit = self._axes.unit(k) + ("/s" if of_velocity else "")
        return (
            f"{what} of joint {self._axes.names[k]!r} is {self._errors[of_velocity, k]:.4g} {unit} "
            f"off, expected at most {bounds[of_velocity, k]:.4g} {unit}"
        )
