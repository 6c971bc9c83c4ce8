"""The node as a process: it ends when told to, and shares a graph with others of its kind."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from python_path import python_path
from rclpy.serialization import serialize_message
from robot_graph import (
    LATCHED,
    ROOT,
    STANFORD,
    TWO_LINK,
    Graph,
    arm_of,
    joint_state,
    trajectory,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

ENDINGS = [signal.SIGINT, signal.SIGTERM]
JOINTS = ["joint1", "joint2"]
SOON = 4.0  # s; a second where nothing else keeps the machine busy


def assert_ended_well(graph: Graph, node: object, ending: signal.Signals) -> None:
    begin = time.monotonic()
    status = graph.end(node, ending)
    assert status == 0, node.log
    assert time.monotonic() - begin < SOON
    assert "Traceback" not in node.log
    assert "rror" not in node.log, node.log


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_ends_a_node_that_serves(graph: Graph, ending: signal.Signals) -> None:
    node = graph.start(TWO_LINK)
    client = graph.client
    states, heard = (
        client.speak(JointState, "/joint_states"),
        client.hear(JointState, "/kane_dynamics/gravity_torques"),
    )
    torques = client.hear(JointState, "/kane_dynamics/torques")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    commands.publish(trajectory(JOINTS, [0.1, 60.0], [[0.1, 0.1]] * 2))
    client.until(
        lambda: len(heard) > 20 and torques,
        "torques",
        meanwhile=lambda: states.publish(joint_state(JOINTS, [0.1, 0.2])),
        period=0.001,
    )
    assert_ended_well(graph, node, ending)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_ends_a_node_that_derives(graph: Graph, ending: signal.Signals) -> None:
    node = graph.start(None, ready=False, gravity=[0.0, 0.1, -9.0 - 0.1 * ending])
    client = graph.client
    client.until(lambda: client.diagnosis("model"), "the first report")
    descriptions = client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=STANFORD.read_text()))
    client.until(lambda: "deriving" in client.diagnosis("model").message, "the derivation")
    assert_ended_well(graph, node, ending)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_ends_a_node_that_has_hardly_started(graph: Graph, ending: signal.Signals) -> None:
    for delay in (0.0, 0.2, 0.4):
        node = graph.start(TWO_LINK, ready=False)
        started = partial(catches, node.process.pid, signal.SIGTERM)
        graph.client.until(started, "the first line of the node")
        time.sleep(delay)
        assert_ended_well(graph, node, ending)


def test_a_second_signal_changes_nothing(graph: Graph) -> None:
    for delay in (0.0, 0.03, 0.1):
        graph.client.status.clear()  # what the node before has said
        node = graph.start(TWO_LINK)
        for _ in range(4):
            node.process.send_signal(signal.SIGINT)
            time.sleep(delay)
        assert_ended_well(graph, node, signal.SIGTERM)


@pytest.mark.parametrize(
    ("package", "remedy"),
    [
        ("kane_dynamics_interfaces", "python scripts/build_interfaces.py"),
        (
            "kane_dynamics_interfaces",
            "colcon build --base-paths src src/kane_dynamics/kane_dynamics_interfaces",
        ),
        ("rclpy", "source the setup file of a ROS distribution"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_remedy(
    package: str, remedy: str, tmp_path: Path
) -> None:
    (tmp_path / package).mkdir()  # found before the real one, and empty
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / "run.py").write_text(
        "from kane_dynamics.ros.main import main\nraise SystemExit(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, str(tmp_path / "run.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": python_path(tmp_path, ROOT)},
        timeout=60,
    )
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("dynamics_node: ")
    assert package in line
    assert remedy in line


def catches(process: int, ending: signal.Signals) -> bool:
    """Whether a process handles a signal itself."""
    status = Path(f"/proc/{process}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (ending - 1) & 1)


def test_wrong_arguments_are_named_in_one_line(graph: Graph) -> None:
    node = graph.start(TWO_LINK, arguments=["--params-file", "nowhere.yaml"], ready=False)
    assert graph.status_of_refusal(node) == 1
    (line,) = [line for line in node.log.splitlines() if line.startswith("dynamics_node: ")]
    assert "nowhere.yaml" in line
    assert ", at /" not in line  # where in rcl's sources
    assert "Traceback" not in node.log


def test_two_robots_are_served_side_by_side(graph: Graph) -> None:
    robots = {"/left": TWO_LINK, "/right": STANFORD}
    for namespace, urdf in robots.items():
        name = f"{namespace}/kane_dynamics"
        graph.start(urdf, arguments=["-r", f"__ns:={namespace}"], name=name)
    client = graph.client
    for namespace, urdf in robots.items():
        serve_one_of_two(graph, namespace, urdf)
    assert {name.split(":")[0] for name in client.status} == {
        "/left/kane_dynamics",
        "/right/kane_dynamics",
    }


def serve_one_of_two(graph: Graph, namespace: str, urdf: Path) -> None:
    arm, client, name = arm_of(urdf), graph.client, f"{namespace}/kane_dynamics"
    q = np.linspace(0.1, 0.5, arm.dof)
    heard = client.hear(JointState, f"{name}/gravity_torques")
    answers = client.hear(JointTrajectory, f"{name}/torque_trajectory")
    states = client.speak(JointState, f"{namespace}/joint_states")
    commands = client.speak(JointTrajectory, f"{namespace}/joint_trajectory")
    client.introduce(states, heard, joint_state(arm.joint_names, q))
    states.publish(joint_state(arm.joint_names, q))
    commands.publish(trajectory(arm.joint_names, [0.0], [q]))
    client.until(lambda: heard and answers, f"torques of {namespace}")
    np.testing.assert_allclose(heard[0].effort, arm.gravity(q), rtol=1e-12, atol=1e-12)
    assert client.enable(False, name=name).success


def test_bytes_that_are_no_message_change_nothing(graph: Graph) -> None:
    graph.start(TWO_LINK)
    client = graph.client
    heard = client.hear(JointState, "/kane_dynamics/gravity_torques")
    answers = client.hear(JointTrajectory, "/kane_dynamics/torque_trajectory")
    states = client.speak(JointState, "/joint_states")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    descriptions = client.speak(String, "/robot_description", LATCHED)
    client.introduce(states, heard, joint_state(JOINTS, [0.3, 0.4]))
    random = np.random.default_rng(2)
    for message in (joint_state(JOINTS, [0.1, 0.2]), trajectory(JOINTS, [0.1], [[0.1, 0.2]])):
        whole = serialize_message(message)
        for length in (4, 5, 17, len(whole) // 2, len(whole)):
            noise = bytes(random.integers(0, 256, length, dtype=np.uint8))
            for garbage in (noise, whole[:length], whole[:4] + noise):
                states.publish(garbage)
                commands.publish(garbage)
                descriptions.publish(garbage)
                client.spin_for(0.002)
    seen = len(heard), len(answers)
    states.publish(joint_state(JOINTS, [0.3, 0.4]))
    commands.publish(trajectory(JOINTS, [0.1], [[0.3, 0.4]]))
    client.until(lambda: len(heard) > seen[0] and len(answers) > seen[1], "good messages served")
    assert np.isfinite([each.effort for each in heard]).all()


def test_topics_can_be_remapped(graph: Graph) -> None:
    remappings = (
        "joint_states:=arm/states",
        "joint_trajectory:=arm/goal",
        "~/gravity_torques:=arm/torques",
        "~/torque_trajectory:=/controller/joint_trajectory",
    )
    graph.start(TWO_LINK, arguments=[word for each in remappings for word in ("-r", each)])
    client, arm = graph.client, arm_of(TWO_LINK)
    heard, states = client.hear(JointState, "/arm/torques"), client.speak(JointState, "/arm/states")
    answers = client.hear(JointTrajectory, "/controller/joint_trajectory")
    client.introduce(states, heard, joint_state(JOINTS, [0.3, 0.4]))
    states.publish(joint_state(JOINTS, [0.3, 0.4]))
    still = np.zeros((1, 2))
    goal = trajectory(JOINTS, [0.0], [[0.5, 0.6]], still, still)
    client.speak(JointTrajectory, "/arm/goal").publish(goal)
    client.until(lambda: heard and answers, "torques on both topics")
    np.testing.assert_allclose(heard[0].effort, arm.gravity([0.3, 0.4]), rtol=1e-12)
    np.testing.assert_allclose(answers[0].points[0].effort, arm.gravity([0.5, 0.6]), rtol=1e-12)
