"""A real Panda: what it measured, played to the node, beside what the node computes."""

import sqlite3

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from robot_graph import ROOT, Graph, arm_of, efforts_of, joint_state, panda, trajectory
from sensor_msgs.msg import JointState

from kane_dynamics_interfaces.srv import InverseDynamics

RECORDING = ROOT.parent / "shared" / "data" / "panda_exciting_trajectory.db3"

# A rigid model knows no friction, and its parameters are not exactly those of this arm: N m, RMS.
CLOSENESS = [0.9, 1.9, 1.9, 2.3, 0.7, 0.55, 0.3]


@pytest.fixture(scope="module")
def recorded() -> list[JointState]:
    if not RECORDING.exists():
        pytest.skip("the recording of a Panda is not there: ../shared/data is absent")
    with sqlite3.connect(f"file:{RECORDING}?immutable=1", uri=True) as bag:
        rows = bag.execute("SELECT data FROM messages ORDER BY timestamp").fetchall()
    return [deserialize_message(data, JointState) for (data,) in rows]


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
    columns = [recorded[0].name.index(name.replace("panda_", "fer_")) for name in names]
    q, u, measured = (
        np.array([getattr(message, field) for message in recorded])[:, columns]
        for field in ("position", "velocity", "effort")
    )
    times = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in recorded])
    for message, torques in zip(recorded, heard):
        assert torques.header.stamp == message.header.stamp
    gravity = np.array([torques.effort for torques in heard])
    np.testing.assert_allclose(gravity, arm.gravity(q), rtol=1e-12, atol=1e-12)

    udot = np.gradient(u, times - times[0], axis=0)
    request = InverseDynamics.Request(trajectory=trajectory(names, times - times[0], q, u, udot))
    answer = client.call(InverseDynamics, "/kane_dynamics/inverse_dynamics", request)
    assert answer.success, answer.message
    rms = np.sqrt(np.mean((efforts_of(answer.trajectory) - measured) ** 2, axis=0))
    assert (rms < CLOSENESS).all(), rms
    still = np.sqrt(np.mean((gravity - measured) ** 2, axis=0))
    assert rms.sum() < still.sum(), "motion accounts for a part of the torques"
