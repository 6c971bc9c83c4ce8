"""The loop of a simulation with fixed step; integrator.c in Python."""

from __future__ import annotations

import numpy as np

from kane_dynamics.simulation.modes import (
    AT_ONCE,
    change_modes,
    find_end,
    joint_beyond,
    outlived,
    settle,
)
from kane_dynamics.simulation.problem import SAME_TIME, Problem
from kane_dynamics.simulation.rates import Rates, Run, State, rates_at
from kane_dynamics.simulation.recording import Recording
from kane_dynamics.simulation.status import Ended, InputFault, Outcome, Status
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
    loop = _Loop(problem, watch)
    status, culprit, fault = Status.FINISHED, 0, ""
    try:
        loop.run_all()
    except Ended as end:
        status, culprit = end.status, end.culprit
    except InputFault as error:
        status, fault = Status.INPUT_FAULT, str(error)
    if status != Status.FINISHED:
        loop.recording.keep_waiting()
    return Outcome(loop.recording.rows, status, culprit, fault, loop.local_error)


class _Loop:
    """Steps one after the other."""

    def __init__(self, problem: Problem, watch: Watch) -> None:
        self.problem = problem
        self.watch = watch
        self.run = Run(problem)
        self.recording = Recording(problem)
        self.local_error = 0.0
        self._t = 0.0
        self._x = State(problem.q, problem.u, 0.0)
        self._steps = 0
        self._stride = error_stride(problem)

    def run_all(self) -> None:
        for begin, end in zip(self.problem.breaks[:-1], self.problem.breaks[1:]):
            number, target = 0, float(begin)
            while target < end:
                number += 1
                target = float(begin) + number * self.problem.step
                if target >= end - SAME_TIME * self.problem.step:
                    target = float(end)
                self._reach(target)
                self._steps += 1
                if self.watch.due() and self.watch.stops(self.recording.latest):
                    raise Ended(Status.CANCELLED)
        self.run.middle = self._t
        self.recording.write_last(self._t, self._x, settle(self.run, self._t, self._x))

    def _reach(self, target: float) -> None:
        """To the end of a step, in several parts if modes change on the way."""
        run = self.run
        most_changes = 4 * len(self._x.u) + 8 if run.changes else 0
        run.pinned = np.zeros(len(self._x.u), bool)
        changes = 0
        while self._t < target:
            t, x, part = self._t, self._x, self._part_end(target)
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
            elif self._steps % self._stride == 0:
                self.local_error = max(self.local_error, step_error(run, t, h, x, k1, y))
            end = t + h if h < whole else part
            self._write_rows_before(end, k1)
            self._t, self._x = end, y
            if forbidden >= 0:
                self.recording.write_last(end, y, rates_at(run, end, y))
                raise Ended(Status.LIMIT_REACHED, forbidden)
            if ends:
                self._x = change_modes(run, y, h < AT_ONCE * whole)
                changes += 1

    def _part_end(self, target: float) -> float:
        """How far to go at once: stops are too stiff for a whole step."""
        end = self._t + self.problem.step / PARTS_AT_STOPS
        short = self.run.stops.any() and end < target - SAME_TIME * self.problem.step
        return end if short else target

    def _find_end(self, t: float, h: float, x: State, k1: Rates) -> tuple[float, State, int]:
        return find_end(self.run, t, h, lambda s: advance(self.run, t, s, x, k1))

    def _write_rows_before(self, end: float, k1: Rates) -> None:
        """Rows between the steps: a shorter step to each, which leads nowhere else."""
        while self.recording.due_before(end):
            t = self.recording.next_time()
            x = advance(self.run, self._t, t - self._t, self._x, k1)
            self.recording.write(t, x, rates_at(self.run, t, x), counts=True)
