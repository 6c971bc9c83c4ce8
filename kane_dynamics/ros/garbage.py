"""Python's garbage collector, kept from stopping the torques.

A collection stops all threads for as long as it takes to look at every object that may be part of a
cycle: 40 ms for what is imported, as much for a message of 50 000 points.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MUCH = 10_000
"""Objects which are so many that a collection should not look at them."""

PIECE = 200
"""Elements of a list that are freed at once, while no other thread can run."""

_users = 0
_lock = threading.Lock()


def settle() -> None:
    """Collect what is garbage now, and never again look at what is not."""
    gc.collect()
    gc.freeze()


@contextmanager
def large_messages() -> Iterator[None]:
    """Let the collector rest while messages of many points are made, sent and freed.

    Those that stay are not looked at afterwards, either. What frees them is that nobody refers to
    them any longer.
    """
    _count(+1)
    try:
        yield
    finally:
        _count(-1)


def _count(change: int) -> None:
    global _users
    with _lock:
        _users += change
        if _users:
            gc.disable()
            return
        if gc.get_count()[0] > MUCH:
            gc.freeze()
        gc.enable()


def free(message: object) -> None:
    """Free the points of a trajectory in a message, in pieces between which others can run."""
    for name in ("motion", "trajectory"):
        points = getattr(getattr(message, name, None), "points", [])
        while points:
            del points[-PIECE:]
