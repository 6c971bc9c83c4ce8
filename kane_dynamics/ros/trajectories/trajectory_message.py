"""Trajectories whose points differ from each other, read point by point into a message."""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics.ros.cdr import Reader

_SMALLEST_POINT = 24  # bytes: four lengths and a duration


def read_message(data: bytes) -> JointTrajectory:
    """The trajectory in the bytes of a message; Malformed if there is none."""
    reader = Reader(data)
    stamp = reader.time()
    header = Header(stamp=Time(sec=stamp[0], nanosec=stamp[1]), frame_id=reader.text())
    names = reader.texts()
    points = [_point(reader) for _ in range(reader.length(_SMALLEST_POINT))]
    return JointTrajectory(header=header, joint_names=names, points=points)


def _point(reader: Reader) -> JointTrajectoryPoint:
    positions, velocities, accelerations, effort = (reader.numbers() for _ in range(4))
    seconds, nanoseconds = reader.time()
    return JointTrajectoryPoint(
        positions=positions,
        velocities=velocities,
        accelerations=accelerations,
        effort=effort,
        time_from_start=Duration(sec=seconds, nanosec=nanoseconds),
    )
