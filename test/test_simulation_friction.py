"""Dry friction in simulations: joints slide, come to rest, stick and let go."""

import re

import numpy as np
import pytest
from oracle import robot_path

import kane_dynamics as kd
from kane_dynamics.simulation.balance import Judge
from kane_dynamics.simulation.loop import FixedSteps
from kane_dynamics.simulation.problem import problem_of
from kane_dynamics.simulation.request import Request
from kane_dynamics.simulation.trajectory import trajectory_through

METHODS = ("rk4", "euler", "dop853", "radau")
SLOPE = 0.5
MASS = 2.0
WEIGHT = MASS * 9.81 * np.sin(SLOPE)
"""Of a block, along an incline."""

INERTIAL = (
    '<inertial>{origin}<mass value="{mass}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" '
    'ixz="0" iyz="0"/></inertial>'
)


def block(friction: float, backend: str = "c") -> kd.Dynamics:
    """A block on an incline; it can slide along it, up and down."""
    inertial = INERTIAL.format(origin="", mass=MASS, i=0.1)
    return kd.load(
        f'<robot name="incline"><link name="ground"/><link name="block">{inertial}</link>'
        '<joint name="slide" type="prismatic"><parent link="ground"/><child link="block"/>'
        f'<axis xyz="{np.cos(SLOPE)} 0 {np.sin(SLOPE)}"/><dynamics friction="{friction}"/>'
        '<limit lower="-100" upper="100" effort="100" velocity="100"/></joint></robot>',
        backend=backend,
    )


def ur5(friction: tuple[float, ...], damping: float = 0.0, backend: str = "c") -> kd.Dynamics:
    """The UR5 with dry friction at its joints, from the base on."""
    entries = iter(friction)
    text = re.sub(
        r'<dynamics damping="0.0" friction="0.0"/>',
        lambda _: f'<dynamics damping="{damping}" friction="{next(entries)}"/>',
        robot_path("ur5_robot").read_text(encoding="utf-8"),
    )
    return kd.load(text, backend=backend)


FRICTION = (8.0, 20.0, 10.0, 2.0, 1.0, 0.5)
START = np.array([0.6, 2.0, 1.4, -1.4, -1.0, 1.9]), np.array([-1.0, 0.6, 0.6, 0.0, -0.4, -0.4])


# --------------------------------------------------------------------------- block on an incline


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("method", METHODS)
def test_a_block_sticks_where_friction_holds_its_weight(method: str, backend: str) -> None:
    arm = block(WEIGHT + 0.01, backend)
    motion = arm.simulate(10.0, [0.3], [0.0], method=method, step=0.05)
    assert (motion.q == 0.3).all()
    assert not motion.u.any()
    assert not motion.udot.any()
    np.testing.assert_allclose(motion.other_forces, WEIGHT, rtol=1e-14)  # friction holds it


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("method", METHODS)
def test_a_block_slides_where_friction_does_not_hold_it(method: str, backend: str) -> None:
    arm = block(WEIGHT - 2.0, backend)
    motion = arm.simulate(1.0, [0.3], [0.0], method=method, step=0.01)
    largest = 0.006 if method == "euler" else 1e-12
    np.testing.assert_allclose(motion.q[:, 0], 0.3 - motion.t**2 / 2, atol=largest)
    np.testing.assert_allclose(motion.other_forces, WEIGHT - 2.0, rtol=1e-14)


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("method", METHODS)
def test_a_block_pushed_up_comes_to_rest_and_stays(method: str, backend: str) -> None:
    arm = block(WEIGHT + 1.0, backend)
    motion = arm.simulate(2.0, [0.0], [2.0], method=method, step=0.01)
    rest = 2.0 * MASS / (2.0 * WEIGHT + 1.0)
    at_rest = motion.t > rest + 0.01
    assert motion.q[-1, 0] == pytest.approx(rest, abs=0.011 if method == "euler" else 1e-9)
    assert (motion.q[at_rest] == motion.q[-1]).all()
    assert not motion.u[at_rest].any()


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_block_pushed_up_turns_and_slides_back(method: str) -> None:
    motion = block(WEIGHT - 2.0).simulate(2.0, [0.0], [2.0], method=method)
    up = WEIGHT - 1.0  # deceleration on the way up; 1 m/s² on the way down
    turn = 2.0 / up
    expected = np.where(
        motion.t < turn,
        2.0 * motion.t - up * motion.t**2 / 2,
        2.0 * turn - up * turn**2 / 2 - (motion.t - turn) ** 2 / 2,
    )
    np.testing.assert_allclose(motion.q[:, 0], expected, atol=1e-11)
    assert motion.checks.relative_energy_error < 1e-11
    assert motion.checks.round_trip_error < 1e-13


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("method", METHODS)
def test_a_block_lets_go_when_it_is_pulled_harder(method: str, backend: str) -> None:
    arm = block(WEIGHT + 3.0, backend)
    pull = kd.TorqueHistory([0.0, 1.0], [[0.0], [-10.0]], hold="linear")
    motion = arm.simulate(1.0, [0.0], [0.0], pull, method=method, step=0.01)
    free = np.maximum(motion.t - 0.3, 0.0)  # 10 N/s exceeds 3 N after 0.3 s
    largest = 0.002 if method == "euler" else 1e-9
    np.testing.assert_allclose(motion.q[:, 0], -10.0 / MASS * free**3 / 6, atol=largest)
    assert (motion.q[motion.t < 0.3] == 0.0).all()


