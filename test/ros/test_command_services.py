"""Stopping and holding on request, the latched state, gains, and joint states of other kinds."""

import time
from typing import Any

import numpy as np
import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from robot_graph import (
    LATCHED,
    STANFORD,
    TWO_LINK,
    Graph,
    arm_of,
    joint_state,
    later,
    limited_arm,
    trajectory,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from test_effort_commands import HERE, JOINTS, Robot
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_interfaces.msg import CommandState

STATES = "/kane_dynamics/command_state"
ANSWERS = "/kane_dynamics/torque_trajectory"


def trigger(graph: Graph, name: str, meanwhile: Any = None) -> Trigger.Response:
    return graph.client.call(Trigger, f"/kane_dynamics/{name}", Trigger.Request(), meanwhile)


def set_numbers(graph: Graph, name: str, *numbers: float, meanwhile: Any = None) -> Any:
    kind = ParameterType.PARAMETER_DOUBLE_ARRAY
    value = ParameterValue(type=kind, double_array_value=list(numbers))
    request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
    service = "/kane_dynamics/set_parameters"
    return graph.client.call(SetParameters, service, request, meanwhile).results[0]


def resting(robot: Robot, seconds: float = 60.0) -> None:
    """Have the arm follow a trajectory that stays where it is."""
    still = np.zeros((2, 2))
    given = robot.client.speak(JointTrajectory, "/joint_trajectory")
    given.publish(trajectory(JOINTS, [0.0, seconds], [HERE] * 2, still, still))
    robot.until(lambda: robot.told[-1].state == "following", "it to be followed")


def test_a_stop_withdraws_what_waits_for_its_time(graph: Graph) -> None:
    graph.start(limited_arm(), state_timeout=5.0)
    robot = Robot(graph)
    robot.enable()
    given = robot.client.speak(JointTrajectory, "/joint_trajectory")
    answers = robot.client.hear(JointTrajectory, ANSWERS)
    still, stamp = np.zeros((2, 2)), later(robot.client, 1.0)
    given.publish(trajectory(JOINTS, [0.0, 5.0], [HERE] * 2, still, still, stamp=stamp))
    robot.until(lambda: answers, "its answer")
    assert trigger(graph, "stop", robot.publish).success
    end = time.monotonic() + 1.5
    robot.until(lambda: time.monotonic() > end, "its time")
    assert "following" not in [told.state for told in robot.told]


def test_a_stop_ends_a_trajectory_and_holds(graph: Graph) -> None:
    graph.start(limited_arm(), state_timeout=5.0)
    robot = Robot(graph)
    response = trigger(graph, "stop")
    assert not response.success
    assert "effort commands are not enabled" in response.message
    robot.enable()
    resting(robot)
    assert trigger(graph, "stop", robot.publish).success
    robot.until(lambda: robot.told[-1].state == "holding", "the arm to be held")
    (braking,) = [told for told in robot.told if told.state == "braking"]
    assert (braking.reason, braking.commanding) == ("stopped on request", "braking")
    assert robot.told[-1].reason == ""
    heard = len(robot.commands)
    robot.until(lambda: len(robot.commands) > heard + 10, "commands that hold it")
    assert robot.told[-1].state == "holding", "the trajectory is not taken up again"


def test_those_who_come_late_hear_the_state_of_commands(graph: Graph) -> None:
    graph.start(limited_arm(), state_timeout=5.0)
    client = graph.client
    early = client.hear(CommandState, STATES, LATCHED)
    client.until(lambda: early, "the state at the start")
    assert (early[0].state, early[0].commanding) == ("closed", "nothing")
    robot = Robot(graph)
    robot.enable()
    robot.until(lambda: early[-1].state == "floating", "the change")
    late = client.hear(CommandState, STATES, LATCHED)
    client.until(
        lambda: late and late[-1].stamp == early[-1].stamp, "the state, which does not change"
    )
    assert late[-1].state == "floating"


@pytest.mark.parametrize("compensates", [False, True])
def test_a_trajectory_that_holds_the_arm_comes_on_request_and_at_start(
    graph: Graph, compensates: bool
) -> None:
    graph.start(TWO_LINK, hold_at_start=True, robot_compensates_gravity=compensates)
    client = graph.client
    answers = client.hear(JointTrajectory, ANSWERS)
    response = trigger(graph, "hold")
    assert not response.success
    assert "no joint state has named 'joint1', 'joint2' yet" in response.message
    assert not answers
    states = client.speak(JointState, "/joint_states")

    def publish() -> None:
        states.publish(joint_state(JOINTS, HERE))

    client.until(lambda: len(answers) > 2, "the trajectory at start, again and again", publish)
    assert trigger(graph, "hold", publish).success
    client.spin_for(0.3)
    heard = len(answers)
    client.spin_for(0.5)
    assert len(answers) == heard, "not after the one on request"
    efforts = [0.0, 0.0] if compensates else arm_of(TWO_LINK).gravity(HERE)
    for answer in answers:
        assert answer.joint_names == JOINTS
        assert len(answer.points) == 2, "the first has effect at once"
        for point in answer.points:
            assert list(point.positions) == HERE
            assert not any((*point.velocities, *point.accelerations))
            np.testing.assert_allclose(point.effort, efforts, rtol=1e-9)


def test_the_first_hold_trajectory_stays_where_it_is_and_gives_way_to_others(graph: Graph) -> None:
    """An arm sags until its controller takes up what holds it."""
    graph.start(TWO_LINK, hold_at_start=True)
    client = graph.client
    answers = client.hear(JointTrajectory, ANSWERS)
    states = client.speak(JointState, "/joint_states")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    here = list(HERE)

    def publish() -> None:
        states.publish(joint_state(JOINTS, here))

    client.until(lambda: len(answers) > 2, "the trajectory at start", publish)
    here[0] -= 0.05
    client.until(lambda: len(answers) > 5, "it after the arm has sagged", publish)
    assert {tuple(each.points[0].positions) for each in answers} == {tuple(HERE)}
    commands.publish(trajectory(JOINTS, [0.0, 1.0], [here, [0.5, 0.5]]))
    client.until(lambda: len(answers[-1].points) > 2, "another trajectory", publish)
    heard = len(answers)
    client.spin_for(0.5)
    assert len(answers) == heard


def test_a_wrong_number_of_gains_is_refused_with_a_sentence(graph: Graph) -> None:
    graph.start(limited_arm(), state_timeout=5.0, kp=[1.0, 2.0, 3.0])
    robot = Robot(graph)
    gravity = graph.client.hear(JointState, "/kane_dynamics/gravity_torques")
    robot.until(lambda: gravity, "the state to be known")
    sentence = "has 3 numbers, expected one, or one for each of the 2 joints"
    response = graph.client.enable(meanwhile=robot.publish)
    assert (response.success, response.message) == (False, f"kp {sentence}")
    assert robot.told[-1].state == "closed"
    for name in ("kp", "kd", "ki", "float_damping", "effort_rate"):
        result = set_numbers(graph, name, 1.0, 2.0, 3.0)
        assert (result.successful, result.reason) == (False, f"{name} {sentence}")
    for wrong in (-1.0, np.nan):
        assert not set_numbers(graph, "kp", wrong, 1.0).successful
    assert set_numbers(graph, "kp", 100.0, 50.0).successful
    robot.enable()


def test_gains_set_while_it_runs_change_no_torque_at_once(graph: Graph) -> None:
    graph.start(limited_arm(), state_timeout=5.0, ramp_time=0.0, idle="hold", ki=0.0, kp=100.0)
    robot = Robot(graph)
    robot.enable()
    robot.message = lambda: robot.state([0.28, 0.4])  # a lasting error
    robot.until(lambda: len(robot.commands) > 60, "commands against the error")
    before = robot.commands[-1].data[0]
    heard = len(robot.commands)
    assert set_numbers(graph, "kp", 1600.0, meanwhile=robot.publish).successful
    robot.until(lambda: len(robot.commands) > heard + 100, "commands with other gains")
    torques = np.array([before, *(command.data[0] for command in robot.commands[heard:])])
    final = abs(torques[-1] - before)
    assert final > 5.0
    # it fades in over 0.3 s; a busy machine may lose some joint states meanwhile
    assert np.abs(np.diff(torques)).max() < 0.7 * final


@pytest.mark.parametrize("ahead", [None, 3.0])
def test_joint_states_without_stamps_count_from_their_arrival_and_none_may_be_ahead(
    graph: Graph, ahead: float | None
) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=1.0)
    robot = Robot(graph)
    robot.message = lambda: joint_state(JOINTS, HERE, [0.0, 0.0])
    robot.enable()
    robot.until(lambda: len(robot.commands) > 10, "commands")
    assert robot.told[-1].state == "floating"
    if ahead is None:
        graph.client.until(lambda: robot.told[-1].commanding == "nothing", "the last command")
        assert "s old, the limit is 1 s" in robot.told[-1].reason
    else:
        robot.message = lambda: joint_state(JOINTS, HERE, stamp=later(graph.client, ahead))
        robot.until(lambda: "ahead of the clock" in robot.told[-1].reason, "the trip")


def test_a_description_of_other_joints_waits_until_the_arm_rests(graph: Graph) -> None:
    graph.start(None, ramp_time=0.0, state_timeout=5.0, ready=False)
    descriptions = graph.client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=limited_arm()))
    graph.wait_until_serving()
    robot, client = Robot(graph), graph.client
    robot.enable()
    resting(robot)
    robot.commands.clear()
    descriptions.publish(String(data=STANFORD.read_text()))
    robot.until(lambda: robot.told[-1].state == "closed", "the end of commands")
    braking = [told.reason for told in robot.told if told.state == "braking"]
    assert braking == ["the robot description was replaced"]
    holding = arm_of(TWO_LINK).gravity(HERE)
    np.testing.assert_allclose(robot.commands[-1].data, holding, atol=0.1)
    assert {len(command.data) for command in robot.commands} == {2}
    six = arm_of(STANFORD).joint_names

    def other() -> bool:
        return any(v.value == ", ".join(six) for v in client.diagnosis("model").values)

    client.until(other, "the other robot")
    assert "no joint state has named" in client.enable().message
