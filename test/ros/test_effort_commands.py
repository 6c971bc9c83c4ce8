"""Commands to a robot: silent until enabled; trouble ends the motion, and the arm is held."""

from collections.abc import Callable
from threading import Event, Thread

import numpy as np
import pytest
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message
from robot_graph import (
    LATCHED,
    STANFORD,
    TWO_LINK,
    Graph,
    arm_of,
    joint_state,
    later,
    limited_arm,
    trajectory,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.commands.state import State
from kane_dynamics.ros.node import DynamicsNode
from kane_dynamics.ros.robot.model import load_model
from kane_dynamics_interfaces.msg import CommandState

JOINTS = ["joint1", "joint2"]
HERE = [0.3, 0.4]
ERROR = b"\x02"


ALL_STATES = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Also states that last for a moment."""


class Robot:
    """A robot that publishes joint states while the client waits, and hears its commands."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.client = graph, graph.client
        self.states = self.client.speak(JointState, "/joint_states")
        self.commands = self.client.hear(Float64MultiArray, "/kane_dynamics/effort_commands")
        self.told = self.client.hear(CommandState, "/kane_dynamics/command_state", ALL_STATES)
        self.message: Callable[[], JointState] = lambda: self.state(HERE)

    def state(self, positions: list[float]) -> JointState:
        return joint_state(JOINTS, positions, [0.0, 0.0], later(self.client, 0.0))

    def publish(self) -> None:
        self.states.publish(self.message())

    def until(self, condition: Callable[[], object], what: str) -> object:
        return self.client.until(condition, what, meanwhile=self.publish)

    def enable(self) -> object:
        gravity = self.client.hear(JointState, "/kane_dynamics/gravity_torques")
        self.until(lambda: gravity, "the node to know the state")
        response = self.client.enable(meanwhile=self.publish)
        assert response.success, response.message
        return response

    def diagnosis(self) -> object:
        return self.client.diagnosis("effort commands")

    def assert_tripped(self, sentence: str, publishing: bool = True) -> None:
        """Wait for the error; then the arm is held, until it is enabled again."""
        wait = self.until if publishing else self.client.until
        wait(lambda: self.diagnosis().level == ERROR, "an error in the diagnostics")
        assert sentence in self.diagnosis().message, self.diagnosis().message
        self.message = lambda: self.state(HERE)
        self.until(lambda: self.told[-1].commanding == "holding", "the arm to be held")
        assert self.told[-1].state == "tripped"
        assert sentence in self.told[-1].reason
        heard = len(self.commands)
        self.until(lambda: len(self.commands) > heard + 10, "commands that hold it")
        assert self.client.enable(meanwhile=self.publish).success
        self.until(lambda: self.told[-1].state == "floating", "it to be enabled again")
        self.until(lambda: self.diagnosis().message == "commanded", "no error any more")


def test_nothing_is_commanded_until_enabled_then_gravity_torques_then_nothing(
    graph: Graph,
) -> None:
    graph.start(
        limited_arm(effort=9.0),
        ramp_time=0.0,
        state_timeout=5.0,
        command_joints=["joint2", "joint1"],
    )
    robot = Robot(graph)
    gravity = graph.client.hear(JointState, "/kane_dynamics/gravity_torques")
    robot.until(lambda: len(gravity) > 20, "gravity torques")
    assert not robot.commands
    answer = robot.enable()
    assert "the arm will sink: joint 'joint1' needs 13.1 against gravity" in answer.message
    robot.until(lambda: len(robot.commands) > 5, "commands")
    torques = arm_of(TWO_LINK).gravity(HERE)
    assert torques[0] > 9.0 > torques[1]
    for command in robot.commands:
        np.testing.assert_allclose(command.data, [torques[1], 9.0], rtol=1e-12)
    assert graph.client.enable(False).success
    robot.until(lambda: robot.told[-1].state == "closed", "the end of commands")
    graph.client.spin_for(0.1)
    heard, seen = len(robot.commands), len(gravity)
    robot.until(lambda: len(gravity) > seen + 10, "gravity torques go on")
    assert len(robot.commands) == heard


def test_commands_begin_with_the_full_gravity_torque(graph: Graph) -> None:
    graph.start(limited_arm(), state_timeout=5.0)
    robot = Robot(graph)
    robot.enable()
    robot.until(lambda: len(robot.commands) > 10, "commands")
    for command in robot.commands:
        np.testing.assert_allclose(command.data, arm_of(TWO_LINK).gravity(HERE), rtol=1e-9)


def test_trajectory_torques_are_commanded_while_one_runs(graph: Graph) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=5.0, control="feedforward")
    arm, robot = arm_of(TWO_LINK), Robot(graph)
    robot.enable()
    robot.until(lambda: robot.commands, "commands")
    given = graph.client.speak(JointTrajectory, "/joint_trajectory")
    still, there = np.zeros((2, 2)), [0.35, 0.35]
    given.publish(trajectory(JOINTS, [0.0, 0.6], [there] * 2, still, still))

    def commanded(torques: np.ndarray) -> Callable[[], bool]:
        return lambda: bool(np.allclose(robot.commands[-1].data, torques, atol=1e-9))

    robot.until(commanded(arm.gravity(there)), "the torques of the trajectory")
    robot.until(commanded(arm.gravity(HERE)), "gravity torques when it has ended")
    kinds = [tuple(np.round(command.data, 9)) for command in robot.commands]
    expected = [tuple(np.round(arm.gravity(q), 9)) for q in (HERE, there, HERE)]
    changes = [kind for kind, before in zip(kinds, [None, *kinds]) if kind != before]
    assert changes == expected, "nothing of the trajectory comes after its end"
    robot.until(lambda: robot.told[-1].state == "floating", "the state after the end")
    words = [told.state for told in robot.told]
    assert words == ["closed", "floating", "following", "floating"]


