"""The right-hand side of a simulation, and the functions whose zeros are events, as programs.

Torques, controllers, wrenches, stops, sliding friction and the equations of motion are expressions
in one graph: one evaluation gives everything that follows from a state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Function, Functions
from kane_dynamics.kane.constraints import Constraints
from kane_dynamics.kane.embedded import Embedded, Order
from kane_dynamics.kane.equations import Equations, Given, expressions
from kane_dynamics.simulation.constraints import Constraint, Friction
from kane_dynamics.simulation.coupler import WIDTH, coupler_wrench
from kane_dynamics.simulation.inputs import Input, Instant
from kane_dynamics.simulation.status import Ended, Status
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.program import Input as Vector
from kane_dynamics.symbolic.program import Program, Signature

Moved = tuple[list[Expr], Expr, list[Expr]]
"""What stands for udot, further power as far as it is known then, and what comes last."""

Solve = Callable[[Given, Sequence[Expr]], Moved]
"""That under some forces."""

Switched = tuple[Constraint, tuple[Expr, Sequence[Expr]]]
"""A constraint with its mode and its numbers."""


class Layout:
    """Where everything stands in what follows from a state; the same in steps.c.

    First the rates of the state, which is q, u and the work done: qdot, udot and the power of
    forces without potential. Then the torques of the input, the other generalized forces, those
    `losses` that the equations contain themselves; event functions and their rates. While speeds
    are held there are, for udot, the forces less the bias, and at the end the mass matrix.
    """

    qdot: slice
    udot: slice
    power: slice
    tau: slice
    other: slice
    losses: slice
    g: slice
    gdot: slice
    mass: slice

    def __init__(self, n: int, nq: int, m: int) -> None:
        self.n, self.nq, self.m, begin = n, nq, m, 0
        for name, size in zip(Layout.__annotations__, (nq, n, 1, n, n, n, m, m, n * n)):
            setattr(self, name, slice(begin, begin + size))
            begin += size

    @property
    def state(self) -> int:
        """Numbers of a state."""
        return self.nq + self.n + 1


@dataclass(frozen=True, eq=False)
class RightHandSide:
    """What follows from a state, as expressions.

    Nothing here holds functions, neither compiled ones nor the user's: the programs are kept by
    what compiles them, and must not keep it.

    Attributes
    ----------
    equations : Equations
        Of the mechanism without dry friction.
    kind : type of Input
    width, numbers : int
        How many values and numbers the input has.
    links : tuple of str
        Links with wrenches, six values each after those of the input.
    coupled : tuple of str
        Links with virtual couplers, whose values come after those.
    constraints : tuple of Constraint
    """

    equations: Equations
    kind: type[Input]
    width: int
    numbers: int
    links: tuple[str, ...]
    coupled: tuple[str, ...]
    constraints: tuple[Constraint, ...]

    @cached_property
    def layout(self) -> Layout:
        equations = self.equations
        sizes = len(equations.speed_names), len(equations.coordinate_names)
        return Layout(*sizes, len(self.constraints))

    @property
    def values(self) -> int:
        """How many values there are at every instant."""
        return self.width + 6 * len(self.links) + WIDTH * len(self.coupled)

    @cached_property
    def inputs(self) -> tuple[Vector, ...]:
        """What the programs take, but for what is empty."""
        numbers = self.numbers + sum(len(each.numbers) for each in self.constraints)
        sizes = {"t": int(self.equations.timed), "q": self.layout.nq, "u": self.layout.n}
        sizes.update(values=self.values, modes=self.layout.m, numbers=numbers)
        vectors = (Vector(name, size) for name, size in sizes.items() if size)
        parameters = (e for e in self.equations.parameters if e.name != self.kind.feeds)
        return (*vectors, *parameters)

    def asked(self, held: bool) -> tuple[Signature, Callable[[], Program], Any]:
        """What a program takes and gives, how it is made, and what it depends on.

        The second program is for states in which speeds are held.
        """
        size = self.layout.mass.stop if held else self.layout.gdot.stop
        name = "held" if held else "rates"
        declared = Signature(name, self.inputs, (size,), self._quaternions)
        solve = partial(_forces_left if held else _free, self.equations)
        return declared, partial(self._program, declared, solve), self._key

    def asked_under(
        self, constraints: Constraints, order: Order
    ) -> tuple[Signature, Callable[[], Program], Any]:
        """The same of a program for states in which constraints hold that are embedded.

        It is given their anchors, too. Last comes the `growth` of the elimination.
        """
        anchors = (Vector("anchors", constraints.anchors),) if constraints.anchors else ()
        size = self.layout.gdot.stop + 1
        declared = Signature("embedded", (*self.inputs, *anchors), (size,), self._quaternions)
        solve = partial(_embedded, self.equations, constraints, order)
        key = (*self._key, constraints.key, order)
        return declared, partial(self._program, declared, solve), key

    @property
    def _quaternions(self) -> tuple[tuple[str, int], ...]:
        return tuple(("q", first) for first in self.equations.quaternions)

    @property
    def _key(self) -> tuple[Any, ...]:
        pulled = self.links, self.coupled
        return (self.kind.__name__, pulled, tuple(each.form for each in self.constraints))

    def _program(self, declared: Signature, solve: Solve) -> Program:
        graph, equations = Graph(), self.equations
        entries = {each.name: graph.inputs(each.name, each.size) for each in declared.inputs}
        given = Given(graph, {"anchors": (), **entries})
        if self.kind.feeds:
            given = given.but(**{self.kind.feeds: entries["values"][: self.width]})
        switched = self._switched(entries)
        tau = self.kind.forces(equations, self._instant(given, switched))
        other = self._other_forces(given, switched)
        force = [a + b for a, b in zip(tau, other)]
        qdot = expressions(equations, "coordinate_rates", given)
        losses = expressions(equations, "losses", given)
        power = [u * (a + b) for u, a, b in zip(given["u"], force, losses)]
        events = [each.event(given, qdot, *own) for each, own in switched]
        moved, further, more = solve(given, force)
        outputs = [*qdot, *moved, graph.sum([*power, further]), *tau, *other, *losses]
        outputs += [g for g, _ in events] + [rate for _, rate in events]
        return Program(declared, (*outputs, *more))

    def _switched(self, entries: Mapping[str, Sequence[Expr]]) -> list[Switched]:
        """Every constraint with its mode and numbers."""
        found: list[Switched] = []
        begin = self.numbers
        for mode, each in zip(entries.get("modes", ()), self.constraints):
            end = begin + len(each.numbers)
            found.append((each, (mode, entries["numbers"][begin:end])))
            begin = end
        return found

    def _instant(self, given: Given, switched: Sequence[Switched]) -> Instant:
        graph = given.graph
        limited = {each.row: own for each, own in switched if isinstance(each, Friction)}

        def friction(row: int, wanted: Expr) -> Expr:
            if row not in limited:
                return graph.zero
            mode, (limit,) = limited[row]
            return limit * graph.select(mode * mode - 0.5, mode, graph.sign(wanted))

        values = given.inputs.get("values", ())[: self.width]
        numbers = given.inputs.get("numbers", ())[: self.numbers]
        return Instant(given, values, numbers, friction)

    def _other_forces(self, given: Given, switched: Sequence[Switched]) -> list[Expr]:
        """Generalized forces of wrenches, stops and sliding friction."""
        forces = [given.graph.zero] * self.layout.n
        if self.links or self.coupled:
            end = self.width + 6 * len(self.links)
            wrenches = list(given.inputs["values"][self.width : end])
            for k, link in enumerate(self.coupled):
                at = given["values"][end + WIDTH * k : end + WIDTH * (k + 1)]
                wrenches += coupler_wrench(self.equations, given, link, at)
            names = (*self.links, *self.coupled)
            about = replace(given.but(wrenches=wrenches), about=names)
            forces = expressions(self.equations, "wrench_forces", about)
        for each, own in switched:
            forces[each.row] = forces[each.row] + each.force(given, *own)
        return forces


@dataclass(frozen=True, eq=False)
class Rates:
    """The right-hand side with the functions that evaluate it, and all that is constant in a run.

    Attributes
    ----------
    functions : Functions
        Of the mechanism without dry friction.
    side : RightHandSide
    input : Input
    numbers : array
        Of the input, then of each constraint.
    parameters : tuple of array
        Values of the late numbers of the equations.
    """

    functions: Functions
    side: RightHandSide
    input: Input
    numbers: Array
    parameters: tuple[Array, ...]

    @property
    def layout(self) -> Layout:
        return self.side.layout

    def named(self, **given: Array) -> dict[str, Array]:
        """What is given, and all that is constant in a run."""
        late = zip((each.name for each in self.side.equations.parameters), self.parameters)
        return {**given, "numbers": self.numbers, **dict(late)}

    def function(self, held: bool) -> Function:
        """For Python."""
        return self.functions.made(*self.side.asked(held), refuse=partial(_refuse, self.layout))

    def address(self, held: bool) -> int:
        """For compiled code; CompileError if there is no compiler that works."""
        return self.functions.code(*self.side.asked(held)).address("state")

    def address_under(self, constraints: Constraints, order: Order) -> int:
        """The same while constraints hold that are embedded."""
        return self.functions.code(*self.side.asked_under(constraints, order)).address("state")


def _free(equations: Equations, given: Given, force: Sequence[Expr]) -> Moved:
    udot = expressions(equations, "forward_dynamics", given.but(tau=force))
    return udot, equations.further_power(given.but(udot=udot)), []


def _forces_left(equations: Equations, given: Given, force: Sequence[Expr]) -> Moved:
    left = [a - b for a, b in zip(force, expressions(equations, "bias", given))]
    return left, given.graph.zero, expressions(equations, "mass_matrix", given)


def _embedded(
    equations: Equations,
    constraints: Constraints,
    order: Order,
    given: Given,
    force: Sequence[Expr],
) -> Moved:
    embedded = Embedded(constraints, given, order)
    udot = embedded.accelerations(equations, force)
    return udot, given.graph.zero, [embedded.growth]


def _refuse(at: Layout, _arrays: Any, result: Array) -> NoReturn:
    wrong = ~np.isfinite(result[at.udot] + result[at.tau] + result[at.other])
    raise Ended(Status.DIVERGED, int(wrong.argmax()))


def evaluated(functions: Functions, name: str, **given: Array) -> Array:
    """A function of a mechanism, of those that are given which it takes."""
    taken = functions.signature(name).inputs
    return functions.function(name)(*(given[each.name] for each in taken))