def test_a_block_does_not_creep_under_a_torque_that_changes_its_sign() -> None:
    arm = block(WEIGHT + 5.0)
    motion = arm.simulate(5.0, [0.1], [0.0], lambda t, q, u: [4.9 * np.sin(50.0 * t)], step=0.003)
    assert (motion.q == 0.1).all()


# ---------------------------------------------------------------------------------------- arms


@pytest.mark.parametrize("method", ["rk4", "dop853", "radau"])
def test_a_pendulum_loses_the_same_angle_with_every_swing(method: str) -> None:
    inertial = INERTIAL.format(origin='<origin xyz="0 0 -1"/>', mass=1.0, i=0.0)
    arm = kd.load(
        f'<robot name="pendulum"><link name="ground"/><link name="bob">{inertial}</link>'
        '<joint name="hinge" type="continuous"><parent link="ground"/><child link="bob"/>'
        '<axis xyz="0 1 0"/><dynamics friction="0.0981"/></joint></robot>'
    )
    # A small swing is harmonic about where friction and weight balance: the next turn is
    # 2 f / (m g l) nearer.
    loss = 2 * 0.0981 / 9.81
    motion = arm.simulate(8.0, [0.07], [0.0], method=method, tolerance=1e-10)
    turns = motion.q[:-1, 0][np.diff(np.sign(motion.u[:, 0])) != 0]
    assert len(turns) >= 3
    np.testing.assert_allclose(-np.diff(np.abs(turns)), loss, rtol=5e-3)
    assert not motion.u[-1000:].any()
    assert (motion.q[-1000:] == motion.q[-1]).all()
    assert abs(motion.q[-1, 0]) < 1.001 * loss / 2


@pytest.mark.parametrize("method", ["rk4", "dop853", "radau"])
def test_an_arm_falls_comes_to_rest_and_all_methods_agree(method: str) -> None:
    arm = ur5(FRICTION, damping=0.3)
    motion = arm.simulate(4.0, *START, method=method, output_step=0.01, tolerance=1e-9)
    assert not motion.u[-1].any()
    assert (motion.q[-10:] == motion.q[-1]).all()
    assert motion.checks.relative_energy_error < 1e-7
    assert motion.checks.round_trip_error < 1e-10
    other = arm.simulate(4.0, *START, step=5e-4, output_step=0.01)
    np.testing.assert_allclose(motion.q, other.q, atol=1e-6)


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_compiled_and_python_loops_stick_alike(method: str) -> None:
    motions = [
        ur5(FRICTION, backend=backend).simulate(0.3, *START, method=method, step=5e-3)
        for backend in ("c", "numpy")
    ]
    for name in ("q", "u", "udot", "tau", "other_forces", "work"):
        ours, other = (getattr(motion, name) for motion in motions)
        np.testing.assert_allclose(ours, other, rtol=1e-9, atol=1e-9)


def test_sliding_joints_move_as_forward_dynamics_with_friction_says() -> None:
    arm = ur5(FRICTION, damping=0.3)
    motion = arm.simulate(0.2, *START, [1.0, -5.0, 2.0, 0.5, 0.1, 0.0])
    sliding = (np.abs(motion.u) > 1e-6).all(axis=1)
    assert sliding.any()
    udot = arm.forward_dynamics(motion.q[sliding], motion.u[sliding], motion.tau[sliding])
    np.testing.assert_allclose(motion.udot[sliding], udot, atol=1e-9)
    torques = arm.inverse_dynamics(motion.q[sliding], motion.u[sliding], motion.udot[sliding])
    np.testing.assert_allclose(torques, motion.tau[sliding], atol=1e-9)


def test_an_arm_at_rest_finds_which_of_its_joints_slide() -> None:
    """Friction does not push, holds what it can, and opposes what slides: there is one such way."""
    friction = np.array([1.0, 5.0, 3.0, 1.0, 0.3, 0.05])
    functions = ur5(tuple(friction), backend="c")._functions
    random, released = np.random.default_rng(0), set()
    for _ in range(300):
        q, tau = random.uniform(-3.0, 3.0, 6), random.normal(size=6) * [5, 50, 20, 3, 1, 0.1]
        problem = problem_of(functions, Request(1.0, q, np.zeros(6), tau), bounds={})
        run, at = FixedSteps(problem, None, Judge(problem)), problem.rates.layout
        k = run.settle(0.0, run.x)
        stuck, udot, hold = run.modes == 0.0, k[at.udot], k[at.gdot.stop :]
        released.add(int((~stuck).sum()))
        assert (np.abs(hold) <= friction * (1 + 1e-9)).all()
        assert not udot[stuck].any()
        assert (run.modes[~stuck] * udot[~stuck] >= 0.0).all()
    assert released >= {2, 3, 4, 5}