def test_a_trajectory_that_does_not_end_at_rest_is_not_commanded(graph: Graph) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=5.0)
    robot, client = Robot(graph), graph.client
    robot.enable()
    answers = client.hear(JointTrajectory, "/kane_dynamics/torque_trajectory")
    given = client.speak(JointTrajectory, "/joint_trajectory")
    ends = np.array([[0.0, 0.0], [0.3, 0.0]])
    given.publish(trajectory(JOINTS, [0.0, 1.0], [HERE, [0.5, 0.4]], ends))
    robot.until(lambda: answers, "the answer, which a controller may follow")
    robot.until(lambda: client.fault_count("joint_trajectory") == 1, "the fault")
    heard = len(robot.commands)
    robot.until(lambda: len(robot.commands) > heard + 30, "commands")
    assert robot.told[-1].state == "floating"
    log = graph.nodes[0].log
    assert "'joint1' is to move at 0.3 at the last point, at 1 s, expected a trajectory" in log
    assert "it is not commanded" in log


def test_a_robot_that_falls_silent_is_left_with_a_holding_torque(graph: Graph) -> None:
    """Nothing runs that could find out by itself: the watchdog does."""
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=0.3)
    robot, client = Robot(graph), graph.client
    robot.enable()
    robot.until(lambda: robot.commands, "commands")
    client.until(lambda: robot.told[-1].commanding == "nothing", "the last command")
    assert robot.told[-1].state == "tripped"
    client.spin_for(0.1)
    heard = len(robot.commands)
    holding = arm_of(TWO_LINK).gravity(HERE)
    np.testing.assert_allclose(robot.commands[-1].data, holding, rtol=1e-9)
    client.spin_for(0.3)
    assert len(robot.commands) == heard
    robot.assert_tripped("s old, the limit is 0.3 s", publishing=False)


