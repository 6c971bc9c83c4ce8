"""Real-time scheduling of the threads that carry joint states to commands."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from rclpy.node import Node

_granted = 0  # the priority that the system has allowed

REFUSED = (
    "The node runs without real-time priority, which the system does not allow ({}): on a busy "
    "machine commands come late. To allow it, give the user rtprio in /etc/security/limits.conf."
)


def run_in_real_time(node: Node, priority: int) -> None:
    """Let the threads that there are run before those of other programs; 0: as others do.

    Those are the threads of the middleware and the one that executes callbacks. Threads and
    processes that are started later run as usual.
    """
    global _granted
    if not priority:
        return
    try:
        for task in Path("/proc/self/task").iterdir():
            _schedule(int(task.name), "SCHED_RR", priority)
        _granted = priority
    except (OSError, AttributeError) as error:
        node.get_logger().info(REFUSED.format(error))


@contextmanager
def beside_the_executor() -> Iterator[None]:
    """Let the calling thread run just behind those, as long as it computes in Python.

    Whoever has Python's lock keeps joint states waiting: so it must not wait itself, lock in hand,
    for a processor that another program has.
    """
    if not _granted:
        yield
        return
    _schedule(0, "SCHED_RR", max(_granted - 1, 1))
    try:
        yield
    finally:
        _schedule(0, "SCHED_OTHER", 0)


class ThreadBeside:
    """A thread beside the executor that waits for work.

    One that is started for each piece of work would begin, Python's lock in hand, behind other
    programs.
    """

    def __init__(self, name: str) -> None:
        self._asked: SimpleQueue[tuple[Callable[[], None], threading.Event]] = SimpleQueue()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def begin(self, work: Callable[[], None], done: threading.Event) -> None:
        """Work as soon as all is done that was begun before, and set the event."""
        self._asked.put((work, done))

    def _work(self) -> None:
        with beside_the_executor():
            while True:
                self._do(*self._asked.get())

    def _do(self, work: Callable[[], None], done: threading.Event) -> None:
        try:
            work()
        finally:
            done.set()


def _schedule(thread: int, policy: str, priority: int) -> None:
    """Schedule a thread, but not those that it starts; 0 is the one that calls."""
    flags = getattr(os, policy) | os.SCHED_RESET_ON_FORK
    os.sched_setscheduler(thread, flags, os.sched_param(priority))
