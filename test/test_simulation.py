"""Simulation of smooth motions: accuracy, what is conserved, and that all ways agree."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from oracle import BUNDLED, random_states, robot_path
from scipy.integrate import solve_ivp

import kane_dynamics as kd

ROOT = Path(__file__).parent.parent
UR5 = robot_path("ur5_robot")
PENDULUM = BUNDLED / "two_link_arm.urdf"
START = np.array([0.3, -1.1]), np.array([0.5, 1.5])
METHODS = ("euler", "rk4", "dop853", "radau")


@pytest.fixture(scope="module")
def ur5() -> kd.Dynamics:
    return kd.load(UR5)


GENERIC = np.array([1.0, 0.4, 0.8, -0.5, 0.7, 0.3]), np.array([0.4, 0.3, -0.5, 0.6, -0.3, 0.8])


# ------------------------------------------------------------------------------------- accuracy


def errors(method: str, steps: list[float]) -> np.ndarray:
    """Root mean square of the error of positions, for each step."""
    arm = kd.load(PENDULUM)
    every = {"output_step": 1 / 64}
    exact = arm.simulate(1.0, *START, method="dop853", tolerance=1e-13, **every).q
    motions = [arm.simulate(1.0, *START, step=step, method=method, **every) for step in steps]
    return np.array([np.sqrt(np.mean((motion.q - exact) ** 2)) for motion in motions])


def test_runge_kutta_is_of_fourth_order() -> None:
    found = errors("rk4", [1 / 256, 1 / 512, 1 / 1024, 1 / 2048])
    np.testing.assert_allclose(np.log2(found[:-1] / found[1:]), 4.0, atol=0.1)


def test_semi_implicit_euler_is_of_first_order() -> None:
    found = errors("euler", [1 / 512, 1 / 1024, 1 / 2048])
    np.testing.assert_allclose(np.log2(found[:-1] / found[1:]), 1.0, atol=0.1)


@pytest.mark.parametrize(
    ("options", "largest"),
    [({"method": "rk4", "step": 1e-3}, 2e-8), ({"method": "dop853", "tolerance": 1e-12}, 1e-9)],
)
def test_energy_of_a_free_arm_is_conserved(ur5: kd.Dynamics, options: dict, largest: float) -> None:
    motion = ur5.simulate(10.0, *GENERIC, **options)
    energy = motion.kinetic + motion.potential
    assert np.abs(energy - energy[0]).max() <= largest * np.ptp(motion.potential)
    assert motion.checks.relative_energy_error <= largest
    assert not motion.work.any()


def test_the_motion_is_the_one_that_pinocchio_gives(ur5: kd.Dynamics) -> None:
    model = pin.buildModelFromUrdf(str(UR5))
    data = model.createData()
    tau = np.array([1.0, -20.0, 5.0, 0.5, 0.1, -0.01])

    def derivative(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[6:], pin.aba(model, data, x[:6], x[6:], tau)])

    times = np.linspace(0.0, 1.0, 11)
    given = solve_ivp(
        derivative, (0.0, 1.0), np.concatenate(GENERIC), "DOP853", times, rtol=1e-12, atol=1e-12
    )
    motion = ur5.simulate(1.0, *GENERIC, tau, step=2.5e-4, output_step=0.1)
    np.testing.assert_allclose(motion.t, times, atol=1e-15)
    np.testing.assert_allclose(motion.q, given.y[:6].T, atol=1e-8)
    np.testing.assert_allclose(motion.u, given.y[6:].T, atol=1e-7)
    assert (motion.tau == tau).all()


@pytest.mark.parametrize("method", METHODS)
def test_all_methods_agree(method: str) -> None:
    arm = kd.load(PENDULUM)
    exact = arm.simulate(0.5, *START, method="dop853", tolerance=1e-13)
    motion = arm.simulate(0.5, *START, method=method, step=1e-3, tolerance=1e-9)
    np.testing.assert_allclose(motion.t, exact.t, atol=1e-15)
    largest = 2e-2 if method == "euler" else 1e-7
    np.testing.assert_allclose(motion.q, exact.q, atol=largest)
    np.testing.assert_allclose(motion.u, exact.u, atol=largest)


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_compiled_and_python_loops_give_the_same_numbers(method: str) -> None:
    motions = [
        kd.load(UR5, backend=backend).simulate(
            0.05, *GENERIC, method=method, step=1e-3, output_step=7e-4
        )
        for backend in ("c", "numpy")
    ]
    assert motions[0].t.tolist() == motions[1].t.tolist()
    for name in ("q", "u", "udot", "kinetic", "potential"):
        ours, other = (getattr(motion, name) for motion in motions)
        np.testing.assert_allclose(ours, other, rtol=1e-10, atol=1e-10)
    assert motions[0].checks.local_error == pytest.approx(motions[1].checks.local_error, rel=1e-3)


def test_compiled_and_python_loops_give_the_same_motion_of_a_second() -> None:
    motions = [
        kd.load(UR5, backend=backend).simulate(1.0, *GENERIC, output_step=0.01)
        for backend in ("c", "numpy")
    ]
    for name in ("q", "u", "udot"):
        ours, other = (getattr(motion, name) for motion in motions)
        np.testing.assert_allclose(ours, other, rtol=1e-10, atol=1e-10)


# --------------------------------------------------------------------------------------- output


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_output_does_not_depend_on_the_integration_step(method: str) -> None:
    arm = kd.load(PENDULUM)
    fine = arm.simulate(1.0, *START, method=method, step=1e-3)
    sparse = arm.simulate(1.0, *START, method=method, step=1e-3, output_step=0.0377)
    assert len(sparse) == 28
    assert sparse.t[-1] == 1.0
    np.testing.assert_allclose(sparse.t[:-1], 0.0377 * np.arange(27), atol=1e-15)
    spline = np.array([np.interp(sparse.t, fine.t, column) for column in fine.q.T]).T
    np.testing.assert_allclose(sparse.q, spline, atol=2e-5)  # a chord of 1 ms
    np.testing.assert_array_equal(sparse.q[-1], fine.q[-1])


def test_states_between_the_steps_are_as_accurate_as_those_at_their_ends() -> None:
    arm = kd.load(PENDULUM)
    exact = arm.simulate(1.0, *START, method="dop853", tolerance=1e-13, output_step=0.0123)
    ends = arm.simulate(1.0, *START, method="dop853", tolerance=1e-13, output_step=0.02)
    motion = arm.simulate(1.0, *START, step=0.02, output_step=0.0123)
    error_at_ends = np.abs(arm.simulate(1.0, *START, step=0.02).q - ends.q).max()
    assert 0.0 < np.abs(motion.q - exact.q).max() < 1.5 * error_at_ends
    assert motion.checks.round_trip_error < 1e-12


def test_the_last_step_ends_at_the_duration() -> None:
    arm = kd.load(PENDULUM)
    motion = arm.simulate(0.0105, *START, step=1e-3)
    np.testing.assert_allclose(np.diff(motion.t), [*[1e-3] * 10, 5e-4], atol=1e-15)
    assert motion.t[-1] == 0.0105


# ------------------------------------------------------------------------- floating, free, planar


def test_a_tumbling_robot_keeps_its_momentum_and_its_quaternion_unit() -> None:
    robot = kd.load(UR5, base="floating", gravity=(0.0, 0.0, 0.0))
    states = random_states(robot, 1, seed=5)
    tau = np.zeros(robot.dof)
    tau[6:9] = 0.03  # torques between links change no momentum
    motion = robot.simulate(2.0, states.q[0], states.u[0], tau, output_step=0.01)
    assert np.abs(np.linalg.norm(motion.q[:, 3:7], axis=1) - 1.0).max() < 1e-14
    errors = motion.checks.momentum_errors
    assert set(errors) == {
        f"{kind} momentum {along} {axis}"
        for kind, along in (("linear", "along"), ("angular", "about"))
        for axis in "xyz"
    }
    assert max(errors.values()) < 1e-5
    assert motion.checks.relative_energy_error < 1e-6
    fine = robot.simulate(0.5, states.q[0], states.u[0], tau, method="dop853", tolerance=1e-12)
    assert max(fine.checks.momentum_errors.values()) < 1e-9
    assert np.abs(np.linalg.norm(fine.q[:, 3:7], axis=1) - 1.0).max() < 1e-14


def test_a_thrown_robot_keeps_the_momenta_that_gravity_does_not_change() -> None:
    robot = kd.load(UR5, base="floating")
    states = random_states(robot, 1, seed=5)
    motion = robot.simulate(1.0, states.q[0], states.u[0])
    assert set(motion.checks.momentum_errors) == {
        "linear momentum along x",
        "linear momentum along y",
        "angular momentum about z",
    }
    assert max(motion.checks.momentum_errors.values()) < 1e-8


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_floating_base_moves_as_in_pinocchio(backend: str) -> None:
    model = pin.buildModelFromUrdf(str(PENDULUM), pin.JointModelFreeFlyer())
    model.inertias[1] += pin.Inertia(2.0, np.array([0.1, 0.0, 0.2]), np.diag([0.1, 0.2, 0.25]))
    data = model.createData()
    text = PENDULUM.read_text(encoding="utf-8").replace(
        '<link name="N"/>',
        '<link name="N"><inertial><origin xyz="0.1 0 0.2"/><mass value="2"/><inertia ixx="0.1" '
        'iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>',
    )
    robot = kd.load(text, base="floating", backend=backend)
    states = random_states(robot, 1, seed=6)
    q, u = states.q[0], states.u[0]
    # the joints of Pinocchio's model that turn without limit have a cosine and a sine
    expected = pin.neutral(model)
    expected[:7] = q[:7]
    expected[7::2], expected[8::2] = np.cos(q[7:]), np.sin(q[7:])
    v, step = u.copy(), 1e-4
    motion = robot.simulate(0.1, q, u, step=2e-3)
    for _ in range(1000):
        a1 = pin.aba(model, data, expected, v, np.zeros(8))
        half = pin.integrate(model, expected, v * step / 2)
        middle = pin.aba(model, data, half, v + a1 * step / 2, np.zeros(8))
        expected = pin.integrate(model, expected, (v + a1 * step / 2) * step)
        v = v + middle * step
    reached = (
        motion.q[-1, :7] * np.sign(motion.q[-1, 6] * expected[6]) ** np.r_[0, 0, 0, 1, 1, 1, 1]
    )
    np.testing.assert_allclose(reached, expected[:7], atol=1e-5)
    np.testing.assert_allclose(motion.u[-1], v, atol=1e-4)


def test_a_planar_joint_is_simulated() -> None:
    puck = kd.load(
        '<robot name="puck"><link name="table"/><link name="puck"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="slide" type="planar"><parent link="table"/><child link="puck"/>'
        '<axis xyz="0 0 1"/></joint></robot>'
    )
    motion = puck.simulate(1.0, [1.0, 2.0, 0.0], [0.5, -0.5, 3.0])
    np.testing.assert_allclose(motion.q[-1], [1.5, 1.5, 3.0], atol=1e-12)


# ------------------------------------------------------------------------------------- momentum


def test_the_momentum_of_a_free_joint_about_the_vertical_is_conserved(ur5: kd.Dynamics) -> None:
    motion = ur5.simulate(2.0, *GENERIC, method="dop853", tolerance=1e-12)
    assert motion.checks.momentum_errors["momentum of joint 'shoulder_pan_joint'"] < 1e-9
    tau = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert not ur5.simulate(0.1, *GENERIC, tau).checks.momentum_errors
    tilted = kd.load(UR5, gravity=(0.0, 1.0, -9.81))
    assert not tilted.simulate(0.1, *GENERIC).checks.momentum_errors


# --------------------------------------------------------------------------------------- checks


def test_checks_see_a_step_that_is_too_long() -> None:
    arm = kd.load(PENDULUM)
    fine, coarse = (arm.simulate(2.0, *START, step=step).checks for step in (1e-3, 5e-2))
    assert coarse.relative_energy_error > 1e3 * fine.relative_energy_error
    assert coarse.local_error > 1e3 * fine.local_error
    assert fine.round_trip_error < 1e-12


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_the_local_error_is_that_of_a_step(method: str) -> None:
    arm = kd.load(PENDULUM)
    exact = arm.simulate(0.01, *START, method="dop853", tolerance=1e-13)
    step = arm.simulate(0.01, *START, method=method, step=0.01)
    error = max(np.abs(step.q[-1] - exact.q[-1]).max(), np.abs(step.u[-1] - exact.u[-1]).max())
    assert step.checks.local_error == pytest.approx(error, rel=0.1)


def test_the_round_trip_returns_the_torques(ur5: kd.Dynamics) -> None:
    motion = ur5.simulate(1.0, *GENERIC, lambda t, q, u: -u + np.sin(t))
    torques = ur5.inverse_dynamics(motion.q, motion.u, motion.udot)
    np.testing.assert_allclose(torques, motion.tau, atol=1e-10)
    assert motion.checks.round_trip_error < 1e-10
    np.testing.assert_allclose(motion.tau, -motion.u + np.sin(motion.t)[:, None], atol=1e-14)


def test_damping_takes_the_energy_that_is_missing() -> None:
    text = UR5.read_text(encoding="utf-8")
    damped = kd.load(re.sub(r'damping="0.0"', 'damping="2.0"', text))
    q, u = np.array([0.1, -1.0, 0.5, 0.2, 0.3, 0.4]), np.ones(6)
    motion = damped.simulate(1.0, q, u)
    assert motion.work[-1] < -1.0
    assert motion.checks.relative_energy_error < 1e-9
    np.testing.assert_array_equal(motion.other_forces, 0.0)


def test_a_damped_wheel_slows_down_exponentially() -> None:
    wheel = kd.load(
        '<robot name="wheel"><link name="axle"/><link name="wheel"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="continuous"><parent link="axle"/><child link="wheel"/>'
        '<axis xyz="0 0 1"/><dynamics damping="1.5"/></joint></robot>'
    )
    motion = wheel.simulate(2.0, [0.0], [4.0])
    np.testing.assert_allclose(motion.u[:, 0], 4.0 * np.exp(-3.0 * motion.t), rtol=1e-10)
    assert motion.checks.relative_energy_error < 1e-10


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_a_machine_without_compiler_simulates_with_numpy(backend: str, tmp_path: Path) -> None:
    text = (
        "import kane_dynamics as kd\n"
        f"arm = kd.load({str(PENDULUM)!r}, backend={backend!r})\n"
        "for _ in range(2):\n    print(arm.simulate(0.01, [0.3, -1.1], [0.5, 1.5]))"
    )
    bare = {**os.environ, "PATH": str(tmp_path), "CC": "", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=bare, cwd=ROOT
    )
    assert done.stdout.splitlines() == ["<Motion of 11 states to t = 0.01 s, completed>"] * 2
    assert done.stderr.count("NumPy is used instead") == (backend == "auto")


def test_the_implicit_method_goes_on_where_some_coordinates_have_no_influence() -> None:
    arm = kd.load(robot_path("panda"))
    q, u = np.full(arm.nq, 0.1), np.zeros(arm.dof)
    options = {"output_step": 0.1, "tolerance": 1e-8}
    implicit, explicit = (
        arm.simulate(1.2, q, u, method=method, **options) for method in ("radau", "dop853")
    )
    assert implicit.completed
    assert implicit.checks.relative_energy_error < 1e-5
    np.testing.assert_allclose(implicit.q, explicit.q, atol=1e-3)


def test_the_local_error_of_a_short_event_is_not_missed() -> None:
    def pulse(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
        return [50.0, 0.0] if 0.5105 < t < 0.5305 else [0.0, 0.0]

    for backend in ("c", "numpy"):
        arm = kd.load(PENDULUM, backend=backend)
        # every step of the first motion has its error estimated, and one in 50 of the second
        short, long = (arm.simulate(end, [0.3, 0.4], [0.0, 0.0], pulse) for end in (1.0, 1.002))
        assert short.checks.local_error > 1e-3
        # where in the step it is looked at differs, and what sets in within a step is felt there
        assert 0.3 < long.checks.local_error / short.checks.local_error < 3.0


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_the_local_error_of_adaptive_steps_is_about_the_tolerance(method: str) -> None:
    arm = kd.load(PENDULUM)
    errors = [
        arm.simulate(1.0, *START, method=method, tolerance=tolerance).checks.local_error
        for tolerance in (1e-5, 1e-8)
    ]
    assert 1e-9 < errors[0] < 1e-3
    assert 1e-12 < errors[1] < 1e-6
    assert errors[1] < 0.1 * errors[0]


def test_the_energy_of_a_robot_at_rest_has_no_error() -> None:
    arm, q = kd.load(PENDULUM), np.array([0.3, 0.4])
    weightless = kd.load(PENDULUM, gravity=(0.0, 0.0, 0.0))
    for robot in (arm, weightless):
        checks = robot.simulate(2.0, q, np.zeros(2), kd.PDControl(q, 100.0, 20.0)).checks
        assert checks.relative_energy_error < 1e-6


def test_damping_takes_the_momentum_of_a_joint() -> None:
    text = UR5.read_text(encoding="utf-8").replace('damping="0.0"', 'damping="0.5"', 1)
    name = "momentum of joint 'shoulder_pan_joint'"
    assert name in kd.load(UR5).simulate(0.1, *GENERIC).checks.momentum_errors
    assert name not in kd.load(text).simulate(0.1, *GENERIC).checks.momentum_errors


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("method", METHODS)
def test_no_row_is_lost_in_steps_that_are_much_longer(method: str, backend: str) -> None:
    puck = kd.load(
        '<robot name="puck"><link name="table"/><link name="puck"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="slide" type="prismatic"><parent link="table"/><child link="puck"/>'
        '<axis xyz="1 0 0"/><limit effort="1" velocity="1"/></joint></robot>',
        backend=backend,
    )
    push = kd.TorqueHistory([0.0, 0.25], [[2.0], [0.0]])
    options = {"method": method, "output_step": 1e-2}
    motion = puck.simulate(1.0, [0.0], [0.0], push, step=1e9, **options)
    np.testing.assert_allclose(motion.t, np.linspace(0.0, 1.0, 101), atol=1e-12)
    np.testing.assert_allclose(motion.u[:, 0], np.minimum(motion.t, 0.25), atol=1e-12)
