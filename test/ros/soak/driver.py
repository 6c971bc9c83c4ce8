"""Joint states at 1 kHz, and what comes back: when, and whether it is right."""

from __future__ import annotations

import gc
import time
from array import array
from collections.abc import Callable
from typing import IO

import numpy as np
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.serialization import serialize_message
from robot_graph import joint_state
from sensor_msgs.msg import JointState

PERIOD = 1_000_000  # ns
MARK = b"soak"
WINDOW = 5_000
"""Joint states in one line of the record, five seconds of them."""
HEAVIER = 1e-3
"""Share of all masses by which a description is heavier than the one before."""

_STAMP, _FRAME = slice(4, 8), slice(16, 20)  # places in a serialized joint state


class Wrong(AssertionError):
    """A torque that no description explains."""


class Driver:
    """The driver of a robot that stands still, and knows what its torques must be.

    Parameters
    ----------
    node : Node
        It has no executor: messages are taken here.
    names, q : sequence
        The joints, and where they are.
    gravity : array
        Their torques with the first description; those of the k-th are ``1 + k HEAVIER`` times
        as large.
    """

    def __init__(self, node: Node, names: list[str], q: np.ndarray, gravity: np.ndarray) -> None:
        self._node, self._gravity = node, gravity
        message = joint_state(names, q, np.zeros(len(q)))
        message.header.frame_id, message.effort = MARK.decode(), array("d", [0.0] * len(q))
        self._data = bytearray(serialize_message(message))
        self._states = node.create_publisher(JointState, "/joint_states", 100)
        self._torques = node.create_subscription(
            JointState, "/kane_dynamics/gravity_torques", lambda _: None, 1000
        )
        self._wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)
        self._sent = np.zeros(2 * WINDOW, np.int64)
        self._late = np.full(2 * WINDOW, -1, np.int64)
        self._number = 0
        self.serving = 0

    def until_answered(self, patience: float) -> None:
        """Send joint states until one is answered."""
        end = time.monotonic() + patience
        while not self._step(10 * PERIOD):
            if time.monotonic() > end:
                raise TimeoutError("no joint state was answered")

    def run(self, seconds: float, file: IO[str], going: Callable[[], None]) -> None:
        """Send for some time, and write a line of latencies for every `WINDOW` joint states."""
        file.write("seconds,lost,median,p99,p999,longest,serving\n")
        self._number = 0
        self._late[:] = -1
        gc.disable()
        began = due = time.perf_counter_ns()
        while due - began < seconds * 1e9:
            self._send()
            due = max(due + PERIOD, time.perf_counter_ns() - PERIOD)
            self._hear_until(due)
            if self._number % WINDOW == 0:
                going()
                if self._number >= 2 * WINDOW:
                    self._write(file, 1e-9 * (due - began))
        gc.enable()

    def _write(self, file: IO[str], seconds: float) -> None:
        """The window before the last, whose answers have come by now; room for the next."""
        half = slice(0, WINDOW) if (self._number // WINDOW) % 2 == 0 else slice(WINDOW, None)
        back = self._late[half]
        answered = back[back >= 0] * 1e-6
        shares = np.percentile(answered, [50, 99, 99.9, 100]) if len(answered) else [np.nan] * 4
        cells = ",".join(f"{each:.4f}" for each in shares)
        lost = WINDOW - len(answered)
        file.write(f"{seconds:.1f},{lost},{cells},{self.serving}\n")
        file.flush()
        self._late[half] = -1

    # ------------------------------------------------------------------------------- messages
    def _step(self, period: int) -> bool:
        self._send()
        return self._hear_until(time.perf_counter_ns() + period) > 0

    def _send(self) -> None:
        self._data[_STAMP] = (self._number + 1).to_bytes(4, "little")
        message = bytes(self._data)
        self._sent[self._number % len(self._sent)] = time.perf_counter_ns()
        self._states.publish(message)
        self._number += 1

    def _hear_until(self, end: int) -> int:
        """How many answers have come."""
        take, count = self._torques.handle.take_message, 0
        while True:
            left = end - time.perf_counter_ns()
            if left > 0:
                self._wait_set.clear_entities()
                self._wait_set.add_subscription(self._torques.handle)
                self._wait_set.wait(left)
            while (taken := take(JointState, True)) is not None:
                now = time.perf_counter_ns()
                if taken[0][_FRAME] == MARK:
                    self._heard(taken[0], now)
                    count += 1
            if end - time.perf_counter_ns() <= 0:
                return count

    def _heard(self, data: bytes, now: int) -> None:
        number = int.from_bytes(data[_STAMP], "little") - 1
        self._check(data)
        if number >= 0 and self._number - WINDOW < number < self._number:
            place = number % len(self._sent)
            self._late[place] = now - self._sent[place]

    def _check(self, data: bytes) -> None:
        """That the torques are those of a description, and of none before the one that served."""
        found = np.frombuffer(data[-8 * len(self._gravity) :])
        scale = float(found @ self._gravity) / float(self._gravity @ self._gravity)
        description = round((scale - 1.0) / HEAVIER)
        expected = (1.0 + HEAVIER * description) * self._gravity
        if np.abs(found - expected).max() > 1e-9 * np.abs(expected).max():
            raise Wrong(f"torques {found.tolist()} are those of no description")
        if description < self.serving:
            raise Wrong(f"description {description} serves after {self.serving}")
        self.serving = description
