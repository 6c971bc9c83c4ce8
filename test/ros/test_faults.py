"""Faults: all are counted, each kind is logged once in a while."""

import pytest

from kane_dynamics.ros import faults
from kane_dynamics.ros.faults import THROTTLE, Fault, Faults


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, line: str) -> None:
        self.lines.append(line)


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(faults, "time", made)
    return made


def recorded(log: Log, *sentences: str) -> Faults:
    recorder = Faults(log)
    for sentence in sentences:
        recorder.record(Fault("joint_states", sentence))
    return recorder


def test_different_faults_of_one_cause_are_all_logged(clock: Clock) -> None:
    log = Log()
    recorder = recorded(log, "joint 'a' is named twice", "2 joints are named, but 3 positions")
    assert [line.partition(": ")[2] for line in log.lines] == [
        "joint 'a' is named twice",
        "2 joints are named, but 3 positions",
    ]
    assert recorder.counts["joint_states"] == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2 joints are named, but 3 positions", "7 joints are named, but 1 positions"),
        ("joint 'a' needs -1.5e-07 N m", "joint 'a' needs 1200 N m"),
        ("velocity of joint a is nan", "velocity of joint a is -inf"),
        ("the state of joint 'j1' is 0.2 s old.", "the state of joint 'j1' is 17.25 s old."),
    ],
)
def test_faults_that_differ_by_numbers_are_of_one_kind(
    clock: Clock, first: str, second: str
) -> None:
    log = Log()
    recorder = recorded(log, first, second, second)
    assert log.lines == [f"joint_states: {first}"]
    clock.now += THROTTLE
    recorder.record(Fault("joint_states", second))
    assert log.lines[1:] == [
        f"joint_states: {second} (2 more of this kind since the last such message)"
    ]


def test_names_with_numbers_are_not_numbers(clock: Clock) -> None:
    log = Log()
    recorded(log, "joint 'joint1' is named twice", "joint 'joint2' is named twice")
    assert len(log.lines) == 2


def test_a_flood_of_random_faults_neither_fills_the_log_nor_the_memory(clock: Clock) -> None:
    log = Log()
    recorder = Faults(log)
    for k in range(20_000):  # 100 s
        clock.now += 0.005
        recorder.record(Fault("joint_states", f"there is no joint {'x' * (k % 1013)}_{k}"))
    assert recorder.counts["joint_states"] == 20_000
    assert len(log.lines) <= 20 * 17
    assert sum(map(len, recorder._logged.values())) <= 17
    said = sum(int(line.split("(")[1].split()[0]) for line in log.lines if "(" in line)
    assert said + len(log.lines) > 19_000
