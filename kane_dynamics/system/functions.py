"""Functions of states of a system: what is computed, whatever it is asked for."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array, real_array
from kane_dynamics.codegen.arguments import prepare
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.errors import ArgumentError, SingularError
from kane_dynamics.kane.general.equations import GeneralEquations, symbol_name
from kane_dynamics.kane.general.model import Model
from kane_dynamics.kane.general.partial import PartialVelocities, partial_velocities
from kane_dynamics.kane.general.reading import Reading
from kane_dynamics.quantities import Energy, Momentum
from kane_dynamics.simulation.rates import evaluated
from kane_dynamics.symbolic.program import Input, Operations, Signature
from kane_dynamics.symbolic.sympy import sympy_equations
from kane_dynamics.system.analysis import (
    dependent_rows,
    linear_terms,
    momentum_terms,
    static_terms,
)
from kane_dynamics.system.arguments import Constants
from kane_dynamics.system.held import Said, SystemConstraints
from kane_dynamics.system.programs import Programs

FAR = 1e12
"""What `Embedding.excess` may be, before other independent speeds are chosen."""


class UnknownForces(dict[str, Any]):
    """Forces by their names; their symbols do as well."""

    def __missing__(self, symbol: Any) -> Any:
        if isinstance(symbol, str):
            raise KeyError(symbol)
        return self[symbol_name(symbol)]


class StateFunctions:
    """The functions of `System` that take a state."""

    _model: Model
    _potential: Any

    def _formal_programs(self) -> dict[str, Any]:
        equations, n = self._equations, len(self.speed_names)
        embedding = equations.embedding
        p, m = len(embedding.independent), len(self._reading.unknown)
        found: dict[str, Any] = {
            name: (shape, partial(embedding.formal, name))
            for name, shape in {
                "rhs": (self.nq + n,),
                "udot": (n,),
                "mass_matrix": (p, p),
                "bias": (p,),
                "forces": (m,),
            }.items()
        }
        states = self.nq + p
        rows = states + len(dependent_rows(equations))
        errors = sum(row.error is not None for e in self._reading.constraints for row in e.rows)
        more: dict[str, tuple[tuple[int, ...], Any]] = {
            "linear_terms": ((rows, states + len(self._reading.fed)), linear_terms),
            "static_terms": ((p + errors, self.nq + 1), static_terms),
            "momentum": ((6,), momentum_terms),
        }
        found.update({key: (size, partial(make, equations)) for key, (size, make) in more.items()})
        found["rhs_checked"] = (self.nq + n + 1,), self._checked_rhs
        found["choice"] = (1,), lambda: [embedding.excess]
        found["energy"] = (2,), partial(equations.formal, "energy")
        found["speeds"] = (n,), lambda: embedding.speeds
        return found

    def _form(
        self, values: dict[Any, float], late: Any, fed: Any, like: Functions | None, **options: Any
    ) -> None:
        """Read the whole model, so that what is wrong is said now; nothing is compiled yet."""
        if like is not None:
            options = {"backend": like.backend, "cache": like.cache}
        self._late, self._fed = late, fed
        self._constants = Constants(values, late)
        folded = {key: value for key, value in values.items() if key not in late}
        self._reading = Reading(self._model, folded, late, fed)
        self._equations = GeneralEquations("system", self._reading, self._potential)
        _ = self._equations.formulations
        self._functions = Functions(self._equations, **options)
        self._held = SystemConstraints(self._functions)
        self._programs = Programs(self._functions, self._formal_programs())
        self.input_names = tuple(map(symbol_name, fed))

    def _checked_rhs(self) -> list[Any]:
        """How badly dependent speeds follow from the others, and the right-hand side."""
        embedding = self._equations.embedding
        return [embedding.excess, *embedding.formal("rhs")]

    # ------------------------------------------------------------------------------ what it is
    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """A name for every entry of q."""
        return self._equations.coordinate_names

    @property
    def speed_names(self) -> tuple[str, ...]:
        """A name for every entry of u."""
        return self._equations.speed_names

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinate_names)

    @property
    def dof(self) -> int:
        """Number of speeds, dependent ones included."""
        return len(self.speed_names)

    @property
    def constants(self) -> Constants:
        """Constants by their symbols."""
        return self._constants

    @property
    def parameters(self) -> tuple[Array, ...]:
        """Adjustable constants, as programs take them after their own inputs."""
        return (self._constants.array,) if len(self._constants.array) else ()

    # ------------------------------------------------------------------------------- functions
    def rhs(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> Array:
        """Rates of all coordinates and speeds, (nq + dof,) or (N, nq + dof).

        Parameters
        ----------
        t : float or array (N,)
        x : array (nq + dof,) or (N, nq + dof)
            Coordinates, then speeds.
        inputs : array (m,) or (N, m)
        """
        if not self._held:
            return self._call("rhs", t, x, inputs)
        try:
            found = self._call("rhs_checked", t, x, inputs)
        except SingularError:
            return self._recombined(t, x, inputs)
        if found.ndim == 1:  # one state, without the price of calls that batches need
            return found[1:] if found[0] < FAR else self._recombined(t, x, inputs)
        if not (found[:, 0] < FAR).all():
            return self._recombined(t, x, inputs)
        return found[:, 1:]

    def mass_matrix(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> Array:
        """M of M u̇ + bias = 0 for the independent speeds, (p, p) or (N, p, p)."""
        return self._chosen("mass_matrix", t, x, inputs)

    def bias(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> Array:
        """All terms of the dynamical equations without u̇, loads included, (p,) or (N, p)."""
        return self._chosen("bias", t, x, inputs)

    def energy(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> Energy:
        """Kinetic energy, and the potential energy that was given."""
        both = self._call("energy", t, x, inputs)
        return Energy(both[..., 0][()], both[..., 1][()])

    def momentum(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> Momentum:
        """Linear momentum, and angular momentum about a fixed point, in the inertial frame.

        The point is one of the model whose velocity is stated as zero, the nearest to the first
        body.
        """
        both = self._call("momentum", t, x, inputs)
        return Momentum(both[..., :3], both[..., 3:])

    def forces(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> UnknownForces:
        """The unknown forces in the loads, by name: numbers, or arrays (N,) for a batch.

        They are those that auxiliary speeds bring into evidence.
        """
        names = [symbol_name(each) for each in self._reading.unknown]
        if not names:
            return UnknownForces()
        found = self._chosen("forces", t, x, inputs)
        return UnknownForces((name, found[..., k][()]) for k, name in enumerate(names))

    def constraint_forces(
        self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()
    ) -> dict[str, Array]:
        """What each constraint exerts along its rows, by name: (rows,) or (N, rows) each.

        The generalized forces of a constraint are its coefficients of the speeds times these.
        Where constraints are redundant, those of least norm.
        """
        M, bias, said = self._unconstrained("constraint_forces", t, x, inputs)
        udot = self._held.accelerations(M, bias, said)
        return self._held.forces(M, bias, udot, said)

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of constraints, rows of which follow from others and have been left out."""
        return tuple(self._reading.redundant)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints: those of the model are numbered."""
        return self._held.rows.names

    @property
    def independent_speeds(self) -> tuple[str, ...]:
        """Names of the speeds from which the compiled equations find all others."""
        names, chosen = self.speed_names, self._equations.embedding.independent
        return tuple(names[k] for k in chosen)

    def partial_velocities(self) -> PartialVelocities:
        """The vector that belongs to each speed, for every point and frame that matters."""
        return partial_velocities(self._reading.model)

    # ----------------------------------------------------------------- equations to be looked at
    def operations(self, name: str) -> Operations:
        """Exact count of arithmetic operations of a function."""
        return self._programs.program(name).operations

    def source(self, name: str, language: str = "c") -> str:
        """Equations as ``"c"``, ``"python"`` or ``"latex"``."""
        return self._programs.source(name, language)

    def equations(self, name: str) -> tuple[list[tuple[Any, Any]], list[Any]]:
        """Equations as SymPy expressions, in the form of `sympy.cse`."""
        return sympy_equations(self._programs.program(name))

    # ------------------------------------------------------------------------ what these need
    def _given(self, name: str, t: ArrayLike, x: ArrayLike, inputs: ArrayLike) -> dict[str, Array]:
        """A state as inputs of programs of the contract."""
        state = real_array(f"{name}: x", x)
        if state.shape[-1:] != (self.nq + self.dof,):
            raise ArgumentError(
                f"{name}: x must have shape ({self.nq + self.dof},) or (N, {self.nq + self.dof}), "
                f"got {state.shape}"
            )
        given = {"t": _times(name, t), "q": state[..., : self.nq], "u": state[..., self.nq :]}
        given["constants"] = self._constants.array
        given["inputs"] = real_array(f"{name}: inputs", inputs)
        return given

    def _unconstrained(
        self, name: str, t: ArrayLike, x: ArrayLike, inputs: ArrayLike
    ) -> tuple[Array, Array, Said]:
        """Mass matrix and bias of all speeds, and what constraints say, for as many states each."""
        given = self._given(name, t, x, inputs)
        M = evaluated(self._functions, "mass_matrix", **given)
        bias, said = evaluated(self._functions, "bias", **given), self._held.said(given)
        rows = (said.A, 2), (said.bias, 1), (said.errors, 1)
        M, bias, A, b, errors = _together((M, 2), (bias, 1), *rows)
        return M, bias, Said(A, b, errors, said.names, said.positions)

    def _recombined(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike) -> Array:
        """The right-hand side where the compiled choice of independent speeds is singular."""
        M, bias, said = self._unconstrained("rhs", t, x, inputs)
        qdot = evaluated(self._functions, "coordinate_rates", **self._given("rhs", t, x, inputs))
        return np.concatenate([qdot, self._held.accelerations(M, bias, said)], axis=-1)

    def _chosen(self, name: str, t: ArrayLike, x: ArrayLike, inputs: ArrayLike) -> Array:
        """A function of the speeds that were chosen as independent, where they can be."""
        if self._held and not self._determined(t, x, inputs):
            shown = "linearize" if name == "linear_terms" else name
            raise SingularError(
                f"{shown}: in this state the other speeds do not follow from the independent ones "
                f"({', '.join(self.independent_speeds)}), expected other dependent speeds in the "
                "model"
            )
        return self._call(name, t, x, inputs)

    def _determined(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike) -> bool:
        """Whether the dependent speeds follow from those that were chosen as independent."""
        try:
            return bool((self._call("choice", t, x, inputs) < FAR).all())
        except SingularError:
            return False

    def _call(self, name: str, t: ArrayLike, x: ArrayLike, inputs: ArrayLike) -> Array:
        given: list[Any] = []
        if self._equations.timed:
            given.append(_times(name, t))
        elif not isinstance(t, (int, float)):
            x = _as_many(name, _times(name, t), x)
        given += [x, *self.parameters]
        if self.input_names:
            given.append(inputs)
        elif np.size(inputs):
            raise ArgumentError(f"{name}: inputs are given, but the system has none")
        return self._programs.function(name)(*given)


def _together(*arrays: tuple[Array, int]) -> list[Array]:
    """Arrays for as many states each, given how many axes of each belong to one state."""
    states = np.broadcast_shapes(*(a.shape[: a.ndim - own] for a, own in arrays))
    return [np.broadcast_to(a, (*states, *a.shape[a.ndim - own :])) for a, own in arrays]


def one_state(function: str, name: str, value: ArrayLike, size: int) -> Array:
    """An argument (size,), checked as compiled functions do."""
    (array,) = prepare(Signature(function, (Input(name, size),), ()), [value], {})
    if array.ndim != 1:
        raise ArgumentError(f"{function}: {name} must have shape ({size},), got {array.shape}")
    return array


def _as_many(name: str, times: Array, x: ArrayLike) -> ArrayLike:
    """States for as many times, which the equations do not contain."""
    if times.ndim == 1:
        return x
    state = real_array(f"{name}: x", x)
    if state.ndim == 1:
        return np.broadcast_to(state, (len(times), len(state)))
    if len(state) != len(times):
        raise ArgumentError(f"{name}: t has {len(times)} entries, but x has {len(state)} states")
    return x


def _times(name: str, t: ArrayLike) -> Array:
    array = real_array(f"{name}: t", t)
    if array.ndim > 1:
        raise ArgumentError(f"{name}: t must be a number or have shape (N,), got {array.shape}")
    return array[..., None]
