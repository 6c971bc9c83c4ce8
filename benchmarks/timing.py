"""Timing two things against each other on a machine that does other work too."""

from __future__ import annotations

import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

BURST = 0.002
"""Seconds for which one thing is repeated before it is the other's turn."""

Run = Callable[[], float]
"""Does something, and gives the seconds that it took."""

_CLOCK = [time.perf_counter]


def now() -> float:
    """Seconds since some beginning."""
    return _CLOCK[0]()


def count_own_time() -> None:
    """From now on let the seconds be those in which this process ran, on all of its threads."""
    _CLOCK[0] = time.process_time


class Times(NamedTuple):
    """Seconds that each of the two takes."""

    ours: float
    peer: float

    @property
    def ratio(self) -> float:
        return self.ours / self.peer


class Pair(NamedTuple):
    """Two that do the same."""

    ours: Run
    peer: Run


def in_turns(runs: Sequence[Run], turns: int) -> list[float]:
    """The best of some turns of each: what disturbs a turn only makes it longer."""
    best = [float("inf")] * len(runs)
    for _ in range(turns):
        best = [min(time, run()) for time, run in zip(best, runs)]
    return best


def burst(function: Callable[..., Any], *arguments: Any, states: int = 1) -> Run:
    """Calls a function for `BURST` seconds; the seconds of a call, or of each state in it."""
    names = {f"a{k}": argument for k, argument in enumerate(arguments)}
    timer = timeit.Timer(f"f({', '.join(names)})", timer=now, globals={"f": function, **names})
    number, turn = _number(timer), count()

    def run() -> float:
        # where in memory a result comes to lie can cost a tenth: let every turn find another place
        taken = [np.empty(size) for size in range(1, 9) for _ in range(next(turn) % 8)]
        seconds = timer.timeit(number) / number / states
        del taken
        return seconds

    return run


def _number(timer: timeit.Timer) -> int:
    """How many calls fill a burst."""
    timer.timeit(1)
    number = 1
    while (taken := timer.timeit(number)) < BURST / 2:
        number = max(2 * number, int(number * BURST / max(taken, 1e-7) / 2))
    return max(1, int(number * BURST / taken))


def of_process(arguments: Sequence[str]) -> float:
    """Seconds from start to end of a Python process of its own."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def of_import(module: str) -> float:
    """Seconds that an import takes in a Python process of its own."""
    text = (
        "from time import perf_counter; begin = perf_counter(); "
        f"import {module}; print(perf_counter() - begin)"
    )
    done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    return float(done.stdout)
