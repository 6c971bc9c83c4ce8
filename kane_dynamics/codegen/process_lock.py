"""A lock that a forked child finds open."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator


class ProcessLock:
    """A lock among the threads of one process.

    A fork copies no thread but the one that forks: an ordinary lock that another thread holds
    while it waits for the compiler would never be released in the child.
    """

    def __init__(self) -> None:
        self._locks: dict[int, threading.Lock] = {}

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for a while."""
        with self._locks.setdefault(os.getpid(), threading.Lock()):
            yield
