"""The time of all that moves the robot: one that nobody sets, or the simulated one."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node

from kane_dynamics.ros.messages.stamps import SECOND

PARTED = SECOND // 50
"""Nanoseconds by which ROS time and steady time may come apart unnoticed between two looks."""

_LOOKS = 3  # at two clocks, until nothing comes between


class ControlClock:
    """Steady time, or simulated time where the node follows /clock; in ns.

    Stamps are ROS time. They are converted when they come, so that a system clock that is set
    later moves nothing.

    Parameters
    ----------
    jumped : callable
        Told in a sentence that simulated time has jumped.
    """

    def __init__(self, node: Node, jumped: Callable[[str], None]) -> None:
        self._ros = node.get_clock()
        self._jumped = jumped
        self._ahead = self._ros.now().nanoseconds - time.monotonic_ns()
        self._handle: object = None

    def watch_jumps(self, longest: float) -> None:
        """Tell of jumps of simulated time that are longer than this, in s, or go back."""
        threshold = JumpThreshold(
            min_forward=Duration(seconds=longest),
            min_backward=Duration(nanoseconds=-1),
            on_clock_change=True,
        )
        self._handle = self._ros.create_jump_callback(threshold, post_callback=self._tell)

    def _tell(self, jump: TimeJump) -> None:
        seconds = jump.delta.nanoseconds / SECOND
        direction = "back" if seconds < 0 else "ahead"
        self._jumped(f"the clock jumped {direction} by {abs(seconds):.3g} s")

    @property
    def simulated(self) -> bool:
        """Whether time comes from /clock."""
        return bool(self._ros.ros_time_is_active)

    @property
    def running(self) -> bool:
        """Whether there is a time: simulated time begins with the first message on /clock."""
        return not self.simulated or self._ros.now().nanoseconds > 0

    def now(self) -> int:
        """The present time."""
        return int(self._ros.now().nanoseconds) if self.simulated else time.monotonic_ns()

    def ros_now(self) -> int:
        """The present ROS time."""
        return int(self._ros.now().nanoseconds)

    def of(self, stamp: int) -> int:
        """The time of a stamp in ROS time."""
        return stamp - self.ros_now() + self.now()

    def parted(self) -> int:
        """By how much the system clock was set since the last look; zero if it was not."""
        if self.simulated:
            return 0
        for _ in range(_LOOKS):
            before = time.monotonic_ns()
            ahead = self.ros_now() - before
            if time.monotonic_ns() - before <= PARTED // 4:
                break
        else:
            return 0  # something came between each time: the next look tells
        change, self._ahead = ahead - self._ahead, ahead
        return change if abs(change) > PARTED else 0
