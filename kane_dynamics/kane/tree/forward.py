"""Forward dynamics: accelerations from torques, in as few operations as the robot allows.

There are two formulations. The factorization of the mass matrix has little to do for each pair of
joints that are carried by each other, the formulation of order n has more to do for each joint;
which one is smaller is counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.tree import factorization, order_n
from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.mass import diagonal, mass_matrix
from kane_dynamics.kane.tree.singular import doubtful_pivots
from kane_dynamics.kane.tree.steady import steady
from kane_dynamics.robot.tree import Tree
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.program import operations


def forward_dynamics(
    graph: Graph,
    tree: Tree,
    grouped: Sequence[FramedBody],
    balanced: Sequence[FramedBody],
    gravity: Sequence[float],
    q: Sequence[Expr],
    u: Sequence[Expr],
    tau: Sequence[Expr],
    trials: Sequence[Sequence[float]] = ((),),
) -> list[Expr]:
    """udot, not finite where rounding is all that is left of the inertia that a joint feels.

    Parameters
    ----------
    grouped, balanced : sequence of FramedBody
        The bodies of the tree, for the mass matrix and for everything else.
    tau : sequence of Expr
        Torques and forces of the joints, less friction.
    trials : sequence of sequence of float
        Parameters to judge the inertia of joints by.
    """
    start = steady(graph, balanced, gravity, q, u)
    if not all(joint.passes_inertia for joint in start.joints):
        whole = mass_matrix(graph, grouped, q, len(u))
        felt = [whole[r][r] for r in range(len(u))]
        pivots = factorization.pivots(start, whole)
        doubtful = doubtful_pivots(tree, start.order, pivots, felt, trials)
        return factorization.accelerations(
            start, factorization.eliminated(start, whole, doubtful), tau
        )
    udot, pivots = order_n.accelerations(start, tau, {})
    M = None
    # With many joints in a row it is known beforehand that the mass matrix takes more.
    if factorization.least_operations(tree) < operations(udot).total:
        M = mass_matrix(graph, grouped, q, len(u))
    felt = [M[r][r] for r in range(len(u))] if M else diagonal(graph, grouped, q, len(u))
    doubtful = doubtful_pivots(tree, start.order, pivots, felt, trials)
    if doubtful:
        udot, _ = order_n.accelerations(start, tau, {r: felt[r] for r in doubtful})
    if M is None:
        return udot
    mass = factorization.eliminated(start, M, doubtful)
    factored = factorization.accelerations(start, mass, tau)
    return min(factored, udot, key=lambda outputs: operations(outputs).total)
