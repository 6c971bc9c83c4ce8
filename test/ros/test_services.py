"""Services: torques for a trajectory, and the equations of motion at a state."""

from collections.abc import Sequence

import numpy as np
import pytest
from geometry_msgs.msg import Pose, Twist, Vector3, Wrench
from robot_graph import (
    STANFORD,
    TWO_LINK,
    Graph,
    arm_of,
    efforts_of,
    joint_state,
    limited_arm,
    trajectory,
    ur10,
)
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.simulation.trajectory import trajectory_through
from kane_dynamics_interfaces.msg import ExternalWrench
from kane_dynamics_interfaces.srv import GetDynamics, InverseDynamics

JOINTS = ["joint1", "joint2"]
INVERSE, DYNAMICS = "/kane_dynamics/inverse_dynamics", "/kane_dynamics/get_dynamics"


def inverse(
    graph: Graph, message: JointTrajectory, wrenches: Sequence[ExternalWrench] = ()
) -> InverseDynamics.Response:
    request = InverseDynamics.Request(trajectory=message, external_wrenches=list(wrenches))
    return graph.client.call(InverseDynamics, INVERSE, request)


def push(
    link: str, *forces: float, times: Sequence[float] = (), torque: float = 0.0
) -> ExternalWrench:
    """Forces along x one after the other, each with a torque about z."""
    wrenches = [Wrench(force=Vector3(x=x), torque=Vector3(z=torque)) for x in forces]
    return ExternalWrench(link=link, times=list(times), wrenches=wrenches)


def dynamics(graph: Graph, **request: object) -> GetDynamics.Response:
    return graph.client.call(GetDynamics, DYNAMICS, GetDynamics.Request(**request))


def test_inverse_dynamics_gives_the_efforts_of_a_trajectory(graph: Graph) -> None:
    graph.start(STANFORD)
    arm = arm_of(STANFORD)
    random = np.random.default_rng(1)
    p, v, a = random.uniform(-1.0, 1.0, (3, 5, 6))
    zero = np.zeros(5)
    backward = [x[:, ::-1] for x in (p, v, a)]
    expected = arm.inverse_dynamics(p, v, a)

    answer = inverse(graph, trajectory(arm.joint_names, zero, p, v, a))
    assert (answer.success, answer.message) == (True, "")
    np.testing.assert_allclose(efforts_of(answer.trajectory), expected, rtol=1e-12, atol=1e-12)
    answer = inverse(graph, trajectory(arm.joint_names[::-1], zero, *backward))
    np.testing.assert_allclose(efforts_of(answer.trajectory)[:, ::-1], expected, rtol=1e-12)
    answer = inverse(graph, trajectory([], zero, p, v, a))
    assert tuple(answer.trajectory.joint_names) == arm.joint_names
    np.testing.assert_allclose(efforts_of(answer.trajectory), expected, rtol=1e-12, atol=1e-12)

    times = np.arange(5) * 0.5
    answer = inverse(graph, trajectory(arm.joint_names, times, p))
    motion = trajectory_through(times, p)
    filled = arm.inverse_dynamics(motion.positions, motion.velocities, motion.accelerations)
    np.testing.assert_allclose(efforts_of(answer.trajectory), filled, rtol=1e-9, atol=1e-9)

    answer = inverse(graph, trajectory(arm.joint_names, [0.0], p[:1]))
    held = efforts_of(answer.trajectory)[0]
    np.testing.assert_allclose(held, arm.gravity(p[0]), rtol=1e-12, atol=1e-12)


