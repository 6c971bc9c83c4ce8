"""The ROS node against a bare one that only copies: ``python -m benchmarks ros``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import marked_tables
from benchmarks.report import Cells, Table, duration, machine, wanted
from benchmarks.robots import PANDA
from benchmarks.ros_disturber import trajectory
from benchmarks.ros_peer import Peer, Turn, bare_node, dynamics_node, state

TURNS, TURN = 8, 2.0  # how often the two take turns, and for how many seconds each
TRAJECTORY_TURNS = 7
POINTS = 10_000
SETTLED = 10.0  # s after which memory should be flat


HEAD = ("Panda, 7 joints", "ours", "bare node", "value", "goal")


def main(words: Sequence[str]) -> None:
    """Measure, and print the table."""
    arguments = _arguments(words)
    load = os.getloadavg()[0]
    description = PANDA.path.read_text()
    with dynamics_node(98, robot_description=description) as ours, bare_node(99) as bare:
        _check(ours)
        bare.wait_for_answer(state())
        figures = [
            *_round_trips(ours, bare),
            _cpu_time(ours, bare),
            *_endurance(ours, arguments.minutes),
            *_trajectories(ours, bare),
        ]
    print(f"{os.cpu_count()} cores, load {load:.1f} before; node and client in processes of their")
    print("own, both nodes in turns, the best of each:\n")
    marked_tables.show([machine(), Table("ros", HEAD, figures)], arguments.write)


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ros", description=__doc__)
    parser.add_argument(
        "--minutes",
        type=float,
        default=1.0,
        help="how long joint states are sent at 1 kHz, to see losses and memory (1)",
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write into its marked tables")
    return parser.parse_args(words)


def _check(ours: Peer) -> None:
    expected = PANDA.kane.gravity(np.array(state().position))
    np.testing.assert_allclose(ours.wait_for_answer(state()).effort, expected, rtol=1e-12)


# ---------------------------------------------------------------------------------- joint states


def _turns(ours: Peer, bare: Peer, rate: float) -> list[list[Turn]]:
    turns: list[list[Turn]] = [[], []]
    for number in range(TURNS):
        _say(f"joint states at {rate:g} Hz, turn {number + 1} of {TURNS}")
        for peer, of_peer in zip((ours, bare), turns):
            of_peer.append(peer.send_states(state(), rate, TURN))
    return turns


def _round_trips(ours: Peer, bare: Peer) -> Iterator[Cells]:
    turns = _turns(ours, bare, 500.0)
    for name, share, goal in (("median", 50, 1.2), ("99th percentile", 99, 1.5)):
        best = [min(float(np.percentile(t.round_trips, share)) for t in each) for each in turns]
        yield _ratio(f"round trip at 500 Hz, {name}", best, goal)


def _cpu_time(ours: Peer, bare: Peer) -> Cells:
    turns = _turns(ours, bare, 1000.0)
    best = [min(turn.cpu_time / turn.sent for turn in each) for each in turns]
    return _ratio("CPU time of the node at 1 kHz, a message", best, 1.4)


def _endurance(ours: Peer, minutes: float) -> list[Cells]:
    """Joint states at 1 kHz for long: what is lost, and how memory grows."""
    rate, seconds = 1000.0, 60.0 * minutes
    _say(f"joint states at {rate:g} Hz for {minutes:g} min")
    memory: dict[int, float] = {}

    def watch(number: int) -> None:
        if number % round(rate * SETTLED) == 0:
            memory[number] = ours.memory()

    turn = ours.send_states(state(), rate, seconds, watch)
    before, after = memory[round(rate * SETTLED)], ours.memory()
    span = f"in {minutes:g} min at 1 kHz"
    return [
        _figure(f"messages lost {span}", f"{turn.lost} of {turn.sent}", "", turn.lost, 0.0),
        _figure(
            f"growth of memory {span}, MB",
            f"{before:.1f} to {after:.1f} MB",
            "",
            after - before,
            1.0,
        ),
    ]


# ---------------------------------------------------------------------------------- trajectories


def _trajectories(ours: Peer, bare: Peer) -> Iterator[Cells]:
    for name, complete in (("complete", True), ("positions only", False)):
        message = trajectory(POINTS, complete)
        best = [np.inf, np.inf]
        for number in range(TRAJECTORY_TURNS):
            _say(f"trajectories, {name}, turn {number + 1} of {TRAJECTORY_TURNS}")
            for k, peer in enumerate((ours, bare)):
                best[k] = min(best[k], peer.send_trajectory(message))
        yield _ratio(f"trajectory of {POINTS} points answered, {name}", best, 2.0)


def _ratio(measured: str, best: Sequence[float], goal: float) -> Cells:
    ours, bare = best
    return _figure(measured, duration(ours), duration(bare), ours / bare, goal)


def _figure(measured: str, ours: str, bare: str, value: float, goal: float) -> Cells:
    return measured, ours, bare, f"{value:.3g}", wanted(value, goal)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
