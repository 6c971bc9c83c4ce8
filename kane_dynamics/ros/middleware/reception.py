"""When messages came: by the middleware's clock, not when somebody had time to read them.

A process that was stopped finds messages waiting in the buffers of the system, which the middleware
inside it then receives all at once. Only their sender knows how old they are, and his clock may be
another; but the shortest way that his messages have taken by the two clocks is known, and what one
takes longer it has waited somewhere. A message that was under way while the clock was set back
seems to come before it was sent: such a way is not the shortest.
"""

from __future__ import annotations

import time
from typing import Any

from kane_dynamics.ros.messages.stamps import SECOND

WINDOW = 5.0
"""Seconds after which the shortest way is looked for anew; the one before counts as long again."""

_MOST_SENDERS = 32
_SET = SECOND // 50  # ns by which steady time and the system clock part when that is set


class Reception:
    """Tells when messages of a subscription came."""

    def __init__(self) -> None:
        self._ways: dict[Any, _ShortestWay] = {}
        self._ahead = time.time_ns() - time.monotonic_ns()
        self._set_back, self._set_until = 0, 0.0

    def time_of(self, info: Any) -> float:
        """When a message came, in s of `time.monotonic`; now, if its info does not say.

        Parameters
        ----------
        info : dict
            As rclpy gives it: source_timestamp and received_timestamp in ns of the system clock,
            and publisher_gid where the version of rclpy has it.
        """
        now = time.monotonic()
        try:
            sent, received = info["source_timestamp"], info["received_timestamp"]
            if received <= 0:
                return now
            back = self._set_back_lately(now)
            waited = time.time_ns() - received
            waited += back if waited < 0 else 0
            if sent > 0:
                waited += self._way_of(info, now).excess(received - sent, now, back)
        except (TypeError, KeyError):
            return now
        return now - waited / SECOND if waited > 0 else now

    def _set_back_lately(self, now: float) -> int:
        """By how many ns the clock was set back while messages may have been under way."""
        steady = time.monotonic_ns()
        ahead = time.time_ns() - steady
        if time.monotonic_ns() - steady < _SET // 4:  # else something came between
            if ahead < self._ahead - _SET:
                self._set_back, self._set_until = self._ahead - ahead, now + WINDOW
            self._ahead = ahead
        return self._set_back if now < self._set_until else 0

    def _way_of(self, info: Any, now: float) -> _ShortestWay:
        gid = info.get("publisher_gid")
        sender = None if gid is None else gid["data"]
        way = self._ways.get(sender)
        if way is None:
            if len(self._ways) >= _MOST_SENDERS:
                self._ways.clear()
            way = self._ways[sender] = _ShortestWay(now)
        return way


class _ShortestWay:
    """The shortest time in ns that messages of a sender took, by his clock and ours."""

    def __init__(self, now: float) -> None:
        self._before: int | None = None
        self._shortest: int | None = None
        self._until = now + WINDOW

    def excess(self, taken: int, now: float, back: int = 0) -> int:
        """How much longer than the shortest a message took.

        Parameters
        ----------
        taken : int
            Time in ns from when it was sent until it was received.
        back : int
            By how many ns the clock may have been set back on the way.
        """
        known = [way for way in (self._before, self._shortest) if way is not None]
        if back and known and taken < min(known) - back // 2:
            taken += back
        if now > self._until:
            self._before, self._shortest = self._shortest, None
            self._until = now + WINDOW
        if self._shortest is None or taken < self._shortest:
            self._shortest = taken
        before = self._before
        return taken - (self._shortest if before is None else min(self._shortest, before))
