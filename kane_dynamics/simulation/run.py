"""A simulation under way in Python: what follows from a state, and how modes end and change.

The same stands in steps.c and loop.c, for which this is the explanation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Function
from kane_dynamics.errors import ArgumentError, SingularError
from kane_dynamics.simulation.constraints import Friction, Kind, recombined
from kane_dynamics.simulation.events import Event
from kane_dynamics.simulation.holding import RELEASE, Holding
from kane_dynamics.simulation.inputs import AskedTorque
from kane_dynamics.simulation.named import Modes
from kane_dynamics.simulation.problem import LARGEST_COORDINATE, LARGEST_SPEED, Problem
from kane_dynamics.simulation.rates import evaluated
from kane_dynamics.simulation.recording import Outcome, Recording
from kane_dynamics.simulation.status import Ended, InputFault, Status
from kane_dynamics.simulation.watch import Watch

HALVINGS = 44
"""Bisections after which the end of a mode is known well enough."""

AT_ONCE = 1e-12
"""Share of a step within which a mode has ended at once."""

CHATTERS = 2
"""How often a joint comes to rest at once in one step that is then held until its end: once is what
rounding makes of a speed that is none."""

After = Callable[[float], Array]
"""The state at a time since a step began."""


class Run(ABC):
    """Goes on from the initial state until it ends; `run_all` says by which steps.

    Attributes
    ----------
    t : float
    x : array
        Where it is: q, u and the work done.
    middle : float
        A time inside of the present step.
    modes : array (m,)
        Of the constraints.
    at_once : array (m,) of int
        How often a constraint has come to rest at once, in the present step.
    margin : array (m,)
        What must push beyond its limit for a constraint to let go.
    holding : Holding, optional
        Constraints by name, as they stand.
    looking : bool
        Whether all that holds and slides is to be seen, though nothing may.
    seen : tuple of array
        The mass matrix, forces less the bias, and rows of such constraints, at the last state.
    """

    def __init__(self, problem: Problem, watch: Watch | None = None) -> None:
        self.problem, self.watch = problem, watch
        self.layout, self.holding = problem.rates.layout, holding_of(problem)
        standing = None if self.holding is None else self.holding.modes.marks
        self.recording = Recording(problem, standing)
        self.looking, self.seen = False, (np.zeros((0, 0)),) * 3
        self.t, self.x, self.middle = 0.0, problem.start.copy(), 0.0
        constraints = problem.rates.side.constraints
        self.modes, self.margin = problem.modes.copy(), np.zeros(len(constraints))
        self.at_once = np.zeros(len(constraints), np.int64)
        self.rows = np.array([each.row for each in constraints], np.int64)
        self.limited = np.array([isinstance(each, Friction) for each in constraints], bool)
        self.final = np.array([each.kind == Kind.FINAL for each in constraints], bool)
        self.limits = RELEASE * np.array([each.limit for each in constraints])
        self.local_error, self.steps = 0.0, 0
        self._known: tuple[float, Array, Array] | None = None
        self._functions: dict[bool, Function] = {}
        self._given = problem.rates.named()

    @abstractmethod
    def run_all(self) -> None:
        """Simulate to the end; `Ended` and `InputFault` say why it comes earlier."""

    def look(self, t: float, x: Array, k: Array) -> None:
        """Keep a state as good, show how far it is, and end if that is wanted."""
        self._known, at, watch = (t, x, k), self.layout, self.watch
        shown = x[at.qdot], x[at.udot], k[at.tau]
        if watch is not None and t > 0.0 and watch.due() and watch.stops(t, *shown):
            raise Ended(Status.CANCELLED)

    def outcome(self) -> Outcome:
        """Simulate; what was good until an early end is kept."""
        status, culprit, fault = Status.FINISHED, 0, ""
        try:
            with np.errstate(all="ignore"):
                self.run_all()
        except Ended as end:
            status, culprit, fault = end.status, end.culprit, end.fault
        except InputFault as error:
            status, fault = Status.INPUT_FAULT, str(error)
        if status != Status.FINISHED and self._known is not None:
            self.recording.write_last(*self._known)
        return Outcome(self.recording, status, culprit, fault, self.local_error, self.events())

    def events(self) -> tuple[Event, ...]:
        """What has happened to constraints by name."""
        return ()

    # ---------------------------------------------------------------- what follows from a state
    @property
    def stuck(self) -> Any:
        """Which constraints hold their speeds."""
        return self.limited & (self.modes == 0.0)

    @property
    def pinned(self) -> Any:
        """Which constraints hold until the present step ends."""
        return self.at_once >= CHATTERS

    def evaluate(self, t: float, x: Array) -> Array:
        """Everything that follows from a state in the present modes, as `Layout` has it.

        After the rates of events comes what pushes the constraints that hold.
        """
        at, rates, stuck = self.layout, self.problem.rates, self.stuck
        own = self.holding
        held = bool(stuck.any()) or (own is not None and (own.acts or self.looking))
        if held not in self._functions:
            self._functions[held] = rates.function(held)
        self._given.update(q=x[at.qdot], u=x[at.udot], modes=self.modes, t=np.array([t]))
        self._given["values"] = self._values(t, x)
        try:
            k = self._functions[held](*(self._given[each.name] for each in rates.side.inputs))
        except ArgumentError:  # what is not a number has come into the equations
            raise Ended(Status.DIVERGED) from None
        pushed, watched = np.zeros(at.m), np.zeros(0)
        if own is not None:
            pushed[stuck], watched = self._follow_named(own, t, x, k, stuck, held)
        elif held:
            pushed[stuck] = self._hold(k, stuck)
        if not at.m and own is None:
            return k[: at.gdot.stop]
        if held:
            k[at.g][stuck] = (self.limits + self.margin - np.abs(pushed))[stuck]
        k[at.gdot] += np.where(self.limited, self.modes * k[at.udot][self.rows], 0.0)
        return np.concatenate([k[: at.gdot.stop], pushed, watched])

    def _follow_named(
        self, own: Holding, t: float, x: Array, k: Array, stuck: Any, held: bool
    ) -> tuple[Array, Array]:
        """What constraints by name make of a state.

        Returns
        -------
        pushed, watched : array
            What pushes against speeds that are held; event functions of the constraints, their
            rates, and forces of their rows.
        """
        at, rows = self.layout, self.rows[stuck]
        said, forces, pushed = own.said(t, x[at.qdot], x[at.udot]), None, np.zeros(len(rows))
        if held:
            M, right = k[at.mass].reshape(at.n, at.n), k[at.udot].copy()
            self.seen = M.copy(), right, said
            try:
                k[at.udot], forces, on_held = own.constrained(said, M, right, rows)
            except (np.linalg.LinAlgError, SingularError):
                raise Ended(Status.SINGULAR) from None
            exerted = M @ k[at.udot] - right
            k[at.other] += exerted
            k[at.power] += x[at.udot] @ exerted
            pushed = -on_held
        forces = np.zeros(len(said)) if forces is None else forces
        g, rate = own.watched(said, x[at.udot], k[at.udot], forces)
        return pushed, np.concatenate([g, rate, forces])

    def named_events(self, k: Array) -> Array:
        """Event functions of constraints by name."""
        if self.holding is None:
            return np.zeros(0)
        begin = self.layout.gdot.stop + self.layout.m
        return k[begin : begin + len(self.holding.modes.slack)]

    def _hold(self, k: Array, stuck: Any) -> Array:
        """Put the accelerations in, and the forces that hold; what pushes against these."""
        at, rows = self.layout, self.rows[stuck]
        M, right = k[at.mass].reshape(at.n, at.n), k[at.udot].copy()
        try:
            held = np.zeros(at.n, bool)
            held[rows] = True
            k[at.udot], hold = recombined(M, right, held)
        except (np.linalg.LinAlgError, SingularError):
            raise Ended(Status.SINGULAR) from None
        k[at.other] -= hold
        return np.asarray(hold[rows])

    def _values(self, t: float, x: Array) -> Array:
        """Of the input and of the wrenches, at an instant."""
        at, rates = self.layout, self.problem.rates
        values = np.empty(rates.side.values)
        for begin, table in self.problem.tables:
            values[begin : begin + table.width] = table.at(t, self.middle)
        if isinstance(rates.input, AskedTorque):
            values[: rates.side.width] = asked(rates.input, self.problem, t, x[at.qdot], x[at.udot])
        return values

    # ------------------------------------------------------------------------- the end of a mode
    def worst(self, k: Array) -> float:
        """The least of the event functions: negative where a mode has ended."""
        g = np.where(self.stuck & self.pinned, np.inf, k[self.layout.g])
        least = float(g.min(initial=np.inf))
        return min(least, float(self.named_events(k).min(initial=np.inf)))

    def excursion(self, h: float, k0: Array, k1: Array) -> float:
        """When within a step an event function seems to have been negative and come back, else h.

        The function is taken for the cubic polynomial with the values and slopes at both ends.
        """
        g, slope = self._all_events(k0)
        ends, after = self._all_events(k1)
        slope, after, rise = h * slope, h * after, np.where(np.isfinite(g), ends - g, 0.0)
        b, c = 3.0 * rise - 2.0 * slope - after, slope + after - 2.0 * rise
        turn = -slope / (b + np.sqrt(b * b - 3.0 * c * slope))
        least = g + turn * (slope + turn * (b + turn * c))
        found = turn[(slope < 0.0) & (after > 0.0) & (least < 0.0)]
        return float(h * found.min(initial=1.0))

    def _all_events(self, k: Array) -> tuple[Array, Array]:
        """Event functions and their rates."""
        at, size = self.layout, len(self.named_events(k))
        begin = at.gdot.stop + at.m + size
        g = np.concatenate([k[at.g], self.named_events(k)])
        return g, np.concatenate([k[at.gdot], k[begin : begin + size]])

    def find_end(
        self, t: float, h: float, begin: Array, end: Array, after: After
    ) -> tuple[float, Array, Array, int]:
        """The end of a mode within a step, by the method of Ridders (1979).

        Parameters
        ----------
        t, h : float
            When the step begins, and how long it is; modes have ended at its end.
        begin, end : array
            What follows from its two ends.
        after : callable

        Returns
        -------
        h, x, k, final
            The first state in which the mode no longer holds; if that is the end of the motion,
            because of the constraint `final`, the last before. Else `final` is -1.
        """
        low, high, least, last = 0.0, h, h * 2.0**-HALVINGS, end
        g_low, g_high = self.worst(begin), self.worst(end)

        def look(s: float) -> float:
            nonlocal low, high, g_low, g_high, last
            k = self.evaluate(t + s, after(s))
            g = self.worst(k)
            if g < 0.0:
                high, g_high, last = s, g, k
            else:
                low, g_low = s, g
            return g

        while high - low > least:
            middle, half, product = low + (high - low) / 2, (high - low) / 2, g_low * g_high
            g = look(middle)
            root = np.sqrt(g * g - product)
            guess = middle + half * g / root if root > 0.0 else middle
            look(min(max(guess, low + least / 2), high - least / 2))
        final = self.final_end(last)
        if final < 0:
            return high, after(high), last, -1
        x = after(low)
        return low, x, self.evaluate(t + low, x), final

    def final_end(self, k: Array) -> int:
        """The constraint that ends the motion, -1 if none does."""
        ended = np.flatnonzero(self.final & (k[self.layout.g] < 0.0))
        return int(ended[0]) if len(ended) else -1

    # ------------------------------------------------------------------------------ what follows
    def change(self, x: Array, k: Array, at_once: int) -> Array:
        """Modes after a state where some have ended; what comes to rest slides back at first.

        It is held where that does not lead back (`settle`). Whether it would be held by less than
        its limit is not asked: where a mechanism passes a dead point, nothing can hold the joint
        whose speed is zero there, and the equations that would tell are singular.
        """
        ended = (k[self.layout.g] < 0.0) & ~self.stuck
        rests = ended & self.limited
        x = x.copy()
        x[self.layout.nq + self.rows[rests]] = 0.0
        self.at_once[rests] += at_once
        back = np.where(self.pinned, 0.0, -self.modes)
        after = np.where(self.limited, back, 1.0 - self.modes)
        self.modes = np.where(ended, after, self.modes)
        return x

    def settle(self, t: float, x: Array, k: Array | None = None) -> Array:
        """What follows from a state, once modes agree with it: k, if that is known already."""
        at = self.layout
        k = self.evaluate(t, x) if k is None else k
        u = x[at.udot]
        for _ in range(8 * at.m):
            slides = self.limited & ~self.stuck & (u[self.rows] == 0.0)
            backward = np.flatnonzero(slides & (k[at.gdot] < 0.0))
            waits = self.stuck & ~self.pinned & (k[at.g] < 0.0)
            if len(backward):
                self.modes[backward[0]] = 0.0
            elif waits.any():
                pushed = k[at.gdot.stop : at.gdot.stop + at.m]
                share = np.where(waits, np.abs(pushed) / (self.limits + self.margin), 0.0)
                hardest = int(np.argmax(share))
                self.modes[hardest] = np.sign(pushed[hardest])
            else:
                break
            k = self.evaluate(t, x)
        return k


def holding_of(problem: Problem) -> Holding | None:
    """Constraints by name, as they stand before a motion begins."""
    if problem.named is None:
        return None
    functions, rates = problem.rates.functions, problem.rates

    def moved(t: float, q: Array, motion: Array) -> Array:
        given = rates.named(t=np.array([t]), q=q, u=motion)
        step = evaluated(functions, "coordinate_rates", **given)
        if problem.equations.flows:
            given["u"] = np.zeros_like(motion)
            step = step - evaluated(functions, "coordinate_rates", **given)
        x = np.append(q + step, 0.0)
        return problem.normalized(x)[:-1]

    return Holding(problem.named, Modes(problem.named), moved, problem.inertia)


def asked(source: AskedTorque, problem: Problem, t: float, q: Array, u: Array) -> Array:
    """Torques of a function of the user, which is not to blame for a state beyond all bounds."""
    try:
        return source.ask(t, q, u, source.names(problem.equations))
    except InputFault:
        refuse_unreasonable(q, u)
        raise


def refuse_unreasonable(q: Array, u: Array) -> None:
    """End when a number is none, or not of reasonable size."""
    for values, largest, offset in ((u, LARGEST_SPEED, 0), (q, LARGEST_COORDINATE, len(u))):
        wrong = np.flatnonzero(~(np.abs(values) < largest))
        if len(wrong):
            raise Ended(Status.DIVERGED, offset + int(wrong[0]))
