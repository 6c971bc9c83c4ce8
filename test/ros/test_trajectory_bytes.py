"""Trajectories as bytes: read and written as rclpy does it, and whatever comes, nothing breaks."""

from array import array
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from robot_graph import trajectory
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.commanded import read_commanded
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.trajectory_bytes import FIELDS, Unusual, read_table, write_table

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
        answer: Any = read_commanded(data).answer(*np.zeros((3, 3, 2)))
        assert [list(point.effort) for point in answer.points] == [[0.0, 0.0]] * 3


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
