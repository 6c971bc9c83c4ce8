"""Constraints by name in a simulation: what they are, and in which modes they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Function, Functions
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.constraints import Constraints
from kane_dynamics.kane.recombination import unsatisfied
from kane_dynamics.simulation.switches import StateMachine, Switch

BROKEN = 1e-6
"""Error in m or rad, or share of the speeds, by which a motion may violate constraints where they
begin to hold."""

UNWATCHED, PUSHES, OPEN = 0, 1, 2
NO_GRIP, STICKS, SLIDES = 0, 1, 2
"""Of what is watched of a row, and of how a limited force stands; as in elimination.c."""


@dataclass(frozen=True, eq=False)
class Limited:
    """A limited force among all rows: as `Limit`, with rows counted from the first of all."""

    name: str
    first: int
    size: int
    of: int
    static: float
    kinetic: float


@dataclass(frozen=True, eq=False)
class Named:
    """The constraints of a mechanism, which of them there are at the start, and what changes that.

    Attributes
    ----------
    constraints : Constraints
    functions : Functions
        Of the mechanism without them.
    active : dict from str to bool
        Whether each is switched on at the start.
    begun : dict from str to array
        Anchors of those that have begun somewhere.
    switches : tuple of Switch
    machine : StateMachine, optional
    given : dict from str to array
        What the constraints depend on besides, constant in a run.
    of_positions : tuple of bool, optional
        Which rows are about positions; by default the first ones of each constraint.
    """

    constraints: Constraints
    functions: Functions
    active: Mapping[str, bool]
    begun: Mapping[str, Array]
    switches: tuple[Switch, ...] = ()
    machine: StateMachine | None = None
    given: Mapping[str, Array] = field(default_factory=dict)
    of_positions: tuple[bool, ...] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without compiled functions, which a copy finds again."""
        return {name: value for name, value in vars(self).items() if name != "_called"}

    # -------------------------------------------------------------------------- what they are
    @property
    def names(self) -> tuple[str, ...]:
        return self.constraints.names

    @cached_property
    def owners(self) -> list[str]:
        """Of every row."""
        return [each.name for each in self.constraints.shapes for _ in range(each.rows)]

    @cached_property
    def positions(self) -> NDArray[np.bool_]:
        """Which rows keep a place: what slips beyond a limit sticks again wherever it is."""
        shapes = self.constraints.shapes
        flat = [k < each.positions for each in shapes for k in range(each.rows)]
        found = np.array(flat if self.of_positions is None else self.of_positions, bool)
        for limit in self.limits:
            found[limit.first : limit.first + limit.size] = False
        return found

    @cached_property
    def one_sided(self) -> dict[str, int]:
        """The row that only pushes, of those constraints that have one."""
        slices = self.constraints.row_slices
        return {e.name: slices[e.name].start for e in self.constraints.shapes if e.one_sided}

    @cached_property
    def restitution(self) -> dict[str, float]:
        return {each.name: each.restitution for each in self.constraints.shapes}

    @cached_property
    def limits(self) -> tuple[Limited, ...]:
        slices, found = self.constraints.row_slices, []
        for shape in self.constraints.shapes:
            begin = slices[shape.name].start
            for limit in shape.limits:
                of = -1 if limit.of is None else slices[limit.of[0]].start + limit.of[1]
                first, size = begin + limit.rows[0], len(limit.rows)
                found.append(Limited(shape.name, first, size, of, limit.static, limit.kinetic))
        return tuple(found)

    # ---------------------------------------------------------------------- what they say
    def rows(self, t: float, q: Array, u: Array, anchors: Array) -> Array:
        """(count, n + 2): coefficients of the speeds, bias and error of every row."""
        return self._call("constraint_rows", t=np.array([t]), q=q, u=u, anchors=anchors)

    def anchors(self, t: float, q: Array) -> Array:
        """Of constraints that begin at q."""
        if not self.constraints.anchors:
            return np.zeros(0)
        return self._call("constraint_anchors", t=np.array([t]), q=q)

    def _call(self, program: str, **given: Array) -> Array:
        if program not in self._called:
            declared, make, key = self.constraints.asked(program)
            function = self.functions.made(declared, make, key)
            self._called[program] = function, [each.name for each in declared.inputs]
        function, names = self._called[program]
        known = {**self.given, **given}
        return function(*(known[name] for name in names))

    @cached_property
    def _called(self) -> dict[str, tuple[Function, list[str]]]:
        return {}

    def rows_along(self, t: Array, q: Array, u: Array) -> Array:
        """The same of many states (K, …), for constraints that keep no anchors."""
        return self._call("constraint_rows", t=t[:, None], q=q, u=u)

    def drifts(self, t: float, q: Array, anchors: Array) -> Array:
        """(count,): what rows say of speeds that are zero, which is zero if nothing is driven."""
        if not self.constraints.drifts:
            return np.zeros(self.constraints.count)
        return self._call("constraint_drifts", t=np.array([t]), q=q, anchors=anchors)

    def address(self, program: str) -> int:
        """Of the rows or drifts, for compiled code."""
        return self.functions.code(*self.constraints.asked(program)).address("state")

    def anchors_at_start(self, q: Array) -> Array:
        found = np.array(self.anchors(0.0, q))
        for name, values in self.begun.items():
            found[self.constraints.anchor_slices[name]] = values
        return found

    def refuse_violation(self, q: Array, u: Array) -> None:
        """ArgumentError if a motion cannot begin here; it names the constraint."""
        anchors = self.anchors_at_start(q)
        said, drifts = self.rows(0.0, q, u, anchors), self.drifts(0.0, q, anchors)
        rows = [k for k, name in enumerate(self.owners) if self.active[name]]
        two_sided = [k for k in rows if k not in self.one_sided.values()]
        errors = np.where(self.positions, np.abs(said[:, -1]), 0.0)
        for row in self.one_sided.values():
            errors[row] = max(0.0, -said[row, -1])
        errors = np.where(np.isfinite(errors), errors, np.inf)[rows]
        if not errors.max(initial=0.0) <= BROKEN:
            k = int(errors.argmax())
            raise ArgumentError(
                f"simulate: q0 violates constraint {self.owners[rows[k]]!r} by {errors[k]:.3g}, "
                "expected one that satisfies it: assemble finds one"
            )
        limited = {e.first + k for e in self.limits for k in range(e.size)}
        held = [k for k in two_sided if k not in limited]
        off = unsatisfied(said[held, :-2], drifts[held], u)
        if not off.max(initial=0.0) <= BROKEN:
            # systems, that say which rows are of positions, assemble speeds as well
            finder = "assemble" if self.of_positions else "admissible_speeds"
            raise ArgumentError(
                f"simulate: u0 violates constraint {self.owners[held[int(off.argmax())]]!r}, "
                f"expected speeds that satisfy it: {finder} gives them"
            )


