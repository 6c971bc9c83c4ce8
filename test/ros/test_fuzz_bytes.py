"""Mutated bytes on all topics: every one is read or refused, and the node lives and answers.

scripts/fuzz_messages sends as many as are wanted.
"""

import logging
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message
from robot_graph import LATCHED, STANFORD, Graph, arm_of, joint_state, trajectory
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.messages.cdr import Malformed, read_string
from kane_dynamics.ros.parameters.declaration import Settings
from kane_dynamics.ros.robot.model import load_model
from kane_dynamics.ros.states.joint_states import JointStates
from kane_dynamics.ros.trajectories.commanded import read_commanded
from kane_dynamics.ros.trajectories.trajectory_bytes import read_table

COUNT = int(os.environ.get("FUZZ_MESSAGES", "20000"))
IN_PROCESS = max(COUNT, 200_000)
BATCH = {"joint_states": 220, "joint_trajectory": 27, "robot_description": 3}  # within the queues
SEED = 1983
LOG = logging.getLogger(__name__)
GROWTH = 16.0  # MB

ARM = arm_of(STANFORD)
NAMES = list(ARM.joint_names)
COUNTED = (
    "joint_states",
    "joint_states not finite",
    "joint_states out of order",
    "joint_trajectory",
    "robot_description",
)


