"""Python's lock in short turns, for threads that compute in Python beside the executor."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SHORT_TURN = 2e-5
"""Seconds after which Python's lock is handed to a thread that waits for it; by default 5e-3."""

_usual = sys.getswitchinterval()
_users = 0
_lock = threading.Lock()


@contextmanager
def short_turns() -> Iterator[None]:
    """Let no thread wait long for one that computes in Python: torques keep their rate."""
    _count(+1)
    try:
        yield
    finally:
        _count(-1)


def _count(change: int) -> None:
    global _users
    with _lock:
        _users += change
        sys.setswitchinterval(SHORT_TURN if _users else _usual)
