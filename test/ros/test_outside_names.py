"""Joints that messages call otherwise than the URDF: by a prefix, or by a map of names."""

import numpy as np
import pytest
from robot_graph import (
    LATCHED,
    TWO_LINK,
    Graph,
    arm_of,
    efforts_of,
    joint_state,
    later,
    limited_arm,
    panda,
    trajectory,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.robot.outside_names import outside_names, read_name_map
from kane_dynamics_interfaces.srv import GetDynamics, InverseDynamics, Simulate

NODE = "/kane_dynamics"
THEIRS = ["shoulder", "left_joint2"]
NAMES = {"joint_prefix": "left_", "joint_name_map": ["shoulder = joint1"]}
HERE = [0.3, 0.4]


def test_the_map_comes_before_the_prefix() -> None:
    outside = outside_names(["a", "b"], "left_", read_name_map(["elbow=b"]))
    assert [outside("a"), outside("b")] == ["left_a", "elbow"]
    assert [outside.inside(name) for name in ("left_a", "elbow", "a", "b")] == ["a", "b", "a", "b"]
    assert outside.said("joint 'b' of link 'c' is 1.") == "joint 'elbow' of link 'c' is 1."


def test_a_name_that_may_be_either_of_two_joints_is_ambiguous() -> None:
    outside = outside_names(["a", "b", "c"], "", read_name_map(["a=b", "b=a"]))
    assert [outside("a"), outside("b"), outside("c")] == ["b", "a", "c"]
    with pytest.raises(ArgumentError, match=r"joint 'a' is ambiguous: .* in messages, or 'b' of"):
        outside.inside("a")
    assert outside.inside("c") == "c"


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        (["shoulder"], "'shoulder' must be the name in messages, =, and that in the URDF"),
        (["=joint1"], "'=joint1' must be"),
        (["a=b=c"], "'a=b=c' must be"),
        (["arm=joint1", "arm=joint2"], "'arm' is the name of two joints"),
        (["a=joint1", "b=joint1"], "joint 'joint1' of the URDF has two names"),
    ],
)
def test_a_node_with_a_map_that_is_wrong_by_itself_does_not_start(
    graph: Graph, entries: list[str], sentence: str
) -> None:
    node = graph.start(TWO_LINK, ready=False, joint_name_map=entries)
    assert graph.status_of_refusal(node) == 1
    (line,) = [line for line in node.log.splitlines() if line.startswith("dynamics_node: ")]
    assert f"joint_name_map: {sentence}" in line


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"joint_name_map": ["arm=knee"]}, "joint_name_map: there is no joint 'knee', the robot"),
        ({"joint_name_map": ["joint2=joint1"]}, "'joint1', 'joint2' would both be called 'joint2'"),
        (
            {"joint_name_map": ["joint2=joint1", "joint1=joint2"], "joints": ["joint1"]},
            "joint 'joint1' is ambiguous",
        ),
        ({"joint_prefix": "left_", "joints": ["right_joint1"]}, "right_joint1"),
    ],
)
def test_a_description_that_the_names_do_not_fit_is_refused_with_one_sentence(
    graph: Graph, parameters: dict[str, object], sentence: str
) -> None:
    graph.start(TWO_LINK, ready=False, **parameters)
    client = graph.client
    client.until(
        lambda: client.diagnosis("model") and sentence in client.diagnosis("model").message,
        sentence,
    )


def test_torques_commands_and_diagnostics_speak_with_the_names_of_the_driver(graph: Graph) -> None:
    client = graph.client
    graph.start(TWO_LINK, **NAMES, command_joints=THEIRS[::-1], ramp_time=0.0)
    torques = client.hear(JointState, f"{NODE}/gravity_torques")
    commands = client.hear(Float64MultiArray, f"{NODE}/effort_commands")
    states = client.speak(JointState, "/joint_states")

    def publish() -> None:
        stamp = later(client, 0.0)
        states.publish(joint_state(THEIRS[::-1], HERE[::-1], [0.0, 0.0], stamp))

    holding = arm_of(TWO_LINK).gravity(HERE)
    client.until(lambda: torques, "gravity torques", publish)
    assert torques[0].name == THEIRS
    np.testing.assert_allclose(torques[0].effort, holding, atol=1e-9)
    assert client.enable(meanwhile=publish).success
    client.until(lambda: commands, "effort commands", publish)
    np.testing.assert_allclose(commands[-1].data, holding[::-1], atol=1e-9)
    values = {entry.key: entry.value for entry in client.diagnosis("model").values}
    assert values["joints"] == "shoulder, left_joint2"


