"""Forward dynamics under the constraints that hold at first, as one compiled function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Function, Functions
from kane_dynamics.kane.constraints import Constraints
from kane_dynamics.kane.embedded import Embedded, Order, order_of
from kane_dynamics.kane.equations import Given
from kane_dynamics.symbolic.graph import Graph
from kane_dynamics.symbolic.program import Input, Program, Signature


class InDoubt(Exception):
    """The order of elimination is not good in a state, or there are no such accelerations."""


def written_out(
    functions: Functions,
    constraints: Constraints,
    chosen: Sequence[int],
    anchored: bool,
    A: Array,
    M: Array,
) -> Function | None:
    """A function of q, u, tau, and anchors if these are given; None if it is not for one.

    It raises `InDoubt` where recombination must decide.

    Parameters
    ----------
    functions : Functions
        Of the robot without constraints.
    constraints : Constraints
    chosen : sequence of int
        Which rows hold.
    anchored : bool
        Whether anchors are given; else constraints begin wherever it is asked.
    A, M : array
        Coefficients of all rows and the mass matrix, in the state by which the order of elimination
        is chosen.
    """
    equations = functions.equations
    if functions.backend == "numpy" or equations.parameters or equations.timed:
        return None
    order = order_of(A, np.diagonal(M), chosen)
    n = len(equations.speed_names)
    if order.is_large:
        return None
    sizes = {"q": len(equations.coordinate_names), "u": n, "tau": n}
    sizes["anchors"] = constraints.anchors if anchored else 0
    inputs = tuple(Input(name, size) for name, size in sizes.items() if size)
    quaternions = tuple(("q", first) for first in equations.quaternions)
    declared = Signature("forward_dynamics", inputs, (n,), quaternions)
    make: Callable[[], Program] = partial(_program, declared, constraints, order)
    return functions.made(declared, make, constraints.key, order, refuse=_refuse)


def _program(declared: Signature, constraints: Constraints, order: Order) -> Program:
    graph = Graph()
    inputs = {each.name: graph.inputs(each.name, each.size) for each in declared.inputs}
    given = Given(graph, {"anchors": (), **inputs})
    if constraints.anchors and "anchors" not in inputs:
        given = given.but(anchors=constraints.begun(given))
    embedded = Embedded(constraints, given, order)
    udot = embedded.accelerations(constraints.equations, given["tau"])
    good = graph.select(graph.one - embedded.excess, graph.one, graph.zero)
    udot[0] = udot[0] / good  # no number where it is in doubt
    return Program(declared, tuple(udot))


def _refuse(_arrays: Sequence[Array], _result: Any) -> NoReturn:
    raise InDoubt
