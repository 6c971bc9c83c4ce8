"""The loop of a simulation with fixed step; integrator.c in Python."""

from __future__ import annotations

import numpy as np

from kane_dynamics.simulation.constants import (
    AT_ONCE,
    ERROR_STRIDE,
    PARTS_AT_STOPS,
    SAME_TIME,
    WORSE,
)
from kane_dynamics.simulation.loop import Loop
from kane_dynamics.simulation.modes import (
    change_modes,
    find_end,
    find_excursion,
    joint_beyond,
    outlived,
    settle,
)
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.rates import Rates, State, rates_at
from kane_dynamics.simulation.status import Ended, Outcome, Status
from kane_dynamics.simulation.stepping import advance, roughness, step_error
from kane_dynamics.simulation.watch import Watch

SHORT = 1000
"""Steps of a simulation that is so short that every one of them has its error estimated."""


def error_stride(problem: Problem) -> int:
    """Steps from one estimate of the error to the next."""
    return 1 if problem.duration / problem.step <= SHORT else ERROR_STRIDE


def integrate(problem: Problem, watch: Watch) -> Outcome:
    """Simulate with fixed step."""
    return _FixedSteps(problem, watch).outcome()


class _FixedSteps(Loop):
    """Steps one after the other."""

    _roughest = 0.0

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
        changes = 0
        while self.t < target:
            t, x, part = self.t, self.x, self._part_end(target)
            whole = part - t
            run.middle = t + whole / 2
            k1 = settle(run, t, x)
            self.recording.write(t, x, k1, self.recording.due(t))
            h, y, forbidden = whole, advance(run, t, whole, x, k1), -1
            rough = roughness(run, h, x, k1, y)
            ends = run.changes and outlived(run, part, y)
            if not ends and changes < most_changes:
                turn = self._find_excursion(t, whole, x, k1, y)
                if turn is not None:
                    ends, whole, part = True, turn, t + turn
            if ends and changes < most_changes:
                h, y, forbidden = self._find_end(t, whole, x, k1)
            elif ends and self.problem.stops.policy == "stop":
                forbidden = joint_beyond(run, y)
            elif self._is_estimated(rough):
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

    def _is_estimated(self, rough: float) -> bool:
        """Whether a step has its error estimated: those rougher than all before, and a sample."""
        if rough > WORSE * self._roughest:
            self._roughest = rough
            return True
        return self.problem.method == "euler" or self.steps % error_stride(self.problem) == 0

    def _part_end(self, target: float) -> float:
        """How far to go at once: stops are too stiff for a whole step."""
        end = self.t + self.problem.step / PARTS_AT_STOPS
        short = self.run.stops.any() and end < target - SAME_TIME * self.problem.step
        return end if short else target

    def _find_excursion(self, t: float, h: float, x: State, k1: Rates, y: State) -> float | None:
        return find_excursion(self.run, t, h, x, y, lambda s: advance(self.run, t, s, x, k1))

    def _find_end(self, t: float, h: float, x: State, k1: Rates) -> tuple[float, State, int]:
        return find_end(self.run, t, h, lambda s: advance(self.run, t, s, x, k1))

    def _write_rows_before(self, end: float, k1: Rates) -> None:
        """Rows between the steps: a shorter step to each, which leads nowhere else."""
        while self.recording.due_before(end):
            t = self.recording.next_time()
            x = advance(self.run, self.t, t - self.t, self.x, k1)
            self.recording.write(t, x, rates_at(self.run, t, x), counts=True)
