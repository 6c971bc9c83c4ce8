"""What is wrong with messages, in one sentence each: without a node, in the words it would use."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from robot_graph import STANFORD, TWO_LINK, joint_state, trajectory
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.faults import Fault, Faults, Unsafe
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.limits import torques_of
from kane_dynamics.ros.model import Model, load_model
from kane_dynamics.ros.parameters import Settings
from kane_dynamics.ros.plans import Plan, Schedule, plan_for
from kane_dynamics.ros.stamps import SECOND
from kane_dynamics.ros.trajectories import read_points

JOINTS = ["joint1", "joint2"]
NOW = 1000 * SECOND


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(TWO_LINK.read_text(), Settings(backend="numpy"))


@pytest.fixture
def states(model: Model) -> JointStates:
    states = JointStates()
    states.use(model)
    return states


# --------------------------------------------------------------------------------- joint states


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (JointState(), "the message names no joint"),
        (joint_state(JOINTS, []), "2 joints are named, but there are 0 positions"),
        (joint_state(JOINTS, [0.1, 0.2, 0.3]), "there are 3 positions"),
        (joint_state(JOINTS, [0.1, 0.2], [0.0]), "2 positions, 1 velocities and 0 efforts"),
        (joint_state(["joint1", "joint1"], [0.1, 0.3]), "joint 'joint1' is named twice"),
        (joint_state(["a", "b"], [0.1, 0.2]), "is about 'a', 'b', the robot has 'joint1'"),
        (joint_state(JOINTS, [0.1, np.nan]), "position of joint joint2 is nan"),
        (joint_state(JOINTS, [-np.inf, 0.1]), "position of joint joint1 is -inf"),
        (joint_state(JOINTS, [0.1, 0.1], [0.0, np.inf]), "velocity of joint joint2 is inf"),
        (joint_state(["joint2", "x"], [np.nan, 0.1]), "position of joint joint2 is nan"),
        (joint_state([f"x{k}" for k in range(9999)], np.zeros(9999)), "'x7' and 9991 more"),
    ],
)
def test_a_bad_joint_state_is_named_and_changes_nothing(
    states: JointStates, message: JointState, sentence: str
) -> None:
    states.update(joint_state(JOINTS, [0.5, 0.6], [0.7, 0.8]))
    with pytest.raises(Fault, match=sentence):
        states.update(message)
    np.testing.assert_array_equal(states.positions, [0.5, 0.6])
    np.testing.assert_array_equal(states.velocities, [0.7, 0.8])


def test_numbers_so_large_that_their_sum_overflows_are_still_numbers(states: JointStates) -> None:
    assert states.update(joint_state(JOINTS, [1.7e308, 1.7e308]))
    np.testing.assert_array_equal(states.positions, [1.7e308, 1.7e308])


def test_a_state_of_other_joints_of_the_robot_is_neither_used_nor_a_fault() -> None:
    states = JointStates()
    states.use(load_model(TWO_LINK.read_text(), Settings(backend="numpy", joints=("joint1",))))
    assert not states.update(joint_state(["joint2"], [0.1]))
    assert states.update(joint_state(JOINTS, [0.2, 0.1]))
    np.testing.assert_array_equal(states.positions, [0.2])


def test_many_different_orders_of_names_are_not_all_remembered(states: JointStates) -> None:
    for k in range(1000):
        states.update(joint_state([*JOINTS, f"x{k}"], [k, 0.2, 0.3]))
    assert states.positions[0] == 999
    assert len(states._orders) < 100


# --------------------------------------------------------------------------------- trajectories


def at_second(second: int) -> Time:
    return Time(sec=second)


LONGEST = Duration(sec=2**31 - 1, nanosec=2**32 - 1)


def endless() -> JointTrajectory:
    message = trajectory(JOINTS, [0.1], [[0.1, 0.1]])
    message.points[0].time_from_start = LONGEST
    return message


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (JointTrajectory(), "the trajectory names no joint"),
        (trajectory(["joint1", "joint1"], [0.1], [[0.1, 0.1]]), "'joint1' is named twice"),
        (trajectory(["elbow"], [0.1], [[0.1]]), "there is no joint 'elbow': the robot has"),
        (trajectory(["base_joint"], [0.1], [[0.1]]), "there is no joint 'base_joint'"),
        (trajectory(JOINTS, [], []), "the trajectory has no points"),
        (trajectory(JOINTS, range(101), np.zeros((101, 2))), "101 points, expected at most 100"),
        (trajectory(JOINTS, [0.1, 0.2], [[0.1, 0.1], []]), "point 1 has no positions"),
        (trajectory(JOINTS, [0.1, 0.2], [[0.1, 0.2], [0.1]]), "point 1 has 1 positions for 2"),
        (trajectory(JOINTS, [0.1], [[0.1, 0.2]], [[0.0] * 3]), "point 0 has 3 velocities for 2"),
        (trajectory(JOINTS, [0.1], [[0.1, np.nan]]), "positions of joint 'joint2' is nan"),
        (trajectory(JOINTS, [0.1], [[0.1, 0.1]], [[np.inf, 0]]), "joint 'joint1' is inf"),
        (trajectory(JOINTS, [0.1], [[0.1, 0.1]], [[np.nan, np.nan]]), "velocities .* is nan"),
        (
            trajectory(JOINTS, [0.1, 0.2], [[0.1, 0.1]] * 2, [[], [np.nan, 0.0]]),
            "point 1: velocities of joint 'joint1' is nan",
        ),
        (trajectory(JOINTS, [0.2, 0.2], [[0.1, 0.1]] * 2), "point 1: its time .* does not come"),
        (trajectory(JOINTS, [0.2, 0.1], [[0.1, 0.1]] * 2), "point 1: its time 0.1 s does not"),
        (trajectory(JOINTS, [-1.0, 0.1], [[0.1, 0.1]] * 2), "point 0 has a negative time"),
        (trajectory(JOINTS, [0.1, 2e9], [[0.1, 0.1]] * 2), r"point 1 .* 2e\+09 s, the most is"),
        (endless(), "the most is 86400"),
        (trajectory(JOINTS, [0.1], [[0.1, 0.1]], stamp=at_second(990)), "ended 9.9 s ago"),
        (trajectory(JOINTS, [0.1], [[0.1, 0.1]], stamp=at_second(2**31 - 1)), "another clock"),
        (trajectory(JOINTS, [0, 1e-9], [[0.0, 0.0], [1e300, 0.0]]), "too fast for finite numbers"),
        (trajectory(["joint2"], [0.1], [[0.1]]), "'joint1' is not in the trajectory, and where"),
    ],
)
def test_a_bad_trajectory_is_named(
    model: Model, states: JointStates, message: JointTrajectory, sentence: str
) -> None:
    with pytest.raises(Fault, match=sentence):
        planned(message, model, states, Schedule())


def planned(
    message: JointTrajectory, model: Model, states: JointStates, schedule: Schedule, now: int = NOW
) -> Plan:
    points = read_points(message, model, 100)
    stamp = message.header.stamp.sec * SECOND + message.header.stamp.nanosec
    return plan_for(points, stamp, now, model, states, schedule)


def test_a_continuous_joint_starts_from_the_nearest_turn(model: Model, states: JointStates) -> None:
    states.update(joint_state(JOINTS, [20.0 * np.pi + 0.1, -0.2]))
    plan = planned(trajectory(JOINTS, [1.0], [[0.3, 0.3]]), model, states, Schedule())
    np.testing.assert_allclose(plan.motion.positions[0], [0.1, -0.2], atol=1e-12)


def test_a_later_trajectory_starts_where_the_one_before_will_be(
    model: Model, states: JointStates
) -> None:
    states.update(joint_state(JOINTS, [0.0, 0.0]))
    schedule = Schedule()
    first = planned(
        trajectory(JOINTS, [0, 4], [[0, 0], [4, 0]], [[1, 0]] * 2), model, states, schedule
    )
    schedule.add(first)
    second = trajectory(JOINTS, [1.0], [[0.0, 0.0]], stamp=at_second(1002))
    plan = planned(second, model, states, schedule)
    np.testing.assert_allclose(plan.motion.positions[0], [2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(plan.motion.velocities[0], [1.0, 0.0], atol=1e-12)
    schedule.add(plan)
    assert schedule.due(NOW) is first
    assert schedule.due(NOW + 2 * SECOND) is plan
    schedule.drop_finished(NOW + 2 * SECOND)
    assert schedule.plans == [plan]


def test_a_trajectory_replaces_those_that_would_come_after_it(
    model: Model, states: JointStates
) -> None:
    schedule = Schedule()
    for second in (1005, 1003):
        message = trajectory(JOINTS, [0.0, 9.0], [[0, 0]] * 2, stamp=at_second(second))
        schedule.add(planned(message, model, states, schedule))
    assert [plan.begin // SECOND for plan in schedule.plans] == [1003]


def test_the_number_of_waiting_trajectories_is_limited(model: Model, states: JointStates) -> None:
    schedule = Schedule()

    def wait_until(last: int) -> None:
        for second in range(1001, last):
            message = trajectory(JOINTS, [0.0, 9.0], [[0, 0]] * 2, stamp=at_second(second))
            schedule.add(planned(message, model, states, schedule))

    with pytest.raises(Fault, match="are waiting for their time already"):
        wait_until(2000)


# --------------------------------------------------------------------------------------- limits


class Silent:
    """A logger that nobody reads."""

    def warning(self, text: str) -> None:
        self.text = text


def test_torques_that_are_not_finite_are_refused() -> None:
    model = load_model(STANFORD.read_text(), Settings(backend="numpy"))
    with pytest.raises(Unsafe, match="the result is not finite"):
        torques_of(model.efforts, np.full(6, 1e300), np.full(6, 1e300), np.zeros(6))


def test_faults_are_logged_once_per_cause_and_all_counted() -> None:
    logger = Silent()
    faults = Faults(logger)
    for k in range(100):
        faults.record(Fault("this", f"sentence {k}"))
    assert logger.text == "this: sentence 0"
    faults.record(Fault("that", "x" * 10_000))
    assert len(logger.text) < 400
    assert faults.counts == {"this": 100, "that": 1}
