"""A system clock for processes of a test, which the test sets as it likes."""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).with_name("set_clock.c")
_AGES = 3_000_000_000  # ns, after which no message is under way any more
_ROUNDING = 1_000_000  # ns, by which times of two processes may differ


class SystemClock:
    """How far the clock of processes that hold it is ahead of the machine's, in ns."""

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self._library, self._file = place / "set_clock.so", place / "ahead"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", "-o", str(self._library), str(SOURCE)], check=True
        )
        self._file.write_bytes(struct.pack("q", 0))
        with self._file.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 8)
        self.ahead = 0
        self._sets: list[tuple[int, int]] = [(0, 0)]

    @contextmanager
    def held_by_processes(self) -> Iterator[None]:
        """Processes that are started meanwhile have this clock."""
        os.environ["LD_PRELOAD"] = str(self._library)
        os.environ["SYSTEM_CLOCK_AHEAD"] = str(self._file)
        try:
            yield
        finally:
            del os.environ["LD_PRELOAD"], os.environ["SYSTEM_CLOCK_AHEAD"]

    def set(self, ahead: int) -> None:
        self._sets.append((time.time_ns(), ahead))
        self._shared[:] = struct.pack("q", ahead)
        self.ahead = ahead

    def between(self, begin: int, end: int) -> list[int]:
        """How far it was ahead from one time of the machine to another."""
        first = bisect_right(self._sets, begin, key=lambda each: each[0]) - 1
        last = bisect_right(self._sets, end, key=lambda each: each[0])
        return [ahead for _, ahead in self._sets[first:last]]

    def at_sending(self, sent: int, received: int, before: int | None = None) -> int:
        """How far it was ahead when a message was sent at its time, that came at the machine's.

        It was so at that time, the message came after it was sent, and the next one of its sender
        was sent not `before` it, where that is known; else it was under way as shortly as it can.
        """
        latest = received if before is None else min(received, before)

        def misfit(place: int) -> tuple[int, int]:
            since, ahead = self._sets[place]
            until = self._sets[place + 1][0] if place + 1 < len(self._sets) else received
            machine = sent - ahead
            outside = max(since - machine, machine - until, machine - latest, _ROUNDING)
            return outside, abs(received - machine)

        first = bisect_right(self._sets, received - _AGES, key=lambda each: each[0]) - 1
        last = bisect_right(self._sets, received, key=lambda each: each[0])
        return self._sets[min(range(max(first, 0), last), key=misfit)][1]
