"""Polynomials through points: velocities and accelerations that are missing, and coefficients.

Arrays have a row for each point and a column for each joint; times increase.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kane_dynamics.arrays import Array

# Row r: coefficient of s**r of a polynomial on 0 <= s <= 1 from p0, v0, a0, p1, v1, a1.
_QUINTIC = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
        [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
        [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
        [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    ]
)
_DEGREE = np.arange(6)
_FIRST = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
_SECOND = np.array([2.0, 6.0, 12.0, 20.0])


def filled_velocities(t: Array, p: Array, v: Array) -> Array:
    """Velocities of the cubic spline through the points, where a row of `v` is NaN.

    Each row of the equations says that the accelerations of the two polynomials that meet in a
    point are equal, or that the velocity is the given one; at the two ends it is zero.
    """
    missing = np.isnan(v[:, 0])
    if not missing.any():
        return v
    known = np.where(missing[:, None], 0.0, v)
    missing[[0, -1]] = False
    if not missing.any():
        return known
    from scipy.linalg import solve_banded  # imported here: complete trajectories do without

    h = np.diff(t)
    inner = missing[1:-1]
    bands = np.zeros((3, len(t)))
    bands[1] = 1.0
    bands[1, 1:-1][inner] = (2.0 / h[:-1] + 2.0 / h[1:])[inner]
    bands[0, 2:][inner] = (1.0 / h[1:])[inner]
    bands[2, :-2][inner] = (1.0 / h[:-1])[inner]
    slope = np.diff(p, axis=0) / h[:, None] ** 2
    sides: Array = known.copy()
    sides[1:-1][inner] = 3.0 * (slope[:-1] + slope[1:])[inner]
    if not np.isfinite(sides).all():
        return sides
    solved: Array = solve_banded((1, 1), bands, sides)
    return np.where(missing[:, None], solved, known)


def filled_accelerations(t: Array, p: Array, v: Array, a: Array) -> Array:
    """Accelerations of the cubic polynomials between the points, where a row of `a` is NaN."""
    missing = np.isnan(a[:, 0])
    if not missing.any():
        return a
    if len(t) == 1:
        return np.zeros_like(p)
    h = np.diff(t)[:, None]
    slope = 6.0 * np.diff(p, axis=0) / h**2
    after = slope - (4.0 * v[:-1] + 2.0 * v[1:]) / h
    before = -slope + (2.0 * v[:-1] + 4.0 * v[1:]) / h
    curve = np.vstack((after[:1], (before[:-1] + after[1:]) / 2.0, before[-1:]))
    return np.where(missing[:, None], curve, a)


def quintic_coefficients(t: Array, p: Array, v: Array, a: Array) -> Array:
    """Polynomials (N - 1, n, 6) between the points: entry k belongs to (t - t[i])**k."""
    h = np.diff(t)[:, None]
    rise = np.diff(p, axis=0)  # of a difference, no digits are lost to a large position
    knots = (np.zeros_like(rise), h * v[:-1], h**2 * a[:-1], rise, h * v[1:], h**2 * a[1:])
    with np.errstate(all="ignore"):
        result: Array = np.stack(knots, axis=-1) @ _QUINTIC.T / h[:, :, None] ** _DEGREE
    result[..., 0] = p[:-1]
    return result


def monomials(s: Array, moving: Any) -> Array:
    """Powers of s from 0 to 5 with their two derivatives, (..., 6, 3).

    Derivatives are zero where `moving` is false.
    """
    result = np.zeros((*np.shape(s), 6, 3))
    powers = result[..., 0]
    powers[...] = s[..., None]
    powers[..., 0] = 1.0
    np.multiply.accumulate(powers, axis=-1, out=powers)
    weight = np.asarray(moving)[..., None]
    result[..., 1:, 1] = _FIRST * powers[..., :-1] * weight
    result[..., 2:, 2] = _SECOND * powers[..., :-2] * weight
    return result
