"""Goals that are passed on to a controller in another process, and what comes back."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from follow_client import Goal, node_in
from rclpy.node import Node
from rclpy.qos import qos_profile_action_status_default
from rclpy.task import Future
from robot_graph import TWO_LINK, Graph, trajectory
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.faults import Fault, Faults
from kane_dynamics.ros.parameters.declaration import Parameters, Settings
from kane_dynamics.ros.robot.model import load_model
from kane_dynamics.ros.trajectories import forwarding
from kane_dynamics.ros.trajectories.action import follow_joint_trajectory
from kane_dynamics.ros.trajectories.forwarding import Forwarding

JOINTS = ["joint2", "joint1"]
CONTROLLER = "/arm/follow_joint_trajectory"
SUCCEEDED, CANCELED, ABORTED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_CANCELED,
    GoalStatus.STATUS_ABORTED,
)


def motion(behaviour: str = "", end: float = 60.0) -> JointTrajectory:
    message = trajectory(JOINTS, [0.0, end], [[0.0, 0.0], [1.0, 2.0]])
    message.header.frame_id = behaviour
    return message


def with_efforts(message: JointTrajectory) -> JointTrajectory:
    if message.points[-1].positions[0] > 3.0:
        raise Fault("joint_trajectory", "joint 'joint2' would be beyond its limit")
    for k, point in enumerate(message.points):
        point.effort = [1.0 + k, 2.0 + k]
    return message


def holding() -> JointTrajectory:
    return with_efforts(trajectory(JOINTS, [0.0, 0.1], [[0.5, 0.5], [0.5, 0.5]]))


class ControllerProcess:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._process = subprocess.Popen([sys.executable, Path(__file__).parent / "controller.py"])

    def wait(self) -> None:
        """Wait until it serves."""
        self._graph.client.action(FollowJointTrajectory, CONTROLLER)

    def end(self, ending: signal.Signals = signal.SIGINT) -> None:
        self._process.send_signal(ending)
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:  # it is not what is tested
            self._process.kill()
            self._process.wait()


@pytest.fixture
def node(graph: Graph) -> Iterator[Node]:
    with node_in(graph, forward_to="arm/follow_joint_trajectory") as made:
        yield made


@pytest.fixture
def faults(node: Node) -> Faults:
    return Faults(node.get_logger())


@pytest.fixture(autouse=True)
def action(node: Node, faults: Faults) -> Forwarding:
    node.parameters, node.faults = Parameters(node), faults
    node.following = SimpleNamespace(with_efforts=with_efforts, holding=holding)
    node.model = load_model(TWO_LINK.read_text(), Settings(backend="numpy"))
    made = follow_joint_trajectory(node)
    assert isinstance(made, Forwarding)
    return made


@contextmanager
def controlling(graph: Graph) -> Iterator[ControllerProcess]:
    made = ControllerProcess(graph)
    try:
        made.wait()
        yield made
    finally:
        made.end()


@pytest.fixture
def controller(graph: Graph, action: Forwarding) -> Iterator[ControllerProcess]:
    with controlling(graph) as made:
        graph.client.until(action.controller.server_is_ready, "that the node, too, sees it")
        wait_for_an_answer(graph, action)
        yield made


def wait_for_an_answer(graph: Graph, action: Forwarding) -> None:
    """Until the controller knows of the node, too, the middleware loses its answers."""
    of_none = CancelGoal.Request()
    of_none.goal_info.goal_id.uuid = [1] * 16
    asked: list[Future] = []
    graph.client.until(
        lambda: any(each.done() for each in asked),
        "an answer of the controller",
        lambda: asked.append(action._cancelling.call_async(of_none)),
        0.2,
    )


@pytest.mark.usefixtures("controller")
def test_a_goal_is_passed_on_with_efforts_and_its_result_back(graph: Graph) -> None:
    tolerances = [JointTolerance(name="joint1", position=0.1)]
    goal = Goal(graph, motion(end=0.5), goal_tolerance=tolerances)
    goal.wait_for_feedback(3)
    told = goal.feedback[-1]
    assert (told.joint_names, told.index) == (JOINTS, 1)
    assert list(told.desired.effort) == [1.0, 2.0]
    said = "['joint2', 'joint1'] [[1.0, 2.0], [2.0, 3.0]] ['joint1']"
    assert goal.result() == (SUCCEEDED, 0, said)


@pytest.mark.usefixtures("controller")
def test_many_goals_that_end_at_once_lose_no_result(graph: Graph, action: Forwarding) -> None:
    for _ in range(20):
        assert Goal(graph, motion("once")).result()[0] == SUCCEEDED
    assert not action.goals


@pytest.mark.usefixtures("controller")
def test_a_goal_is_cancelled_at_the_controller(graph: Graph) -> None:
    goal = Goal(graph, motion())
    goal.wait_for_feedback()
    assert len(goal.cancel().goals_canceling) == 1
    assert goal.result()[:2] == (CANCELED, 0)


@pytest.mark.usefixtures("controller")
def test_a_controller_whose_goal_is_cancelled_is_sent_efforts_that_hold_the_arm(
    graph: Graph,
) -> None:
    statuses = graph.client.hear(
        FollowJointTrajectory.Impl.GoalStatusMessage, f"{CONTROLLER}/_action/status"
    )
    goal = Goal(graph, motion())
    goal.wait_for_feedback()
    goal.cancel()
    graph.client.until(
        lambda: (
            statuses and [each.status for each in statuses[-1].status_list] == [CANCELED, SUCCEEDED]
        ),
        "the end of the trajectory that holds the arm",
    )


@pytest.mark.usefixtures("controller")
def test_a_goal_can_be_cancelled_before_the_controller_has_accepted_it(graph: Graph) -> None:
    goal = Goal(graph, motion("late"))
    assert len(goal.cancel().goals_canceling) == 1
    assert goal.running, "the controller has not answered yet"
    assert goal.result()[0] == CANCELED


@pytest.mark.usefixtures("controller")
def test_a_goal_that_the_controller_aborts_is_aborted_with_its_words(graph: Graph) -> None:
    assert Goal(graph, motion("abort")).result() == (ABORTED, -5, "did not reach")


@pytest.mark.usefixtures("controller")
def test_the_controller_decides_which_goal_replaces_another(graph: Graph) -> None:
    first = Goal(graph, motion())
    first.wait_for_feedback()
    second = Goal(graph, motion())
    assert first.result() == (ABORTED, -5, "replaced")
    second.wait_for_feedback()
    second.cancel()
    assert second.result()[0] == CANCELED


@pytest.mark.usefixtures("controller")
def test_a_goal_that_the_controller_rejects_is_aborted(graph: Graph, faults: Faults) -> None:
    status, code, sentence = Goal(graph, motion("reject")).result()
    assert (status, code) == (ABORTED, -1)
    assert (
        sentence == f"the controller's action {CONTROLLER} has rejected the goal; its log says why"
    )
    assert faults.counts["follow_joint_trajectory"] == 1


@pytest.mark.usefixtures("controller")
def test_a_goal_that_another_client_cancels_is_aborted(graph: Graph) -> None:
    goal = Goal(graph, motion())
    goal.wait_for_feedback()
    every_goal = CancelGoal.Request()
    graph.client.call(CancelGoal, f"{CONTROLLER}/_action/cancel_goal", every_goal)
    sentence = f"another client of {CONTROLLER} has cancelled the goal"
    assert goal.result() == (ABORTED, -1, sentence)


def test_a_goal_for_a_controller_that_is_not_there_is_aborted(graph: Graph) -> None:
    status, code, sentence = Goal(graph, motion()).result()
    assert (status, code) == (ABORTED, -1)
    assert sentence == (
        f"the controller's action {CONTROLLER}, which the parameter forward_to names, "
        "is not there: is the controller active?"
    )


def test_a_controller_that_comes_later_is_sent_goals(graph: Graph, action: Forwarding) -> None:
    assert Goal(graph, motion()).result()[0] == ABORTED
    with controlling(graph):
        wait_for_an_answer(graph, action)
        assert Goal(graph, motion("once")).result()[0] == SUCCEEDED


def test_a_goal_of_a_controller_that_goes_away_is_aborted(
    graph: Graph, controller: ControllerProcess
) -> None:
    goal = Goal(graph, motion())
    goal.wait_for_feedback()
    controller.end()
    sentence = f"the controller's action {CONTROLLER} has gone away"
    assert goal.result() == (ABORTED, -1, sentence)
    assert Goal(graph, motion()).result()[0] == ABORTED


def test_a_goal_of_a_controller_that_is_killed_is_aborted_within_seconds(
    graph: Graph, controller: ControllerProcess
) -> None:
    """The middleware believes it to be there for some 20 s more."""
    goal = Goal(graph, motion())
    goal.wait_for_feedback()
    began = time.monotonic()
    controller.end(signal.SIGKILL)
    sentence = f"the controller's action {CONTROLLER} has sent no feedback for 2 s"
    assert goal.result() == (ABORTED, -1, sentence)
    assert 1.5 < time.monotonic() - began < 8.0


@pytest.mark.usefixtures("controller")
def test_a_controller_that_never_sends_feedback_is_waited_for(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "SILENCE_TIMEOUT", 0.3)
    assert Goal(graph, motion("mute", end=1.0)).result()[0] == SUCCEEDED


@pytest.mark.usefixtures("controller")
def test_a_controller_in_a_simulation_that_stands_still_is_waited_for(
    graph: Graph, action: Forwarding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "SILENCE_TIMEOUT", 0.3)
    goal = Goal(graph, motion("falls mute"))
    goal.wait_for_feedback()
    (forwarded,) = action.goals.values()
    for _ in range(100):
        forwarded.look(there=True, time_passes=False)
    assert action.busy
    assert "has sent no feedback for 0.3 s" in goal.result()[2]
    assert not action.busy


@pytest.mark.usefixtures("controller")
def test_a_controller_that_does_not_answer_is_not_waited_for_and_then_stopped(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "ANSWER_TIMEOUT", 0.3)
    began = time.monotonic()
    goal = Goal(graph, motion("late"))
    status, code, sentence = goal.result()
    assert time.monotonic() - began < 1.0
    assert (status, code) == (ABORTED, -1)
    assert sentence == f"the controller's action {CONTROLLER} has not answered for 0.3 s"
    wait_until_cancelled(graph)


@pytest.mark.usefixtures("controller")
def test_a_controller_whose_answer_is_lost_is_stopped(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "ANSWER_TIMEOUT", 3.0)
    monkeypatch.setattr(forwarding._Forwarded, "_answered", lambda forwarded, answer: None)
    goal = Goal(graph, motion())
    goal.wait_for_feedback()
    assert goal.result()[:2] == (ABORTED, -1)
    wait_until_cancelled(graph)


@pytest.mark.usefixtures("controller")
def test_a_request_to_cancel_that_is_lost_is_made_again(
    graph: Graph, action: Forwarding, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, lost = action._cancelling.call_async, []

    def lose_the_first(request: CancelGoal.Request) -> Future:
        if lost:
            return send(request)
        lost.append(request)
        return Future()

    monkeypatch.setattr(action._cancelling, "call_async", lose_the_first)
    goal = Goal(graph, motion())
    goal.wait_for_feedback()
    goal.cancel()
    assert goal.result()[0] == CANCELED
    assert lost


def wait_until_cancelled(graph: Graph) -> None:
    statuses = graph.client.hear(
        FollowJointTrajectory.Impl.GoalStatusMessage,
        f"{CONTROLLER}/_action/status",
        qos_profile_action_status_default,  # latched: it may be cancelled already
    )
    graph.client.until(
        lambda: statuses and statuses[-1].status_list[-1].status == CANCELED, "that it is cancelled"
    )


@pytest.mark.usefixtures("controller")
def test_a_goal_without_efforts_is_not_passed_on(graph: Graph, node: Node) -> None:
    beyond = trajectory(JOINTS, [1.0], [[4.0, 0.0]])
    refused = (ABORTED, -1, "joint 'joint2' would be beyond its limit")
    assert Goal(graph, beyond).result() == refused
    status, code, sentence = Goal(graph, trajectory(["elbow"], [1.0], [[0.0]])).result()
    assert (status, code) == (ABORTED, -2)
    assert "there is no joint 'elbow'" in sentence
    node.model = None
    assert "no model of the robot yet" in Goal(graph, motion()).result()[2]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("/kane_dynamics/follow_joint_trajectory", "which is the action of this node itself"),
        ("~/follow_joint_trajectory", "which is the action of this node itself"),
        ("no name", "which is no name of an action"),
    ],
)
def test_a_name_that_cannot_be_forwarded_to_is_refused(
    node: Node, name: str, sentence: str
) -> None:
    node.parameters = SimpleNamespace(values=Settings(forward_to=name))
    with pytest.raises(ArgumentError, match=sentence):
        Forwarding(node)


def test_without_control_msgs_the_node_has_no_action_and_says_so(
    node: Node, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "control_msgs"]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("goals", "forwarding", "goal_messages"):
        monkeypatch.delitem(sys.modules, f"kane_dynamics.ros.trajectories.{name}", raising=False)
    assert follow_joint_trajectory(node) is None
    said = capfd.readouterr().err
    assert "runs without the action follow_joint_trajectory" in said
    assert said.count("\n") == 1
