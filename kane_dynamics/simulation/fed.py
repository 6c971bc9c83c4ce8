"""What is fed to a mechanism at run time, other than torques at its speeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.equations import Equations
from kane_dynamics.simulation.history import Table, checked_array, constant, history
from kane_dynamics.simulation.inputs import (
    AskedTorque,
    Input,
    Instant,
    NoTorque,
    TorqueFunction,
    TorqueHistory,
)
from kane_dynamics.simulation.status import InputFault
from kane_dynamics.symbolic.graph import Expr

FED = "inputs"
"""The parameter of equations that is fed."""

Fed = ArrayLike | TorqueHistory | TorqueFunction | None


@dataclass(frozen=True, eq=False)
class FedValues(Input):
    """Inputs that are constant, or given over time."""

    given: ArrayLike | TorqueHistory
    fed: tuple[str, ...]
    feeds: ClassVar[str] = FED

    def table(self, equations: Equations) -> Table | None:
        count = len(self.fed)
        if isinstance(self.given, TorqueHistory):
            values = np.asarray(self.given.torques)
            if values.shape[1] != count:
                raise ArgumentError(
                    f"inputs: the history has {values.shape[1]} values at each time, expected "
                    f"{count}: {', '.join(self.fed)}"
                )
            times = np.asarray(self.given.times)
            return history(times, values, self.given.hold == "linear", early=True)
        values = checked_array("simulate", "inputs", self.given)
        if values.shape != (count,):
            raise ArgumentError(
                f"inputs must be {count} numbers ({', '.join(self.fed)}), a TorqueHistory or a "
                f"function of (t, q, u), got shape {values.shape}"
            )
        return constant(values)

    @classmethod
    def forces(cls, equations: Equations, at: Instant) -> list[Expr]:
        """No torques besides what the inputs do within the equations."""
        return [at.given.graph.zero] * len(equations.speed_names)


@dataclass(frozen=True, eq=False)
class FedFunction(AskedTorque):
    """Inputs from a function of the user."""

    fed: tuple[str, ...]
    feeds: ClassVar[str] = FED

    def names(self, equations: Equations) -> tuple[str, ...]:
        return self.fed

    def ask(self, t: float, q: Array, u: Array, names: Sequence[str]) -> Array:
        try:
            return super().ask(t, q, u, names)
        except InputFault as fault:
            raise InputFault(str(fault).replace("torque(", "inputs(", 1)) from fault.__cause__

    @classmethod
    def forces(cls, equations: Equations, at: Instant) -> list[Expr]:
        return FedValues.forces(equations, at)


def fed_input(given: Fed, names: Sequence[str]) -> FedValues | FedFunction | NoTorque:
    """What a user gave as inputs; nothing where there are none to give."""
    fed = tuple(names)
    if not fed:
        if given is not None and np.size(given):  # type: ignore[arg-type]
            raise ArgumentError("inputs are given, but the system has none")
        return NoTorque()
    if given is None:
        raise ArgumentError(f"inputs is missing, expected values of {', '.join(fed)}")
    if callable(given) and not isinstance(given, TorqueHistory):
        return FedFunction(given, fed)
    return FedValues(given, fed)


def fed_at(source: FedValues | FedFunction, t: Array, q: Array, u: Array) -> Array:
    """The inputs at every state of a motion, (K, m)."""
    if isinstance(source, FedFunction):
        rows = [source.ask(float(a), b, c, source.fed) for a, b, c in zip(t, q, u)]
    else:
        table = source.table(None)  # type: ignore[arg-type]
        assert table is not None
        rows = [table.at(float(each), float(each)) for each in t]
    return np.reshape(rows, (len(t), len(source.fed)))
