"""Constraints of any mechanism as expressions: rows that are linear in the speeds, by name.

A row is a relative velocity v(q, u, t) that a constraint keeps at zero, and an error of the
configuration whose rate it is, zero for constraints of motion alone. From these follow, for all
rows, A = ∂v/∂u, the *drift* v - A u and, with accelerations A u̇ + (∂v/∂q) q̇ + ∂v/∂t = 0, the
*bias* (∂v/∂q) q̇ + ∂v/∂t.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from kane_dynamics.kane.equations import Equations, Given, expressions
from kane_dynamics.symbolic.derivative import derivatives, rates
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.program import Input, Program, Signature

Asked = tuple[Signature, Callable[[], Program], Any]
"""What a program takes and gives, how it is made, and what it depends on."""


@dataclass(frozen=True)
class Row:
    """What one row of a constraint keeps at zero.

    Attributes
    ----------
    velocity : Expr
        Linear in the speeds.
    error : Expr, optional
        Its rate is the velocity where it is zero; None for a constraint of motion alone.
    """

    velocity: Expr
    error: Expr | None = None


@dataclass(frozen=True)
class Limit:
    """Rows of a constraint that hold only while their force stays within a limit.

    Beyond it they slide under the kinetic force, against their own velocity.

    Attributes
    ----------
    rows : tuple of int
        One or two of the constraint's rows, one after the other; of two, the length of their force
        is limited.
    static, kinetic : float
        N or N m; or factors of the force of a row.
    of : (str, int), optional
        That row: the name of its constraint, and which of its rows.
    """

    rows: tuple[int, ...]
    static: float
    kinetic: float
    of: tuple[str, int] | None = None


@dataclass(frozen=True)
class Shape:
    """A constraint without its expressions.

    Attributes
    ----------
    name : str
    rows : int
    anchors : int
        Numbers that are found where it begins to hold, and kept from then on.
    positions : int
        How many of the rows, the first of them, are about positions and have an error.
    one_sided : bool
        Whether the first row only pushes: it is open where its error is positive.
    restitution : float
        Share of the impulse of compression that the first row then gives back (Poisson).
    limits : tuple of Limit
    """

    name: str
    rows: int
    anchors: int
    positions: int
    one_sided: bool = False
    restitution: float = 0.0
    limits: tuple[Limit, ...] = ()


class Constraints(ABC):
    """Constraints of one mechanism; all their rows stand in one program, one after the other.

    Parameters
    ----------
    equations : Equations
        Of the mechanism without them.
    """

    def __init__(self, equations: Equations) -> None:
        self.equations = equations

    @cached_property
    @abstractmethod
    def shapes(self) -> tuple[Shape, ...]:
        """The constraints, in the order of their rows."""

    @property
    @abstractmethod
    def key(self) -> Any:
        """What the expressions depend on, besides the equations."""

    @abstractmethod
    def rows(self, given: Given) -> list[Row]:
        """All rows, over inputs q, u and anchors."""

    @property
    def drifts(self) -> bool:
        """Whether a row asks for speeds that are not zero, as what is driven over time does."""
        return False

    @abstractmethod
    def begun(self, given: Given) -> list[Expr]:
        """The anchors of constraints that begin at q."""

    # ----------------------------------------------------------------------------- what follows
    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.shapes)

    @cached_property
    def row_slices(self) -> dict[str, slice]:
        """Where the rows of a constraint stand."""
        return _slices({each.name: each.rows for each in self.shapes})

    @cached_property
    def anchor_slices(self) -> dict[str, slice]:
        """Where the anchors of a constraint stand."""
        return _slices({each.name: each.anchors for each in self.shapes})

    @property
    def count(self) -> int:
        return sum(each.rows for each in self.shapes)

    @property
    def anchors(self) -> int:
        return sum(each.anchors for each in self.shapes)

    def inputs(self, *names: str) -> tuple[Input, ...]:
        """What programs take: t, if equations are timed, and of these names those not empty."""
        equations = self.equations
        sizes = {"q": len(equations.coordinate_names), "u": len(equations.speed_names)}
        sizes.update(t=int(equations.timed), anchors=self.anchors)
        return tuple(Input(name, sizes[name]) for name in ("t", *names) if sizes[name])

    def asked(self, name: str) -> Asked:
        """A program: ``"constraint_rows"``, or ``_errors``, ``_drifts``, ``_anchors`` of them.

        The first has, for every row, its coefficients of the speeds, its bias and its error.
        """
        n = len(self.equations.speed_names)
        taken, shape, made = {
            "constraint_rows": (("q", "u", "anchors"), (self.count, n + 2), self._rows),
            "constraint_errors": (("q", "anchors"), (self.count,), self._errors),
            "constraint_drifts": (("q", "anchors"), (self.count,), self._drifts),
            "constraint_anchors": (("q",), (self.anchors,), self.begun),
        }[name]
        inputs = self.inputs(*taken)
        quaternions = tuple(("q", first) for first in self.equations.quaternions)
        declared = Signature(name, inputs, shape, quaternions)
        return declared, partial(_program, declared, made), self.key

    def coefficients(
        self, given: Given, which: Sequence[int]
    ) -> tuple[list[list[Expr]], list[Expr]]:
        """Of the speeds in some of the rows, and the bias of these."""
        rows = self.rows(given)
        return self._coefficients(given, [rows[k].velocity for k in which])

    def _coefficients(
        self, given: Given, velocities: Sequence[Expr]
    ) -> tuple[list[list[Expr]], list[Expr]]:
        graph = given.graph
        qdot = expressions(self.equations, "coordinate_rates", given)
        bias = rates(graph, velocities, dict(zip(given["q"], qdot)))
        if self.equations.timed:
            bias = [a + b for a, (b,) in zip(bias, derivatives(graph, velocities, given["t"]))]
        return derivatives(graph, velocities, given["u"]), bias

    def _rows(self, given: Given) -> list[Expr]:
        rows, zero = self.rows(given), given.graph.zero
        matrix, bias = self._coefficients(given, [row.velocity for row in rows])
        errors = [zero if row.error is None else row.error for row in rows]
        return [each for row, b, e in zip(matrix, bias, errors) for each in (*row, b, e)]

    def _errors(self, given: Given) -> list[Expr]:
        zeros = [given.graph.zero] * len(self.equations.speed_names)
        rows = self.rows(given.but(u=zeros))
        return [given.graph.zero if row.error is None else row.error for row in rows]

    def _drifts(self, given: Given) -> list[Expr]:
        zeros = [given.graph.zero] * len(self.equations.speed_names)
        return [row.velocity for row in self.rows(given.but(u=zeros))]


def _program(declared: Signature, made: Callable[[Given], list[Expr]]) -> Program:
    graph = Graph()
    inputs = {each.name: graph.inputs(each.name, each.size) for each in declared.inputs}
    return Program(declared, tuple(made(Given(graph, {"anchors": (), **inputs}))))


def _slices(sizes: dict[str, int]) -> dict[str, slice]:
    found, begin = {}, 0
    for name, size in sizes.items():
        found[name] = slice(begin, begin + size)
        begin += size
    return found
