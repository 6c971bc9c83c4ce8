"""Constraints of a SymPy model, on the contract that those of trees use."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kane_dynamics.kane.constraints import Constraints, Row, Shape
from kane_dynamics.kane.equations import Given
from kane_dynamics.kane.general.equations import GeneralEquations
from kane_dynamics.kane.general.held import coefficients
from kane_dynamics.symbolic.graph import Expr, reachable
from kane_dynamics.symbolic.program import Input
from kane_dynamics.symbolic.substitution import substituted


class GeneralConstraints(Constraints):
    """All constraints of a model, its own and those that were given by name.

    Parameters
    ----------
    equations : GeneralEquations
        Of the mechanism without them.
    """

    equations: GeneralEquations

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(
            Shape(each.name, len(each.rows), 0, sum(row.error is not None for row in each.rows))
            for each in self.equations.reading.constraints
        )

    @property
    def key(self) -> Any:
        """Nothing more: the key of the equations says what the model holds."""
        return self.names

    def inputs(self, *names: str) -> tuple[Input, ...]:
        """And adjustable constants and inputs, where rows depend on them."""
        entries = {node.entry[0] for node in reachable(self._flat) if node.op == "input"}
        own = (each for each in self.equations.parameters if each.name in entries)
        return (*super().inputs(*names), *own)

    @cached_property
    def drifts(self) -> bool:
        return any(each is not self.equations.reading.graph.zero for each in self._rest)

    @cached_property
    def _rest(self) -> list[Expr]:
        """What velocities are where no speed is."""
        return coefficients(self.equations.reading, self._rows_held)[1]

    def moved_by_inputs(self, are_constant: bool) -> bool:
        """Whether inputs change what rows say on the way."""
        flat = self._rest if are_constant else self._flat
        return any(node.op == "input" and node.entry[0] == "inputs" for node in reachable(flat))

    def rows(self, given: Given) -> list[Row]:
        graph = given.graph
        still = {"aux": [graph.zero] * len(self.equations.reading.aux)}
        flat = substituted(graph, self._flat, {**given.inputs, **still})
        pairs = zip(flat[::2], flat[1::2], self._rows_held)
        return [Row(v, None if row.error is None else error) for v, error, row in pairs]

    def begun(self, given: Given) -> list[Expr]:
        return []

    @cached_property
    def _rows_held(self) -> tuple[Row, ...]:
        return tuple(row for each in self.equations.reading.constraints for row in each.rows)

    @cached_property
    def _flat(self) -> list[Expr]:
        zero = self.equations.reading.graph.zero
        return [
            each
            for row in self._rows_held
            for each in (row.velocity, zero if row.error is None else row.error)
        ]
