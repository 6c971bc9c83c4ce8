"""A reference motion as polynomials in time, the same for compiled and for Python code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Reference:
    """Polynomials of degree 5 for each joint, a set for each time span.

    Attributes
    ----------
    begins : array (S,)
        When each time span begins; the first also holds before it begins, the last for good.
    coefficients : array (S, n, 6)
        Of powers of the time since the span began.
    """

    begins: Array
    coefficients: Array

    def at(self, t: float, middle: float) -> tuple[Array, Array, Array]:
        """Position, speed and acceleration at t, in the time span in which `middle` lies."""
        index = max(int(np.searchsorted(self.begins, middle, side="right")) - 1, 0)
        c0, c1, c2, c3, c4, c5 = self.coefficients[index].T
        s = t - self.begins[index]
        position = c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))))
        speed = c1 + s * (2 * c2 + s * (3 * c3 + s * (4 * c4 + s * 5 * c5)))
        return position, speed, 2 * c2 + s * (6 * c3 + s * (12 * c4 + s * 20 * c5))


def set_point(positions: Array) -> Reference:
    """A reference that stands still."""
    coefficients = np.zeros((1, len(positions), 6))
    coefficients[0, :, 0] = positions
    return Reference(np.array([-1.0]), coefficients)


def along(trajectory: Trajectory) -> Reference:
    """A trajectory, with rest at its first point before it and at its last point after it."""
    positions = trajectory.positions
    coefficients = np.zeros((len(positions) + 1, positions.shape[1], 6))
    coefficients[0, :, 0], coefficients[-1, :, 0] = positions[0], positions[-1]
    if len(positions) > 1:
        coefficients[1:-1] = trajectory.coefficients
    return Reference(np.append(trajectory.begin - 1.0, trajectory.times), coefficients)