def test_an_answer_says_how_velocities_and_accelerations_were_obtained(graph: Graph) -> None:
    graph.start(TWO_LINK)
    t = np.arange(200) * 0.01
    p, v = np.sin(np.outer(t, [1.0, 2.0])), np.cos(np.outer(t, [1.0, 2.0])) * [1.0, 2.0]
    noisy = p + 1e-3 * np.random.default_rng(2).standard_normal(p.shape)
    for message, origins in (
        (trajectory(JOINTS, t, p, v, -p), ("given", "given")),
        (trajectory(JOINTS, t, p, v), ("given", "spline")),
        (trajectory(JOINTS, t, p), ("spline", "spline")),
        (trajectory(JOINTS, t, noisy, v), ("given", "smoothed")),
        (trajectory(JOINTS, t, noisy), ("smoothed", "smoothed")),
        (trajectory(JOINTS, t, noisy, None, -p), ("spline", "given")),
    ):
        answer = inverse(graph, message)
        assert answer.success, answer.message
        assert (answer.velocities_from, answer.accelerations_from) == origins
        np.testing.assert_array_equal(
            [point.positions for point in answer.trajectory.points],
            [point.positions for point in message.points],
        )
    mixed = trajectory(JOINTS, t, noisy, v)
    mixed.points[7].velocities = []
    answer = inverse(graph, mixed)
    assert (answer.velocities_from, answer.accelerations_from) == ("spline", "spline")


def test_wrenches_act_while_the_trajectory_runs(graph: Graph) -> None:
    graph.start(STANFORD)
    arm = arm_of(STANFORD)
    link, other = arm.link_names[-1], arm.link_names[2]
    random = np.random.default_rng(3)
    p, v, a = random.uniform(-1.0, 1.0, (3, 4, 6))
    times = [0.0, 1.0, 2.0, 3.0]
    pushes = [
        push(link, 0.0, 50.0, times=[0.0, 2.0], torque=2.0),
        push(link, 3.0),
        push(other, 7.0),
    ]
    wrenches = {link: np.zeros((4, 6)), other: np.zeros((4, 6))}
    wrenches[link][:, 0] = [3.0, 3.0, 53.0, 53.0]
    wrenches[link][:, 5] = 2.0
    wrenches[other][:, 0] = 7.0
    answer = inverse(graph, trajectory(arm.joint_names, times, p, v, a), pushes)
    assert answer.success, answer.message
    expected = arm.inverse_dynamics(p, v, a, wrenches)
    np.testing.assert_allclose(efforts_of(answer.trajectory), expected, rtol=1e-9, atol=1e-9)

    untimed = trajectory(arm.joint_names, np.zeros(4), p, v, a)
    answer = inverse(graph, untimed, pushes)
    first = {name: values[0] for name, values in wrenches.items()}
    expected = arm.inverse_dynamics(p, v, a, first)
    np.testing.assert_allclose(efforts_of(answer.trajectory), expected, rtol=1e-9, atol=1e-9)

    for bad, sentence in (
        (push("tool", 1.0), "external_wrenches[0]: there is no link 'tool'"),
        (push(link, np.nan), "is nan; every entry must be finite"),
        (push(link, 1.0, 2.0, times=[1.0, 1.0]), "times must increase"),
        (push(link, 1.0, 2.0), "2 wrenches and no times"),
        (push(link, 1.0, times=[-1.0]), "lies before the start"),
        (push(link, 1.0, times=[np.nan]), "finite"),
    ):
        answer = inverse(graph, untimed, [bad])
        assert not answer.success
        assert sentence in answer.message
        assert not answer.trajectory.points


def test_bad_requests_for_inverse_dynamics_are_answered_in_one_sentence(graph: Graph) -> None:
    graph.start(TWO_LINK, max_trajectory_points=100)
    for message, sentence in (
        (JointTrajectory(), "the trajectory has no points"),
        (trajectory(["elbow"], [0.0], [[0.1]]), "there is no joint 'elbow'"),
        (trajectory(JOINTS, [0.0], [[0.1]]), "point 0 has 1 positions for 2 joints"),
        (trajectory(JOINTS, [0.0, 0.0], [[0.1, 0.1]] * 2), "does not come after"),
        (trajectory(JOINTS, [0.0], [[0.1, np.nan]]), "is nan"),
        (trajectory(JOINTS, range(101), np.zeros((101, 2))), "101 points"),
        (trajectory(["joint1"], [0.0], [[0.1]]), "'joint2' is not named, and where it is"),
    ):
        answer = inverse(graph, message)
        assert not answer.success
        assert sentence in answer.message
        assert not answer.trajectory.points
    assert inverse(graph, trajectory(JOINTS, [0.0], [[0.1, 0.1]])).success
    graph.client.until(lambda: graph.client.fault_count("services") == 7, "seven faults counted")


