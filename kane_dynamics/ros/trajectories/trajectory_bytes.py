"""Long trajectories in the bytes they come and go in.

rclpy makes Python objects of every point, one by one, and turns them into bytes again in the same
way; a trajectory of 10 000 points keeps a node busy for some tenths of a second. As a rule all its
points have the same fields, so that they lie in memory as the rows of a table, which NumPy reads
and writes at once. What is not of this kind, or not little-endian, is read point by point.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.ros.messages.cdr import HEAD, LITTLE_ENDIAN

FIELDS = ("positions", "velocities", "accelerations", "effort")


class Unusual(Exception):
    """Bytes that are not laid out as a table."""


class Layout(NamedTuple):
    """Where a point has the lengths of its fields, their numbers, its duration; and its end."""

    lengths: list[int]
    numbers: list[int]
    duration: int
    end: int


@dataclass(frozen=True, eq=False)
class TrajectoryTable:
    """A trajectory of N points, all with the same fields.

    Attributes
    ----------
    stamp : (int, int)
        Of the header: seconds and nanoseconds.
    names : tuple of str
    durations : array (N, 2) of int
        time_from_start in seconds and nanoseconds.
    fields : dict from str to array (N, k)
        The numbers of each field, with k = 0 where it is empty.
    prefix : bytes
        All before the first point.
    """

    stamp: tuple[int, int]
    names: tuple[str, ...]
    durations: NDArray[np.int64]
    fields: dict[str, Array]
    prefix: bytes

    def with_points(self, durations: NDArray[np.int64]) -> TrajectoryTable:
        """The same header and joints with so many points, which have no fields yet."""
        prefix = self.prefix[:-4] + struct.pack("<I", len(durations))
        return replace(self, durations=durations, fields={}, prefix=prefix)


def read_table(data: bytes) -> TrajectoryTable:
    """The trajectory in the bytes of a message.

    Raises Unusual if there are no points, or not all have the same fields, or the bytes are none of
    a trajectory.
    """
    if data[:2] != LITTLE_ENDIAN:
        raise Unusual
    body = memoryview(data)[HEAD:]
    try:
        stamp = struct.unpack_from("<iI", body, 0)
        names, place = _names(body, _after_string(body, 8))
        (count,) = struct.unpack_from("<I", body, place)
        if not count:
            raise Unusual
        sizes, first = _first_point(body, place + 4)
        rest = _layout(first.end, sizes)
    except struct.error:
        raise Unusual from None
    stride = rest.end - first.end
    if (stride % 8 and count > 2) or first.end + stride * (count - 1) > len(body):
        raise Unusual
    _refuse_other_sizes(body, rest, sizes, count - 1, stride)

    def column(kind: str, width: int, offsets: tuple[int, int]) -> Any:
        """Entries of the first point, and of all others."""
        shape, steps = (count - 1, width), (stride, np.dtype(kind).itemsize)
        return np.concatenate(
            [
                np.ndarray((1, width), kind, body, offsets[0]),
                np.ndarray(shape, kind, body, offsets[1], steps) if count > 1 else np.empty(shape),
            ]
        )

    seconds = column("<i4", 1, (first.duration, rest.duration))
    nanoseconds = column("<u4", 1, (first.duration + 4, rest.duration + 4))
    return TrajectoryTable(
        stamp=(stamp[0], stamp[1]),
        names=names,
        durations=np.hstack([seconds, nanoseconds]).astype(np.int64),
        fields={
            name: column("<f8", size, (one, other)).astype(np.float64)
            for name, size, one, other in zip(FIELDS, sizes, first.numbers, rest.numbers)
        },
        prefix=bytes(data[: HEAD + place + 4]),
    )


def write_table(table: TrajectoryTable, fields: dict[str, Array]) -> bytes:
    """The bytes of the same trajectory with other fields, each an array (N, k) with k > 0."""
    count = len(table.durations)
    start = len(table.prefix) - HEAD
    columns = [np.ascontiguousarray(fields[name], "<f8") for name in FIELDS]
    sizes = [column.shape[1] for column in columns]
    places = _layout(start, sizes), _layout(_layout(start, sizes).end, sizes)
    stride = places[1].end - places[0].end
    body = np.zeros(places[0].end + stride * (count - 1), np.uint8)
    for layout, rows in ((places[0], slice(0, 1)), (places[1], slice(1, None))):
        if not len(table.durations[rows]):
            continue
        durations = table.durations[rows].astype("<i8").astype("<u4")
        entries = [(layout.duration, durations)]
        for size, length, place, column in zip(sizes, layout.lengths, layout.numbers, columns):
            entries.append((length, np.full((len(durations), 1), size, "<u4")))
            entries.append((place, column[rows]))
        for place, values in entries:
            steps = (stride, values.itemsize)
            np.ndarray(values.shape, values.dtype, body.data, place, steps)[...] = values
    body[:start] = np.frombuffer(table.prefix, np.uint8, offset=HEAD)
    return table.prefix[:HEAD] + body.tobytes()


# ------------------------------------------------------------------------------------ where it lies
def _aligned(place: int, size: int) -> int:
    return -(-place // size) * size


def _after_string(body: memoryview, place: int) -> int:
    """Where what follows a string begins."""
    (length,) = struct.unpack_from("<I", body, place)
    return _aligned(place + 4 + length, 4)


def _names(body: memoryview, place: int) -> tuple[tuple[str, ...], int]:
    """The names of the joints, and where what follows them begins."""
    (count,) = struct.unpack_from("<I", body, place)
    place += 4
    names = []
    for _ in range(count):
        (length,) = struct.unpack_from("<I", body, place)
        text = bytes(body[place + 4 : place + 4 + length])
        if len(text) < length or not text.endswith(b"\0"):
            raise Unusual
        names.append(text[:-1].decode("utf-8", errors="replace"))
        place = _after_string(body, place)
    return tuple(names), place


def _first_point(body: memoryview, start: int) -> tuple[list[int], Layout]:
    """How many numbers the fields of the first point have, and where."""
    sizes: list[int] = []
    for _ in FIELDS:
        place = _layout(start, sizes).duration
        (size,) = struct.unpack_from("<I", body, place)
        if place + 8 * size > len(body):
            raise Unusual
        sizes.append(size)
    layout = _layout(start, sizes)
    if layout.end > len(body):
        raise Unusual
    return sizes, layout


def _layout(start: int, sizes: list[int]) -> Layout:
    """The layout of a point whose fields have so many numbers."""
    lengths, numbers, place = [], [], start
    for size in sizes:
        lengths.append(place)
        place += 4
        if size:
            place = _aligned(place, 8)
        numbers.append(place)
        place += 8 * size
    return Layout(lengths, numbers, place, place + 8)


def _refuse_other_sizes(
    body: memoryview, layout: Layout, sizes: list[int], count: int, stride: int
) -> None:
    """Compare the lengths of fields of a point, and of all others behind it."""
    for place, size in zip(layout.lengths, sizes):
        if count and (np.ndarray((count,), "<u4", body, place, (stride,)) != size).any():
            raise Unusual
