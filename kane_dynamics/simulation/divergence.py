"""Where a motion that was computed with fixed steps has ceased to be one of the robot.

There its energy no longer comes from the work done. But a step that is long for a stiff controller,
though still stable, gets the work wrong more than the motion. So a stretch in which energy does not
balance is computed again, in shorter steps: the motion has diverged if these need much less energy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.status import Outcome, Status

Array = NDArray[np.float64]

IMBALANCE = 0.1
"""Share of the exchanged energy by which that of a good state may be wrong."""

SUSPICION = 0.5
"""Share of it beyond which a stretch is computed again."""

SHORTER = 10
"""Steps of the second computation for one of the first."""

LONGEST_STRETCH = 1000
"""Steps over which energy that is lost or gained is the drift of a method, not divergence."""

TOO_MUCH = 4.0
"""Kinetic energy of a motion that has diverged, as a multiple of all that it should have."""

MOST_STRETCHES = 100

Integrate = Callable[[Problem], Outcome]


@dataclass(frozen=True, eq=False)
class Balance:
    """Energies of K states, J.

    Attributes
    ----------
    kinetic, potential : array (K,)
    work : array (K,)
        Of all forces that have no potential, since the start.
    at_rest : float
        What a robot may seem to exchange when it does not move.
    """

    kinetic: Array
    potential: Array
    work: Array
    at_rest: float

    @property
    def exchanged(self) -> Array:
        """The largest energy that has gone back and forth until each state."""
        moved = np.abs(self.potential - self.potential[0])
        both = np.maximum(self.kinetic, np.maximum(moved, np.abs(self.work)))
        return np.asarray(np.maximum.accumulate(both))

    def missing(self, since: int) -> Array:
        """Energy gained or lost since a state without work, at each state from that one on."""
        unexplained = self.kinetic + self.potential - self.work
        return np.asarray(np.abs(unexplained[since:] - unexplained[since]))


def count_before_imbalance(balance: Balance) -> int:
    """Number of good states of a motion that is known to have diverged, at least 1."""
    bad = _imbalance(balance, 0, IMBALANCE)
    return len(balance.work) if bad is None else _last_balanced(balance, 0, bad) + 1


def count_before_divergence(
    problem: Problem, rows: Array, balance: Balance, integrate: Integrate
) -> int:
    """Number of good states of a motion, all of them if it has not diverged.

    Parameters
    ----------
    problem : Problem
    rows : array (K, ...)
        See `Outcome`.
    balance : Balance
    integrate : callable
        Computes a problem.
    """
    since = 0
    for _ in range(MOST_STRETCHES):
        bad = _imbalance(balance, since, SUSPICION)
        if bad is None:
            break
        good = _last_balanced(balance, since, bad)
        if _diverges(problem, rows[good], rows[bad], balance.kinetic[bad], balance, integrate):
            return good + 1
        since = bad
    return len(rows)


def _imbalance(balance: Balance, since: int, share: float) -> int | None:
    """The first state with an energy that is wrong by a share of all that is exchanged."""
    wrong = balance.missing(since) > share * balance.exchanged[-1] + balance.at_rest
    return since + int(wrong.argmax()) if wrong.any() else None


def _last_balanced(balance: Balance, since: int, until: int) -> int:
    largest = IMBALANCE * balance.exchanged[since:until] + balance.at_rest
    good = balance.missing(since)[: until - since] <= largest
    return since + int(np.flatnonzero(good)[-1])


def _diverges(
    problem: Problem,
    begin: Array,
    end: Array,
    kinetic: float,
    balance: Balance,
    integrate: Integrate,
) -> bool:
    """Whether shorter steps lead through a stretch with much less energy than at its end."""
    if end[0] - begin[0] > LONGEST_STRETCH * problem.step:
        return False
    outcome = integrate(_stretch(problem, begin, float(end[0])))
    if outcome.status != Status.FINISHED:
        return outcome.status == Status.DIVERGED
    nq, n = len(problem.q), len(problem.u)
    q, u = outcome.rows[:, 1 : 1 + nq], outcome.rows[:, 1 + nq : 1 + nq + n]
    expected = problem.plant.dynamics.energy(q, u).kinetic.max()
    return bool(kinetic > TOO_MUCH * expected + balance.at_rest)


def _stretch(problem: Problem, begin: Array, end: float) -> Problem:
    """A part of a problem, from a row on, in shorter steps."""
    nq, n = len(problem.q), len(problem.u)
    t, inside = float(begin[0]), problem.breaks
    inside = inside[(inside > t + problem.same_time) & (inside < end - problem.same_time)]
    return replace(
        problem,
        q=begin[1 : 1 + nq].copy(),
        u=begin[1 + nq : 1 + nq + n].copy(),
        step=min(problem.step, end - t) / SHORTER,
        method="rk4",
        breaks=np.array([t, *inside, end]),
        row_times=np.linspace(t, end, SHORTER + 1),
    )
