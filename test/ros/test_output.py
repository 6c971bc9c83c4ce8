"""The last step before a command: effort limits, the rate of change, and what fades."""

import numpy as np
import pytest
from robot_graph import limited_arm

from kane_dynamics.ros.commands.output import RISE, Output
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model, load_model

MILLISECOND = SECOND // 1000
ZERO = np.zeros(2)


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(limited_arm(effort=10.0, velocity=2.0), Settings(backend="numpy"))


def begun(model: Model, torques: np.ndarray = ZERO, seconds: float = 0.0) -> Output:
    output = Output(model)
    output.begin(torques, 0, seconds)
    return output


def test_commands_never_exceed_the_limits_of_the_robot(model: Model) -> None:
    output = begun(model)
    for k in range(1, 100):
        command = output.shaped(np.array([1e9, -1e9]), k * MILLISECOND, True)
        assert (np.abs(command) <= 10.0).all()
    np.testing.assert_array_equal(command, [10.0, -10.0])
    np.testing.assert_allclose(output.lacking, [1e9 - 10.0, 10.0 - 1e9])
    np.testing.assert_array_equal(begun(model, np.array([50.0, -50.0])).last, [10.0, -10.0])


def test_a_command_rises_to_its_limit_in_the_usual_time(model: Model) -> None:
    output = begun(model)
    commands = [output.shaped(np.array([10.0, 0.0]), k * MILLISECOND, True) for k in range(1, 30)]
    steps = np.diff([0.0, *(command[0] for command in commands)])
    usual = 10.0 / RISE * 1e-3
    np.testing.assert_allclose(steps, [usual] * 20 + [0.0] * 9, atol=1e-6)


def test_rates_that_are_given_are_kept(model: Model) -> None:
    output = begun(model)
    output.limit_rates(np.array([100.0, 1000.0]))
    np.testing.assert_allclose(
        output.shaped(np.array([9.0, -9.0]), 2 * MILLISECOND, True), [0.2, -2.0], atol=1e-6
    )
    output.limit_rates(None)
    np.testing.assert_allclose(
        output.shaped(np.array([9.0, -9.0]), 3 * MILLISECOND, True), [0.7, -2.5], atol=1e-6
    )


def test_torques_that_flip_their_sign_at_200_hz_stay_within_the_rate(model: Model) -> None:
    output, rate = begun(model), 10.0 / RISE
    before = output.last
    for k in range(1, 200):
        sign = 1.0 if k // 5 % 2 else -1.0
        command = output.shaped(sign * np.array([10.0, 10.0]), k * MILLISECOND, k % 3 == 0)
        assert (np.abs(command - before) <= 1.000001 * rate * 1e-3).all()
        before = command


def test_a_pause_does_not_save_up_a_jump(model: Model) -> None:
    output = begun(model)
    output.limit_rates(np.array([100.0, 100.0]))
    np.testing.assert_allclose(output.shaped(np.array([9.0, 9.0]), 60 * SECOND, True), [5.0, 5.0])


def test_time_that_stands_still_or_runs_back_changes_no_command(model: Model) -> None:
    output = begun(model, np.array([4.0, -8.0]))
    for now in (0, -SECOND):
        command = output.shaped(np.array([-4.0, 8.0]), now, True)
        np.testing.assert_allclose(command, [4.0, -8.0], atol=1e-6)


def test_torques_take_over_in_the_time_given_from_those_begun_with(model: Model) -> None:
    first, then = np.array([4.0, -8.0]), np.array([2.0, 8.0])
    output = begun(model, first, seconds=2.0)
    for elapsed, share in ((0.0, 0.0), (0.5, 0.25), (1.0, 0.5), (2.0, 1.0), (9.0, 1.0)):
        for now in np.linspace(elapsed - 0.1, elapsed, 11) if elapsed else [0.0]:
            command = output.shaped(then, round(now * SECOND), False)
        np.testing.assert_allclose(command, (1.0 - share) * first + share * then, atol=1e-6)


def test_what_is_urgent_does_not_wait_until_something_has_faded(model: Model) -> None:
    output = begun(model, np.array([4.0, 0.0]), seconds=60.0)
    for k in range(1, 30):
        command = output.shaped(ZERO, k * MILLISECOND, True)
    np.testing.assert_array_equal(command, ZERO)
    np.testing.assert_array_equal(output.shaped(ZERO, SECOND, False), ZERO)


def test_fading_begins_without_a_jump(model: Model) -> None:
    output = begun(model, np.array([4.0, 0.0]))
    output.fade(0)
    np.testing.assert_allclose(output.shaped(np.array([-4.0, 3.0]), 0, False), [4.0, 0.0])


def test_a_command_is_settled_when_it_is_what_was_wanted(model: Model) -> None:
    output = begun(model)
    output.shaped(np.array([10.0, 0.0]), MILLISECOND, True)
    assert not output.settled
    output.shaped(output.last, 2 * MILLISECOND, True)
    assert output.settled
    for k in range(3, 60):
        output.shaped(np.array([99.0, 0.0]), k * MILLISECOND, True)
    assert output.settled, "it cannot become more than the limit"


def test_joints_without_effort_limit_have_no_rate(model: Model) -> None:
    text = limited_arm().replace('effort="50.0"', "")
    free = load_model(text, Settings(backend="numpy"))
    output = begun(free)
    torques = np.array([1e6, -1e6])
    np.testing.assert_array_equal(output.shaped(torques, MILLISECOND, False), torques)
