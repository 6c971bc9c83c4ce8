"""The loop of a simulation with fixed step; integrator.c in Python."""

from __future__ import annotations

import numpy as np

from kane_dynamics.simulation.loop import Loop
from kane_dynamics.simulation.modes import (
    AT_ONCE,
    change_modes,
    find_end,
    joint_beyond,
    outlived,
    settle,
)
from kane_dynamics.simulation.problem import SAME_TIME, Problem
from kane_dynamics.simulation.rates import Rates, State, rates_at
from kane_dynamics.simulation.status import Ended, Outcome, Status
from kane_dynamics.simulation.stepping import advance, step_error
from kane_dynamics.simulation.stops import PARTS_AT_STOPS
from kane_dynamics.simulation.watch import Watch

ERROR_STRIDE = 50
"""One step of so many has its error estimated; all of them in simulations that are that short."""

SHORT = 1000


def error_stride(problem: Problem) -> int:
    """Steps from one estimate of the error to the next."""
    return 1 if problem.duration / problem.step <= SHORT else ERROR_STRIDE


def integrate(problem: Problem, watch: Watch) -> Outcome:
    """Simulate with fixed step."""
    return _FixedSteps(problem, watch).outcome()


class _FixedSteps(Loop):
    """Steps one after the other."""

    def run_all(self) -> None:
        for begin, end in zip(self.problem.breaks[:-1], self.problem.breaks[1:]):
            number, target = 0, float(begin)
            while target < end:
                number += 1
                target = float(begin) + number * self.problem.step
                if target >= end - SAME_TIME * self.problem.step:
                    target = float(end)
                self._reach(target)
                self.steps += 1
                self.look()
        self.run.middle = self.t
        self.recording.write_last(self.t, self.x, settle(self.run, self.t, self.x))

    def _reach(self, target: float) -> None:
        """To the end of a step, in several parts if modes change on the way."""
        run = self.run
        most_changes = 4 * len(self.x.u) + 8 if run.changes else 0
        run.pinned = np.zeros(len(self.x.u), bool)
        changes, stride = 0, error_stride(self.problem)
        while self.t < target:
            t, x, part = self.t, self.x, self._part_end(target)
            whole = part - t
            run.middle = t + whole / 2
            k1 = settle(run, t, x)
            self.recording.write(t, x, k1, self.recording.due(t))
            h, y, forbidden = whole, advance(run, t, whole, x, k1), -1
            ends = run.changes and outlived(run, part, y)
            if ends and changes < most_changes:
                h, y, forbidden = self._find_end(t, whole, x, k1)
            elif ends and self.problem.stops.policy == "stop":
                forbidden = joint_beyond(run, y)
            elif self.steps % stride == 0:
                self.local_error = max(self.local_error, step_error(run, t, h, x, k1, y))
            end = t + h if h < whole else part
            self._write_rows_before(end, k1)
            self.t, self.x = end, y
            if forbidden >= 0:
                self.recording.write_last(end, y, rates_at(run, end, y))
                raise Ended(Status.LIMIT_REACHED, forbidden)
            if ends:
                self.x = change_modes(run, y, h < AT_ONCE * whole)
                changes += 1

    def _part_end(self, target: float) -> float:
        """How far to go at once: stops are too stiff for a whole step."""
        end = self.t + self.problem.step / PARTS_AT_STOPS
        short = self.run.stops.any() and end < target - SAME_TIME * self.problem.step
        return end if short else target

    def _find_end(self, t: float, h: float, x: State, k1: Rates) -> tuple[float, State, int]:
        return find_end(self.run, t, h, lambda s: advance(self.run, t, s, x, k1))

    def _write_rows_before(self, end: float, k1: Rates) -> None:
        """Rows between the steps: a shorter step to each, which leads nowhere else."""
        while self.recording.due_before(end):
            t = self.recording.next_time()
            x = advance(self.run, self.t, t - self.t, self.x, k1)
            self.recording.write(t, x, rates_at(self.run, t, x), counts=True)
