"""Commanded trajectories as they come: as a table where they are one, else point by point.

Either way there is the `stamp` of the header in ns, `points`, at most so many and a Fault if
something about them is wrong, and an `answer` to be published: the same header and joints with
points at other times (N,) in ns, that have positions, velocities, accelerations, efforts (N, m).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from numpy.typing import NDArray
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics.arrays import Array
from kane_dynamics.ros.faults import Fault, blamed_on
from kane_dynamics.ros.messages.cdr import Malformed, Reader
from kane_dynamics.ros.messages.stamps import SECOND, nanoseconds_of
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.trajectories.points import (
    CAUSE,
    Points,
    check_count,
    checked_times,
    joint_places,
    points_of,
    read_points,
)
from kane_dynamics.ros.trajectories.trajectory_bytes import (
    FIELDS,
    TrajectoryTable,
    Unusual,
    read_table,
    write_table,
)
from kane_dynamics.simulation.trajectory import check_points_finite

_SMALLEST_POINT = 24  # bytes: four lengths and a duration


def read_commanded(data: bytes) -> CommandedTable | CommandedMessage:
    """The trajectory in the bytes of a message; Fault if there is none."""
    try:
        return CommandedTable(read_table(data))
    except Unusual:
        pass
    try:
        return CommandedMessage(read_message(data))
    except Malformed as error:
        raise Fault(CAUSE, f"{len(data)} bytes came that are no trajectory: {error}") from None


class CommandedTable:
    """A trajectory whose points have all the same fields."""

    def __init__(self, table: TrajectoryTable) -> None:
        self._table = table
        self.stamp = table.stamp[0] * SECOND + table.stamp[1]

    def points(self, model: Model, most: int) -> Points:
        table = self._table
        joints = joint_places(table.names, model)
        check_count(len(table.durations), most)
        positions, velocities, accelerations = map(self._field, FIELDS[:3])
        if positions is None:
            raise Fault(CAUSE, "point 0 has no positions")
        times = checked_times(*table.durations.astype(np.float64).T)
        return Points(table.names, joints, times, positions, velocities, accelerations)

    def _field(self, name: str) -> Array | None:
        values, names = self._table.fields[name], self._table.names
        if not values.shape[1]:
            return None
        if values.shape[1] != len(names):
            raise Fault(CAUSE, f"point 0 has {values.shape[1]} {name} for {len(names)} joints")
        with blamed_on(CAUSE):
            check_points_finite(name, values, names)
        return values

    def answer(self, nanoseconds: NDArray[np.int64], fields: Sequence[Array]) -> bytes:
        durations = np.stack(np.divmod(nanoseconds, SECOND), axis=1)
        return write_table(self._table.with_points(durations), dict(zip(FIELDS, fields)))


class CommandedMessage:
    """Any other trajectory."""

    def __init__(self, message: JointTrajectory) -> None:
        self._message = message
        self.stamp = nanoseconds_of(message.header.stamp)

    def points(self, model: Model, most: int) -> Points:
        return read_points(self._message, model, most)

    def answer(self, nanoseconds: NDArray[np.int64], fields: Sequence[Array]) -> JointTrajectory:
        header, names = self._message.header, self._message.joint_names
        points = points_of(nanoseconds, fields)
        return JointTrajectory(header=header, joint_names=names, points=points)


def read_message(data: bytes) -> JointTrajectory:
    """The trajectory in the bytes of a message, point by point; Malformed if there is none."""
    reader = Reader(data)
    seconds, nanoseconds = reader.time()
    header = Header(stamp=Time(sec=seconds, nanosec=nanoseconds), frame_id=reader.text())
    names = reader.texts()
    points = [_point(reader) for _ in range(reader.length(_SMALLEST_POINT))]
    return JointTrajectory(header=header, joint_names=names, points=points)


def _point(reader: Reader) -> JointTrajectoryPoint:
    fields = {name: reader.numbers() for name in FIELDS}
    seconds, nanoseconds = reader.time()
    duration = Duration(sec=seconds, nanosec=nanoseconds)
    return JointTrajectoryPoint(**fields, time_from_start=duration)
