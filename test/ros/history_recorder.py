"""Hears everything that is said about a robot, with the times at which it was sent."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import rclpy
from action_msgs.msg import GoalStatusArray
from follow_client import ACTION
from hardware.settings import COMMANDS
from history_messages import History, Told
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from set_clock import SystemClock
from std_msgs.msg import Float64MultiArray

from kane_dynamics_interfaces.msg import CommandState

_LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Recorder:
    """A thread that takes messages as they come, as bytes; they are read at the end."""

    def __init__(self, domain: int, clock: SystemClock) -> None:
        self._clock = clock
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain, args=[])
        self._node = Node("recorder", context=self._context, start_parameter_services=False)
        self._heard = {
            topic: (self._subscribe(kind, topic, profile), kind, [])
            for topic, kind, profile in (
                ("/joint_states", JointState, 5000),
                (COMMANDS, Float64MultiArray, 5000),
                ("/kane_dynamics/command_state", CommandState, _LATCHED),
                (f"{ACTION}/_action/status", GoalStatusArray, _LATCHED),
            )
        }
        self._ends = False
        self.told: Told | None = None
        self.state: JointState | None = None
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _subscribe(self, kind: type, topic: str, profile: Any) -> Any:
        return self._node.create_subscription(kind, topic, lambda message: None, profile, raw=True)

    def _listen(self) -> None:
        while not self._ends:
            for heard, kind, messages in self._heard.values():
                while (taken := heard.handle.take_message(kind, True)) is not None:
                    data, info = taken
                    sent, received = info["source_timestamp"], info["received_timestamp"]
                    number = info["publication_sequence_number"]
                    messages.append((sent, received, number, data))
                    if kind is CommandState:
                        self.told = _told(sent, deserialize_message(data, kind))
            time.sleep(0.002)

    def newest_state(self) -> JointState | None:
        """The newest joint state that was sent."""
        messages = self._heard["/joint_states"][2]
        return deserialize_message(messages[-1][3], JointState) if messages else None

    def end(self, joints: list[str]) -> History:
        """Listen no more; what was said."""
        self._ends = True
        self._thread.join()
        states, commands = self._read("/joint_states"), self._read(COMMANDS)
        told = self._read("/kane_dynamics/command_state")
        statuses = self._read(f"{ACTION}/_action/status")
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
        for _, _, _, state in states[:1]:
            assert list(state.name) == joints
        stamped = [
            (stamp - ahead if (stamp := _nanoseconds(state.header.stamp)) else sent)
            for sent, ahead, _, state in states
        ]
        return History(
            _times(sent for sent, _, _, _ in states),
            _times(stamped),
            np.array([state.position for _, _, _, state in states]),
            np.array([state.velocity for _, _, _, state in states]),
            _times(sent for sent, _, _, _ in commands),
            _times(number for _, _, number, _ in commands),
            np.array([command.data for _, _, _, command in commands]),
            [_told(sent, message) for sent, _, _, message in told],
            statuses=[
                (sent, bytes(each.goal_info.goal_id.uuid), int(each.status))
                for sent, _, _, message in statuses
                for each in message.status_list
            ],
        )

    def _read(self, topic: str) -> list[tuple[int, int, int, Any]]:
        """The messages of a topic in the order of sending: when, and how far ahead its clock was.

        A sender numbers what it sends, so each was sent before the next one.
        """
        _, kind, messages = self._heard[topic]
        read: list[tuple[int, int, int, Any]] = []
        before, later = None, 0
        for sent, received, number, data in reversed(messages):
            if number >= later:  # the last one of a sender, or it came late
                before = None
            ahead = self._clock.at_sending(sent, received, before)
            before, later = sent - ahead, number
            read.append((sent - ahead, ahead, number, deserialize_message(data, kind)))
        return sorted(read, key=lambda each: each[0])


def _told(sent: int, message: CommandState) -> Told:
    return Told(sent, message.state, message.reason, message.commanding)


def _times(values: Any) -> np.ndarray:
    return np.array(list(values), dtype=np.int64)


def _nanoseconds(stamp: Any) -> int:
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)
