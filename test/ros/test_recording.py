"""Real arms: what they measured, sent to the node, beside what the node computes."""

import sqlite3

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from robot_graph import (
    ROOT,
    Graph,
    arm_of,
    efforts_of,
    joint_state,
    panda,
    seconds_between,
    trajectory,
    ur10,
)
from sensor_msgs.msg import JointState

from kane_dynamics_interfaces.srv import InverseDynamics

DATA = ROOT.parent / "shared" / "data"

# A rigid model knows no friction, and its parameters are not exactly those of this arm: N m, RMS.
CLOSENESS = [0.9, 1.9, 1.9, 2.3, 0.7, 0.55, 0.3]


def recording(robot: str) -> list[JointState]:
    path = DATA / f"{robot}_exciting_trajectory.db3"
    if not path.exists():
        pytest.skip(f"the recording of a {robot} is not there: ../shared/data is absent")
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as bag:
        rows = bag.execute("SELECT data FROM messages ORDER BY timestamp").fetchall()
    return [deserialize_message(data, JointState) for (data,) in rows]


def columns_of(
    messages: list[JointState], names: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times (N,) in s, and positions, velocities and efforts (N, n) of joints."""
    columns = [messages[0].name.index(name) for name in names]
    q, u, measured = (
        np.array([getattr(message, field) for message in messages])[:, columns]
        for field in ("position", "velocity", "effort")
    )
    first = messages[0].header.stamp
    times = np.array([seconds_between(first, message.header.stamp) for message in messages])
    return times, q, u, measured


@pytest.fixture(scope="module")
def recorded() -> list[JointState]:
    return recording("panda")


def test_torques_come_as_close_to_the_measured_ones_as_a_rigid_model_can(
    graph: Graph, recorded: list[JointState]
) -> None:
    urdf, names = panda()
    graph.start(urdf, joints=names)
    client, arm = graph.client, arm_of(urdf, joints=names)
    heard = client.hear(JointState, "/kane_dynamics/gravity_torques")
    states = client.speak(JointState, "/joint_states")
    client.introduce(states, heard, joint_state(names, np.zeros(7)))
    for k, message in enumerate(recorded):
        played = joint_state(
            [name.replace("fer_", "panda_") for name in message.name],
            message.position,
            message.velocity,
            message.header.stamp,
        )
        states.publish(played)
        client.until(lambda n=k: len(heard) > n, f"torques of state {k}")
    times, q, u, measured = columns_of(recorded, [n.replace("panda_", "fer_") for n in names])
    for message, torques in zip(recorded, heard):
        assert torques.header.stamp == message.header.stamp
    gravity = np.array([torques.effort for torques in heard])
    np.testing.assert_allclose(gravity, arm.gravity(q), rtol=1e-12, atol=1e-12)

    udot = np.gradient(u, times, axis=0)
    request = InverseDynamics.Request(trajectory=trajectory(names, times, q, u, udot))
    answer = client.call(InverseDynamics, "/kane_dynamics/inverse_dynamics", request)
    assert answer.success, answer.message
    rms = np.sqrt(np.mean((efforts_of(answer.trajectory) - measured) ** 2, axis=0))
    assert (rms < CLOSENESS).all(), rms
    still = np.sqrt(np.mean((gravity - measured) ** 2, axis=0))
    assert rms.sum() < still.sum(), "motion accounts for a part of the torques"


@pytest.mark.parametrize("robot", ["panda", "ur10"])
def test_a_recording_without_accelerations_gives_torques_as_differentiated_velocities_do(
    graph: Graph, robot: str
) -> None:
    urdf, names = panda() if robot == "panda" else ur10()
    messages = recording(robot)
    graph.start(urdf, joints=names)
    times, q, u, measured = columns_of(messages, [n.replace("panda_", "fer_") for n in names])

    def far(torques: np.ndarray) -> np.ndarray:
        return np.sqrt(np.mean((torques - measured) ** 2, axis=0))

    differentiated = far(
        arm_of(urdf, joints=names).inverse_dynamics(q, u, np.gradient(u, times, axis=0))
    )
    both = trajectory(names, times, q, u)
    alone = trajectory(names, times, q)
    for message, slack, origins in (
        (both, 1e-3, ("given", "smoothed")),
        (alone, 0.2, ("smoothed", "smoothed") if robot == "panda" else ("spline", "spline")),
    ):
        request = InverseDynamics.Request(trajectory=message)
        answer = graph.client.call(InverseDynamics, "/kane_dynamics/inverse_dynamics", request)
        assert answer.success, answer.message
        assert (answer.velocities_from, answer.accelerations_from) == origins
        assert (far(efforts_of(answer.trajectory)) <= differentiated + slack).all()
