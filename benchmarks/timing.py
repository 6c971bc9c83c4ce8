"""Timing two things against each other on a machine that does other work too."""

from __future__ import annotations

import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

BURST = 0.002
"""Seconds for which one thing is repeated before it is the other's turn."""

ROUNDS = 150
"""How often the two take turns."""


@dataclass(frozen=True)
class Times:
    """Seconds that each of the two takes."""

    ours: float
    peer: float

    @property
    def ratio(self) -> float:
        return self.ours / self.peer


@dataclass(frozen=True)
class Call:
    """A function with the arguments it is called with."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def timer(self) -> timeit.Timer:
        names = {f"a{k}": argument for k, argument in enumerate(self.arguments)}
        return timeit.Timer(f"f({', '.join(names)})", globals={"f": self.function, **names})


def of_calls(ours: Call, peer: Call, rounds: int = ROUNDS) -> Times:
    """Times of two calls, the best of many turns: what disturbs a turn only makes it longer."""
    timers = [ours.timer(), peer.timer()]
    numbers = [_number(timer) for timer in timers]
    best = [float("inf"), float("inf")]
    for turn in range(rounds):
        # where in memory a result comes to lie can cost a tenth: let every turn find another place
        taken = [np.empty(size) for size in range(1, 9) for _ in range(turn % 8)]
        for k in range(2):
            best[k] = min(best[k], timers[k].timeit(numbers[k]) / numbers[k])
        del taken
    return Times(*best)


def of_runs(ours: Callable[[], float], peer: Callable[[], float], rounds: int) -> Times:
    """Times of two functions that each return how long something took, the best of some turns."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        best = [min(best[0], ours()), min(best[1], peer())]
    return Times(*best)


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


def _number(timer: timeit.Timer) -> int:
    """How many calls fill a burst."""
    timer.timeit(1)
    number = 1
    while (taken := timer.timeit(number)) < BURST / 2:
        number = max(2 * number, int(number * BURST / max(taken, 1e-7) / 2))
    return max(1, int(number * BURST / taken))
