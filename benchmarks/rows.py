"""A row of the table: something we do, what does the same, and how they should compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.timing import Times


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes
    ----------
    name : str
        By which a row is asked for.
    measured : str
        What is timed, for a reader.
    peer : str
        What it is timed against.
    goal : float or None
        The largest ratio of our time to the peer's that we accept.
    time : callable
        Does the measurement.
    """

    name: str
    measured: str
    peer: str
    goal: float | None
    time: Callable[[], Times]
