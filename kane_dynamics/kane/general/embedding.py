"""Equations of the independent speeds alone: constraints embedded by recombination.

Rows A u + b = 0 give dependent speeds u_D = A_rs u_I + …, and with them all speeds u = T u_I + …
(handbook, eqs. 6.66 and 6.67). Combined with T are either the equations of all speeds, or the
partial velocities that these come from, whichever takes fewer operations. Auxiliary speeds are
independent, too, and zero; their equations give the unknown forces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ModelError
from kane_dynamics.kane.constraints import Row
from kane_dynamics.kane.general import forward, mass
from kane_dynamics.kane.general.held import coefficients
from kane_dynamics.kane.general.nodes import Columns, Node
from kane_dynamics.kane.general.solving import solved_columns
from kane_dynamics.kane.linear import factorized, solved
from kane_dynamics.symbolic.collect import collected
from kane_dynamics.symbolic.derivative import derivatives, rates
from kane_dynamics.symbolic.evaluate import evaluations
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.program import operations
from kane_dynamics.symbolic.substitution import substituted

if TYPE_CHECKING:
    from kane_dynamics.kane.general.equations import Formulation, GeneralEquations
    from kane_dynamics.kane.general.motion import Moving

Rows = list[list[Expr]]


class Follow(NamedTuple):
    """How dependent speeds and their rates follow from the independent ones.

    Attributes
    ----------
    factors : list of list
        A row a dependent speed, a column an independent or an auxiliary one.
    constants, bias : list of Expr
        What is added to speeds, and to their rates.
    matrix : list of list
        Coefficients of all speeds in the rows that this was found from.
    """

    factors: Rows
    constants: list[Expr]
    bias: list[Expr]
    matrix: Rows


class Embedding:
    """Which speeds are dependent, and the equations of the others.

    Parameters
    ----------
    equations : GeneralEquations
        Of all speeds.
    dependent : sequence of int
        As many as there are constraints; none of these are auxiliary.
    """

    def __init__(self, equations: GeneralEquations, dependent: Sequence[int]) -> None:
        self.equations, self.reading = equations, equations.reading
        self.graph = self.reading.graph
        self.dependent = list(dependent)
        count = len(self.reading.u)
        self.independent = [k for k in range(count) if k not in self.dependent]
        self._formal: dict[str, list[Expr]] = {}
        self._ways: dict[str, Formulation] = {}
        self._follows: dict[Formulation, Follow] = {}

    def formal(self, name: str) -> list[Expr]:
        """The expressions of a program over formal inputs, in the cheapest way."""
        if name not in self._formal:
            write: Callable[[Formulation, bool], list[Expr]] = getattr(self, f"_{name}")
            written = [
                (self._with_dependent(way, write(way, combined)), way)
                for way in self.equations.formulations
                for combined in ((False, True) if self.dependent else (False,))
            ]
            best, self._ways[name] = min(written, key=lambda each: operations(each[0]).total)
            both = (best, collected(self.graph, best))
            self._formal[name] = min(both, key=lambda found: operations(found).total)
        return self._formal[name]

    # ---------------------------------------------------------------------- what constraints say
    def follow(self, way: Formulation) -> Follow:
        """A_rs, for auxiliary speeds too; and the constants of u_D and of its rate."""
        if way not in self._follows:
            found = [self._following(*self._as_stated)]
            if way.closing is not None:
                closed = self._as_closed(way.closing)
                if len(closed[0]) == len(self.dependent):
                    found.append(self._following(*closed))
            self._follows[way] = min(found, key=_cost)
        return self._follows[way]

    @cached_property
    def _rows(self) -> list[Row]:
        return [row for each in self.reading.constraints for row in each.rows]

    @cached_property
    def _as_stated(self) -> tuple[Rows, list[Expr], list[Expr]]:
        """A, b, and the rate of A u + b while no speed changes."""
        reading, graph = self.reading, self.graph
        if not self._rows:
            return [], [], []
        matrix, rest = coefficients(reading, self._rows)
        velocities = [row.velocity for row in self._rows]
        still = {"aux": [graph.zero] * len(reading.aux)}
        changing = reading.changing(velocities, "a constraint")
        return matrix, rest, substituted(graph, rates(graph, velocities, changing), still)

    def _as_closed(self, point: Moving) -> tuple[Rows, list[Expr], list[Expr]]:
        """The same of the point that is held, in the basis in which its velocity is given.

        Its acceleration there is the rate of the measure numbers, as they are zero.
        """
        assert self.reading.closure is not None
        pairs = [
            (v, a) for v, a in zip(point.velocity, point.acceleration) if v is not self.graph.zero
        ]
        matrix, rest = coefficients(self.reading, [Row(v) for v, _ in pairs])
        bias = [a for _, a in pairs]
        stated = self._as_stated
        for k in self.reading.closure.kept:
            matrix.append(stated[0][k])
            rest.append(stated[1][k])
            bias.append(stated[2][k])
        return matrix, rest, bias

    def _following(self, matrix: Rows, rest: Sequence[Expr], bias: Sequence[Expr]) -> Follow:
        if not matrix:
            return Follow([], [], [], [])
        columns = [*self.independent, *range(len(self.reading.u), len(matrix[0]))]
        block = [[row[k] for k in self.dependent] for row in matrix]
        right = [[*(-row[k] for k in columns), -b, -c] for row, b, c in zip(matrix, rest, bias)]
        found = solved_columns(self.graph, block, right, self.numbers(block))
        split = len(columns)
        return Follow(
            [row[:split] for row in found],
            [row[split] for row in found],
            [row[split + 1] for row in found],
            matrix,
        )

    def _speeds(self, way: Formulation) -> list[Expr]:
        found = self.follow(way)
        u = list(self.reading.u)
        for k, row, c in zip(self.dependent, found.factors, found.constants):
            terms = [a * self.reading.u[i] for a, i in zip(row, self.independent)]
            u[k] = self.graph.sum(terms) + c
        return u

    @property
    def speeds(self) -> list[Expr]:
        """All speeds, of which the dependent ones follow from the others."""
        return self._speeds(self._way)

    @property
    def _way(self) -> Formulation:
        """In which the right-hand side is written."""
        self.formal("rhs")
        return self._ways["rhs"]

    @cached_property
    def excess(self) -> Expr:
        """Sum of the squares of A_rs, and of the inverse of what the dependent speeds are found by.

        It is large where they follow from others badly, or not at all: where configurations meet,
        A_rs alone may stay small, as a quotient of two roundings. The inverse is measured by the
        lengths that constraints have elsewhere, so that their units are of no account.
        """
        graph, reading, follow = self.graph, self.reading, self.follow(self._way)
        block = [[row[k] for k in self.dependent] for row in follow.matrix]
        places = range(len(block))
        right = [[graph.one if i == j else graph.zero for j in places] for i in places]
        inverse = solved_columns(graph, block, right, self.numbers(block))
        numbers = self.numbers([row[: len(reading.u)] for row in follow.matrix])
        sizes = [graph.constant(float(each)) for each in (numbers**2).sum(axis=-1).mean(axis=0)]
        squares = [e * e for row in follow.factors for e in row]
        squares += [e * e * size for row in inverse for e, size in zip(row, sizes)]
        return graph.sum(squares)

    def _with_dependent(self, way: Formulation, outputs: Sequence[Expr]) -> list[Expr]:
        if not self.dependent:
            return list(outputs)
        return substituted(self.graph, outputs, {"u": self._speeds(way)})

    def _particular(self, way: Formulation) -> list[Expr]:
        """Accelerations that constraints ask for while no independent speed changes."""
        zeros = [self.graph.zero] * len(self.reading.u)
        for k, c in zip(self.dependent, self.follow(way).bias):
            zeros[k] = c
        return zeros

    def _all_rates(self, way: Formulation, own: Sequence[Expr]) -> list[Expr]:
        """All accelerations, from those of the independent speeds."""
        found = self._particular(way)
        for k, each in zip(self.independent, own):
            found[k] = each
        for k, row in zip(self.dependent, self.follow(way).factors):
            found[k] = self.graph.sum([a * b for a, b in zip(row, own)]) + found[k]
        return found

    # --------------------------------------------------------------------------- recombinations
    def _combined(self, way: Formulation, all_rows: Sequence[Expr]) -> list[Expr]:
        """Of the equations of all speeds, those of independent ones, then of auxiliary ones."""
        count, follow = len(self.reading.u), self.follow(way).factors
        taken = [*self.independent, *range(count, count + len(self.reading.aux))]
        return [
            self.graph.sum(
                [all_rows[k], *(row[j] * all_rows[d] for row, d in zip(follow, self.dependent))]
            )
            for j, k in enumerate(taken)
        ]

    def _resisting(self, way: Formulation, combined: bool) -> list[Expr]:
        """Terms without accelerations of independent speeds; linear in unknown forces."""
        free = self._combined(way, way.resisting(False))
        if not self.dependent:
            return free
        if combined:
            both = substituted(self.graph, way.resisting(True), {"udot": self._particular(way)})
            return self._combined(way, both)
        # what dependent speeds resist is known from the mass matrix
        by_mass = [self._moved_mass(way)[d] for d in self.dependent]
        return [
            total + self.graph.sum([row[j] * c for row, c in zip(by_mass, self.follow(way).bias)])
            for j, total in enumerate(free)
        ]

    def _nodes(self, way: Formulation) -> list[Node]:
        """With recombined partial velocities."""
        places = {k: j for j, k in enumerate(self.independent)}
        for j in range(len(self.reading.aux)):
            places[len(self.reading.u) + j] = len(self.independent) + j
        return [
            replace(
                node,
                turns=self._recombined(way, node.turns, places),
                moves=self._recombined(way, node.moves, places),
            )
            for node in way.nodes
        ]

    def _recombined(self, way: Formulation, columns: Columns, places: dict[int, int]) -> Columns:
        follow = self.follow(way).factors
        found: Columns = {}
        for k, column in columns.items():
            pairs = (
                [(places[k], None)]
                if k in places
                else list(enumerate(follow[self.dependent.index(k)]))
            )
            for j, factor in pairs:
                if factor is self.graph.zero:
                    continue
                part = column if factor is None else factor * column
                found[j] = found[j] + part if j in found else part
        return dict(sorted(found.items()))

    def _moved_mass(self, way: Formulation) -> Rows:
        """M T: a row a speed."""
        return [self._combined(way, row) for row in way.mass]

    def _mass(self, way: Formulation, combined: bool) -> Rows:
        """Coefficients of accelerations of independent speeds; rows of auxiliary speeds last."""
        own, edges = len(self.independent), way.motion(False).edges
        if combined:
            nodes = self._nodes(way)
            rows = mass.mass_rows(self.graph, nodes, edges, own + len(self.reading.aux))
            return [row[:own] for row in rows]
        columns = self._moved_mass(way)
        turned = [
            self._combined(way, [columns[i][j] for i in range(len(columns))]) for j in range(own)
        ]
        return [[turned[j][i] for j in range(own)] for i in range(own + len(self.reading.aux))]

    def _solved(self, way: Formulation, combined: bool) -> tuple[list[Expr], list[Expr]]:
        """Accelerations of independent speeds, and unknown forces."""
        graph, own = self.graph, len(self.independent)
        resisting = self._resisting(way, combined)
        unknown = graph.inputs("unknown", len(self.reading.unknown))
        nothing = self.nothing
        free = substituted(graph, resisting, nothing)
        by_force = derivatives(graph, resisting, unknown)
        for node in (e for row in by_force for e in row):
            if substituted(graph, [node], nothing)[0] is not node:
                raise ModelError(
                    "a load is not linear in the unknown forces "
                    f"{', '.join(map(str, self.reading.unknown))}"
                )
        coupled = any(e is not graph.zero for row in by_force[:own] for e in row)
        if coupled:
            rows = [[*a, *b] for a, b in zip(self._mass(way, combined), by_force)]
            right = [[-each] for each in free]
            found = [row[0] for row in solved_columns(graph, rows, right, self.numbers(rows))]
            return found[:own], found[own:]
        right_side = [-each for each in free[:own]]
        if combined:
            edges = way.motion(False).edges
            udot = forward.accelerations(graph, self._nodes(way), edges, right_side)
        elif not self.dependent:
            udot = way.accelerations(right_side)
        else:
            rows = self._mass(way, combined)[:own]
            udot = solved(graph, factorized(graph, rows), right_side)
        if not unknown:
            return udot, []
        inserted = {"udot": self._all_rates(way, udot), **nothing}
        left = self._combined(way, substituted(graph, way.resisting(True), inserted))[own:]
        rows = by_force[own:]
        forces = solved_columns(graph, rows, [[-each] for each in left], self.numbers(rows))
        return udot, [row[0] for row in forces]

    # ------------------------------------------------------------- for the equations of all speeds
    def couples(self, way: Formulation) -> bool:
        """Whether unknown forces stand in the equations of speeds, as friction does."""
        count, by_force = len(self.reading.u), self._by_force(way)
        return any(e is not self.graph.zero for row in by_force[:count] for e in row)

    def without_unknown(self, way: Formulation, accelerated: bool) -> list[Expr]:
        """Kane's equations of all speeds, in which unknown forces are replaced."""
        graph, count = self.graph, len(self.reading.u)
        whole = way.resisting(accelerated)
        if not self.reading.unknown:
            return whole[:count]
        free = substituted(graph, whole, self.nothing)
        if not self.couples(way):
            return free[:count]
        by_force, own = self._by_force(way), len(self.independent)
        columns = [self._combined(way, list(column))[own:] for column in zip(*by_force)]
        rows = [list(row) for row in zip(*columns)]
        right = [[-each] for each in self._combined(way, free)[own:]]
        forces = solved_columns(graph, rows, right, self.numbers(rows))
        return [
            total + graph.sum([a * b for a, (b,) in zip(row, forces)])
            for total, row in zip(free[:count], by_force)
        ]

    def _by_force(self, way: Formulation) -> Rows:
        unknown = self.graph.inputs("unknown", len(self.reading.unknown))
        return derivatives(self.graph, way.resisting(False), unknown)

    @property
    def nothing(self) -> dict[str, list[Expr]]:
        """Unknown forces that do not act."""
        return {"unknown": [self.graph.zero] * len(self.reading.unknown)}

    def numbers(self, rows: Sequence[Sequence[Expr]]) -> Array:
        flat = [e for row in rows for e in row]
        trials = [{**each, "udot": [0.0] * len(self.reading.u)} for each in self.reading.trials]
        values = np.array(list(evaluations(flat, trials)))
        return values.reshape(len(values), len(rows), -1)

    # ---------------------------------------------------------------------------------- programs
    def _rhs(self, way: Formulation, combined: bool) -> list[Expr]:
        udot, _ = self._solved(way, combined)
        return [*self.reading.qdot, *self._all_rates(way, udot)]

    def _udot(self, way: Formulation, combined: bool) -> list[Expr]:
        return self._all_rates(way, self._solved(way, combined)[0])

    def _forces(self, way: Formulation, combined: bool) -> list[Expr]:
        return self._solved(way, combined)[1]

    def _mass_matrix(self, way: Formulation, combined: bool) -> list[Expr]:
        own = len(self.independent)
        return [element for row in self._mass(way, combined)[:own] for element in row]

    def _bias(self, way: Formulation, combined: bool) -> list[Expr]:
        free = self._resisting(way, combined)[: len(self.independent)]
        return substituted(self.graph, free, self.nothing)


def _cost(follow: Follow) -> int:
    factors = [e for row in follow.factors for e in row]
    return operations([*factors, *follow.constants, *follow.bias]).total
