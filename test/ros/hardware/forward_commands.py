"""Efforts applied as they come, each until the next, as a forward_command_controller does."""

from __future__ import annotations

import struct
from collections import deque

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from hardware.record import Recorder
from hardware.settings import COMMANDS

Array = NDArray[np.float64]

_NO_DIMENSIONS = struct.Struct("<III")  # behind the encapsulation: dimensions, offset, length


class ForwardCommands:
    """The efforts that are commanded at a time; `commanded` says whether there were any yet."""

    def __init__(self, node: Node, joints: int, recorder: Recorder) -> None:
        self.heard = node.create_subscription(
            Float64MultiArray, COMMANDS, lambda message: None, 1000, raw=True
        )
        self.commanded = False
        self._joints = joints
        self._recorder = recorder
        self._pending: deque[tuple[int, Array]] = deque()

    def receive(self) -> None:
        """Take the messages that have come."""
        while (taken := self.heard.handle.take_message(Float64MultiArray, True)) is not None:
            data, info = taken
            efforts = _numbers(data)
            if len(efforts) != self._joints:
                self._recorder.malformed += 1
                continue
            received = info["received_timestamp"]
            self._recorder.command(received, info["source_timestamp"], efforts)
            self._pending.append((received, efforts))

    def efforts(self, now: int, position: Array, velocity: Array) -> Array | None:
        """What was commanded until a time in ns; None if that is nothing new.

        A command that is not finite is recorded, and not obeyed.
        """
        newest = None
        while self._pending and self._pending[0][0] <= now:
            _, efforts = self._pending.popleft()
            if np.isfinite(efforts).all():
                newest, self.commanded = efforts, True
        return newest


def _numbers(data: bytes) -> Array:
    little_endian = data[:2] == b"\x00\x01" and len(data) >= 16
    if little_endian:
        dimensions, _, count = _NO_DIMENSIONS.unpack_from(data, 4)
        # numbers begin at a multiple of eight behind the encapsulation
        if dimensions == 0 and len(data) >= 20 + 8 * count:
            return np.frombuffer(data, np.float64, count, 20)
    return np.array(deserialize_message(data, Float64MultiArray).data)
