"""Goals of ~/follow_joint_trajectory: what their clients hear of a robot that follows them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from builtin_interfaces.msg import Duration, Time
from control_msgs.msg import JointTolerance
from follow_client import Goal, node_in
from rclpy.node import Node
from robot_graph import TWO_LINK, Graph, later, seconds_of, trajectory
from trajectory_msgs.msg import MultiDOFJointTrajectory

from kane_dynamics.ros.faults import Fault, Faults
from kane_dynamics.ros.parameters.declaration import Parameters, Settings
from kane_dynamics.ros.robot.model import load_model
from kane_dynamics.ros.trajectories.goals import FollowAction
from kane_dynamics.ros.trajectories.observer import Observer
from kane_dynamics.ros.trajectories.points import Points
from kane_dynamics.ros.trajectories.verdicts import Code, Verdict
from kane_dynamics.simulation.trajectory import Sample

JOINTS = ["joint2", "joint1"]
TIMES, POSITIONS = [0.0, 1.0, 2.0], [[0.0, 0.0], [0.5, 1.0], [1.0, 2.0]]
MOTION = trajectory(JOINTS, TIMES, POSITIONS)
REPLACED = "another trajectory has taken its place"
SUCCEEDED, CANCELED, ABORTED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_CANCELED,
    GoalStatus.STATUS_ABORTED,
)


class Puppet:
    """A mover that shows its observer what a test tells it to."""

    def __init__(self) -> None:
        self.refuses = ""
        self.points: Points | None = None
        self.stamp = -1
        self.observer: Observer | None = None
        self.stopped: list[Observer] = []

    def begin(self, points: Points, stamp: int, observer: Observer) -> None:
        if self.refuses:
            raise Fault("effort commands", self.refuses)
        if self.observer is not None:
            self.observer.over(REPLACED)
        self.points, self.stamp, self.observer = points, stamp, observer

    def stop(self, observer: Observer) -> None:
        self.stopped.append(observer)

    def see(self, t: float, off: float = 0.0, velocity: float = 0.0) -> Verdict | None:
        """The verdict on joints that are so far off, with such an error of velocity."""
        assert self.points is not None
        assert self.observer is not None
        where = np.array([np.interp(t, self.points.times, row) for row in self.points.positions.T])
        desired = Sample(where, np.full(2, 0.1), np.full(2, 0.2))
        verdict = self.observer.state(t, desired, where - off, desired.velocities - velocity)
        if verdict is not None:
            self.observer = None
        return verdict


@pytest.fixture
def node(graph: Graph) -> Iterator[Node]:
    with node_in(graph, path_tolerance=0.2, goal_tolerance=0.05, goal_time=1.0) as made:
        yield made


@pytest.fixture
def mover() -> Puppet:
    return Puppet()


@pytest.fixture
def faults(node: Node) -> Faults:
    return Faults(node.get_logger())


@pytest.fixture(autouse=True)
def action(node: Node, mover: Puppet, faults: Faults) -> FollowAction:
    node.parameters, node.faults, node.following = Parameters(node), faults, mover
    node.model = load_model(TWO_LINK.read_text(), Settings(backend="numpy"))
    return FollowAction(node)


# ------------------------------------------------------------------------------------- following


def test_a_goal_is_followed_with_feedback_and_reached(graph: Graph, mover: Puppet) -> None:
    goal = Goal(graph, MOTION)
    assert mover.points is not None
    assert (mover.points.names, mover.stamp) == (tuple(JOINTS), 0)
    np.testing.assert_array_equal(mover.points.joints, [1, 0])
    assert mover.see(0.25, 0.01) is None
    goal.wait_for_feedback()
    for t in (0.26, 0.27, 0.28):
        mover.see(t)
    graph.client.spin_for(0.1)
    assert len(goal.feedback) == 1, "states that come fast are not all told"
    (told,) = goal.feedback
    assert told.joint_names == JOINTS
    assert list(told.desired.positions) == [0.125, 0.25]
    assert list(told.actual.positions) == pytest.approx([0.115, 0.24])
    assert list(told.error.positions) == pytest.approx([0.01, 0.01])
    assert list(told.desired.velocities) == list(told.actual.velocities) == [0.1, 0.1]
    assert list(told.desired.accelerations) == [0.2, 0.2]
    assert seconds_of(told.desired.time_from_start) == 0.25
    assert told.index == 1
    assert abs(seconds_of(told.header.stamp) - seconds_of(later(graph.client, 0.0))) < 60.0
    assert mover.see(1.5) is None
    goal.wait_for_feedback(2)
    assert goal.feedback[-1].index == 2
    assert mover.see(2.0, 0.06) is None, "not within the tolerance of the goal"
    assert goal.running
    assert mover.see(2.1, 0.04) == Verdict(Code.SUCCESSFUL)
    assert goal.result() == (SUCCEEDED, 0, "")
    graph.client.until(lambda: goal.feedback[-1].index == 2, "the last feedback")


def test_a_goal_off_its_path_is_aborted(graph: Graph, mover: Puppet, faults: Faults) -> None:
    goal = Goal(graph, MOTION)
    assert mover.see(0.5, 0.19) is None
    verdict = mover.see(0.7, 0.25)
    assert verdict is not None
    assert verdict.code == Code.PATH_TOLERANCE_VIOLATED
    sentence = (
        "at 0.700 s of the trajectory, the position of joint 'joint2' is 0.25 rad off, "
        "expected at most 0.2 rad"
    )
    assert goal.result() == (ABORTED, -4, sentence)
    assert faults.counts["follow_joint_trajectory"] == 1


def test_a_goal_that_is_not_reached_in_time_is_aborted(graph: Graph, mover: Puppet) -> None:
    goal = Goal(graph, MOTION)
    assert mover.see(1.9) is None
    assert mover.see(3.0, velocity=0.1) is None
    assert mover.see(3.01, velocity=0.1) is not None
    status, code, sentence = goal.result()
    assert (status, code) == (ABORTED, -5)
    assert "the velocity of joint 'joint2' is 0.1 rad/s off, expected at most 0.01" in sentence


def test_a_goal_brings_its_own_tolerances(graph: Graph, mover: Puppet) -> None:
    narrow = [JointTolerance(name="joint1", position=0.01)]
    goal = Goal(graph, MOTION, path_tolerance=narrow)
    assert mover.see(0.5, 0.02) is not None
    assert goal.result()[1] == -4
    wide = [JointTolerance(name=name, position=-1.0, velocity=-1.0) for name in JOINTS]
    goal = Goal(
        graph, MOTION, path_tolerance=wide, goal_tolerance=wide, goal_time_tolerance=Duration(sec=9)
    )
    assert mover.see(0.5, 1.0) is None
    assert mover.see(2.0, 1.0, 1.0) is not None
    assert goal.result()[0] == SUCCEEDED


def test_a_stamp_is_passed_to_the_mover(graph: Graph, mover: Puppet) -> None:
    Goal(graph, trajectory(JOINTS, TIMES, POSITIONS, stamp=Time(sec=2_000_000_000, nanosec=7)))
    assert mover.stamp == 2_000_000_000_000_000_007


# ------------------------------------------------------------------------- replaced and cancelled


def test_a_new_goal_replaces_the_one_before(graph: Graph, mover: Puppet) -> None:
    first = Goal(graph, MOTION)
    mover.see(0.5)
    second = Goal(graph, MOTION)
    assert first.result() == (ABORTED, -1, REPLACED)
    assert second.running
    mover.see(2.0)
    assert second.result()[0] == SUCCEEDED


def test_a_goal_that_is_refused_does_not_disturb_the_one_before(
    graph: Graph, mover: Puppet
) -> None:
    first = Goal(graph, MOTION)
    mover.see(0.5)
    assert Goal(graph, trajectory(JOINTS, [], [])).result()[0] == ABORTED
    mover.refuses = "joint 'joint1' would have to turn at 9 rad/s, and its limit is 2"
    assert Goal(graph, MOTION).result() == (ABORTED, -1, mover.refuses)
    assert first.running
    mover.see(2.0)
    assert first.result()[0] == SUCCEEDED


def test_a_cancelled_goal_is_over_when_the_robot_is_at_rest(graph: Graph, mover: Puppet) -> None:
    goal = Goal(graph, MOTION)
    mover.see(0.5)
    assert len(goal.cancel().goals_canceling) == 1
    assert mover.stopped == [mover.observer]
    goal.cancel()
    assert len(mover.stopped) == 1, "it is stopped once"
    assert mover.see(0.9, 5.0) is None, "while it brakes, nothing is judged"
    assert goal.running
    assert mover.observer is not None
    mover.observer.over()
    assert goal.result() == (CANCELED, 0, "cancelled at 0.900 s")
    mover.observer.over("a second time")
    assert goal.cancel().return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED


def test_a_goal_can_be_replaced_while_it_is_cancelled(graph: Graph, mover: Puppet) -> None:
    first = Goal(graph, MOTION)
    first.cancel()
    second = Goal(graph, MOTION)
    assert first.result() == (CANCELED, 0, f"cancelled at 0.000 s: {REPLACED}")
    mover.see(2.0)
    assert second.result()[0] == SUCCEEDED


def test_a_mover_that_stops_at_once_ends_a_cancelled_goal(graph: Graph, mover: Puppet) -> None:
    mover.stop = lambda observer: observer.over()  # type: ignore[method-assign]
    goal = Goal(graph, MOTION)
    mover.see(0.25)
    goal.cancel()
    assert goal.result() == (CANCELED, 0, "cancelled at 0.250 s")


def test_a_goal_ends_with_the_reason_why_the_robot_does_not_follow(
    graph: Graph, mover: Puppet
) -> None:
    goal = Goal(graph, MOTION)
    assert mover.observer is not None
    mover.observer.over("effort commands were closed: joint states stopped")
    assert goal.result() == (ABORTED, -1, "effort commands were closed: joint states stopped")


# ----------------------------------------------------------------------------------- wrong goals


@pytest.mark.parametrize(
    ("motion", "more", "code", "sentence"),
    [
        (trajectory(["joint1", "elbow"], TIMES, POSITIONS), {}, -2, "there is no joint 'elbow'"),
        (trajectory([], TIMES, POSITIONS), {}, -2, "the trajectory names no joint"),
        (trajectory(["joint1"] * 2, TIMES, POSITIONS), {}, -2, "joint 'joint1' is named twice"),
        (trajectory(JOINTS, [], []), {}, -1, "the trajectory has no points"),
        (trajectory(JOINTS, [1.0], [[0.0]]), {}, -1, "point 0 has 1 positions for 2 joints"),
        (
            trajectory(JOINTS, [1.0], [[0.0, np.nan]]),
            {},
            -1,
            "point 0: positions of joint 'joint1'",
        ),
        (
            trajectory(JOINTS, TIMES, POSITIONS, stamp=Time(sec=1000)),
            {},
            -3,
            "the trajectory ended ",
        ),
        (
            MOTION,
            {"multi_dof_trajectory": MultiDOFJointTrajectory(joint_names=["base"])},
            -2,
            "multi_dof_trajectory is about joints with several degrees of freedom",
        ),
        (
            MOTION,
            {"goal_tolerance": [JointTolerance(name="joint1", position=-3.0)]},
            -1,
            "position of joint 'joint1' in goal_tolerance is -3, expected",
        ),
        (
            MOTION,
            {"path_tolerance": [JointTolerance(name="elbow")]},
            -2,
            "path_tolerance names joint 'elbow', which is not in the trajectory",
        ),
        (MOTION, {"goal_time_tolerance": Duration(sec=-2)}, -1, "goal_time_tolerance is -2"),
    ],
)
def test_a_wrong_goal_is_aborted_with_a_code_and_a_sentence(
    graph: Graph,
    mover: Puppet,
    faults: Faults,
    motion: Any,
    more: dict[str, Any],
    code: int,
    sentence: str,
) -> None:
    status, given, said = Goal(graph, motion, **more).result()
    assert (status, given) == (ABORTED, code)
    assert said.startswith(sentence)
    assert mover.observer is None
    assert faults.counts["follow_joint_trajectory"] == 1


def test_a_goal_before_there_is_a_model_is_aborted(graph: Graph, node: Node, mover: Puppet) -> None:
    node.model = None
    status, code, sentence = Goal(graph, MOTION).result()
    assert (status, code) == (ABORTED, -1)
    assert "there is no model of the robot yet" in sentence
    assert mover.observer is None
