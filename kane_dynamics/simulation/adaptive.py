"""Simulation with adaptive step, by the solvers of SciPy, in a piece for every change of modes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.integrate import DOP853, Radau

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.bounds import refuse_unreasonable
from kane_dynamics.simulation.constants import AT_ONCE
from kane_dynamics.simulation.drive import STUCK
from kane_dynamics.simulation.loop import Loop
from kane_dynamics.simulation.modes import (
    change_modes,
    find_end,
    find_excursion,
    outlived,
    settle,
)
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.rates import State, rates_at
from kane_dynamics.simulation.status import Ended, Outcome, Status
from kane_dynamics.simulation.watch import Watch

LOOKS = 8
"""How often a step is looked at for the end of a mode, since steps can be long."""

STEPS_PER_ESTIMATE = 20
"""One step of so many has its error estimated, besides the first so many, and those much shorter
than all before."""

MOST_REFINED_STEPS = 1000
"""Steps of an estimate beyond which there is none, as in the noise of a function."""

DIFFERENCE = 1.5e-8
"""Difference by which partial derivatives are estimated, relative to what is larger than one."""

LARGEST_ROW_OF_CHANGES = 1000
"""Changes of mode with next to no progress in time that are taken for a fault."""


def integrate(problem: Problem, watch: Watch) -> Outcome:
    """Simulate with adaptive step."""
    with np.errstate(all="ignore"):
        return _AdaptiveSteps(problem, watch).outcome()


class _AdaptiveSteps(Loop):
    """One solver after the other."""

    _next_step: float | None = None
    _shortest_step = np.inf

    def __init__(self, problem: Problem, watch: Watch) -> None:
        super().__init__(problem, watch)
        self._stuck_at = np.full(len(problem.u), np.nan)

    def run_all(self) -> None:
        for begin, end in zip(self.problem.breaks[:-1], self.problem.breaks[1:]):
            self.run.middle = float(begin + end) / 2
            standing = 0
            while self.t < end:
                before = self.t
                self._piece(float(end))
                progress = self.t - before > AT_ONCE * self.problem.duration
                standing = 0 if progress else standing + 1
                if standing > LARGEST_ROW_OF_CHANGES:
                    raise Ended(Status.DIVERGED)
        self.run.middle = self.t
        self.recording.write_last(self.t, self.x, settle(self.run, self.t, self.x))

    # ------------------------------------------------------------------------- one solver's piece
    def _piece(self, end: float) -> None:
        """Go on until the modes change, or to the end."""
        self.run.pinned[:] = False
        k = settle(self.run, self.t, self.x)
        self.recording.write(self.t, self.x, k, self.recording.due(self.t))
        solver = self._solver(self.t, self._flat(self.x), end, 1.0, self._next_step)
        while solver.status == "running":
            self._step(solver)
            self._next_step = solver.h_abs
            dense = solver.dense_output()
            change = self._change(solver, dense)
            self.t = solver.t if change is None else change[0]
            self._write_rows_before(self.t, dense)
            self.x = self._state(solver.y) if change is None else change[1]
            refuse_unreasonable(self.x.q, self.x.u)
            k = rates_at(self.run, self.t, self.x)
            self.recording.write(self.t, self.x, k, counts=False)
            self.look()
            if change is not None:
                if change[2] >= 0:
                    self.recording.write_last(self.t, self.x, k)
                    raise Ended(Status.LIMIT_REACHED, change[2])
                self.x = self._changed(self.x)
                return

    def _step(self, solver: Any) -> None:
        t, y = solver.t, solver.y
        if self.steps == self.problem.max_steps:
            raise Ended(Status.EXHAUSTED)
        try:
            solver.step()
        except ValueError:  # what SciPy says of matrices that hold what is not a number
            raise Ended(Status.DIVERGED) from None
        if solver.status == "failed":
            raise Ended(Status.DIVERGED)
        due = self.steps < STEPS_PER_ESTIMATE or self.steps % STEPS_PER_ESTIMATE == 0
        if due or solver.step_size < 0.5 * self._shortest_step:
            self._estimate_error(t, y, solver)
        self._shortest_step = min(self._shortest_step, solver.step_size)
        self.steps += 1

    def _estimate_error(self, t: float, y: Array, solver: Any) -> None:
        """Keep the largest difference to a step with a hundredth of the tolerance."""
        refined = self._solver(t, y, solver.t, 0.01, None)
        for _ in range(MOST_REFINED_STEPS):
            try:
                refined.step()
            except ValueError:  # as in a step
                return
            if refined.status != "running":
                break
        if refined.status == "finished":
            error = np.abs(refined.y - solver.y)[:-1].max()
            self.local_error = max(self.local_error, float(error))

    # ----------------------------------------------------------------------------- changes of modes
    def _changed(self, x: State) -> State:
        """The state after modes have ended.

        A joint that sticks where it has stuck before was let go by no more than the error of its
        position, which a stiff stop or controller turns into a force. From then on it must be
        pushed harder, twice as hard each time, until it moves further than the tolerance.
        """
        run = self.run
        slid = run.modes != STUCK
        x = change_modes(run, x, False)
        stuck = slid & (run.modes == STUCK)
        if not stuck.any():
            return x
        q = x.q[run.plant.coordinate]
        again = np.abs(q - self._stuck_at) <= self.problem.tolerance * np.maximum(1.0, np.abs(q))
        excess = np.abs(rates_at(run, self.t, x).hold) - run.plant.friction
        harder = np.where(again, 2.0 * np.maximum(excess, run.margin), 0.0)
        run.margin = np.where(stuck, harder, run.margin)
        self._stuck_at = np.where(stuck & ~again, q, self._stuck_at)
        return x

    def _change(self, solver: Any, dense: Any) -> tuple[float, State, int] | None:
        """Time and state of the first end of a mode in a step, and the joint beyond a limit."""
        if not self.run.changes:
            return None
        times = np.linspace(solver.t_old, solver.t, LOOKS + 1).tolist()
        x = self._state(dense(times[0]))
        for begin, end in itertools.pairwise(times):
            y = self._state(dense(end))
            if outlived(self.run, end, y):
                return self._end_of_mode(begin, end, dense)
            turn = self._excursion(begin, end, x, y, dense)
            if turn is not None:
                return self._end_of_mode(begin, begin + turn, dense)
            x = y
        return None

    def _excursion(self, begin: float, end: float, x: State, y: State, dense: Any) -> float | None:
        def after(h: float) -> State:
            return self._state(dense(begin + h))

        return find_excursion(self.run, begin, end - begin, x, y, after)

    def _end_of_mode(self, begin: float, end: float, dense: Any) -> tuple[float, State, int]:
        def after(h: float) -> State:
            return self._state(dense(begin + h))

        h, x, forbidden = find_end(self.run, begin, end - begin, after)
        return begin + h, x, forbidden

    def _write_rows_before(self, end: float, dense: Any) -> None:
        while self.recording.due_before(end):
            t = self.recording.next_time()
            x = self._state(dense(t))
            refuse_unreasonable(x.q, x.u)
            self.recording.write(t, x, rates_at(self.run, t, x), counts=True)

    # ------------------------------------------------------------------- states as SciPy sees them
    def _solver(self, t: float, y: Array, end: float, share: float, first: float | None) -> Any:
        tolerance = max(share * self.problem.tolerance, 1e-13)
        options = {"rtol": tolerance, "atol": tolerance}
        if first is not None:
            options["first_step"] = min(first, end - t)
        if self.problem.method == "radau":
            return Radau(self._derivative, t, y, end, jac=self._jacobian, **options)
        return DOP853(self._derivative, t, y, end, **options)

    def _derivative(self, t: float, y: Array) -> Array:
        if self.watch.cancelled():  # also within a step, which may take long
            raise Ended(Status.CANCELLED)
        x = self._state(y)
        try:
            refuse_unreasonable(x.q, x.u)
            k = rates_at(self.run, t, x)
        except Ended as end:
            if end.status != Status.DIVERGED:
                raise
            return np.full(len(y), np.nan)  # the solver then tries a shorter step
        return np.concatenate([self.run.plant.coordinate_rates(x.q, x.u), k.udot, [k.power]])

    def _jacobian(self, t: float, y: Array) -> Array:
        """Partial derivatives of the rates, a column for each entry of y.

        SciPy's own estimate tries larger and larger differences for what has no influence, such as
        the angle of a vertical axis, until they are beyond all bounds.
        """
        rates = self._derivative(t, y)
        jacobian = np.zeros((len(y), len(y)))
        for k in range(len(y) - 1):  # nothing depends on the work done
            moved = y.copy()
            moved[k] += DIFFERENCE * max(1.0, abs(y[k]))
            jacobian[:, k] = (self._derivative(t, moved) - rates) / (moved[k] - y[k])
        return jacobian

    def _flat(self, x: State) -> Array:
        return np.concatenate([x.q, x.u, [x.work]])

    def _state(self, y: Array) -> State:
        nq, n = len(self.problem.q), len(self.problem.u)
        return State(self.run.plant.normalized(y[:nq]), y[nq : nq + n], float(y[-1]))
