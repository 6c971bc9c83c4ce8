"""The limits of the URDF on positions and speeds: what goes beyond them, and walls before them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model

WALL = 10.0
"""Rad/s: how stiff the wall before a stop is, critically damped."""

_SLOW_FROM = 0.8  # share of the velocity limit, from which on a floating arm is held back
_HOLD_BACK = 100.0  # 1/s
_MARGIN_SHARE = 0.05  # of the range of a joint, which no margin exceeds
_AT_REST = 0.01  # share of the usual speed, below which a joint runs into nothing
_EFFORT_TO_BRAKE = 0.5  # share of the effort that gravity leaves, with which a joint is stopped


class Bounds:
    """Positions and speeds that the joints of a robot must keep.

    The settings say how far before a stop a floating arm is caught, and how far beyond it a joint
    may seem to be while it follows; by which share a joint may exceed its velocity limit; and how
    far from the arm a trajectory may begin.
    """

    def __init__(self, model: Model, settings: Settings) -> None:
        self._model = model
        limits = model.dynamics.limits
        self._lower, self._upper = limits.lower, limits.upper
        self._margin = np.minimum(
            settings.position_margin, _MARGIN_SHARE * (self._upper - self._lower)
        )
        self._speeds = model.velocity_limits * (1.0 + settings.velocity_margin)
        self._start_tolerance = settings.start_tolerance
        self._low_wall, self._high_wall = self._lower + self._margin, self._upper - self._margin

    def begin(self, positions: Array) -> None:
        """Take an arm as it is: one that is beyond a wall already is not pushed back."""
        self._low_wall = np.minimum(self._lower + self._margin, positions)
        self._high_wall = np.maximum(self._upper - self._margin, positions)

    def too_far_off(self, begin: Array, positions: Array) -> str:
        """The sentence about a joint that is not where a trajectory begins; empty if none is."""
        off = self._model.apart(begin, positions)
        worst, tolerance = int(off.argmax()), self._start_tolerance
        if off[worst] <= tolerance:
            return ""
        return (
            f"joint {self._model.joint_names[worst]!r} is {off[worst]:.3g} from where the "
            f"trajectory begins, start_tolerance is {tolerance:g}"
        )

    def too_fast(self, velocities: Array) -> str:
        """The sentence about a joint that is too fast; empty if none is."""
        excess = np.abs(velocities) - self._speeds
        worst = int(excess.argmax())
        if not excess[worst] > 0.0:
            return ""
        name, limit = self._model.joint_names[worst], self._model.velocity_limits[worst]
        return (
            f"joint {name!r} moves at {velocities[worst]:.3g} {self._model.axes.unit(worst)}/s, "
            f"its limit is {limit:g}"
        )

    def too_far(self, positions: Array, velocities: Array) -> str:
        """The sentence about a joint that is beyond its stop, or can hardly stop before it.

        A joint that is beyond its limit but does not move farther is left alone.
        """
        soon = positions + 0.5 * velocities  # in half a second
        moves = _AT_REST * self._model.usual_speeds
        outward = ((velocities > moves) & (soon > self._upper)) | (
            (velocities < -moves) & (soon < self._lower)
        )
        if not outward.any():
            return ""
        ends = positions + np.sign(velocities) * self._stopping(positions, velocities)
        beyond = np.maximum(ends - self._upper, self._lower - ends) - self._margin
        beyond[~outward] = -np.inf
        worst = int(beyond.argmax())
        if not beyond[worst] > 0.0:
            return ""
        name, unit = self._model.joint_names[worst], self._model.axes.unit(worst)
        limit = self._upper[worst] if velocities[worst] > 0.0 else self._lower[worst]
        return (
            f"joint {name!r} is at {positions[worst]:.3g} {unit} and moves at "
            f"{velocities[worst]:.3g} {unit}/s towards its stop at {limit:.4g}"
        )

    def walled(
        self, accelerations: Array, positions: Array, velocities: Array, period: float
    ) -> Array:
        """Accelerations of a floating arm, held back before stops and before velocity limits.

        The more so, the more often a joint state comes: every `period` s.
        """
        speeds = np.abs(velocities)
        excess = speeds - _SLOW_FROM * self._model.velocity_limits
        if (excess > 0.0).any():
            back = min(_HOLD_BACK, 0.2 / period) * np.sign(velocities) * np.maximum(excess, 0.0)
            accelerations = accelerations - back
        wall = min(WALL, 0.1 / period)
        high = wall**2 * (self._high_wall - positions) - 2.0 * wall * velocities
        low = wall**2 * (self._low_wall - positions) - 2.0 * wall * velocities
        near_high = (velocities > 0.0) | (positions > self._high_wall)
        near_low = (velocities < 0.0) | (positions < self._low_wall)
        accelerations = np.where(near_high, np.minimum(accelerations, high), accelerations)
        return np.where(near_low, np.maximum(accelerations, low), accelerations)

    def _stopping(self, positions: Array, velocities: Array) -> Array:
        """Distances within which the joints can be stopped."""
        model = self._model
        able = model.decelerations(positions, velocities, _EFFORT_TO_BRAKE)
        return velocities**2 / (2.0 * np.maximum(able, 1e-9))


def outside(positions: Array, lower: Array, upper: Array) -> NDArray[np.bool_]:
    """Which positions are beyond their limits, rounding aside."""
    slack = 1e-6 + 1e-9 * np.maximum(np.abs(lower), np.abs(upper))
    return (positions < lower - slack) | (positions > upper + slack)
