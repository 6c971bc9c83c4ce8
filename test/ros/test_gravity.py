"""Gravity compensation: torques for every joint state, whatever the order of its joints."""

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from rclpy.qos import QoSProfile, ReliabilityPolicy
from robot_graph import STANFORD, TWO_LINK, Graph, arm_of, joint_state
from sensor_msgs.msg import JointState

JOINTS = ["joint1", "joint2"]
TORQUES = "/kane_dynamics/gravity_torques"
WARN = b"\x01"


@pytest.mark.parametrize("reliability", ["BEST_EFFORT", "RELIABLE"])
def test_each_joint_state_gets_its_torques_with_its_stamp(graph: Graph, reliability: str) -> None:
    graph.start(STANFORD)
    arm = arm_of(STANFORD)
    heard = graph.client.hear(JointState, TORQUES)
    profile = QoSProfile(depth=100, reliability=ReliabilityPolicy[reliability])
    states = graph.client.speak(JointState, "/joint_states", profile)
    random = np.random.default_rng(3)
    q = random.uniform(-2.0, 2.0, (50, 6))
    graph.client.introduce(states, heard, joint_state(arm.joint_names, q[0]))
    for k in range(50):
        states.publish(joint_state(arm.joint_names, q[k], stamp=Time(sec=7, nanosec=k)))
        graph.client.until(lambda k=k: len(heard) == k + 1, f"torques {k}")
        assert heard[k].header.stamp == Time(sec=7, nanosec=k)
        assert tuple(heard[k].name) == arm.joint_names
        np.testing.assert_allclose(heard[k].effort, arm.gravity(q[k]), rtol=1e-12, atol=1e-12)


def test_joints_are_matched_by_name_and_others_ignored(graph: Graph) -> None:
    graph.start(TWO_LINK)
    arm = arm_of(TWO_LINK)
    heard = graph.client.hear(JointState, TORQUES)
    states = graph.client.speak(JointState, "/joint_states")
    mixed = joint_state(["joint2", "gripper", "joint1"], [0.4, np.nan, 0.3])
    graph.client.until(lambda: heard, "torques", lambda: states.publish(mixed))
    assert heard[0].name == JOINTS
    np.testing.assert_allclose(heard[0].effort, arm.gravity([0.3, 0.4]), rtol=1e-12)


def test_nothing_is_published_until_every_joint_has_been_named(graph: Graph) -> None:
    graph.start(TWO_LINK, state_timeout=0.3)
    arm, client = arm_of(TWO_LINK), graph.client
    heard = client.hear(JointState, TORQUES)
    states = client.speak(JointState, "/joint_states")

    def missing() -> str:
        return str(client.diagnosis("joint states").values[0].value)

    part = joint_state(["joint2"], [0.4])
    client.until(lambda: missing() == "joint1", "the warning", lambda: states.publish(part))
    client.until(lambda: "no joint state" in client.diagnosis("joint states").message, "warning")
    assert client.diagnosis("joint states").values[0].value in ("joint1", "joint1, joint2")
    assert not heard
    states.publish(joint_state(["joint1"], [0.3]))
    client.until(lambda: heard, "torques")
    np.testing.assert_allclose(heard[0].effort, arm.gravity([0.3, 0.4]), rtol=1e-12)
    states.publish(joint_state(["joint2"], [0.7]))
    client.until(lambda: len(heard) == 2, "torques of a partial state")
    np.testing.assert_allclose(heard[1].effort, arm.gravity([0.3, 0.7]), rtol=1e-12)


def test_joints_that_are_no_longer_named_are_reported_as_stale(graph: Graph) -> None:
    graph.start(TWO_LINK, state_timeout=0.2)
    client = graph.client
    states = client.speak(JointState, "/joint_states")
    gravity = client.hear(JointState, TORQUES)
    client.introduce(states, gravity, joint_state(JOINTS, [0.3, 0.4]))

    def stale() -> str:
        return {v.key: v.value for v in client.diagnosis("joint states").values}["stale joints"]

    client.until(
        lambda: stale() == "joint2",
        "joint2 alone is stale",
        lambda: states.publish(joint_state(["joint1"], [0.3])),
    )
    assert client.diagnosis("joint states").level == WARN
    client.until(lambda: stale() == "joint1, joint2", "both are stale")


def test_a_velocity_that_is_not_measured_is_no_fault(graph: Graph) -> None:
    graph.start(TWO_LINK)
    client = graph.client
    heard, states = client.hear(JointState, TORQUES), client.speak(JointState, "/joint_states")
    for unmeasured in ([np.nan, np.nan], [0.1, np.nan]):
        client.introduce(states, heard, joint_state(JOINTS, [0.3, 0.4], unmeasured))
    assert client.diagnosis("faults").message == "none"
    states.publish(joint_state(JOINTS, [0.3, 0.4], [np.nan, np.nan]))  # one was measured before
    client.until(lambda: client.fault_count("joint_states not finite") == 1, "the fault")


BAD_STATES = {
    "no names": JointState(),
    "no names, positions": joint_state([], [0.1, 0.2]),
    "no positions": joint_state(JOINTS, []),
    "too few positions": joint_state(JOINTS, [0.1]),
    "too many positions": joint_state(JOINTS, [0.1, 0.2, 0.3]),
    "too few velocities": joint_state(JOINTS, [0.1, 0.2], [0.0]),
    "twice the same joint": joint_state(["joint1", "joint2", "joint1"], [0.1, 0.2, 0.3]),
    "another robot": joint_state(["a", "b"], [0.1, 0.2]),
    "NaN": joint_state(JOINTS, [0.1, np.nan]),
    "infinity": joint_state(JOINTS, [-np.inf, 0.1]),
    "infinite velocity": joint_state(JOINTS, [0.1, 0.1], [0.0, np.inf]),
}


def test_bad_joint_states_are_dropped_and_counted_and_the_next_good_one_is_served(
    graph: Graph,
) -> None:
    node = graph.start(TWO_LINK)
    client = graph.client
    heard = client.hear(JointState, TORQUES)
    states = client.speak(JointState, "/joint_states")
    client.introduce(states, heard, joint_state(JOINTS, [0.3, 0.4]))
    for message in BAD_STATES.values():
        states.publish(message)
    states.publish(joint_state(JOINTS, [0.3, 0.4]))
    client.until(lambda: heard, "torques of the good state")
    bad = 3
    client.until(
        lambda: (
            client.fault_count("joint_states not finite") == bad
            and client.fault_count("joint_states") == len(BAD_STATES) - bad
        ),
        "all faults counted",
    )
    assert len(heard) == 1
    for words in ("the message names no", "joints are named, but", "is named twice", "none of the"):
        assert node.log.count(words) == 1, "each kind of fault is logged, and throttled"
    assert node.log.count("joint_states: ") == 4
