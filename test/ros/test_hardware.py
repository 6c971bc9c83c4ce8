"""The robot that plays hardware: it does what a robot would do, and goes wrong as it is told."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from robot_graph import Graph, seconds_of, trajectory
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

import kane_dynamics as kd

pytest.importorskip("mujoco")

from hardware.mechanism import TICK, Mechanism
from hardware.process import Hardware
from hardware.robot import claim_the_machine
from hardware.robots import PANDA, ROBOTS, TIMES, Specimen
from hardware.settings import COMMANDS, TRAJECTORIES, Payload, Settings

ON_EVERY_ROBOT = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)


def mechanism(robot: Specimen = PANDA, **settings: Any) -> Mechanism:
    """A robot without a process, brakes off."""
    usual = {"joints": robot.joints, "initial": robot.initial, "braked": False}
    text = robot.urdf if isinstance(robot.urdf, str) else robot.urdf.read_text()
    return Mechanism(Settings(text, **{**usual, **settings}))


def started(tmp_path: Path, robot: Specimen = PANDA, **settings: Any) -> Hardware:
    options = {"initial": robot.initial, **settings}
    return Hardware(tmp_path / "hardware", robot.urdf, robot.joints, **options)


class Law:
    """Commands efforts that a law gives, at every joint state.

    It takes messages itself: the executor of a client is not as fast as hardware. And it comes
    before what else wants the machine, threads of its middleware too, as far as that is allowed.
    """

    def __init__(self, graph: Graph, law: Callable[[JointState], Any]) -> None:
        self._law = law
        self._domain = graph.domain

    def __enter__(self) -> Law:
        claim_the_machine()
        self._context = Context()
        rclpy.init(context=self._context, domain_id=self._domain, args=[])
        self._node = rclpy.create_node("law", context=self._context, enable_rosout=False)
        self._commands = self._node.create_publisher(Float64MultiArray, COMMANDS, 1)
        self._states = self._node.create_subscription(
            JointState, "/joint_states", lambda state: None, 1
        )
        while not self._commands.get_subscription_count():
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    def rule(self, seconds: float) -> None:
        """Command for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            taken = self._states.handle.take_message(JointState, False)
            if taken is None:
                time.sleep(1e-4)
                continue
            efforts = np.asarray(self._law(taken[0]), dtype=float)
            self._commands.publish(Float64MultiArray(data=efforts.tolist()))


def run(arm: Mechanism, seconds: float, law: Callable[[], Any] | None = None) -> np.ndarray:
    """Positions, tick by tick."""
    rows = []
    for _ in range(round(seconds / TICK)):
        if law is not None:
            arm.command(law())
        arm.tick()
        rows.append(arm.position)
    return np.array(rows)


# ------------------------------------------------------------------------------------- mechanics
@ON_EVERY_ROBOT
def test_accelerations_are_those_of_the_equations_of_motion(robot: Specimen) -> None:
    arm = kd.load(robot.urdf, joints=robot.joints)
    played = mechanism(robot)
    effort = arm.gravity(played.position) + 0.5
    played.command(effort)
    played.tick()
    played.tick()
    before, there = played.velocity, (played.position, played.velocity)
    played.tick()
    measured = (played.velocity - before) / TICK
    expected = arm.forward_dynamics(*there, effort)
    np.testing.assert_allclose(measured, expected, atol=0.01 * np.abs(expected).max())


def test_a_free_arm_swings_without_loss_of_energy() -> None:
    arm = mechanism(ROBOTS["stanford"])
    first = sum(arm.energy())
    swung = run(arm, 1.0)
    assert np.abs(swung - swung[0]).max() > 0.5
    assert sum(arm.energy()) == pytest.approx(first, abs=1e-4)


def test_motors_give_no_more_than_the_urdf_allows() -> None:
    arm = mechanism()
    arm.command(np.array([500.0, -500.0, 1.0, 0.0, 20.0, -20.0, np.inf]))
    assert arm.effort.tolist() == [87.0, -87.0, 1.0, 0.0, 12.0, -12.0, 12.0]


