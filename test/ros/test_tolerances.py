"""Tolerances of goals: what their numbers mean, and when a motion has violated them."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.axes import Axes
from kane_dynamics.ros.trajectories.tolerances import Judge, tolerances_of
from kane_dynamics.ros.trajectories.verdicts import Code, Refused, Verdict
from kane_dynamics.simulation.trajectory import Sample

JOINTS = ("lift", "elbow", "wrist")
AXES = Axes(JOINTS, np.array([False, False, True]), np.array([True, False, False]))
DEFAULTS = Settings(
    path_tolerance=0.1, goal_tolerance=0.02, stopped_velocity_tolerance=0.01, goal_time=2.0
)
NONE = Settings(path_tolerance=0.0, stopped_velocity_tolerance=0.0)
END = 3.0


def tolerance(name: str, position: float = 0.0, velocity: float = 0.0, **more: float) -> Any:
    return SimpleNamespace(
        name=name, position=position, velocity=velocity, **{"acceleration": 0.0, **more}
    )


def goal(path: Any = (), at_end: Any = (), time: float = 0.0, **more: Any) -> Any:
    whole = math.floor(time)
    return SimpleNamespace(
        path_tolerance=path,
        goal_tolerance=at_end,
        goal_time_tolerance=SimpleNamespace(sec=whole, nanosec=round(1e9 * (time - whole))),
        **{"component_path_tolerance": [], "component_goal_tolerance": [], **more},
    )


def judge(defaults: Settings = DEFAULTS, **asked: Any) -> Judge:
    return Judge(tolerances_of(goal(**asked), JOINTS, defaults), END, AXES)


def verdict(
    judge: Judge,
    t: float,
    missing: Any = (0.0, 0.0, 0.0),
    velocities: Any = (0.0, 0.0, 0.0),
    wanted: Any = (0.3, 0.2, 0.1),
) -> Verdict | None:
    """The verdict on joints that are behind by so much."""
    desired = Sample(np.array(wanted), np.zeros(3), np.zeros(3))
    return judge.judge(t, desired, np.array(wanted) - missing, np.array(velocities))


# -------------------------------------------------------------------------------------- reading


def test_a_goal_that_asks_for_nothing_has_the_defaults() -> None:
    asked = tolerances_of(goal(), JOINTS, DEFAULTS)
    assert asked.path[0].tolist() == [0.1] * 3
    assert asked.path[1].tolist() == [math.inf] * 3
    assert asked.goal[0].tolist() == [0.02] * 3
    assert asked.goal[1].tolist() == [0.01] * 3
    assert asked.goal_time == 2.0


def test_defaults_of_zero_ask_for_nothing() -> None:
    asked = tolerances_of(goal(), JOINTS, NONE)
    for bounds in (asked.path, asked.goal):
        assert np.isinf(bounds).all()
    assert asked.goal_time == math.inf


def test_zero_is_the_default_and_minus_one_no_tolerance() -> None:
    path = [tolerance("elbow", 0.05, 0.5), tolerance("wrist", -1.0)]
    at_end = [tolerance("wrist", 0.0, -1.0), tolerance("lift", 0.001)]
    asked = tolerances_of(goal(path, at_end, -1.0), JOINTS, DEFAULTS)
    assert asked.path[0].tolist() == [0.1, 0.05, math.inf]
    assert asked.path[1].tolist() == [math.inf, 0.5, math.inf]
    assert asked.goal[0].tolist() == [0.001, 0.02, 0.02]
    assert asked.goal[1].tolist() == [0.01, 0.01, math.inf]
    assert asked.goal_time == math.inf
    assert tolerances_of(goal(time=0.25), JOINTS, DEFAULTS).goal_time == 0.25


@pytest.mark.parametrize(
    ("asked", "code", "sentence"),
    [
        (
            {"path": [tolerance("elbow", -0.5)]},
            Code.INVALID_GOAL,
            "position of joint 'elbow' in path_tolerance is -0.5, expected a positive number, "
            "0 for the default, or -1 for any",
        ),
        (
            {"at_end": [tolerance("lift", 0.0, math.nan)]},
            Code.INVALID_GOAL,
            "velocity of joint 'lift' in goal_tolerance is nan",
        ),
        (
            {"at_end": [tolerance("lift", acceleration=-2.0)]},
            Code.INVALID_GOAL,
            "acceleration of joint 'lift' in goal_tolerance is -2",
        ),
        (
            {"path": [tolerance("finger", 0.1)]},
            Code.INVALID_JOINTS,
            "path_tolerance names joint 'finger', which is not in the trajectory",
        ),
        ({"time": -3.5}, Code.INVALID_GOAL, "goal_time_tolerance is -3.5, expected"),
        (
            {"component_goal_tolerance": [object()]},
            Code.INVALID_GOAL,
            "component_goal_tolerance is about joints with several degrees of freedom",
        ),
    ],
)
def test_a_tolerance_that_means_nothing_is_refused(
    asked: dict[str, Any], code: Code, sentence: str
) -> None:
    with pytest.raises(Refused) as refused:
        tolerances_of(goal(**asked), JOINTS, DEFAULTS)
    assert refused.value.verdict.code == code
    assert refused.value.verdict.sentence.startswith(sentence)


# -------------------------------------------------------------------------------------- judging


def test_a_motion_within_its_tolerances_goes_on_and_succeeds_at_its_end() -> None:
    judged = judge()
    for t in (0.0, 1.0, END - 1e-6):
        assert verdict(judged, t, (0.0999, -0.0999, 0.0999)) is None
    assert verdict(judged, END, (0.0199, -0.0199, 0.0199), (0.01, -0.01, 0.0)) == Verdict(
        Code.SUCCESSFUL
    )


def test_a_joint_too_far_from_its_path_is_named_with_time_error_and_tolerance() -> None:
    found = verdict(judge(), 1.25, (0.0, 0.11, -0.1501))
    assert found == Verdict(
        Code.PATH_TOLERANCE_VIOLATED,
        "at 1.250 s of the trajectory, the position of joint 'wrist' is 0.1501 rad off, "
        "expected at most 0.1 rad",
    )
    found = verdict(judge(), 1.25, (-0.2, 0.0, 0.0))
    assert found is not None
    assert "'lift' is 0.2 m off, expected at most 0.1 m" in found.sentence


def test_velocities_are_judged_where_a_goal_asks_for_it() -> None:
    fast = (0.0, 0.3, 0.0)
    assert verdict(judge(), 1.0, velocities=fast) is None
    found = verdict(judge(path=[tolerance("elbow", 0.0, 0.2)]), 1.0, velocities=fast)
    assert found is not None
    assert found.code == Code.PATH_TOLERANCE_VIOLATED
    assert "the velocity of joint 'elbow' is 0.3 rad/s off, expected at most 0.2" in found.sentence


def test_the_goal_may_be_reached_later_but_not_too_late() -> None:
    judged = judge()
    for late in (0.0, 1.0, 2.0):
        assert verdict(judged, END + late, (0.0, 0.03, 0.0)) is None
    assert verdict(judged, END + 2.0) == Verdict(Code.SUCCESSFUL)
    assert verdict(judged, END + 2.001, (0.0, 0.03, 0.0)) == Verdict(
        Code.GOAL_TOLERANCE_VIOLATED,
        "2.001 s after the end of the trajectory, the position of joint 'elbow' is 0.03 rad off, "
        "expected at most 0.02 rad; the time for that was 2 s",
    )


def test_a_joint_that_still_moves_has_not_reached_the_goal() -> None:
    judged = judge()
    assert verdict(judged, END + 0.1, velocities=(0.02, 0.0, 0.0)) is None
    found = verdict(judged, END + 2.1, velocities=(0.02, 0.0, 0.0))
    assert found is not None
    assert "the velocity of joint 'lift' is 0.02 m/s off, expected at most 0.01" in found.sentence


def test_without_a_goal_time_it_may_take_as_long_as_it_needs() -> None:
    judged = judge(time=-1.0)
    assert verdict(judged, 1e6, (0.0, 0.03, 0.0)) is None
    assert verdict(judged, 2e6) == Verdict(Code.SUCCESSFUL)


def test_whole_turns_of_a_continuous_joint_do_not_count() -> None:
    judged = judge()
    turn = 2.0 * math.pi
    assert verdict(judged, 1.0, (0.0, 0.0, 3 * turn + 0.05)) is None
    assert verdict(judged, END, (0.0, 0.0, -turn)) == Verdict(Code.SUCCESSFUL)
    found = verdict(judged, 1.0, (0.0, turn, 0.0))
    assert found is not None
    assert "'elbow'" in found.sentence


def test_a_state_that_is_no_number_is_within_no_tolerance() -> None:
    found = verdict(judge(), 1.0, (0.0, math.nan, 0.0))
    assert found is not None
    assert "'elbow' is nan rad off" in found.sentence


def test_the_path_counts_when_a_trajectory_is_first_looked_at_after_its_end() -> None:
    found = verdict(judge(), END + 0.1, (0.0, 0.5, 0.0))
    assert found is not None
    assert found.code == Code.PATH_TOLERANCE_VIOLATED
