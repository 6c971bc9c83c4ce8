"""Time stamps of messages as whole nanoseconds."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Duration, Time

SECOND = 1_000_000_000


def nanoseconds_of(stamp: Any) -> int:
    """A stamp in ns."""
    return int(stamp.sec * SECOND + stamp.nanosec)


def stamp_of(nanoseconds: int) -> Time:
    """The stamp of a time in ns."""
    return Time(sec=nanoseconds // SECOND, nanosec=nanoseconds % SECOND)


def duration_of(seconds: float) -> Duration:
    """A time in s as a duration."""
    whole, rest = divmod(round(seconds * SECOND), SECOND)
    return Duration(sec=whole, nanosec=rest)