def test_viscous_friction_takes_a_torque_that_grows_with_speed() -> None:
    arm = mechanism(joints=["panda_joint1"], initial=[0.0], viscous=4.0)
    run(arm, 3.0, lambda: np.array([2.0]))
    assert arm.velocity[0] == pytest.approx(2.0 / 4.003, rel=1e-3)


def test_dry_friction_holds_until_it_breaks() -> None:
    arm = kd.load(PANDA.urdf, joints=PANDA.joints)
    played = mechanism(dry=0.5)
    gravity = arm.gravity(PANDA.points[0])
    held = run(played, 2.0, lambda: gravity + 0.4)
    assert np.abs(held - held[0]).max() < 1e-4
    broken = run(played, 0.2, lambda: gravity + 0.7)
    assert np.abs(broken[-1] - broken[0]).max() > 1e-2


def test_a_payload_weighs_what_it_weighs() -> None:
    loaded = PANDA.urdf.read_text().replace(
        "</robot>",
        """<link name="load"><inertial><mass value="1.5"/>
        <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
        <joint name="grasp" type="fixed"><parent link="panda_hand"/><child link="load"/>
        <origin xyz="0.02 0 0.1"/></joint></robot>""",
    )
    arm = kd.load(loaded, joints=PANDA.joints)
    played = mechanism(payload=Payload("panda_hand", 1.5, (0.02, 0.0, 0.1)))
    assert np.ptp(run(played, 1.0, lambda: arm.gravity(played.position)), axis=0).max() < 1e-6
    played.carry(Payload())
    assert np.ptp(run(played, 0.5, lambda: arm.gravity(played.position)), axis=0).max() > 0.1


def test_a_push_gives_the_momentum_of_its_force() -> None:
    arm = kd.load(PANDA.urdf, joints=PANDA.joints)
    played = mechanism()
    jacobian = arm.jacobian("panda_hand", PANDA.points[0])
    force = np.array([20.0, -10.0, 5.0])
    played.push("panda_hand", force, 0.004, (0.0, 0.0, 0.0))
    run(played, 0.004, lambda: arm.gravity(played.position))
    expected = 0.004 * np.linalg.solve(arm.mass_matrix(PANDA.points[0]), jacobian[:3].T @ force)
    np.testing.assert_allclose(played.velocity, expected, atol=0.02 * np.abs(expected).max())
    pushed = played.velocity
    run(played, 0.01, lambda: arm.bias(played.position, played.velocity))
    np.testing.assert_allclose(played.velocity, pushed, atol=0.01 * np.abs(pushed).max())


def test_stops_hold_where_there_are_some() -> None:
    upper = kd.load(PANDA.urdf, joints=["panda_joint1"]).limits.upper[0]
    for stops in (False, True):
        arm = mechanism(joints=["panda_joint1"], initial=[0.0], stops=stops)
        run(arm, 2.0, lambda: np.array([20.0]))
        assert (arm.position[0] > upper + 0.05) is not stops


# ------------------------------------------------------------------------------------ real time
@pytest.mark.real_time
@ON_EVERY_ROBOT
def test_exact_gravity_torques_hold_the_arm(graph: Graph, tmp_path: Path, robot: Specimen) -> None:
    arm = kd.load(robot.urdf, joints=robot.joints)
    with started(tmp_path, robot) as hardware:
        graph.client.spin_for(0.2)
        with Law(graph, lambda state: arm.gravity(np.array(state.position))) as law:
            hardware.connected()
            law.rule(1.5)
        record = hardware.record()
    assert record.braked[0]
    assert (~record.braked).sum() > 1000
    assert len(record.command_received) > 400
    assert np.all(record.command_sent <= record.command_received)
    assert record.moved().max() < 1e-6
    assert np.abs(np.diff(record.time) - 1_000_000).max() < 1_000_000


