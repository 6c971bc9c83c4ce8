"""What holds in a system: rows of its constraints as numbers, assembly, forces, other choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.constraints import Asked
from kane_dynamics.kane.equations import Given
from kane_dynamics.kane.general.constraints import GeneralConstraints
from kane_dynamics.kane.general.equations import GeneralEquations
from kane_dynamics.kane.recombination import (
    SATISFIED,
    Recombination,
    ranks_of,
    recombination,
    unsatisfied,
)
from kane_dynamics.simulation.named import Named
from kane_dynamics.symbolic.derivative import derivatives
from kane_dynamics.symbolic.graph import Graph
from kane_dynamics.symbolic.program import Program, Signature

ASSEMBLED = 1e-10
"""Error that is left at most."""

ITERATIONS = 200
LONGEST = 0.5
"""Step in rad or m, beyond which Newton's is shortened."""

WEAK = 1e-7
"""Share of the strongest direction below which steps do not go."""


@dataclass(frozen=True)
class Said:
    """What constraints say about states: A u = 0, A u̇ + bias = 0, and no errors of positions."""

    A: Array
    bias: Array
    errors: Array
    names: tuple[str, ...]
    positions: NDArray[np.bool_]


class SystemConstraints:
    """The constraints of a system at states.

    Parameters
    ----------
    functions : Functions
        Of the equations without them.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        equations = functions.equations
        assert isinstance(equations, GeneralEquations)
        self.rows = GeneralConstraints(equations)
        held = equations.reading.constraints
        self.names = tuple(each.name for each in held for _ in each.rows)
        self.positions = np.array(
            [row.error is not None for each in held for row in each.rows], np.bool_
        )

    def __bool__(self) -> bool:
        return bool(self.names)

    # ---------------------------------------------------------------------------------- numbers
    def said(self, given: dict[str, Array]) -> Said:
        """What constraints say about states."""
        whole = self._evaluated(self.rows.asked("constraint_rows"), given)
        return Said(whole[..., :-2], whole[..., -2], whole[..., -1], self.names, self.positions)

    def velocities(self, given: dict[str, Array]) -> Array:
        """What rows should keep at zero."""
        return self._evaluated(self._asked("constraint_velocities"), given)

    def _evaluated(self, asked: Asked, given: dict[str, Array]) -> Array:
        declared, make, key = asked
        function = self._functions.made(declared, make, key, declared.name)
        return np.asarray(function(*(given[each.name] for each in declared.inputs)))

    def _asked(self, name: str) -> Asked:
        """Velocities of all rows, or errors with their derivatives by coordinates."""
        count, nq = self.rows.count, len(self.rows.equations.coordinate_names)
        shape = (count,) if name == "constraint_velocities" else (count, nq + 1)
        declared = Signature(name, self.rows.inputs("q", "u"), shape)
        return declared, partial(self._program, declared), self.rows.key

    def _program(self, declared: Signature) -> Program:
        graph = Graph()
        inputs = {each.name: graph.inputs(each.name, each.size) for each in declared.inputs}
        rows = self.rows.rows(Given(graph, inputs))
        if declared.name == "constraint_velocities":
            return Program(declared, tuple(row.velocity for row in rows))
        errors = [graph.zero if row.error is None else row.error for row in rows]
        slopes = derivatives(graph, errors, inputs["q"])
        flat = [each for row, error in zip(slopes, errors) for each in (*row, error)]
        return Program(declared, tuple(flat))

    # ----------------------------------------------------------------------------- accelerations
    def accelerations(self, M: Array, bias: Array, said: Said) -> Array:
        """All accelerations, whichever speeds are independent."""
        udot = np.zeros(bias.shape)
        for where, own in groups(said.A, np.diagonal(M, axis1=-2, axis2=-1)):
            udot[where] = own.accelerations(M[where], -bias[where], said.bias[where])
        off = unsatisfied(said.A, said.bias, udot)
        if not off.max(initial=0.0) <= SATISFIED:
            k = int(off.reshape(-1, off.shape[-1]).max(axis=0).argmax())
            raise ArgumentError(
                f"constraint {self.names[k]!r} contradicts others in this state: no accelerations "
                "satisfy them all"
            )
        return udot

    def forces(self, M: Array, bias: Array, udot: Array, said: Said) -> dict[str, Array]:
        """What each constraint exerts along its rows."""
        generalized = (M @ udot[..., None])[..., 0] + bias
        found = np.zeros(said.bias.shape)
        for where, own in groups(said.A, np.diagonal(M, axis1=-2, axis2=-1)):
            found[where] = own.forces(generalized[where])
        return {
            name: found[..., [k for k, owner in enumerate(self.names) if owner == name]]
            for name in dict.fromkeys(self.names)
        }

    # ---------------------------------------------------------------------------------- assembly
    def assembled(self, given: dict[str, Array], free: Sequence[int]) -> Array:
        """Coordinates near given ones that satisfy the constraints, by shortened Newton steps."""
        q = np.array(given["q"])
        if not self.positions.any():
            return q
        asked = self._asked("constraint_slopes")
        columns, size = list(free), np.inf
        for _ in range(ITERATIONS):
            whole = self._evaluated(asked, {**given, "q": q})[self.positions]
            errors = whole[:, -1]
            size = float(np.linalg.norm(errors))
            step = np.zeros(len(q))
            if columns:
                step[columns] = -np.linalg.pinv(whole[:, columns], rcond=WEAK) @ errors
            share = min(1.0, LONGEST / max(float(np.abs(step).max(initial=0.0)), 1e-300))
            while share > 1e-6:
                trial = q + share * step
                after = self._evaluated(asked, {**given, "q": trial})[self.positions][:, -1]
                if float(np.linalg.norm(after)) < size:
                    break
                share /= 2
            else:
                break
            q = np.asarray(trial, np.float64)
        if not size <= ASSEMBLED:
            names = [n for n, is_position in zip(self.names, self.positions) if is_position]
            worst = names[int(np.abs(errors).argmax())]
            raise ArgumentError(
                f"constraint {worst!r} cannot be assembled from here: it is off by "
                f"{np.abs(errors).max():.3g} at best, expected another q, or fewer that are fixed"
            )
        return q

    def moved(self, given: dict[str, Array], inertia: Array, free: Sequence[int]) -> Array:
        """Speeds near given ones that satisfy the constraints."""
        u, columns = np.array(given["u"]), list(free)
        for _ in range(2):
            A = self.said({**given, "u": u}).A
            left = self.velocities({**given, "u": u})
            scale = 1.0 / np.sqrt(np.where(inertia > 0.0, inertia, 1.0))[columns]
            u[columns] -= scale * (np.linalg.pinv(A[:, columns] * scale, rcond=1e-10) @ left)
        left = self.velocities({**given, "u": u})
        terms = np.abs(A) @ np.abs(u) + np.abs(left - A @ u)
        off = np.abs(left) / np.maximum(terms, 1e-3)
        if not off.max(initial=0.0) <= SATISFIED:
            raise ArgumentError(
                f"constraint {self.names[int(off.argmax())]!r} cannot be satisfied by the speeds "
                "that are free, expected fewer that are fixed"
            )
        return u

    def named(self, given: dict[str, Array]) -> Named:
        """For a simulation."""
        equations = self.rows.equations
        late = {each.name: given[each.name] for each in equations.parameters}
        active = dict.fromkeys(self.rows.names, True)
        return Named(
            constraints=self.rows,
            functions=self._functions,
            active=active,
            begun={},
            given=late,
            of_positions=tuple(self.positions.tolist()),
        )


def groups(A: Array, inertia: Array) -> list[tuple[Any, Recombination]]:
    """States with as many independent speeds, and how their equations are recombined."""
    if A.ndim == 2:
        return [((), recombination(A, inertia))]
    ranks = ranks_of(A, inertia)
    chosen = [np.flatnonzero(ranks == rank) for rank in np.unique(ranks)]
    return [(where, recombination(A[where], inertia[where])) for where in chosen]
