"""Trajectory messages into arrays, checked, and arrays into trajectory messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics.arrays import Array
from kane_dynamics.ros.faults import Fault, blamed_on
from kane_dynamics.ros.messages.arrays import message_arrays
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.simulation.trajectory import (
    Start,
    Trajectory,
    check_points_finite,
    trajectory_through,
)

CAUSE = "joint_trajectory"

LONGEST = 86_400.0
"""Seconds from now to the end of the longest trajectory that is served: a day."""


@dataclass(frozen=True, eq=False)
class Points:
    """Points of a trajectory of m joints of the robot.

    Attributes
    ----------
    names : tuple of str
        The joints, in the order of the message.
    joints : array (m,) of int
        Their places in the robot.
    times : array (N,)
        time_from_start in s.
    positions : array (N, m)
    velocities, accelerations : array (N, m) or None
        Rows of NaN where a point has none; None where no point has them.
    """

    names: tuple[str, ...]
    joints: NDArray[np.intp]
    times: Array
    positions: Array
    velocities: Array | None
    accelerations: Array | None

    @property
    def complete(self) -> bool:
        """Whether every point has velocities and accelerations."""
        both = (self.velocities, self.accelerations)
        return not any(x is None or np.isnan(x).any() for x in both)

    def motion(self, start: Start | None = None) -> Trajectory:
        """The motion of the joints through the points; ArgumentError if there is none."""
        fields = self.positions, self.velocities, self.accelerations
        return trajectory_through(self.times, *fields, start, self.names)


def read_points(message: JointTrajectory, model: Model, most: int) -> Points:
    """The points of a message.

    Raises Fault if names, lengths or numbers are wrong.

    Parameters
    ----------
    most : int
        Largest number of points that is accepted.
    """
    names, points = tuple(message.joint_names), message.points
    joints = joint_places(names, model)
    check_count(len(points), most)
    positions = field_rows("positions", points, names)
    if positions is None or np.isnan(positions).any():
        bare = next(k for k, point in enumerate(points) if not point.positions)
        raise Fault(CAUSE, f"point {bare} has no positions")
    velocities = field_rows("velocities", points, names)
    accelerations = field_rows("accelerations", points, names)
    return Points(names, joints, point_times(points), positions, velocities, accelerations)


def check_count(count: int, most: int) -> None:
    """Refuse trajectories of no points, and of too many."""
    if not count:
        raise Fault(CAUSE, "the trajectory has no points")
    if count > most:
        raise Fault(
            CAUSE,
            f"the trajectory has {count} points, expected at most {most} as the parameter "
            "max_trajectory_points says",
        )


def joint_places(names: tuple[str, ...], model: Model) -> NDArray[np.intp]:
    if not names:
        raise Fault(CAUSE, "the trajectory names no joint")
    with blamed_on(CAUSE):
        return model.places(names)


def field_rows(field: str, points: Sequence[Any], names: tuple[str, ...]) -> Array | None:
    """One field of all points, a row each: NaN where it is empty, None where it is empty in all."""
    values = list(map(attrgetter(field), points))
    lengths = list(map(len, values))
    count = len(names)
    given = set(lengths)
    if not given <= {0, count}:
        k = next(k for k, length in enumerate(lengths) if length not in (0, count))
        raise Fault(CAUSE, f"point {k} has {lengths[k]} {field} for {count} joints")
    if given == {0}:
        return None
    rows = np.frombuffer(b"".join(values)).reshape(-1, count)
    present = np.array(lengths) == count
    if not present.all():
        spaced = np.zeros((len(values), count))
        spaced[present] = rows
        rows = spaced
    with blamed_on(CAUSE):
        check_points_finite(field, rows, names)
    if not present.all():
        rows[~present] = np.nan
    return rows


def point_times(points: Sequence[Any]) -> Array:
    durations = list(map(attrgetter("time_from_start"), points))
    seconds = np.fromiter(map(attrgetter("sec"), durations), np.float64, len(points))
    nanoseconds = np.fromiter(map(attrgetter("nanosec"), durations), np.float64, len(points))
    return checked_times(seconds, nanoseconds)


def checked_times(seconds: Array, nanoseconds: Array) -> Array:
    """Times in s, none of them negative or too long."""
    times = seconds + 1e-9 * nanoseconds
    if times.min() < 0.0:
        k = int(times.argmin())
        raise Fault(CAUSE, f"point {k} has a negative time_from_start of {times[k]:g} s")
    if times.max() > LONGEST:
        k = int(times.argmax())
        raise Fault(
            CAUSE, f"point {k} has a time_from_start of {times[k]:g} s, the most is {LONGEST:g}"
        )
    return times


def points_of(
    nanoseconds: NDArray[np.int64], fields: Sequence[Array]
) -> list[JointTrajectoryPoint]:
    """Points of a message: time_from_start, positions, velocities, accelerations and efforts."""
    seconds, rest = (part.tolist() for part in np.divmod(nanoseconds, SECOND))
    columns = [message_arrays(values) for values in fields]
    durations = [Duration(sec=s, nanosec=ns) for s, ns in zip(seconds, rest)]
    return [
        JointTrajectoryPoint(
            positions=q, velocities=u, accelerations=udot, effort=tau, time_from_start=duration
        )
        for duration, q, u, udot, tau in zip(durations, *columns)
    ]


def fill_points(
    points: Sequence[JointTrajectoryPoint], velocities: Array, accelerations: Array, efforts: Array
) -> None:
    """Write arrays (N, m) into the points of a message, in place."""
    fields = [message_arrays(values) for values in (velocities, accelerations, efforts)]
    for point, v, a, tau in zip(points, *fields):
        point.velocities = v
        point.accelerations = a
        point.effort = tau
