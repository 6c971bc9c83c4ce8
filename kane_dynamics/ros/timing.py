"""How long computations take: number, mean and longest between two readings."""

from __future__ import annotations


class Timing:
    """Collects durations in s."""

    def __init__(self) -> None:
        self.total = 0
        self._count, self._sum, self._longest = 0, 0.0, 0.0
        self._before = (0.0, 0.0)

    def add(self, seconds: float) -> None:
        """Take one duration."""
        self.total += 1
        self._count += 1
        self._sum += seconds
        if seconds > self._longest:
            self._longest = seconds

    def read(self) -> tuple[float, float]:
        """Mean and longest in s since the last reading; if there was none, those from before."""
        if self._count:
            self._before = (self._sum / self._count, self._longest)
            self._count, self._sum, self._longest = 0, 0.0, 0.0
        return self._before
