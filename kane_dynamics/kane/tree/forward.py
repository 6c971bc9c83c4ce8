"""Forward dynamics: accelerations from torques, in as few operations as the robot allows.

There are two formulations. The factorization of the mass matrix has little to do for each pair of
joints that are carried by each other, the formulation of order n has more to do for each joint;
which one is smaller is counted.
"""

from __future__ import annotations

from kane_dynamics.kane.tree import factorization, order_n
from kane_dynamics.kane.tree.driven import Driven
from kane_dynamics.kane.tree.mass import diagonal
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.program import operations


def forward_dynamics(driven: Driven) -> list[Expr]:
    """udot, not finite where rounding is all that is left of the inertia that a joint feels."""
    steady, tau, count = driven.steady, driven.tau, len(driven.u)
    if not all(joint.passes_inertia for joint in steady.joints):
        return factorization.accelerations(steady, driven.eliminated, tau)
    udot, pivots = order_n.accelerations(steady, tau, {})
    # With many joints in a row it is known beforehand that the mass matrix takes more.
    if factorization.least_operations(driven.tree) < operations(udot).total:
        M = driven.mass_matrix
        felt = [M[r][r] for r in range(count)]
    else:
        M = None
        felt = diagonal(driven.graph, driven.grouped, driven.q, count)
    doubtful = driven.doubtful(pivots, felt)
    if doubtful:
        udot, _ = order_n.accelerations(steady, tau, {r: felt[r] for r in doubtful})
    if M is None:
        return udot
    mass = factorization.eliminated(steady, M, doubtful)
    factored = factorization.accelerations(steady, mass, tau)
    return min(factored, udot, key=lambda outputs: operations(outputs).total)
