"""Robots with constraints: efforts of actuated joints, motions that follow, switching, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from linkages import FIVE_BAR, FIVE_BAR_LOOP
from robot_graph import LATCHED, Graph, efforts_of, joint_state, trajectory
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

import kane_dynamics as kd
from kane_dynamics.simulation.trajectory import trajectory_through
from kane_dynamics_interfaces.srv import GetDynamics, InverseDynamics, SetConstraints, Simulate

DOWN = (0.0, -9.81, 0.0)
MOTORS = ["m1", "m2"]
FILE = """\
tip: {kind: loop, link1: fore1, link2: fore2, at1: [0.5, 0, 0], at2: [0.5, 0, 0]}
stiff: {kind: lock, joint: e1, active: false}
elsewhere: {kind: loop, link1: fore1, link2: world, at1: [0.5, 0, 0], at2: [9, 0, 0], active: false}
"""


@pytest.fixture(scope="module")
def five_bar() -> Any:
    return kd.load(FIVE_BAR, constraints=[FIVE_BAR_LOOP], actuated=MOTORS, gravity=DOWN)


def start(graph: Graph, place: Path, file: str = FILE, **options: Any) -> Path:
    path = place / "five_bar.yaml"
    path.write_text(file)
    options = {"ready": True, **options}
    graph.start(FIVE_BAR, constraints=str(path), actuated=MOTORS, gravity=list(DOWN), **options)
    return path


def switch(graph: Graph, **active: bool) -> SetConstraints.Response:
    request = SetConstraints.Request(names=list(active), active=list(active.values()))
    return graph.client.call(SetConstraints, "/kane_dynamics/set_constraints", request)


def model_values(graph: Graph) -> dict[str, str]:
    return {entry.key: entry.value for entry in graph.client.diagnosis("model").values}


def latest_fault(graph: Graph) -> str:
    status = graph.client.diagnosis("faults")
    values = {} if status is None else {entry.key: entry.value for entry in status.values}
    return values.get("latest", "")


def bent(q: np.ndarray, joint: int, by: float) -> np.ndarray:
    return q + by * np.eye(len(q))[joint]


def inverse(graph: Graph, message: JointTrajectory) -> InverseDynamics.Response:
    request = InverseDynamics.Request(trajectory=message)
    return graph.client.call(InverseDynamics, "/kane_dynamics/inverse_dynamics", request)


def test_motors_alone_hold_and_move_a_parallel_robot(graph, tmp_path, five_bar) -> None:
    start(graph, tmp_path)
    client, names = graph.client, five_bar.joint_names
    q = five_bar.assemble([2.0, -1.0, 1.0, 1.0])
    states = client.speak(JointState, "/joint_states")
    held = client.hear(JointState, "/kane_dynamics/gravity_torques")
    noise = np.array([3e-4, -2e-4, 1e-4, 2e-4])
    client.introduce(states, held, joint_state(names, q + noise))
    states.publish(joint_state(names, q + noise))
    client.until(lambda: held, "gravity torques")
    np.testing.assert_allclose(held[-1].effort, five_bar.gravity(q + noise), rtol=1e-9, atol=1e-9)
    assert held[-1].effort[1] == held[-1].effort[3] == 0.0 != held[-1].effort[0]
    values = model_values(graph)
    assert (values["active constraints"], values["constraints"]) == ("tip", "tip, stiff, elsewhere")
    assert values["actuated joints"] == "m1, m2"

    # two joints are commanded, and the others follow
    answers = client.hear(JointTrajectory, "/kane_dynamics/torque_trajectory")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    times, motors = np.array([0.0, 0.5, 1.0]), [0, 2]
    given = q[motors] + np.array([[0.0, 0.0], [0.3, -0.2], [0.2, 0.1]])
    commands.publish(trajectory(MOTORS, times, given))
    (answer,) = client.until(lambda: answers, "a trajectory with efforts")
    efforts, last = efforts_of(answer), answer.points[-1]
    end = five_bar.assemble([given[-1, 0], q[1], given[-1, 1], q[3]], fixed=MOTORS)
    np.testing.assert_allclose(last.effort, five_bar.gravity(end)[motors], atol=1e-6)
    # what the efforts do at 0.5 s is what was asked for
    motion = trajectory_through(times, given)
    k = int(np.argmin([abs(p.time_from_start.nanosec - 5e8) for p in answer.points]))
    wanted = motion.sample(0.5)
    there = five_bar.assemble([given[1, 0], q[1], given[1, 1], q[3]], fixed=MOTORS)
    A = five_bar.constraint_rows(there, np.zeros(4)).A
    u = np.zeros(4)
    u[motors] = wanted.velocities
    u[[1, 3]] = -np.linalg.pinv(A[:, [1, 3]]) @ A @ u
    tau = np.zeros(4)
    tau[motors] = efforts[k]
    udot = five_bar.forward_dynamics(there, u, tau)
    np.testing.assert_allclose(udot[motors], wanted.accelerations, rtol=1e-4, atol=1e-3)

    # what contradicts the loop is refused, with its name and the time
    commands.publish(trajectory(names, [0.0, 1.0], [q, bent(q, 1, 0.2)]))
    client.until(lambda: "'tip'" in latest_fault(graph), "a refusal")
    assert "violate constraint 'tip' at 0." in latest_fault(graph)
    assert len(answers) == 1
    still = np.zeros((1, 4))
    refused = inverse(graph, trajectory(names, [2.0], [bent(q, 0, 0.1)], still, still))
    assert not refused.success
    assert "positions violate constraint 'tip' at 2 s by 0.0" in refused.message
    moving = inverse(graph, trajectory(names, [2.0], [q], [[1.0, 0.0, 0.0, 0.0]], still))
    assert "velocities violate constraint 'tip' at 2 s" in moving.message
    here = inverse(graph, trajectory(names, [2.0], [q], still, still))
    np.testing.assert_allclose(efforts_of(here.trajectory)[0], five_bar.gravity(q), atol=1e-9)

    # commands are those of the motors alone
    heard = client.hear(Float64MultiArray, "/kane_dynamics/effort_commands")
    states.publish(joint_state(names, bent(q, 1, 0.2)))
    client.until(lambda: "'tip'" in client.enable().message, "a refusal where the loop is open")
    states.publish(joint_state(names, q))
    client.until(lambda: client.enable().success, "effort commands")
    states.publish(joint_state(names, q))
    client.until(lambda: heard, "a command")
    np.testing.assert_allclose(heard[-1].data, five_bar.gravity(q)[motors], atol=1e-6)


def test_constraints_are_switched_while_the_node_runs(graph, tmp_path, five_bar) -> None:
    start(graph, tmp_path)
    client, names = graph.client, five_bar.joint_names
    unknown = switch(graph, stiff=True)
    assert not unknown.success
    assert "no joint state has named" in unknown.message
    q = five_bar.assemble([2.0, -1.0, 1.0, 1.0])
    states = client.speak(JointState, "/joint_states")
    held = client.hear(JointState, "/kane_dynamics/gravity_torques")
    client.introduce(states, held, joint_state(names, q))

    request = GetDynamics.Request()
    answer = client.call(GetDynamics, "/kane_dynamics/get_dynamics", request)
    assert list(answer.constraint_names) == ["tip"] * 3
    rows = five_bar.constraint_rows(q, np.zeros(4))
    np.testing.assert_allclose(np.reshape(answer.constraint_rows, (3, 4)), rows.A, atol=1e-12)
    free = kd.load(FIVE_BAR, gravity=DOWN)
    np.testing.assert_allclose(np.reshape(answer.mass_matrix, (4, 4)), free.mass_matrix(q))
    np.testing.assert_allclose(answer.gravity, five_bar.gravity(q), atol=1e-12)

    answer = switch(graph, stiff=True)
    assert (answer.success, list(answer.active_names)) == (True, ["tip", "stiff"])
    assert model_values(graph)["active constraints"] == "tip, stiff"
    # one motor is enough now, and both share what is to be held by least norm
    stiff = kd.load(
        FIVE_BAR,
        constraints=[FIVE_BAR_LOOP, kd.Lock("stiff", "e1")],
        actuated=MOTORS,
        gravity=DOWN,
    )
    held.clear()
    states.publish(joint_state(names, q))
    client.until(lambda: held, "gravity torques")
    np.testing.assert_allclose(held[-1].effort, stiff.gravity(q), atol=1e-9)
    assert np.abs(stiff.gravity(q) - five_bar.gravity(q)).max() > 0.1

    for active, sentence in (
        ({"elsewhere": True}, "violate constraint 'elsewhere' by"),
        ({"stif": False}, "there is no constraint 'stif'"),
    ):
        refused = switch(graph, **active)
        assert not refused.success
        assert sentence in refused.message
        assert list(refused.active_names) == ["tip", "stiff"]
    request = SetConstraints.Request(names=["tip"], active=[])
    answer = client.call(SetConstraints, "/kane_dynamics/set_constraints", request)
    assert answer.message == "there are 1 names and 0 entries of active"

    assert list(switch(graph, stiff=False).active_names) == ["tip"]
    # a simulation from the present state keeps the loop closed
    request = Simulate.Request(duration=0.1, step=0.005, controller="computed_torque")
    request.reference_trajectory = trajectory(MOTORS, [0.1], [q[[0, 2]] + [0.05, 0.02]])
    answer = client.call(Simulate, "/kane_dynamics/simulate", request)
    assert answer.success, answer.message
    positions = np.array([point.positions for point in answer.motion.points])
    errors = five_bar.constraint_rows(positions, np.zeros_like(positions)).errors
    assert np.abs(errors).max() < 1e-10
    assert np.abs(efforts_of(answer.motion)[:, [1, 3]]).max() == 0.0
    np.testing.assert_allclose(positions[-1, [0, 2]], q[[0, 2]] + [0.05, 0.02], atol=2e-3)
    request = Simulate.Request(duration=0.01)
    request.initial_state = joint_state(names, bent(q, 0, 0.1))
    answer = client.call(Simulate, "/kane_dynamics/simulate", request)
    assert not answer.success
    assert "initial_state: positions violate constraint 'tip'" in answer.message


def test_a_node_with_a_wrong_file_says_where_it_is_wrong_and_lives_on(graph, tmp_path) -> None:
    path = tmp_path / "five_bar.yaml"
    path.write_text(FILE.replace("joint: e1", "jont: e1"))
    graph.start(None, constraints=str(path), actuated=MOTORS, ready=False)
    client = graph.client
    descriptions = client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=FIVE_BAR))

    def wrong() -> str:
        status = client.diagnosis("model")
        return status.message if status and status.level == DiagnosticStatus.ERROR else ""

    sentence = client.until(wrong, "an error")
    assert sentence.startswith(f"{path}:2: constraint 'stiff'")
    assert "'jont'" in sentence
    path.write_text(FILE)
    descriptions.publish(String(data=FIVE_BAR))
    graph.wait_until_serving()
    assert model_values(graph)["active constraints"] == "tip"