@pytest.mark.parametrize(
    ("there", "state"), [([0.35, 0.35], "following"), ([0.9, 0.4], "floating")]
)
def test_enabled_under_way_only_a_trajectory_that_the_arm_follows_is_commanded(
    graph: Graph, there: list[float], state: str
) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=5.0)
    robot, client = Robot(graph), graph.client
    gravity = client.hear(JointState, "/kane_dynamics/gravity_torques")
    robot.until(lambda: gravity, "the state to be known")
    torques = client.hear(JointState, "/kane_dynamics/torques")
    given = client.speak(JointTrajectory, "/joint_trajectory")
    still = np.zeros((2, 2))
    given.publish(trajectory(JOINTS, [0.0, 600.0], [there] * 2, still, still))
    robot.until(lambda: torques and list(torques[-1].position) == there, "it to run")
    robot.enable()
    robot.until(lambda: len(robot.commands) > 10, "commands")
    assert robot.told[-1].state == state


def test_joint_states_of_other_devices_on_the_same_topic_do_not_hold_commands_back(
    graph: Graph,
) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=5.0)
    robot = Robot(graph)
    robot.enable()
    gravity = graph.client.hear(JointState, "/kane_dynamics/gravity_torques")
    robot.commands.clear()

    def burst() -> None:
        robot.publish()
        robot.states.publish(joint_state(["wheel"], [0.1]))

    graph.client.until(lambda: len(gravity) >= 100, "a hundred states served", burst)
    assert len(robot.commands) > 90


def test_an_arm_that_does_not_follow_trips(graph: Graph) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=5.0, path_tolerance=0.3)
    robot = Robot(graph)
    robot.enable()
    given = graph.client.speak(JointTrajectory, "/joint_trajectory")
    given.publish(trajectory(JOINTS, [0.0, 1.0], [HERE, [0.3, 1.4]]))
    robot.assert_tripped("joint 'joint2' is 0.3")


def test_an_error_that_nobody_has_foreseen_trips(domain: int) -> None:
    rclpy.init(domain_id=domain, args=[])
    node = DynamicsNode()
    try:
        node.serve(load_model(limited_arm(), node.parameters.values))
        node._joint_state_came(serialize_message(joint_state(JOINTS, HERE)))
        assert node.commands._enable(SetBool.Request(data=True), SetBool.Response()).success
        node.failed(KeyError("elbow"))
        commander = node.commands.commander
        assert (commander.state, commander.tripped) == (State.BRAKING, True)
        assert commander.reason == "internal error: KeyError: 'elbow'"
    finally:
        node.destroy_node()
        rclpy.shutdown()


def test_a_long_trajectory_does_not_make_joint_states_look_old(graph: Graph) -> None:
    """They wait while it is read, and only the newest of them is judged."""
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=0.15, rate=20.0)
    robot, client = Robot(graph), graph.client
    still = np.zeros((20_000, 2))
    long = serialize_message(
        trajectory(JOINTS, 0.001 * np.arange(20_000), HERE + still, still, still)
    )
    given, answers = client.speak(JointTrajectory, "/joint_trajectory"), []
    topic = "/kane_dynamics/torque_trajectory"
    client.create_subscription(JointTrajectory, topic, answers.append, 10, raw=True)
    robot.enable()
    stop = Event()

    def publish() -> None:
        while not stop.wait(0.005):
            robot.publish()

    publishing = Thread(target=publish)
    publishing.start()
    try:
        given.publish(long)
        client.until(lambda: answers, "the answer")
        client.spin_for(0.2)
    finally:
        stop.set()
        publishing.join()
    assert robot.diagnosis().message == "commanded"


@pytest.mark.parametrize(
    ("follows", "sentence"), [(False, "s old, the limit is 0.3 s"), (True, "and the robot moves")]
)
def test_joint_states_that_no_longer_come_trip(graph: Graph, follows: bool, sentence: str) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=0.3)
    robot = Robot(graph)
    robot.enable()
    robot.until(lambda: robot.commands, "commands")
    if follows:
        given = graph.client.speak(JointTrajectory, "/joint_trajectory")
        still = np.zeros((2, 2))
        given.publish(trajectory(JOINTS, [0.0, 60.0], [HERE] * 2, still, still))
        robot.until(lambda: robot.told[-1].state == "following", "the trajectory to be followed")
    graph.client.until(lambda: robot.diagnosis().level == ERROR, "the error")  # no states meanwhile
    robot.assert_tripped(sentence, publishing=False)


