"""A motion of joints through given points: what is not given is filled in, then sampled anywhere.

Between two points every joint follows the polynomial of degree five that has the positions,
velocities and accelerations of both. Those that are not given are filled in first, as
joint_trajectory_controller does it:

- velocities: of the cubic spline through the positions, with the velocities that are given, and at
  rest at the two ends where none is given;
- accelerations: of the cubic polynomials that have the positions and velocities of two points;
  where two of them meet, the mean of both.

So positions alone give a cubic spline, and two points with velocities a cubic polynomial. A
controller that is given the filled points follows the same curve.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.simulation.history import checked_times, own_array
from kane_dynamics.simulation.interpolation import (
    filled_accelerations,
    filled_velocities,
    monomials,
    quintic_coefficients,
)


class Sample(NamedTuple):
    """State of the joints at a time, arrays (n,), or at several, arrays (N, n)."""

    positions: Array
    velocities: Array
    accelerations: Array


class Start(NamedTuple):
    """Where the joints are before the first point: time in s, positions and velocities (n,)."""

    time: float
    positions: ArrayLike
    velocities: ArrayLike


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A motion of n joints through N points, in rad or m and s.

    `trajectory_through` makes one from points of which less is known.

    Parameters
    ----------
    times : array (N,)
        Increasing.
    positions, velocities, accelerations : array (N, n)
        Of every point.

    Raises
    ------
    ArgumentError
        If shapes do not match, times do not increase, or numbers are not finite.
    """

    times: Array
    positions: Array
    velocities: Array
    accelerations: Array

    def __post_init__(self) -> None:
        times = checked_times(self.times)
        object.__setattr__(self, "times", times)
        for name in ("positions", "velocities", "accelerations"):
            array = _points(name, getattr(self, name), times, None)
            if name != "positions" and array.shape != self.positions.shape:
                raise ArgumentError(_other_shape(name, self.positions, array))
            object.__setattr__(self, name, _frozen(array))

    @property
    def begin(self) -> float:
        """Time of the first point."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """Time of the last point."""
        return float(self.times[-1])

    @cached_property
    def coefficients(self) -> Array:
        """Polynomials (N - 1, n, 6) between the points: entry k belongs to (t - times[i])**k."""
        return _frozen(
            quintic_coefficients(self.times, self.positions, self.velocities, self.accelerations)
        )

    def sample(self, t: ArrayLike) -> Sample:
        """State at a time, or at each of several (N,).

        Before the first and after the last point the joints rest at its positions.

        Examples
        --------
        >>> rise = trajectory_through([0.0, 2.0], [[0.0], [1.0]])
        >>> rise.sample(1.0)
        Sample(positions=array([0.5]), velocities=array([0.75]), accelerations=array([0.]))
        >>> rise.sample([3.0, 4.0]).positions
        array([[1.],
               [1.]])
        """
        t = np.asarray(t, dtype=np.float64)
        if len(self.times) == 1:
            return self._resting(t)
        i = np.clip(self.times.searchsorted(t, "right") - 1, 0, len(self.times) - 2)
        s = np.clip(t, self.begin, self.end) - self.times[i]
        states = self.coefficients[i] @ monomials(s, (t >= self.begin) & (t <= self.end))
        return Sample(states[..., 0], states[..., 1], states[..., 2])

    def sample_one(self, t: float) -> Sample:
        """State at a time, as `sample`, in a fraction of its time."""
        if len(self.times) == 1 or not self.begin <= t <= self.end:
            return self.sample(t)
        i = min(bisect_right(self._knots, t), len(self._knots) - 1) - 1
        s = t - self._knots[i]
        s2, s3, s4 = s * s, s**3, s**4
        rows = (
            (1.0, s, s2, s3, s4, s4 * s),
            (0.0, 1.0, 2.0 * s, 3.0 * s2, 4.0 * s3, 5.0 * s4),
            (0.0, 0.0, 2.0, 6.0 * s, 12.0 * s2, 20.0 * s3),
        )
        return Sample(*(np.array(rows) @ self._transposed[i]))

    @cached_property
    def _knots(self) -> list[float]:
        knots: list[float] = self.times.tolist()
        return knots

    @cached_property
    def _transposed(self) -> Array:
        return np.ascontiguousarray(self.coefficients.transpose(0, 2, 1))

    def _resting(self, t: Array) -> Sample:
        at = t == self.times[0]
        shape = (*t.shape, self.positions.shape[1])
        return Sample(
            np.broadcast_to(self.positions[0], shape),
            np.where(at[..., None], self.velocities[0], 0.0),
            np.where(at[..., None], self.accelerations[0], 0.0),
        )


def trajectory_through(
    times: ArrayLike,
    positions: ArrayLike,
    velocities: ArrayLike | None = None,
    accelerations: ArrayLike | None = None,
    start: Start | None = None,
    joint_names: Sequence[str] | None = None,
) -> Trajectory:
    """The motion through given points.

    Parameters
    ----------
    times : array (N,)
        Times of the points in s, increasing.
    positions : array (N, n)
        Positions of the joints, rad or m.
    velocities, accelerations : array (N, n), optional
        Rows of NaN stand for points that have none.
    start : Start, optional
        State before the motion. When the first point comes later, the motion begins there, and its
        first point is this one.
    joint_names : sequence of str, optional
        For messages.

    Raises
    ------
    ArgumentError
        If shapes do not match, times do not increase, or numbers are not finite.

    Examples
    --------
    >>> trajectory_through([0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]]).accelerations.ravel()
    array([ 6., -6.,  6.])
    """
    t = checked_times(times)
    p = _points("positions", positions, t, joint_names)
    v = _optional_points("velocities", velocities, p, joint_names)
    a = _optional_points("accelerations", accelerations, p, joint_names)
    if start is not None and start.time < t[0]:
        begin = _start(start, p.shape[1])
        t = np.concatenate(([begin.time], t))
        p = np.vstack((begin.positions, p))
        # joint_trajectory_controller: not accelerated at the start, where accelerations are given
        none = np.full(p.shape[1], np.nan if np.isnan(a).all() else 0.0)
        v, a = np.vstack((begin.velocities, v)), np.vstack((none, a))
    with np.errstate(all="ignore"):
        v = filled_velocities(t, p, v)
        a = filled_accelerations(t, p, v, a)
    wild = np.argwhere(~(np.isfinite(v) & np.isfinite(a)))
    if len(wild):
        raise ArgumentError(
            f"the motion at {t[wild[0, 0]]:g} s is too fast for finite numbers: positions "
            "must be nearer together, or times further apart"
        )
    return Trajectory(t, p, v, a)


# -------------------------------------------------------------------------------------- checks
def _points(name: str, values: ArrayLike, t: Array, joint_names: Sequence[str] | None) -> Array:
    array = own_array(name, values)
    if array.ndim != 2 or array.shape[0] != len(t) or not array.shape[1]:
        raise ArgumentError(
            f"{name} must have shape ({len(t)}, n), a row for each time, got {array.shape}"
        )
    check_points_finite(name, array, joint_names)
    return array


def check_points_finite(name: str, array: Array, joint_names: Sequence[str] | None = None) -> None:
    """ArgumentError that names the point and joint of the first number that is not finite."""
    finite = np.isfinite(array)
    if not finite.all():
        k, j = (int(index) for index in np.argwhere(~finite)[0])
        joint = repr(joint_names[j]) if joint_names is not None else j
        raise ArgumentError(
            f"point {k}: {name} of joint {joint} is {array[k, j]}, expected a finite number"
        )


def _optional_points(
    name: str, values: ArrayLike | None, p: Array, joint_names: Sequence[str] | None
) -> Array:
    if values is None:
        return np.full_like(p, np.nan)
    array = own_array(name, values)
    if array.shape != p.shape:
        raise ArgumentError(_other_shape(name, p, array))
    given = np.isnan(array).sum(axis=1) < array.shape[1]
    check_points_finite(name, np.where(given[:, None], array, 0.0), joint_names)
    return array


def _other_shape(name: str, positions: Array, array: Array) -> str:
    return f"{name} must have the shape of positions {positions.shape}, got {array.shape}"


def _start(start: Start, n: int) -> Start:
    p, v = (np.array(x, dtype=np.float64) for x in (start.positions, start.velocities))
    if p.shape != (n,) or v.shape != (n,):
        raise ArgumentError(
            f"positions and velocities of the start must have shape ({n},), "
            f"got {p.shape} and {v.shape}"
        )
    if not (np.isfinite(start.time) and np.isfinite(p).all() and np.isfinite(v).all()):
        raise ArgumentError("the start of a trajectory must have finite numbers")
    return Start(float(start.time), p, v)


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
