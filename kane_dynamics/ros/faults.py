"""What was wrong with messages: one sentence each, logged with a throttle, counted per cause."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

THROTTLE = 5.0
"""Seconds between two log entries of the same cause."""

_LONGEST = 300


class Fault(Exception):
    """A message or request that cannot be served.

    Parameters
    ----------
    cause : str
        A few words, the same for all faults of a kind; the diagnostics count by it.
    sentence : str
        What was wrong with this one, and what was expected.
    """

    def __init__(self, cause: str, sentence: str) -> None:
        shown = sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 3]}..."
        super().__init__(shown)
        self.cause = cause
        self.sentence = shown


class Unsafe(Fault):
    """A fault with which a robot must not be commanded on."""


class Faults:
    """Counts faults and logs them.

    Parameters
    ----------
    logger : rclpy logger
    """

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._logged: dict[str, tuple[float, int]] = {}
        self.counts: Counter[str] = Counter()
        self.latest: Fault | None = None

    def record(self, fault: Fault) -> None:
        """Count a fault; log it, unless one of the same cause was logged just now."""
        cause = fault.cause
        self.counts[cause] += 1
        self.latest = fault
        now = time.monotonic()
        before, silent = self._logged.get(cause, (-THROTTLE, 0))
        if now - before < THROTTLE:
            self._logged[cause] = (before, silent + 1)
            return
        self._logged[cause] = (now, 0)
        more = f" ({silent} more of this kind since the last such message)" if silent else ""
        self._logger.warning(f"{cause}: {fault.sentence}{more}")

    @property
    def total(self) -> int:
        """Number of faults since the start."""
        return sum(self.counts.values())
