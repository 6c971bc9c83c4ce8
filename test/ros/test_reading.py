"""What is wrong with messages, in one sentence each: without a node, in the words it would use."""

import struct

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from rclpy.serialization import serialize_message
from robot_graph import STANFORD, TWO_LINK, joint_state, trajectory
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.arrays import Array
from kane_dynamics.ros.faults import Fault, Faults, Unsafe
from kane_dynamics.ros.messages.cdr import Reader
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.limits import torques_of
from kane_dynamics.ros.robot.model import Model, load_model
from kane_dynamics.ros.states.joint_states import JointStates
from kane_dynamics.ros.trajectories.plans import Plan, Timetable, plan_for
from kane_dynamics.ros.trajectories.points import read_points
from kane_dynamics.ros.trajectories.verdicts import Code, Verdict
from kane_dynamics.simulation.trajectory import Sample

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


def take(states: JointStates, message: JointState, received: float = 1.0) -> bool:
    return states.update(serialize_message(message), received)


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
    take(states, joint_state(JOINTS, [0.5, 0.6], [0.7, 0.8]))
    with pytest.raises(Fault, match=sentence):
        take(states, message)
    np.testing.assert_array_equal(states.positions, [0.5, 0.6])
    np.testing.assert_array_equal(states.velocities, [0.7, 0.8])


def test_numbers_so_large_that_their_sum_overflows_are_still_numbers(states: JointStates) -> None:
    assert take(states, joint_state(JOINTS, [1.7e308, 1.7e308]))
    np.testing.assert_array_equal(states.positions, [1.7e308, 1.7e308])


def test_a_state_of_other_joints_of_the_robot_is_neither_used_nor_a_fault() -> None:
    states = JointStates()
    states.use(load_model(TWO_LINK.read_text(), Settings(backend="numpy", joints=("joint1",))))
    assert not take(states, joint_state(["joint2"], [0.1]))
    assert take(states, joint_state(JOINTS, [0.2, 0.1]))
    np.testing.assert_array_equal(states.positions, [0.2])


def test_many_different_orders_of_names_are_not_all_remembered(states: JointStates) -> None:
    for k in range(1000):
        take(states, joint_state([*JOINTS, f"x{k}"], [k, 0.2, 0.3]))
    assert states.positions[0] == 999
    assert len(states._orders) < 100
    assert len(states._layouts) < 100


@pytest.mark.parametrize("frame", ["", "w", "wo", "wor", "world"])
@pytest.mark.parametrize("given", [(), ("velocity",), ("effort",), ("velocity", "effort")])
def test_what_a_joint_state_says_is_read_wherever_it_lies(
    states: JointStates, frame: str, given: tuple[str, ...]
) -> None:
    for name in ("", "x", "xy", "xyz", "Ω"):  # whatever that does to the places of numbers
        for k in range(3):
            sent = joint_state(["joint2", name, "joint1"], [0.2 + k, 9.0, 0.1 + k])
            sent.header.frame_id, sent.header.stamp = frame, Time(sec=5, nanosec=k + 1)
            for field in given:
                setattr(sent, field, [2.0 + k, 9.0, 1.0 + k])
            data = serialize_message(sent)
            for each in (data, big_endian(data)):
                states.positions[:] = states.velocities[:] = states.stamps[:] = 0
                assert states.update(each, float(k))
                np.testing.assert_array_equal(states.positions, [0.1 + k, 0.2 + k])
                if "velocity" in given:
                    np.testing.assert_array_equal(states.velocities, [1.0 + k, 2.0 + k])
                assert set(states.stamps) == {5 * SECOND + k + 1}
                assert set(states.received) == {float(k)}
                assert (states.stamp, states.frame_id) == (data[4:12], frame)
                assert states.measured.all() == ("velocity" in given)


def big_endian(data: bytes) -> bytes:
    """The same joint state, numbers with their most significant byte first."""
    reader, body = Reader(data), bytearray(8)

    def word(value: int) -> None:
        body.extend(bytes(-len(body) % 4) + value.to_bytes(4, "big"))

    def text(value: str) -> None:
        word(len(value.encode()) + 1)
        body.extend(value.encode() + b"\0")

    body[:8] = struct.pack(">iI", *reader.time())
    text(reader.text())
    names = reader.texts()
    word(len(names))
    for name in names:
        text(name)
    for values in (reader.numbers() for _ in range(3)):
        word(len(values))
        if values:
            body.extend(bytes(-len(body) % 8) + struct.pack(f">{len(values)}d", *values))
    return b"\0\0\0\0" + bytes(body)


