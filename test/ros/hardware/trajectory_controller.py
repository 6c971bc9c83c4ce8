"""Emulates a joint_trajectory_controller of ros2_controllers with effort command interfaces.

Written after what `joint_trajectory_controller.cpp` and `trajectory.cpp` do with default
parameters: between points positions are a quintic, a cubic or a line, by what the points have;
efforts are lines; before the first point it comes from the state and the command at the first
sample; after the last point it holds that point and its effort for ever. What it commands is the
effort of the next update plus gains on the errors of position and velocity. Before the first
trajectory it holds the position it began at, without effort. Unlike there, joints without end do
not take the shorter way round.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from hardware.settings import TRAJECTORIES, Settings

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """Where a trajectory is at a time in ns; None for what a message does not say."""

    time: int
    position: Array
    velocity: Array | None
    acceleration: Array | None
    effort: Array


class TrajectoryController:
    """Efforts that follow the newest trajectory; vectors are in the order of the joints.

    `commanded` says whether there has been one yet.
    """

    def __init__(self, node: Node, settings: Settings) -> None:
        self.heard = node.create_subscription(
            JointTrajectory, TRAJECTORIES, lambda message: None, 10
        )
        self.commanded = False
        self._logger = node.get_logger()
        self._joints = list(settings.joints)
        self._kp, self._kd = settings.kp, settings.kd
        self._period = round(1e9 / settings.update_rate)
        self._update = 0
        self._message: JointTrajectory | None = None
        self._points: list[Point] = []
        self._command = np.zeros(len(self._joints))

    def receive(self) -> None:
        """Take the newest trajectory that has come and is not refused."""
        while (taken := self.heard.handle.take_message(JointTrajectory, False)) is not None:
            fault = self._fault_of(taken[0])
            if fault:
                self._logger.error(fault)
            else:
                self._message = taken[0]

    def efforts(self, now: int, position: Array, velocity: Array) -> Array | None:
        """Efforts from a time in ns on; None between updates."""
        if abs(now - self._update) < self._period - 1000:
            return None
        self._update = now
        if not self._points:
            self._follow([Point(now, position, None, None, np.zeros_like(position))])
        if self._message is not None:
            message, self._message = self._message, None
            self.commanded = True
            self._follow(self._points_of(message, now))
            rest = None if self._points[0].acceleration is None else np.zeros_like(position)
            self._before = Point(now, position, velocity, rest, self._command)
        wanted, wanted_velocity, _ = self._sample(now)
        effort = self._sample(now + self._period)[2]
        errors = self._kp * (wanted - position) + self._kd * (wanted_velocity - velocity)
        self._command = effort + errors
        return self._command

    def _follow(self, points: list[Point]) -> None:
        self._points, self._times = points, [point.time for point in points]

    def _sample(self, now: int) -> tuple[Array, Array, Array]:
        """Position, velocity and effort that are wanted at a time in ns."""
        points = self._points
        following = bisect_right(self._times, now)
        if following == 0:
            return between(self._before, points[0], now)
        if following < len(points):
            return between(points[following - 1], points[following], now)
        last = points[-1]
        velocity = np.zeros_like(last.position) if last.velocity is None else last.velocity
        return last.position, velocity, last.effort

    def _points_of(self, message: JointTrajectory, now: int) -> list[Point]:
        stamp = _nanoseconds(message.header.stamp)
        order = [list(message.joint_names).index(name) for name in self._joints]

        def ordered(values: object) -> Array | None:
            numbers = np.array(values, dtype=float)
            return numbers[order] if len(numbers) else None

        points = []
        for point in message.points:
            effort = ordered(point.effort)
            points.append(
                Point(
                    (stamp or now) + _nanoseconds(point.time_from_start),
                    ordered(point.positions),
                    ordered(point.velocities),
                    ordered(point.accelerations),
                    np.zeros(len(order)) if effort is None else effort,
                )
            )
        return points

    def _fault_of(self, message: JointTrajectory) -> str:
        """Why a trajectory is refused; empty if it is not."""
        count = len(self._joints)
        if sorted(message.joint_names) != sorted(self._joints):
            return "the trajectory does not name the joints of the controller"
        if not message.points:
            return "the trajectory is empty"
        if any(abs(speed) > 1e-7 for speed in message.points[-1].velocities):
            return "the velocity of the last point is not zero"
        times = [_nanoseconds(point.time_from_start) for point in message.points]
        if any(second <= first for first, second in pairwise(times)):
            return "the times of the points do not increase"
        stamp = _nanoseconds(message.header.stamp)
        if stamp and stamp + times[-1] < time.time_ns():
            return "the trajectory ends in the past"
        for point in message.points:
            optional = point.velocities, point.accelerations, point.effort
            if len(point.positions) != count or any(
                len(each) not in (0, count) for each in optional
            ):
                return "a point does not have as many numbers as there are joints"
        return ""


def between(first: Point, second: Point, now: int) -> tuple[Array, Array, Array]:
    """Position, velocity and effort between two points."""
    T, t = 1e-9 * (second.time - first.time), 1e-9 * (now - first.time)
    effort = first.effort + (second.effort - first.effort) * t / T
    p, P = first.position, second.position
    v, V = first.velocity, second.velocity
    a, A = first.acceleration, second.acceleration
    if v is None or V is None:
        slope = (P - p) / T
        return p + slope * t, slope, effort
    if a is None or A is None:
        c2 = (3.0 * (P - p) - (2.0 * v + V) * T) / T**2
        c3 = (-2.0 * (P - p) + (v + V) * T) / T**3
        return p + t * (v + t * (c2 + t * c3)), v + t * (2.0 * c2 + t * 3.0 * c3), effort
    c3 = (20.0 * (P - p) - (8.0 * V + 12.0 * v) * T - (3.0 * a - A) * T**2) / (2.0 * T**3)
    c4 = (-30.0 * (P - p) + (14.0 * V + 16.0 * v) * T + (3.0 * a - 2.0 * A) * T**2) / (2.0 * T**4)
    c5 = (12.0 * (P - p) - 6.0 * (V + v) * T + (A - a) * T**2) / (2.0 * T**5)
    return (
        p + t * (v + t * (0.5 * a + t * (c3 + t * (c4 + t * c5)))),
        v + t * (a + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5))),
        effort,
    )


def _nanoseconds(time: object) -> int:
    return int(time.sec) * 1_000_000_000 + int(time.nanosec)  # type: ignore[attr-defined]