@pytest.mark.parametrize("policy", ["warn", "clamp", "reject"])
def test_an_answer_says_which_effort_limit_is_exceeded(graph: Graph, policy: str) -> None:
    graph.start(limited_arm(effort=9.0), limits=policy)
    answer = inverse(graph, trajectory(JOINTS, [0.0], [[0.3, 0.4]]))
    assert "joint 'joint1' needs 13.12 at point 0, beyond its effort limit of 9" in answer.message
    assert answer.success == (policy != "reject")
    if answer.success:
        effort = efforts_of(answer.trajectory)[0, 0]
        assert effort == pytest.approx(9.0 if policy == "clamp" else 13.1234, abs=1e-4)


def test_the_equations_of_motion_at_given_and_current_states(graph: Graph) -> None:
    graph.start(STANFORD)
    arm, client = arm_of(STANFORD), graph.client
    answer = dynamics(graph)
    assert not answer.success
    assert "the position of 'joint1', 'joint2', 'joint3'" in answer.message
    random = np.random.default_rng(4)
    q, u = random.uniform(-1.0, 1.0, (2, 6))

    def check(answer: GetDynamics.Response, q: np.ndarray, u: np.ndarray) -> None:
        assert (answer.success, answer.message) == (True, "")
        assert tuple(answer.joint_names) == tuple(answer.state.name) == arm.joint_names
        mass = np.reshape(answer.mass_matrix, (6, 6))
        np.testing.assert_allclose(mass, arm.mass_matrix(q), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(answer.bias, arm.bias(q, u), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(answer.gravity, arm.gravity(q), rtol=1e-12, atol=1e-12)
        assert answer.kinetic_energy == pytest.approx(arm.energy(q, u).kinetic, abs=1e-12)
        assert answer.potential_energy == pytest.approx(arm.energy(q, u).potential, abs=1e-12)
        np.testing.assert_array_equal(answer.state.position, q)
        np.testing.assert_array_equal(answer.state.velocity, u)

    names = list(arm.joint_names)
    check(dynamics(graph, state=joint_state(names[::-1], q[::-1], u[::-1])), q, u)
    check(dynamics(graph, state=joint_state([], q)), q, np.zeros(6))
    states = client.speak(JointState, "/joint_states")
    gravity = client.hear(JointState, "/kane_dynamics/gravity_torques")
    current = joint_state(names, q, u)
    current.header.stamp.sec = 12
    client.until(lambda: gravity, "the state to be known", lambda: states.publish(current))
    answer = dynamics(graph)
    check(answer, q, u)
    assert answer.state.header.stamp.sec == 12
    bent = q.copy()
    bent[2] = 0.7
    check(dynamics(graph, state=joint_state(["joint3"], [0.7])), bent, np.zeros(6))


def test_bad_states_are_answered_in_one_sentence(graph: Graph) -> None:
    graph.start(TWO_LINK)
    for state, sentence in (
        (joint_state(["elbow"], [0.1]), "there is no joint 'elbow': the robot has"),
        (joint_state(["joint1", "joint1"], [0.1, 0.1]), "'joint1' is named twice"),
        (joint_state(["joint1"], [0.1]), "the position of 'joint2' is not known: name it in state"),
        (joint_state(JOINTS, [0.1]), "1 positions for 2 joints"),
        (joint_state([], [0.1, 0.2, 0.3]), "3 positions for 2 joints"),
        (joint_state(JOINTS, [0.1, 0.2], [0.1]), "1 velocities for 2 joints"),
        (joint_state(JOINTS, [0.1, np.inf]), "positions that are not finite"),
        (joint_state([], [], [0.1, 0.2]), "0 positions for 2 joints"),
    ):
        answer = dynamics(graph, state=state)
        assert not answer.success
        assert sentence in answer.message
    assert dynamics(graph, state=joint_state(JOINTS, [0.1, 0.2])).success


def test_a_floating_base_is_where_the_request_says(graph: Graph) -> None:
    graph.start(TWO_LINK, base="floating")
    arm = arm_of(TWO_LINK, base="floating")
    pose, twist = Pose(), Twist()
    pose.position.x, pose.orientation.x, pose.orientation.w = 0.5, 0.6, 0.8
    twist.linear.y, twist.angular.z = 0.3, -0.4
    state = joint_state(JOINTS, [0.1, 0.2], [0.3, 0.4])
    answer = dynamics(graph, state=state, base_pose=pose, base_twist=twist)
    q = [0.5, 0.0, 0.0, 0.6, 0.0, 0.0, 0.8, 0.1, 0.2]
    u = [0.0, 0.3, 0.0, 0.0, 0.0, -0.4, 0.3, 0.4]
    assert answer.success
    np.testing.assert_allclose(answer.bias, arm.bias(q, u), rtol=1e-12, atol=1e-12)
    mass = np.reshape(answer.mass_matrix, (8, 8))
    np.testing.assert_allclose(mass, arm.mass_matrix(q), rtol=1e-12, atol=1e-12)
    pose.orientation.w = 3.0
    answer = dynamics(graph, state=state, base_pose=pose)
    assert not answer.success
    assert "unit quaternion" in answer.message
    efforts = efforts_of(inverse(graph, trajectory(JOINTS, [0.0], [[0.1, 0.2]])).trajectory)
    upright = [0.0] * 6 + [1.0, 0.1, 0.2]
    np.testing.assert_allclose(efforts[0], arm.gravity(upright)[6:], rtol=1e-12)


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_pose_and_jacobian_of_a_link_are_those_of_pinocchio(graph: Graph, base: str) -> None:
    pinocchio = pytest.importorskip("pinocchio")
    (urdf, names), link = ur10(), "tool0"
    graph.start(urdf, base=base)
    root = [pinocchio.JointModelFreeFlyer()] if base == "floating" else []
    model = pinocchio.buildModelFromUrdf(str(urdf), *root)
    data = model.createData()
    random = np.random.default_rng(5)
    joints = random.uniform(-1.0, 1.0, 6)
    where = np.array([0.1, 0.2, 0.3, 0.0, 0.6, 0.0, 0.8])
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = where[:3].tolist()
    pose.orientation.y, pose.orientation.w = 0.6, 0.8
    q = np.concatenate((where, joints)) if base == "floating" else joints
    pinocchio.framesForwardKinematics(model, data, q)
    frame = model.getFrameId(link)
    expected = pinocchio.computeFrameJacobian(
        model, data, q, frame, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
    )

    answer = dynamics(graph, state=joint_state(names, joints), base_pose=pose, link=link)
    assert answer.success, answer.message
    jacobian = np.reshape(answer.jacobian, (6, len(q) - (base == "floating")))
    np.testing.assert_allclose(jacobian, expected, rtol=1e-9, atol=1e-9)
    found, turned = answer.link_pose.position, answer.link_pose.orientation
    placed = pinocchio.XYZQUATToSE3(
        np.array([found.x, found.y, found.z, turned.x, turned.y, turned.z, turned.w])
    )
    assert placed.isApprox(data.oMf[frame], 1e-9)

    plain = dynamics(graph, state=joint_state(names, joints), base_pose=pose)
    assert plain.success
    assert not plain.jacobian
    answer = dynamics(graph, state=joint_state(names, joints), link=link + "x")
    assert not answer.success
    assert f"the robot has no link {link + 'x'!r}: did you mean {link!r}" in answer.message


def test_a_call_before_there_is_a_model_is_answered(graph: Graph) -> None:
    graph.start(None, ready=False)
    answer = inverse(graph, trajectory(JOINTS, [0.0], [[0.1, 0.1]]))
    assert not answer.success
    assert "no model of the robot yet" in answer.message
    answer = dynamics(graph)
    assert not answer.success
    assert "no model of the robot yet" in answer.message
