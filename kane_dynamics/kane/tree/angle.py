"""Angles of joints, with their cosines and sines as expressions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kane_dynamics.kane.tree.frames import quarter_turns
from kane_dynamics.symbolic.graph import Expr, Graph

_RIGHT_ANGLES = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


@dataclass(frozen=True)
class Angle:
    """An angle as expression plus number, with cosine and sine of the sum."""

    variable: Expr
    offset: float
    cos: Expr
    sin: Expr

    def plus(self, other: Angle) -> Angle:
        return angle(self.variable + other.variable, self.offset + other.offset)


def angle(variable: Expr, offset: float) -> Angle:
    """cos(x + offset) and sin(x + offset); an offset by right angles costs nothing."""
    graph = variable.graph
    turns = quarter_turns(offset)
    if turns is None:
        shifted = variable + offset
        return Angle(variable, offset, graph.cos(shifted), graph.sin(shifted))
    cos, sin = graph.cos(variable), graph.sin(variable)
    for _ in range(turns):
        cos, sin = -sin, cos
    return Angle(variable, offset, cos, sin)


def constant_angle(graph: Graph, value: float) -> tuple[Expr, Expr]:
    """Cosine and sine of a number."""
    turns = quarter_turns(value)
    cos, sin = (math.cos(value), math.sin(value)) if turns is None else _RIGHT_ANGLES[turns]
    return graph.constant(cos), graph.constant(sin)
