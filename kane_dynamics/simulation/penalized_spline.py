"""Curves that pass near noisy points: splines whose jerk is penalized as far as noise demands.

A curve c is the one that minimizes Σ (p - c)² + r² Σ (v - ċ)² + λ ∫ (d³c/dt³)² dt over splines of
degree five with equal spans. In the words of statistics that is the most probable motion when its
jerk is white noise, and positions and velocities have noise of deviations σ and σ / r; the numbers
λ and r that are most likely for the points themselves (restricted maximum likelihood, Wahba 1985)
are searched on a grid. All matrices are banded: the cost grows with the number of points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

from kane_dynamics.arrays import Array

DEGREE = 5
ORDER = 3
"""Of the derivative that is penalized: jerk."""

PENALTIES = np.logspace(-5.0, 6.0, 12)
"""λ where a span is the unit of time and has one point: more of them averages over more spans."""

RATIOS = np.logspace(-0.3, 2.7, 5)
"""r in time steps: velocities that are differences of positions have 0.7, those of sensors more."""

COARSER = 4
"""How many times longer spans are tried next: beyond the largest λ, numbers lose their digits."""

FEWEST_SPANS = 4
ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class Fit:
    """Curves of n joints through N points, with the noise about them.

    Attributes
    ----------
    positions, velocities, accelerations : array (N, n)
        Of the curves at the times of the points.
    noise : array (n,)
        Standard deviation of the positions about the curves.
    evidence : array (n,)
        How much likelier the curves are than those that follow the points most closely: difference
        of log likelihoods.
    """

    positions: Array
    velocities: Array
    accelerations: Array
    noise: Array
    evidence: Array


def penalized_spline(t: Array, p: Array, v: Array | None = None) -> Fit:
    """The most likely curves of joints near positions (N, n), and near velocities, if given.

    Times (N,) increase; N is at least ten.
    """
    count, joints = p.shape
    step = (t[-1] - t[0]) / (count - 1)
    middle = p.mean(axis=0)
    best: list[_Curve | None] = [None] * joints
    closest = np.full(joints, np.inf)
    spans = (count - 1) // 2
    closest_span = spans
    while spans >= FEWEST_SPANS:
        level = _Level((t - t[0]) / step, p - middle, None if v is None else v * step, spans)
        for ratio in (0.0,) if v is None else RATIOS:
            for penalty in PENALTIES:
                tried = level.curves(penalty, ratio)
                if tried is None:
                    continue
                coefficients, variances, unlikeliness = tried
                for j in range(joints):
                    kept = best[j]
                    if kept is None or unlikeliness[j] < kept.unlikeliness:
                        best[j] = _Curve(level, coefficients[:, j], variances[j], unlikeliness[j])
                if spans == closest_span and penalty == PENALTIES[0]:
                    closest = np.minimum(closest, unlikeliness)
        spans //= COARSER
    curves = [curve for curve in best if curve is not None]
    values = (
        np.stack([c.level.design(order) @ c.coefficients for c in curves], axis=1) / step**order
        for order in range(3)
    )
    positions, velocities, accelerations = values
    return Fit(
        positions + middle,
        velocities,
        accelerations,
        np.sqrt([curve.variance for curve in curves]),
        (closest - [curve.unlikeliness for curve in curves]) / 2.0,
    )


class _Level:
    """Curves of so many spans, near points whose mean time step is the unit of time."""

    def __init__(self, t: Array, p: Array, v: Array | None, spans: int) -> None:
        self._spans, self._p, self._v = spans, p, v
        self._length = t[-1] / spans
        self._x = np.clip(t / self._length, 0.0, spans)
        self._rounding = (ROUNDING * (1.0 + np.abs(p).max(axis=0))) ** 2

    def design(self, order: int) -> sparse.csr_array:
        """Matrix from coefficients to the derivatives of an order at the points."""
        return _basis(self._x, self._spans, order) / self._length**order

    @cached_property
    def _near_positions(self) -> tuple[sparse.csr_array, Array, Array]:
        design = self.design(0)
        return design, _bands(design.T @ design), design.T @ self._p

    @cached_property
    def _near_velocities(self) -> tuple[sparse.csr_array, Array, Array]:
        design = self.design(1)
        return design, _bands(design.T @ design), design.T @ self._v

    @cached_property
    def _jerk(self) -> tuple[sparse.csr_array, Array]:
        # Three points of Gauss integrate products of the quadratic pieces exactly.
        nodes, weights = np.polynomial.legendre.leggauss(3)
        x = (np.arange(self._spans)[:, None] + (nodes + 1.0) / 2.0).ravel()
        weight = sparse.diags_array(np.sqrt(np.tile(weights / 2.0, self._spans)))
        jerk = (weight @ _basis(x, self._spans, ORDER)).tocsr()
        return jerk, _bands(jerk.T @ jerk)

    def curves(self, penalty: float, ratio: float) -> tuple[Array, Array, Array] | None:
        """Coefficients (m, n), noise variances (n,), and -2 log likelihood up to a constant (n,).

        None where the equations have no digits left.
        """
        design, matrix, sides = self._near_positions
        count, size = len(self._p), self._spans + DEGREE
        penalty = penalty * count / self._spans
        jerk, rough = self._jerk
        matrix = matrix + penalty * rough
        if self._v is not None:
            also, more, more_sides = self._near_velocities
            matrix, sides = matrix + ratio**2 * more, sides + ratio**2 * more_sides
        try:
            factor = cholesky_banded(matrix)
        except LinAlgError:
            return None
        c = cho_solve_banded((factor, False), sides)
        squares = ((self._p - design @ c) ** 2).sum(axis=0)
        squares = squares + penalty * ((jerk @ c) ** 2).sum(axis=0)
        observed = count
        if self._v is not None:
            squares = squares + ratio**2 * ((self._v - also @ c) ** 2).sum(axis=0)
            observed = 2 * count
        variances = np.maximum(squares / (observed - ORDER), self._rounding)
        unlikeliness = (
            (observed - ORDER) * np.log(variances)
            + 2.0 * np.log(factor[-1]).sum()
            - (size - ORDER) * np.log(penalty)
        )
        if self._v is not None:
            unlikeliness = unlikeliness - count * np.log(ratio**2)
        return c, variances, unlikeliness


@dataclass(frozen=True, eq=False)
class _Curve:
    level: _Level
    coefficients: Array
    variance: float
    unlikeliness: float


def _basis(x: Array, spans: int, order: int) -> sparse.csr_array:
    """Derivatives of B-splines on whole knots, a row for each 0 <= x <= spans."""
    first = np.minimum(x.astype(np.intp), spans - 1)
    s = x - first
    values = np.ones((len(x), 1))
    for degree in range(1, DEGREE + 1):
        # The recursion of Cox and de Boor, then that of derivatives, which are differences.
        wider = np.zeros((len(x), degree + 1))
        if degree <= DEGREE - order:
            rising = (s[:, None] + np.arange(degree - 1, -1, -1)) / degree
            wider[:, 1:] = rising * values
            wider[:, :-1] += (1.0 - rising) * values
        else:
            wider[:, 1:] = values
            wider[:, :-1] -= values
        values = wider
    columns = first[:, None] + np.arange(DEGREE + 1)
    starts = np.arange(0, values.size + 1, DEGREE + 1)
    shape = (len(x), spans + DEGREE)
    return sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=shape)


def _bands(matrix: sparse.sparray) -> Array:
    """The upper bands of a symmetric matrix, as SciPy's solvers of banded systems want them."""
    size = matrix.shape[0]
    bands = np.zeros((DEGREE + 1, size))
    for k in range(min(DEGREE + 1, size)):
        bands[DEGREE - k, k:] = matrix.diagonal(k)
    return bands
