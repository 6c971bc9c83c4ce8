"""Constraints that cannot be, and what is said of them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from linkages import (
    COUPLER,
    DIFFERENTIAL_DRIVE,
    FIVE_BAR,
    FIVE_BAR_LOOP,
    FOUR_BAR,
    FOUR_BAR_LOOP,
    WHEELS,
)

import kane_dynamics as kd

FAR = kd.Loop("far", "coupler", "world", at2=(9.0, 0.0, 0.0))


def _four_bar(*constraints, **options) -> kd.Dynamics:
    return kd.load(FOUR_BAR, constraints=constraints, backend="numpy", cache=False, **options)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: _four_bar(kd.Loop("l", "crnk", "world")), "'l': there is no link 'crnk'"),
        (lambda: _four_bar(kd.Lock("k", "z")), "'k': there is no joint that moves 'z'"),
        (lambda: _four_bar(actuated=["x"]), "actuated: there is no joint that moves 'x'"),
        (lambda: _four_bar(actuated="a"), "actuated is 'a', expected a list of joint names"),
        (lambda: kd.load(FOUR_BAR, actuated=["a"]), "actuated is given without constraints"),
        (
            lambda: _four_bar(kd.Lock("brake", "a"), actuated=["a"]),
            "actuated: constraint 'brake' leaves joint 'a' no motion",
        ),
        (lambda: _four_bar(FAR).assemble([1.0, 0.0, 1.0]), "'far' cannot be assembled from here"),
        (lambda: _four_bar(FAR).assemble([1.0, 0.0]), "q must have shape (3,), got (2,)"),
        (
            lambda: _four_bar(FOUR_BAR_LOOP).set_active("c", True, [1.0, 0.0, 1.0]),
            "constraint 'c' is violated by",
        ),
        (lambda: _four_bar(FAR).set_active("near", True), "no constraint 'near'"),
        (
            lambda: _four_bar(FOUR_BAR_LOOP).inverse_dynamics(
                [1.0, -0.6, 1.2], np.ones(3), np.ones(3)
            ),
            "u violates constraint 'c'",
        ),
        (
            lambda: _four_bar(FOUR_BAR_LOOP).forward_dynamics(np.ones(3), np.ones(3), [1.0]),
            "forward_dynamics: tau must have shape (3,) or (N, 3), got (1,)",
        ),
        (
            lambda: _four_bar(FOUR_BAR_LOOP).forward_dynamics(
                np.ones((2, 3)), np.ones(3), np.ones((4, 3))
            ),
            "tau has 4 states, other arguments have 2",
        ),
        (
            lambda: _four_bar(FOUR_BAR_LOOP).forward_dynamics(np.ones(3), np.ones(3), ["1"] * 3),
            "must hold real numbers",
        ),
        (lambda: _four_bar(FAR).assemble(["1", "2", "3"]), "q must hold real numbers"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(ask, sentence: str) -> None:
    with pytest.raises(kd.ArgumentError) as caught:
        ask()
    assert sentence in str(caught.value)


BRAKE, SLIPS = kd.Lock("brake", "d"), kd.Lock("slips", "d", limit=3.0)
GEAR, HELD = kd.Coupling("gear", {"a": 1.0, "b": -2.0}), kd.Weld("held", "coupler", "world")
HINGED = kd.Loop("hinged", "coupler", "world", at1=(COUPLER, 0, 0), at2=(COUPLER, 0, 0))


@pytest.mark.parametrize(
    ("constraints", "said"),
    [
        ((FOUR_BAR_LOOP, BRAKE), "constraints 'c', 'brake' leave joint 'a'"),
        ((FOUR_BAR_LOOP, GEAR), "constraints 'c', 'gear' leave joint 'a'"),
        ((SLIPS, FOUR_BAR_LOOP, HELD), "constraint 'held' leaves joint 'a'"),
        ((HINGED,), "constraint 'hinged' leaves joint 'a'"),
    ],
)
def test_a_motor_that_constraints_together_leave_no_motion_is_refused(constraints, said) -> None:
    with pytest.raises(kd.ArgumentError) as caught:
        _four_bar(*constraints, actuated=["a"])
    assert str(caught.value) == f"actuated: {said} no motion"


@pytest.mark.parametrize(
    ("constraints", "motor"),
    [
        ((FOUR_BAR_LOOP, SLIPS), "a"),
        ((FOUR_BAR_LOOP, kd.Lock("stop", "d", most=1.0)), "a"),
        ((FOUR_BAR_LOOP, kd.Lock("off", "d", active=False)), "a"),
        ((kd.Lock("rubs", "a", limit=3.0),), "a"),
        ((FOUR_BAR_LOOP,), "d"),  # which stands still at two dead centres
        ((HINGED,), "d"),
        ((FAR,), "a"),  # of which nothing is known: it cannot be assembled
    ],
)
def test_a_motor_whose_joint_moves_somewhere_is_not_refused(constraints, motor: str) -> None:
    robot = _four_bar(*constraints, actuated=[motor])
    again = pickle.loads(pickle.dumps(robot))
    assert again.actuated == robot.actuated == (motor,)


def test_motors_that_cannot_hold_the_robot_say_what_they_do_not_drive() -> None:
    robot = kd.load(
        FIVE_BAR,
        constraints=[FIVE_BAR_LOOP],
        actuated=["m1"],
        gravity=(0.0, -9.81, 0.0),
        cache=False,
    )
    q = robot.assemble([2.0, -1.0, 1.0, 1.0])
    with pytest.raises(kd.ArgumentError, match=r"\(m1\) cannot produce rest under gravity"):
        robot.gravity(q)


def test_a_wheel_that_does_not_touch_its_plane_cannot_be_assembled() -> None:
    low = kd.Rolling("low", "left", 0.05)
    cart = kd.load(DIFFERENTIAL_DRIVE, constraints=[low], backend="numpy", cache=False)
    with pytest.raises(kd.ArgumentError, match=r"'low' cannot be assembled .* off by 0\.05"):
        cart.assemble(np.zeros(6))
    cart = kd.load(DIFFERENTIAL_DRIVE, constraints=WHEELS, backend="numpy", cache=False)
    np.testing.assert_array_equal(cart.assemble(np.zeros(6)), np.zeros(6))


def test_constraints_that_contradict_each_other_are_named() -> None:
    on = [kd.Loop("hub", "coupler", "world", at1=(0.8, 0, 0), keeps="point")]
    on.append(kd.Loop("rim", "coupler", "world", at1=(0.4, 0, 0), at2=(0.4, 0, 0)))
    on.append(kd.Loop("far rim", "coupler", "world", at1=(0.2, 0, 0), at2=(0.7, 0, 0)))
    robot = _four_bar(*on)
    with pytest.raises(kd.ArgumentError, match="contradicts others in this state"):
        robot.forward_dynamics([0.3, 0.5, 0.0], [1.0, 2.0, 0.0], np.zeros(3))


def test_a_file_gives_the_robot_its_constraints(tmp_path: Path) -> None:
    path = tmp_path / "loop.yaml"
    path.write_text(
        "c: {kind: loop, link1: coupler, link2: rocker, at1: [0.8, 0, 0], at2: [0.6, 0, 0]}\n"
    )
    robot = kd.load(FOUR_BAR, constraints=path, backend="numpy", cache=False)
    assert robot.constraints == (FOUR_BAR_LOOP,)
