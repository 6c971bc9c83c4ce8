"""The action ~/simulate_motion: progress, cancel, one at a time, and torques that keep flowing."""

import signal
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters
from robot_graph import STANFORD, TWO_LINK, Graph, arm_of, joint_state, seconds_of
from sensor_msgs.msg import JointState

from kane_dynamics_interfaces.action import Simulate as Action
from kane_dynamics_interfaces.srv import Simulate as Service

JOINTS = ["joint1", "joint2"]
START = joint_state(JOINTS, [0.1, 0.2])
MANY_STEPS = 10**9
ENDLESS = {"duration": 9000.0, "step": 1e-5, "output_step": 1.0}  # until it is cancelled


class Goal:
    """A goal that was sent, and what is heard of it."""

    def __init__(self, graph: Graph, **goal: Any) -> None:
        self._client = graph.client
        self.feedback: list[Any] = []
        server = graph.client.action(Action, "/kane_dynamics/simulate_motion")
        sent = server.send_goal_async(
            Action.Goal(**{"initial_state": START, **goal}),
            lambda message: self.feedback.append(message.feedback),
        )
        self._client.until(sent.done, "response to the goal")
        self.handle = sent.result()
        self.accepted = self.handle.accepted
        self._result = self.handle.get_result_async() if self.accepted else None

    @property
    def running(self) -> bool:
        return not self._result.done()

    def wait_for_feedback(self, count: int = 1) -> None:
        self._client.until(lambda: len(self.feedback) >= count, "feedback")

    def cancel(self) -> Any:
        answer = self.handle.cancel_goal_async()
        self._client.until(answer.done, "response to cancel")
        return answer.result()

    def result(self, meanwhile: Any = None) -> tuple[int, Any]:
        """Status and result at the end."""
        self._client.until(self._result.done, "the result", meanwhile)
        return self._result.result().status, self._result.result().result


def simulate(graph: Graph, **request: Any) -> Service.Response:
    request = {"initial_state": START, **request}
    return graph.client.call(Service, "/kane_dynamics/simulate", Service.Request(**request))


def test_a_goal_tells_its_progress_and_ends_as_the_service_would(graph: Graph) -> None:
    graph.start(TWO_LINK)
    goal = Goal(graph, duration=400.0, step=1e-4, output_step=4.0)
    status, result = goal.result()
    assert (status, result.success, result.message) == (GoalStatus.STATUS_SUCCEEDED, True, "")
    assert len(goal.feedback) >= 2
    shares = [feedback.progress for feedback in goal.feedback]
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] == 1.0
    for feedback in goal.feedback:
        assert feedback.time == pytest.approx(400.0 * feedback.progress)
        assert feedback.state.name == JOINTS
        assert {len(feedback.state.position), len(feedback.state.velocity)} == {2}
        assert list(feedback.state.effort) == [0.0, 0.0]
    assert len(result.motion.points) == len(result.kinetic_energy) == 101
    short = {"duration": 0.5, "controller": "pd_gravity"}
    status, result = Goal(graph, **short).result()
    answer = simulate(graph, **short)
    assert status == GoalStatus.STATUS_SUCCEEDED
    for field in Service.Response.get_fields_and_field_types():
        assert getattr(result, field) == getattr(answer, field), field


def test_a_cancelled_goal_returns_what_was_computed_until_then(graph: Graph) -> None:
    graph.start(TWO_LINK, max_simulation_steps=MANY_STEPS)
    goal = Goal(graph, **ENDLESS)
    goal.wait_for_feedback(3)
    first, second = goal.cancel(), goal.cancel()
    assert len(first.goals_canceling) == 1
    status, result = goal.result()
    assert status == GoalStatus.STATUS_CANCELED
    assert not result.success
    assert "cancelled at t = " in result.message
    end = seconds_of(result.motion.points[-1].time_from_start)
    assert end >= goal.feedback[2].time - 1e-9
    assert len(result.motion.points) >= end
    assert result.checks.relative_energy_error < 1e-6
    assert second.return_code in (CancelGoal.Response.ERROR_NONE, goal.cancel().return_code)
    assert goal.cancel().return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED
    assert simulate(graph, duration=0.1).success, "the node serves on"

    goal = Goal(graph, **ENDLESS)
    assert goal.cancel().goals_canceling, "at once, perhaps before it has begun"
    status, result = goal.result()
    assert status == GoalStatus.STATUS_CANCELED
    assert not result.success
    assert result.message.startswith("cancelled")
    assert Goal(graph, duration=0.1).result()[1].success


