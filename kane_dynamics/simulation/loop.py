"""The loop of a simulation with fixed step, for machines without a compiler; loop.c in Python."""

from __future__ import annotations

import itertools

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.balance import Judge
from kane_dynamics.simulation.constraints import PARTS_AT_STOPS, Kind
from kane_dynamics.simulation.events import Event
from kane_dynamics.simulation.excursions import Excursions
from kane_dynamics.simulation.holding import MOST_PARTS
from kane_dynamics.simulation.present import Present
from kane_dynamics.simulation.problem import SAME_TIME, Problem
from kane_dynamics.simulation.rates import evaluated
from kane_dynamics.simulation.run import AT_ONCE, Run, refuse_unreasonable
from kane_dynamics.simulation.status import Ended, Status
from kane_dynamics.simulation.watch import Watch

WORSE = 1.1
"""How much rougher than all before a step is that has its error estimated."""

GOLDEN = 0.6180339887498949
"""Of what is irrational, the farthest from all fractions: multiples of it fill every gap alike."""

DOUBT, SLOW = 0.05, 1e-6
"""Share of a speed, and rad/s or m/s, by which a step that is not in doubt may be wrong."""


class FixedSteps(Run):
    """Steps one after the other; those in doubt are judged."""

    def __init__(self, problem: Problem, watch: Watch | None, judge: Judge) -> None:
        super().__init__(problem, watch)
        self._judge = judge
        self._is_euler = problem.request.method == "euler"
        self._k: Array | None = None
        self._last_stage = np.empty(0)
        self._roughest, self._estimates = 0.0, 0
        sides = [each.kind == Kind.ONE_SIDED for each in problem.rates.side.constraints]
        self._one_sided = np.array(sides, bool)
        self._last: tuple[float, Array, Array | None] = (-1.0, self.x, None)
        self._excursions = None
        if problem.named is not None and self.holding is not None:
            nq, same, modes = self.layout.nq, problem.same_time, self.holding.modes
            self._excursions = Excursions(problem.named, modes, LoopState(self), nq, same)

    def events(self) -> tuple[Event, ...]:
        return () if self._excursions is None else tuple(self._excursions.events)

    def run_all(self) -> None:
        try:
            self._run_all()
        except Ended as end:
            if end.status == Status.VIOLATED and self.t > 0.0:  # before anything has changed
                self._known = self.t, self.x, self.settle(self.t, self.x)
            raise

    def _run_all(self) -> None:
        step, breaks = self.problem.request.step, self.problem.breaks.tolist()
        excursions = self._excursions
        if excursions is not None:
            excursions.begin()
        for begin, end in itertools.pairwise(breaks):
            number, target, self._k = 0, begin, None
            while target < end:
                number += 1
                target = begin + number * step
                if target >= end - SAME_TIME * step:
                    target = end
                self._reach(target)
                self.steps += 1
                if excursions is not None and target < breaks[-1]:
                    while excursions.conditional and excursions.after_step():
                        self._reach(target)
                    if self.t >= excursions.halt:
                        excursions.at_event()
        self.middle = self.t
        self.recording.write_last(self.t, self.x, self.settle(self.t, self.x))

    def _reach(self, target: float) -> None:
        """To the end of a step, in several parts if modes change on the way."""
        changes, named = 0, self.holding is not None
        most_changes = MOST_PARTS if named else 4 * self.layout.n + 8
        self.at_once[:] = 0
        while self.t < target:
            t, x, end = self.t, self.x, self._part_end(target)
            h = whole = end - t
            self.middle = t + h / 2
            k1 = self._k = self.settle(t, x, self._k)
            if self.recording.due(t):
                self.recording.write(t, x, k1)
            self.look(t, x, k1)
            y, k = self._after(h), None
            estimated, ends, final = self._is_estimated(h, y), False, -1
            if self.layout.m or named:
                k = self.evaluate(end, y)
                ends = self.worst(k) < 0.0
                turn = h if ends or changes == most_changes else self.excursion(h, k1, k)
                if turn < h:
                    there = self.evaluate(t + turn, self._after(turn))
                    if self.worst(there) < 0.0:
                        ends, k, h, whole, end = True, there, turn, turn, t + turn
            if k is not None and ends and changes < most_changes:
                h, y, k, final = self.find_end(t, h, k1, k, self._after)
                end = t + h if h < whole else end
            elif k is not None and ends:
                final = self.final_end(k)
            elif estimated:
                self._estimate_error(h, y)
            self._write_rows_before(end)
            self._last = self.t, self.x, k1
            self.t, self.x, self._k = end, y, k
            if final >= 0 and k is not None:
                self.recording.write_last(end, y, k)
                raise Ended(Status.LIMIT_REACHED, final)
            if k is not None and ends:
                self.x, self._k = self.change(y, k, int(h < AT_ONCE * whole)), None
                changes += 1
                if k is not None and self._excursions and (self.named_events(k) < 0.0).any():
                    self.x = self.x.copy()
                    self._excursions.at_event()
            elif k is not None and self.holding is not None:
                self.holding.go_on(self.named_events(k))

    def _part_end(self, target: float) -> float:
        """How far to go at once: stops are too stiff for a whole step."""
        step = self.problem.request.step
        end = self.t + step / PARTS_AT_STOPS
        touches = bool(self.modes[self._one_sided].any())
        return end if touches and end < target - SAME_TIME * step else target

    def _write_rows_before(self, end: float) -> None:
        """Rows between the steps: a shorter step to each, which leads nowhere else."""
        while self.recording.due_before(end):
            t = self.recording.next_time()
            x = self._after(t - self.t)
            self.recording.write(t, x, self.evaluate(t, x))

    # ------------------------------------------------------------------------------------- steps
    def _after(self, h: float) -> Array:
        """The state some time after the present one, in the present modes."""
        assert self._k is not None
        return self._advanced(self.t, h, self.x, self._k)

    def _advanced(self, t: float, h: float, x: Array, k1: Array) -> Array:
        """The state at t + h, from x at t."""
        if self._is_euler:
            y = self._semi_implicit_euler(h, x, k1)
        else:
            y = self._runge_kutta_4(t, h, x, k1)
        at, holding = self.layout, self.holding
        refuse_unreasonable(y[at.qdot], y[at.udot])
        y = self.problem.normalized(y)
        if holding is not None and holding.acts:
            y[at.qdot], y[at.udot] = holding.corrected(t + h, y[at.qdot], y[at.udot])
        return y

    def _semi_implicit_euler(self, h: float, x: Array, k1: Array) -> Array:
        """Speeds first, then coordinates with the new speeds."""
        at, rates = self.layout, self.problem.rates
        u = x[at.udot] + h * k1[at.udot]
        given = rates.named(t=np.array([self.t]), q=x[at.qdot], u=u)
        q = x[at.qdot] + h * evaluated(rates.functions, "coordinate_rates", **given)
        force = k1[at.tau] + k1[at.other] + k1[at.losses]
        return np.concatenate([q, u, [x[-1] + h * (0.5 * (x[at.udot] + u) @ force)]])

    def _runge_kutta_4(self, t: float, h: float, x: Array, k1: Array) -> Array:
        size = self.layout.state
        stages = [k1[:size]]
        for node in (0.5, 0.5, 1.0):
            stage = self.problem.normalized(x + h * node * stages[-1])
            stages.append(self.evaluate(t + h * node, stage)[:size])
        self._last_stage = stages[-1]
        return np.asarray(x + h / 6 * (stages[0] + 2 * (stages[1] + stages[2]) + stages[3]))

    # ------------------------------------------------------------------------------------ errors
    def _is_estimated(self, h: float, y: Array) -> bool:
        """Whether the step just computed, of length h, is to have its error estimated.

        It is if it is further from the trapezoid rule than all before, or one of a sample; and all
        of Euler's are.
        """
        if self._is_euler or self._k is None:
            return True
        at = self.layout.udot
        trapezoid = h / 2 * (self._k[at] + self._last_stage[at])
        rough = float(np.abs(y[at] - self.x[at] - trapezoid).max())
        worse = rough > WORSE * self._roughest
        self._roughest = rough if worse else self._roughest
        return worse or self.steps % self.problem.error_stride == 0

    def _estimate_error(self, h: float, y: Array) -> None:
        """Compare the step to y with two shorter steps.

        They meet elsewhere each time, and never at a simple fraction of the step: what is periodic
        cannot hide between the places where it is looked at. In doubt, halves are what is judged.
        """
        self._estimates += 1
        part, order = 0.25 + 0.5 * (GOLDEN * self._estimates % 1.0), 2 if self._is_euler else 5
        off = np.abs(self._after_two(h, part) - y)
        factor = 1.0 / (1.0 - (part**order + (1.0 - part) ** order))
        self.local_error = max(self.local_error, factor * float(off[:-1].max()))
        if self._is_doubtful(off, y):
            halves = self._after_two(h, 0.5)
            if self._is_doubtful(np.abs(halves - y), y):
                self._judge.check(self.t, self.x, y, halves, self.recording)

    def _after_two(self, h: float, part: float) -> Array:
        """The state after two steps in place of one, the first of which is `part` of it."""
        met, t = self._after(part * h), self.t + part * h
        return self._advanced(t, h - part * h, met, self.evaluate(t, met))

    def _is_doubtful(self, off: Array, y: Array) -> bool:
        at = self.layout.udot
        return bool((off[at] > DOUBT * np.abs(y[at]) + SLOW).any())


