"""Goals of ~/follow_joint_trajectory into points, and results and feedback into messages."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from rclpy.clock import Clock
from trajectory_msgs.msg import JointTrajectoryPoint

from kane_dynamics.arrays import Array
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.messages.arrays import message_array
from kane_dynamics.ros.messages.stamps import SECOND, duration_of, nanoseconds_of
from kane_dynamics.ros.robot.axes import Axes
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.trajectories.points import Points, joint_places, read_points
from kane_dynamics.ros.trajectories.verdicts import Code, Refused, Verdict, as_refused
from kane_dynamics.simulation.trajectory import Sample

FEEDBACK_PERIOD = 0.05
"""Seconds between two feedbacks."""


def read_goal(goal: Any, model: Model, most: int, now: int) -> Points:
    """The points of a goal, at most so many, which has not ended at the ROS time `now` in ns.

    Raises Refused if its joints, its points or its place in time are wrong.
    """
    check_joints(goal, model)
    try:
        points = read_points(goal.trajectory, model, most)
    except Fault as fault:
        raise as_refused(fault) from None
    stamp = nanoseconds_of(goal.trajectory.header.stamp)
    end = stamp + round(float(points.times[-1]) * SECOND)
    if stamp and end < now:
        raise Refused(
            Code.OLD_HEADER_TIMESTAMP, f"the trajectory ended {(now - end) / SECOND:.3g} s ago"
        )
    return points


def check_joints(goal: Any, model: Model) -> None:
    """Refuse joints that the robot does not have, and joints with several degrees of freedom."""
    if goal.multi_dof_trajectory.joint_names or goal.multi_dof_trajectory.points:
        raise Refused(
            Code.INVALID_JOINTS,
            "multi_dof_trajectory is about joints with several degrees of freedom, and the robot "
            "has none",
        )
    try:
        joint_places(tuple(goal.trajectory.joint_names), model)
    except Fault as fault:
        raise Refused(Code.INVALID_JOINTS, fault.sentence) from None


def result_of(verdict: Verdict) -> FollowJointTrajectory.Result:
    """The result of a goal with that verdict."""
    return FollowJointTrajectory.Result(error_code=int(verdict.code), error_string=verdict.sentence)


class Feedback:
    """Tells the client of a goal where the joints should be and are, not too often.

    The points of the trajectory are at `times` (N,) in s.
    """

    def __init__(self, handle: Any, times: Array, axes: Axes, clock: Clock) -> None:
        self._handle, self._times, self._axes, self._clock = handle, times, axes, clock
        self._told = -np.inf

    def tell(
        self, t: float, desired: Sample, positions: Array, velocities: Array, last: bool
    ) -> None:
        """Tell of a state if it is time to, or it is the last."""
        now = time.monotonic()
        if now - self._told < FEEDBACK_PERIOD and not last:
            return
        self._told = now
        missing = self._axes.off(desired.positions, positions)
        message = FollowJointTrajectory.Feedback(
            joint_names=list(self._axes.names),
            desired=_point(t, *desired),
            actual=_point(t, positions, velocities),
            error=_point(t, missing, desired.velocities - velocities),
            index=min(int(self._times.searchsorted(t, "right")), len(self._times) - 1),
        )
        message.header.stamp = self._clock.now().to_msg()
        self._handle.publish_feedback(message)


def _point(
    t: float, positions: Array, velocities: Array, accelerations: Array | None = None
) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(
        positions=message_array(positions),
        velocities=message_array(velocities),
        time_from_start=duration_of(t),
    )
    if accelerations is not None:
        point.accelerations = message_array(accelerations)
    return point
