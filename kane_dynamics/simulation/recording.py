"""The columns of a motion as they are computed, and what an integrator leaves besides them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.events import Event
from kane_dynamics.simulation.inputs import NoTorque
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.status import Status

COLUMNS = ("t", "q", "u", "udot", "tau", "other_forces", "work")
"""In the order in which steps.c knows them."""


class Recording:
    """Columns at the times asked for, with room for one row more where the motion ends early.

    Attributes
    ----------
    columns : dict from str to array
    forces, marks : array
        Of constraints by name, and how these stand.
    zeros : set of str
        Those of `columns` in which there is nothing.
    done : int
        How many rows have been written.
    """

    def __init__(self, problem: Problem, marks: NDArray[np.int8] | None = None) -> None:
        layout, count = problem.rates.layout, len(problem.row_times) + 1
        n, nq = layout.n, layout.nq
        widths = dict(zip(COLUMNS, (0, nq, n, n, n, n, 0)))
        rates = problem.rates
        self.zeros = {"tau"} if isinstance(rates.input, NoTorque) else set()
        if not (rates.side.links or rates.side.constraints or problem.named):
            self.zeros.add("other_forces")
        # zeros that nobody writes take no time
        self.columns = {
            name: (np.zeros if name in self.zeros else np.empty)((count, width) if width else count)
            for name, width in widths.items()
        }
        self.forces, self.marks = np.zeros((count, 0)), np.zeros((count, 0), np.int8)
        if problem.named is not None and marks is not None:
            self.forces = np.zeros((count, problem.named.constraints.count))
            self.marks = np.zeros((count, len(marks)), np.int8)
        self._standing = marks
        self.done = 0
        self._layout, self._times, self._nearly = layout, problem.row_times, problem.same_time

    def next_time(self) -> float:
        """When the next row is due; infinity when all are done."""
        return float(self._times[self.done]) if self.done < len(self._times) else np.inf

    def due(self, t: float) -> bool:
        return self.next_time() <= t + self._nearly

    def due_before(self, t: float) -> bool:
        """Whether a row is due before t, and not at t."""
        return self.next_time() <= t - self._nearly

    def write(self, t: float, x: Array, k: Array) -> None:
        """Write a row."""
        at = self._layout
        parts = (t, x[at.qdot], x[at.udot], k[at.udot], k[at.tau], k[at.other], x[-1])
        for column, part in zip(self.columns.values(), parts):
            column[self.done] = part
        if self._standing is not None:
            self.forces[self.done] = k[len(k) - self.forces.shape[1] :]
            self.marks[self.done] = self._standing
        self.done += 1

    def forget_after(self, t: float) -> None:
        """Drop the rows that were written for a later time."""
        self.done = int(np.searchsorted(self.column("t"), t, side="right"))

    def write_last(self, t: float, x: Array, k: Array) -> None:
        """Write a row after which nothing follows, unless it is there."""
        if self.done == 0 or self.columns["t"][self.done - 1] < t:
            self.write(t, x, k)

    def column(self, name: str) -> Array:
        """What has been recorded."""
        return self.columns[name][: self.done]


@dataclass(frozen=True)
class Outcome:
    """What an integrator leaves.

    Attributes
    ----------
    recording : Recording
    status : Status
    culprit : int
        As in `Ended`.
    fault : str
        What went wrong with the input.
    local_error : float
        Largest estimated error of a step.
    events : tuple of Event
    """

    recording: Recording
    status: Status
    culprit: int
    fault: str
    local_error: float
    events: tuple[Event, ...] = ()
