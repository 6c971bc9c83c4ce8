"""What happens to constraints by name in a motion: events, and how constraints stood over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.names import unknown_name
from kane_dynamics.simulation.named import STICKS, Named

KINDS = ("contact", "release", "slip", "stick", "reversal", "on", "off", "state", "undecided")


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happened to a constraint.

    Attributes
    ----------
    t : float
        Time, s.
    kind : str
        ``"contact"``: it closed; ``"release"``: it no longer pushes; ``"slip"``: the limit of its
        friction is reached; ``"stick"``: its relative speed has vanished; ``"reversal"``: it has,
        and slip goes on in another direction; ``"on"`` and ``"off"``: it was switched;
        ``"state"``: the state machine has another state; ``"undecided"``: no way of touching,
        sticking and sliding was found that agrees with the forces that follow from it, and the
        motion goes on as was found last.
    constraint : str
        Its name; empty for a state machine.
    impulse : array (rows,)
        Of its rows, N s or N m s; zeros where speeds do not jump.
    energy_lost : float
        By its impulse, J; the sum over all events of one instant is what the mechanism loses.
    state : str
        The new state of the state machine, else empty.
    """

    t: float
    kind: str
    constraint: str
    impulse: Array = field(default_factory=lambda: np.zeros(0))
    energy_lost: float = 0.0
    state: str = ""


@dataclass(frozen=True, eq=False)
class History:
    """How constraints by name stood at K times.

    Attributes
    ----------
    named : Named
    events : tuple of Event
    forces : array (K, count)
        Of all rows.
    marks : array (K, count + L)
        As in `Modes`.
    t : array (K,)
    """

    named: Named
    events: tuple[Event, ...]
    forces: Array
    marks: NDArray[np.int8]
    t: Array

    def active(self, name: str) -> NDArray[np.bool_]:
        """Whether a constraint held, or touched."""
        own = self._rows(name)
        limits = self._limits(name)
        held = self.marks[:, own].any(axis=1)
        return np.asarray(held | self.marks[:, limits].any(axis=1))

    def sticking(self, name: str) -> NDArray[np.bool_]:
        """Whether it held, and did not slip."""
        limits = self._limits(name)
        return np.asarray(self.active(name) & (self.marks[:, limits] == STICKS).all(axis=1))

    @cached_property
    def by_name(self) -> dict[str, Array]:
        """Forces of the rows of each constraint."""
        slices = self.named.constraints.row_slices
        return {name: self.forces[:, own] for name, own in slices.items()}

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Of the state machine; none without one."""
        machine = self.named.machine
        if machine is None:
            return ()
        changes = [each for each in self.events if each.kind == "state"]
        return tuple(_state_at(t, machine.start, changes) for t in self.t.tolist())

    def _rows(self, name: str) -> slice:
        slices = self.named.constraints.row_slices
        if name not in slices:
            raise unknown_name("constraint", name, list(slices))
        return slices[name]

    def _limits(self, name: str) -> list[int]:
        count = self.named.constraints.count
        return [count + k for k, each in enumerate(self.named.limits) if each.name == name]


def _state_at(t: float, start: str, changes: Sequence[Event]) -> str:
    before = [each.state for each in changes if each.t <= t]
    return before[-1] if before else start
