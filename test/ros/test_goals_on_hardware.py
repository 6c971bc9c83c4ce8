"""Goals of ~/follow_joint_trajectory that the node executes on an arm in MuJoCo, over DDS."""

from pathlib import Path

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from control_msgs.msg import JointTolerance
from follow_client import Goal
from hardware.robots import PANDA, TIMES
from robot_graph import Graph, trajectory
from test_closed_loop import Arm, enabled
from trajectory_msgs.msg import JointTrajectory

import kane_dynamics as kd

pytestmark = pytest.mark.real_time

SUCCEEDED, CANCELED, ABORTED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_CANCELED,
    GoalStatus.STATUS_ABORTED,
)
THERE = trajectory(PANDA.joints, TIMES, PANDA.points)
BACK = trajectory(PANDA.joints, TIMES, PANDA.points[::-1])


def assert_refused(graph: Graph, motion: JointTrajectory, code: int, sentence: str) -> None:
    status, given, said = Goal(graph, motion).result()
    assert (status, given) == (ABORTED, code)
    assert sentence in said


def assert_was_held(arm: Arm, place: np.ndarray | None = None) -> None:
    """It never left its limits, and is at rest."""
    record = arm.hardware.record()
    limits = kd.load(PANDA.urdf, joints=list(PANDA.joints)).limits
    assert (record.fastest() <= 1.2 * limits.velocity).all()
    assert (record.position <= limits.upper).all()
    assert (record.position >= limits.lower).all()
    assert np.abs(record.velocity[-1]).max() <= 0.05
    if place is not None:
        assert np.abs(record.position[-1] - place).max() <= 0.02


def test_goals_are_reached_and_wrong_ones_disturb_nothing(graph: Graph, tmp_path: Path) -> None:
    parameters = {"idle": "hold", "goal_tolerance": 0.02, "goal_time": 5.0}
    with enabled(graph, tmp_path, PANDA, parameters=parameters) as arm:
        goal = Goal(graph, THERE)
        graph.client.spin_for(0.5)
        unknown = trajectory(["elbow", *PANDA.joints[1:]], TIMES, PANDA.points)
        assert_refused(graph, unknown, -2, "there is no joint 'elbow'")
        backwards = trajectory(PANDA.joints, [0.0, 2.0, 1.0], PANDA.points[:3])
        assert_refused(graph, backwards, -1, "expected increasing times")
        beyond = trajectory(PANDA.joints, [30.0], PANDA.points[:1] + 4.0)
        assert_refused(graph, beyond, -1, "its limits are")
        fast = trajectory(PANDA.joints[:1], [0.7], [[2.5]])
        assert_refused(graph, fast, -1, "its velocity limit is")
        assert goal.running
        assert goal.result()[0] == SUCCEEDED
        graph.client.spin_for(0.5)
        assert_was_held(arm, PANDA.points[-1])


def test_goals_are_cancelled_and_given_up_with_the_arm_held(graph: Graph, tmp_path: Path) -> None:
    with enabled(graph, tmp_path, PANDA, parameters={"idle": "hold"}) as arm:
        goal = Goal(graph, THERE)
        graph.client.spin_for(1.2)
        goal.cancel()
        assert goal.result()[:2] == (CANCELED, 0)
        graph.client.spin_for(0.5)
        assert_was_held(arm)
        here = arm.hardware.record().position[-1]
        home = trajectory(PANDA.joints, [0.0, 3.0], [here, PANDA.points[0]])
        narrow = [JointTolerance(name=PANDA.joints[0], position=1e-9)]
        status, code, sentence = Goal(graph, home, path_tolerance=narrow).result()
        assert (status, code) == (ABORTED, -4)
        assert "expected at most 1e-09 rad" in sentence
        graph.client.spin_for(0.5)
        assert_was_held(arm, here)
        assert arm.state == "holding"
