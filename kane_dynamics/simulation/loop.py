"""A simulation under way in Python: where it is, and how it ends."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.rates import Run, State
from kane_dynamics.simulation.recording import Recording
from kane_dynamics.simulation.status import Ended, InputFault, Outcome, Status
from kane_dynamics.simulation.watch import Watch


class Loop(ABC):
    """Goes on from the initial state until it ends; `run_all` says by which steps.

    Parameters
    ----------
    problem : Problem
    watch : Watch
    """

    def __init__(self, problem: Problem, watch: Watch) -> None:
        self.problem = problem
        self.watch = watch
        self.run = Run(problem)
        self.recording = Recording(problem)
        self.local_error = 0.0
        self.steps = 0
        self.t = float(problem.breaks[0])
        self.x = State(problem.q, problem.u, 0.0)

    @abstractmethod
    def run_all(self) -> None:
        """Simulate to the end; `Ended` and `InputFault` say why it comes earlier."""

    def look(self) -> None:
        """Show how far it is, and end if that is wanted."""
        if self.watch.due() and self.watch.stops(self.recording.latest):
            raise Ended(Status.CANCELLED)

    def outcome(self) -> Outcome:
        """Simulate; what was good until an early end is kept."""
        status, culprit, fault = Status.FINISHED, 0, ""
        try:
            self.run_all()
        except Ended as end:
            status, culprit = end.status, end.culprit
        except InputFault as error:
            status, fault = Status.INPUT_FAULT, str(error)
        if status != Status.FINISHED:
            self.recording.keep_waiting()
        return Outcome(self.recording.rows, status, culprit, fault, self.local_error)