def test_a_state_older_than_the_one_before_is_out_of_order(states: JointStates) -> None:
    def stamped(position: float, nanosec: int, names: list[str] = JOINTS) -> JointState:
        stamp = Time(sec=7, nanosec=nanosec)
        return joint_state(names, [position] * len(names), stamp=stamp)

    take(states, stamped(0.1, 2000), 10.0)
    with pytest.raises(Fault, match="1e-06 s older than that of the one before") as caught:
        take(states, stamped(0.2, 1000), 10.1)
    assert caught.value.cause == "joint_states out of order"
    assert states.positions[0] == 0.1
    assert take(states, stamped(0.1, 2000), 10.1), "the same once more does no harm"
    assert take(states, joint_state(JOINTS, [0.3, 0.3]), 10.1), "without stamp there is no order"
    take(states, stamped(0.1, 2000), 10.2)
    assert take(states, stamped(0.4, 1000), 11.0), "the clock of the sender was set back"
    take(states, stamped(0.5, 5000, ["joint1"]), 11.1)
    assert take(states, stamped(0.6, 3000, ["joint2"]), 11.1), "joints of another sender"
    with pytest.raises(Fault, match="older than that"):
        take(states, stamped(0.7, 4000), 11.1)
    np.testing.assert_array_equal(states.positions, [0.5, 0.6])


# ------------------------------------------------------------------- velocities from positions


@pytest.mark.parametrize("by", ["stamps", "reception"])
@pytest.mark.parametrize("period", [0.001, 0.01, 0.05])
@pytest.mark.parametrize("given", [[], [np.nan, np.nan]])
def test_velocities_that_nobody_measures_come_from_positions(
    states: JointStates, by: str, period: float, given: list[float]
) -> None:
    speeds = np.array([1.5, -0.5])
    for k in range(200):
        t = k * period
        turned = (speeds * t + np.pi) % (2 * np.pi) - np.pi  # both joints are continuous
        stamp = Time(sec=9 + int(t), nanosec=round(t % 1.0 * 1e9)) if by == "stamps" else None
        take(states, joint_state(JOINTS, turned, given, stamp), 3.0 if by == "stamps" else t)
        assert (np.abs(states.velocities) <= np.abs(speeds) + 1e-9).all()
    np.testing.assert_allclose(states.velocities, speeds, atol=1e-6)
    assert not states.measured.any()


def test_an_estimated_velocity_is_smoother_than_the_differences(states: JointStates) -> None:
    random, period, noise = np.random.default_rng(2), 0.002, 1e-5
    errors = []
    for k in range(2000):
        take(states, joint_state(JOINTS, [random.normal(k * period, noise), 0.0]), k * period)
        errors.append(states.velocities[0] - 1.0)
    assert np.std(errors[100:]) < 0.25 * np.sqrt(2.0) * noise / period
    assert abs(np.mean(errors[100:])) < 1e-3


def test_after_a_gap_nothing_is_known_about_velocities(states: JointStates) -> None:
    for t in (0.0, 0.01, 0.02):
        take(states, joint_state(JOINTS, [t, t]), t)
    assert states.velocities[0] > 0.1
    take(states, joint_state(JOINTS, [2.0, 2.0]), 5.0)
    np.testing.assert_array_equal(states.velocities, [0.0, 0.0])


def test_measured_and_estimated_velocities_are_told_apart(states: JointStates) -> None:
    take(states, joint_state(JOINTS, [0.0, 0.0], [0.5, np.nan]), 0.00)
    take(states, joint_state(JOINTS, [0.1, 0.1], [0.5, np.nan]), 0.01)
    np.testing.assert_array_equal(states.measured, [True, False])
    assert states.velocities[0] == 0.5
    assert 0.5 < states.velocities[1] < 10.0
    with pytest.raises(Unsafe, match="velocity of joint joint1 is nan"):
        take(states, joint_state(JOINTS, [0.1, 0.1], [np.nan, 0.0]), 0.02)
    take(states, joint_state(JOINTS, [0.1, 0.1]), 0.03)
    assert not states.measured.any()
    take(states, joint_state(JOINTS, [0.1, 0.1], [0.0, 0.0]), 0.04)
    assert states.measured.all()


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
        planned(message, model, standing(states))