class LoopState(Present):
    """The state of a loop in Python, as excursions see and change it."""

    def __init__(self, loop: FixedSteps) -> None:
        self._loop = loop
        self._tried: Array = loop.x

    @property
    def t(self) -> float:  # type: ignore[override]
        return float(self._loop.t)

    @property
    def x(self) -> Array:  # type: ignore[override]
        x: Array = self._loop.x
        return x

    @property
    def last_t(self) -> float:  # type: ignore[override]
        return self._loop._last[0]

    @property
    def step(self) -> int:  # type: ignore[override]
        return self._loop.steps

    def look(self) -> Status:
        loop = self._loop
        loop.looking, loop.middle = True, loop.t + loop.problem.same_time
        try:
            k = loop.settle(loop.t, loop.x)
        except Ended as end:
            return end.status
        finally:
            loop.looking = False
        size = len(loop.named_events(k))
        self.M, self.applied, self.said = loop.seen
        self.g, self.forces = loop.named_events(k), k[len(k) - len(self.said) :]
        self.held = loop.rows[loop.stuck]
        assert size == len(self.g)
        loop._k = None
        return Status.RUNNING

    def correct(self) -> None:
        loop, at = self._loop, self._loop.layout
        if loop.holding is not None and loop.holding.acts:
            x = loop.x
            x[at.qdot], x[at.udot] = loop.holding.corrected(loop.t, x[at.qdot], x[at.udot])

    def slide(self, row: int, direction: float) -> None:
        loop = self._loop
        loop.modes[loop.limited & (loop.rows == row)] = direction

    def go_back(self) -> None:
        loop = self._loop
        loop.t, loop.x, loop._k = loop._last

    def state_at(self, t: float) -> Array:
        tried = self._tried = self._loop._after(t - self._loop.t)
        return tried

    def take(self, t: float) -> None:
        loop = self._loop
        loop._last = loop.t, loop.x, loop._k
        loop.t, loop.x, loop._k = t, self._tried, None
        loop.recording.forget_after(t)
