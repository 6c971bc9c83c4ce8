"""What does not come: descriptions, joint states, and joints that joint states leave out."""

import numpy as np
from robot_graph import LATCHED, TWO_LINK, Graph, NodeProcess, arm_of, joint_state, panda
from sensor_msgs.msg import JointState
from std_msgs.msg import String

NODE = "/kane_dynamics"
ARM = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.5, 0.4])
FINGER = "panda_finger_joint1"  # which the other one follows
WARN, OK = b"\x01", b"\x00"


def lines(node: NodeProcess, words: str) -> list[str]:
    return [line for line in node.log.splitlines() if words in line]


def test_a_node_without_description_says_on_which_topic_it_waits(graph: Graph) -> None:
    remapped = ["-r", "robot_description:=/arm/description", "-r", "__ns:=/left"]
    node = graph.start(None, remapped, ready=False)
    client = graph.client
    told = "Waiting for a robot description on /arm/description."
    client.until(lambda: lines(node, told), "word of what it waits for")
    status = client.until(lambda: client.diagnosis("model", "/left/kane_dynamics"), "diagnostics")
    assert status.message == "waiting for a description on the topic /arm/description"
    client.until(lambda: len(lines(node, told)) == 2, "a reminder")
    topic = client.speak(String, "/arm/description", LATCHED)
    topic.publish(String(data=TWO_LINK.read_text()))
    graph.wait_until_serving("/left/kane_dynamics")


def test_a_node_without_joint_states_says_on_which_topic_it_waits_for_them(graph: Graph) -> None:
    node = graph.start(TWO_LINK, ["-r", "joint_states:=/arm/states"])
    client = graph.client
    told = "No joint state with a joint of the robot has come on /arm/states"
    client.until(lambda: lines(node, f"{told} (nothing publishes it)."), "word of what is missing")
    said = f"n{told[1:]} (nothing publishes it)"
    client.until(lambda: client.diagnosis("joint states").message == said, said)
    assert client.diagnosis("joint states").level == WARN
    states = client.speak(JointState, "/arm/states")
    said = f"n{told[1:]} (publishers: 1)"
    client.until(lambda: client.diagnosis("joint states").message == said, said)
    client.until(
        lambda: client.diagnosis("joint states").level == OK,
        "all joints to be known",
        lambda: states.publish(joint_state(["joint1", "joint2"], [0.3, 0.4])),
    )
    assert len(lines(node, told)) == 1


def test_joints_that_no_joint_state_names_are_named_in_log_and_diagnostics(graph: Graph) -> None:
    path, arm = panda()
    node, client = graph.start(path), graph.client
    states = client.speak(JointState, "/joint_states")

    def publish() -> None:
        states.publish(joint_state(arm[:6], ARM[:6]))

    told = "No joint state has named 'panda_joint7', 'panda_finger_joint1' yet"
    client.until(lambda: lines(node, told), "word of the missing joints", publish)
    for word in ("locked_joints", "joints", "lock_silent_joints"):
        assert word in lines(node, told)[0]
        assert word in client.diagnosis("joint states").message
    states.publish(joint_state(arm[6:], ARM[6:]))
    fewer = "No joint state has named 'panda_finger_joint1' yet"
    client.until(lambda: lines(node, fewer), "word of the one that is missing still", publish)
    client.spin_for(1.0)
    assert len(lines(node, told)) == len(lines(node, fewer)) == 1


def test_joints_that_stay_silent_are_locked_if_the_user_wants_it(graph: Graph) -> None:
    path, arm = panda()
    theirs = [name.replace("panda", "fer") for name in arm]
    names = [f"{a}={b}" for a, b in zip(theirs, arm)]
    node = graph.start(path, joint_prefix="x_", joint_name_map=names, lock_silent_joints=True)
    client = graph.client
    states = client.speak(JointState, "/joint_states")
    torques = client.hear(JointState, f"{NODE}/gravity_torques")

    def publish() -> None:
        states.publish(joint_state(theirs, ARM))

    client.until(lambda: torques, "gravity torques of the arm", publish)
    assert torques[0].name == theirs
    expected = arm_of(path, joints=arm).gravity(ARM)
    np.testing.assert_allclose(torques[0].effort, expected, atol=1e-9)
    told = "Joints that no joint state has named are locked: 'x_panda_finger_joint1'."
    assert len(lines(node, told)) == 1

    late = "because they were silent: 'x_panda_finger_joint1'."
    client.until(
        lambda: lines(node, late),
        "word of joints that report late",
        lambda: states.publish(joint_state([*theirs, f"x_{FINGER}"], [*ARM, 0.01])),
    )
    client.spin_for(1.0)
    assert len(lines(node, late)) == 1
    assert torques[-1].name == theirs


def test_a_silent_joint_is_locked_within_its_limits_also_if_it_should_move(graph: Graph) -> None:
    """The fourth joint of the Panda cannot be at zero."""
    path, arm = panda()
    graph.start(path, joints=arm, lock_silent_joints=True)
    client, upper = graph.client, arm_of(path).robot.joint(arm[3]).limits.upper
    others = [name for name in arm if name != arm[3]]
    states = client.speak(JointState, "/joint_states")
    torques = client.hear(JointState, f"{NODE}/gravity_torques")
    q = np.delete(ARM, 3)
    client.until(lambda: torques, "gravity torques", lambda: states.publish(joint_state(others, q)))
    assert torques[0].name == others
    assert upper < 0.0
    expected = arm_of(path, joints=others, locked={arm[3]: upper}).gravity(q)
    np.testing.assert_allclose(torques[0].effort, expected, atol=1e-9)
