"""Rows of a motion as they are computed in Python."""

from __future__ import annotations

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.rates import Rates, State


class Recording:
    """Rows at the times asked for, and one that waits in case that nothing follows it."""

    def __init__(self, problem: Problem) -> None:
        self._times = problem.row_times
        self._nearly = problem.same_time
        self._rows = np.empty((len(self._times) + 1, problem.row_width))
        self._done = 0
        self._waiting = False

    @property
    def rows(self) -> Array:
        """What has been recorded."""
        return self._rows[: self._done]

    @property
    def latest(self) -> Array:
        """The row that was written last."""
        row: Array = self._rows[self._done - (0 if self._waiting else 1)]
        return row

    def next_time(self) -> float:
        """When the next row is due; infinity when all are done."""
        return float(self._times[self._done]) if self._done < len(self._times) else np.inf

    def due(self, t: float) -> bool:
        return self.next_time() <= t + self._nearly

    def due_before(self, t: float) -> bool:
        """Whether a row is due before t, and not at t."""
        return self.next_time() <= t - self._nearly

    def write(self, t: float, x: State, k: Rates, counts: bool) -> None:
        """Write a row; one that does not count is overwritten by the next."""
        self._rows[self._done] = np.concatenate([[t], x.q, x.u, k.udot, k.tau, k.force, [x.work]])
        self._done += counts
        self._waiting = not counts

    def write_last(self, t: float, x: State, k: Rates) -> None:
        """Write a row after which nothing follows."""
        if self._done == 0 or self._rows[self._done - 1, 0] < t:
            self.write(t, x, k, counts=True)

    def keep_waiting(self) -> None:
        """Let the row that waits be the last."""
        self._done += self._waiting
        self._waiting = False
