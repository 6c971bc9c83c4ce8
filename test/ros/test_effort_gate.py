"""The gate that effort commands pass: what opens it, what trips it, what it lets through."""

from typing import Any

import numpy as np
import pytest
from robot_graph import STANFORD, limited_arm

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.effort_gate import EffortGate, Gate, Seen
from kane_dynamics.ros.model import Model, load_model
from kane_dynamics.ros.parameters import Settings

HERE = np.array([0.3, 0.4])


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(limited_arm(effort=10.0, velocity=2.0), Settings(backend="numpy"))


def seen(positions: Any, *times: float) -> Seen:
    """Positions at a time in s, or at a time for each joint."""
    received = np.broadcast_to(times, len(positions)).astype(float)
    return Seen(np.array(positions), np.zeros(len(positions), np.int64), received)


def stamped(positions: Any, stamp: float, received: float) -> Seen:
    stamps = np.full(len(positions), round(stamp * 1e9))
    return seen(positions, received)._replace(stamps=stamps)


def opened(model: Model, *command_joints: str, ramp_time: float = 0.0) -> EffortGate:
    gate = EffortGate(model, command_joints)
    gate.open(seen(HERE, 100.0), 100.0, ramp_time)
    return gate


def test_a_gate_is_closed_at_first(model: Model) -> None:
    gate = EffortGate(model)
    assert gate.state is Gate.CLOSED
    assert gate.command(HERE, 100.0) is None


def test_efforts_never_exceed_the_limits_of_the_robot(model: Model) -> None:
    command = opened(model).command(np.array([1e9, -1e9]), 200.0)
    np.testing.assert_array_equal(command, [10.0, -10.0])


def test_efforts_rise_from_zero_over_the_ramp_time(model: Model) -> None:
    gate, efforts = opened(model, ramp_time=2.0), np.array([4.0, -8.0])
    for elapsed, share in ((0.0, 0.0), (0.5, 0.25), (1.0, 0.5), (2.0, 1.0), (9.0, 1.0)):
        command = gate.command(efforts, 100.0 + elapsed)
        np.testing.assert_allclose(command, share * efforts)


def test_a_clock_that_runs_back_does_not_turn_efforts_round(model: Model) -> None:
    command = opened(model, ramp_time=2.0).command(np.array([4.0, -8.0]), 0.0)
    np.testing.assert_array_equal(command, [0.0, 0.0])


def test_opening_an_open_gate_does_not_begin_the_ramp_again(model: Model) -> None:
    gate = opened(model, ramp_time=2.0)
    gate.open(seen(HERE, 101.0), 101.0, 0.0)
    np.testing.assert_allclose(gate.command(np.array([4.0, 0.0]), 101.0), [2.0, 0.0])


def test_commands_come_in_the_order_asked_for(model: Model) -> None:
    efforts = np.array([1.0, 2.0])
    np.testing.assert_array_equal(
        opened(model, "joint2", "joint1").command(efforts, 200.0), [2.0, 1.0]
    )
    np.testing.assert_array_equal(opened(model, "joint2").command(efforts, 200.0), [2.0])


@pytest.mark.parametrize(
    ("names", "sentence"),
    [(("elbow",), "names 'elbow', expected moving"), (("joint1", "joint1"), "'joint1' twice")],
)
def test_a_gate_with_wrong_command_joints_does_not_open(
    model: Model, names: tuple[str, ...], sentence: str
) -> None:
    gate = EffortGate(model, names)
    with pytest.raises(ArgumentError, match=sentence):
        gate.open(seen(HERE, 0.0), 0.0, 0.0)
    assert gate.state is Gate.CLOSED


def test_a_gate_for_a_floating_base_does_not_open() -> None:
    floating = load_model(limited_arm(), Settings(backend="numpy", base="floating"))
    with pytest.raises(ArgumentError, match="need a fixed base"):
        EffortGate(floating).open(seen(HERE, 0.0), 0.0, 0.0)


