"""Where constraints of a motion become singular: no choice of independent speeds is left there.

Rows of constraints that depend on each other in one configuration alone leave more than one way to
go on. Steps go over such a place without noticing: what tells is the least singular value of the
rows, with the sign that its vectors give it if they are followed from place to place.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.kane.recombination import REDUNDANT
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.rates import evaluated
from kane_dynamics.simulation.recording import Outcome
from kane_dynamics.simulation.status import Status

MOST_PLACES, MOST_BETWEEN = 20000, 50
"""Of a motion that are looked at, and of these between two recorded states."""

CLOSED = 1e-8
"""Error in m or rad that Newton's steps back onto constraints leave only near such a place."""

VANISHED = 1e-9
"""Share of the largest value that the least one has had, below which it is zero."""

SMALL = 0.3
"""The same, above which a change of sign is one of the vectors alone."""

TURNED = -0.5
"""Product of the cosines between vectors of two places, below which the value has changed sign."""

NEAR = 0.1
"""Share of the largest value below which it is to blame for a motion that cannot go on."""

FAILED = (Status.DIVERGED, Status.UNBALANCED, Status.SINGULAR)


def ended_where_singular(problem: Problem, outcome: Outcome) -> Outcome:
    """The outcome of a motion under constraints that always hold, until these become singular."""
    named, recording = problem.named, outcome.recording
    if named is None or named.of_positions is None or recording.done < 2:
        return outcome
    t, q, u = (recording.column(name) for name in ("t", "q", "u"))
    owners, values, vectors = _least_values(problem, t, q, u)
    passed = owners[:-1][_passed(values, vectors)] + 1
    open_rows = np.abs(named.rows_along(t, q, u)[:, named.positions, -1]).max(axis=1, initial=0.0)
    wrong = 1 + np.flatnonzero(~(open_rows[1:] <= CLOSED))
    before = np.searchsorted(owners, wrong - 1)
    wrong = wrong[values[before] < SMALL * values.max()]
    end = min([len(t), *passed[:1], *wrong[:1]])
    stuck = outcome.status in FAILED and values[-1] < NEAR * values.max()
    if end == len(t) and not stuck:
        return outcome
    recording.done = int(end)
    return replace(outcome, status=Status.NO_CHOICE)


def _passed(values: Array, vectors: Array) -> NDArray[np.bool_]:
    """After which places, but for the start, the value is zero or has changed its sign."""
    most = values.max(initial=0.0)
    cosines = np.einsum("kvi,kvi->kv", vectors[1:], vectors[:-1]).prod(axis=1)
    small = np.minimum(values[1:], values[:-1]) < SMALL * most
    zero = values[1:] < VANISHED * most
    begins = values[:-1] < VANISHED * most  # where it starts, nothing has been passed
    return np.asarray(zero | (small & (cosines < TURNED) & ~begins))


def _least_values(
    problem: Problem, t: Array, q: Array, u: Array
) -> tuple[NDArray[np.intp], Array, Array]:
    """Along a motion the least singular values of the rows, and its vectors.

    Returns
    -------
    owners : array (P,)
        The last recorded state of every place.
    values : array (P,)
    vectors : array (P, 2, m + n)
        On the left and on the right, with zeros for the entries of the other one.
    """
    owners, times, where = _places(problem, t, q, u)
    named = problem.named
    assert named is not None
    A = named.rows_along(times, where, np.zeros((len(times), u.shape[1])))[..., :-2]
    A = A / np.sqrt(np.where(problem.inertia > 0.0, problem.inertia, 1.0))
    lengths = np.linalg.norm(A, axis=-1).max(axis=0)
    left, values, right = np.linalg.svd(A / np.where(lengths > 0.0, lengths, 1.0)[:, None])
    ranks = (values > REDUNDANT * values.max()).sum(axis=1)
    least = max(1, int(ranks.max())) - 1
    vectors = np.zeros((len(times), 2, A.shape[1] + A.shape[2]))
    vectors[:, 0, : A.shape[1]] = left[:, :, least]
    vectors[:, 1, A.shape[1] :] = right[:, least]
    return owners, values[:, least], vectors


def _places(
    problem: Problem, t: Array, q: Array, u: Array
) -> tuple[NDArray[np.intp], Array, Array]:
    """Recorded states, and as many places between as there were steps, by cubic polynomials."""
    stride = -(-len(t) // MOST_PLACES)
    rows = np.arange(0, len(t), stride)
    gap = float(np.diff(t[rows]).max(initial=0.0))
    between = int(np.clip(round(gap / problem.request.step), 1, MOST_BETWEEN))
    between = max(1, min(between, MOST_PLACES // len(rows)))
    begin, end = rows[:-1], rows[1:]
    given = problem.rates.named(t=t[:, None], q=q, u=u)
    qdot = evaluated(problem.rates.functions, "coordinate_rates", **given)
    s = np.arange(between)[None, :, None] / between
    h = (t[end] - t[begin])[:, None, None]
    a, b = q[begin][:, None], q[end][:, None]
    rise = b - a
    first, last = h * qdot[begin][:, None], h * qdot[end][:, None]
    cubic = a + s * (first + s * (3 * rise - 2 * first - last + s * (first + last - 2 * rise)))
    times = (t[begin][:, None] + s[..., 0] * h[..., 0]).ravel()
    return (
        np.append(np.repeat(begin, between), rows[-1]),
        np.append(times, t[rows[-1]]),
        np.concatenate([cubic.reshape(-1, q.shape[1]), q[rows[-1:]]]),
    )
