"""Forward dynamics by factorization of the mass matrix.

M udot = torques - bias is solved by elimination from the tips inward, the factorization
M = Lᵀ D L, which leaves every zero of M that the branching of the tree has put there in place.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kane_dynamics.kane.linear import Factorization, factorized, solved
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


@dataclass(frozen=True)
class Eliminated:
    """The mass matrix with all speeds eliminated, from the tips inward."""

    order: Sequence[int]
    factors: Factorization

    def solved(self, right: Sequence[Expr]) -> list[Expr]:
        """x in M x = right; all in the order of speeds."""
        graph = right[0].graph
        found = solved(graph, self.factors, [right[r] for r in self.order])
        return [x for _, x in sorted(zip(self.order, found), key=lambda pair: pair[0])]


def eliminated(
    steady: Steady, M: Sequence[Sequence[Expr]], doubtful: Collection[int]
) -> Eliminated:
    """The mass matrix M ready to be solved with; `doubtful` are speeds whose pivots may vanish."""
    order = steady.order
    ordered = [[M[r][s] for s in order] for r in order]
    places = [k for k, r in enumerate(order) if r in doubtful]
    return Eliminated(order, factorized(steady.graph, ordered, places))


def accelerations(steady: Steady, mass: Eliminated, tau: Sequence[Expr]) -> list[Expr]:
    """udot, for torques and forces tau of the joints, less friction."""
    bodies, joints, motions = steady.bodies, steady.joints, steady.motions
    needed = torques_of(steady.graph, bodies, joints, motions, len(tau))
    changes = mass.solved([torque - each for torque, each in zip(tau, needed)])
    return [udot + change for udot, change in zip(steady.udot, changes)]
