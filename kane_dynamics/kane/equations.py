"""The contract: what a mechanism offers to everything that is built on its equations.

Whoever derives equations, from a tree of joints or by hand, offers them as an `Equations`: names,
sizes, and *programs* by name, each a list of expressions over inputs that are given. Compilation,
simulation and the faces for users know nothing else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.kane import tangent
from kane_dynamics.kane.linear import factorized, solved
from kane_dynamics.names import unknown_name
from kane_dynamics.symbolic.derivative import derivatives
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.numpy import python_source
from kane_dynamics.symbolic.program import Input, Program, Signature


class Form(NamedTuple):
    """What a program takes and gives: names of inputs, and sizes of the output's dimensions.

    A dimension is a number, or the name of an input that is as long. `about` is how many names,
    such as links, the program is about; None for one or more.
    """

    inputs: tuple[str, ...]
    shape: tuple[int | str, ...]
    about: int | None = 0


@dataclass(frozen=True)
class Given:
    """What a derivation may use: the graph, expressions of the inputs, names it is about."""

    graph: Graph
    inputs: Mapping[str, Sequence[Expr]]
    about: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Sequence[Expr]:
        return self.inputs[name]

    def but(self, **inputs: Sequence[Expr]) -> Given:
        """The same with other inputs."""
        return Given(self.graph, {**self.inputs, **inputs}, self.about)


class Conserved(NamedTuple):
    """A quantity that keeps its value: its name, and which output of which program it is."""

    name: str
    program: str
    output: int


class Equations(ABC):
    """Equations of motion of a mechanism: q̇ = rates(q, u) and M(q) u̇ + bias(q, u) = tau.

    A kind of mechanism says what is abstract below, and may derive the rest in a better way.
    Every method named in `forms` returns the expressions of a program, matrices row by row.

    Attributes
    ----------
    name : str
        Of the mechanism, for the texts of its equations.
    coordinate_names, speed_names : tuple of str
        Of the entries of q, and of u, udot and tau.
    quaternions : tuple of int
        Where unit quaternions (x, y, z, w) begin in q.
    parameters : tuple of Input
        Numbers that are given at run time: inputs of every program, after its own.
    timed : bool
        Whether equations depend on time: t is then the first input of every program.
    flows : bool
        Whether coordinates change while all speeds are zero.
    powered : bool
        Whether there is any `further_power`.
    """

    name: str
    coordinate_names: tuple[str, ...]
    speed_names: tuple[str, ...]
    quaternions: tuple[int, ...] = ()
    parameters: tuple[Input, ...] = ()
    timed: bool = False
    flows: bool = False
    powered: bool = False

    forms: ClassVar[Mapping[str, Form]] = {
        "coordinate_rates": Form(("q", "u"), ("q",)),
        "mass_matrix": Form(("q",), ("u", "u")),
        "bias": Form(("q", "u"), ("u",)),
        "inverse_dynamics": Form(("q", "u", "udot"), ("u",)),
        "forward_dynamics": Form(("q", "u", "tau"), ("u",)),
        "energy": Form(("q", "u"), (2,)),
        "losses": Form(("q", "u"), ("u",)),
        "generalized_momentum": Form(("q", "u"), ("u",)),
        "inverse_dynamics_derivatives": Form(("q", "u", "udot"), (3, "u", "u")),
        "forward_dynamics_derivatives": Form(("q", "u", "tau"), (3, "u", "u")),
        "displacement_rates": Form(("q", "u"), ("u", "u")),
    }

    # ----------------------------------------------------------------------- what must be said
    @abstractmethod
    def coordinate_rates(self, given: Given) -> list[Expr]:
        """Rates of the coordinates."""

    @abstractmethod
    def mass_matrix(self, given: Given) -> list[Expr]:
        """Coefficients of udot in the generalized inertia forces, with the opposite sign."""

    @abstractmethod
    def bias(self, given: Given) -> list[Expr]:
        """All other terms: the generalized forces tau that produce no udot."""

    # ------------------------------------------------------------------- what follows from that
    def inverse_dynamics(self, given: Given) -> list[Expr]:
        """The generalized forces that produce udot."""
        inertia = _times(given.graph, self.mass_matrix(given), given["udot"])
        return [a + b for a, b in zip(inertia, self.bias(given))]

    def forward_dynamics(self, given: Given) -> list[Expr]:
        """The udot that generalized forces tau produce."""
        flat, count = self.mass_matrix(given), len(given["tau"])
        rows = [flat[count * k : count * (k + 1)] for k in range(count)]
        right = [tau - b for tau, b in zip(given["tau"], self.bias(given))]
        return solved(given.graph, factorized(given.graph, rows), right)

    def generalized_momentum(self, given: Given) -> list[Expr]:
        """M u."""
        return _times(given.graph, self.mass_matrix(given), given["u"])

    def energy(self, given: Given) -> list[Expr]:
        """Kinetic energy, where all velocities vanish with the speeds, and potential energy."""
        pairs = zip(given["u"], self.generalized_momentum(given))
        return [0.5 * given.graph.sum([u * p for u, p in pairs]), self.potential(given)]

    def potential(self, given: Given) -> Expr:
        """Potential energy of those forces in `bias` that have one."""
        return given.graph.zero

    def losses(self, given: Given) -> list[Expr]:
        """Generalized active forces within `bias` that have no potential, such as damping."""
        return [given.graph.zero] * len(self.speed_names)

    def further_power(self, given: Given) -> Expr:
        """Power that goes into `energy`, and is none of `losses` and of forces at the speeds."""
        return given.graph.zero

    # -------------------------------------------------------------------------- how that changes
    def inverse_dynamics_derivatives(self, given: Given) -> list[Expr]:
        """Of the generalized forces by displacements, speeds and accelerations: three matrices.

        Displacements are those of `kane_dynamics.kane.tangent`.
        """
        tau = self.inverse_dynamics(given)
        return [*self._derivatives(given, tau), *self.mass_matrix(given)]

    def forward_dynamics_derivatives(self, given: Given) -> list[Expr]:
        """Of udot by displacements, speeds and generalized forces: three matrices."""
        graph, udot = given.graph, self.forward_dynamics(given)
        by_tau = derivatives(graph, udot, given["tau"])
        return [*self._derivatives(given, udot), *(each for row in by_tau for each in row)]

    def displacement_rates(self, given: Given) -> list[Expr]:
        """Coefficients of displacements from a motion in their own rates."""
        rates = self.coordinate_rates(given)
        rows = tangent.displacement_rates(given.graph, rates, given["q"], given["u"])
        return [element for row in rows for element in row]

    def _derivatives(self, given: Given, outputs: Sequence[Expr]) -> list[Expr]:
        """By displacements and by speeds, matrices row by row."""
        graph, u = given.graph, given["u"]
        displaced = tangent.displacements(graph, self.coordinate_rates(given), u)
        by_q = tangent.along(graph, outputs, given["q"], displaced)
        return [each for row in (*by_q, *derivatives(graph, outputs, u)) for each in row]

    # --------------------------------------------------------------- what a mechanism may know
    @property
    def heading(self) -> str:
        """What stands above its equations."""
        names = " ".join(map(printable, self.coordinate_names))
        return (
            f"Equations of motion of {printable(self.name)} by Kane's method (kane_dynamics).\n"
            f"q: {names}; SI units."
        )

    @property
    def friction(self) -> tuple[float, ...]:
        """Dry friction felt by each speed, which `smooth` equations leave out."""
        return (0.0,) * len(self.speed_names)

    @property
    def smooth(self) -> Equations:
        """The same mechanism without dry friction."""
        return self

    def conserved(self, forced: Sequence[bool]) -> Iterator[Conserved]:
        """What keeps its value when generalized forces act on no speeds but the `forced`."""
        yield from ()

    def singular_error(self, M: Array) -> Exception | None:
        """The error that says what has no inertia, given the mass matrix of a state, if any."""
        return None

    def check_about(self, name: str) -> None:
        """Refuse a name that no program can be about."""
        raise unknown_name("link", name, ())

    @property
    def units(self) -> frozenset[str]:
        """What coordinates are measured in: rad, m, or both."""
        return frozenset({"rad", "m"})

    @cached_property
    def _rated(self) -> tuple[int | None, ...]:
        derived = program(self, "coordinate_rates")
        rates = {output: k for k, output in enumerate(derived.outputs) if output.op == "input"}
        found = {node.entry: k for node, k in rates.items()}
        return tuple(found.get(("u", k)) for k in range(len(self.speed_names)))

    @cached_property
    def key(self) -> str:
        """Text that is the same for the same equations only."""
        said = ("coordinate_rates", "mass_matrix", "bias", "energy", "losses")
        return "\n".join(python_source(program(self, name)) for name in said)


def signature(equations: Equations, name: str, *about: str) -> Signature:
    """What a program of a mechanism takes and gives.

    Raises
    ------
    ArgumentError
        If there is no such program, or it is not about what is named.
    """
    form = equations.forms.get(name)
    if form is None:
        raise unknown_name("function", name, list(equations.forms))
    if len(about) != form.about if form.about is not None else not about:
        wanted = {0: "takes no link", 1: "is about one link: name it", None: "is about links"}
        raise ArgumentError(f"{name} {wanted[form.about]}")
    for each in about:
        equations.check_about(each)
    sizes = {**_sizes(equations), "wrenches": 6 * len(about)}
    names = ("t", *form.inputs) if equations.timed else form.inputs
    inputs = (*(Input(each, sizes[each]) for each in names), *equations.parameters)
    shape = tuple(sizes[each] if isinstance(each, str) else each for each in form.shape)
    quaternions = tuple(("q", first) for first in equations.quaternions if "q" in names)
    return Signature(name, inputs, shape, quaternions)


def program(equations: Equations, name: str, *about: str) -> Program:
    """Derive a program of a mechanism.

    Raises
    ------
    ArgumentError
        As in `signature`.
    ModelError
        If the expressions do not fit the names of the mechanism.
    """
    declared = signature(equations, name, *about)
    graph = Graph()
    inputs = {each.name: graph.inputs(each.name, each.size) for each in declared.inputs}
    outputs = expressions(equations, name, Given(graph, inputs, about))
    return Program(declared, tuple(outputs))


def expressions(equations: Equations, name: str, given: Given) -> list[Expr]:
    """The expressions of a program over any others that are given as its inputs."""
    try:
        derived: list[Expr] = getattr(equations, name)(given)
    except OverflowError:
        raise ModelError(
            f"{equations.name}: {name} has a number beyond what a computer can hold, expected "
            "masses, inertias and lengths not so near to zero"
        ) from None
    shape = signature(equations, name, *given.about).shape
    if len(derived) != math.prod(shape):
        expected = " x ".join(map(str, shape))
        raise ModelError(
            f"{equations.name}: {name} has {len(derived)} expressions, expected {expected} for "
            f"coordinates {', '.join(equations.coordinate_names)} and speeds "
            f"{', '.join(equations.speed_names)}"
        )
    return derived


def rated_coordinates(equations: Equations) -> tuple[int | None, ...]:
    """For each speed the coordinate whose rate it is, if there is one."""
    return equations._rated


def printable(name: str) -> str:
    """A name without anything that could end the comment it is put in."""
    return "".join(c if c.isalnum() or c in "_-. " else "_" for c in name)


def _sizes(equations: Equations) -> dict[str, int]:
    speeds = len(equations.speed_names)
    lengths = {"t": 1, "q": len(equations.coordinate_names), "u": speeds}
    return {**lengths, "udot": speeds, "tau": speeds}


def _times(graph: Graph, flat: Sequence[Expr], x: Sequence[Expr]) -> list[Expr]:
    count = len(x)
    return [
        graph.sum([flat[count * k + j] * x[j] for j in range(count)])
        for k in range(len(flat) // count)
    ]
