"""How a system changes from state to state: linear equations, equilibria, other speeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.general.equations import GeneralEquations
from kane_dynamics.kane.linearize import Linearization
from kane_dynamics.symbolic.derivative import derivatives
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.substitution import substituted
from kane_dynamics.symbolic.vector import Vector

if TYPE_CHECKING:
    from kane_dynamics.kane.general.nodes import Node

BALANCED = 1e-12
SMALLEST = 1e-3
"""Forces this much smaller than those at the start, or than this number, count as none."""

MOST_STEPS = 200
LONGEST_STEP = 0.5


def linear_terms(equations: GeneralEquations) -> list[Expr]:
    """Derivatives of the rates of coordinates and independent speeds, and of constraints.

    A row for every rate, then one for every coordinate that the model names dependent; columns for
    coordinates, independent speeds and inputs.
    """
    reading, embedding = equations.reading, equations.embedding
    nq = len(reading.q)
    rhs = embedding.formal("rhs")
    rates = [*rhs[:nq], *(rhs[nq + k] for k in embedding.independent)]
    speeds = [reading.u[k] for k in embedding.independent]
    variables = [*reading.q, *speeds, *reading.inputs]
    qdot = substituted(reading.graph, rates, {"u": embedding.speeds})
    errors = [row.error for row in dependent_rows(equations) if row.error is not None]
    found = derivatives(reading.graph, [*qdot, *errors], variables)
    return [each for row in found for each in row]


def dependent_rows(equations: GeneralEquations) -> list[Any]:
    """The constraints of the configuration that give the coordinates named dependent."""
    reading = equations.reading
    rows = [row for each in reading.constraints if not each.named for row in each.rows]
    rows = [row for row in rows if row.error is not None]
    return rows if len(rows) == reading.model.dependent_coordinates else []


def linearization(
    equations: GeneralEquations, terms: Array, input_names: tuple[str, ...]
) -> Linearization:
    """From the numbers of `linear_terms`, (r, c) or (N, r, c)."""
    nq, chosen = len(equations.coordinate_names), equations.embedding.independent
    p, count = len(chosen), len(dependent_rows(equations))
    size, kept = nq + p, nq - count
    whole, slopes = terms[..., :size, :], terms[..., size:, :nq]
    states = [*equations.coordinate_names[:kept], *(equations.speed_names[k] for k in chosen)]
    by_q = whole[..., :nq]
    if count:
        # dependent coordinates deviate so that the constraints stay satisfied
        follow = -np.linalg.solve(slopes[..., kept:], slopes[..., :kept])
        by_q = by_q[..., :kept] + by_q[..., kept:] @ follow
    A = np.concatenate([by_q, whole[..., nq:size]], axis=-1)
    rows = [*range(kept), *range(nq, size)]
    return Linearization(A[..., rows, :], whole[..., rows, size:], tuple(states), input_names)


def static_terms(equations: GeneralEquations) -> list[Expr]:
    """What is left of forces and errors of the configuration, each with its slopes by q."""
    reading, embedding = equations.reading, equations.embedding
    left = list(embedding.formal("bias"))
    for each in reading.constraints:
        left += [row.error for row in each.rows if row.error is not None]
    slopes = derivatives(reading.graph, left, reading.q)
    return [e for one, row in zip(left, slopes) for e in (*row, one)]


def balanced(terms: Callable[[Array], Array], q: Array, names: tuple[str, ...]) -> Array:
    """Coordinates near given ones at which nothing is left, by damped Gauss-Newton steps.

    Raises
    ------
    ArgumentError
        If none is found; the message names what is left.
    """
    now = terms(q)
    enough = BALANCED * max(float(np.abs(now[:, -1]).max(initial=0.0)), SMALLEST)
    damping = 1e-6
    for _ in range(MOST_STEPS):
        S, left = now[:, :-1], now[:, -1]
        if np.abs(left).max(initial=0.0) <= enough:
            return q
        size = float(np.linalg.norm(S)) or 1.0
        step = -np.linalg.solve(S.T @ S + damping * size**2 * np.eye(len(q)), S.T @ left)
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        after = terms(q + step)
        if np.linalg.norm(after[:, -1]) < np.linalg.norm(left):
            q, now, damping = q + step, after, max(0.1 * damping, 1e-14)
        elif np.abs(left).max() <= 1e3 * enough:
            return q  # rounding is all that is left
        else:
            damping *= 10.0
            if damping > 1e12:
                break
    left = now[:, -1]
    worst = int(np.argmax(np.abs(left)))
    raise ArgumentError(
        f"there is no equilibrium near the guess: {left[worst]:.3g} is left of {names[worst]!r}; "
        "begin elsewhere, or give the forces that hold it"
    )


def momentum_terms(equations: GeneralEquations) -> list[Expr]:
    """Linear momentum, and angular momentum about the fixed point, in the inertial frame."""
    reading = equations.reading
    kinematics, way = reading.kinematics, equations.formulations[0]
    linear = angular = kinematics.zero
    origin = _fixed_point(equations)
    for node, moving in zip(way.nodes, way.motion(False).moving):
        if node.mass is not None:
            own = kinematics.turned(node.mass * moving.velocity, node.basis, kinematics.inertial)
            linear = linear + own
            angular = angular + _position(equations, origin, node).cross(own)
        if node.inertia is not None:
            spin = node.inertia @ moving.omega
            angular = angular + kinematics.turned(spin, node.frame, kinematics.inertial)
    return [*linear, *angular]


def _fixed_point(equations: GeneralEquations) -> Any:
    """A point of the model that does not move, from which all bodies can be found."""
    kinematics = equations.reading.kinematics
    seen: list[Any] = []
    waiting = [node.point for node in equations.formulations[0].nodes if node.mass is not None]
    while waiting:
        point = waiting.pop(0)
        if point in seen:
            continue
        seen.append(point)
        if kinematics.inertial in point._vel_dict and point._vel_dict[kinematics.inertial] == 0:
            return point
        waiting += point._pos_dict
    raise ArgumentError("momentum: there is no fixed point from which bodies can be found")


def _position(equations: GeneralEquations, origin: Any, node: Node) -> Vector:
    kinematics = equations.reading.kinematics
    parts = kinematics.position(origin, node.point)
    if parts is None:
        raise ArgumentError(f"momentum: the position of {node.name} from {origin} is not stated")
    if node.offset is not None:
        parts = [*parts, (node.offset, node.frame)]
    return kinematics.gathered(parts, kinematics.inertial)
