"""What was wrong with messages: one sentence each, counted per cause, logged once in a while."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kane_dynamics.errors import ArgumentError

THROTTLE = 5.0
"""Seconds between two log entries of the same kind: of a cause, and alike but for numbers."""

_LONGEST = 300
_MOST_KINDS = 16  # of a cause; what comes beyond them, as from random messages, counts as one
_NUMBER = re.compile(r"(?<![\w.])[-+]?(\d[\d.]*(e[-+]?\d+)?|nan|inf)(?!\w)")


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


@contextmanager
def blamed_on(cause: str, what: str = "") -> Iterator[None]:
    """Raise arguments that are wrong as a fault with that cause, and say what they are about."""
    try:
        yield
    except (Fault, ArgumentError) as error:
        said = str(error).partition("History: ")[2] or str(error)  # that is no word of messages
        raise Fault(cause, f"{what}: {said}" if what else said) from None


def unforeseen(error: Exception) -> Fault:
    """The fault that an exception is which no part of the node has foreseen."""
    return Fault("internal error", f"{type(error).__name__}: {error}")


class Faults:
    """Counts faults of any thread, and logs them with the logger of a node."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._logged: dict[str, dict[str, tuple[float, int]]] = {}
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.latest: Fault | None = None

    def record(self, fault: Fault) -> None:
        """Count a fault; log it, unless one of the same kind was logged just now."""
        with self._lock:
            self.counts[fault.cause] += 1
            self.latest = fault
            now = time.monotonic()
            kinds = self._logged.setdefault(fault.cause, {})
            kind = _kind(fault.sentence, kinds, now)
            before, silent = kinds.get(kind, (-THROTTLE, 0))
            if now - before < THROTTLE:
                kinds[kind] = (before, silent + 1)
                return
            kinds[kind] = (now, 0)
        more = f" ({silent} more of this kind since the last such message)" if silent else ""
        self._logger.warning(f"{fault.cause}: {fault.sentence}{more}")

    @property
    def total(self) -> int:
        """Number of faults since the start."""
        return sum(self.counts.values())


def _kind(sentence: str, known: dict[str, tuple[float, int]], now: float) -> str:
    """The sentence without its numbers; empty if there are too many others to remember it."""
    kind = _NUMBER.sub("#", sentence)
    if kind in known or len(known) < _MOST_KINDS:
        return kind
    for each in [each for each, (logged, _) in known.items() if now - logged >= THROTTLE and each]:
        del known[each]
    return kind if len(known) < _MOST_KINDS else ""
