"""Simulation with adaptive step, by the solvers of SciPy, in a piece for every change of modes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853, Radau

from kane_dynamics.simulation.loop import Loop
from kane_dynamics.simulation.modes import change_modes, find_end, outlived, settle
from kane_dynamics.simulation.problem import SAME_TIME, Problem
from kane_dynamics.simulation.rates import State, rates_at
from kane_dynamics.simulation.status import Ended, Outcome, Status
from kane_dynamics.simulation.stepping import (
    coordinate_rates,
    normalized,
    refuse_unreasonable,
)
from kane_dynamics.simulation.watch import Watch

Array = NDArray[np.float64]

LOOKS = 8
"""How often a step is looked at for the end of a mode, since steps can be long."""

ERROR_STRIDE = 20
"""One step of so many has its error estimated."""

DIFFERENCE = 1.5e-8
"""Difference by which partial derivatives are estimated, relative to what is larger than one."""

LARGEST_ROW_OF_CHANGES = 1000
"""Changes of mode without any progress in time that are taken for a fault."""


def integrate(problem: Problem, watch: Watch) -> Outcome:
    """Simulate with adaptive step."""
    with np.errstate(all="ignore"):
        return _AdaptiveSteps(problem, watch).outcome()


class _AdaptiveSteps(Loop):
    """One solver after the other."""

    _last_step: float | None = None

    def run_all(self) -> None:
        for begin, end in zip(self.problem.breaks[:-1], self.problem.breaks[1:]):
            self.run.middle = float(begin + end) / 2
            standing = 0
            while self.t < end:
                before = self.t
                self._piece(float(end))
                standing = standing + 1 if self.t - before < SAME_TIME * self.problem.step else 0
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
        solver = self._solver(self.t, self._flat(self.x), end, 1.0, self._last_step)
        while solver.status == "running":
            self._step(solver)
            self._last_step = solver.step_size
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
                self.x = change_modes(self.run, self.x, False)
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
        if self.steps % ERROR_STRIDE == 0:
            refined = self._solver(t, y, solver.t, 0.01, None)
            while refined.status == "running":
                refined.step()
            error = np.abs(refined.y - solver.y)[:-1].max()
            self.local_error = max(self.local_error, float(error))
        self.steps += 1

    def _change(self, solver: Any, dense: Any) -> tuple[float, State, int] | None:
        """Time and state of the first end of a mode in a step, and the joint beyond a limit."""
        if not self.run.changes:
            return None
        times = np.linspace(solver.t_old, solver.t, LOOKS + 1).tolist()
        for begin, end in itertools.pairwise(times):
            if outlived(self.run, end, self._state(dense(end))):
                return self._end_of_mode(begin, end, dense)
        return None

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
        x = self._state(y)
        try:
            refuse_unreasonable(x.q, x.u)
            k = rates_at(self.run, t, x)
        except Ended as end:
            if end.status != Status.DIVERGED:
                raise
            return np.full(len(y), np.nan)  # the solver then tries a shorter step
        return np.concatenate([coordinate_rates(self.run.plant, x.q, x.u), k.udot, [k.power]])

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
        return State(normalized(self.run.plant, y[:nq]), y[nq : nq + n], float(y[-1]))
