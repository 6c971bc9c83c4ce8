"""Derivatives of accelerations by coordinates, speeds and torques.

Torques that stay the same while a coordinate changes say, by M udot + bias = tau, that M times the
change of udot is minus the change of the torques that the old udot would take. So the factors of
the mass matrix that gave udot give all of its derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.tree import factorization
from kane_dynamics.kane.tree.derivatives import Derivatives, inverse_dynamics_derivatives
from kane_dynamics.kane.tree.driven import Driven
from kane_dynamics.kane.tree.factorization import Eliminated
from kane_dynamics.symbolic.graph import Expr, Graph


def forward_dynamics_derivatives(driven: Driven, damping: Sequence[float]) -> Derivatives:
    """Derivatives of udot by q, u and tau, the last in place of those by udot.

    Parameters
    ----------
    driven : Driven
    damping : sequence of float
        Viscous friction felt by each speed, per unit of it.
    """
    graph, mass = driven.graph, driven.eliminated
    udot = factorization.accelerations(driven.steady, mass, driven.tau)
    torques = inverse_dynamics_derivatives(
        graph, driven.grouped, driven.gravity, driven.q, driven.u, udot
    )
    for r, each in enumerate(damping):
        torques.by_u[r][r] = torques.by_u[r][r] + each
    return Derivatives(
        _negative(mass, torques.by_q), _negative(mass, torques.by_u), _inverse(graph, mass)
    )


def _negative(mass: Eliminated, matrix: Sequence[Sequence[Expr]]) -> list[list[Expr]]:
    """Minus the inverse of M times a matrix."""
    columns = [mass.solved([-element for element in column]) for column in zip(*matrix)]
    return [list(row) for row in zip(*columns)]


def _inverse(graph: Graph, mass: Eliminated) -> list[list[Expr]]:
    """The inverse of M; of each pair of equal elements the one that takes less."""
    count = len(mass.order)
    result = [[graph.zero] * count for _ in range(count)]
    for place, s in enumerate(mass.order):
        column = mass.solved([graph.one if r == s else graph.zero for r in range(count)])
        for r in mass.order[: place + 1]:
            result[r][s] = result[s][r] = column[r]
    return result
