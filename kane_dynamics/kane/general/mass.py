"""The mass matrix, from what the inertia of a node and of all that moves with it feels."""

from __future__ import annotations

from collections.abc import Sequence

from kane_dynamics.kane.general.composite import composite_rows, has_composites
from kane_dynamics.kane.general.forward import Quadratic, in_terms_of_parent, inertia_of
from kane_dynamics.kane.general.motion import Edge
from kane_dynamics.kane.general.nodes import Node
from kane_dynamics.symbolic.graph import Expr, Graph


def mass_rows(
    graph: Graph, nodes: Sequence[Node], edges: Sequence[Edge | None], speeds: int
) -> list[list[Expr]]:
    """Coefficients of the rates of speeds in the generalized inertia forces, sign turned.

    Parameters
    ----------
    speeds : int
        Auxiliary ones included.
    """
    if has_composites(nodes):
        return composite_rows(graph, nodes, edges, speeds)
    costs = [inertia_of(graph, node) for node in nodes]
    ground = Quadratic()
    for i in reversed(range(len(nodes))):
        node = nodes[i]
        cost = in_terms_of_parent(graph, node, edges[i], costs[i], speeds)
        target = ground if node.parent < 0 else costs[node.parent]
        for pair, element in cost.A.items():
            target.add(*pair, element)
    rows = [[graph.zero] * speeds for _ in range(speeds)]
    for (i, j), element in ground.A.items():
        rows[i][j] = rows[j][i] = element
    return rows
