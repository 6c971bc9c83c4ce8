"""What happens where constraints change: deletion, imposition and choice, outside of the loop.

Gillespie (2003), figure 2. The loop stops at an event. Constraints that begin to hold are imposed
by an impulse, in generalized speeds: M Δu = AᵀP. Then, at the speeds that are left, forces decide
which contacts push, stick and slide. Both are one problem, of impulses or of forces
(`complementarity`); nothing is derived or compiled for it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.kane.recombination import recombination
from kane_dynamics.simulation.complementarity import Mode, Rub, Unsolved, solve
from kane_dynamics.simulation.events import Event
from kane_dynamics.simulation.impacts import Impact
from kane_dynamics.simulation.named import (
    BROKEN,
    NO_GRIP,
    OPEN,
    SLIDES,
    STICKS,
    Modes,
    Named,
)
from kane_dynamics.simulation.present import Present
from kane_dynamics.simulation.status import Ended, Status
from kane_dynamics.simulation.switches import value_of

TOUCHING = 1e-9
"""Distance in m within which bodies touch."""

AT_REST = 1e-9
"""Relative speed in m/s or rad/s that is none."""

BARELY = 1e-12
"""How far an event function may be below zero while it comes away from zero."""

NEARLY_AT_REST = 1e-6
"""Relative speed in m/s or rad/s that is none where others come to rest, if it must be: what stops
as a whole does so up to rounding."""

ROUNDING = 1e-10
"""Share of the largest force that is none."""

DISAGREES = 1e-9
"""Share of the largest force, or m, m/s or rad/s, by which modes disagree and not by rounding."""

DEAD = 1e-7
"""Share of the motion of a mechanism, below which it is at a dead point of a joint."""

ROUNDS = 8
"""Of looking for modes that agree with forces and accelerations."""

MOST_EVENTS = 1000
"""Events within one step, beyond which bounces end."""

RATTLES = 50
"""Events within one step, beyond which contacts that do not bounce are thought to rattle."""

NARROWINGS = 60
"""Bisections after which it is known well enough where a condition is satisfied."""


class Excursions:
    """Changes the modes of constraints when a loop comes to an event, and keeps what happened."""

    def __init__(self, named: Named, modes: Modes, present: Present, nq: int, same: float) -> None:
        self._named, self.modes, self._present = named, modes, present
        self._nq, self._same = nq, same
        self.events: list[Event] = []
        at = [(float(each.at), each) for each in named.switches if each.at is not None]
        self._switches = deque(sorted(at, key=lambda pair: pair[0]))
        self._waiting = [each for each in named.switches if each.when is not None]
        self._step, self._count = -1, 0

    # ----------------------------------------------------------------------------- when it acts
    @property
    def halt(self) -> float:
        """When the next switch is due, s."""
        return (self._switches[0][0] if self._switches else np.inf) - 2.0 * self._same

    @property
    def conditional(self) -> bool:
        """Whether conditions are waited for."""
        return bool(self._waiting) or self._named.machine is not None

    def begin(self) -> None:
        """At the start of a motion."""
        now, modes = self._present, self.modes
        q = now.x[: self._nq]
        modes.anchors[:] = self._named.anchors_at_start(q)
        machine = self._named.machine
        if machine is not None:
            for name, on in machine.states[machine.start].items():
                modes.active[name] = on
        modes.write()
        now.correct()
        self._change(self._due())

    def at_event(self) -> None:
        """Where an event function has become negative, or a switch is due."""
        self._change(self._due())

    def after_step(self) -> bool:
        """Whether a condition has been satisfied in the last step, and what it asks for is done."""
        conditions = self._conditions()
        if not any(value > 0.0 for value in self._values(conditions)):
            return False
        now = self._present
        end, begin = now.t, now.last_t
        if begin >= 0.0 and end > begin:
            now.go_back()
            if not any(value > 0.0 for value in self._values(conditions)):
                low, high = begin, end
                for _ in range(NARROWINGS):
                    middle = low + 0.5 * (high - low)
                    if not low < middle < high:
                        break
                    x = now.state_at(middle)
                    positive = any(v > 0.0 for v in self._values(conditions, middle, x))
                    low, high = (low, middle) if positive else (middle, high)
                now.state_at(high)
                now.take(high)
        self._change(self._satisfied(conditions))
        return True

    # ------------------------------------------------------------------- switches and conditions
    def _due(self) -> list[tuple[str, bool]]:
        last, due = self._present.t + 2.0 * self._same, []
        while self._switches and self._switches[0][0] <= last:
            due.append(self._switches.popleft()[1])
        return [(each.name, each.on) for each in due]

    def _conditions(self) -> list[Any]:
        """What is waited for: conditions of switches, then of the present state of the machine."""
        machine = self._named.machine
        own = [] if machine is None else machine.transitions
        return [*self._waiting, *(each for each in own if each[0] == self.modes.state)]

    def _values(
        self, conditions: Sequence[Any], t: float | None = None, x: Array | None = None
    ) -> Iterable[float]:
        now, nq = self._present, self._nq
        t, x = (now.t if t is None else t), (now.x if x is None else x)
        for each in conditions:
            condition = each[2] if isinstance(each, tuple) else each.when
            yield value_of(condition, t, x[:nq], x[nq:-1])

    def _satisfied(self, conditions: Sequence[Any]) -> list[tuple[str, bool]]:
        """What is switched where conditions are satisfied."""
        asked: list[tuple[str, bool]] = []
        for each, value in zip(conditions, list(self._values(conditions))):
            if not value > 0.0:
                continue
            if not isinstance(each, tuple):
                self._waiting = [other for other in self._waiting if other is not each]
                asked.append((each.name, each.on))
            elif each[0] == self.modes.state:
                self.modes.state = each[1]
                self.events.append(Event(self._present.t, "state", "", state=each[1]))
                machine = self._named.machine
                assert machine is not None
                asked += machine.states[each[1]].items()
        return asked

    # ------------------------------------------------------------------------------- the change
    def _change(self, switched: Sequence[tuple[str, bool]]) -> None:
        """Go through what an event brings, and find modes that agree with the state."""
        now, modes = self._present, self.modes
        if switched and now.imposes and self._is_firm([name for name, _ in switched]):
            self._change_firm(switched)
            return
        before, first = modes.all(), not self.events and now.t == 0.0
        imposed = []
        for name, on in switched:
            if modes.active[name] == on:
                continue
            if on:
                imposed.append(name)
                self._begin(name)
            modes.active[name] = on
            if not on and name in modes.closed:
                modes.closed[name] = modes.bearing[name] = False
        self._look()
        self._touch()
        impact = Impact(self._named, modes, now, self._nq, self._bounces())
        impact.resolve(bool(imposed))
        self._settle()
        self._tell(before, switched, impact, first)

    def _is_firm(self, names: Sequence[str]) -> bool:
        """Whether nothing touches, sticks or slides, and these constraints do not either."""
        modes, limited = self.modes, {limit.name for limit in self._named.limits}
        loose = limited.union(self._named.one_sided)
        if not loose:
            return True
        acting = any(modes.active[name] for name in limited - self._named.one_sided.keys())
        if acting or loose.intersection(names):
            return False
        now, nq = self._present, self._nq
        said = self._named.rows(now.t, now.x[:nq], now.x[nq:-1], modes.anchors)
        return all(
            said[row, -1] > TOUCHING
            for name, row in self._named.one_sided.items()
            if modes.active[name]
        )

    def _change_firm(self, switched: Sequence[tuple[str, bool]]) -> None:
        """Where nothing slides or comes apart: what is switched on is imposed, which is all."""
        now, modes = self._present, self.modes
        before = {name: modes.active[name] for name, _ in switched}
        imposed = False
        for name, on in switched:
            if on and not modes.active[name]:
                self._begin(name)
                imposed = True
            modes.active[name] = on
        self._bounces()
        modes.write()
        impulses = speeds = None
        if imposed:
            impulses, speeds = now.impose()
            self._slide_on()
        now.forget()
        for name in self._named.names:
            if before.get(name, modes.active[name]) == modes.active[name]:
                continue
            own, kind = modes.slice_of(name), "on" if modes.active[name] else "off"
            if impulses is None or speeds is None:
                self.events.append(Event(now.t, kind, name, np.zeros(own.stop - own.start)))
                continue
            lost = 0.0 - 0.5 * float(impulses[own] @ speeds[own])
            self.events.append(Event(now.t, kind, name, impulses[own].copy(), lost))

    def _bounces(self) -> bool:
        """Whether bounces go on: not after many events in one step."""
        step = self._present.step
        self._count = self._count + 1 if step == self._step else 0
        self._step = step
        if self._count > 2 * MOST_EVENTS:
            raise Ended(Status.STORM)
        return self._count <= MOST_EVENTS

    def _look(self) -> None:
        self.modes.write()
        self._slide_on()
        self._look_at_forces()
        if self._let_slide():
            self._look_at_forces()

    def _look_at_forces(self) -> None:
        status = self._present.look()
        if status != Status.RUNNING:
            raise Ended(status)

    def _slide_on(self) -> None:
        """Dry friction of joints opposes the speeds that impulses have left."""
        now = self._present
        for row, speed in enumerate(now.x[self._nq : -1].tolist()):
            if abs(speed) > AT_REST:
                now.slide(row, math.copysign(1.0, speed))

    def _let_slide(self) -> bool:
        """Let speeds go that no friction can hold, at dead points; whether there are such.

        There they are zero by constraints alone, which also say what becomes of them: whatever
        pushes against them does nothing to the motion.
        """
        now, firm = self._present, self.modes.holds != 0
        slides, kept = False, now.said[firm]
        for row in now.held.tolist() if firm.any() else ():
            own = recombination(kept[:, :-2], np.diagonal(now.M))
            share = own.T[row] * own.scale[own.independent] / own.scale[row]
            udot = own.accelerations(now.M, now.applied, kept[:, -2]) / own.scale
            if np.abs(share).max(initial=0.0) < DEAD and abs(udot[row]) > ROUNDING * max(abs(udot)):
                now.slide(row, float(np.sign(udot[row])))
                slides = True
            else:
                kept = np.vstack([kept, np.eye(len(udot), len(udot) + 2)[row]])
        return slides

    def _begin(self, name: str) -> None:
        """What a constraint keeps that begins here."""
        own = self._named.constraints.anchor_slices[name]
        if own.stop > own.start:
            found = self._named.anchors(self._present.t, self._present.x[: self._nq])
            self.modes.anchors[own] = found[own]
        now, nq, own = self._present, self._nq, self.modes.slice_of(name)
        said = self._named.rows(now.t, now.x[:nq], now.x[nq:-1], self.modes.anchors)
        errors = np.where(self._named.positions, said[:, -1], 0.0)[own]
        if name in self._named.one_sided:
            errors = np.minimum(errors, 0.0)
        worst = float(np.abs(errors).max(initial=0.0))
        if not worst <= BROKEN:
            raise Ended(
                Status.VIOLATED,
                fault=f"constraint {name!r} is violated by {worst:.3g} where it is switched on, "
                f"at t = {now.t:.9g} s",
            )

    def _touch(self) -> None:
        """Which contacts touch."""
        now, modes = self._present, self.modes
        for name, row in self._named.one_sided.items():
            gap = float(now.said[row, -1])
            ended = modes.watched[row] == OPEN and now.g[row] < 0.0
            modes.closed[name] = modes.active[name] and (
                modes.bearing[name] or gap <= TOUCHING or bool(ended)
            )

    # ------------------------------------------------------------------------------- the forces
    def _settle(self) -> None:
        """Modes that agree with forces and accelerations."""
        for _ in range(ROUNDS):
            self._let_go()
            self._look()
            self._decide()
            self._look()
            if not (self._present.g < 0.0).any():
                return
        self._say_undecided(self._present.g)
        self.modes.slack += np.where(self._present.g < 0.0, -2.0 * self._present.g, 0.0)

    def _say_undecided(self, g: Array) -> None:
        """Modes that were found do not agree with what follows from them, by more than rounding."""
        owners = [*self._named.owners, *(limit.name for limit in self._named.limits)]
        none = DISAGREES * (1.0 + float(np.abs(self._present.forces).max(initial=0.0)))
        for name in dict.fromkeys(owners[k] for k in np.flatnonzero(g < -none)):
            rows = self.modes.slice_of(name)
            self.events.append(
                Event(self._present.t, "undecided", name, np.zeros(rows.stop - rows.start))
            )

    def _let_go(self) -> None:
        """Nothing limited or one-sided acts while forces are looked for."""
        modes = self.modes
        for name in modes.bearing:
            modes.bearing[name] = False
        modes.grip[:] = NO_GRIP

    def _decide(self) -> None:
        now, modes, nq = self._present, self.modes, self._nq
        u = now.x[nq:-1]
        A = np.vstack([now.said[:, :-2], np.eye(len(u))[now.held]])
        v = now.said[:, :-2] @ u
        holding = [*np.flatnonzero(modes.holds), *range(len(now.said), len(A))]
        rubs, kept = self._rubs(v)
        if not rubs:
            self._put(rubs, kept, np.zeros(len(A)), np.zeros(len(A)))
            return
        inverse = np.linalg.solve(now.M, np.column_stack([A.T, now.applied]))
        W = A @ inverse[:, :-1]
        bias = np.concatenate([now.said[:, -2], np.zeros(len(now.held))])
        b = A @ inverse[:, -1] + bias
        try:
            found = solve(W, b, holding, rubs)
        except Unsolved:
            rubs, kept = self._rubs(v, NEARLY_AT_REST)
            try:
                found = solve(W, b, holding, rubs)
            except Unsolved:
                raise Ended(Status.UNSOLVABLE) from None
        self._put(rubs, kept, found, b + W @ found)
        modes.write()
        now.correct()

    def _rubs(self, v: Array, rest: float = AT_REST) -> tuple[list[Rub], list[tuple[str, int]]]:
        """Contacts that touch and do not come apart, and limited forces; and whose they are."""
        named, modes = self._named, self.modes
        limits = {e.name: k for k, e in enumerate(named.limits) if e.name in named.one_sided}
        rubs, kept = [], []
        for name, row in named.one_sided.items():
            if not modes.closed[name] or v[row] > self._apart(name):
                modes.closed[name] = False
                continue
            k = limits.get(name, -1)
            rubs.append(self._rub(row, k, True, v, rest))
            kept.append((name, k))
        for k, limit in enumerate(named.limits):
            if limit.name not in named.one_sided and modes.active[limit.name]:
                rubs.append(self._rub(limit.of, k, False, v, rest))
                kept.append((limit.name, k))
        return rubs, kept

    def _apart(self, name: str) -> float:
        """Speed with which a contact comes apart; what rattles, and does not bounce, rests."""
        rattles = self._count > RATTLES and self._named.restitution[name] == 0.0
        return NEARLY_AT_REST if rattles else AT_REST

    def _rub(self, normal: int, k: int, one_sided: bool, v: Array, rest: float) -> Rub:
        if k < 0:
            return Rub(normal, (), 0.0, 0.0, one_sided)
        limit = self._named.limits[k]
        rows = tuple(range(limit.first, limit.first + limit.size))
        rub = Rub(normal, rows, limit.static, limit.kinetic, one_sided)
        slip = v[list(rows)]
        speed = float(np.linalg.norm(slip))
        if speed > rest:
            rub.mode, rub.direction, rub.given = Mode.SLIDES, slip / speed, True
        return rub

    def _put(
        self, rubs: Sequence[Rub], kept: Sequence[tuple[str, int]], found: Array, w: Array
    ) -> None:
        """Put modes down as they were found."""
        now, modes, count = self._present, self.modes, len(self._present.said)
        none = ROUNDING * float(np.abs(found).max(initial=0.0)) + 1e-300
        modes.slack[:] = 0.0
        for name, row in self._named.one_sided.items():
            gap = float(now.said[row, -1])
            v = float(now.said[row, :-2] @ now.x[self._nq : -1])
            apart = v > self._apart(name)
            modes.slack[row] = max(0.0, -gap) + (0.0 if apart else BARELY) if gap < BARELY else 0.0
        for rub, (name, k) in zip(rubs, kept):
            if rub.one_sided:
                modes.bearing[name] = rub.mode != Mode.OPEN
                scale = float(np.abs(w).max(initial=0.0)) * 1e-9 + 1e-9
                touches = modes.bearing[name] or w[rub.normal] <= scale
                modes.closed[name] = touches
                if touches:
                    modes.slack[rub.normal] = none if modes.bearing[name] else 2.0 * TOUCHING
            if k < 0 or (rub.one_sided and not modes.bearing[name]):
                continue
            modes.grip[k] = STICKS if rub.mode == Mode.STICKS else SLIDES
            modes.slipping[k] = rub.mode == Mode.SLIDES
            modes.factors[k] = rub.kinetic if rub.mode == Mode.SLIDES else rub.static
            modes.slack[count + k] = none
            if rub.mode != Mode.STICKS and rub.direction is not None:
                modes.direction[k, : len(rub.tangents)] = rub.direction
                modes.slack[count + k] = 0.0 if rub.given else BARELY

    # ------------------------------------------------------------------------------ what is told
    def _tell(
        self,
        before: dict[str, Any],
        switched: Sequence[tuple[str, bool]],
        impact: Impact,
        first: bool,
    ) -> None:
        t, modes, named = self._present.t, self.modes, self._named
        grips = {each.name: k for k, each in enumerate(named.limits)}
        changed = [name for name, on in switched if before["active"][name] != on]
        for name in named.names:
            kinds = [("on" if modes.active[name] else "off")] if name in changed else []
            if name in modes.closed and modes.active[name]:
                closed = before["closed"][name]
                struck = impact.struck(name) and not (closed and "on" in kinds)
                if struck or (modes.closed[name] and not closed and not first):
                    kinds.append("contact")
                if closed and not modes.closed[name]:
                    kinds.append("release")
            if name in grips and not kinds:
                kinds += self._slip_kinds(grips[name], before)
            for place, kind in enumerate(kinds):
                impulse, lost = impact.of(name) if place == 0 else (None, 0.0)
                if impulse is None:
                    impulse = np.zeros(len(impact.of(name)[0]))
                self.events.append(Event(t, kind, name, impulse, lost))
            if not kinds and impact.struck(name):
                self.events.append(Event(t, "contact", name, *impact.of(name)))

    def _slip_kinds(self, k: int, before: dict[str, Any]) -> list[str]:
        if NO_GRIP in (before["grip"][k], self.modes.grip[k]):
            return []
        was, slips = bool(before["slipping"][k]), bool(self.modes.slipping[k])
        if was != slips:
            return ["slip" if slips else "stick"]
        if slips and before["direction"][k] @ self.modes.direction[k] < 0.0:
            return ["reversal"]
        return []
