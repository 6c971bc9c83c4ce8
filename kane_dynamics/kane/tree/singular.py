"""Links that joints could accelerate without effort, for which accelerations have no solution."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.errors import SingularError
from kane_dynamics.kane.linear import SINGULAR
from kane_dynamics.robot.tree import Tree
from kane_dynamics.symbolic.evaluate import evaluations
from kane_dynamics.symbolic.graph import Expr

DOUBTFUL = 1e-6
"""A pivot this much smaller in one configuration may vanish in another."""


def doubtful_pivots(
    tree: Tree,
    order: Sequence[int],
    pivots: Sequence[Expr],
    diagonal: Sequence[Expr],
    trials: Sequence[Sequence[float]] = ((),),
) -> set[int]:
    """Speeds whose pivots are next to nothing in some configuration.

    Parameters
    ----------
    order : sequence of int
        The speeds from the ground outward.
    pivots, diagonal : sequence of Expr
        Of every speed: the inertia it feels when the speeds outboard of it are free, and when no
        other speed changes, an element of the mass matrix.
    trials : sequence of sequence of float
        Parameters to try, the first of them without anything special about them.

    Raises
    ------
    SingularError
        If a pivot is zero in every configuration.
    """
    configurations = (*itertools.islice(generic_configurations(tree), 3), *_right_angles(tree))
    points = ({"q": q, "parameters": each} for each in trials for q in configurations)
    ratios = [
        [pivot / whole if whole > 0 else 0.0 for pivot, whole in zip(values, values[len(order) :])]
        for values in evaluations([*pivots, *diagonal], points)
    ]
    for speed in reversed(order):
        if not max(row[speed] for row in ratios[:3]) > SINGULAR:
            raise singular_error(tree, speed, "in any configuration")
    return {speed for row in ratios[3:] for speed in order if not row[speed] > DOUBTFUL}


def generic_configurations(tree: Tree) -> Iterator[list[float]]:
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
    for seed, q in enumerate(itertools.islice(generic_configurations(tree), 8)):
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
