"""Values over time: constant or linear between given times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kane_dynamics.errors import ArgumentError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class History:
    """Values (K, width) at ascending times (K,).

    Attributes
    ----------
    times, values : array
    linear : bool
        Whether values change linearly from one time to the next; else each stays until then.
    early : bool
        Whether the first value also holds before its time; else there is none before. The last
        value holds for good.
    """

    times: Array
    values: Array
    linear: bool
    early: bool

    def at(self, t: float, middle: float) -> Array:
        """The value at time t, in the time span in which `middle` lies."""
        index = int(np.searchsorted(self.times, middle, side="right")) - 1
        if index < 0:
            return self.values[0] if self.early else np.zeros(self.values.shape[1])
        value: Array = self.values[index]
        if self.linear and index + 1 < len(self.times):
            begin, end = self.times[index : index + 2]
            value = value + (t - begin) / (end - begin) * (self.values[index + 1] - value)
        return value


def checked_times(owner: str, times: ArrayLike) -> Array:
    """Ascending finite times as an array that cannot be changed."""
    array = checked_array(owner, "times", times)
    if array.ndim != 1 or not len(array):
        raise ArgumentError(f"{owner}: times must be a list of at least one time, in s")
    late = np.flatnonzero(np.diff(array) <= 0.0)
    if len(late):
        k = int(late[0])
        raise ArgumentError(
            f"{owner}: times must increase, but times[{k + 1}] = {array[k + 1]:g} follows "
            f"{array[k]:g}"
        )
    return array


def checked_values(owner: str, name: str, values: ArrayLike, count: int, width: str) -> Array:
    """Finite values, a row for each of `count` times, as an array that cannot be changed."""
    array = checked_array(owner, name, values)
    if array.ndim != 2 or len(array) != count:
        raise ArgumentError(
            f"{owner}: {name} must have shape ({count}, {width}), a row for each time, "
            f"got {array.shape}"
        )
    return array


def checked_array(owner: str, name: str, values: ArrayLike) -> Array:
    """Finite numbers as an array that cannot be changed."""
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{owner}: {name} must hold real numbers") from None
    if not np.isfinite(array).all():
        raise ArgumentError(f"{owner}: every entry of {name} must be finite")
    array.setflags(write=False)
    return array


def checked_hold(owner: str, hold: str) -> str:
    if hold not in ("zero", "linear"):
        raise ArgumentError(f"{owner}: hold must be 'zero' or 'linear', got {hold!r}")
    return hold
