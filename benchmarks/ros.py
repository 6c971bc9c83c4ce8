"""The ROS node against a bare one that only copies: ``python -m benchmarks ros``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sensor_msgs.msg import JointState

from benchmarks.report import duration, machine, table
from benchmarks.robots import PANDA
from benchmarks.ros_disturber import trajectory
from benchmarks.ros_peer import Peer, Turn

DOMAINS = (98, 99)  # of our node and of the bare one
TURNS, TURN = 8, 2.0  # how often the two take turns, and for how many seconds each
TRAJECTORY_TURNS = 7
POINTS = 10_000
SETTLED = 10.0  # s after which memory should be flat


class Figure(NamedTuple):
    """One line of the table: what was measured, and the most that we accept."""

    measured: str
    ours: str
    bare: str
    value: float
    goal: float

    @property
    def reached(self) -> bool:
        return self.value <= self.goal

    def row(self) -> tuple[str, ...]:
        value = f"{self.value:.3g}"
        return self.measured, self.ours, self.bare, value, f"≤ {self.goal:g}"


HEAD = ("Panda, 7 joints", "ours", "bare node", "value", "goal")


def main(words: Sequence[str]) -> None:
    """Measure, and print the table."""
    minutes = _arguments(words).minutes
    load = os.getloadavg()[0]
    with _nodes() as (ours, bare):
        _check(ours)
        figures = [
            *_round_trips(ours, bare),
            _cpu_time(ours, bare),
            *_endurance(ours, minutes),
            *_trajectories(ours, bare),
        ]
    print(f"{machine()}; {os.cpu_count()} cores, load {load:.1f} before\n")
    print("Node and client in processes of their own, both nodes in turns, the best of each:\n")
    print(table(HEAD, [figure.row() for figure in figures]))
    missed = [figure.measured for figure in figures if not figure.reached]
    if missed:
        print(f"\nGoal missed: {', '.join(missed)}")


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ros", description=__doc__)
    parser.add_argument(
        "--minutes",
        type=float,
        default=1.0,
        help="how long joint states are sent at 1 kHz, to see losses and memory (1)",
    )
    return parser.parse_args(words)


@contextmanager
def _nodes() -> Iterator[tuple[Peer, Peer]]:
    """Our node and the bare one, both answering."""
    parameters = {"robot_description": PANDA.path.read_text(), "joints": list(PANDA.joints)}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "parameters.yaml"
        file.write_text(json.dumps({"/**": {"ros__parameters": parameters}}))  # which is YAML
        ours = Peer("kane_dynamics.ros.main", ["--params-file", str(file)], DOMAINS[0])
        bare = Peer("benchmarks.ros_bare_node", [], DOMAINS[1])
        try:
            for peer in (ours, bare):
                peer.wait_for_answer(_state())
            yield ours, bare
        finally:
            ours.end()
            bare.end()


def _state() -> JointState:
    (q,), (u,), *_ = PANDA.states(1)
    names = list(PANDA.joints)
    return JointState(name=names, position=q.tolist(), velocity=u.tolist(), effort=[0.0] * len(q))


def _check(ours: Peer) -> None:
    state = _state()
    expected = PANDA.kane.gravity(np.array(state.position))
    np.testing.assert_allclose(ours.wait_for_answer(state).effort, expected, rtol=1e-12)


# ---------------------------------------------------------------------------------- joint states


def _turns(ours: Peer, bare: Peer, rate: float) -> list[list[Turn]]:
    turns: list[list[Turn]] = [[], []]
    for number in range(TURNS):
        _say(f"joint states at {rate:g} Hz, turn {number + 1} of {TURNS}")
        for peer, of_peer in zip((ours, bare), turns):
            of_peer.append(peer.send_states(_state(), rate, TURN))
    return turns


def _round_trips(ours: Peer, bare: Peer) -> Iterator[Figure]:
    turns = _turns(ours, bare, 500.0)
    for name, share, goal in (("median", 50, 1.2), ("99th percentile", 99, 1.5)):
        best = [min(float(np.percentile(t.round_trips, share)) for t in each) for each in turns]
        yield _ratio(f"round trip at 500 Hz, {name}", best, goal)


def _cpu_time(ours: Peer, bare: Peer) -> Figure:
    turns = _turns(ours, bare, 1000.0)
    best = [min(turn.cpu_time / turn.sent for turn in each) for each in turns]
    return _ratio("CPU time of the node at 1 kHz, a message", best, 1.4)


def _endurance(ours: Peer, minutes: float) -> list[Figure]:
    """Joint states at 1 kHz for long: what is lost, and how memory grows."""
    rate, seconds = 1000.0, 60.0 * minutes
    _say(f"joint states at {rate:g} Hz for {minutes:g} min")
    memory: dict[int, float] = {}

    def watch(number: int) -> None:
        if number % round(rate * SETTLED) == 0:
            memory[number] = ours.memory()

    turn = ours.send_states(_state(), rate, seconds, watch)
    before, after = memory[round(rate * SETTLED)], ours.memory()
    span = f"in {minutes:g} min at 1 kHz"
    return [
        Figure(f"messages lost {span}", f"{turn.lost} of {turn.sent}", "", turn.lost, 0.0),
        Figure(
            f"growth of memory {span}, MB",
            f"{before:.1f} to {after:.1f} MB",
            "",
            after - before,
            1.0,
        ),
    ]


# ---------------------------------------------------------------------------------- trajectories


def _trajectories(ours: Peer, bare: Peer) -> Iterator[Figure]:
    for name, complete in (("complete", True), ("positions only", False)):
        message = trajectory(POINTS, complete)
        best = [np.inf, np.inf]
        for number in range(TRAJECTORY_TURNS):
            _say(f"trajectories, {name}, turn {number + 1} of {TRAJECTORY_TURNS}")
            for k, peer in enumerate((ours, bare)):
                best[k] = min(best[k], peer.send_trajectory(message))
        yield _ratio(f"{POINTS} points answered, {name}", best, 2.0)


def _ratio(measured: str, best: Sequence[float], goal: float) -> Figure:
    ours, bare = best
    return Figure(measured, duration(ours), duration(bare), ours / bare, goal)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
