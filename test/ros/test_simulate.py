"""The service ~/simulate: the motions that the engine computes, and what is wrong with requests."""

import re
from array import array
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Pose, Twist, Vector3, Wrench
from robot_graph import (
    STANFORD,
    TWO_LINK,
    Graph,
    arm_of,
    duration,
    joint_state,
    seconds_of,
    trajectory,
)
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics.simulation.inputs import (
    ComputedTorque,
    PDControl,
    TorqueHistory,
    WrenchHistory,
)
from kane_dynamics.simulation.motion import Motion
from kane_dynamics.simulation.trajectory import Start, trajectory_through
from kane_dynamics_interfaces.msg import ExternalWrench
from kane_dynamics_interfaces.srv import Simulate

JOINTS = ["joint1", "joint2"]
SERVICE = "/kane_dynamics/simulate"


def simulate(graph: Graph, **request: Any) -> Simulate.Response:
    return graph.client.call(Simulate, SERVICE, Simulate.Request(**request))


def efforts(names: list[str], times: Any, values: Any) -> JointTrajectory:
    message = JointTrajectory(joint_names=names)
    for t, row in zip(times, values):
        point = JointTrajectoryPoint(effort=array("d", row), time_from_start=duration(t))
        message.points.append(point)
    return message


def wrench(force: Any = (0.0, 0.0, 0.0), torque: Any = (0.0, 0.0, 0.0)) -> Wrench:
    (fx, fy, fz), (mx, my, mz) = force, torque
    return Wrench(force=Vector3(x=fx, y=fy, z=fz), torque=Vector3(x=mx, y=my, z=mz))


def column(answer: Simulate.Response, field: str) -> np.ndarray:
    return np.array([getattr(point, field) for point in answer.motion.points])


