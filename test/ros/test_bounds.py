"""Limits of speeds and positions: what goes beyond them, and walls before them."""

from typing import Any

import numpy as np
import pytest
from robot_graph import STANFORD, limited_arm, panda

from kane_dynamics.ros.commands.bounds import Bounds
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model, load_model

HERE = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
STILL = np.zeros(7)


def bounds_of(arm: Model, position_margin: float, velocity_margin: float) -> Bounds:
    margins = Settings(position_margin=position_margin, velocity_margin=velocity_margin)
    return Bounds(arm, margins)


@pytest.fixture(scope="module")
def arm() -> Model:
    urdf, joints = panda()
    return load_model(urdf.read_text(), Settings(joints=tuple(joints), backend="numpy"))


def only(joint: int, value: float) -> np.ndarray:
    row = np.zeros(7)
    row[joint] = value
    return row


def at(joint: int, position: float) -> np.ndarray:
    row = HERE.copy()
    row[joint] = position
    return row


# -------------------------------------------------------------------------------------- speeds
@pytest.mark.parametrize("margin", [0.0, 0.1, 1.0])
def test_a_joint_may_exceed_its_velocity_limit_by_the_margin(arm: Model, margin: float) -> None:
    bounds, limit = bounds_of(arm, 0.02, margin), arm.velocity_limits[1]
    for sign in (1.0, -1.0):
        allowed = sign * limit * (1.0 + margin)
        assert bounds.too_fast(only(1, 0.999 * allowed)) == ""
        sentence = bounds.too_fast(only(1, 1.001 * allowed))
        assert sentence.startswith("joint 'panda_joint2' moves at ")
        assert sentence.endswith(f" rad/s, its limit is {limit:g}")


def test_a_joint_that_slides_is_told_of_in_metres() -> None:
    model = load_model(STANFORD.read_text(), Settings(backend="numpy"))
    assert bounds_of(model, 0.02, 0.0).too_fast(np.full(6, 1.2)) == (
        "joint 'joint6' moves at 1.2 m/s, its limit is 1"
    )


def test_joints_without_limits_are_never_too_fast_nor_too_far() -> None:
    text = limited_arm().replace('velocity="10.0"', "")
    model = load_model(text, Settings(backend="numpy"))
    bounds = bounds_of(model, 0.02, 0.1)
    assert bounds.too_fast(np.array([1e3, -1e3])) == ""
    assert bounds.too_far(np.array([1e3, -1e3]), np.array([10.0, -10.0])) == ""


# ----------------------------------------------------------------------------------- positions
def test_a_joint_that_can_hardly_stop_before_its_stop_is_named(arm: Model) -> None:
    bounds, upper = bounds_of(arm, 0.02, 0.1), arm.dynamics.limits.upper[0]
    assert bounds.too_far(at(0, upper - 1.0), only(0, 2.0)) == "", "far away"
    assert bounds.too_far(at(0, upper - 1e-3), only(0, 0.01)) == "", "slow"
    sentence = bounds.too_far(at(0, upper - 0.01), only(0, 2.0))
    assert "joint 'panda_joint1' is at" in sentence
    assert sentence.endswith(f"moves at 2 rad/s towards its stop at {upper:.4g}")


def test_the_lower_stop_counts_as_the_upper_does(arm: Model) -> None:
    bounds, lower = bounds_of(arm, 0.02, 0.1), arm.dynamics.limits.lower[3]
    assert f"stop at {lower:.4g}" in bounds.too_far(at(3, lower + 0.005), only(3, -2.0))


def test_a_joint_beyond_its_stop_that_comes_back_is_left_alone(arm: Model) -> None:
    bounds, upper = bounds_of(arm, 0.02, 0.1), arm.dynamics.limits.upper[0]
    assert bounds.too_far(at(0, upper + 0.5), STILL) == ""
    assert bounds.too_far(at(0, upper + 0.5), only(0, -1.0)) == ""
    assert bounds.too_far(at(0, upper + 0.5), only(0, 0.1)) != ""


