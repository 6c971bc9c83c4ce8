"""A row of a table: something we do, what does the same, and how they should compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.timing import Pair, Times, in_turns


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
    prepare : callable
        Makes what is timed, once it is seen that both give the same.
    turns : int
        How often the two take turns.
    """

    name: str
    measured: str
    peer: str
    goal: float | None
    prepare: Callable[[], Pair]
    turns: int

    def times(self, share: float = 1.0) -> Times:
        """Ours and the peer's, with a share of the turns."""
        return Times(*in_turns(self.prepare(), self._turns(share)))

    def ours(self, share: float = 1.0) -> float:
        """Ours alone."""
        return in_turns(self.prepare()[:1], self._turns(share))[0]

    def _turns(self, share: float) -> int:
        return max(1, round(share * self.turns))
