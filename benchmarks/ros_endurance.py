"""Gravity torques at 1 kHz while the node does all else: ``python -m benchmarks endurance``.

The client that sends joint states and hears torques runs in real time, where the system allows it,
as the driver of a robot would; what disturbs the node runs as usual.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from benchmarks.report import Table, machine
from benchmarks.ros_disturber import heavier
from benchmarks.ros_peer import Peer, Turn, dynamics_node, state

DOMAIN = 97
RATE = 1000.0
LONGEST = 10e-3
"""Seconds within which 99.9 % of the torques shall come."""
SETTLED = 0.3
"""Share of the time after which memory should be flat."""
MEMORY_PERIOD = 5.0  # s

HEAD = ("Panda at 1 kHz", "undisturbed", "disturbed", "goal")


def main(words: Sequence[str]) -> None:
    """Measure, and print the table."""
    arguments = _arguments(words)
    seconds, load = 60.0 * arguments.minutes, os.getloadavg()[0]
    with _node() as peer:
        print("joint states undisturbed, 10 s", file=sys.stderr)
        calm, _ = _turn(peer, 10.0)
        print(f"joint states disturbed, {arguments.minutes:g} min", file=sys.stderr)
        with _disturbed(seconds / (arguments.swaps + 1)):
            turn, memory = _turn(peer, seconds)
    settled = [mb for t, mb in memory if t >= SETTLED * seconds]
    print(f"{machine()}\n\n{os.cpu_count()} cores, load {load:.1f} before\n")
    print(Table("", HEAD, list(_rows(calm, turn, settled))))
    gaps = np.sort(turn.round_trips)[-5:] * 1e3
    print(f"\nLongest, ms: {', '.join(f'{gap:.1f}' for gap in gaps)}")
    print(f"Memory, MB: {', '.join(f'{mb:.0f}' for _, mb in memory)}")


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks endurance", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (10)")
    parser.add_argument("--swaps", type=int, default=50, help="descriptions in that time (50)")
    return parser.parse_args(words)


@contextmanager
def _node() -> Iterator[Peer]:
    """A node that knows the Panda from the topic, with an empty cache."""
    with tempfile.TemporaryDirectory() as place, dynamics_node(DOMAIN, cache_dir=place) as peer:
        peer.describe(heavier(0))
        peer.wait_for_answer(state())
        peer.run_in_real_time()
        yield peer


@contextmanager
def _disturbed(swap_period: float) -> Iterator[None]:
    environment = {**os.environ, "ROS_DOMAIN_ID": str(DOMAIN)}
    command = [sys.executable, "-m", "benchmarks.ros_disturber", str(swap_period)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it is ready: what it took to start is not measured
            time.sleep(1.0)
            yield
        finally:
            process.kill()


def _turn(peer: Peer, seconds: float) -> tuple[Turn, list[tuple[float, float]]]:
    """What came of the joint states, and the memory over time."""
    memory: list[tuple[float, float]] = []

    def watch(number: int) -> None:
        if number % round(RATE * MEMORY_PERIOD) == 0:
            memory.append((number / RATE, peer.memory()))

    turn = peer.send_states(state(), RATE, seconds, watch)
    return turn, [*memory, (seconds, peer.memory())]


def _rows(calm: Turn, turn: Turn, settled: Sequence[float]) -> Iterator[tuple[str, ...]]:
    yield "lost", f"{calm.lost} of {calm.sent}", f"{turn.lost} of {turn.sent}", "0"
    for name, share in (("median", 50), ("99 %", 99), ("99.9 %", 99.9), ("longest", 100)):
        both = [f"{1e3 * np.percentile(each.round_trips, share):.2f} ms" for each in (calm, turn)]
        yield f"round trip, {name}", *both, f"≤ {1e3 * LONGEST:g} ms" if share == 99.9 else ""
    # while an answer of 50 000 points is under way it rises: what lies below that must not
    half = len(settled) // 2
    before, after = min(settled[:half]), min(settled[half:])
    yield "lowest memory, settled", "", f"{before:.1f}, later {after:.1f} MB", "flat"


if __name__ == "__main__":
    main(sys.argv[1:])
