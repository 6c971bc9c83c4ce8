"""Velocities of joints that report none: differences of their positions over time."""

from __future__ import annotations

from math import exp

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.axes import Axes

SMOOTHING = 5.0
"""Periods of the joint states over which differences are smoothed."""

LONGEST_SMOOTHING = 0.05
"""Seconds over which they are smoothed at most."""

LONGEST_GAP = 0.25
"""Seconds after which a difference says nothing about the velocity now, which then counts as 0."""


class Differences:
    """Estimates velocities of joints from positions one after the other.

    Those that are continuous moved by less than half a turn since the last time.
    """

    def __init__(self, axes: Axes) -> None:
        self._axes = axes
        self._positions: Array | None = None
        self._velocities = np.zeros(len(axes.names))
        self._stamp, self._received, self._period = 0, 0.0, 0.0

    def velocities_at(self, positions: Array, stamp: int, received: float) -> Array:
        """Velocities, after the joints were seen at these positions.

        Parameters
        ----------
        positions : array (n,)
        stamp : int
            When that was, in ns, or zero.
        received : float
            When it was received, in s; that counts where there are no stamps.
        """
        before = self._positions
        stamped = stamp and self._stamp
        elapsed = (stamp - self._stamp) / SECOND if stamped else received - self._received
        if before is not None and elapsed == 0.0:
            return self._velocities
        if before is None or not 0.0 < elapsed < LONGEST_GAP:
            self._velocities = np.zeros(len(positions))
            self._period = 0.0
        else:
            self._smooth(self._axes.off(positions, before), elapsed)
        self._positions, self._stamp, self._received = positions.copy(), stamp, received
        return self._velocities

    def _smooth(self, moved: Array, elapsed: float) -> None:
        self._period += (elapsed - self._period) * (0.1 if self._period else 1.0)
        constant = min(SMOOTHING * self._period, LONGEST_SMOOTHING)
        kept = exp(-elapsed / constant)
        self._velocities = kept * self._velocities + ((1.0 - kept) / elapsed) * moved