@pytest.mark.real_time
def test_computed_torques_at_every_state_follow_a_motion(graph: Graph, tmp_path: Path) -> None:
    arm, motion = kd.load(PANDA.urdf, joints=PANDA.joints), PANDA.motion
    begin = np.inf  # s; it rests until then

    def efforts(state: JointState) -> np.ndarray:
        q, u = np.array(state.position), np.array(state.velocity)
        wanted = motion.sample(seconds_of(state.header.stamp) - begin)
        udot = wanted.accelerations + 40.0 * (wanted.velocities - u)
        return arm.inverse_dynamics(q, u, udot + 400.0 * (wanted.positions - q))

    with started(tmp_path) as hardware:
        with Law(graph, efforts) as law:
            hardware.connected()
            law.rule(0.3)
            begin = time.time()
            law.rule(TIMES[-1] + 0.3)
        record = hardware.record().between(1e9 * begin, time.time_ns())
    # a busy machine holds the law up; else it is below 1e-3
    error = record.tracking_error(lambda t: motion.sample(t).positions, 1e9 * begin)
    assert error.max() < 1e-2
    assert np.abs(record.position[-1] - PANDA.points[-1]).max() < 1e-3


def test_the_last_command_is_kept_until_brakes_are_put_on(graph: Graph, tmp_path: Path) -> None:
    commands: list[list[float]] = [[3.0, 0, 0, 0, 0, 0, 0], [np.nan] * 7, [1.0, 2.0]]
    with started(tmp_path) as hardware:
        publisher = graph.client.speak(Float64MultiArray, COMMANDS)
        states = graph.client.hear(JointState, "/joint_states")
        hardware.connected()
        publisher.publish(Float64MultiArray(data=commands[0]))
        graph.client.until(lambda: states and any(states[-1].velocity), "it to move")
        for efforts in commands[1:]:
            publisher.publish(Float64MultiArray(data=efforts))
        graph.client.spin_for(0.2)
        hardware.brake()
        graph.client.spin_for(0.1)
        publisher.publish(Float64MultiArray(data=commands[0]))
        graph.client.spin_for(0.1)
        record = hardware.end()
    moving = ~record.braked
    assert np.all(record.effort[moving] == commands[0])
    assert record.fastest().max() > 0.1
    assert record.braked[-100:].all()
    assert not record.velocity[-100:].any()
    assert len(record.command_effort) == 3
    assert np.isnan(record.command_effort[1]).all()
    assert record.malformed == 1


# ---------------------------------------------------------------------------------------- faults
@pytest.mark.real_time
def test_states_go_wrong_as_they_are_told(graph: Graph, tmp_path: Path) -> None:
    client = graph.client
    with started(tmp_path, rate=100.0) as hardware:
        states = client.hear(JointState, "/joint_states")

        def heard(seconds: float = 0.3) -> list[JointState]:
            """What comes from now on, without what was under way."""
            client.spin_for(0.05)
            states.clear()
            client.spin_for(seconds)
            return list(states)

        def stamps(messages: list[JointState]) -> np.ndarray:
            return np.array([seconds_of(message.header.stamp) for message in messages])

        client.until(lambda: states, "joint states")
        sound = heard()
        assert sound[0].name == list(PANDA.joints)
        assert list(sound[0].position) == PANDA.initial
        assert np.median(np.diff(stamps(sound))) == pytest.approx(0.01, abs=1e-6)
        assert time.time() - stamps(sound)[-1] < 0.1

        hardware.disturb(stopped=True)
        assert not heard()
        hardware.disturb(not_a_number=["panda_joint3"], seconds=0.2)
        assert any(np.isnan(message.position[2]) for message in heard(0.1))
        assert not np.isnan(heard(0.3)[-1].position).any()
        states.clear()
        hardware.disturb(offset={"panda_joint1": 0.5}, messages=1)
        client.spin_for(0.2)
        assert [message.position[0] for message in states].count(0.5) == 1
        hardware.disturb(delay=0.1)
        delayed = heard()
        assert 0.08 < time.time() - stamps(delayed)[-1] < 0.2
        hardware.disturb(repeats=2)
        assert np.sum(np.diff(stamps(heard())) == 0.0) > 30
        hardware.disturb(reordered=True)
        assert np.sum(np.diff(stamps(heard())) < 0.0) > 10
        hardware.disturb(unstamped=True)
        assert not stamps(heard()).any()
        hardware.disturb(ahead=2.0)
        assert 1.9 < stamps(heard())[-1] - time.time() < 2.0
        hardware.disturb()
        assert np.all(np.diff(stamps(heard())) > 0.0)
        with pytest.raises(ValueError, match="no joint 'elbow'"):
            hardware.disturb(offset={"elbow": 1.0})


