"""Values over time: constant or linear between given times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError

REAL_KINDS = "fiu"
"""Kinds of NumPy's types that are real numbers."""


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


def checked_times(times: ArrayLike, owner: str = "") -> Array:
    """Ascending finite times as an array that cannot be changed.

    Messages name the point at fault, and the `owner` of the times first, if there is one.
    """
    array = real_array(f"{owner}: times" if owner else "times", times)
    if array.ndim != 1 or not len(array):
        demand = "times must be a list of at least one time"
        raise ArgumentError(f"{_demand(owner, demand) or demand + ', '}got shape {array.shape}")
    if not np.isfinite(array).all():
        k = int(np.isfinite(array).argmin())
        raise ArgumentError(
            f"{_demand(owner, 'every entry of times must be finite')}"
            f"point {k}: its time is {array[k]}, expected a finite number"
        )
    late = np.diff(array) <= 0.0
    if late.any():
        k = int(late.argmax()) + 1
        raise ArgumentError(
            f"{_demand(owner, 'times must increase')}"
            f"point {k}: its time {array[k]:g} s does not come after {array[k - 1]:g} s of the "
            "point before, expected increasing times"
        )
    return array


def _demand(owner: str, demand: str) -> str:
    return f"{owner}: {demand}, " if owner else ""


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
    array = real_array(f"{owner}: {name}", values)
    if not np.isfinite(array).all():
        raise ArgumentError(f"{owner}: every entry of {name} must be finite")
    return array


def real_array(name: str, values: ArrayLike) -> Array:
    """Real numbers as an array that cannot be changed; strings are none, whatever they spell."""
    try:
        given = np.array(values)
        if given.dtype.kind not in REAL_KINDS:
            raise TypeError
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must hold real numbers") from None
    array = given.astype(np.float64)
    array.setflags(write=False)
    return array


def checked_hold(owner: str, hold: str) -> str:
    if hold not in ("zero", "linear"):
        raise ArgumentError(f"{owner}: hold must be 'zero' or 'linear', got {hold!r}")
    return hold
