"""Poses, Jacobians and wrenches of links, as `Dynamics` takes and gives them."""

from typing import Any

import numpy as np
import pytest
from oracle import random_states, robot_path

import kane_dynamics as kd

HAND, ELBOW = "wrist_3_link", "forearm_link"


@pytest.fixture(scope="module", params=["c", "numpy"])
def arm(request: pytest.FixtureRequest) -> kd.Dynamics:
    return kd.load(robot_path("ur5_robot"), backend=request.param)


def felt(arm: kd.Dynamics, link: str, q: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """Generalized forces of a wrench, through the Jacobian."""
    return np.einsum("...ij,...i->...j", arm.jacobian(link, q), wrench)


def test_the_jacobian_is_the_rate_of_the_pose(arm: kd.Dynamics) -> None:
    q = random_states(arm, count=4).q
    jacobian = arm.jacobian(HAND, q)
    step = 1e-6
    for k in range(6):
        shift = step * np.eye(6)[k]
        change = (arm.pose(HAND, q + shift) - arm.pose(HAND, q - shift)) / (2.0 * step)
        np.testing.assert_allclose(change[:, :3, 3], jacobian[:, :3, k], atol=1e-8)
        spin = change[:, :3, :3] @ arm.pose(HAND, q)[:, :3, :3].transpose(0, 2, 1)
        turning = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
        np.testing.assert_allclose(turning, jacobian[:, 3:, k], atol=1e-8)


def test_a_pose_is_a_rotation_and_a_place(arm: kd.Dynamics) -> None:
    pose = arm.pose(HAND, random_states(arm, count=50).q)
    R = pose[:, :3, :3]
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.tile(np.eye(3), (50, 1, 1)), atol=1e-10)
    assert np.all(np.linalg.det(R) > 0)
    np.testing.assert_array_equal(pose[:, 3], np.tile([0.0, 0.0, 0.0, 1.0], (50, 1)))


def test_the_ground_neither_moves_nor_feels(arm: kd.Dynamics) -> None:
    q = random_states(arm, count=3).q
    np.testing.assert_array_equal(arm.pose("world", q), np.tile(np.eye(4), (3, 1, 1)))
    assert not arm.jacobian("world", q).any()
    wrench = {"world": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    zeros = np.zeros(6)
    np.testing.assert_array_equal(
        arm.inverse_dynamics(q, zeros, zeros, wrench), arm.inverse_dynamics(q, zeros, zeros)
    )


# ------------------------------------------------------------------------------------ wrenches
@pytest.mark.parametrize("batch", ["q", "wrench", "both", "neither"])
def test_wrenches_and_states_may_be_one_or_many(arm: kd.Dynamics, batch: str) -> None:
    states = random_states(arm, count=5)
    random = np.random.default_rng(2)
    pushes = {HAND: random.normal(size=(5, 6)), ELBOW: random.normal(size=(5, 6))}
    motion = [states.q, states.u, states.udot]
    if batch in ("wrench", "neither"):
        motion = [each[0] for each in motion]
    if batch in ("q", "neither"):
        pushes = {link: push[0] for link, push in pushes.items()}
    expected = sum(felt(arm, link, motion[0], push) for link, push in pushes.items())
    found = arm.inverse_dynamics(*motion) - arm.inverse_dynamics(*motion, pushes)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=1e-11)
    q, u, tau = motion
    udot = arm.forward_dynamics(q, u, tau, pushes)
    np.testing.assert_allclose(udot, arm.forward_dynamics(q, u, tau + expected), rtol=1e-8)
    np.testing.assert_allclose(
        arm.inverse_dynamics(q, u, udot, pushes), np.broadcast_to(tau, udot.shape), atol=1e-9
    )


def test_wrenches_of_links_may_be_one_and_many_at_once(arm: kd.Dynamics) -> None:
    q = random_states(arm, count=4).q
    one, many = np.ones(6), np.random.default_rng(3).normal(size=(4, 6))
    zeros = np.zeros(6)
    found = arm.inverse_dynamics(q, zeros, zeros, {HAND: one, ELBOW: many})
    expected = arm.gravity(q) - felt(arm, HAND, q, one) - felt(arm, ELBOW, q, many)
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_no_wrench_is_no_force(arm: kd.Dynamics) -> None:
    states = random_states(arm, count=4)
    motion = (states.q, states.u, states.udot)
    for wrenches in (None, {}, {HAND: np.zeros(6)}):
        for function in (arm.inverse_dynamics, arm.forward_dynamics):
            np.testing.assert_array_equal(function(*motion, wrenches), function(*motion))


def test_an_empty_batch_of_wrenches_goes_with_an_empty_batch(arm: kd.Dynamics) -> None:
    nothing = np.zeros((0, 6))
    for function in (arm.inverse_dynamics, arm.forward_dynamics):
        assert function(nothing, nothing, nothing, {HAND: nothing}).shape == (0, 6)
        assert function(nothing, nothing, nothing, {HAND: np.ones(6)}).shape == (0, 6)
        assert function(nothing, nothing, nothing, {}).shape == (0, 6)


WRONG: dict[str, tuple[Any, str]] = {
    "no mapping": ([np.zeros(6)], "wrenches must be"),
    "an array": (np.zeros(6), "wrenches must be"),
    "unknown link": ({"wrist_9_link": np.zeros(6)}, "wrist_9_link"),
    "a number for a name": ({3: np.zeros(6)}, "3"),
    "names of two kinds": ({3: np.zeros(6), HAND: np.zeros(6)}, "3"),
    "too short": ({HAND: np.zeros(3)}, HAND),
    "too deep": ({HAND: np.zeros((1, 2, 6))}, HAND),
    "a number": ({HAND: 1.0}, HAND),
    "nothing": ({HAND: None}, HAND),
    "text": ({HAND: "push"}, HAND),
    "nan": ({HAND: [0, 0, np.nan, 0, 0, 0]}, HAND),
    "batches that differ": ({HAND: np.zeros((3, 6)), ELBOW: np.zeros((4, 6))}, "3 and 4"),
    "a batch of one and one of four": (
        {HAND: np.zeros((1, 6)), ELBOW: np.zeros((4, 6))},
        "1 and 4",
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_bad_wrench_is_refused(arm: kd.Dynamics, fault: str) -> None:
    wrenches, message = WRONG[fault]
    zeros = np.zeros(6)
    for function in (arm.inverse_dynamics, arm.forward_dynamics):
        with pytest.raises(kd.ArgumentError, match=message):
            function(zeros, zeros, zeros, wrenches)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_as_many_wrenches_as_states_are_expected(
    arm: kd.Dynamics, position: int, count: int
) -> None:
    motion = [np.zeros(6)] * 3
    motion[position] = np.zeros((count, 6))
    for function in (arm.inverse_dynamics, arm.forward_dynamics):
        with pytest.raises(kd.ArgumentError, match="states"):
            function(*motion, {HAND: np.zeros((4, 6))})


# --------------------------------------------------------------------------------------- names
@pytest.mark.parametrize("link", ["wrist_3", "", None, 3, ("wrist_3_link",), ["wrist_3_link"]])
def test_an_unknown_link_is_refused(arm: kd.Dynamics, link: Any) -> None:
    for function in (arm.pose, arm.jacobian):
        with pytest.raises(kd.ArgumentError, match="link"):
            function(link, np.zeros(6))


def test_the_closest_name_is_offered(arm: kd.Dynamics) -> None:
    with pytest.raises(kd.ArgumentError, match="wrist_3_link"):
        arm.pose("wrist3_link", np.zeros(6))
