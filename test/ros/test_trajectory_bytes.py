"""Trajectories as bytes: read and written as rclpy does it, and whatever comes, nothing breaks."""

import os
import struct
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from robot_graph import Graph, joint_state, panda, trajectory
from ros_domain import own_domain
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.middleware.fast_dds import PROFILE, make_room_for_large_answers
from kane_dynamics.ros.trajectories.commanded import read_commanded, read_message
from kane_dynamics.ros.trajectories.trajectory_bytes import FIELDS, Unusual, read_table, write_table

NAMES = (["a"], ["joint1", "joint2"], ["abc", "de", "f", "ghij", "klmno", "", "Ω7"])


def message(count: int, names: list[str], frame: str, *given: str) -> JointTrajectory:
    """A random trajectory whose points have positions, and the fields given."""
    random = np.random.default_rng(len(frame) + count)
    made = trajectory(names, 0.37 * np.arange(count), random.normal(size=(count, len(names))))
    made.header.frame_id = frame
    made.header.stamp.sec, made.header.stamp.nanosec = -5, 4_000_000_000
    for point in made.points:
        for field in given:
            setattr(point, field, array("d", random.normal(size=len(names))))
    return made


@pytest.mark.parametrize("given", [(), FIELDS[1:2], FIELDS[2:3], FIELDS[1:3], FIELDS])
@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_a_table_is_read_and_written_as_rclpy_does(
    count: int, names: list[str], given: tuple[str, ...]
) -> None:
    for frame in ("", "w", "wo", "wor", "worl"):  # whatever that does to the places of numbers
        sent = message(count, names, frame, *given)
        table = read_table(serialize_message(sent))
        assert table.names == tuple(names)
        assert table.stamp == (-5, 4_000_000_000)
        for field in FIELDS:
            values = [list(getattr(point, field)) for point in sent.points]
            np.testing.assert_array_equal(table.fields[field], values)
        durations = [(d.sec, d.nanosec) for d in (p.time_from_start for p in sent.points)]
        np.testing.assert_array_equal(table.durations, durations)
        expected = message(count, names, frame, *FIELDS[1:])
        fields = {name: np.array([getattr(p, name) for p in expected.points]) for name in FIELDS}
        written = write_table(table, fields)
        assert deserialize_message(written, JointTrajectory) == expected
        assert len(written) == len(serialize_message(expected))


def test_times_of_all_kinds_are_kept() -> None:
    sent = message(3, ["a"], "")
    for point, (sec, nanosec) in zip(sent.points, [(-(2**31), 0), (2**31 - 1, 2**32 - 1), (0, 1)]):
        point.time_from_start.sec, point.time_from_start.nanosec = sec, nanosec
    table = read_table(serialize_message(sent))
    written = write_table(table, dict.fromkeys(FIELDS, table.fields["positions"]))
    for before, after in zip(sent.points, deserialize_message(written, JointTrajectory).points):
        assert before.time_from_start == after.time_from_start


def test_points_with_different_fields_are_no_table_but_read_all_the_same() -> None:
    for spoil in range(3):
        sent = message(3, ["a", "b"], "", "velocities")
        sent.points[spoil].velocities = array("d")
        data = serialize_message(sent)
        with pytest.raises(Unusual):
            read_table(data)
        assert read_message(data) == sent
        times, fields = np.array([0, 5, 3 * 10**9 + 7]), np.arange(24.0).reshape(4, 3, 2)
        answer: Any = read_commanded(data).answer(times, fields)
        assert (answer.header, answer.joint_names) == (sent.header, sent.joint_names)
        for name, values in zip(FIELDS, fields):
            assert [list(getattr(point, name)) for point in answer.points] == values.tolist()
        last = answer.points[-1].time_from_start
        assert (last.sec, last.nanosec) == (3, 7)


def test_bytes_that_are_no_trajectory_are_refused_in_one_sentence_or_read_as_something() -> None:
    random = np.random.default_rng(7)
    whole = serialize_message(message(5, ["joint1", "joint2"], "world", "velocities"))
    refused = 0
    for _ in range(5000):
        data = bytearray(whole)
        for place in random.integers(0, len(data), random.integers(1, 4)):
            data[place] = random.choice([0, 1, 255, int(random.integers(256))])
        said = refusal(data[: random.integers(1, len(data) + 1)])
        assert "bytes came that are no trajectory" in said or not said
        refused += bool(said)
    assert 0 < refused < 5000


def test_big_endian_trajectories_are_read_too() -> None:
    body = struct.pack(">iI", 5, 6) + struct.pack(">I4s", 2, b"w\0") + struct.pack(">I", 1)
    body += struct.pack(">I4s", 2, b"a\0") + struct.pack(">I", 1)  # one point
    body += struct.pack(">I4xd", 1, 0.25) + struct.pack(">III", 0, 0, 0) + struct.pack(">iI", 7, 8)
    answer: Any = read_commanded(b"\0\0\0\0" + body).answer(np.array([9]), np.zeros((4, 1, 1)))
    for read in (read_message(b"\0\0\0\0" + body), answer):
        assert (read.header.frame_id, read.joint_names) == ("w", ["a"])
        assert (read.header.stamp.sec, read.header.stamp.nanosec) == (5, 6)
    (point,) = read_message(b"\0\0\0\0" + body).points
    assert list(point.positions) == [0.25]
    assert (point.time_from_start.sec, point.time_from_start.nanosec) == (7, 8)


