"""A robot seen from one of its links: inertia, forces and torques in its directions of motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError

NEARLY_SINGULAR = 1e-6
"""Mobility in a direction, beside that in others, below which its inverse is damped."""


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """inertia · acceleration + bias = force, in some rows of the Jacobian of a link.

    Every attribute has N in front for a batch of N states.

    Attributes
    ----------
    jacobian : array (m, dof)
        The rows chosen: velocity of the link's origin, then angular velocity, world-aligned.
    inertia : array (m, m)
        The inertia felt at the link, (J M⁻¹ Jᵀ)⁻¹.
    bias : array (m,)
        The force and torque at the link that give it no acceleration, gravity included.
    gravity : array (m,)
        The same for the weight alone.
    drift : array (m,)
        Acceleration of the link while no speed changes.
    damped : bool, or array (N,)
        Whether the link can hardly move in some direction: the inertia, infinite there, is then
        finite, and commanded accelerations are not reached there.
    """

    jacobian: Array
    inertia: Array
    bias: Array
    gravity: Array
    drift: Array
    damped: Any
    _inverse: Array  # dynamically consistent, (dof, m)

    @property
    def null_space(self) -> Array:
        """(dof, dof): what is left of torques when it is to accelerate the link in no row."""
        identity = np.eye(self.jacobian.shape[-1])
        return np.asarray(identity - _T(self.jacobian) @ _T(self._inverse))

    @property
    def message(self) -> str:
        """What to know about it; empty if nothing."""
        if not np.any(self.damped):
            return ""
        where = "" if np.ndim(self.damped) == 0 else f" in {int(np.sum(self.damped))} states"
        return f"the link can hardly move in some direction{where}: its inertia there is damped"

    def torques(
        self,
        acceleration: ArrayLike,
        wrench: ArrayLike | None = None,
        null_torque: ArrayLike | None = None,
    ) -> Array:
        """Joint torques that accelerate the link, (dof,) or (N, dof).

        Parameters
        ----------
        acceleration : array (m,)
            Of the link, in the rows chosen, m/s² and rad/s².
        wrench : array (m,), optional
            Force (N) and torque (N m) that the link exerts on its surroundings.
        null_torque : array (dof,), optional
            Joint torques of which that part is added that does not accelerate the link: it moves
            what a redundant robot has left to be moved.
        """
        rows, dof = self.jacobian.shape[-2:]
        wanted = _vector("acceleration", acceleration, rows, self.bias)
        force = _times(self.inertia, wanted) + self.bias
        if wrench is not None:
            force = force + _vector("wrench", wrench, rows, self.bias)
        torque = _times(_T(self.jacobian), force)
        if null_torque is not None:
            more = _vector("null_torque", null_torque, dof, torque)
            torque = torque + _times(self.null_space, more)
        return np.asarray(torque)


def operational_space(
    jacobian: Array, M: Array, bias: Array, gravity: Array, drift: Array
) -> OperationalSpace:
    """From rows of a Jacobian, mass matrix, joint torques, and the acceleration at constant u."""
    answer = np.linalg.solve(M, _T(jacobian))
    mobility = jacobian @ answer
    inertia, damped = _damped_inverse(0.5 * (mobility + _T(mobility)))
    inverse = answer @ inertia
    along = _T(inverse)
    felt = _times(along, bias) - _times(inertia, drift)
    held = _times(along, gravity)
    return OperationalSpace(jacobian, inertia, felt, held, drift, damped[()], inverse)


def _damped_inverse(mobility: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The inverse, and whether it had to be damped.

    Rows are scaled first, so that metres and radians can be compared; damping begins where the
    smallest eigenvalue passes `NEARLY_SINGULAR`, without a jump (Nakamura and Hanafusa, 1986).
    """
    diagonal = np.diagonal(mobility, axis1=-2, axis2=-1)
    largest = diagonal.max(axis=-1, keepdims=True)
    floor = np.where(largest > 0.0, 1e-300 + 1e-24 * largest, 1.0)
    scale = 1.0 / np.sqrt(np.maximum(diagonal, floor))
    values, vectors = np.linalg.eigh(scale[..., :, None] * mobility * scale[..., None, :])
    least = values[..., :1]
    damped = least < NEARLY_SINGULAR
    share = np.clip(1.0 - least / NEARLY_SINGULAR, 0.0, 1.0)
    damping = np.where(damped, NEARLY_SINGULAR * share, 0.0) ** 2
    inverse = values / (values**2 + np.where(damped, np.maximum(damping, 1e-300), 0.0))
    scaled = (vectors * inverse[..., None, :]) @ _T(vectors)
    return scale[..., :, None] * scaled * scale[..., None, :], damped[..., 0]


def checked_rows(rows: Sequence[int]) -> list[int]:
    """Rows of a Jacobian.

    Raises
    ------
    ArgumentError
        If they are not one to six different numbers from 0 to 5.
    """
    try:
        chosen = [int(row) for row in rows if not isinstance(row, (str, bool))]
        whole = len(chosen) == len(rows) and all(a == b for a, b in zip(chosen, rows))
    except (TypeError, ValueError):
        chosen, whole = [], False
    if (
        not whole
        or not chosen
        or len(set(chosen)) < len(chosen)
        or not set(chosen) <= set(range(6))
    ):
        raise ArgumentError(
            f"operational_space: rows are {rows!r}, expected different numbers from 0 to 5: "
            "velocity x y z, then angular velocity x y z"
        )
    return chosen


def _vector(name: str, value: ArrayLike, size: int, like: Array) -> Array:
    """An argument of `torques`, of one state or of as many as there are."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"torques: {name} must be an array of real numbers") from error
    allowed = {(size,), (*like.shape[:-1], size)}
    if array.shape not in allowed:
        shapes = " or ".join(map(str, sorted(allowed, key=len)))
        raise ArgumentError(f"torques: {name} must have shape {shapes}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"torques: every entry of {name} must be finite")
    return array


def _times(matrix: Array, v: Array) -> Array:
    return np.asarray((matrix @ v[..., None])[..., 0])


def _T(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)
