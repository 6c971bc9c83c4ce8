"""Commanded trajectories as they come: as a table where they are one, else point by point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.cdr import Malformed
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.stamps import SECOND, nanoseconds_of
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
from kane_dynamics.ros.trajectories.trajectory_message import read_message
from kane_dynamics.simulation.trajectory import check_finite


class Commanded(Protocol):
    """A commanded trajectory."""

    @property
    def stamp(self) -> int:
        """Stamp of the header in ns."""

    def points(self, model: Model, most: int) -> Points:
        """Its points, at most so many; Fault if something about them is wrong."""

    def answer(
        self, nanoseconds: NDArray[np.int64], fields: Sequence[Array]
    ) -> JointTrajectory | bytes:
        """The same header and joints with other points, to be published.

        Parameters
        ----------
        nanoseconds : array (N,) of int
            time_from_start.
        fields : positions, velocities, accelerations and efforts (N, m)
        """


def read_commanded(data: bytes) -> Commanded:
    """The trajectory in the bytes of a message; Fault if there is none."""
    try:
        return _Table(read_table(data))
    except Unusual:
        pass
    try:
        return _Message(read_message(data))
    except Malformed as error:
        raise Fault(CAUSE, f"{len(data)} bytes came that are no trajectory: {error}") from None


class _Table:
    def __init__(self, table: TrajectoryTable) -> None:
        self._table = table
        self.stamp = table.stamp[0] * SECOND + table.stamp[1]

    def points(self, model: Model, most: int) -> Points:
        table = self._table
        joints = joint_places(table.names, model)
        check_count(len(table.durations), most)
        if not table.fields["positions"].shape[1]:
            raise Fault(CAUSE, "point 0 has no positions")
        positions, velocities, accelerations = (
            self._field(name) for name in ("positions", "velocities", "accelerations")
        )
        assert positions is not None
        times = checked_times(*table.durations.astype(np.float64).T)
        return Points(table.names, joints, times, positions, velocities, accelerations)

    def _field(self, name: str) -> Array | None:
        values, names = self._table.fields[name], self._table.names
        if not values.shape[1]:
            return None
        if values.shape[1] != len(names):
            raise Fault(CAUSE, f"point 0 has {values.shape[1]} {name} for {len(names)} joints")
        try:
            check_finite(name, values, names)
        except ArgumentError as error:
            raise Fault(CAUSE, str(error)) from None
        return values

    def answer(self, nanoseconds: NDArray[np.int64], fields: Sequence[Array]) -> bytes:
        durations = np.stack(np.divmod(nanoseconds, SECOND), axis=1)
        return write_table(self._table.with_points(durations), dict(zip(FIELDS, fields)))


class _Message:
    def __init__(self, message: JointTrajectory) -> None:
        self._message = message
        self.stamp = nanoseconds_of(message.header.stamp)

    def points(self, model: Model, most: int) -> Points:
        return read_points(self._message, model, most)

    def answer(self, nanoseconds: NDArray[np.int64], fields: Sequence[Array]) -> JointTrajectory:
        message = self._message
        return JointTrajectory(
            header=message.header,
            joint_names=message.joint_names,
            points=points_of(nanoseconds, fields),
        )
