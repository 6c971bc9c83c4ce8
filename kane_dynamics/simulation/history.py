"""Values over time: polynomials in the spans between given times, and what is wrong with times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array, check_finite, real_array
from kane_dynamics.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class Table:
    """Values that are polynomials in time, others in each time span.

    Attributes
    ----------
    begins : array (S,)
        When each span begins; the first also holds before it begins, the last for good.
    coefficients : array (S, width, terms)
        Of powers of the time since the span began.
    """

    begins: Array
    coefficients: Array

    @property
    def width(self) -> int:
        return int(self.coefficients.shape[1])

    def span(self, middle: float) -> int:
        """The span in which a time lies."""
        return max(int(np.searchsorted(self.begins, middle, side="right")) - 1, 0)

    def at(self, t: float, middle: float) -> Array:
        """The values at time t, in the span in which `middle` lies."""
        span = self.span(middle)
        *lower, value = np.moveaxis(self.coefficients[span], -1, 0)
        for coefficient in reversed(lower):
            value = coefficient + (t - self.begins[span]) * value
        return np.asarray(value)


def constant(values: ArrayLike) -> Table:
    """Values (n,) that do not change."""
    return Table(np.array([-1.0]), np.asarray(values, np.float64)[None, :, None])


def history(times: Array, values: Array, linear: bool, early: bool) -> Table:
    """Values (K, n) from each of the times (K,) on, or linear from one to the next.

    The last ones hold for good; before the first time the first ones do if they are `early`, else
    there are zeros.
    """
    before = values[:1] if early else np.zeros_like(values[:1])
    begins, held = np.append(times[0] - 1.0, times), np.vstack([before, values])
    if not linear:
        return Table(begins, held[:, :, None])
    slopes = np.zeros_like(held)
    slopes[1:-1] = np.diff(values, axis=0) / np.diff(times)[:, None]
    return Table(begins, np.stack([held, slopes], axis=-1))


def checked_times(times: ArrayLike, owner: str = "") -> Array:
    """Ascending finite times as an array that cannot be changed.

    Messages name the point at fault, and the `owner` of the times first, if there is one.
    """
    array = own_array(f"{owner}: times" if owner else "times", times)
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
    array = own_array(f"{owner}: {name}", values)
    check_finite(f"{owner}: {name}", array)
    return array


def own_array(name: str, values: ArrayLike) -> Array:
    """Real numbers as an array that nobody else has, and that cannot be changed."""
    array: Array = real_array(name, values).copy()
    array.setflags(write=False)
    return array


def checked_hold(owner: str, hold: str) -> str:
    if hold not in ("zero", "linear"):
        raise ArgumentError(f"{owner}: hold must be 'zero' or 'linear', got {hold!r}")
    return hold
