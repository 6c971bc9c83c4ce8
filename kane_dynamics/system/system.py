"""`System`: the equations of a mechanism modelled in SymPy, arrays in and arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array, real_array
from kane_dynamics.codegen import Backend, CacheChoice
from kane_dynamics.codegen.arguments import prepare
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.errors import ArgumentError, SingularError
from kane_dynamics.kane.general.equations import GeneralEquations, symbol_name
from kane_dynamics.kane.general.model import Model, model_of_kane, model_of_system
from kane_dynamics.kane.general.partial import PartialVelocities, partial_velocities
from kane_dynamics.kane.general.reading import Reading
from kane_dynamics.kane.general.speeds import body_by_body
from kane_dynamics.kane.linearize import Linearization
from kane_dynamics.kane.speeds import ReducedSpeeds
from kane_dynamics.names import unknown_name
from kane_dynamics.quantities import Energy, Momentum
from kane_dynamics.simulation.holding import Holding, Said
from kane_dynamics.simulation.rates import evaluated
from kane_dynamics.symbolic.program import Input, Operations, Signature
from kane_dynamics.symbolic.sympy import sympy_equations
from kane_dynamics.system.analysis import (
    balanced,
    dependent_rows,
    linear_terms,
    linearization,
    momentum_terms,
    static_terms,
)
from kane_dynamics.system.arguments import (
    Constants,
    checked_constants,
    checked_symbols,
    refuse_doubles,
)
from kane_dynamics.system.held import SystemConstraints
from kane_dynamics.system.programs import Programs

if TYPE_CHECKING:
    from kane_dynamics.simulation.fed import Fed
    from kane_dynamics.simulation.motion import Motion
    from kane_dynamics.simulation.request import Method
    from kane_dynamics.simulation.watch import Cancel, ProgressChoice

FAR = 1e12
"""Square of what dependent speeds may exceed the others by, before others are chosen."""


class System:
    """Equations of motion of a mechanism modelled in `sympy.physics.mechanics`.

    The state is x = (q, u): all coordinates in the order of the model, then all speeds,
    independent ones first. Every function takes one state or a batch (N, …) for each argument, and
    returns the same rank. Nothing is expanded: orientations, positions and velocities are taken
    as the model states them, and all that follows is derived in a graph of shared expressions.

    Parameters
    ----------
    kane : KanesMethod or System of SymPy
        Configured; its equations need not be formed.
    bodies, loads : list
        As for ``kane.kanes_equations``; a System of SymPy brings its own.
    constants : dict from symbol to number
        Folded into the equations.
    inputs : list of symbol
        Symbols and functions of time that are given at run time, in this order.
    constraints : dict from str to expression, or list of expressions
        Further constraints by name: what is zero.
    adjustable : list of symbol
        Constants that can be given other values later, by ``system.constants[symbol] = value``.
    potential : expression, optional
        Potential energy of loads, for `energy`.
    backend, cache
        As in `kane_dynamics.load`.

    Examples
    --------
    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import *
    >>> q, u, F = dynamicsymbols("q u F")
    >>> N, O, m, k = ReferenceFrame("N"), Point("O"), *symbols("m k")
    >>> O.set_vel(N, 0)
    >>> P = O.locatenew("P", q * N.x)
    >>> P.set_vel(N, u * N.x)
    >>> kane = KanesMethod(N, [q], [u], kd_eqs=[q.diff() - u])
    >>> loads = [(P, (F - k * q) * N.x)]
    >>> system = System(kane, [Particle("B", P, m)], loads, {m: 2.0, k: 8.0}, inputs=[F])
    >>> system.rhs(0.0, [1.0, 0.5], [2.0])
    array([ 0.5, -3. ])
    """

    def __init__(
        self,
        kane: Any,
        bodies: Any = None,
        loads: Any = None,
        constants: Mapping[Any, Any] | None = None,
        inputs: Any = (),
        constraints: Mapping[str, Any] | None = None,
        adjustable: Any = (),
        potential: Any = None,
        backend: Backend = "auto",
        cache: CacheChoice = True,
    ) -> None:
        model = _model(kane, bodies, loads, constraints)
        values = checked_constants({} if constants is None else constants)
        late = checked_symbols("adjustable", adjustable)
        fed = checked_symbols("inputs", inputs)
        for each in late:
            if each not in values:
                raise ArgumentError(f"adjustable: {each} has no value in constants")
        refuse_doubles(
            {
                "a coordinate": model.q,
                "a speed": (*model.u, *model.auxiliary),
                "a constant": tuple(values),
                "an input": fed,
            }
        )
        self._model, self._potential = model, potential
        self._form(values, late, fed, None, backend=backend, cache=cache)

    def __repr__(self) -> str:
        q, u = ", ".join(self.coordinate_names), ", ".join(self.speed_names)
        return f"<System: coordinates {q}; speeds {u}>"

    def _formal_programs(self) -> dict[str, Any]:
        equations, n = self._equations, len(self.speed_names)
        embedding = equations.embedding
        p, m = len(embedding.independent), len(self._reading.unknown)
        found: dict[str, Any] = {
            name: (shape, partial(embedding.formal, name))
            for name, shape in {
                "rhs": (self.nq + n,),
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
        found["energy"] = (2,), partial(equations.formal, "energy")
        found["speeds"] = (n,), lambda: embedding.speeds
        return found

    def _with_model(self, model: Model) -> System:
        """The same with another reading of the model."""
        other = object.__new__(System)
        other._model, other._potential = model, self._potential
        other._form(dict(self._constants), self._late, self._fed, self._functions)
        return other

    def _form(
        self, values: dict[Any, float], late: Any, fed: Any, like: Functions | None, **options: Any
    ) -> None:
        """Read the model; nothing is compiled before it is needed."""
        if like is not None:
            options = {"backend": like.backend, "cache": like.cache}
        self._late, self._fed = late, fed
        self._constants = Constants(values, late)
        folded = {key: value for key, value in values.items() if key not in late}
        self._reading = Reading(self._model, folded, late, fed)
        self._equations = GeneralEquations("system", self._reading, self._potential)
        self._functions = Functions(self._equations, **options)
        self._held = SystemConstraints(self._functions)
        self._programs = Programs(self._functions, self._formal_programs())
        self.input_names = tuple(map(symbol_name, fed))

    def _checked_rhs(self) -> list[Any]:
        """How far dependent speeds exceed the others, and the right-hand side."""
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
        if not (found[..., 0] < FAR).all():
            return self._recombined(t, x, inputs)
        return found[..., 1:]

    def mass_matrix(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> Array:
        """M of M u̇ + bias = 0 for the independent speeds, (p, p) or (N, p, p)."""
        return self._call("mass_matrix", t, x, inputs)

    def bias(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> Array:
        """All terms of the dynamical equations without u̇, loads included, (p,) or (N, p)."""
        return self._call("bias", t, x, inputs)

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

    def linearize(
        self, t: ArrayLike | Motion, x: ArrayLike | None = None, inputs: ArrayLike = ()
    ) -> Linearization:
        """Linear equations of the neighbourhood of a state, of many, or of those of a motion.

        States are coordinates, but for those that the model names dependent, and independent
        speeds; the others deviate so that the constraints stay satisfied. The equations are
        differentiated after they have been formed.

        Parameters
        ----------
        t : float or array (N,), or Motion
            Time; or a simulated motion, without more, for all its states.
        x, inputs
            As in `rhs`.
        """
        # Imported here: what only computes right-hand sides does without.
        from kane_dynamics.simulation.motion import Motion

        if isinstance(t, Motion):
            motion, fed = t, t._parameters[len(self.parameters) :]
            t, x = motion.t, np.concatenate([motion.q, motion.u], axis=1)
            inputs = fed[0] if fed else ()
        if x is None:
            raise ArgumentError("linearize misses x: a state is t, x and inputs")
        terms = self._call("linear_terms", t, x, inputs)
        return linearization(self._equations, terms, self.input_names)

    def equilibrium(
        self, guess: ArrayLike, inputs: ArrayLike | None = None, t: float = 0.0
    ) -> Array:
        """Where the system stays as it is, near a guess.

        Parameters
        ----------
        guess : array (nq,) or (nq + dof,)
            Coordinates, or a state whose speeds are kept: a steady motion is looked for.
        inputs : array (m,), optional
            Zero by default.

        Returns
        -------
        array
            As long as the guess.

        Raises
        ------
        ArgumentError
            If none is found; the message names the force or constraint that is left.
        """
        start = real_array("equilibrium: guess", guess)
        sizes = (self.nq,), (self.nq + self.dof,)
        if start.shape not in sizes:
            raise ArgumentError(
                f"equilibrium: guess must have shape {sizes[0]} or {sizes[1]}, got {start.shape}"
            )
        u = start[self.nq :] if start.shape == sizes[1] else np.zeros(self.dof)
        fed = np.zeros(len(self.input_names)) if inputs is None else inputs
        rows = [
            name for name, is_position in zip(self._held.names, self._held.positions) if is_position
        ]
        names = (*self.independent_speeds, *rows)
        q = balanced(
            lambda q: self._call("static_terms", t, np.concatenate([q, u]), fed),
            np.array(start[: self.nq]),
            names,
        )
        return q if start.shape == sizes[0] else np.concatenate([q, u])

    def with_speeds(self, speeds: Mapping[Any, Any] | ReducedSpeeds) -> System:
        """The same mechanism in other generalized speeds.

        Parameters
        ----------
        speeds : dict from symbol to expression, or ReducedSpeeds
            As many new speeds as there are, in terms of coordinates and of the present ones;
            independent ones first. Or what `reduced_speeds` has found.
        """
        model = self._reading.model
        if model.stated:
            raise ArgumentError("with_speeds: begin with the system as it was modelled")
        if isinstance(speeds, ReducedSpeeds):
            speeds = _from_matrix(speeds, model.u)
        if len(speeds) != len(model.u):
            raise ArgumentError(f"with_speeds: {len(speeds)} speeds, expected {len(model.u)}")
        other = replace(model, u=tuple(speeds), stated=model.u, chosen=tuple(speeds.values()))
        return self._with_model(other)

    def reduced_speeds(self) -> ReducedSpeeds:
        """Combinations of the speeds for which more partial velocities are zero.

        By the column reduction of Maher and Samak; `with_speeds` takes the result.
        """
        from kane_dynamics.kane.general.speeds import reduced

        T, vanished = reduced(self._reading)
        names = self.speed_names
        found = ReducedSpeeds(names, T, vanished, *2 * (self.operations("rhs"),))
        counts = [body_by_body(each._reading) for each in (self, self.with_speeds(found))]
        return ReducedSpeeds(names, T, vanished, *counts)

    def forces(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> dict[str, Any]:
        """The unknown forces in the loads, by name: numbers, or arrays (N,) for a batch.

        They are those that auxiliary speeds bring into evidence.
        """
        names = [symbol_name(each) for each in self._reading.unknown]
        if not names:
            return {}
        found = self._call("forces", t, x, inputs)
        return {name: found[..., k][()] for k, name in enumerate(names)}

    def constraint_forces(
        self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()
    ) -> dict[str, Array]:
        """What each constraint exerts along its rows, by name: (rows,) or (N, rows) each.

        The generalized forces of a constraint are its coefficients of the speeds times these.
        Where constraints are redundant, those of least norm.
        """
        M, bias, said = self._unconstrained(t, x, inputs)
        udot = self._held.accelerations(M, bias, said)
        return self._held.forces(M, bias, udot, said)

    def assemble(
        self,
        q: ArrayLike,
        u: ArrayLike | None = None,
        fixed: Sequence[Any] = (),
        t: float = 0.0,
        inputs: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Coordinates and speeds near given ones that satisfy all constraints.

        Parameters
        ----------
        q : array (nq,)
        u : array (dof,), optional
            By default, at rest.
        t, inputs
            For constraints that depend on them; inputs are zero by default.
        fixed : sequence
            Coordinates and speeds, or their names, that stay as they are.

        Raises
        ------
        ArgumentError
            If there are none near; the message names the constraint that cannot close.
        """
        names = {each if isinstance(each, str) else symbol_name(each) for each in fixed}
        known = (*self.coordinate_names, *self.speed_names)
        for name in names:
            if name not in known:
                raise unknown_name("coordinate or speed", name, known)
        begin = one_state("assemble", "q", q, self.nq)
        speeds = np.zeros(self.dof) if u is None else one_state("assemble", "u", u, self.dof)
        fed = np.zeros(len(self.input_names)) if inputs is None else inputs
        given = self._given("assemble", t, np.concatenate([begin, speeds]), fed)
        if not self._held:
            return begin.copy(), speeds.copy()
        free = [k for k, name in enumerate(self.coordinate_names) if name not in names]
        given["q"] = self._held.assembled(given, free)
        M = evaluated(self._functions, "mass_matrix", **given)
        free = [k for k, name in enumerate(self.speed_names) if name not in names]
        return given["q"], self._held.moved(given, np.diagonal(M), free)

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

    def simulate(
        self,
        duration: float,
        q0: ArrayLike,
        u0: ArrayLike,
        inputs: Fed = None,
        step: float = 1e-3,
        method: Method = "rk4",
        *,
        output_step: float | None = None,
        tolerance: float = 1e-8,
        verify: bool = False,
        max_steps: int | None = None,
        progress: ProgressChoice = None,
        cancel: Cancel | None = None,
    ) -> Motion:
        """The motion from an initial state on.

        Parameters
        ----------
        duration : float
            Simulated time, s.
        q0, u0 : array (nq,), array (dof,)
            Coordinates and speeds at t = 0.
        inputs : array (m,), TorqueHistory, or callable
            Constant inputs, inputs over time, or a function ``(t, q, u) -> inputs``.
        step, method, output_step, tolerance, verify, max_steps, progress, cancel
            As in `Dynamics.simulate`.
        """
        # Imported here: what only computes right-hand sides does without.
        from kane_dynamics.simulation.fed import FedFunction, FedValues, fed_at, fed_input
        from kane_dynamics.simulation.request import Request
        from kane_dynamics.simulation.simulate import simulate

        source = fed_input(inputs, self.input_names)
        request = Request(
            duration,
            q0,
            u0,
            source,  # type: ignore[arg-type]
            step,
            method,
            output_step=output_step,
            tolerance=tolerance,
            verify=verify,
            max_steps=max_steps,
        )
        late = self.parameters
        begin, speeds = (real_array(n, v) for n, v in (("q0", q0), ("u0", u0)))
        if not isinstance(source, (FedValues, FedFunction)):
            holding = self._holding(begin, speeds, ()) if self._held else None
            return simulate(self._functions, request, {}, late, progress, cancel, holding)
        first = fed_at(source, np.zeros(1), begin[None], speeds[None])[0]
        holding = self._holding(begin, speeds, first) if self._held else None
        late = (*late, first)
        motion = simulate(self._functions, request, {}, late, progress, cancel, holding)
        fed = fed_at(source, motion.t, motion.q, motion.u)
        return replace(motion, _parameters=(*late[:-1], fed))

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
        self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike
    ) -> tuple[Array, Array, Said]:
        """Mass matrix and bias of all speeds, and what constraints say, for as many states each."""
        given = self._given("rhs", t, x, inputs)
        M = evaluated(self._functions, "mass_matrix", **given)
        bias, said = evaluated(self._functions, "bias", **given), self._held.said(given)
        rows = (said.A, 2), (said.bias, 1), (said.errors, 1)
        M, bias, A, b, errors = _together((M, 2), (bias, 1), *rows)
        return M, bias, Said(A, b, errors, said.names, said.positions)

    def _recombined(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike) -> Array:
        """The right-hand side where the compiled choice of independent speeds is singular."""
        M, bias, said = self._unconstrained(t, x, inputs)
        qdot = evaluated(self._functions, "coordinate_rates", **self._given("rhs", t, x, inputs))
        return np.concatenate([qdot, self._held.accelerations(M, bias, said)], axis=-1)

    def _holding(self, q: Array, u: Array, inputs: Any) -> Holding:
        if self._held.rows.inputs("q") and self._equations.timed:
            names = {each.name for each in self._held.rows.inputs("q")}
            if "t" in names and self._held.changes_in_time:
                raise ArgumentError(
                    "simulate: constraints that depend on time cannot be held, expected none"
                )
        given = self._given("simulate", 0.0, np.concatenate([q, u]), inputs)
        M = evaluated(self._functions, "mass_matrix", **given)
        return self._held.holding(given, np.diagonal(M))

    def _call(self, name: str, t: ArrayLike, x: ArrayLike, inputs: ArrayLike) -> Array:
        given: list[Any] = []
        if self._equations.timed:
            given.append(_times(name, t))
        given += [x, *self.parameters]
        if self.input_names:
            given.append(inputs)
        elif np.size(inputs):
            raise ArgumentError(f"{name}: inputs are given, but the system has none")
        return self._programs.function(name)(*given)


