"""Kane's equations recombined, against multipliers in extended precision."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from kane_dynamics.arrays import Array
from kane_dynamics.kane.recombination import SATISFIED, pivoted, recombination, unsatisfied

SETS = range(250)


def _random_set(seed: int) -> tuple[Array, Array, Array, Array, Array]:
    """M, Q, independent rows with their bias, and a matrix that makes redundant rows of them."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 8))
    r = int(random.integers(1, n + 1))
    units = 10.0 ** random.uniform(-2.0, 2.0, n)
    root = random.normal(size=(n, n))
    M = units[:, None] * (root @ root.T + n * np.eye(n)) * units
    Q = units * random.normal(size=n)
    A = random.normal(size=(r, n)) * units
    sizes = 10.0 ** random.uniform(-4.0, 4.0, r)
    bias = sizes * random.normal(size=r)
    mixing = random.normal(size=(int(random.integers(0, 4)), r)) / sizes
    return M, Q, sizes[:, None] * A, bias, mixing


def _exact(M: Array, Q: Array, A: Array, bias: Array) -> Array:
    """Accelerations by multipliers, with forty digits."""
    mpmath.mp.dps = 40
    n, r = len(Q), len(bias)
    whole, right = mpmath.zeros(n + r, n + r), mpmath.zeros(n + r, 1)
    for i in range(n):
        right[i] = mpmath.mpf(float(Q[i]))
        for j in range(n):
            whole[i, j] = mpmath.mpf(float(M[i, j]))
    for k in range(r):
        right[n + k] = -mpmath.mpf(float(bias[k]))
        for j in range(n):
            whole[n + k, j] = whole[j, n + k] = mpmath.mpf(float(A[k, j]))
    found = mpmath.lu_solve(whole, right)
    return np.array([float(found[i]) for i in range(n)])


@pytest.mark.parametrize("seed", SETS)
def test_accelerations_are_those_of_multipliers_whatever_is_redundant(seed: int) -> None:
    M, Q, A, bias, mixing = _random_set(seed)
    rows, right = np.concatenate([A, mixing @ A]), np.concatenate([bias, mixing @ bias])
    own = recombination(rows, np.diagonal(M))
    assert own.rank == len(A)
    udot, expected = own.accelerations(M, Q, right), _exact(M, Q, A, bias)
    units = np.sqrt(np.diagonal(M))
    size = np.abs(units * expected).max()
    assert np.abs(units * (udot - expected)).max() < 1e-8 * size
    assert unsatisfied(rows, right, udot).max() < SATISFIED
    # The forces do what the accelerations ask for, and no smaller ones would.
    generalized = M @ udot - Q
    force = own.forces(generalized)
    assert np.abs((rows.T @ force - generalized) / units).max() < 1e-7 * np.abs(
        generalized / units
    ).max(initial=size)
    if len(mixing):
        _, _, kernel = np.linalg.svd(rows.T / units[:, None])
        idle = kernel[len(A) :]
        assert np.abs(idle @ force).max() < 1e-6 * np.linalg.norm(force)


@pytest.mark.parametrize("seed", SETS)
def test_rows_that_contradict_each_other_are_not_satisfied(seed: int) -> None:
    M, Q, A, bias, mixing = _random_set(seed)
    if not len(mixing):
        mixing = 1.0 / bias[None, :]
    wrong = mixing @ bias + 0.1 * np.abs(mixing) @ np.abs(bias)
    rows, right = np.concatenate([A, mixing @ A]), np.concatenate([bias, wrong])
    udot = recombination(rows, np.diagonal(M)).accelerations(M, Q, right)
    assert unsatisfied(rows, right, udot).max() > SATISFIED


def test_dependent_speeds_are_chosen_as_well_as_pivoting_promises() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        n, r = 9, int(random.integers(1, 6))
        A = random.normal(size=(r, n)) * 10.0 ** random.uniform(-2.0, 0.0, n)
        order, rank = pivoted(A)
        assert rank == r
        least = np.linalg.svd(A[:, order[:r]], compute_uv=False)[-1]
        promised = np.linalg.svd(A, compute_uv=False)[-1]
        promised /= np.sqrt(n - r + 1) * np.sqrt((4.0**r + 6 * r - 1) / 9)
        assert least >= promised * (1 - 1e-12)


def test_many_states_are_recombined_at_once() -> None:
    random = np.random.default_rng(1)
    A, M = random.normal(size=(5, 2, 4)), np.eye(4) + 0.1 * np.ones((5, 4, 4))
    Q, bias = random.normal(size=(5, 4)), random.normal(size=(5, 2))
    udot = recombination(A, np.ones((5, 4))).accelerations(M, Q, bias)
    for k in range(5):
        alone = recombination(A[k], np.ones(4)).accelerations(M[k], Q[k], bias[k])
        np.testing.assert_allclose(udot[k], alone, atol=1e-12)