class MutatedBytes:
    """Bytes of good messages of one kind, of which some are then changed.

    None is empty: Fast DDS never delivers such a one, nor what the same sender sends reliably
    behind it.
    """

    def __init__(self, good: list[bytes]) -> None:
        self.random, self._good = random.Random(SEED), good
        self._ways = (self._flip, self._cut, self._lie, self._pad, self._shrink, self._invent)

    def next(self) -> bytes:
        way = self._ways[int(self.random.random() * len(self._ways))]
        return bytes(way(bytearray(self.random.choice(self._good)))) or b"\0"

    def _below(self, end: int) -> int:
        return int(self.random.random() * end)

    def _flip(self, data: bytearray) -> bytearray:
        """Bits somewhere."""
        for _ in range(self.random.choice((1, 1, 2, 8))):
            data[self._below(len(data))] ^= 1 << self._below(8)
        return data

    def _cut(self, data: bytearray) -> bytearray:
        """The end is missing, or there is more of it."""
        return data[: self._below(len(data))] if self.random.random() < 0.8 else data + data

    def _lie(self, data: bytearray) -> bytearray:
        """A length that is another."""
        place = 4 + 4 * self._below(len(data) // 4 - 1)
        length = self.random.choice((0, 1, 2, 7, 255, 2**16, 2**29, 2**31 - 1, 2**31, 2**32 - 1))
        data[place : place + 4] = length.to_bytes(4, "little")
        return data

    def _pad(self, data: bytearray) -> bytearray:
        """A head that announces another kind of bytes, or padding that is not there."""
        data[0:4] = bytes((self.random.choice((0, 0, 0, 1)), self._below(16), 0, self._below(8)))
        return data if self.random.random() < 0.5 else data[: self._below(len(data))]

    def _shrink(self, data: bytearray) -> bytearray:
        """A head with padding, and next to no body."""
        head = bytes((0, self.random.choice((0, 1, 2, 3, 6, 7, 9)), 0, self._below(4)))
        return bytearray(head + data[4 : 4 + self._below(25)])

    def _invent(self, data: bytearray) -> bytearray:
        """Nothing that anybody has written."""
        head = b"" if self.random.random() < 0.3 else b"\0\1\0\0"
        return bytearray(head + self.random.randbytes(self._below(120)))


def good_states() -> list[bytes]:
    good = [
        joint_state(NAMES, np.linspace(-1, 1, 6), np.zeros(6)),
        joint_state(NAMES, np.linspace(-1, 1, 6)),
        joint_state([*reversed(NAMES), "tool"], np.linspace(-1, 1, 7), np.zeros(7)),
        joint_state(NAMES[:2], [0.1, 0.2]),
    ]
    good[2].header.frame_id, good[2].effort = "world", np.zeros(7).tolist()
    return [serialize_message(message) for message in good]


def good_trajectories() -> list[bytes]:
    p = np.linspace(-1.0, 1.0, 18).reshape(3, 6)
    good = [
        trajectory(NAMES, [0.01, 0.02, 0.03], p),
        trajectory(NAMES, [0.01, 0.02, 0.03], p, p, p),
        trajectory(NAMES, [0.01], p[:1], p[:1], p[:1]),
        trajectory(NAMES, [0.01, 0.02], p[:2], [p[0], []]),  # which is no table
    ]
    return [serialize_message(message) for message in good]


def good_descriptions() -> list[bytes]:
    """Texts that nothing can be derived from, whatever becomes of them."""
    texts = ("<robot name='r'><link name='a'/>", "", "Ω" * 30)
    return [serialize_message(String(data=text)) for text in texts]


def test_mutated_bytes_are_read_or_refused() -> None:
    model = load_model(STANFORD.read_text(), Settings(backend="numpy"))
    states = JointStates()
    states.use(model)
    reads: list[tuple[Callable[[bytes], Any], list[bytes]]] = [
        (lambda data: states.update(data, 0.0), good_states()),
        (lambda data: read_commanded(data).points(model, 100), good_trajectories()),
        (read_string, good_descriptions()),
    ]
    for read, good in reads:
        mutated, refused = MutatedBytes(good), 0
        for _ in range(IN_PROCESS // len(reads)):
            data = mutated.next()
            try:
                read(data)
            except (Fault, Malformed):
                refused += 1
        assert 0.3 < refused / (IN_PROCESS // len(reads)) < 0.999
        for data in good:
            read(data)


class Flood:
    """Mutated bytes on all topics of a node, and good messages behind them."""

    def __init__(self, graph: Graph) -> None:
        client = self.client = graph.client
        self._states = client.speak(JointState, "/joint_states", 1000)
        self._commands = client.speak(JointTrajectory, "/joint_trajectory", 1000)
        self._descriptions = client.speak(String, "/robot_description", LATCHED)
        self._sources = {
            "joint_states": (self._states, MutatedBytes(good_states())),
            "joint_trajectory": (self._commands, MutatedBytes(good_trajectories())),
            "robot_description": (self._descriptions, MutatedBytes(good_descriptions())),
        }
        self._gravity = self._hear(JointState, "gravity_torques")
        self._efforts = self._hear(JointTrajectory, "torque_trajectory")
        self._order = [topic for topic, count in BATCH.items() for _ in range(count)]
        self._random = random.Random(SEED)
        self.sent = 0

    def _hear(self, kind: type, name: str) -> list[bytes]:
        heard: list[bytes] = []
        self.client.create_subscription(
            kind, f"/kane_dynamics/{name}", heard.append, 2000, raw=True
        )
        return heard

    def describe(self) -> None:
        """Send the description of a robot."""
        self._descriptions.publish(String(data=STANFORD.read_text()))

    def batch(self) -> None:
        """Send some mutated messages, and wait until good ones behind them are answered."""
        self._random.shuffle(self._order)
        for topic in self._order:
            publisher, mutated = self._sources[topic]
            publisher.publish(mutated.next())
        self.sent += len(self._order)
        q, still = np.array([self._random.uniform(-2.0, 2.0) for _ in NAMES]), np.zeros(6)
        state, command = (
            joint_state(NAMES, q, still),
            trajectory(NAMES, [0.01], [q], [still], [still]),
        )
        state.header.frame_id = command.header.frame_id = mark = f"good {self.sent}"

        def ask() -> None:
            self._states.publish(state)
            self._commands.publish(command)

        def answers() -> tuple[bytes, bytes] | None:
            found = [
                next((data for data in heard if mark.encode() in data), b"")
                for heard in (self._gravity, self._efforts)
            ]
            return (found[0], found[1]) if all(found) else None

        gravity, efforts = self.client.until(answers, f"answers to {mark}", ask, period=2.0)
        expected = ARM.gravity(q)
        np.testing.assert_allclose(np.frombuffer(gravity[-48:]), expected, atol=1e-12)
        answered = read_table(efforts)
        # a point lies before it where the command was read before the state
        (asked,) = np.flatnonzero(answered.durations[:, 1] == 10_000_000)
        found = answered.fields["effort"][asked]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        self._gravity.clear()
        self._efforts.clear()

    def seen(self) -> dict[str, int]:
        """How many messages the node counts as served or as faults, by what it says."""
        values = self.client.diagnosis("model").values
        served = {entry.key: int(entry.value) for entry in values if entry.key.endswith(" served")}
        return served | {cause: self.client.fault_count(cause) for cause in COUNTED}


def test_a_node_stands_mutated_bytes_on_all_topics(graph: Graph) -> None:
    node = graph.start(None, ready=False)
    flood = Flood(graph)
    flood.describe()
    graph.wait_until_serving()
    memory = []
    while flood.sent < COUNT:
        flood.batch()
        memory.append(node.memory)
    graph.client.spin_for(2.5)  # until the last faults are reported
    seen = flood.seen()
    LOG.info("%d messages sent; %s; memory %.1f MB", flood.sent, seen, memory[-1])
    assert sum(seen.values()) > 0.9 * COUNT, seen
    assert all(seen.values()), seen
    assert memory[-1] - memory[len(memory) // 5] < GROWTH, memory
    assert graph.end(node) == 0
    assert "Traceback" not in node.log
    assert "internal error" not in node.log, node.log
