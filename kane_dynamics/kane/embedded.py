"""Accelerations under constraints that are known to hold, written out without any search.

`recombination` decides in every state which rows are independent, and which speeds follow from
others. Here that is decided once, by the numbers of one state. What is left are expressions: rows
and equations share what they have in common, zeros stay what they are, and all is compiled as one.
They hold wherever the order of elimination is about as good as it was; the `excess` says where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.kane.constraints import Constraints
from kane_dynamics.kane.equations import Equations, Given, expressions
from kane_dynamics.kane.linear import factorized, solved
from kane_dynamics.kane.recombination import (
    LEFT_OVER,
    REDUNDANT,
    SATISFIED,
    STAYS_BELOW,
    STEADY,
    normalized,
)
from kane_dynamics.symbolic.graph import Expr

NEARLY_LARGEST = 0.5
"""Share of the largest entry that may be eliminated by, if that leaves more zeros."""

NONE = 1e-12
"""Share of a row below which an entry is taken for zero where zeros are counted."""

LARGE = 1500
"""Products of independent and dependent speeds that are still written out."""

Sparse = dict[int, Expr]
"""A row without its zeros, by column."""


@dataclass(frozen=True)
class Order:
    """In which order rows are eliminated.

    Attributes
    ----------
    pivots : tuple of (int, int)
        A row, and the speed that follows from it.
    spare : tuple of int
        Rows that say nothing which others do not say.
    octaves : tuple of int
        Units of the speeds, in which the kinetic energy of each alone is about the same: powers of
        two, so that nearby states have the same.
    """

    pivots: tuple[tuple[int, int], ...]
    spare: tuple[int, ...]
    octaves: tuple[int, ...]

    @property
    def is_large(self) -> bool:
        """Whether what is written out would take too long to compile."""
        return len(self.pivots) * (len(self.octaves) - len(self.pivots)) > LARGE


def order_of(A: Array, inertia: Array, rows: Sequence[int]) -> Order:
    """The order for some of the rows, by Gauss' elimination with pivots that keep zeros.

    Parameters
    ----------
    A : array (m, n)
        Coefficients of the speeds in all rows.
    inertia : array (n,)
        Diagonal of the mass matrix.
    """
    scale = 1.0 / np.sqrt(np.where(inertia > 0.0, inertia, 1.0))
    left = normalized(A[list(rows)] * scale)[0]
    waiting, pivots = list(range(len(rows))), []
    taken = np.zeros(A.shape[1], bool)
    while waiting:
        sizes = np.where(taken, 0.0, np.abs(left[waiting]))
        largest = sizes.max(initial=0.0)
        if not largest > REDUNDANT:
            break
        some = sizes > NONE
        fill = np.outer(some.sum(axis=1) - 1, some.sum(axis=0) - 1) - 0.5 * sizes / largest
        fill = np.where(sizes >= NEARLY_LARGEST * largest, fill, np.inf)
        place, speed = divmod(int(fill.argmin()), len(scale))
        row = waiting.pop(place)
        pivots.append((rows[row], speed))
        taken[speed] = True
        left[waiting] -= np.outer(left[waiting, speed] / left[row, speed], left[row])
    octaves = tuple(int(each) for each in np.round(np.log2(scale)))
    return Order(tuple(pivots), tuple(rows[row] for row in waiting), octaves)


class Embedded:
    """Equations of a mechanism while rows hold that are eliminated in a given order.

    Parameters
    ----------
    constraints : Constraints
    given : Given
        q, u and anchors, and what the equations are given besides.
    order : Order
    """

    def __init__(self, constraints: Constraints, given: Given, order: Order) -> None:
        self._graph, self._given, self._order = given.graph, given, order
        self._dependent = [speed for _, speed in order.pivots]
        speeds = range(len(given["u"]))
        self._independent = [k for k in speeds if k not in self._dependent]
        own = [*(row for row, _ in order.pivots), *order.spare]
        matrix, bias = constraints.coefficients(given, own)
        self._rows = [_sparse(row) for row in matrix]
        self._bias = bias
        self._eliminate(self._rows[: len(order.pivots)], bias)

    def accelerations(self, equations: Equations, force: Sequence[Expr]) -> list[Expr]:
        """All of them, under generalized forces; not finite where a motion has no inertia.

        Parameters
        ----------
        equations : Equations
            Those of the constraints, or the same without dry friction.
        force : sequence of Expr
        """
        graph, given = self._graph, self._given
        udot = [graph.zero] * len(force)
        for speed, constant in zip(self._dependent, self._constants):
            udot[speed] = constant
        against = expressions(equations, "inverse_dynamics", given.but(udot=udot))
        flat, n = expressions(equations, "mass_matrix", given), len(force)
        columns = [self._combined(flat[n * k : n * (k + 1)]) for k in range(n)]
        rows = [self._combined(list(column)) for column in zip(*columns)]
        right = self._combined([a - b for a, b in zip(force, against)])
        own = solved(graph, factorized(graph, rows, range(len(rows))), right)
        for speed, rate in zip(self._independent, own):
            udot[speed] = rate
        for speed, row in zip(self._dependent, self._follow):
            udot[speed] = udot[speed] - graph.sum([e * udot[k] for k, e in row.items()])
        return udot

    # --------------------------------------------------------------------- whether that is good
    @cached_property
    def growth(self) -> Expr:
        """At most one where dependent speeds follow from others by little.

        And where elimination leaves enough of the pivots.
        """
        graph, terms = self._graph, []
        for speed, row in zip(self._dependent, self._follow):
            sizes = [self._unit(k) / self._unit(speed) / STAYS_BELOW for k in row]
            terms += [_square(size * e) for size, e in zip(sizes, row.values())]
        for inverse, parts in zip(self._inverse, self._parts):
            if len(parts) > 1:  # else nothing was taken from it
                squares = graph.sum([_square(part) for part in parts])
                terms.append(squares * _square(STEADY * inverse))
        return graph.sum(terms)

    @cached_property
    def excess(self) -> Expr:
        """At most one where all that was found in the first state is so still.

        Besides `growth`: no row that was eliminated has vanished, and those that were left over
        follow from the others and do not contradict them.
        """
        graph, order = self._graph, self._order
        squares = [self._length(row) for row in self._rows]
        longest = graph.sum(squares)
        terms = [self.growth]
        for speed, inverse, square in zip(self._dependent, self._inverse, squares):
            inverse = (1.0 / self._unit(speed)) * inverse
            share = STEADY**2 * square + REDUNDANT * longest
            terms.append(share * _square(inverse))
        rank = len(order.pivots)
        for row, bias, square in zip(self._rows[rank:], self._bias[rank:], squares[rank:]):
            left = self._left_of(row)
            if left:
                terms.append(_over(self._length(left), LEFT_OVER**2 * square))
            acting = [row[k] * c for k, c in zip(self._dependent, self._constants) if k in row]
            size = graph.sum([_square(each) for each in (*acting, bias)])
            terms.append(_over(_square(graph.sum([*acting, bias])), SATISFIED**2 * size))
        return graph.sum(terms)

    def _unit(self, speed: int) -> float:
        return float(2.0 ** self._order.octaves[speed])

    def _length(self, row: Sparse) -> Expr:
        """Square of the length of a row, speeds in their units."""
        return self._graph.sum([_square(self._unit(k) * e) for k, e in row.items()])

    def _left_of(self, row: Sparse) -> Sparse:
        """What is left of a row when dependent speeds are replaced."""
        left = {k: e for k, e in row.items() if k not in self._dependent}
        for speed, follow in zip(self._dependent, self._follow):
            for k, e in follow.items() if speed in row else ():
                left[k] = left.get(k, self._graph.zero) - row[speed] * e
        return {k: e for k, e in left.items() if e is not self._graph.zero}

    # ------------------------------------------------------------------------------ elimination
    def _eliminate(self, rows: Sequence[Sparse], bias: Sequence[Expr]) -> None:
        """u̇_D = constants - follow u̇_I."""
        graph, count = self._graph, len(rows)
        left, right = [dict(row) for row in rows], [-each for each in bias[:count]]
        self._parts = [[row[speed]] for row, speed in zip(rows, self._dependent)]
        self._inverse: list[Expr] = []
        for k, speed in enumerate(self._dependent):
            self._inverse.append(graph.one / left[k][speed])
            for i in range(k + 1, count):
                if speed not in left[i]:
                    continue
                share = left[i].pop(speed) * self._inverse[k]
                for j, entry in left[k].items():
                    if j == speed or j in self._dependent[:k]:
                        continue
                    taken = share * entry
                    left[i][j] = left[i].get(j, graph.zero) - taken
                    if j == self._dependent[i]:
                        self._parts[i].append(taken)
                right[i] = right[i] - share * right[k]
        self._follow: list[Sparse] = [{} for _ in rows]
        self._constants = list(right)
        for k in reversed(range(count)):
            row, constant = left[k], right[k]
            found = {j: e for j, e in row.items() if j in self._independent}
            for later in range(k + 1, count):
                share = row.get(self._dependent[later], graph.zero)
                if share is graph.zero:
                    continue
                for j, entry in self._follow[later].items():
                    found[j] = found.get(j, graph.zero) - share * entry
                constant = constant - share * self._constants[later]
            self._follow[k] = {j: e * self._inverse[k] for j, e in found.items()}
            self._constants[k] = constant * self._inverse[k]

    def _combined(self, column: Sequence[Expr]) -> list[Expr]:
        """Of equations of all speeds, those of the independent ones."""
        graph = self._graph
        own: list[Expr] = []
        for k in self._independent:
            terms = [
                row[k] * column[speed]
                for speed, row in zip(self._dependent, self._follow)
                if k in row
            ]
            own.append(column[k] - graph.sum(terms))
        return own


def _sparse(row: Sequence[Expr]) -> Sparse:
    return {k: e for k, e in enumerate(row) if e is not e.graph.zero}


def _square(e: Expr) -> Expr:
    return e * e


def _over(size: Expr, most: Expr) -> Expr:
    """None if the size is at most so much, else two."""
    graph = size.graph
    return graph.select(most - size, graph.zero, graph.constant(2.0))
