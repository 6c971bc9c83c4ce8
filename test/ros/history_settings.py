"""Parameters in the life of a process: which may have been in effect when."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from history_messages import MS, SECOND, Array, History, Life, Request

FADING = 0.3
"""Seconds over which other parameters take over."""

_BEGINS = 20 * MS  # after an answer, at the latest
_LASTS = round((FADING + 0.02) * SECOND)


class Fade(NamedTuple):
    """When something was asked and answered, the effect of which comes little by little."""

    begin: int
    end: int

    def begins(self, when: int) -> bool:
        """Whether the effect may only begin at a time."""
        return when <= self.end + _BEGINS


class Settings:
    """What the parameters may have been at a time."""

    def __init__(self, history: History, life: Life) -> None:
        rows = [s for s in history.settings if life.begin <= s.asked <= life.end]
        self.first = dict(rows[0].values)
        values, self._rows = dict(self.first), []
        for row in rows[1:]:
            if row.granted or row.answered is None:
                before, values = values, {**values, **row.values}
                answered = row.answered if row.answered is not None else life.end
                self._rows.append((row.asked, answered, before, values))
        self.idle_answered = [
            answered for _, answered, before, after in self._rows if before["idle"] != after["idle"]
        ]
        self._asked = [asked for asked, _, _, _ in self._rows]

    def between(self, begin: int, end: int) -> list[dict[str, Any]]:
        """All that may have been in effect from one time to another, newest first."""
        last = bisect_right(self._asked, int(end))
        found: list[dict[str, Any]] = []
        for _, answered, before, values in reversed(self._rows[max(last - 8, 0) : last]):
            found.append(values)
            if answered < begin:
                return found
            found.append(before)
        return found or [self.first]

    def fade(self, begin: int, end: int, enablings: Sequence[Request]) -> Fade | None:
        """The newest request whose effect comes little by little, and may not be whole yet."""
        last = bisect_right(self._asked, int(end))
        fades = [Fade(asked, done) for asked, done, _, _ in self._rows[max(last - 8, 0) : last]]
        last = bisect_right(enablings, end, key=lambda each: each.asked)
        for each in enablings[max(last - 8, 0) : last]:
            fades.append(Fade(each.asked, each.answered or end))
        lasting = [fade for fade in fades if fade.end + _LASTS >= begin]
        return max(lasting) if lasting else None

    def largest_rates(self, begin: int, end: int) -> Array:
        rates: Array = np.max([v["effort_rate"] for v in self.between(begin, end)], axis=0)
        return rates

    def smallest_rates(self, when: int) -> Array:
        rates: Array = np.min([v["effort_rate"] for v in self.between(when, when)], axis=0)
        return rates
