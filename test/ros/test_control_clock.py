"""The time of all that moves the robot, beside a clock that is set."""

from types import SimpleNamespace

import numpy as np
import pytest

from kane_dynamics.ros.commands import control_clock
from kane_dynamics.ros.commands.control_clock import PARTED, ControlClock
from kane_dynamics.ros.commands.sight import UNDER_WAY, Sight
from kane_dynamics.ros.messages.stamps import SECOND


class Times:
    """Steady time and ROS time, as the test sets them."""

    def __init__(self) -> None:
        self.steady, self.ros, self.ros_time_is_active = 5 * SECOND, 1000 * SECOND, False

    def now(self) -> SimpleNamespace:
        return SimpleNamespace(nanoseconds=self.ros)

    def monotonic_ns(self) -> int:
        return self.steady

    def get_clock(self) -> "Times":
        return self

    def pass_by(self, nanoseconds: int) -> None:
        self.steady += nanoseconds
        self.ros += nanoseconds


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    made = Times()
    monkeypatch.setattr(control_clock, "time", made)
    return made


@pytest.fixture
def clock(times: Times) -> ControlClock:
    return ControlClock(times, lambda sentence: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [5 * SECOND, -5 * SECOND])
def test_a_system_clock_that_is_set_moves_no_plan(
    times: Times, clock: ControlClock, step: int
) -> None:
    due = clock.of(1002 * SECOND)
    assert due - clock.now() == 2 * SECOND
    times.ros += step
    assert due - clock.now() == 2 * SECOND
    times.pass_by(SECOND)
    assert due - clock.now() == SECOND


@pytest.mark.parametrize("step", [5 * SECOND, -5 * SECOND, PARTED + 1, -PARTED - 1])
def test_a_system_clock_that_is_set_is_noticed_once(
    times: Times, clock: ControlClock, step: int
) -> None:
    times.pass_by(SECOND)
    assert clock.parted() == 0
    times.ros += step
    assert clock.parted() == step
    times.pass_by(SECOND)
    assert clock.parted() == 0


def test_a_clock_that_is_slewed_is_not_taken_for_one_that_is_set(
    times: Times, clock: ControlClock
) -> None:
    for _ in range(1000):
        times.pass_by(SECOND // 500)
        times.ros += PARTED // 100
        assert clock.parted() == 0


def test_simulated_time_is_the_only_one_where_there_is_one(
    times: Times, clock: ControlClock
) -> None:
    times.ros_time_is_active, times.ros = True, 0
    assert not clock.running
    times.ros = 7 * SECOND
    assert clock.running
    times.steady += SECOND
    assert clock.now() == clock.ros_now() == clock.of(7 * SECOND) == 7 * SECOND
    assert clock.parted() == 0


@pytest.mark.parametrize("step", [5 * SECOND, -5 * SECOND])
def test_a_state_that_was_stamped_before_the_clock_was_set_is_as_old_as_its_arrival(
    times: Times, clock: ControlClock, step: int
) -> None:
    states = SimpleNamespace(positions=np.zeros(1), velocities=np.zeros(1))

    def arrives(stamp: int) -> None:
        states.stamps, states.received = np.array([stamp]), np.array([times.steady / SECOND])

    said = []
    faults = SimpleNamespace(record=said.append)
    sight = Sight(SimpleNamespace(states=states, clock=clock, faults=faults))  # type: ignore[arg-type]
    arrives(times.ros)
    times.ros += step
    for _ in range(5):  # looks in between two states that come every 20 ms
        times.pass_by(SECOND // 250)
        assert np.abs(sight.seen(clock.now()).times - clock.now()).max() <= SECOND // 40
    arrives(times.ros - step)  # it was under way
    assert (sight.seen(clock.now()).times == clock.now()).all()
    assert len(said) == 1
    times.pass_by(UNDER_WAY)
    arrives(times.ros - SECOND)
    assert (sight.seen(clock.now()).times == clock.now() - SECOND).all()
