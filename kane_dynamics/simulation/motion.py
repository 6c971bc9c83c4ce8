"""A recorded motion, and what can be done with it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.errors import ArgumentError
from kane_dynamics.simulation.checks import Checks, checks_of
from kane_dynamics.simulation.events import Event, History
from kane_dynamics.simulation.plot import plot
from kane_dynamics.simulation.rates import evaluated
from kane_dynamics.simulation.table import structured, write_csv


@dataclass(frozen=True, eq=False, repr=False)
class Motion:
    """A simulated motion: K states at times t.

    Attributes
    ----------
    t : array (K,)
        Time, s.
    q : array (K, nq)
        Coordinates, rad and m.
    u, udot : array (K, dof)
        Speeds and accelerations.
    tau : array (K, dof)
        Torques (N m) and forces (N) of the input: of a history, a function or a controller.
    other_forces : array (K, dof)
        Generalized forces of dry friction, wrenches and stops. Inverse dynamics of the motion,
        without dry friction, is ``tau + other_forces``.
    work : array (K,)
        Work since the start of tau and the other forces, less what damping has taken, and of what
        moves a mechanism as prescribed in time, J. It is the change of ``kinetic + potential``.
    kinetic, potential : array (K,)
        Energies, J.
    completed : bool
        Whether the whole duration was simulated. If not, the motion ends at the last good state.
    message : str
        Why it ended early, or what else to know about the motion; often empty.
    coordinate_names, speed_names : tuple of str
        What the columns of q, and of u, udot and tau belong to.
    """

    t: Array
    q: Array
    u: Array
    udot: Array
    tau: Array
    other_forces: Array
    work: Array
    kinetic: Array
    potential: Array
    completed: bool
    message: str
    coordinate_names: tuple[str, ...]
    speed_names: tuple[str, ...]
    _functions: Functions = field(repr=False)
    _parameters: tuple[Array, ...] = field(repr=False)
    _local_error: float = field(repr=False)
    _global_error: float | None = field(repr=False, default=None)
    _balanced: bool = field(repr=False, default=True)
    _history: History | None = field(repr=False, default=None)

    def __repr__(self) -> str:
        said = f": {self.message}" if self.message else ""
        whole = "completed" if self.completed else "ended early"
        return f"<Motion of {len(self)} states to t = {self.t[-1]:g} s, {whole}{said}>"

    def __len__(self) -> int:
        return len(self.t)

    @cached_property
    def checks(self) -> Checks:
        """How far the motion can be trusted; computed when it is first asked for."""
        return checks_of(self, self._local_error, self._global_error)

    # ------------------------------------------------------------------------ constraints by name
    @property
    def events(self) -> tuple[Event, ...]:
        """What happened to constraints, in the order of time."""
        return () if self._history is None else self._history.events

    @property
    def constraint_forces(self) -> dict[str, Array]:
        """What each constraint exerted, by name: (K, rows), zero where it did not hold.

        Friction is there while it slides, too. Where constraints are redundant, forces are those
        of least norm.
        """
        return {} if self._history is None else self._history.by_name

    @property
    def states(self) -> tuple[str, ...]:
        """States of the state machine, one for each time; none without one."""
        return () if self._history is None else self._history.states

    def active(self, name: str) -> NDArray[np.bool_]:
        """Whether a constraint held, and a contact was closed, (K,)."""
        return self._constrained().active(name)

    def sticking(self, name: str) -> NDArray[np.bool_]:
        """Whether it held and did not slip, (K,)."""
        return self._constrained().sticking(name)

    def _constrained(self) -> History:
        if self._history is None:
            raise ArgumentError("there are no constraints in this motion")
        return self._history

    # ------------------------------------------------------------------------------- what follows
    def given(self, states: slice | int = slice(None)) -> dict[str, Array]:
        """States as inputs of the functions of the mechanism."""
        names = (each.name for each in self._functions.equations.parameters)
        late = zip(names, (each[states] if each.ndim > 1 else each for each in self._parameters))
        named = {"t": self.t[:, None], "q": self.q, "u": self.u, "udot": self.udot}
        return {**{name: values[states] for name, values in named.items()}, **dict(late)}

    def evaluated(self, name: str) -> Array:
        """A function of the mechanism, without dry friction, at every state."""
        return evaluated(self._functions, name, **self.given())

    def to_array(self) -> NDArray[Any]:
        """The motion as a structured array (K,).

        Its columns are ``t``, then ``q_``, ``u_``, ``udot_`` and ``tau_`` with the names of
        coordinates and speeds, then ``kinetic`` and ``potential``.
        """
        return structured(self)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the columns of `to_array` as CSV with a head line; every digit is kept."""
        write_csv(self, path)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw positions, speeds, torques and energies into a file (.png, .pdf, .svg…).

        Raises
        ------
        KaneDynamicsError
            If matplotlib is not installed.
        """
        plot(self, path)
