"""Python's lock, its garbage collector and its memory, kept from stopping the torques or growing.

A thread that computes in Python keeps the lock for 5 ms while others wait for it. A collection
stops all threads for as long as it takes to look at every object that may be part of a cycle: 40 ms
for what is imported, as much for a message of 50 000 points.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHORT_WAIT = 2e-5
"""Seconds after which Python's lock is handed to a thread that waits for it."""

MUCH = 10_000
"""Objects which are so many that a collection should not look at them."""

PIECE = 200
"""Elements of a list that are freed at once, while no other thread can run."""

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # of mallopt

_LARGE = 256 * 1024
"""Bytes from which on a piece of memory is given back to the system as soon as it is free."""

_usual_wait = sys.getswitchinterval()


def give_memory_back() -> None:
    """Let large pieces of memory go back to the system whenever they are free.

    The C library of GNU takes larger and larger ones from its own heap once such have been free,
    where what is small comes to lie between them: with messages of 50 000 points the node would
    hold twice as much after some minutes.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(_MMAP_THRESHOLD, _LARGE)
    mallopt(_TRIM_THRESHOLD, 4 * _LARGE)


def settle() -> None:
    """Collect what is garbage now, and never again look at what is not."""
    gc.collect()
    gc.freeze()


def free(message: object) -> None:
    """Free the points of a trajectory in a message, in pieces between which others can run."""
    for name in ("motion", "trajectory"):
        points = getattr(getattr(message, name, None), "points", [])
        many = len(points) > PIECE
        while points:
            del points[-PIECE:]
        if many:
            # Python remembers names of attributes that C has asked for, thousands of them that lie
            # among the points: each would keep a megabyte from being given back.
            ctypes.pythonapi.PyType_ClearCache()


class _Mode:
    """A way for the interpreter to work in, as long as a thread is in this context."""

    def __init__(self, begin: Callable[[], object], end: Callable[[], object]) -> None:
        self._begin, self._end = begin, end
        self._threads, self._lock = 0, threading.Lock()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self._count(+1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self._threads += change
            (self._begin if self._threads else self._end)()


def _rest() -> None:
    """Collect no garbage, once what there is by now is gone, lest it is kept with the rest."""
    if gc.isenabled():
        gc.collect()
    gc.disable()


def _collect_again() -> None:
    """Collect garbage from now on, but do not look at large messages that stay.

    What frees those is that nobody refers to them any longer. Where they are gone, a collection
    also gives back what Python keeps for lists, tuples and numbers to come, which lies among them.
    """
    if gc.get_count()[0] > MUCH:
        gc.freeze()
    else:
        gc.collect()
    gc.enable()


short_waits = _Mode(
    lambda: sys.setswitchinterval(SHORT_WAIT), lambda: sys.setswitchinterval(_usual_wait)
)
"""Lets no thread wait long for one that computes in Python: torques keep their rate."""

large_messages = _Mode(_rest, _collect_again)
"""Lets the collector rest while messages of many points are made, sent and freed."""
