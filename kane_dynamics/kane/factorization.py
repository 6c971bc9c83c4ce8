"""Forward dynamics by factorization of the mass matrix.

M udot = torques - bias is solved by elimination from the tips inward, the factorization
M = Lᵀ D L, which leaves every zero of M that the branching of the tree has put there in place.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kane_dynamics.kane.inverse import torques_of
from kane_dynamics.kane.singular import sound
from kane_dynamics.kane.steady import Steady
from kane_dynamics.robot.tree import Tree
from kane_dynamics.symbolic.graph import Expr, Graph


def least_operations(tree: Tree) -> int:
    """What the elimination alone takes, if it is the branching that leaves zeros in M.

    To eliminate a speed is a product and a difference for each pair of speeds inboard of it. Those
    of its own joint are left out, for a free body by itself is simple.
    """
    inboard: dict[int, set[int]] = {}
    carried: list[set[int]] = []
    for body in tree.bodies:
        above = carried[body.parent] if body.parent >= 0 else set()
        for speed in body.speeds:
            inboard[speed] = inboard.get(speed, set()) | (above - {speed})
        carried.append(above.union(body.speeds))
    return sum(len(each) * (len(each) + 1) for each in inboard.values())


def pivots(steady: Steady, M: Sequence[Sequence[Expr]]) -> list[Expr]:
    """The inertia felt at each speed when the speeds outboard are free, in the order of speeds."""
    order = steady.order
    found = factorized(steady.graph, [[M[r][s] for s in order] for r in order]).pivots
    return [pivot for _, pivot in sorted(zip(order, found), key=lambda pair: pair[0])]


def accelerations(
    steady: Steady, M: Sequence[Sequence[Expr]], tau: Sequence[Expr], doubtful: Collection[int]
) -> list[Expr]:
    """udot; the speeds are eliminated from the tips inward.

    Parameters
    ----------
    M : sequence of sequence of Expr
        The mass matrix.
    tau : sequence of Expr
        Torques and forces of the joints, less friction.
    doubtful : collection of int
        Speeds whose pivots may vanish.
    """
    graph, order = steady.graph, steady.order
    needed = torques_of(graph, steady.bodies, steady.joints, steady.motions, len(order))
    ordered = [[M[r][s] for s in order] for r in order]
    factors = factorized(graph, ordered, [k for k, r in enumerate(order) if r in doubtful])
    udot = list(steady.udot)
    for r, change in zip(order, solved(graph, factors, [tau[r] - needed[r] for r in order])):
        udot[r] = udot[r] + change
    return udot


@dataclass(frozen=True)
class Factorization:
    """M = Lᵀ D L, row by row.

    Attributes
    ----------
    lower : list of dict
        Nonzero elements of the unit lower triangular L left of the diagonal, a row each.
    pivots : list of Expr
        Diagonal of D: the inertia felt at each speed when the speeds outboard of it are free.
    """

    lower: list[dict[int, Expr]]
    pivots: list[Expr]


def factorized(
    graph: Graph, M: Sequence[Sequence[Expr]], doubtful: Collection[int] = ()
) -> Factorization:
    """Eliminate the speeds last to first (Featherstone 2005, the order that keeps the zeros).

    Parameters
    ----------
    doubtful : collection of int
        Pivots that may vanish; these become zero where rounding is all that is left of them.
    """
    count = len(M)
    rows = [
        {j: M[i][j] for j in range(i + 1) if M[i][j] is not graph.zero or i == j}
        for i in range(count)
    ]
    for k in reversed(range(count)):
        if k in doubtful:
            rows[k][k] = sound(rows[k][k], M[k][k])
        inverse = graph.one / rows[k][k] if rows[k][k] is not graph.zero else graph.zero
        scaled = {j: element * inverse for j, element in rows[k].items() if j != k}
        for i, factor in scaled.items():
            for j in scaled:
                if j <= i:
                    before = rows[i].get(j, graph.zero)
                    rows[i][j] = before - factor * rows[k][j]
        rows[k] = {**scaled, k: rows[k][k]}
    pivots = [rows[k].pop(k) for k in range(count)]
    return Factorization(rows, pivots)


def solved(graph: Graph, factors: Factorization, right: Sequence[Expr]) -> list[Expr]:
    """x in Lᵀ D L x = right."""
    x = list(right)
    count = len(x)
    for i in reversed(range(count)):
        for j, element in factors.lower[i].items():
            x[j] = x[j] - element * x[i]
    for i in range(count):
        x[i] = x[i] * (graph.one / factors.pivots[i])
        for j, element in factors.lower[i].items():
            x[i] = x[i] - element * x[j]
    return x
