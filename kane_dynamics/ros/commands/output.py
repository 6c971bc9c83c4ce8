"""The last step before a command goes out: within effort limits, and without jumps."""

from __future__ import annotations

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.limits import clamped
from kane_dynamics.ros.robot.model import Model

RISE = 0.02
"""Seconds in which a torque may rise from zero to its limit, where no rate is given."""

_LONGEST_STEP = 0.05  # s that count between two commands
FADING = 0.3
"""Seconds over which other gains, or another way of resting, take over."""

_SETTLED = 1e-9  # N m or N


class Output:
    """Commands one after the other.

    Attributes
    ----------
    last : array (n,)
        The last command.
    lacking : array (n,)
        What the last command lacks to what was wanted.
    settled : bool
        Whether the last command is what was wanted.
    """

    def __init__(self, model: Model) -> None:
        count = len(model.joint_names)
        self._model = model
        self.last, self.lacking = np.zeros(count), np.zeros(count)
        self.settled = True
        self._rates = model.effort_limits / RISE
        self._at = 0
        self._fading: int | None = None
        self._seconds = 0.0
        self._offset: Array | None = None

    def limit_rates(self, rates: Array | None) -> None:
        """Let commands change by no more than this, in N m/s or N/s; None for the usual rates."""
        self._rates = self._model.effort_limits / RISE if rates is None else rates

    def begin(self, torques: Array, now: int, seconds: float) -> None:
        """Begin with these torques, from which others take over in so many seconds."""
        self.last, self._at = clamped(torques, self._model), now
        self.lacking = np.zeros_like(torques)
        self.fade(now, seconds)

    def fade(self, now: int, seconds: float = FADING) -> None:
        """Let the next torques take over from the present ones little by little."""
        self._fading, self._offset, self._seconds = now, None, seconds

    def shaped(self, torques: Array, now: int, urgent: bool) -> Array:
        """The command for torques that are wanted; where it is urgent, at once."""
        if urgent:
            self._fading = None
        else:
            torques = torques + self._faded(torques, now)
        seconds = min(max((now - self._at) / SECOND, 0.0), _LONGEST_STEP)
        most = self._rates * (seconds + 1e-12)  # more than none, for rates without limit
        allowed = clamped(torques, self._model)
        command = np.minimum(np.maximum(allowed, self.last - most), self.last + most)
        self.lacking = torques - command
        self.settled = bool((np.abs(allowed - command) <= _SETTLED).all())
        self.last, self._at = command, now
        return command

    def _faded(self, torques: Array, now: int) -> Array | float:
        if self._fading is None:
            return 0.0
        if self._offset is None:
            self._offset = self.last - torques
        elapsed = (now - self._fading) / SECOND
        if elapsed >= self._seconds:
            self._fading = None
            return 0.0
        return (1.0 - elapsed / self._seconds) * self._offset
