"""The robot description: from the parameter or the topic, and replaced while the node serves."""

import os
import signal
from pathlib import Path

import numpy as np
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters
from robot_graph import (
    LATCHED,
    STANFORD,
    TWO_LINK,
    Graph,
    arm_of,
    chain,
    joint_state,
    limited_arm,
    panda,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import String

JOINTS = ["joint1", "joint2"]
TORQUES = "/kane_dynamics/gravity_torques"
HEAVY = TWO_LINK.read_text().replace('<mass value="1"/>', '<mass value="2"/>')
OK, WARN, ERROR = b"\x00", b"\x01", b"\x02"


def test_a_description_that_was_published_before_the_node_started_is_served(graph: Graph) -> None:
    publisher = graph.client.create_publisher(String, "/robot_description", LATCHED)
    publisher.publish(String(data=TWO_LINK.read_text()))
    graph.start(None)
    status = graph.client.diagnosis("model")
    values = {entry.key: entry.value for entry in status.values}
    arm = arm_of(TWO_LINK)
    assert status.level == OK
    assert status.hardware_id == values["robot"] == "two_link_arm"
    assert values["joints"] == "joint1, joint2"
    assert values["backend"] in ("c", "numpy")
    for name in ("gravity", "inverse_dynamics"):
        assert values[f"{name} operations"] == str(arm.operations(name).total)


def test_a_node_without_description_says_so_and_answers(graph: Graph) -> None:
    graph.start(None, ready=False)
    client = graph.client
    client.until(lambda: client.diagnosis("model"), "diagnostics")
    assert client.diagnosis("model").level == WARN
    assert "waiting for a description" in client.diagnosis("model").message


def test_the_parameter_counts_when_both_are_given(graph: Graph) -> None:
    publisher = graph.client.create_publisher(String, "/robot_description", LATCHED)
    publisher.publish(String(data=STANFORD.read_text()))
    node = graph.start(TWO_LINK)
    graph.client.until(lambda: "is not used, because the parameter" in node.log, "the remark")
    assert graph.client.diagnosis("model").hardware_id == "two_link_arm"


def test_when_the_parameter_is_cleared_the_topic_counts(graph: Graph) -> None:
    publisher = graph.client.create_publisher(String, "/robot_description", LATCHED)
    publisher.publish(String(data=STANFORD.read_text()))
    node, client = graph.start(TWO_LINK), graph.client
    client.until(lambda: "is not used, because the parameter" in node.log, "the remark")
    empty = ParameterMessage(name="robot_description", value=ParameterValue(type=4))
    request = SetParameters.Request(parameters=[empty])
    answer = client.call(SetParameters, "/kane_dynamics/set_parameters", request)
    assert answer.results[0].successful
    client.until(
        lambda: client.diagnosis("model").hardware_id == "stanford_arm", "the Stanford Arm to serve"
    )


def test_a_description_that_failed_is_tried_again_when_it_comes_again(graph: Graph) -> None:
    graph.start(None, ready=False)
    client = graph.client
    descriptions = client.speak(String, "/robot_description", LATCHED)
    for count in (1, 2, 3):
        descriptions.publish(String(data="<robot"))
        client.until(lambda n=count: client.fault_count("robot_description") == n, f"fault {count}")
        assert client.diagnosis("model").level == ERROR


def test_a_new_description_replaces_the_model_while_joint_states_stream(graph: Graph) -> None:
    assert TWO_LINK.read_text() != HEAVY
    graph.start(None, ready=False)
    client = graph.client
    descriptions = client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=TWO_LINK.read_text()))
    graph.wait_until_serving()
    heard, states = client.hear(JointState, TORQUES), client.speak(JointState, "/joint_states")
    client.introduce(states, heard, joint_state(JOINTS, [0.3, 0.4]))
    sent = 0

    def publish() -> None:
        nonlocal sent
        sent += 1
        states.publish(joint_state(JOINTS, [0.3, 0.4]))

    client.until(lambda: len(heard) > 20, "torques of the first model", publish)
    light = arm_of(TWO_LINK).gravity([0.3, 0.4])
    descriptions.publish(String(data=HEAVY))
    client.until(lambda: np.allclose(heard[-1].effort, 2.0 * light), "the heavy robot", publish)
    client.until(lambda: len(heard) == sent, "an answer to every state")
    kinds = [bool(np.allclose(each.effort, 2.0 * light)) for each in heard]
    assert kinds == sorted(kinds), "first the one, then the other"
    for each, heavy in zip(heard, kinds):
        np.testing.assert_allclose(each.effort, (1.0 + heavy) * light, rtol=1e-12)


