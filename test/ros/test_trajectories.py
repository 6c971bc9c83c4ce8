"""Commanded trajectories: efforts at once, then torques in time."""

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters
from robot_graph import (
    STANFORD,
    TWO_LINK,
    Graph,
    arm_of,
    efforts_of,
    joint_state,
    later,
    limited_arm,
    panda,
    seconds_between,
    seconds_of,
    trajectory,
)
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.simulation.trajectory import Start, trajectory_through

JOINTS = ["joint1", "joint2"]
UPRIGHT = [np.pi / 2, 0.0]  # where the arm has no weight to hold
ANSWERS, TORQUES = "/kane_dynamics/torque_trajectory", "/kane_dynamics/torques"


def points(field: str, message: JointTrajectory) -> np.ndarray:
    return np.array([getattr(point, field) for point in message.points])


def at_times(answer: JointTrajectory, times: np.ndarray) -> JointTrajectory:
    """What an answer says at given times, among which it has points of its own."""
    moments = [seconds_of(point.time_from_start) for point in answer.points]
    places = [int(np.argmin(np.abs(np.subtract(moments, t)))) for t in times]
    np.testing.assert_allclose([moments[k] for k in places], times, atol=1e-9)
    return JointTrajectory(
        header=answer.header,
        joint_names=answer.joint_names,
        points=[answer.points[k] for k in places],
    )


def test_a_complete_trajectory_is_answered_with_efforts_and_streamed_in_time(graph: Graph) -> None:
    graph.start(STANFORD, rate=50.0)
    arm, client = arm_of(STANFORD), graph.client
    answers, torques = client.hear(JointTrajectory, ANSWERS), client.hear(JointState, TORQUES)
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    names = list(reversed(arm.joint_names))
    random = np.random.default_rng(1)
    times = np.array([0.0, 0.3, 0.8, 1.0])
    p, v, a = random.uniform(-1.0, 1.0, (3, 4, 6))
    sent = trajectory(names, times, p, v, a, later(client, 0.2))
    commands.publish(sent)
    client.until(lambda: answers, "the answer")
    (answer,) = answers
    assert answer.header == sent.header
    assert answer.joint_names == names
    for field in ("positions", "velocities", "accelerations"):
        given = points(field, at_times(answer, times))
        np.testing.assert_array_equal(given, points(field, sent))
    moments = np.array([seconds_of(point.time_from_start) for point in answer.points])
    np.testing.assert_allclose(moments, np.linspace(0.0, 1.0, 51), atol=1e-9)
    along = trajectory_through(times, p, v, a).sample(moments)
    np.testing.assert_allclose(points("positions", answer), along.positions, atol=1e-9)
    states = (points(each, answer)[:, ::-1] for each in ("positions", "velocities"))
    expected = arm.inverse_dynamics(*states, points("accelerations", answer)[:, ::-1])[:, ::-1]
    bound = np.array([arm.limits.effort[arm.joint_names.index(name)] for name in names])
    expected = np.clip(expected, -bound, bound)
    np.testing.assert_allclose(efforts_of(answer), expected, rtol=1e-9, atol=1e-9)

    end = seconds_of(sent.header.stamp) + 1.0
    client.until(lambda: torques and seconds_of(torques[-1].header.stamp) >= end, "the end")
    client.spin_for(0.2)
    assert sum(seconds_of(each.header.stamp) >= end for each in torques) == 1
    motion = trajectory_through(times, p[:, ::-1], v[:, ::-1], a[:, ::-1])
    for each in torques:
        assert tuple(each.name) == arm.joint_names
        t = seconds_between(sent.header.stamp, each.header.stamp)
        # a busy machine may come between readings of the two clocks that stamps go through
        near = motion.sample(np.clip(t + np.linspace(-0.01, 0.01, 2001), 0.0, 1.0))
        k = int(np.abs(near.positions - each.position).max(axis=1).argmin())
        np.testing.assert_allclose(each.position, near.positions[k], atol=1e-4)
        wanted = arm.inverse_dynamics(*(values[k] for values in near))
        limits = arm.limits.effort
        expected = np.clip(wanted, -limits, limits)
        np.testing.assert_allclose(each.effort, expected, rtol=0.02, atol=0.5)
    assert 30 <= len(torques) <= 52