def _from_matrix(found: ReducedSpeeds, speeds: Sequence[Any]) -> dict[Any, Any]:
    """Speeds found by column reduction, with symbols of their own."""
    from sympy.physics.mechanics import dynamicsymbols

    return {
        dynamicsymbols(f"{name}*"): sum(
            (float(number) * u for number, u in zip(row, speeds) if number), 0 * speeds[0]
        )
        for name, row in zip(found.names, found.T)
    }


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


def _times(name: str, t: ArrayLike) -> Array:
    array = real_array(f"{name}: t", t)
    if array.ndim > 1:
        raise ArgumentError(f"{name}: t must be a number or have shape (N,), got {array.shape}")
    return array[..., None]


def _model(kane: Any, bodies: Any, loads: Any, constraints: Any) -> Model:
    from sympy.physics.mechanics import KanesMethod
    from sympy.physics.mechanics import System as JointedSystem

    if isinstance(kane, KanesMethod):
        return model_of_kane(kane, bodies, loads, constraints)
    if isinstance(kane, JointedSystem):
        if bodies is not None or loads is not None:
            raise ArgumentError("bodies and loads are those of the System, expected none besides")
        return model_of_system(kane, constraints)
    raise ArgumentError(
        f"kane is {type(kane).__name__}, expected a KanesMethod or a System of SymPy"
    )
