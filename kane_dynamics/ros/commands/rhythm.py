"""The rhythm of joint states: how often they come, how old they are, and what that allows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.ros.messages.stamps import SECOND

SLOWEST_PERIOD = 0.2
"""Seconds, beyond which joint states do not come late, but have stopped."""

_USUAL_PERIOD = 0.002  # s between joint states, until they have been seen
_FORGETTING = 0.02  # share of what was, that each joint state replaces
_LONGEST_LEAD = 0.005  # s, by which a command is taken to be under way
_CAUTIOUS_DELAY = 0.015  # s, for which gains are chosen after a jump
_OF_LONGEST = 0.35  # share of the longest time without a command and with an old state, that counts


class Rhythm:
    """Learns the times of joint states; those of commands follow them.

    Attributes
    ----------
    period : float
        Time in s from one to the next.
    stepped : int
        When the last one was answered by a command, in ns.
    cautious : bool
        Whether one has been wrong, so that gains should be low.
    """

    def __init__(self) -> None:
        self.period = _USUAL_PERIOD
        self.stepped = 0
        self.cautious = False
        self._newest, self._oldest, self._longest, self._came = 0.0, 0.0, 0.0, 0

    def begin(self, now: int) -> None:
        """Command from now on."""
        self.stepped, self.cautious = now, False

    def came(self, seen: NDArray[np.int64], now: int) -> None:
        """Learn from joint states that were true at times (n,), and come now."""
        period, self._came = (now - self._came) / SECOND, now
        if period < SLOWEST_PERIOD:
            newest, oldest = (max(now - int(t), 0) / SECOND for t in (seen.max(), seen.min()))
            self.period += _FORGETTING * (period - self.period)
            self._newest += _FORGETTING * (newest - self._newest)
            self._oldest += _FORGETTING * (oldest - self._oldest)

    def step(self, seen: NDArray[np.int64], now: int) -> float:
        """Learn that joint states are answered now; the time in s since the last ones were."""
        seconds = min((now - self.stepped) / SECOND, SLOWEST_PERIOD)
        late = seconds + 2.0 * (now - int(seen.min())) / SECOND
        self._longest = max(late, self._longest * (1.0 - seconds))
        self.stepped = now
        return seconds

    @property
    def lead(self) -> float:
        """Seconds until a command acts: as many as states take, but old stamps mean nothing."""
        return min(self._newest, _LONGEST_LEAD)

    @property
    def delay(self) -> float:
        """Seconds after which torques act: transport both ways, and until the next ones come.

        The joint counts that is heard of least; where states come irregularly, the longest time.
        """
        delay = max(self.period + 2.0 * self._oldest, _OF_LONGEST * self._longest)
        return max(delay, _CAUTIOUS_DELAY) if self.cautious else delay