@pytest.mark.parametrize("wild", [np.nan, np.inf])
def test_torques_that_are_not_finite_trip_the_gate(model: Model, wild: float) -> None:
    gate = opened(model)
    assert gate.command(np.array([0.0, wild]), 100.0) is None
    assert gate.state is Gate.TRIPPED
    assert gate.command(HERE, 100.0) is None, "it stays shut"
    gate.open(seen(HERE, 101.0), 101.0, 0.0)
    assert gate.command(HERE, 101.0) is not None


def test_a_position_that_no_joint_can_reach_in_time_trips_the_gate(model: Model) -> None:
    gate = opened(model)
    gate.check_jump(seen(np.add(HERE, [0.04, 0.0]), 100.01))
    gate.check_jump(seen(np.add(HERE, [1.04, 0.0]), 100.51))
    assert gate.state is Gate.OPEN, "2 rad/s is what its limit allows"
    gate.check_jump(seen(np.add(HERE, [1.04, 0.2]), 100.52))
    assert gate.state is Gate.TRIPPED
    assert "'joint2' jumped by 0.2 within 0.01 s" in gate.sentence


def test_each_joint_has_its_own_time_to_move(model: Model) -> None:
    gate = opened(model)
    for k in range(1, 100):  # the second joint comes with every hundredth message
        gate.check_jump(seen(HERE, 100.0 + 0.001 * k, 100.0))
    gate.check_jump(seen(np.add(HERE, [0.0, 0.1]), 100.1))
    assert gate.state is Gate.OPEN
    gate.check_jump(seen(np.add(HERE, [0.1, 0.1]), 100.101, 100.1))
    assert "'joint1' jumped by 0.1 within 0.001 s" in gate.sentence


def test_stamps_count_where_there_are_any(model: Model) -> None:
    """Messages that were held up on their way come in a bunch."""
    gate = EffortGate(model)
    gate.open(stamped(HERE, 50.0, 100.0), 100.0, 0.0)
    gate.check_jump(stamped(np.add(HERE, [0.5, 0.0]), 50.25, 100.2))
    gate.check_jump(stamped(np.add(HERE, [1.0, 0.0]), 50.5, 100.2001))
    assert gate.state is Gate.OPEN
    gate.check_jump(stamped(np.add(HERE, [1.5, 0.0]), 50.5, 101.0))
    assert gate.state is Gate.TRIPPED


def test_an_arm_far_from_its_trajectory_trips_the_gate_if_asked_for(model: Model) -> None:
    gate, there = opened(model), np.add(HERE, [0.0, -0.3])
    gate.check_path(there, 0.0)
    gate.check_path(there, 0.31)
    gate.check_path(np.add(there, [2.0 * np.pi, 0.0]), 0.31)
    assert gate.state is Gate.OPEN
    gate.check_path(there, 0.29)
    assert gate.state is Gate.TRIPPED
    assert "joint 'joint2' is 0.3 from where the trajectory wants it" in gate.sentence


def test_whole_turns_of_a_continuous_joint_are_no_jump(model: Model) -> None:
    gate = opened(model)
    gate.check_jump(seen(np.add(HERE, [2.0 * np.pi, -4.0 * np.pi]), 100.001))
    assert gate.state is Gate.OPEN


def test_joints_without_velocity_limit_jump_too() -> None:
    stanford = load_model(STANFORD.read_text(), Settings(backend="numpy"))
    gate = EffortGate(stanford)
    gate.open(seen(np.zeros(6), 0.0), 0.0, 0.0)
    gate.check_jump(seen(np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), 0.01))
    assert gate.state is Gate.TRIPPED


def test_the_oldest_state_is_named(model: Model) -> None:
    gate = EffortGate(model)
    assert gate.too_old(np.array([0.1, 0.2]), 0.2) == ""
    assert "joint 'joint2' is 0.3 s old" in gate.too_old(np.array([0.1, 0.3]), 0.2)
    assert "'joint1' is 5 s ahead of the clock" in gate.too_old(np.array([-5.0, 0.3]), 0.2)
    assert gate.too_old(np.array([np.inf, 0.0]), 0.2) != ""