class Bystander:
    """Sees how a trajectory is followed, and says nothing but what it was told at its end."""

    trips = True

    def __init__(self) -> None:
        self.told: list[str] = []

    def state(self, t: float, desired: Sample, positions: Array, velocities: Array) -> Verdict:
        return Verdict(Code.SUCCESSFUL)

    def over(self, sentence: str = "") -> None:
        self.told.append(sentence)


def standing(states: JointStates) -> Sample:
    return Sample(states.positions, states.velocities, np.zeros_like(states.velocities))


def planned(message: JointTrajectory, model: Model, start: Sample, now: int = NOW) -> Plan:
    points = read_points(message, model, 100)
    stamp = message.header.stamp.sec * SECOND + message.header.stamp.nanosec
    return plan_for(points, stamp or now, now, model, start, Bystander())


def test_a_continuous_joint_starts_from_the_nearest_turn(model: Model, states: JointStates) -> None:
    take(states, joint_state(JOINTS, [20.0 * np.pi + 0.1, -0.2]))
    plan = planned(trajectory(JOINTS, [1.0], [[0.3, 0.3]]), model, standing(states))
    np.testing.assert_allclose(plan.motion.positions[0], [0.1, -0.2], atol=1e-12)


def test_a_plan_is_due_from_its_begin_to_its_end_or_to_the_next_one(model: Model) -> None:
    schedule = Timetable()
    start = Sample(*np.zeros((3, 2)))
    first = planned(trajectory(JOINTS, [0, 4], [[0, 0], [4, 0]], [[1, 0]] * 2), model, start)
    schedule.add(first)
    assert schedule.due(NOW - 1) is None
    assert schedule.due(NOW) is schedule.due(NOW + 4 * SECOND) is first
    assert schedule.due(NOW + 4 * SECOND + 1) is None
    second = trajectory(JOINTS, [1.0], [[0.0, 0.0]], stamp=at_second(1002))
    plan = planned(second, model, first.at(NOW + 2 * SECOND))
    np.testing.assert_allclose(plan.motion.positions[0], [2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(plan.motion.velocities[0], [1.0, 0.0], atol=1e-12)
    schedule.add(plan)
    assert schedule.due(NOW) is schedule.due(NOW + 2 * SECOND - 1) is first
    assert schedule.due(NOW + 2 * SECOND) is schedule.due(NOW + 3 * SECOND) is plan
    assert schedule.due(NOW + 3 * SECOND + 1) is None, "the first one does not come back"
    schedule.drop_finished(NOW + 2 * SECOND)
    assert schedule.plans == [plan]
    schedule.drop_finished(NOW + 3 * SECOND + 1)
    assert schedule.plans == []


def test_a_plan_is_done_when_it_is_not_due_any_more(model: Model) -> None:
    """Whoever asks for its end, or whether it is due, hears the same."""
    start = Sample(*np.zeros((3, 2)))
    for seconds in (0.3, 1 / 3, 0.7, 1.1, 2 / 7):
        schedule = Timetable()
        plan = planned(trajectory(JOINTS, [0.0, seconds], [[0, 0], [0.1, 0]]), model, start)
        schedule.add(plan)
        for now in range(plan.end - 3, plan.end + 4):
            verdict = plan.judged(now, plan.at(now), *start[:2])
            assert (verdict is None) is (schedule.due(now) is plan)
            moving = plan.at(now).accelerations.any()
            assert bool(moving) is (schedule.due(now) is plan)


def test_a_trajectory_replaces_those_that_would_come_after_it(model: Model) -> None:
    schedule, start, plans = Timetable(), Sample(*np.zeros((3, 2))), []
    for second in (1005, 1003):
        message = trajectory(JOINTS, [0.0, 9.0], [[0, 0]] * 2, stamp=at_second(second))
        plans.append(planned(message, model, start))
        schedule.add(plans[-1])
    assert [plan.begin // SECOND for plan in schedule.plans] == [1003]
    assert [plan.withdrawn for plan in plans] == [True, False]
    assert [plan.observer.told for plan in plans] == [
        ["another trajectory has taken its place"],
        [],
    ]


def test_the_number_of_waiting_trajectories_is_limited(model: Model) -> None:
    schedule, start = Timetable(), Sample(*np.zeros((3, 2)))

    def wait_until(last: int) -> None:
        for second in range(1001, last):
            message = trajectory(JOINTS, [0.0, 9.0], [[0, 0]] * 2, stamp=at_second(second))
            schedule.add(planned(message, model, start))

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