def test_a_joint_may_seem_to_be_beyond_its_stop_by_the_margin(arm: Model) -> None:
    upper, creeping = arm.dynamics.limits.upper[0], only(0, 0.03)
    for margin in (0.02, 0.1):
        bounds = bounds_of(arm, margin, 0.1)
        assert bounds.too_far(at(0, upper + 0.99 * margin), creeping) == ""
        assert bounds.too_far(at(0, upper + 1.01 * margin), creeping) != ""


def test_no_margin_is_more_than_a_twentieth_of_the_range(arm: Model) -> None:
    limits = arm.dynamics.limits
    allowed = 0.05 * (limits.upper[0] - limits.lower[0])
    bounds = bounds_of(arm, 1.0, 0.1)
    assert bounds.too_far(at(0, limits.upper[0] + 0.99 * allowed), only(0, 0.03)) == ""
    assert bounds.too_far(at(0, limits.upper[0] + 1.01 * allowed), only(0, 0.03)) != ""


# --------------------------------------------------------------------------------------- walls
def glide(bounds: Bounds, positions: Any, velocities: Any, seconds: float = 3.0) -> np.ndarray:
    """Positions of joints that are accelerated by nothing but walls."""
    q, u, period, rows = np.array(positions), np.array(velocities), 0.002, []
    for _ in range(round(seconds / period)):
        u = u + period * bounds.walled(np.zeros_like(u), q, u, period)
        q = q + period * u
        rows.append(q)
    return np.array(rows)


def test_far_from_walls_nothing_is_held_back(arm: Model) -> None:
    bounds, pushed = bounds_of(arm, 0.02, 0.1), np.linspace(-1.0, 1.0, 7)
    np.testing.assert_array_equal(bounds.walled(pushed, HERE, STILL, 0.002), pushed)


@pytest.mark.parametrize("speed", [0.5, -0.5, 2.0, -2.0])
def test_a_floating_joint_is_caught_before_its_stop(arm: Model, speed: float) -> None:
    limits, margin = arm.dynamics.limits, 0.02
    stop = limits.upper[0] if speed > 0.0 else limits.lower[0]
    start = at(0, stop - 0.5 * np.sign(speed))
    path = glide(bounds_of(arm, margin, 0.1), start, only(0, speed))[:, 0]
    assert np.abs(path[-1] - stop) > 0.9 * margin
    assert (np.abs(path) < np.abs(stop)).all()
    assert np.ptp(path[-100:]) < 1e-3, "it rests"
    np.testing.assert_array_equal(glide(bounds_of(arm, margin, 0.1), HERE, STILL)[-1], HERE)


def test_an_arm_that_is_beyond_a_wall_already_is_not_pushed_back(arm: Model) -> None:
    bounds, beyond = bounds_of(arm, 0.02, 0.1), at(0, arm.dynamics.limits.upper[0] + 0.3)
    assert bounds.walled(STILL, beyond, STILL, 0.002)[0] < -1.0
    bounds.begin(beyond)
    np.testing.assert_array_equal(bounds.walled(STILL, beyond, STILL, 0.002), STILL)
    assert bounds.walled(STILL, beyond + 0.1, STILL, 0.002)[0] < -1.0


def test_a_floating_arm_is_held_back_before_its_velocity_limits(arm: Model) -> None:
    bounds, limit = bounds_of(arm, 0.02, 0.1), arm.velocity_limits[0]
    assert bounds.walled(STILL, HERE, only(0, 0.79 * limit), 0.002)[0] == 0.0
    assert bounds.walled(STILL, HERE, only(0, 0.9 * limit), 0.002)[0] < 0.0
    assert bounds.walled(STILL, HERE, only(0, -0.9 * limit), 0.002)[0] > 0.0
