"""Links that joints could accelerate without effort, for which accelerations have no solution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.errors import SingularError
from kane_dynamics.robot.tree import Body, Tree

SINGULAR = 1e-13
"""A pivot this much smaller than its diagonal element is zero up to rounding."""


def speeds(body: Body) -> range:
    """The speeds of a body's joint."""
    return range(body.speed, body.speed + (6 if body.kind == "floating" else 1))


def singular_speed(M: NDArray[np.float64]) -> int | None:
    """The last speed whose pivot vanishes when a mass matrix is eliminated last to first."""
    rest = M.copy()
    for k in reversed(range(len(M))):
        if not rest[k, k] > SINGULAR * abs(M[k, k]):
            return k
        rest[:k, :k] -= np.outer(rest[:k, k], rest[k, :k]) / rest[k, k]
    return None


def singular_error(tree: Tree, speed: int, where: str) -> SingularError:
    """The error that names the link whose speed nothing resists."""
    body = next(body for body in tree.bodies if speed in speeds(body))
    return SingularError(
        f"forward dynamics has no solution {where}: link '{body.name}' and what it carries have "
        f"no inertia that joint '{body.joint}' could accelerate; give the link a mass and an "
        "inertia, or lock the joint"
    )
