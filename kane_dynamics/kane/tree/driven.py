"""A robot that is driven: what accelerations, and their derivatives, are found from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kane_dynamics.kane.tree import factorization
from kane_dynamics.kane.tree.factorization import Eliminated
from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.mass import mass_matrix
from kane_dynamics.kane.tree.singular import doubtful_pivots
from kane_dynamics.kane.tree.steady import Steady, steady
from kane_dynamics.robot.tree import Tree
from kane_dynamics.symbolic.graph import Expr, Graph


@dataclass(frozen=True)
class Driven:
    """A tree at coordinates and speeds, under torques and forces of the joints.

    Attributes
    ----------
    graph : Graph
    tree : Tree
    grouped, balanced : sequence of FramedBody
        The bodies of the tree, for the mass matrix and for everything else.
    gravity : sequence of float
    q, u, tau : sequence of Expr
        Coordinates, speeds, and torques and forces of the joints, less friction.
    trials : sequence of sequence of float
        Parameters to judge the inertia of joints by.
    """

    graph: Graph
    tree: Tree
    grouped: Sequence[FramedBody]
    balanced: Sequence[FramedBody]
    gravity: Sequence[float]
    q: Sequence[Expr]
    u: Sequence[Expr]
    tau: Sequence[Expr]
    trials: Sequence[Sequence[float]]

    @cached_property
    def steady(self) -> Steady:
        """The motion that accelerations are reckoned from."""
        return steady(self.graph, self.balanced, self.gravity, self.q, self.u)

    @cached_property
    def mass_matrix(self) -> list[list[Expr]]:
        return mass_matrix(self.graph, self.grouped, self.q, len(self.u))

    @cached_property
    def eliminated(self) -> Eliminated:
        """The mass matrix ready to be solved with."""
        pivots = factorization.pivots(self.steady, self.mass_matrix)
        felt = [self.mass_matrix[r][r] for r in range(len(self.u))]
        return factorization.eliminated(self.steady, self.mass_matrix, self.doubtful(pivots, felt))

    def doubtful(self, pivots: Sequence[Expr], felt: Sequence[Expr]) -> set[int]:
        """Speeds whose pivots may vanish, beside the inertia that they feel as it is."""
        return doubtful_pivots(self.tree, self.steady.order, pivots, felt, self.trials)
