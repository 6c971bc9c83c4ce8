"""Friction that the model does not know of, as the joints of a robot have shown it in motion."""

from __future__ import annotations

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.model import Model

WINDOW = 0.02
"""Seconds of motion that are looked at together: shorter ones show more of the noise."""

SLOW = 1e-2
"""Rad/s or m/s, below which dry friction grows with speed."""

_REMEMBERED = 3.0  # s of motion
_MOST = 0.25  # of the effort limits: what a joint loses beyond that is a blow, and no friction
_PRIOR = 0.02  # windows at full speed, in which there was no friction
_MADE_UP = 0.9  # share of it that is made up for: more than there is would drive light joints
_LONGEST_STEP, _OLDEST = 0.02, 0.01  # s


class Friction:
    """Viscous and dry friction (n,) of joints, fitted to what was commanded and how they moved."""

    def __init__(self, model: Model) -> None:
        self._model = model
        count = len(model.joint_names)
        self.viscous, self.dry = np.zeros(count), np.zeros(count)
        self._normal, self._right = np.zeros((3, count)), np.zeros((2, count))
        self._since: tuple[int, Array] | None = None
        self._sums = np.zeros((3, count))

    def at(self, velocities: Array) -> Array:
        """Torques that overcome it."""
        shares = np.minimum(np.maximum(velocities / SLOW, -1.0), 1.0)
        torques: Array = _MADE_UP * (self.viscous * velocities + self.dry * shares)
        return torques

    def look_away(self) -> None:
        """See nothing of the motion until the next state."""
        self._since = None

    def see(self, torques: Array, seen: Seen, now: int, seconds: float) -> None:
        """See a state in motion, and the torques, besides those that hold, that led to it.

        Nothing is learnt of states that are old, or so many seconds after the one before that
        nobody knows what acted.
        """
        positions, velocities, times = seen
        if now - int(times.min()) > _OLDEST * SECOND or seconds > _LONGEST_STEP:
            self._since = None
            return
        now = int(times.max())
        if self._since is None:
            self._since, self._sums = (now, velocities), np.zeros_like(self._sums)
            return
        still = np.zeros_like(positions)
        bias = self._model.rigid_efforts(positions, velocities, still)
        shares = np.minimum(np.maximum(velocities / SLOW, -1.0), 1.0)
        self._sums += seconds * np.array([torques - bias, velocities, shares])
        begin, before = self._since
        length = (now - begin) / SECOND
        if length < WINDOW:
            return
        drive, speed, share = self._sums / length
        inertial = self._model.mass_matrix(positions) @ (velocities - before) / length
        damping, dry = self._model.friction
        known = self._model.borne(positions, damping * speed + dry * share)
        self._fit(speed, share, drive - inertial - known, length)
        self._since, self._sums = (now, velocities), np.zeros_like(self._sums)

    def _fit(self, speed: Array, share: Array, lost: Array, length: float) -> None:
        """Weigh a window of motion in; what it tells of joints at rest is nothing."""
        most = _MOST * self._model.effort_limits
        lost = np.minimum(np.maximum(lost, -most), most)
        decay = 1.0 - np.abs(share) * length / _REMEMBERED
        self._normal = decay * self._normal + np.array([speed**2, speed * share, share**2])
        self._right = decay * self._right + np.array([speed * lost, share * lost])
        a, b, c = self._normal
        a, c = a + _PRIOR * self._model.usual_speeds**2, c + _PRIOR
        (p, q), determinant = self._right, a * c - b * b
        viscous, dry = (c * p - b * q) / determinant, (a * q - b * p) / determinant
        alone = viscous < 0.0
        viscous, dry = np.where(alone, 0.0, viscous), np.where(alone, q / c, dry)
        alone = dry < 0.0
        self.viscous = np.maximum(np.where(alone, p / a, viscous), 0.0)
        self.dry = np.maximum(np.where(alone, 0.0, dry), 0.0)
