"""Recorded points: whether they are noisy, and the velocities and accelerations behind the noise.

An interpolating spline follows noise: an encoder that is off by 10⁻⁴ rad at 100 Hz turns into
accelerations of 5 rad/s². Points of a plan have no noise, and a spline is what they mean. What
tells them apart is looked at joint by joint:

- positions alone are noisy when a smoother curve that misses them is much likelier than one that
  follows them closely. Corners of a plan do not look so: they are few, and the other points lie
  exactly on their curve;
- positions and velocities are noisy when they contradict each other at most of the points.

Both count only where the noise would matter for the accelerations.

A recording can also hold measurements twice, when states were published faster than they were
measured. Measurements that follow each other regularly are then put at their own times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.penalized_spline import Fit, penalized_spline
from kane_dynamics.simulation.trajectory import Sample, trajectory_through

FEWEST = 30
"""Points from which noise can be estimated."""

LONGEST_STEP = 0.2
"""Time in s between two points beyond which they are waypoints of a plan, not a recording."""

FASTEST = 1e6
"""Positions and velocities in rad, m and s beyond which nothing is measured."""

LARGEST_NOISE = 0.05
"""Noise in rad or m beyond which positions are no measurement."""

EVIDENCE = 0.05
"""Difference of log likelihoods, for each point, from which positions are noisy."""

RELEVANT, LEAST = 0.1, 0.03
"""Errors of accelerations that matter: as part of the accelerations, and in rad/s² or m/s²."""

INTERPOLATED = 4.9
"""RMS of the accelerations of a cubic spline at points of unit noise and unit time step."""

NORMAL = 1.48
"""Standard deviation of normal noise over the median of its magnitude."""

REPEATS = 3
"""Measurements that are repeated in mid-motion, from which on they are looked for."""


def smoothed(
    times: ArrayLike,
    positions: ArrayLike,
    velocities: ArrayLike | None = None,
    joint_names: Sequence[str] | None = None,
) -> Sample | None:
    """State of the joints at points that are dense and noisy; None if they are not.

    Parameters
    ----------
    times : array (N,)
        In s, increasing.
    positions : array (N, n)
        Measured, rad or m.
    velocities : array (N, n), optional
        Measured.
    joint_names : sequence of str, optional
        For messages.

    Returns
    -------
    Sample or None
        Positions and velocities as they are given; velocities that are not given, and
        accelerations, are those of curves fitted to the points of each joint that is noisy, and of
        `trajectory_through` for each that is not.

    Raises
    ------
    ArgumentError
        As `trajectory_through`.

    Examples
    --------
    >>> t = np.linspace(0.0, 2.0, 201)
    >>> smooth = np.sin(t)[:, None]
    >>> smoothed(t, smooth) is None
    True
    >>> noisy = smooth + 1e-3 * np.random.default_rng(0).standard_normal(smooth.shape)
    >>> bool(np.abs(smoothed(t, noisy).accelerations + smooth).max() < 0.3)
    True
    """
    motion = trajectory_through(times, positions, velocities, joint_names=joint_names)
    t, p = motion.times, motion.positions
    v = None if velocities is None else motion.velocities
    if len(t) < FEWEST or np.diff(t).max() > LONGEST_STEP or _fastest(p, v) > FASTEST:
        return None
    first, own = _measurements(t, p, v)
    if len(own) < FEWEST:
        return None
    repeats = len(own) < len(t)
    kept = np.unique(first)
    state = p[kept], None if v is None else v[kept]
    with np.errstate(all="ignore"):
        fit = penalized_spline(own - own[0], *state)
        a, noisy = _accelerations(own, *state, fit)
    noisy = (noisy | repeats) & (fit.noise < LARGEST_NOISE) & np.isfinite(a).all(axis=0)
    if not noisy.any():
        return None
    row = np.searchsorted(kept, first)
    return Sample(
        p,
        np.where(noisy, fit.velocities[row], motion.velocities) if v is None else v,
        np.where(noisy, a[row], motion.accelerations),
    )


def _accelerations(
    t: Array, p: Array, v: Array | None, fit: Fit
) -> tuple[Array, NDArray[np.bool_]]:
    """Accelerations (N, n) behind the noise, and for which joints there is some."""
    step, matters = float(np.median(np.diff(t))), _matters(fit.accelerations)
    if v is None:
        # The median: a few points that are far off are corners of a plan.
        noise = INTERPOLATED * NORMAL * np.median(np.abs(p - fit.positions), axis=0) / step**2
        return fit.accelerations, (noise > matters) & (fit.evidence > EVIDENCE * len(t))
    # Two cubic polynomials meet in a point with accelerations that differ, by noise or by plan.
    h = np.diff(t)[:, None]
    slope = 6.0 * np.diff(p, axis=0) / h**2
    after = slope - (4.0 * v[:-1] + 2.0 * v[1:]) / h
    before = -slope + (2.0 * v[:-1] + 4.0 * v[1:]) / h
    noisy = np.median(np.abs(after[1:] - before[:-1]), axis=0) > matters
    # Velocities that leave out most of the motion are commands to stop, not measurements.
    noisy &= _rms(v) > 0.5 * _rms(fit.velocities)
    # Velocities that are smooth in themselves count more than positions that contradict them.
    alone = penalized_spline(t, v)
    clean = 2.0 * alone.noise / step < _matters(alone.velocities)
    return np.where(clean, alone.velocities, fit.accelerations), noisy


def _matters(accelerations: Array) -> Array:
    return np.maximum(RELEVANT * _rms(accelerations), LEAST)


def _fastest(p: Array, v: Array | None) -> float:
    return max(float(np.abs(x).max()) for x in (p, v) if x is not None)


def _rms(values: Array) -> Array:
    result: Array = np.sqrt(np.mean(values**2, axis=0))
    return result


def _measurements(t: Array, p: Array, v: Array | None) -> tuple[NDArray[np.intp], Array]:
    """For each point the first that holds the same measurement, and times of those first ones.

    All points are measurements of their own, at their own times, unless some repeat the one before
    in mid-motion, and the others follow each other regularly.
    """
    every = np.arange(len(t))
    moved = np.abs(np.diff(p, axis=0)).sum(axis=1)
    same = moved == 0.0
    if v is not None:
        same &= (np.diff(v, axis=0) == 0.0).all(axis=1)
    least = 0.2 * np.median(moved)
    repeated = same[1:-1] & (moved[:-2] > least) & (moved[2:] > least)
    if repeated.sum() < REPEATS:
        return every, t
    first = np.maximum.accumulate(np.where(np.concatenate(([True], ~same)), every, 0))
    kept = np.unique(first)
    count = np.arange(len(kept))
    slope, begin = np.polyfit(count, t[kept], 1)
    own = begin + slope * count
    if np.abs(own - t[kept]).max() > slope:
        return every, t
    return first, own
