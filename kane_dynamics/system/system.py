"""`System`: the equations of a mechanism modelled in SymPy, arrays in and arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array, real_array
from kane_dynamics.codegen import Backend, CacheChoice
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.general.equations import symbol_name
from kane_dynamics.kane.general.model import Model, model_of_kane, model_of_system
from kane_dynamics.kane.general.speeds import body_by_body
from kane_dynamics.kane.linearize import Linearization
from kane_dynamics.kane.speeds import ReducedSpeeds
from kane_dynamics.names import unknown_name
from kane_dynamics.simulation.named import Named
from kane_dynamics.simulation.rates import evaluated
from kane_dynamics.system.analysis import (
    balanced,
    linearization,
)
from kane_dynamics.system.arguments import (
    checked_constants,
    checked_speeds,
    checked_symbols,
    refuse_doubles,
)
from kane_dynamics.system.functions import StateFunctions, one_state

if TYPE_CHECKING:
    from kane_dynamics.simulation.fed import Fed
    from kane_dynamics.simulation.motion import Motion
    from kane_dynamics.simulation.request import Method
    from kane_dynamics.simulation.watch import Cancel, ProgressChoice


class System(StateFunctions):
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
    >>> import kane_dynamics as kd
    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import *
    >>> q, u, F = dynamicsymbols("q u F")
    >>> N, O, m, k = ReferenceFrame("N"), Point("O"), *symbols("m k")
    >>> O.set_vel(N, 0)
    >>> P = O.locatenew("P", q * N.x)
    >>> P.set_vel(N, u * N.x)
    >>> kane = KanesMethod(N, [q], [u], kd_eqs=[q.diff() - u])
    >>> loads = [(P, (F - k * q) * N.x)]
    >>> bodies, constants = [Particle("B", P, m)], {m: 2.0, k: 8.0}
    >>> system = kd.System(kane, bodies, loads, constants, inputs=[F])
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
        from sympy.physics.mechanics import dynamicsymbols

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
                "the time": (dynamicsymbols._t,),
            }
        )
        self._model, self._potential = model, potential
        self._form(values, late, fed, None, backend=backend, cache=cache)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are formed anew, and find what is compiled in the cache."""
        options = {"backend": self._functions.backend, "cache": self._functions.cache}
        given = (self._model, self._potential, dict(self._constants), self._late, self._fed)
        return _formed, (*given, options)

    def __repr__(self) -> str:
        q, u = ", ".join(self.coordinate_names), ", ".join(self.speed_names)
        return f"<System: coordinates {q}; speeds {u}>"

    def _with_model(self, model: Model) -> System:
        """The same with another reading of the model."""
        other = object.__new__(System)
        other._model, other._potential = model, self._potential
        other._form(dict(self._constants), self._late, self._fed, self._functions)
        return other

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
        terms = self._chosen("linear_terms", t, x, inputs)
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
        checked_speeds(speeds, model, (*self._constants, *self._fed))
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
        from kane_dynamics.simulation.inputs import TorqueHistory
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
            named = self._named(begin, speeds, (), True) if self._held else None
            return simulate(self._functions, request, {}, late, progress, cancel, named)
        first = fed_at(source, np.zeros(1), begin[None], speeds[None])[0]
        constant = isinstance(source, FedValues) and not isinstance(source.given, TorqueHistory)
        named = self._named(begin, speeds, first, constant) if self._held else None
        late = (*late, first)
        motion = simulate(self._functions, request, {}, late, progress, cancel, named)
        fed = fed_at(source, motion.t, motion.q, motion.u)
        motion = replace(motion, _parameters=(*late[:-1], fed))
        kinetic, potential = motion.evaluated("energy").T  # which inputs may be in
        return replace(motion, kinetic=kinetic.copy(), potential=potential.copy())

    def _named(self, q: Array, u: Array, inputs: Any, constant: bool) -> Named:
        if self._held.rows.moved_by_inputs(constant):
            raise ArgumentError(
                "simulate: constraints cannot be held that inputs change on the way, expected "
                "functions of t instead of these inputs"
            )
        given = self._given("simulate", 0.0, np.concatenate([q, u]), inputs)
        return self._held.named(given)


def _formed(
    model: Model, potential: Any, values: dict[Any, float], late: Any, fed: Any, options: Any
) -> System:
    system = object.__new__(System)
    system._model, system._potential = model, potential
    system._form(values, late, fed, None, **options)
    return system


def _from_matrix(found: ReducedSpeeds, speeds: Sequence[Any]) -> dict[Any, Any]:
    """Speeds found by column reduction, with symbols of their own."""
    from sympy.physics.mechanics import dynamicsymbols

    return {
        dynamicsymbols(f"{name}*"): sum(
            (float(number) * u for number, u in zip(row, speeds) if number), 0 * speeds[0]
        )
        for name, row in zip(found.names, found.T)
    }


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
