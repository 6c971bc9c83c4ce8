"""Links that joints could accelerate without effort, for which accelerations have no solution."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.errors import SingularError
from kane_dynamics.robot.tree import Tree
from kane_dynamics.symbolic.evaluate import evaluate
from kane_dynamics.symbolic.graph import Expr

SINGULAR = 1e-13
"""A pivot this much smaller than its diagonal element is zero up to rounding."""

DOUBTFUL = 1e-6
"""A pivot this much smaller in one configuration may vanish in another."""


def doubtful_pivots(
    tree: Tree, order: Sequence[int], pivots: Sequence[Expr], diagonal: Sequence[Expr]
) -> set[int]:
    """Pivots of the mass matrix that are next to nothing in some configuration.

    Parameters
    ----------
    order : sequence of int
        The speeds that pivots and diagonal elements belong to.

    Raises
    ------
    SingularError
        If a pivot is zero in every configuration.
    """
    outputs = [*pivots, *diagonal]
    size = len(order)

    def ratios(q: Sequence[float]) -> list[float]:
        values = evaluate(outputs, {"q": q})
        return [values[k] / values[size + k] if values[size + k] > 0 else 0.0 for k in range(size)]

    generic = [ratios(q) for q in itertools.islice(_generic(tree), 3)]
    for k in reversed(range(size)):
        if not max(row[k] for row in generic) > SINGULAR:
            raise singular_error(tree, order[k], "in any configuration")
    special = [ratios(q) for q in _right_angles(tree)]
    return {k for row in special for k in range(size) if not row[k] > DOUBTFUL}


def _generic(tree: Tree) -> Iterator[list[float]]:
    """Configurations without any symmetry, the same every time."""
    for seed in itertools.count():
        q = [((37 * seed + 17 * k + 11) % 29) / 9.0 - 1.4 for k in range(tree.nq)]
        for body in tree.bodies:
            if body.quaternion is not None:
                at = slice(body.quaternion, body.quaternion + 4)
                length = math.hypot(*q[at])
                q[at] = [x / length for x in q[at]]
        yield q


def _right_angles(tree: Tree) -> Iterator[list[float]]:
    """Configurations in which links are stretched out or folded: joints at multiples of pi / 2."""
    joints = [b.coordinate for b in tree.bodies if b.kind == "revolute"]
    for seed, q in enumerate(itertools.islice(_generic(tree), 8)):
        for k, coordinate in enumerate(joints):
            q[coordinate] = math.pi / 2 * (((seed * (k + 1) * 5) // 3) % 4)
        yield q


def singular_speed(M: NDArray[np.float64]) -> int | None:
    """The last speed whose pivot vanishes when a mass matrix is eliminated last to first."""
    rest = M.copy()
    for k in reversed(range(len(M))):
        if not rest[k, k] > SINGULAR * M[k, k]:
            return k
        rest[:k, :k] -= np.outer(rest[:k, k], rest[k, :k]) / rest[k, k]
    return None


def singular_error(tree: Tree, speed: int, where: str) -> SingularError:
    """The error that names the link whose speed nothing resists."""
    body = next(body for body in tree.bodies if speed in body.speeds)
    floats = body.kind == "floating" and body.parent < 0
    cause = "a force could accelerate" if floats else f"joint '{body.joint}' could accelerate"
    cure = "" if floats else ", or lock the joint"
    return SingularError(
        f"forward dynamics has no solution {where}: link '{body.name}' and what it carries have "
        f"no inertia that {cause}; give the link a mass and an inertia{cure}"
    )
