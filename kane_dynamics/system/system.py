"""`System`: the equations of a mechanism modelled in SymPy, arrays in and arrays out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array, real_array
from kane_dynamics.codegen import Backend, CacheChoice
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.general.equations import GeneralEquations, symbol_name
from kane_dynamics.kane.general.model import Model, model_of_kane, model_of_system
from kane_dynamics.kane.general.partial import PartialVelocities, partial_velocities
from kane_dynamics.kane.general.reading import Reading
from kane_dynamics.quantities import Energy
from kane_dynamics.symbolic.program import Operations
from kane_dynamics.symbolic.sympy import sympy_equations
from kane_dynamics.system.arguments import (
    Constants,
    checked_constants,
    checked_symbols,
    refuse_doubles,
)
from kane_dynamics.system.programs import Programs

if TYPE_CHECKING:
    from kane_dynamics.simulation.fed import Fed
    from kane_dynamics.simulation.motion import Motion
    from kane_dynamics.simulation.request import Method
    from kane_dynamics.simulation.watch import Cancel, ProgressChoice


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
        self._constants = Constants(values, late)
        folded = {key: value for key, value in values.items() if key not in late}
        self._reading = Reading(model, folded, late, fed)
        self._equations = GeneralEquations("system", self._reading, potential)
        self._functions = Functions(self._equations, backend, cache)
        self._programs = Programs(self._functions, self._formal_programs())
        self.input_names = tuple(map(symbol_name, fed))

    def __repr__(self) -> str:
        q, u = ", ".join(self.coordinate_names), ", ".join(self.speed_names)
        return f"<System: coordinates {q}; speeds {u}>"

    def _formal_programs(self) -> dict[str, Any]:
        equations, n = self._equations, len(self.speed_names)
        shapes = {"rhs": (self.nq + n,), "mass_matrix": (n, n), "bias": (n,), "energy": (2,)}
        return {
            name: (shape, lambda name=name: equations.formal(name))
            for name, shape in shapes.items()
        }

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
        return self._call("rhs", t, x, inputs)

    def mass_matrix(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> Array:
        """M of M u̇ + bias = 0, (dof, dof) or (N, dof, dof)."""
        return self._call("mass_matrix", t, x, inputs)

    def bias(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> Array:
        """All terms of the dynamical equations without u̇, loads included, (dof,) or (N, dof)."""
        return self._call("bias", t, x, inputs)

    def energy(self, t: ArrayLike, x: ArrayLike, inputs: ArrayLike = ()) -> Energy:
        """Kinetic energy, and the potential energy that was given."""
        both = self._call("energy", t, x, inputs)
        return Energy(both[..., 0][()], both[..., 1][()])

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
        if not isinstance(source, (FedValues, FedFunction)):
            return simulate(self._functions, request, {}, late, progress, cancel)
        start = [np.zeros(1), *(real_array(n, v)[None] for n, v in (("q0", q0), ("u0", u0)))]
        first = fed_at(source, *start)[0]
        motion = simulate(self._functions, request, {}, (*late, first), progress, cancel)
        fed = fed_at(source, motion.t, motion.q, motion.u)
        return replace(motion, _parameters=(*late, fed))

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
