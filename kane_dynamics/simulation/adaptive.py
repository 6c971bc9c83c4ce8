"""Simulation with adaptive step, by the solvers of SciPy, in a piece for every change of modes."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import DOP853, Radau

from kane_dynamics.arrays import Array
from kane_dynamics.kane.equations import rated_coordinates
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.run import AT_ONCE, CHATTERS, Run, refuse_unreasonable
from kane_dynamics.simulation.status import Ended, Status
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

CREEP = 1e-3
"""Share of the tolerance, in rad/s or m/s, below which a speed that decreases is none."""

LARGEST_ROW_OF_CHANGES = 1000
"""Changes of mode with next to no progress in time that are taken for a fault."""


class AdaptiveSteps(Run):
    """One solver after the other."""

    _next_step: float | None = None
    _shortest_step = np.inf

    def __init__(self, problem: Problem, watch: Watch) -> None:
        super().__init__(problem, watch)
        self._stuck_at = np.full(self.layout.m, np.nan)
        rated = rated_coordinates(problem.equations)
        self._coordinates = np.array([rated[row] or 0 for row in self.rows], np.int64)

        if self.holding is not None and problem.named is not None:
            self.holding.modes.anchors[:] = problem.named.anchors_at_start(self.x[: self.layout.nq])
            self.holding.modes.write()
            self.x = self._state(self.x, 0.0)

    def run_all(self) -> None:
        duration, breaks = self.problem.request.duration, self.problem.breaks.tolist()
        for begin, end in itertools.pairwise(breaks):
            self.middle, standing = (begin + end) / 2, 0
            while self.t < end:
                before = self.t
                self._piece(end)
                standing = 0 if self.t - before > AT_ONCE * duration else standing + 1
                if standing > LARGEST_ROW_OF_CHANGES:
                    raise Ended(Status.DIVERGED)
        self.middle = self.t
        self.recording.write_last(self.t, self.x, self.settle(self.t, self.x))

    # ------------------------------------------------------------------------- one solver's piece
    def _piece(self, end: float) -> None:
        """Go on until the modes change, or to the end."""
        self.at_once[:] = 0
        k = self.settle(self.t, self.x)
        if self.recording.due(self.t):
            self.recording.write(self.t, self.x, k)
        self.look(self.t, self.x, k)
        solver = self._solver(self.t, self.x, end, 1.0, self._next_step)
        while solver.status == "running":
            self._step(solver)
            self._next_step = solver.h_abs
            dense = solver.dense_output()
            change = self._change(solver, dense, k)
            t, x, final = (solver.t, self._held(solver), -1) if change is None else change
            self._write_rows_before(t, dense)
            self._refuse_unreasonable(x)
            self.t, self.x, k = t, x, self.evaluate(t, x)
            self.look(t, x, k)
            if final >= 0:
                self.recording.write_last(t, x, k)
                raise Ended(Status.LIMIT_REACHED, final)
            g, rests = k[self.layout.g], self._creeps(k)
            if change is not None or rests.any():
                g[rests] = -1.0
                self._changed(k)
                return

    def _creeps(self, k: Array) -> Any:
        """What slides so slowly, and ever more slowly, that nothing is left for it but to rest."""
        slow = k[self.layout.g] < CREEP * self.problem.request.tolerance
        return self.limited & ~self.stuck & slow & (k[self.layout.gdot] < 0.0)

    def _step(self, solver: Any) -> None:
        t, y = solver.t, solver.y
        if self.steps == self.problem.request.max_steps:
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
    def _changed(self, k: Array) -> None:
        """Go on after modes have ended.

        What is held where it has been held before was let go by no more than the error of its
        position, which a stiff stop or controller turns into a force. From then on it must be
        pushed harder, twice as hard each time, until it moves further than the tolerance. All that
        comes to rest is therefore held at first; but under constraints, where it may be at a dead
        point.
        """
        held, own = self.stuck, self.holding
        self.x = self.change(self.x, k, 0 if own is not None and own.acts else CHATTERS)
        now = self.stuck & ~held
        if not now.any():
            return
        q = self.x[self._coordinates]
        tolerance = self.problem.request.tolerance * np.maximum(1.0, np.abs(q))
        again = np.abs(q - self._stuck_at) <= tolerance
        begin = self.layout.gdot.stop
        pushed = self.evaluate(self.t, self.x)[begin : begin + self.layout.m]
        excess = np.maximum(np.abs(pushed) - self.limits, self.margin)
        self.margin = np.where(now, np.where(again, 2.0 * excess, 0.0), self.margin)
        self._stuck_at = np.where(now & ~again, q, self._stuck_at)

    def _change(self, solver: Any, dense: Any, k: Array) -> tuple[float, Array, int] | None:
        """Time and state of the first end of a mode in a step, and what then ends the motion."""
        if not self.layout.m:
            return None
        times = np.linspace(solver.t_old, solver.t, LOOKS + 1).tolist()
        for begin, end in itertools.pairwise(times):
            after = partial(self._dense_state, dense, begin)
            h, there = end - begin, self.evaluate(end, after(end - begin))
            turn = h if self.worst(there) < 0.0 else self.excursion(h, k, there)
            last = there if turn == h else self.evaluate(begin + turn, after(turn))
            if self.worst(last) < 0.0:
                s, x, _, final = self.find_end(begin, turn, k, last, after)
                return begin + s, x, final
            k = there
        return None

    def _write_rows_before(self, end: float, dense: Any) -> None:
        while self.recording.due_before(end):
            t = self.recording.next_time()
            x = self._state(dense(t), t)
            self._refuse_unreasonable(x)
            self.recording.write(t, x, self.evaluate(t, x))

    # ------------------------------------------------------------------- states as SciPy sees them
    def _solver(self, t: float, y: Array, end: float, share: float, first: float | None) -> Any:
        tolerance = max(share * self.problem.request.tolerance, 1e-13)
        options = {"rtol": tolerance, "atol": tolerance}
        if first is not None:
            options["first_step"] = min(first, end - t)
        if self.problem.request.method == "radau":
            return Radau(self._derivative, t, y, end, jac=self._jacobian, **options)
        return DOP853(self._derivative, t, y, end, **options)

    def _derivative(self, t: float, y: Array) -> Array:
        if self.watch is not None and self.watch.cancelled():  # a step may take long
            raise Ended(Status.CANCELLED)
        x = self._state(y)
        try:
            self._refuse_unreasonable(x)
            return self.evaluate(t, x)[: self.layout.state]
        except Ended as end:
            if end.status != Status.DIVERGED:
                raise
            return np.full(len(y), np.nan)  # the solver then tries a shorter step

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

    def _dense_state(self, dense: Any, begin: float, h: float) -> Array:
        return self._state(dense(begin + h), begin + h)

    def _held(self, solver: Any) -> Array:
        """The state that a step leads to; the solver goes on from where constraints hold."""
        x = self._state(solver.y, solver.t)
        if self.holding is not None and (x != solver.y).any():
            solver.y, solver.f = x, self._derivative(solver.t, x)
        return x

    def _state(self, y: Array, t: float | None = None) -> Array:
        """At a time: back on the constraints; without one, a state on the way."""
        x, at, own = self.problem.normalized(y.copy()), self.layout, self.holding
        if own is not None and own.acts and t is not None:
            x[at.qdot], x[at.udot] = own.corrected(t, x[at.qdot], x[at.udot])
        return x

    def _refuse_unreasonable(self, x: Array) -> None:
        refuse_unreasonable(x[self.layout.qdot], x[self.layout.udot])