def test_descriptions_that_are_no_robot_leave_the_old_model_serving(graph: Graph) -> None:
    node = graph.start(None, ready=False, joints=JOINTS)
    client = graph.client
    descriptions = client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=TWO_LINK.read_text()))
    graph.wait_until_serving()
    heard, states = client.hear(JointState, TORQUES), client.speak(JointState, "/joint_states")
    client.introduce(states, heard, joint_state(JOINTS, [0.3, 0.4]))
    bad = {
        "it begins with 'this is no URDF'": "this is no URDF",
        "robot_description": "<robot",
        "expected": "<html/>",
        "joint": TWO_LINK.read_text().replace("joint2", "elbow"),
        "it begins with '/etc/passwd'": "/etc/passwd",
    }
    for count, (sentence, text) in enumerate(bad.items(), 1):
        descriptions.publish(String(data=text))
        client.until(
            lambda n=count: client.fault_count("robot_description") == n, f"fault {text[:20]}"
        )
        status = client.diagnosis("model")
        assert status.level == ERROR
        assert sentence in status.message or sentence in node.log
        assert "the model before it serves on" in status.message
        seen = len(heard)
        states.publish(joint_state(JOINTS, [0.3, 0.4]))
        client.until(lambda n=seen: len(heard) > n, "torques of the old model")
    descriptions.publish(String(data=""))
    client.until(lambda: client.fault_count("robot_description") == len(bad) + 1, "empty fault")
    descriptions.publish(String(data=TWO_LINK.read_text()))
    graph.wait_until_serving()
    for each in heard:
        np.testing.assert_allclose(each.effort, arm_of(TWO_LINK).gravity([0.3, 0.4]), rtol=1e-12)


def test_another_robot_in_mid_stream_is_served_as_soon_as_its_joints_are_named(
    graph: Graph,
) -> None:
    graph.start(None, ready=False)
    client = graph.client
    descriptions = client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=TWO_LINK.read_text()))
    graph.wait_until_serving()
    heard, states = client.hear(JointState, TORQUES), client.speak(JointState, "/joint_states")
    client.until(lambda: heard, "torques", lambda: states.publish(joint_state(JOINTS, [0.3, 0.4])))
    descriptions.publish(String(data=STANFORD.read_text()))
    client.until(
        lambda: client.diagnosis("model").hardware_id == "stanford_arm", "the Stanford Arm to serve"
    )
    assert client.diagnosis("joint states").level == WARN
    arm = arm_of(STANFORD)
    client.until(
        lambda: len(heard[-1].name) == 6,
        "torques of the Stanford Arm",
        lambda: states.publish(joint_state(arm.joint_names, np.full(6, 0.1))),
    )
    np.testing.assert_allclose(heard[-1].effort, arm.gravity(np.full(6, 0.1)), rtol=1e-12)


def test_a_description_given_as_parameter_at_run_time_is_served(graph: Graph) -> None:
    graph.start("this is no URDF", ready=False)
    client = graph.client
    client.until(
        lambda: client.diagnosis("model") and client.diagnosis("model").level == ERROR, "the error"
    )
    value = ParameterValue(type=4, string_value=limited_arm())
    request = SetParameters.Request(
        parameters=[ParameterMessage(name="robot_description", value=value)]
    )
    response = client.call(SetParameters, "/kane_dynamics/set_parameters", request)
    assert response.results[0].successful
    graph.wait_until_serving()


def test_the_node_answers_while_it_derives(graph: Graph) -> None:
    graph.start(None, ready=False, gravity=[0.1, 0.2, -9.7])  # with which it is in no cache yet
    client = graph.client
    client.until(lambda: client.diagnosis("model"), "the first report")
    descriptions = client.speak(String, "/robot_description", LATCHED)
    assert not client.enable().success
    descriptions.publish(String(data=panda()[0].read_text()))
    client.until(
        lambda: client.diagnosis("model").message == "deriving the equations of a new description",
        "the report that it derives",
    )
    assert client.diagnosis("model").level == WARN
    assert client.enable().message == "there is no model of the robot yet: try again later"
    graph.wait_until_serving()