def test_torques_keep_their_rate_while_trajectories_come_one_after_the_other(graph: Graph) -> None:
    graph.start(TWO_LINK, rate=20.0)
    client = graph.client
    answers, torques = client.hear(JointTrajectory, ANSWERS), client.hear(JointState, TORQUES)
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    sent = 0

    def command() -> None:
        nonlocal sent
        sent += 1
        commands.publish(trajectory(JOINTS, [0.0, 1.0], [[0.001 * sent, 0.0], [0.5, 0.5]]))

    client.until(lambda: len(torques) >= 20, "torques", command, period=0.01)
    # the depth of their publisher bounds how many answers wait for a client that is busy
    newest = pytest.approx(0.001 * sent)
    client.until(lambda: answers[-1].points[0].positions[0] == newest, "the last answer")
    assert sent > 40
    assert len(answers) > sent / 4
    assert client.fault_count("joint_trajectory") == 0


def test_missing_velocities_come_from_a_spline_that_starts_where_the_joints_are(
    graph: Graph,
) -> None:
    graph.start(TWO_LINK)
    arm, client = arm_of(TWO_LINK), graph.client
    answers, gravity = (
        client.hear(JointTrajectory, ANSWERS),
        client.hear(JointState, "/kane_dynamics/gravity_torques"),
    )
    states = client.speak(JointState, "/joint_states")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    where, speed = np.array([0.2, -0.1]), np.array([0.5, 0.0])
    client.introduce(states, gravity, joint_state(JOINTS, where, speed))
    times, p = np.array([0.5, 1.0, 2.0]), np.array([[0.3, 0.1], [0.8, 0.0], [1.0, 0.5]])
    commands.publish(trajectory(JOINTS, times, p))
    client.until(lambda: answers, "the answer")
    motion = trajectory_through(times, p, start=Start(0.0, where, speed))
    answer = at_times(answers[0], motion.times)
    assert motion.times[0] == 0.0, "the first point of the answer is where the arm is"
    for field in ("positions", "velocities", "accelerations"):
        np.testing.assert_allclose(points(field, answer), getattr(motion, field), atol=1e-9)
    efforts = arm.inverse_dynamics(motion.positions, motion.velocities, motion.accelerations)
    np.testing.assert_allclose(efforts_of(answer), efforts, atol=1e-9)
    last = answers[0].points[-1]
    assert seconds_of(last.time_from_start) > 2.0, "it still decelerates there"
    assert not any((*last.velocities, *last.accelerations))
    np.testing.assert_allclose(last.effort, arm.gravity(p[-1]), rtol=1e-9)


def test_joints_that_are_not_in_a_trajectory_are_held_where_they_are(graph: Graph) -> None:
    graph.start(TWO_LINK)
    arm, client = arm_of(TWO_LINK), graph.client
    answers, torques = client.hear(JointTrajectory, ANSWERS), client.hear(JointState, TORQUES)
    gravity = client.hear(JointState, "/kane_dynamics/gravity_torques")
    states = client.speak(JointState, "/joint_states")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    alone = trajectory(["joint2"], [0.0, 0.5], [[0.2], [0.4]], [[0.0], [0.0]], [[1.0], [0.0]])
    commands.publish(alone)
    client.until(lambda: client.fault_count("joint_trajectory"), "the refusal")
    assert "joint1" in latest_fault(graph)
    client.introduce(states, gravity, joint_state(JOINTS, [1.1, 0.0]))
    commands.publish(alone)
    client.until(lambda: answers, "the answer")
    assert answers[0].joint_names == ["joint2"]
    expected = arm.inverse_dynamics([[1.1, 0.2], [1.1, 0.4]], np.zeros(2), [[0.0, 1.0], [0, 0]])
    answer = at_times(answers[0], np.array([0.0, 0.5]))
    np.testing.assert_allclose(efforts_of(answer), expected[:, 1:], atol=1e-12)
    client.until(lambda: torques, "torques")
    assert torques[0].name == JOINTS
    assert torques[0].position[0] == 1.1


def test_a_new_trajectory_replaces_the_old_one_at_its_stamp(graph: Graph) -> None:
    graph.start(TWO_LINK, rate=100.0)
    client = graph.client
    torques = client.hear(JointState, TORQUES)
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    still = np.zeros((2, 2))
    first = trajectory(JOINTS, [0.0, 30.0], [[0.1, 0.1]] * 2, still, still, later(client, 0.0))
    commands.publish(first)
    client.until(lambda: len(torques) > 5, "torques of the first")
    change = later(client, 0.5)
    second = trajectory(JOINTS, [0.0, 0.3], [[0.7, 0.7]] * 2, still, still, change)
    commands.publish(second)
    end = seconds_of(change) + 0.3
    client.until(lambda: seconds_of(torques[-1].header.stamp) >= end, "the end of the second")
    client.spin_for(0.2)
    before = {round(t.position[0], 9) for t in torques if stamp_of(t) < seconds_of(change)}
    after = {round(t.position[0], 9) for t in torques if stamp_of(t) >= seconds_of(change)}
    assert before == {0.1}
    assert after == {0.7}
    assert sum(stamp_of(t) > end for t in torques) <= 1, "the first does not come back"


