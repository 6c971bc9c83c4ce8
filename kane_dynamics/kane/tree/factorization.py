"""Forward dynamics by factorization of the mass matrix.

M udot = torques - bias is solved by elimination from the tips inward, the factorization
M = Lᵀ D L, which leaves every zero of M that the branching of the tree has put there in place.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kane_dynamics.kane.linear import factorized, solved
from kane_dynamics.kane.tree.inverse import torques_of
from kane_dynamics.kane.tree.steady import Steady
from kane_dynamics.robot.tree import Tree
from kane_dynamics.symbolic.graph import Expr


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
