"""What a user switches in a simulation: constraints by name, at times, on conditions, by states."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.names import unknown_name
from kane_dynamics.simulation.status import InputFault

Condition = Callable[[float, Array, Array], Any]


@dataclass(frozen=True)
class Switch:
    """A constraint is switched on or off, once, at a time or on a condition.

    Parameters
    ----------
    name : str
        Of the constraint.
    on : bool
    at : float, optional
        Time, s.
    when : callable, optional
        Condition on ``(t, q, u)``: the switch works where it becomes true, or where the number that
        it returns becomes positive. It must depend on its arguments only.

    Examples
    --------
    >>> Switch("grasp", on=True, at=1.2).at
    1.2
    """

    name: str
    on: bool = True
    at: float | None = None
    when: Condition | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentError(f"Switch: name is {self.name!r}, expected that of a constraint")
        if not isinstance(self.on, bool):
            raise ArgumentError(f"Switch {self.name!r}: on is {self.on!r}, expected True or False")
        if (self.at is None) == (self.when is None):
            raise ArgumentError(f"Switch {self.name!r}: expected one of at and when")
        if self.when is not None and not callable(self.when):
            raise ArgumentError(
                f"Switch {self.name!r}: when is {self.when!r}, expected a function of (t, q, u)"
            )
        if self.at is not None:
            at = _number(self.at)
            if not at >= 0.0:
                raise ArgumentError(
                    f"Switch {self.name!r}: at is {self.at!r}, expected a time that is not negative"
                )
            object.__setattr__(self, "at", at)


class StateMachine:
    """Named states of a mechanism, such as those of a latch, and what leads from one to another.

    Parameters
    ----------
    start : str
        The state at t = 0.
    states : dict from str to dict from str to bool
        For every state which constraints it switches on or off; others stay as they are.
    transitions : sequence of (str, str, callable)
        From which state to which, and where: a condition as that of a `Switch`.

    Examples
    --------
    >>> latch = StateMachine(
    ...     "free",
    ...     states={"free": {"latch": False}, "caught": {"latch": True}},
    ...     transitions=[("free", "caught", lambda t, q, u: q[0] - 1.0)],
    ... )
    >>> latch.start
    'free'
    """

    def __init__(
        self,
        start: str,
        states: Mapping[str, Mapping[str, bool]],
        transitions: Sequence[tuple[str, str, Condition]],
    ) -> None:
        if not isinstance(states, Mapping) or not states:
            raise ArgumentError("StateMachine: states must be a dict from names of states")
        self.states = {}
        for state, switched in states.items():
            if not isinstance(state, str) or not state or not isinstance(switched, Mapping):
                raise ArgumentError(
                    f"StateMachine: state {state!r} is {switched!r}, expected a name, and a dict "
                    "from names of constraints to True or False"
                )
            for name, on in switched.items():
                if not isinstance(on, bool):
                    raise ArgumentError(
                        f"StateMachine: state {state!r} makes {name!r} {on!r}, expected True or "
                        "False"
                    )
            self.states[state] = dict(switched)
        self.start = self._known("start", start)
        found = []
        for each in transitions:
            try:
                begin, end, when = each
            except (TypeError, ValueError):
                raise ArgumentError(
                    f"StateMachine: transition {each!r}, expected (from, to, condition)"
                ) from None
            if not callable(when):
                raise ArgumentError(
                    f"StateMachine: the condition from {begin!r} to {end!r} is {when!r}, expected "
                    "a function of (t, q, u)"
                )
            found.append((self._known("transition", begin), self._known("transition", end), when))
        self.transitions = tuple(found)

    def _known(self, what: str, state: Any) -> str:
        if state not in self.states:
            said = unknown_name("state", str(state), self.states)
            raise ArgumentError(f"StateMachine: {what}: {said}")
        return str(state)


def checked_switches(given: Any, machine: Any, names: Sequence[str]) -> tuple[Switch, ...]:
    """The switches asked for; ArgumentError if one, or the machine, names no constraint."""
    if given is None:
        given = ()
    if isinstance(given, Switch):
        given = (given,)
    switches = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else None
    if switches is None or not all(isinstance(each, Switch) for each in switches):
        raise ArgumentError(f"switches is {given!r}, expected a list of kd.Switch")
    if machine is not None and not isinstance(machine, StateMachine):
        raise ArgumentError(f"machine is {machine!r}, expected a kd.StateMachine")
    used = {each.name for each in switches}
    if machine is not None:
        used |= {name for switched in machine.states.values() for name in switched}
    for name in sorted(used):
        if name not in names:
            raise ArgumentError(f"switches: {unknown_name('constraint', name, names)}")
    return switches


def value_of(condition: Condition, t: float, q: Array, u: Array) -> float:
    """What a condition says: positive where it is satisfied; InputFault if it fails."""
    try:
        said = condition(t, q.copy(), u.copy())
    except Exception as error:
        raise InputFault(f"a condition raised {type(error).__name__}: {error}") from error
    if isinstance(said, (bool, np.bool_)):
        return 1.0 if said else -1.0
    value = _number(said)
    if math.isnan(value):
        raise InputFault(f"a condition returned {said!r}, expected True, False or a number")
    return value


def _number(value: Any) -> float:
    try:
        return math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