def stamp_of(message: JointState) -> float:
    return seconds_of(message.header.stamp)


def latest_fault(graph: Graph) -> str:
    values = graph.client.diagnosis("faults").values
    return next(str(entry.value) for entry in values if entry.key == "latest")


def test_a_trajectory_of_ten_thousand_points_is_answered(graph: Graph) -> None:
    urdf, names = panda()
    graph.start(urdf, joints=names)
    arm, client = arm_of(urdf, joints=names), graph.client
    answers = client.hear(JointTrajectory, ANSWERS, 1)
    commands = client.speak(JointTrajectory, "/joint_trajectory", 1)
    times = np.arange(10_000) * 0.001
    rate = 2.0 * np.pi / times[-1]  # it begins and ends at rest
    phase, swing = rate * times[:, None], np.linspace(0.1, 0.3, 7)
    p = swing * (1.0 - np.cos(phase)) + [0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7]
    v, a = swing * rate * np.sin(phase), swing * rate**2 * np.cos(phase)
    commands.publish(trajectory(names, times, p, v, a))
    client.until(lambda: answers, "the answer")
    complete = at_times(answers[0], times)
    assert len(answers[0].points) == 10_001, "one at rest comes after them"
    np.testing.assert_allclose(efforts_of(complete), arm.inverse_dynamics(p, v, a), atol=1e-10)
    commands.publish(trajectory(names, times, p))
    client.until(lambda: len(answers) == 2, "the answer of positions alone")
    inner = slice(10, -10)
    filled = at_times(answers[1], times)
    np.testing.assert_allclose(points("velocities", filled)[inner], v[inner], atol=1e-3)
    np.testing.assert_allclose(efforts_of(filled)[inner], efforts_of(complete)[inner], atol=0.05)


@pytest.mark.parametrize("policy", ["warn", "clamp", "reject"])
def test_efforts_beyond_the_limits_are_treated_as_the_parameter_says(
    graph: Graph, policy: str
) -> None:
    """Needed are 9.9 N m, which is more than 6; and more than twice 6 to hold the arm level."""
    graph.start(limited_arm(effort=6.0), limits=policy)
    client = graph.client
    answers = client.hear(JointTrajectory, ANSWERS)
    gravity = client.hear(JointState, "/kane_dynamics/gravity_torques")
    states = client.speak(JointState, "/joint_states")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    client.introduce(states, gravity, joint_state(JOINTS, UPRIGHT))
    still = np.zeros((1, 2))

    def command(where: list[float]) -> None:
        commands.publish(trajectory(JOINTS, [0.0], [where], still, still))

    command(UPRIGHT)
    client.until(lambda: answers, "an answer within the limits")
    there, level = [0.8, 0.1], [0.0, 0.0]
    wanted = arm_of(TWO_LINK).gravity(there)
    assert 6.0 < wanted[0] < 12.0 < arm_of(TWO_LINK).gravity(level)[0]
    command(there)
    client.until(lambda: client.fault_count("limits") == 1, "the fault")
    assert "needs 9.884 at 0 s, beyond its effort limit of 6" in latest_fault(graph)
    command(level)
    client.until(lambda: client.fault_count("limits") == 2, "another fault")
    assert ("give the motion more time" in latest_fault(graph)) is (policy == "warn")
    command(UPRIGHT)
    count = {"warn": 3, "clamp": 4, "reject": 2}[policy]
    client.until(lambda: len(answers) >= count, "the answers")
    assert len(answers) == count
    limited = np.clip(wanted, -6.0, 6.0)
    if policy != "reject":
        np.testing.assert_allclose(efforts_of(answers[1])[0], limited, rtol=1e-9)

    states.publish(joint_state(JOINTS, there))
    client.until(lambda: client.fault_count("effort limits") == 1, "a fault of gravity torques")
    states.publish(joint_state(JOINTS, UPRIGHT))
    client.until(lambda: gravity and max(map(abs, gravity[-1].effort)) < 1e-9, "torques at rest")
    if policy == "reject":
        assert len(gravity) == 1
    else:
        expected = wanted if policy == "warn" else limited
        np.testing.assert_allclose(gravity[0].effort, expected, rtol=1e-9)


