"""Quality of service of every topic, as it is and as parameters override it."""

import numpy as np
import pytest
from rcl_interfaces.srv import ListParameters
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from robot_graph import LATCHED, TWO_LINK, Graph, arm_of, efforts_of, joint_state, trajectory
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

NODE = "/kane_dynamics"
NAMES = ["joint1", "joint2"]
PUBLISHED = [f"{NODE}/{name}" for name in ("torques", "torque_trajectory", "effort_commands")]
PUBLISHED += [f"{NODE}/{name}" for name in ("gravity_torques", "command_state")]
PUBLISHED += ["/diagnostics"]
SUBSCRIBED = ["/joint_states", "/joint_trajectory", "/robot_description"]


def test_joint_states_can_be_reliable_and_torques_latched(graph: Graph) -> None:
    """A reliable subscription hears nothing of one who speaks with best effort."""
    states = {"subscription": {"reliability": "reliable", "depth": 7}}
    torques = {"publisher": {"durability": "transient_local", "depth": 1}}
    topics = {"/joint_states": states, f"{NODE}/gravity_torques": torques}
    graph.start(TWO_LINK, qos_overrides=topics)
    client = graph.client
    unheard = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    unheard = client.create_publisher(JointState, "/joint_states", unheard)
    heard = client.speak(JointState, "/joint_states")
    assert unheard.get_subscription_count() == 0
    (info,) = client.get_subscriptions_info_by_topic("/joint_states")
    assert info.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    (info,) = client.get_publishers_info_by_topic(f"{NODE}/gravity_torques")
    assert info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL

    early = client.hear(JointState, f"{NODE}/gravity_torques")
    client.introduce(heard, early, joint_state(NAMES, [0.3, 0.4]))
    late: list[JointState] = []
    client.create_subscription(JointState, f"{NODE}/gravity_torques", late.append, LATCHED)
    client.until(lambda: late, "torques from before")
    np.testing.assert_allclose(late[0].effort, arm_of(TWO_LINK).gravity([0.3, 0.4]), atol=1e-9)


def test_trajectories_that_were_latched_are_heard_by_a_node_that_starts_later(graph: Graph) -> None:
    """Trajectories are taken as bytes, for which overrides hold as well."""
    client = graph.client
    commands = client.create_publisher(JointTrajectory, "/joint_trajectory", LATCHED)
    heard: list[JointTrajectory] = []
    topic = f"{NODE}/torque_trajectory"
    client.create_subscription(JointTrajectory, topic, heard.append, LATCHED)
    commands.publish(trajectory(NAMES, [0.0, 1.0], [[0.3, 0.4]] * 2))
    latched = {"durability": "transient_local"}
    node = graph.start(
        TWO_LINK,
        qos_overrides={
            "/joint_trajectory": {"subscription": latched},
            topic: {"publisher": latched},
        },
    )
    client.until(lambda: heard or "joint_trajectory: " in node.log, "what became of the trajectory")
    if heard:  # else it was there before there was a model
        holding = arm_of(TWO_LINK).gravity([0.3, 0.4])
        for efforts in efforts_of(heard[0]):
            np.testing.assert_allclose(efforts, holding, atol=1e-9)


def test_every_topic_has_parameters_for_its_quality_of_service(graph: Graph) -> None:
    graph.start(TWO_LINK)
    request = ListParameters.Request()
    names = graph.client.call(ListParameters, f"{NODE}/list_parameters", request).result.names
    for policy in ("depth", "history", "reliability", "durability", "deadline", "liveliness"):
        for topic in PUBLISHED:
            assert f"qos_overrides.{topic}.publisher.{policy}" in names
        for topic in SUBSCRIBED:
            assert f"qos_overrides.{topic}.subscription.{policy}" in names


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        ({"reliability": "sure"}, ["reliability", "sure"]),
        ({"reliability": 1}, ["reliability"]),
        ({"depth": -1}, ["depth"]),
        ({"depth": "deep"}, ["depth"]),
    ],
)
def test_a_quality_that_cannot_be_is_named_and_the_node_does_not_start(
    graph: Graph, policies: dict[str, object], words: list[str]
) -> None:
    topics = {"/joint_states": {"subscription": policies}}
    node = graph.start(TWO_LINK, ready=False, qos_overrides=topics)
    assert graph.status_of_refusal(node) == 1
    (line,) = [line for line in node.log.splitlines() if line.startswith("dynamics_node: ")]
    assert "qos_overrides./joint_states" in line
    assert all(word in line for word in words), line
    assert "Traceback" not in node.log