def test_a_newer_description_overtakes_one_that_is_being_derived(graph: Graph) -> None:
    node = graph.start(None, ready=False, gravity=[0.3, 0.2, -9.7])  # with which nothing is cached
    client = graph.client
    descriptions = client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=TWO_LINK.read_text()))
    graph.wait_until_serving()
    descriptions.publish(String(data=panda()[0].read_text()))
    client.until(lambda: children_of(node.process.pid), "the process that derives")
    descriptions.publish(String(data=STANFORD.read_text()))
    client.until(
        lambda: client.diagnosis("model").hardware_id == "stanford_arm", "the Stanford Arm to serve"
    )
    assert "Serving panda" not in node.log
    assert client.fault_count("robot_description") == 0


def test_a_robot_of_400_joints_holds_up_no_other_though_nothing_serves(graph: Graph) -> None:
    node = graph.start(None, ready=False)
    client = graph.client
    descriptions = client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=chain(400)))
    client.until(lambda: children_of(node.process.pid), "the process that derives")
    descriptions.publish(String(data=TWO_LINK.read_text()))
    graph.wait_until_serving()
    assert client.diagnosis("model").hardware_id == "two_link_arm"
    assert client.fault_count("robot_description") == 0


def test_what_takes_too_long_is_refused_with_a_sentence_and_the_old_model_serves_on(
    graph: Graph,
) -> None:
    graph.start(None, ready=False)
    client = graph.client
    descriptions = client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=TWO_LINK.read_text()))
    graph.wait_until_serving()
    value = ParameterValue(type=3, double_value=0.5)
    request = SetParameters.Request(
        parameters=[ParameterMessage(name="derivation_timeout", value=value)]
    )
    answer = client.call(SetParameters, "/kane_dynamics/set_parameters", request)
    assert answer.results[0].successful
    descriptions.publish(String(data=chain(400)))
    client.until(lambda: client.fault_count("robot_description") == 1, "the refusal")
    status = client.diagnosis("model")
    assert status.level == ERROR
    assert "400 joints, which can move, took longer than derivation_timeout" in status.message
    assert "the model before it serves on" in status.message
    heard, states = client.hear(JointState, TORQUES), client.speak(JointState, "/joint_states")
    client.introduce(states, heard, joint_state(JOINTS, [0.3, 0.4]))
    states.publish(joint_state(JOINTS, [0.3, 0.4]))
    client.until(lambda: heard, "torques of the old model")
    np.testing.assert_allclose(heard[-1].effort, arm_of(TWO_LINK).gravity([0.3, 0.4]), rtol=1e-12)


def test_a_new_description_is_given_up_when_the_one_that_serves_comes_again(graph: Graph) -> None:
    node = graph.start(None, ready=False)
    client = graph.client
    descriptions = client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=TWO_LINK.read_text()))
    graph.wait_until_serving()
    descriptions.publish(String(data=chain(400)))
    client.until(lambda: "deriving" in client.diagnosis("model").message, "its derivation")
    (child,) = client.until(lambda: children_of(node.process.pid), "the process that derives")
    descriptions.publish(String(data=TWO_LINK.read_text()))
    client.until(lambda: child not in children_of(node.process.pid), "its end")
    graph.wait_until_serving()
    assert client.fault_count("robot_description") == 0


def test_descriptions_are_served_when_the_process_that_derives_is_killed(graph: Graph) -> None:
    node = graph.start(None, ready=False)
    client = graph.client
    client.until(lambda: client.diagnosis("model"), "the first report")
    descriptions = client.speak(String, "/robot_description", LATCHED)
    for robot in (TWO_LINK, STANFORD, TWO_LINK):
        descriptions.publish(String(data=robot.read_text()))
        client.until(
            lambda name=robot.stem: client.diagnosis("model").hardware_id == name, "it to serve"
        )
        for child in children_of(node.process.pid):
            os.kill(child, signal.SIGKILL)
    assert client.fault_count("robot_description") == 0


def test_the_node_ends_with_the_process_that_derives(graph: Graph) -> None:
    node = graph.start(TWO_LINK, gravity=[0.4, 0.2, -9.7])
    client = graph.client
    value = ParameterValue(type=4, string_value=panda()[0].read_text())
    request = SetParameters.Request(
        parameters=[ParameterMessage(name="robot_description", value=value)]
    )
    client.call(SetParameters, "/kane_dynamics/set_parameters", request)
    (child,) = client.until(lambda: children_of(node.process.pid), "the process that derives")
    client.until(lambda: children_of(child), "its compiler")
    assert graph.end(node) == 0
    assert not Path(f"/proc/{child}").exists()


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(number) for task in tasks for number in task.read_text().split()]
