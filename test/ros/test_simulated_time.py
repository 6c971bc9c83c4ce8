"""Simulated time: torques fall due when the clock says so, also when it jumps."""

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from robot_graph import LATCHED, TWO_LINK, Graph, arm_of, joint_state, limited_arm, trajectory
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_interfaces.msg import CommandState

JOINTS = ["joint1", "joint2"]


class SimulatedTime:
    """The clock of a simulation."""

    def __init__(self, graph: Graph) -> None:
        self._publisher = graph.client.speak(Clock, "/clock")
        self.milliseconds = 0

    def set(self, seconds: float) -> None:
        self.milliseconds = round(1000 * seconds)
        self.publish()

    def publish(self) -> None:
        self._publisher.publish(Clock(clock=self.now()))

    def advance(self) -> None:
        self.milliseconds += 10
        self.publish()

    def now(self) -> Time:
        seconds, rest = divmod(self.milliseconds, 1000)
        return Time(sec=seconds, nanosec=rest * 1_000_000)


def positions_at(torques: list[JointState]) -> dict[int, float]:
    """Position of joint1 by millisecond."""
    return {
        t.header.stamp.sec * 1000 + t.header.stamp.nanosec // 1_000_000: t.position[0]
        for t in torques
    }


def test_a_trajectory_before_time_has_begun_is_refused(graph: Graph) -> None:
    node, client = graph.start(TWO_LINK, use_sim_time=True), graph.client
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    commands.publish(trajectory(JOINTS, [0.0, 1.0], [[0.0, 0.0]] * 2))
    client.until(lambda: client.fault_count("joint_trajectory") == 1, "the fault")
    assert "nothing came on /clock" in node.log


def test_torques_follow_the_simulated_clock_until_it_jumps(graph: Graph) -> None:
    graph.start(TWO_LINK, use_sim_time=True, rate=100.0)
    client = graph.client
    clock = SimulatedTime(graph)
    torques = client.hear(JointState, "/kane_dynamics/torques")
    answers = client.hear(JointTrajectory, "/kane_dynamics/torque_trajectory")
    commands = client.speak(JointTrajectory, "/joint_trajectory")
    clock.set(104.0)
    ends = np.array([[0.0, 0.0], [1.0, 0.0]])
    steady = np.array([[0.1, 0.0]] * 2)
    message = trajectory(JOINTS, [0.0, 10.0], ends, steady, np.zeros((2, 2)), Time(sec=105))

    def send() -> None:
        clock.publish()
        if not answers:
            commands.publish(message)

    client.until(lambda: answers, "the answer", send, 0.2)
    client.until(lambda: clock.milliseconds > 104_500, "time to pass", clock.advance, 0.0)
    client.spin_for(0.3)
    assert not torques, "its time has not come, and time stands still"

    client.until(lambda: torques, "torques", clock.advance)
    client.until(lambda: len(torques) > 10, "more torques", clock.advance)
    assert min(positions_at(torques)) >= 105_000

    begins = {0: 105}  # of trajectories, by the number of torques before theirs
    for jump, words in ((112.0, "ahead"), (106.0, "back")):  # both within the trajectory
        clock.set(jump)
        client.spin_for(0.3)
        seen = len(torques)
        end = clock.milliseconds + 300
        client.until(lambda end=end: clock.milliseconds > end, "time to pass", clock.advance)
        client.spin_for(0.2)
        assert len(torques) == seen, f"what was planned before a jump {words} is forgotten"
        answers.clear()
        begins[seen] = int(jump)
        message.header.stamp = Time(sec=int(jump))
        client.until(lambda: answers, "the answer to another trajectory", send, 0.2)
        client.until(lambda n=seen: len(torques) > n + 3, "its torques", clock.advance)

    arm = arm_of(TWO_LINK)
    for k, each in enumerate(torques):
        begin = next(begin for first, begin in reversed(begins.items()) if k >= first)
        where = 0.1 * (each.header.stamp.sec - begin + 1e-9 * each.header.stamp.nanosec)
        np.testing.assert_allclose(each.position, [where, 0.0], atol=1e-9)
        expected = arm.inverse_dynamics(each.position, each.velocity, [0.0, 0.0])
        np.testing.assert_allclose(each.effort, expected, atol=1e-6)


def test_a_clock_that_jumps_back_trips_effort_commands(graph: Graph) -> None:
    graph.start(limited_arm(), use_sim_time=True, ramp_time=0.0, state_timeout=0.5)
    client = graph.client
    clock = SimulatedTime(graph)
    states = client.speak(JointState, "/joint_states")
    heard = client.hear(Float64MultiArray, "/kane_dynamics/effort_commands")
    gravity = client.hear(JointState, "/kane_dynamics/gravity_torques")
    clock.set(100.0)

    def run() -> None:
        clock.advance()
        states.publish(joint_state(JOINTS, [0.3, 0.4], stamp=clock.now()))

    client.until(lambda: gravity, "torques", run)
    response = client.enable(meanwhile=run)
    assert response.success, response.message
    client.until(lambda: heard, "commands", run)
    client.spin_for(1.0)  # time stands still: neither commands nor doubts
    assert client.diagnosis("effort commands").message == "commanded"
    clock.set(50.0)
    client.until(lambda: client.diagnosis("effort commands").level == b"\x02", "the error")
    assert "the clock jumped back" in client.diagnosis("effort commands").message


@pytest.mark.parametrize("begin", [100.0, 1.7e9], ids=["from zero", "since the epoch"])
def test_joint_states_without_stamps_are_as_old_as_the_clock_has_gone_on(
    graph: Graph, begin: float
) -> None:
    graph.start(limited_arm(), use_sim_time=True, ramp_time=0.0, state_timeout=0.5)
    client = graph.client
    clock = SimulatedTime(graph)
    states = client.speak(JointState, "/joint_states")
    told = client.hear(CommandState, "/kane_dynamics/command_state", LATCHED)
    heard = client.hear(Float64MultiArray, "/kane_dynamics/effort_commands")
    gravity = client.hear(JointState, "/kane_dynamics/gravity_torques")
    clock.set(begin)

    def run() -> None:
        clock.advance()
        states.publish(joint_state(JOINTS, [0.3, 0.4]))

    client.until(lambda: gravity, "torques", run)
    response = client.enable(meanwhile=run)
    assert response.success, response.message
    client.until(lambda: len(heard) > 10, "commands", run)
    client.spin_for(1.0)
    assert told[-1].state == "floating", "time stands still, and no state is too old"
    client.until(lambda: told[-1].commanding == "nothing", "the last command", clock.advance)
    assert "s old, the limit is 0.5 s" in told[-1].reason