def test_a_joint_that_is_no_longer_named_trips(graph: Graph) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=0.3)
    robot = Robot(graph)
    robot.enable()
    robot.until(lambda: robot.commands, "commands")
    robot.message = lambda: joint_state(["joint1"], HERE[:1], stamp=later(graph.client, 0.0))
    robot.assert_tripped("joint 'joint2' is")


def test_joint_states_with_old_stamps_trip(graph: Graph) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=0.5)
    robot = Robot(graph)
    robot.enable()
    robot.until(lambda: robot.commands, "commands")
    robot.message = lambda: joint_state(JOINTS, HERE, stamp=later(graph.client, -2.0))
    robot.assert_tripped("s old, the limit is 0.5 s")


def test_a_jump_trips(graph: Graph) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=5.0)
    robot = Robot(graph)
    robot.enable()
    robot.until(lambda: robot.commands, "commands")
    robot.states.publish(robot.state([0.3, 2.4]))
    robot.message = lambda: robot.state([0.3, 2.4])
    robot.assert_tripped("the position of joint 'joint2' jumped")


@pytest.mark.parametrize("wild", [np.nan, np.inf])
def test_states_that_are_not_finite_trip(graph: Graph, wild: float) -> None:
    graph.start(limited_arm(), ramp_time=0.0, state_timeout=5.0)
    robot = Robot(graph)
    robot.enable()
    robot.until(lambda: robot.commands, "commands")
    robot.states.publish(robot.state([wild, 0.4]))
    robot.assert_tripped(f"position of joint joint1 is {wild}")


def test_a_new_description_trips(graph: Graph) -> None:
    graph.start(None, ramp_time=0.0, state_timeout=5.0, ready=False)
    descriptions = graph.client.speak(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=limited_arm()))
    graph.wait_until_serving()
    robot = Robot(graph)
    robot.enable()
    robot.until(lambda: robot.commands, "commands")
    descriptions.publish(String(data=limited_arm(effort=20.0)))
    robot.assert_tripped("the robot description was replaced")


def test_commands_are_not_enabled_in_the_dark(graph: Graph) -> None:
    graph.start(None, ready=False)
    client = graph.client
    response = client.enable()
    assert (response.success, response.message) == (
        False,
        "there is no model of the robot yet: try again later",
    )
    assert client.enable(False).success


@pytest.mark.parametrize(
    ("command_joints", "sentence"),
    [
        (["joint1", "elbow"], "command_joints: there is no joint 'elbow': the robot has"),
        (["joint1", "joint1"], "command_joints: joint 'joint1' is named twice"),
        (["joint6", "joint1"], "s old, the limit is 0.3 s"),
    ],
)
def test_enabling_says_what_is_missing(
    graph: Graph, command_joints: list[str], sentence: str
) -> None:
    graph.start(STANFORD, command_joints=command_joints, state_timeout=0.3)
    client = graph.client
    response = client.enable()
    assert not response.success
    assert "no joint state has named 'joint1', 'joint2'" in response.message
    names = arm_of(STANFORD).joint_names
    states = client.speak(JointState, "/joint_states")
    gravity = client.hear(JointState, "/kane_dynamics/gravity_torques")

    def publish() -> None:
        states.publish(joint_state(names, np.zeros(6)))

    client.until(lambda: gravity, "torques", publish)
    client.spin_for(0.5)
    response = client.enable()
    assert not response.success
    assert sentence in response.message
    assert client.diagnosis("effort commands").level == b"\x00", "it never was on"