def test_a_later_trajectory_starts_where_the_one_before_will_be(graph: Graph) -> None:
    graph.start(TWO_LINK)
    client = graph.client
    answers = client.hear(JointTrajectory, ANSWERS)
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    speeds, none = np.array([[0.1, 0.0]] * 2), np.zeros((2, 2))
    begin, change = later(client, 10.0), later(client, 15.0)
    ends = [[0.0, 0.0], [1.0, 0.0]]
    commands.publish(trajectory(JOINTS, [0.0, 10.0], ends, speeds, none, begin))
    client.until(lambda: answers, "the answer of the first")
    commands.publish(trajectory(JOINTS, [5.0], [[0.0, 0.5]], stamp=change))
    client.until(lambda: len(answers) == 2, "the answer of the second")
    first = answers[1].points[0]
    where = 0.1 * seconds_between(begin, change)
    np.testing.assert_allclose(first.positions, [where, 0.0], atol=1e-5)
    np.testing.assert_allclose(first.velocities, [0.1, 0.0], atol=1e-5)


def test_the_rate_can_be_changed_while_a_trajectory_runs(graph: Graph) -> None:
    graph.start(TWO_LINK, rate=5.0)
    client = graph.client
    torques = client.hear(JointState, TORQUES)
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    still = np.zeros((2, 2))
    commands.publish(trajectory(JOINTS, [0.0, 60.0], [[0.1, 0.1]] * 2, still, still))
    client.until(lambda: len(torques) > 3, "torques")
    slow = np.diff([stamp_of(t) for t in torques])
    value = ParameterValue(type=3, double_value=50.0)
    request = SetParameters.Request(parameters=[ParameterMessage(name="rate", value=value)])
    response = client.call(SetParameters, "/kane_dynamics/set_parameters", request)
    assert response.results[0].successful
    seen = len(torques)
    client.until(lambda: len(torques) > seen + 30, "more torques")
    fast = np.diff([stamp_of(t) for t in torques[seen + 2 :]])
    assert np.median(slow) > 0.1
    assert np.median(fast) < 0.1


# ------------------------------------------------------------------------------------ bad input


BAD = [
    trajectory([], [0.1], [[]]),
    trajectory(["joint1", "joint1"], [0.1], [[0.1, 0.1]]),
    trajectory(["elbow"], [0.1], [[0.1]]),
    trajectory(JOINTS, [], []),
    trajectory(JOINTS, np.arange(101) * 0.1, np.zeros((101, 2))),
    trajectory(JOINTS, [0.1], [[]]),
    trajectory(JOINTS, [0.1, 0.2], [[0.1, 0.2], [0.1]]),
    trajectory(JOINTS, [0.1], [[0.1, np.nan]]),
    trajectory(JOINTS, [0.1], [[0.1, 0.1]], [[np.inf, 0]]),
    trajectory(JOINTS, [0.2, 0.1], [[0.1, 0.1]] * 2),
    trajectory(JOINTS, [-1.0, 0.1], [[0.1, 0.1]] * 2),
    trajectory(JOINTS, [0.1, 2e9], [[0.1, 0.1]] * 2),
    trajectory(JOINTS, [0.1], [[0.1, 0.1]], stamp=Time(sec=1)),
    trajectory(JOINTS, [0.1], [[0.1, 0.1]], stamp=Time(sec=2**31 - 1)),
    trajectory(JOINTS, [0.0, 1e-9], [[0.0, 0.0], [1e300, 0.0]]),
]


def test_bad_trajectories_are_refused_and_counted_and_the_next_good_one_is_served(
    graph: Graph,
) -> None:
    node = graph.start(TWO_LINK, max_trajectory_points=100)
    client = graph.client
    answers = client.hear(JointTrajectory, ANSWERS)
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    for message in BAD:
        commands.publish(message)
    commands.publish(trajectory(JOINTS, [0.1, 0.2], [[0.1, 0.2], [0.2, 0.3]]))
    client.until(lambda: answers, "the answer of the good trajectory")
    client.until(lambda: client.fault_count("joint_trajectory") == len(BAD), "all faults counted")
    assert len(answers) == 1
    for words in ("the trajectory names no joint", "is named twice", "there is no joint 'elbow'"):
        assert node.log.count(words) == 1, "each kind of fault is logged"
