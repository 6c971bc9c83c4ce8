"""Where a motion that was computed with fixed steps has ceased to be one of the robot.

There its energy no longer comes from the work done. But a step that is long for a stiff controller,
though still stable, gets the work wrong more than the motion. So a stretch in which energy does not
balance is computed again, in shorter steps: the motion has diverged if these need much less energy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.status import Ended, Outcome, Status

IMBALANCE = 0.1
"""Share of the exchanged energy by which that of a good state may be wrong."""

SUSPICION = 0.5
"""Share of it beyond which a stretch is computed again."""

SHORTER = 10
"""Steps of the second computation for one of the first, if there are not too many."""

LEAST_SHORTER = 2
"""As few of them as still tell a motion that has diverged from one that has not."""

FEW = 1000
"""Steps that all second computations together may take, even if the first took fewer."""

LONGEST_STRETCH = 1000
"""Steps over which energy that is lost or gained is the drift of a method, not divergence."""

AFTERWARDS = 5
"""Steps of the first computation by which the second goes further: a long step may be early."""

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

    @cached_property
    def exchanged(self) -> Array:
        """The largest energy that has gone back and forth until each state."""
        moved = np.abs(self.potential - self.potential[0])
        both = np.maximum(self.kinetic, np.maximum(moved, np.abs(self.work)))
        return np.asarray(np.maximum.accumulate(both))

    def missing(self, since: int) -> Array:
        """Energy gained or lost since a state without work, at each state from that one on."""
        return np.asarray(np.abs(self._unexplained[since:] - self._unexplained[since]))

    @cached_property
    def _unexplained(self) -> Array:
        return np.asarray(self.kinetic + self.potential - self.work)


def count_before_imbalance(balance: Balance) -> int:
    """Number of good states of a motion that is known to have diverged, at least 1."""
    count = len(balance.work)
    while (bad := _imbalance(balance, 0, count, IMBALANCE)) is not None:
        # what the states left out have exchanged no longer counts
        count = _last_balanced(balance, 0, bad) + 1
    return count


def count_before_divergence(
    problem: Problem, rows: Array, balance: Balance, integrate: Integrate
) -> int:
    """Number of good states of a motion, all of them if it has not diverged.

    All second computations together take no more steps than the first, or `FEW`; a stretch for
    which too few are left is taken for a good one.

    Parameters
    ----------
    problem : Problem
    rows : array (K, ...)
        See `Outcome`.
    balance : Balance
    integrate : callable
        Computes a problem.

    Raises
    ------
    Ended
        If a second computation is cancelled.
    """
    since, left = 0, max(FEW, _count_steps(problem, 0.0, rows[-1, 0]))
    for _ in range(MOST_STRETCHES):
        bad = _imbalance(balance, since, len(rows), SUSPICION)
        if bad is None:
            break
        good = _last_balanced(balance, since, bad)
        most = balance.kinetic[bad] - balance.at_rest
        end = min(rows[bad, 0] + AFTERWARDS * problem.step, rows[-1, 0])
        steps = _count_steps(problem, rows[good, 0], end)
        shorter = min(SHORTER, left // steps)
        # where the stretch begins, both computations have the same energy
        suspect = most > TOO_MUCH * balance.kinetic[good]
        if suspect and steps <= LONGEST_STRETCH and shorter >= LEAST_SHORTER:
            left -= shorter * steps
            again = integrate(_stretch(problem, rows[good], float(end), shorter))
            if _needs_less(problem, again, rows[bad, 0], most / TOO_MUCH):
                return good + 1
        since = bad
    return len(rows)


def _imbalance(balance: Balance, since: int, count: int, share: float) -> int | None:
    """The first of so many states with an energy wrong by a share of all that they exchange."""
    largest = share * balance.exchanged[count - 1] + balance.at_rest
    wrong = balance.missing(since)[: count - since] > largest
    return since + int(wrong.argmax()) if wrong.any() else None


def _last_balanced(balance: Balance, since: int, until: int) -> int:
    largest = IMBALANCE * balance.exchanged[since:until] + balance.at_rest
    good = balance.missing(since)[: until - since] <= largest
    return since + int(np.flatnonzero(good)[-1])


def _count_steps(problem: Problem, begin: float, end: float) -> int:
    """About how many steps lead from one time to another, at least 1."""
    return max(1, round((end - begin) / problem.step)) + len(_breaks(problem, begin, end))


def _breaks(problem: Problem, begin: float, end: float) -> Array:
    nearly, breaks = problem.same_time, problem.breaks
    return breaks[(breaks > begin + nearly) & (breaks < end - nearly)]


def _needs_less(problem: Problem, again: Outcome, until: float, kinetic: float) -> bool:
    """Whether a stretch computed again has less kinetic energy than that, if it led through it."""
    if again.status == Status.CANCELLED:
        raise Ended(Status.CANCELLED)
    if not len(again.rows) or again.rows[-1, 0] < until - problem.same_time:
        return again.status == Status.DIVERGED
    nq, n = len(problem.q), len(problem.u)
    q, u = again.rows[:, 1 : 1 + nq], again.rows[:, 1 + nq : 1 + nq + n]
    return bool(problem.plant.dynamics.energy(q, u).kinetic.max() < kinetic)


def _stretch(problem: Problem, begin: Array, end: float, shorter: int) -> Problem:
    """A part of a problem, from a row on, in shorter steps all of which are recorded."""
    nq, n = len(problem.q), len(problem.u)
    t = float(begin[0])
    step = min(problem.step, end - t) / shorter
    count = round((end - t) / step)
    return replace(
        problem,
        q=begin[1 : 1 + nq].copy(),
        u=begin[1 + nq : 1 + nq + n].copy(),
        step=step,
        method="rk4",
        breaks=np.array([t, *_breaks(problem, t, end), end]),
        row_times=np.append(t + step * np.arange(count), end),
    )
