"""The first hold trajectory: repeated until a controller has had the time to take it up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.publisher import Publisher
from rclpy.timer import Timer
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.faults import Fault

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

LOOK = 0.5
"""Seconds between looks whether somebody listens."""

AGAIN, TIMES = 0.1, 50
"""Seconds after which it is sent again, and how often.

A controller that is configured but not active yet drops it, and nothing tells that it did.
"""


class FirstHold:
    """Publishes a trajectory that holds the arm as soon as the arm and a listener are known.

    Where there is no such trajectory yet, `holding` raises a Fault.
    """

    def __init__(
        self, node: DynamicsNode, publisher: Publisher, holding: Callable[[], JointTrajectory]
    ) -> None:
        self._node, self._parameters = node, node.parameters
        self._publisher, self._holding = publisher, holding
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._first: JointTrajectory | None = None
        self._sent = 0
        self._timer: Timer | None = None
        self._look_every(LOOK)

    def end(self) -> None:
        """Send it no more: somebody has another trajectory for the arm."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def _look_every(self, seconds: float) -> None:
        self.end()
        self._timer = self._node.create_timer(seconds, self._look, clock=self._steady)

    def _look(self) -> None:
        settings = self._parameters.values
        if not settings.hold_at_start or not self._publisher.get_subscription_count():
            return
        try:
            here = self._holding()
        except Fault:
            return  # where the arm is is not known yet
        # it stays the same, for until a controller takes it up the arm sags
        if self._first is None or _apart(here, self._first) > settings.start_tolerance:
            self._first = here
        self._publisher.publish(self._first)
        self._sent += 1
        if self._sent == 1:
            self._look_every(AGAIN)
        elif self._sent >= TIMES:
            self.end()


def _apart(one: JointTrajectory, other: JointTrajectory) -> float:
    if one.joint_names != other.joint_names:
        return np.inf  # another robot
    places = [np.array(each.points[0].positions) for each in (one, other)]
    return float(np.abs(places[0] - places[1]).max())