def test_a_wrong_goal_is_aborted_with_a_sentence(graph: Graph) -> None:
    graph.start(TWO_LINK)
    for goal, sentence in (
        ({"duration": -1.0}, "duration is -1 s, expected a positive number"),
        ({"duration": 1e9}, "of the parameter max_simulation_steps"),
        ({"duration": 1.0, "controller": "pid"}, "controller is 'pid'"),
    ):
        status, result = Goal(graph, **goal).result()
        assert status == GoalStatus.STATUS_ABORTED
        assert not result.success
        assert sentence in result.message
    client = graph.client
    client.until(lambda: client.fault_count("simulation") == 3, "three faults counted")
    assert Goal(graph, duration=0.1).result()[1].success


def test_one_simulation_runs_at_a_time_and_is_not_disturbed(graph: Graph) -> None:
    node = graph.start(TWO_LINK, max_simulation_steps=MANY_STEPS)
    client = graph.client
    goal = Goal(graph, **ENDLESS)
    goal.wait_for_feedback()
    answer = simulate(graph, duration=0.1)
    assert not answer.success
    assert "a simulation is running, and one runs at a time" in answer.message
    assert not Goal(graph, duration=0.1).accepted
    client.until(lambda: client.fault_count("simulation") == 2, "two faults counted")
    assert "one runs at a time" in node.log
    seen = len(goal.feedback)
    goal.wait_for_feedback(seen + 2)
    goal.cancel()
    assert goal.result()[0] == GoalStatus.STATUS_CANCELED
    assert simulate(graph, duration=0.1).success


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_gravity_torques_keep_flowing_while_a_simulation_runs(graph: Graph, method: str) -> None:
    graph.start(TWO_LINK, max_simulation_steps=MANY_STEPS)
    client = graph.client
    heard = client.hear(JointState, "/kane_dynamics/gravity_torques")
    states = client.speak(JointState, "/joint_states")
    goal = Goal(graph, **ENDLESS, method=method)
    goal.wait_for_feedback()
    sent = 0

    def publish() -> None:
        nonlocal sent
        states.publish(joint_state(JOINTS, [1e-3 * sent, 0.4]))
        sent += 1

    client.until(lambda: sent == 400, "two seconds to pass", publish, 0.005)
    client.until(lambda: len(heard) == sent, "torques for every state")
    assert goal.running, "none has waited for the simulation"
    expected = arm_of(TWO_LINK).gravity([[1e-3 * k, 0.4] for k in range(sent)])
    np.testing.assert_allclose([each.effort for each in heard], expected, atol=1e-12)
    goal.cancel()
    assert goal.result()[0] == GoalStatus.STATUS_CANCELED


def test_a_simulation_goes_on_with_the_model_it_started_with(graph: Graph) -> None:
    graph.start(TWO_LINK, max_simulation_steps=MANY_STEPS)
    client = graph.client
    goal = Goal(graph, **ENDLESS)
    goal.wait_for_feedback()
    value = ParameterValue(type=4, string_value=STANFORD.read_text())
    change = [ParameterMessage(name="robot_description", value=value)]
    request = SetParameters.Request(parameters=change)
    client.call(SetParameters, "/kane_dynamics/set_parameters", request)
    client.until(lambda: "stanford" in client.diagnosis("model").hardware_id, "the new model")
    seen = len(goal.feedback)
    goal.wait_for_feedback(seen + 2)
    goal.cancel()
    _, result = goal.result()
    assert result.motion.joint_names == goal.feedback[-1].state.name == JOINTS
    start = joint_state([], [0.1] * 6)
    assert len(simulate(graph, duration=0.1, initial_state=start).motion.joint_names) == 6


@pytest.mark.parametrize(("ending", "method"), [(signal.SIGINT, "rk4"), (signal.SIGTERM, "dop853")])
def test_a_signal_ends_a_node_that_simulates(
    graph: Graph, ending: signal.Signals, method: str
) -> None:
    node = graph.start(TWO_LINK, max_simulation_steps=MANY_STEPS)
    Goal(graph, **ENDLESS, method=method).wait_for_feedback()
    assert graph.end(node, ending) == 0
    assert "Traceback" not in node.log
    assert "rror" not in node.log, node.log