def assert_same(answer: Simulate.Response, motion: Motion) -> None:
    """The answer holds the motion, to the last digits, which optimized code may round otherwise."""
    assert (answer.success, answer.message) == (motion.completed, motion.message)
    n = len(answer.motion.joint_names)
    times = [seconds_of(point.time_from_start) for point in answer.motion.points]
    np.testing.assert_allclose(times, motion.t, atol=1e-9)
    for field, expected in (
        ("positions", motion.q),
        ("velocities", motion.u),
        ("accelerations", motion.udot),
        ("effort", motion.tau),
    ):
        given = column(answer, field)
        np.testing.assert_allclose(given, expected[:, -n:], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(answer.kinetic_energy, motion.kinetic, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(answer.potential_energy, motion.potential, rtol=1e-8, atol=1e-8)
    checks = motion.checks
    for name in ("energy_error", "relative_energy_error", "local_error", "round_trip_error"):
        assert getattr(answer.checks, name) == pytest.approx(getattr(checks, name), abs=1e-8)
    assert list(answer.checks.conserved_momenta) == list(checks.momentum_errors)
    np.testing.assert_allclose(
        answer.checks.momentum_errors, list(checks.momentum_errors.values()), atol=1e-8
    )


def test_free_motion_and_efforts_over_time(graph: Graph) -> None:
    graph.start(STANFORD)
    arm = arm_of(STANFORD)
    names = list(arm.joint_names)
    q0 = np.array([0.1, 1.2, 0.3, 0.2, 0.1, 0.3])
    u0 = np.array([0.5, -0.2, 0.1, 0.3, 0.2, -0.4])
    start = joint_state(names[::-1], q0[::-1], u0[::-1])
    answer = simulate(graph, duration=0.5, initial_state=start)
    assert answer.motion.joint_names == names
    assert not answer.base_poses
    assert_same(answer, arm.simulate(0.5, q0, u0, output_step=0.01))

    times, values = [0.1, 0.2, 0.35], np.array([[3.0, -1.0], [0.0, 2.0], [1.0, 1.0]])
    torques = np.zeros((3, 6))
    torques[:, [4, 1]] = values
    for hold, meaning in (("", "zero"), ("zero_order", "zero"), ("linear", "linear")):
        pushed = efforts([names[4], names[1]], times, values)
        answer = simulate(graph, initial_state=start, effort_trajectory=pushed, hold=hold)
        assert_same(
            answer,
            arm.simulate(0.35, q0, u0, TorqueHistory(times, torques, meaning), output_step=0.01),
        )
    constant = efforts([], [0.0], [np.arange(6.0)])
    answer = simulate(graph, duration=0.1, initial_state=start, effort_trajectory=constant)
    assert_same(answer, arm.simulate(0.1, q0, u0, np.arange(6.0), output_step=0.01))


METHODS = {"rk4": "rk4", "semi_implicit_euler": "euler", "dop853": "dop853", "radau": "radau"}


def test_methods_steps_and_tolerances_are_those_of_the_request(graph: Graph) -> None:
    graph.start(TWO_LINK)
    arm = arm_of(TWO_LINK)
    start = joint_state([], [0.1, 0.2])
    fine = {"duration": 0.5, "output_step": 0.03, "step": 0.002, "tolerance": 1e-6}
    for method, engine in METHODS.items():
        answer = simulate(graph, **fine, method=method, initial_state=start)
        motion = arm.simulate(
            0.5, [0.1, 0.2], [0, 0], None, 0.002, engine, output_step=0.03, tolerance=1e-6
        )
        assert len(answer.motion.points) == 18
        assert_same(answer, motion)


def test_controllers_follow_references_with_given_and_default_gains(graph: Graph) -> None:
    graph.start(TWO_LINK)
    arm = arm_of(TWO_LINK)
    q0, u0 = np.array([0.3, -0.2]), np.array([0.4, 0.1])
    start = joint_state(JOINTS, q0, u0)

    def check(expected: Any, **request: Any) -> None:
        answer = simulate(graph, duration=0.4, initial_state=start, **request)
        assert_same(answer, arm.simulate(0.4, q0, u0, expected, output_step=0.01))

    inertia = np.diagonal(arm.mass_matrix(q0))
    check(PDControl(q0, 100 * inertia, 20 * inertia), controller="pd_gravity")
    check(ComputedTorque(q0), controller="computed_torque")
    gains = {"position_gains": [50.0, 20.0], "velocity_gains": [9.0]}
    check(PDControl(q0, [50.0, 20.0], 9.0), controller="pd_gravity", **gains)
    check(ComputedTorque(q0, [50.0, 20.0], 9.0), controller="computed_torque", **gains)

    set_point = trajectory(JOINTS[::-1], [0.0], [[1.0, 0.5]])
    check(ComputedTorque([0.5, 1.0]), reference_trajectory=set_point)
    times, points = [0.2, 0.4], np.array([[0.5], [0.1]])
    curve = trajectory_through(
        times, np.insert(points, 0, q0[0], axis=1), start=Start(0.0, q0, [0.0, u0[1]])
    )
    one = trajectory(["joint2"], times, points)
    check(ComputedTorque(curve), reference_trajectory=one)
    check(
        PDControl(curve, 30.0, 5.0),
        controller="pd_gravity",
        reference_trajectory=one,
        position_gains=[30.0],
        velocity_gains=[5.0],
    )
    answer = simulate(graph, initial_state=start, reference_trajectory=one)
    assert seconds_of(answer.motion.points[-1].time_from_start) == 0.4


def test_wrenches_on_a_link_add_up(graph: Graph) -> None:
    graph.start(TWO_LINK)
    arm = arm_of(TWO_LINK)
    pull = wrench((0.0, 1.0, -3.0), (0.5, 0.0, 0.0))
    push = ExternalWrench(link="P2", times=[0.1, 0.2], wrenches=[wrench((0, 20.0, 0)), wrench()])
    load = ExternalWrench(link="P2", times=[0.0, 0.2], wrenches=[pull, wrench((0.0, 0.0, 1.0))])
    start = joint_state(JOINTS, [0.3, -0.2])
    for messages, history in (
        ([ExternalWrench(link="P2", wrenches=[pull])], [[0, 1, -3, 0.5, 0, 0]] * 3),
        ([push], [[0] * 6, [0, 20, 0, 0, 0, 0], [0] * 6]),
        ([push, load], [[0, 1, -3, 0.5, 0, 0], [0, 21, -3, 0.5, 0, 0], [0, 0, 1, 0, 0, 0]]),
    ):
        answer = simulate(graph, duration=0.3, initial_state=start, external_wrenches=messages)
        wrenches = {"P2": WrenchHistory([0.0, 0.1, 0.2], history)}
        motion = arm.simulate(0.3, [0.3, -0.2], [0, 0], output_step=0.01, wrenches=wrenches)
        assert_same(answer, motion)


def test_joint_limits_stop_or_resist_the_motion(graph: Graph) -> None:
    limit = '\\1"revolute"><limit lower="-0.5" upper="1" effort="9" velocity="9"/>'
    urdf = re.sub('(<joint [^>]*type=)"continuous">', limit, TWO_LINK.read_text())
    graph.start(urdf)
    start, arm, lowest = joint_state(JOINTS, [0.1, 0.2]), arm_of(urdf), {}
    for policy in ("ignore", "compliant", "stop"):
        answer = simulate(graph, duration=0.6, initial_state=start, joint_limits=policy)
        assert_same(answer, arm.simulate(0.6, [0.1, 0.2], [0, 0], output_step=0.01, limits=policy))
        lowest[policy] = column(answer, "positions")[:, 0].min()
    assert lowest["ignore"] < -0.6 < lowest["compliant"] < -0.5
    assert lowest["stop"] == pytest.approx(-0.5)
    assert not answer.success
    assert "'joint1' reached its lower limit -0.5 at t = " in answer.message
    assert 2 < len(answer.motion.points) < 60


def place_of(vector: Any) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def test_a_floating_base_moves_from_where_the_request_says(graph: Graph) -> None:
    body = '<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.3"/><mass value="2"/>'
    root = f'<link name="N"><inertial>{body}</inertial></link>'
    urdf = TWO_LINK.read_text().replace('<link name="N"/>', root)
    graph.start(urdf, base="floating")
    arm = arm_of(urdf, base="floating")
    pose, twist = Pose(), Twist()
    pose.position.x, pose.orientation.x, pose.orientation.w = 0.5, 0.6, 0.8
    twist.linear.y, twist.angular.z = 0.3, -0.4
    start = joint_state(JOINTS, [0.1, 0.2], [0.3, 0.4])
    answer = simulate(graph, duration=0.3, initial_state=start, base_pose=pose, base_twist=twist)
    q0 = [0.5, 0.0, 0.0, 0.6, 0.0, 0.0, 0.8, 0.1, 0.2]
    u0 = [0.0, 0.3, 0.0, 0.0, 0.0, -0.4, 0.3, 0.4]
    motion = arm.simulate(0.3, q0, u0, output_step=0.01)
    assert_same(answer, motion)
    assert "linear momentum along x" in answer.checks.conserved_momenta
    poses = [
        [*place_of(pose.position), *place_of(pose.orientation), pose.orientation.w]
        for pose in answer.base_poses
    ]
    np.testing.assert_allclose(poses, motion.q[:, :7], atol=1e-8)
    twists = [[*place_of(t.linear), *place_of(t.angular)] for t in answer.base_twists]
    np.testing.assert_allclose(twists, motion.u[:, :6], atol=1e-8)

    torques = efforts(["joint2"], [0.0], [[2.0]])
    answer = simulate(graph, duration=0.1, initial_state=start, effort_trajectory=torques)
    upright = [0.0] * 6 + [1.0, 0.1, 0.2]
    tau = [0.0] * 7 + [2.0]
    assert_same(answer, arm.simulate(0.1, upright, [0.0] * 6 + [0.3, 0.4], tau, output_step=0.01))

    answer = simulate(graph, duration=0.1, initial_state=start, controller="computed_torque")
    assert "every speed must be driven" in answer.message
    assert simulate(graph, duration=0.1, initial_state=start, controller="pd_gravity").success
    pose.orientation.w = 3.0
    answer = simulate(graph, duration=0.1, initial_state=start, base_pose=pose)
    assert "expected a unit quaternion" in answer.message


def test_a_simulation_starts_at_the_current_state(graph: Graph) -> None:
    graph.start(TWO_LINK)
    arm, client = arm_of(TWO_LINK), graph.client
    answer = simulate(graph, duration=0.2)
    assert not answer.success
    assert "the position of 'joint1', 'joint2' is not known" in answer.message
    answer = simulate(graph, duration=0.2, initial_state=joint_state(["joint2"], [0.1]))
    assert "the position of 'joint1' is not known" in answer.message
    states = client.speak(JointState, "/joint_states")
    gravity = client.hear(JointState, "/kane_dynamics/gravity_torques")
    states.publish(joint_state(JOINTS, [0.7, 0.8], [0.3, -0.3]))
    client.until(lambda: gravity, "the state to be known")
    expected = arm.simulate(0.2, [0.7, 0.8], [0.3, -0.3], output_step=0.01)
    assert_same(simulate(graph, duration=0.2), expected)
    expected = arm.simulate(0.2, [0.7, 0.1], [0.0, 0.5], output_step=0.01)
    moved = joint_state(["joint2"], [0.1], [0.5])
    assert_same(simulate(graph, duration=0.2, initial_state=moved), expected)