def test_computed_torque_compensates_friction_from_rest_on() -> None:
    arm = ur5(FRICTION)
    goal = START[0] + 0.2
    motion = arm.simulate(2.0, START[0], np.zeros(6), kd.ComputedTorque(goal))
    expected = goal - 0.2 * ((1 + 10 * motion.t) * np.exp(-10 * motion.t))[:, None]
    np.testing.assert_allclose(motion.q, expected, atol=1e-6)


def test_computed_torque_turns_joints_around_against_friction() -> None:
    times = np.linspace(0.0, 3.0, 61)
    path = trajectory_through(times, START[0] + 0.2 * np.sin(np.outer(times, [1, 2, 3, 4, 5, 6])))
    motion = ur5(FRICTION).simulate(3.0, START[0], np.zeros(6), kd.ComputedTorque(path))
    np.testing.assert_allclose(motion.q, path.sample(motion.t).positions, atol=1e-8)
    turns = (np.diff(np.sign(motion.u), axis=0) != 0).sum(axis=0)
    assert (turns >= [1, 2, 3, 4, 5, 6]).all()


def test_pd_control_leaves_the_error_that_friction_holds() -> None:
    arm = ur5(FRICTION)
    kp = np.array([100.0, 200.0, 100.0, 20.0, 10.0, 5.0])
    goal = START[0] + 0.3
    motion = arm.simulate(5.0, START[0], np.zeros(6), kd.PDControl(goal, kp, 0.2 * kp))
    assert not motion.u[-1].any()
    assert (motion.q[-100:] == motion.q[-1]).all()
    assert (np.abs(kp * (goal - motion.q[-1])) <= np.array(FRICTION) * (1 + 1e-9)).all()


def test_friction_is_felt_through_a_joint_that_mimics() -> None:
    text = (
        '<robot name="gear"><link name="ground"/>'
        f'<link name="a">{INERTIAL.format(origin="", mass=1.0, i=1.0)}</link>'
        f'<link name="b">{INERTIAL.format(origin="", mass=1.0, i=1.0)}</link>'
        '<joint name="first" type="continuous"><parent link="ground"/><child link="a"/>'
        '<axis xyz="0 0 1"/><dynamics friction="0.5"/></joint>'
        '<joint name="second" type="continuous"><parent link="ground"/><child link="b"/>'
        '<axis xyz="0 0 1"/><dynamics friction="1"/><mimic joint="first" multiplier="-2"/></joint>'
        "</robot>"
    )
    gear = kd.load(text)
    assert not gear.simulate(1.0, [0.0], [0.0], [2.49]).u.any()
    motion = gear.simulate(1.0, [0.0], [0.0], [7.5])  # inertia 1 + 4, friction 0.5 + 2
    np.testing.assert_allclose(motion.u[:, 0], motion.t, atol=1e-12)


def test_a_robot_loaded_without_friction_has_none() -> None:
    robot = block(WEIGHT + 1.0).robot
    motion = kd.load(robot, joint_friction=False).simulate(1.0, [0.0], [0.0])
    assert motion.q[-1, 0] == pytest.approx(-WEIGHT / MASS / 2)


# ------------------------------------------------------------------------------------ no chatter


def blocks_between_stops(friction: float) -> kd.Dynamics:
    inertial = INERTIAL.format(origin="", mass=MASS, i=0.1)
    joints = "".join(
        f'<link name="block{k}">{inertial}</link><joint name="slide{k}" type="prismatic">'
        f'<parent link="ground"/><child link="block{k}"/><axis xyz="1 0 0"/>'
        f'<dynamics friction="{friction}" damping="0.3"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for k in range(2)
    )
    return kd.load(f'<robot name="blocks"><link name="ground"/>{joints}</robot>')


@pytest.mark.parametrize("friction", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_blocks_pushed_against_stiff_stops_do_not_chatter(method: str, friction: float) -> None:
    arm, push = blocks_between_stops(friction), kd.PDControl([3.0, -3.0], 40.0, 5.0)
    options = {"limits": "compliant", "step": 2e-3}
    motion = arm.simulate(
        2.0, [0.0, 0.0], [0.0, 1.0], push, method=method, max_steps=3000, **options
    )
    assert motion.completed, motion.message
    assert not motion.u[-1].any()
    fixed = arm.simulate(2.0, [0.0, 0.0], [0.0, 1.0], push, **options)
    np.testing.assert_allclose(motion.q[-1], fixed.q[-1], atol=1e-7)
    assert motion.checks.relative_energy_error < 1e-7


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_block_that_can_neither_stay_nor_move_does_not_creep(backend: str) -> None:
    def contrary(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
        return [WEIGHT + (10.0 if u[0] == 0.0 else -20.0 * np.sign(u[0]))]

    motion = block(2.0, backend).simulate(0.2, [0.0], [0.0], contrary)
    assert not motion.u.any()
    assert np.abs(motion.q).max() < 1e-15
