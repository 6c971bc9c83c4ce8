"""Looking at a simulation under way: a bar in a terminal, a function that is told, cancelling."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple, TextIO

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError

PERIOD = 0.02
"""Seconds between two looks."""

BAR_AFTER = 0.5
"""Seconds after which a bar appears."""

BAR_WIDTH = 30


class Progress(NamedTuple):
    """How far a simulation has come.

    `share` goes from 0 to 1; t is simulated time (s); q, u and tau are the state at that time and
    the torques of the input.
    """

    share: float
    t: float
    q: Array
    u: Array
    tau: Array


ProgressChoice = Callable[[Progress], None] | bool | None
Cancel = Callable[[], bool]


class Watch:
    """Looks at a simulation every `PERIOD` seconds.

    Parameters
    ----------
    duration : float
        Of the simulation, s.
    progress : callable, bool or None
        Told how far the simulation is. Without one, a bar is shown if errors go to a terminal;
        False shows none.
    cancel : callable or None
        Asked whether to stop.
    """

    def __init__(self, duration: float, progress: ProgressChoice, cancel: Cancel | None) -> None:
        if cancel is not None and not callable(cancel):
            raise ArgumentError(f"cancel must be a function without arguments, got {cancel!r}")
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise ArgumentError(f"progress must be a function, a bool or None, got {progress!r}")
        self._duration = duration
        self._cancel = cancel
        self._tell = progress if callable(progress) else None
        terminal = progress in (None, True) and sys.stderr is not None and sys.stderr.isatty()
        self._bar: TextIO | None = sys.stderr if terminal else None
        self._drawn = False
        self._begin = self._last = self._asked = time.monotonic()

    def due(self) -> bool:
        """Whether it is time for a look."""
        return time.monotonic() - self._last >= PERIOD

    def stops(self, t: float, q: Array, u: Array, tau: Array) -> bool:
        """Look at the latest state; whether to stop."""
        self._last = time.monotonic()
        share = t / self._duration
        if self._tell is not None:
            self._tell(Progress(share, t, q.copy(), u.copy(), tau.copy()))
        if self._bar is not None and self._last - self._begin > BAR_AFTER:
            self._draw(self._bar, share)
        return self._cancel is not None and bool(self._cancel())

    def cancelled(self) -> bool:
        """Whether to stop, asked every `PERIOD` seconds where there is nothing new to look at."""
        now = time.monotonic()
        if self._cancel is None or now - max(self._last, self._asked) < PERIOD:
            return False
        self._asked = now
        return bool(self._cancel())

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None and self._drawn:
            self._bar.write("\r\x1b[K")
            self._bar.flush()

    def _draw(self, terminal: TextIO, share: float) -> None:
        full = round(BAR_WIDTH * share)
        left = (self._last - self._begin) * (1.0 - share) / max(share, 1e-9)
        bar = "█" * full + "░" * (BAR_WIDTH - full)
        terminal.write(f"\rsimulating {bar} {share:4.0%}  {left:.0f} s left\x1b[K")
        terminal.flush()
        self._drawn = True