@pytest.mark.parametrize("word", range(0, 80, 4))
def test_lengths_beyond_all_bounds_do_no_harm(word: int) -> None:
    data = bytearray(serialize_message(message(2, ["joint1"], "")))
    for huge in (2**32 - 1, 2**31, 2**20):
        data[4 + word : 8 + word] = huge.to_bytes(4, "little")
        assert "no trajectory" in refusal(data) or not refusal(data)


def refusal(data: bytearray) -> str:
    """What is said about bytes that are refused; empty if they are not."""
    try:
        read_commanded(bytes(data))
    except Fault as fault:
        return fault.sentence
    return ""


# ----------------------------------------------------------------------------------- large answers

# as joint_trajectory_controller subscribes: with Fast DDS that is one message, and not reliable
SYSTEM_DEFAULT = QoSProfile(
    depth=0, history=HistoryPolicy.SYSTEM_DEFAULT, reliability=ReliabilityPolicy.SYSTEM_DEFAULT
)


def test_long_trajectories_all_reach_a_controller_that_is_not_reliable(graph: Graph) -> None:
    urdf, names = panda()
    graph.start(urdf, joints=names)
    client, answers = graph.client, []
    client.create_subscription(
        JointTrajectory,
        "/kane_dynamics/torque_trajectory",
        lambda data: answers.append(read_table(data)),
        SYSTEM_DEFAULT,
        raw=True,
    )
    gravity = client.hear(JointState, "/kane_dynamics/gravity_torques")
    states = client.speak(JointState, "/joint_states")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    rest = joint_state(names, [0.0, -0.3, 0.0, -1.5, 0.0, 1.5, 0.7], np.zeros(7))
    client.introduce(states, gravity, rest)
    rest.header.stamp.sec = 0
    counts = np.random.default_rng(8).integers(3000, 6001, 8)
    for number, count in enumerate(counts):
        times = 0.002 * np.arange(count)
        shape, ones = 0.2 * np.array([1 - np.cos(times), np.sin(times), np.cos(times)]), np.ones(7)
        p, v, a = (part[:, None] * ones for part in shape)
        commands.publish(trajectory(names, times, p + rest.position, v, a))
        client.until(
            lambda number=number: len(answers) > number,
            f"the answer to trajectory {number} of {count} points",
            lambda: states.publish(rest),
            period=0.002,
        )
    assert [len(answer.durations) for answer in answers] == list(counts)


WAITED_TOGETHER = """
from kane_dynamics.ros.middleware.fast_dds import make_room_for_large_answers
from kane_dynamics.ros.middleware.interpreter import give_memory_back
give_memory_back()
make_room_for_large_answers()
import rclpy, time
from std_msgs.msg import String

def memory():
    return int(open("/proc/self/statm").read().split()[1]) * 4096e-6

rclpy.init()
node = rclpy.create_node("talks_to_itself")
heard = node.create_subscription(String, "large", lambda message: None, 20).handle
publisher = node.create_publisher(String, "large", 20)
message = String(data="x" * 1_000_000)
while not publisher.get_subscription_count():
    time.sleep(0.01)
before = memory()
for _ in range(20):
    publisher.publish(message)
time.sleep(0.2)
took = 0
while heard.take_message(String, True) is not None:
    took += 1
print(took, memory() - before)
rclpy.shutdown()
"""


def test_large_messages_that_waited_together_leave_no_memory_behind() -> None:
    with own_domain() as domain:
        said = subprocess.run(
            [sys.executable, "-c", WAITED_TOGETHER],
            env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
            capture_output=True,
            text=True,
            check=True,
        )
    took, left = map(float, said.stdout.split())
    assert took == 20
    assert left < 4.0  # MB


@pytest.mark.parametrize(
    "told",
    [
        "",
        "FASTDDS_BUILTIN_TRANSPORTS",
        "ROS_DISCOVERY_SERVER",
        "RMW_FASTRTPS_PUBLICATION_MODE",
        "file",
    ],
)
def test_what_a_user_tells_fast_dds_is_left_as_it_is(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FASTDDS_DEFAULT_PROFILES_FILE", "RMW_FASTRTPS_USE_QOS_FROM_XML"):
        monkeypatch.setenv(name, "")  # so that it is removed afterwards
    for name in list(os.environ):
        if name.startswith(("FASTDDS_", "FASTRTPS_", "RMW_FASTRTPS_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    if told == "file":
        (tmp_path / "DEFAULT_FASTDDS_PROFILES.xml").touch()
    elif told:
        monkeypatch.setenv(told, "UDPv4")
    make_room_for_large_answers()
    given = os.environ.get("FASTDDS_DEFAULT_PROFILES_FILE")
    memory = os.environ.get("RMW_FASTRTPS_USE_QOS_FROM_XML")
    assert given == (str(PROFILE) if told in ("", "RMW_FASTRTPS_PUBLICATION_MODE") else None)
    assert memory == (None if told else "1")