# ------------------------------------------------------------------------- trajectory controller
def test_an_idle_trajectory_controller_lets_the_arm_sag_until_efforts_hold_it(
    graph: Graph, tmp_path: Path
) -> None:
    arm = kd.load(PANDA.urdf, joints=PANDA.joints)
    with started(tmp_path, controller="trajectory", braked=False) as hardware:
        publisher = graph.client.speak(JointTrajectory, TRAJECTORIES)
        hardware.connected()
        graph.client.spin_for(1.0)
        sagged = hardware.record().moved().max()
        hold = trajectory(PANDA.joints, [0.5], PANDA.points[:1])
        hold.points[0].effort = arm.gravity(PANDA.points[0]).tolist()
        publisher.publish(hold)
        graph.client.spin_for(2.5)
        record = hardware.end()
    assert sagged > 0.1
    assert np.abs(record.position[-1] - PANDA.points[0]).max() < 0.01


def test_a_trajectory_controller_follows_with_the_efforts_of_the_motion(
    graph: Graph, tmp_path: Path
) -> None:
    arm, motion = kd.load(PANDA.urdf, joints=PANDA.joints), PANDA.motion
    times = np.linspace(0.0, TIMES[-1], 101)
    wanted = motion.sample(times)
    efforts = arm.inverse_dynamics(*wanted)
    after = [*times, times[-1] + 0.01]
    message = trajectory(PANDA.joints, after, *(np.vstack((x, x[-1:])) for x in wanted))
    message.points[-1].accelerations = [0.0] * 7
    for point, effort in zip(message.points, [*efforts, arm.gravity(PANDA.points[-1])]):
        point.effort = effort.tolist()
    with started(tmp_path, controller="trajectory") as hardware:
        publisher = graph.client.speak(JointTrajectory, TRAJECTORIES)
        hardware.connected()
        publisher.publish(message)
        graph.client.spin_for(TIMES[-1] + 1.5)
        record = hardware.end()
    begin = record.time[record.braked][-1]
    followed = record.between(begin, begin + 1e9 * (TIMES[-1] + 1.0))
    assert followed.tracking_error(lambda t: motion.sample(t).positions, begin).max() < 2e-3


def test_a_trajectory_controller_refuses_what_the_real_one_refuses(
    graph: Graph, tmp_path: Path
) -> None:
    refused = {
        "the velocity of the last point is not zero": trajectory(
            PANDA.joints, [1.0], PANDA.points[:1], np.ones((1, 7))
        ),
        "does not name the joints of the controller": trajectory(
            PANDA.joints[:3], [1.0], PANDA.points[:1, :3]
        ),
    }
    with started(tmp_path, controller="trajectory") as hardware:
        publisher = graph.client.speak(JointTrajectory, TRAJECTORIES)
        hardware.connected()
        for sentence, message in refused.items():
            publisher.publish(message)
            graph.client.until(lambda words=sentence: words in hardware.log, sentence)
        record = hardware.end()
    assert record.braked.all()