def test_trajectories_are_commanded_and_streamed_with_the_names_of_the_driver(graph: Graph) -> None:
    client = graph.client
    node = graph.start(TWO_LINK, **NAMES)
    answers = client.hear(JointTrajectory, f"{NODE}/torque_trajectory")
    streamed = client.hear(JointState, f"{NODE}/torques")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    commands.publish(trajectory(THEIRS[::-1], [0.0, 1.0], [HERE[::-1]] * 2))
    client.until(lambda: answers and streamed, "torques")
    holding = arm_of(TWO_LINK).gravity(HERE)
    assert answers[0].joint_names == THEIRS[::-1]
    for efforts in efforts_of(answers[0])[:, ::-1]:
        np.testing.assert_allclose(efforts, holding, atol=1e-9)
    assert streamed[0].name == THEIRS
    np.testing.assert_allclose(streamed[0].effort, holding, atol=1e-9)
    commands.publish(trajectory(["joint1", "joint2"], [0.0, 1.0], [HERE] * 2))
    sentence = "there is no joint 'joint1': the robot has 'shoulder', 'left_joint2'"
    client.until(lambda: sentence in node.log, sentence)


def test_services_speak_with_the_names_of_the_driver(graph: Graph) -> None:
    client, arm = graph.client, arm_of(TWO_LINK)
    graph.start(limited_arm(effort=9.0), **NAMES)
    request = GetDynamics.Request(state=joint_state(["left_joint2", "shoulder"], HERE[::-1]))
    answer = client.call(GetDynamics, f"{NODE}/get_dynamics", request)
    assert answer.joint_names == answer.state.name == THEIRS
    np.testing.assert_allclose(answer.gravity, arm.gravity(HERE), atol=1e-9)

    message = trajectory(["left_joint2", "shoulder"], [0.0], [HERE[::-1]])
    request = InverseDynamics.Request(trajectory=message)
    answer = client.call(InverseDynamics, f"{NODE}/inverse_dynamics", request)
    np.testing.assert_allclose(efforts_of(answer.trajectory)[0, ::-1], arm.gravity(HERE), atol=1e-9)
    assert "joint 'shoulder' needs 13.12" in answer.message

    request = Simulate.Request(initial_state=joint_state(THEIRS, HERE), duration=0.1)
    answer = client.call(Simulate, f"{NODE}/simulate", request)
    assert answer.success, answer.message
    assert answer.motion.joint_names == THEIRS


def test_a_recording_of_a_robot_of_another_name_is_served_by_the_urdf(graph: Graph) -> None:
    """Joints that move or are locked may be named as the URDF does, or as the recording does."""
    path, arm = panda()
    theirs = [f"fer_joint{k}" for k in range(1, 8)]
    graph.start(
        None,
        ready=False,
        joint_name_map=[f"{a}={b}" for a, b in zip(theirs, arm)],
        joints=[*theirs[:3], *arm[3:]],
    )
    client = graph.client
    client.speak(String, "/robot_description", LATCHED).publish(String(data=path.read_text()))
    graph.wait_until_serving()
    torques = client.hear(JointState, f"{NODE}/gravity_torques")
    q = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.5, 0.4])
    client.introduce(
        states := client.speak(JointState, "/joint_states"), torques, joint_state(theirs, q)
    )
    states.publish(joint_state(theirs, q))
    client.until(lambda: torques, "gravity torques")
    assert torques[0].name == theirs
    np.testing.assert_allclose(torques[0].effort, arm_of(path, joints=arm).gravity(q), atol=1e-9)
