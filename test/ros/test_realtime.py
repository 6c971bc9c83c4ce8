"""Threads in real time: who is, and who is not."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from kane_dynamics.ros.middleware import realtime

PRIORITY = 7


@pytest.fixture(autouse=True)
def granted(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        in_thread(lambda: realtime._schedule(0, "SCHED_RR", PRIORITY))
    except (OSError, AttributeError):
        pytest.skip("the system does not allow real-time priority")
    monkeypatch.setattr(realtime, "_granted", PRIORITY)


def in_thread(work: Callable[[], None]) -> None:
    """Do something in a thread of its own, and raise what it raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def priority() -> int:
    return os.sched_getparam(0).sched_priority


def test_a_thread_that_computes_in_python_runs_just_behind_the_executor() -> None:
    def work() -> None:
        with realtime.beside_the_executor():
            assert priority() == PRIORITY - 1
        assert priority() == 0

    in_thread(work)


def test_what_such_a_thread_starts_runs_as_usual() -> None:
    def work() -> None:
        with realtime.beside_the_executor():
            program = "import os; print(os.sched_getparam(0).sched_priority)"
            said = subprocess.check_output([sys.executable, "-c", program], text=True)
            assert said.strip() == "0"
            in_thread(lambda: seen.append(priority()))

    seen: list[int] = []
    in_thread(work)
    assert seen == [0]


def test_a_thread_beside_works_in_order_and_in_real_time() -> None:
    thread, done, seen = realtime.ThreadBeside("worker"), [], []
    for number in range(3):
        done.append(threading.Event())
        thread.begin(lambda number=number: seen.append((number, priority())), done[-1])
    assert all(each.wait(60.0) for each in done)
    assert seen == [(number, PRIORITY - 1) for number in range(3)]
