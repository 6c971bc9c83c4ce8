"""Functions of a state x = (q, u) of a system, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Function, Functions
from kane_dynamics.codegen.listing import listing
from kane_dynamics.errors import SingularError
from kane_dynamics.kane.general.equations import GeneralEquations
from kane_dynamics.names import unknown_name
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.program import Input, Program, Signature
from kane_dynamics.symbolic.substitution import substituted

Formal = Callable[[], Sequence[Expr]]
"""What gives the expressions of a function over formal inputs."""


def _refuse(_arrays: Sequence[Array], _result: Any) -> NoReturn:
    raise SingularError("the dependent speeds do not follow from the others here")


class Programs:
    """Functions over t (where anything depends on it), x, adjustable constants and inputs.

    Parameters
    ----------
    functions : Functions
        Of the equations without constraints.
    formal : dict
        By name the shape of what a function gives, and its expressions.
    """

    def __init__(
        self, functions: Functions, formal: dict[str, tuple[tuple[int, ...], Formal]]
    ) -> None:
        self._functions, self._formal = functions, formal
        self._made: dict[str, Function] = {}

    @property
    def equations(self) -> GeneralEquations:
        equations = self._functions.equations
        assert isinstance(equations, GeneralEquations)
        return equations

    def function(self, name: str) -> Function:
        """A function that takes and gives arrays."""
        if name not in self._made:
            declared = self.signature(name)
            make = partial(self.program, name)
            refuse = _refuse if name in ("rhs_checked", "choice") else None
            self._made[name] = self._functions.made(
                declared, make, "state", name, refuse=refuse, prompt=True
            )
        return self._made[name]

    def signature(self, name: str) -> Signature:
        if name not in self._formal:
            raise unknown_name("function", name, self._formal)
        equations = self.equations
        count = len(equations.coordinate_names) + len(equations.speed_names)
        time = (Input("t", 1),) if equations.timed else ()
        inputs = (*time, Input("x", count), *equations.parameters)
        shown = name.removesuffix("_checked")  # in messages
        return Signature(shown, inputs, self._formal[name][0])

    def program(self, name: str) -> Program:
        """The expressions of a function."""
        declared, graph = self.signature(name), Graph()
        given = {each.name: graph.inputs(each.name, each.size) for each in declared.inputs}
        split = len(self.equations.coordinate_names)
        given.update(q=given["x"][:split], u=given["x"][split:])
        formal = self._formal[name][1]()
        return Program(declared, tuple(substituted(graph, formal, given)))

    def source(self, name: str, language: str) -> str:
        """Equations as C, Python or LaTeX."""
        return listing(self.program(name), language, self.equations.heading)
