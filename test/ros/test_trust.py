"""Whether joint states can be trusted: their age, jumps, and how trust comes back."""

from typing import Any

import numpy as np
import pytest
from robot_graph import STANFORD, limited_arm

from kane_dynamics.ros.commands.trust import JUMP, Seen, Trust
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model, load_model

HERE = np.array([0.3, 0.4])


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(limited_arm(effort=10.0, velocity=2.0), Settings(backend="numpy"))


def seen(positions: Any, *seconds: float, velocities: Any = 0.0) -> Seen:
    """Positions at a time in s, or at a time for each joint."""
    count = len(positions)
    times = np.round(np.broadcast_to(seconds, count) * np.float64(SECOND)).astype(np.int64)
    return Seen(np.array(positions), np.broadcast_to(velocities, count).astype(float), times)


def trusting(model: Model) -> Trust:
    trust = Trust(model)
    trust.begin(seen(HERE, 100.0))
    return trust


def take(trust: Trust, state: Seen) -> str:
    """Take a state when it was true."""
    return trust.take(state, int(state.times.max()))


# ----------------------------------------------------------------------------------------- age
def test_the_oldest_state_is_named(model: Model) -> None:
    trust, now = Trust(model), 100 * SECOND
    assert trust.too_old(seen(HERE, 99.9, 99.8).times, now, 0.2) == ""
    assert trust.too_old(seen(HERE, 99.9, 99.7).times, now, 0.2) == (
        "the state of joint 'joint2' is 0.3 s old, the limit is 0.2 s"
    )


def test_a_state_ahead_of_the_clock_is_no_better_than_an_old_one(model: Model) -> None:
    trust, now = Trust(model), 100 * SECOND
    assert trust.too_old(seen(HERE, 100.2, 100.0).times, now, 0.2) == ""
    sentence = trust.too_old(seen(HERE, 105.0, 99.7).times, now, 0.2)
    assert "joint 'joint1' is 5 s ahead of the clock" in sentence


# --------------------------------------------------------------------------------------- jumps
def test_a_position_that_no_joint_can_reach_in_time_is_not_believed(model: Model) -> None:
    trust = trusting(model)
    assert take(trust, seen(np.add(HERE, [0.04, 0.0]), 100.01)) == ""
    assert take(trust, seen(np.add(HERE, [1.04, 0.0]), 100.51)) == "", (
        "2 rad/s is what its limit allows"
    )
    sentence = take(trust, seen(np.add(HERE, [1.04, 0.2]), 100.52))
    assert sentence == "the position of joint 'joint2' jumped by 0.2 within 0.01 s"
    assert not trust.holds
    np.testing.assert_array_equal(trust.last.positions, np.add(HERE, [1.04, 0.0]))


@pytest.mark.parametrize("rate", [50.0, 500.0, 5000.0])
def test_what_a_joint_may_move_by_depends_on_time_not_on_messages(
    model: Model, rate: float
) -> None:
    """Twice as fast as a joint can be, it is out of what is granted at the same time."""
    trust, speed, k, sentence = trusting(model), 6.0, 0, ""
    while not sentence:
        k += 1
        sentence = take(trust, seen(np.add(HERE, [speed * k / rate, 0.0]), 100.0 + k / rate))
    allowed = JUMP / (speed - 1.5 * 2.0)
    assert allowed < k / rate <= allowed + 1.0 / rate + 1e-9


@pytest.mark.parametrize("rate", [50.0, 500.0, 5000.0])
def test_a_joint_at_its_velocity_limit_never_jumps(model: Model, rate: float) -> None:
    trust = trusting(model)
    for k in range(1, 1000):
        assert take(trust, seen(np.add(HERE, [2.0 * k / rate, 0.0]), 100.0 + k / rate)) == ""


def test_each_joint_has_its_own_time_to_move(model: Model) -> None:
    trust = trusting(model)
    for k in range(1, 100):  # the second joint comes with every hundredth message
        assert take(trust, seen(HERE, 100.0 + 0.001 * k, 100.0)) == ""
    assert take(trust, seen(np.add(HERE, [0.0, 0.25]), 100.1)) == ""
    sentence = take(trust, seen(np.add(HERE, [0.25, 0.25]), 100.101, 100.1))
    assert "'joint1' jumped by 0.25 within 0.001 s" in sentence


def test_the_time_of_states_counts_not_when_they_are_read(model: Model) -> None:
    """Messages that were held up on their way come in a bunch."""
    trust, now = trusting(model), 101 * SECOND
    assert trust.take(seen(np.add(HERE, [0.5, 0.0]), 100.25), now) == ""
    assert trust.take(seen(np.add(HERE, [1.0, 0.0]), 100.5), now) == ""
    assert trust.take(seen(np.add(HERE, [1.5, 0.0]), 100.5), now) != ""


def test_a_state_that_is_repeated_is_no_jump(model: Model) -> None:
    trust = trusting(model)
    for _ in range(1000):
        assert take(trust, seen(HERE, 100.0)) == ""


def test_whole_turns_of_a_continuous_joint_are_no_jump(model: Model) -> None:
    trust = trusting(model)
    assert take(trust, seen(np.add(HERE, [2.0 * np.pi, -4.0 * np.pi]), 100.001)) == ""


def test_joints_without_velocity_limit_jump_too() -> None:
    stanford = load_model(STANFORD.read_text(), Settings(backend="numpy"))
    trust = Trust(stanford)
    trust.begin(seen(np.zeros(6), 0.0))
    assert "'joint3' jumped" in take(trust, seen([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], 0.01))


# ------------------------------------------------------------------------------- how it returns
def test_states_are_trusted_again_when_some_have_fitted_each_other_for_a_while(
    model: Model,
) -> None:
    trust, there = trusting(model), np.add(HERE, [1.0, 0.0])
    assert take(trust, seen(there, 100.01))
    trusted = []
    for k in range(1, 100):
        assert take(trust, seen(there, 100.01 + 0.001 * k)) == ""
        trusted.append(trust.holds)
    assert trusted == [False] * 49 + [True] * 50, "50 ms after the jump"
    np.testing.assert_array_equal(trust.last.positions, there)


def test_a_few_states_far_between_are_not_enough_for_trust(model: Model) -> None:
    trust = trusting(model)
    trust.doubt(100 * SECOND)
    for k in range(1, 5):
        take(trust, seen(HERE, 100.0 + k))
        assert not trust.holds
    take(trust, seen(HERE, 105.0))
    assert trust.holds


def test_a_sensor_that_jumps_to_and_fro_is_never_trusted(model: Model) -> None:
    trust = trusting(model)
    for k in range(1, 1000):
        side = 0.5 if k // 20 % 2 else -0.5  # every 20 ms
        take(trust, seen(np.add(HERE, [side, 0.0]), 100.0 + 0.001 * k))
        assert not trust.holds
