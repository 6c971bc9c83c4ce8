"""Whether a motion has diverged: what steps gain from nowhere, and where energy no longer balances.

A step that is too long for a stiff controller, though still stable, gets the work wrong more than
the motion. So a step in doubt is judged by its kinetic energy, beside what two steps of half the
length say, and beside what the work can explain: a motion has diverged when it has many times as
much, and more than it had ever exchanged before.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.checks import energy_at_rest
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.rates import evaluated
from kane_dynamics.simulation.recording import Recording
from kane_dynamics.simulation.status import Ended, Status

FROM_NOWHERE = 10.0
"""Kinetic energy of a motion that has diverged, as a multiple of all that it should have. One step
in which a torque sets in has up to five times as much: it takes the torque for too early."""

IMBALANCE = 0.1
"""Share of the exchanged energy by which that of a good state may be wrong."""


class Judge:
    """Judges steps in doubt, in the order of time.

    Attributes
    ----------
    good_until : float
        When the motion was last known to be one of the mechanism, s.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.good_until = np.inf
        self._kinetic, self._gain = 0.0, 1.0

    def check(self, t: float, x: Array, y: Array, finer: Array, recording: Recording) -> None:
        """Judge the step from x at t to y, which two half steps take to `finer`.

        Raises
        ------
        Ended
            If the motion has diverged.
        """
        states = np.stack([x, y, finer])
        (before, after, half), potential = self._energies(np.full(3, t), states).T
        work = states[:, -1]
        # of y and of the half steps: what is left for kinetic energy
        left = before - np.diff(potential)[0], before + potential[0] - potential[2]
        explained = max(before, left[0] + work[1] - work[0], left[1] + work[2] - work[0])
        should = min(half, explained + abs(work[1] - work[2]))
        if not after > max(before, should):
            self.good_until, self._gain = np.inf, 1.0
            return
        if self.good_until == np.inf:
            self.good_until, self._kinetic = t, before
        self._gain *= after / max(should, np.finfo(float).tiny)
        much = after > FROM_NOWHERE * self._kinetic and self._gain > FROM_NOWHERE
        if much and after > self._exchanged(recording):
            raise Ended(Status.UNBALANCED)

    def count_good(self, t: Array, kinetic: Array, potential: Array, work: Array) -> int:
        """Number of good states of a motion that is known to have diverged, at least 1."""
        count = max(1, int(np.searchsorted(t, self.good_until, side="right")))
        while True:
            energy = (kinetic + potential - work)[:count]
            moved = np.abs(potential - potential[0])
            exchanged = np.maximum(kinetic, np.maximum(moved, np.abs(work)))[:count].max()
            wrong = np.abs(energy - energy[0]) > IMBALANCE * exchanged + self._at_rest
            if not wrong.any():
                return count
            # what the states left out have exchanged no longer counts
            count = int(wrong.argmax())

    def _exchanged(self, recording: Recording) -> float:
        """The largest energy that has gone back and forth until the motion was last good."""
        done = max(1, int(np.searchsorted(recording.column("t"), self.good_until, side="right")))
        t, q, u, work = (recording.column(name)[:done] for name in ("t", "q", "u", "work"))
        states = np.column_stack([q, u, work])
        kinetic, potential = self._energies(t, states).T
        moved = np.abs(potential - potential[0])
        return float(max(kinetic.max(), moved.max(), np.abs(work).max(), self._at_rest))

    def _energies(self, t: Array, states: Array) -> Array:
        rates, at = self._problem.rates, self._problem.rates.layout
        given = rates.named(t=t[:, None], q=states[:, at.qdot], u=states[:, at.udot])
        return evaluated(rates.functions, "energy", **given)

    @cached_property
    def _at_rest(self) -> float:
        rates, at, x = self._problem.rates, self._problem.rates.layout, self._problem.start
        start = rates.named(t=np.zeros(1), q=x[at.qdot], u=x[at.udot])
        potential = self._energies(np.zeros(1), x[None, :])[:, 1]
        return energy_at_rest(rates.functions, potential, **start)