class Modes:
    """How every row and every limited force stands now; compiled code reads the same memory.

    Attributes
    ----------
    active : dict from str to bool
        Which constraints are switched on.
    closed : dict from str to bool
        Which of those that only push touch.
    holds, watched : array (count,) of int
        Whether a row holds, and what is watched of it.
    grip : array (L,) of int
        Whether a limited force sticks or slides.
    slipping : array (L,) of bool
        Whether what is at its limit slides, rather than being held by others.
    factors : array (L,)
        Force, or share of the pressing force, of friction at its limit.
    direction, aimed : array (L, 2)
        Of slip: where it went when it was last looked at, and goes.
    slack : array (count + L,)
        How far below zero event functions may be.
    marks : array (count + L,) of int8
        As they are recorded: of rows whether they hold or touch, of limits their grip.
    anchors : array
    """

    def __init__(self, named: Named) -> None:
        count, limits = named.constraints.count, len(named.limits)
        self.named = named
        self.active: dict[str, bool] = dict(named.active)
        self.closed = dict.fromkeys(named.one_sided, False)
        self.bearing = dict.fromkeys(named.one_sided, False)
        self.holds = np.zeros(count, np.int64)
        self.watched = np.zeros(count, np.int64)
        self.grip = np.zeros(limits, np.int64)
        self.slipping = np.zeros(limits, bool)
        self.factors = np.array([each.kinetic for each in named.limits])
        self.direction, self.aimed = np.zeros((limits, 2)), np.zeros((limits, 2))
        self.slack = np.zeros(count + limits)
        self.marks = np.zeros(count + limits, np.int8)
        self.anchors = np.zeros(named.constraints.anchors)
        self._two_sided = [
            (name, own)
            for name, own in named.constraints.row_slices.items()
            if name not in named.one_sided
        ]
        self.state = "" if named.machine is None else named.machine.start

    def slice_of(self, name: str) -> slice:
        return self.named.constraints.row_slices[name]

    def write(self) -> None:
        """Let rows hold that follow from which constraints there are, touch, stick and slide."""
        count = len(self.holds)
        self.holds[:] = 0
        for name, own in self._two_sided:
            if self.active[name]:
                self.holds[own] = 1
        if len(self.named.limits) or self.named.one_sided:
            self._write_loose()
        else:
            self.marks[:count] = self.holds

    def _write_loose(self) -> None:
        """The same of those that only push, or only up to a limit."""
        named = self.named
        self.watched[:] = UNWATCHED
        for name, one_sided in named.one_sided.items():
            if self.active[name] and self.bearing[name]:
                self.holds[one_sided], self.watched[one_sided] = 1, PUSHES
            elif self.active[name]:
                self.watched[one_sided] = OPEN
        for k, limit in enumerate(named.limits):
            acts = self.acts(k)
            self.grip[k] = self.grip[k] if acts else NO_GRIP
            self.holds[limit.first : limit.first + limit.size] = self.grip[k] == STICKS
        count = len(self.holds)
        self.marks[:count] = self.holds
        for name, row in named.one_sided.items():
            self.marks[row] = self.active[name] and self.closed[name]
        sticks = (self.grip == SLIDES) & ~self.slipping
        self.marks[count:] = np.where(sticks, STICKS, self.grip)

    def acts(self, k: int) -> bool:
        """Whether a limited force can act: its constraint is there, and pressed if it must be."""
        name = self.named.limits[k].name
        return self.active[name] and self.bearing.get(name, True)

    def all(self) -> dict[str, Any]:
        """Everything, to compare with later."""
        return {
            "active": dict(self.active),
            "closed": dict(self.closed),
            "grip": self.grip.copy(),
            "slipping": self.slipping.copy(),
            "direction": self.direction.copy(),
        }
