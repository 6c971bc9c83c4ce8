"""What drives a simulated robot: histories, functions, controllers and wrenches."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from oracle import BUNDLED, robot_path

import kane_dynamics as kd
from kane_dynamics.simulation.trajectory import Trajectory, trajectory_through

UR5 = robot_path("ur5_robot")
PENDULUM = BUNDLED / "two_link_arm.urdf"
START = np.array([0.3, -1.1]), np.array([0.5, 1.5])
Q = np.array([0.1, -1.0, 0.5, 0.2, 0.3, 0.4])
METHODS = ("rk4", "euler", "dop853", "radau")


@pytest.fixture(scope="module")
def arm() -> kd.Dynamics:
    return kd.load(PENDULUM)


@pytest.fixture(scope="module")
def ur5() -> kd.Dynamics:
    return kd.load(UR5)


WHEEL = (
    '<robot name="wheel"><link name="axle"/><link name="wheel"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="hinge" type="continuous"><parent link="axle"/><child link="wheel"/>'
    '<axis xyz="0 0 1"/></joint></robot>'
)
"""A wheel with unit inertia: its acceleration is the torque."""


# ------------------------------------------------------------------------------------ histories


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_torque_is_held_until_the_next(method: str, backend: str) -> None:
    wheel = kd.load(WHEEL, backend=backend)
    # neither times nor the end lie at the end of a step
    history = kd.TorqueHistory([0.1, 0.4567, 0.7], [[1.0], [-2.0], [0.5]])
    motion = wheel.simulate(1.003, [0.0], [0.0], history, step=0.01, method=method)
    expected = np.interp(
        motion.t, [0.0, 0.4567, 0.7, 1.003], np.cumsum([0.0, 0.4567, -0.4866, 0.1515])
    )
    np.testing.assert_allclose(motion.u[:, 0], expected, atol=1e-12)
    assert motion.completed
    assert "ends at t = 0.7 s" in motion.message
    assert "last torques act" in motion.message
    at = motion.t.searchsorted([0.045, 0.445, 0.465, 0.895])
    np.testing.assert_array_equal(motion.tau[at, 0], [1.0, 1.0, -2.0, 0.5])
    assert motion.checks.relative_energy_error < 1e-12


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_torque_changes_linearly_to_the_next(method: str) -> None:
    wheel = kd.load(WHEEL)
    history = kd.TorqueHistory([0.0, 0.333, 1.0], [[0.0], [3.0], [-1.0]], hold="linear")
    motion = wheel.simulate(1.0, [0.0], [0.0], history, step=0.01, method=method)
    expected = np.interp(motion.t, [0.0, 0.333, 1.0], [0.0, 3.0, -1.0])
    np.testing.assert_allclose(motion.tau[:, 0], expected, atol=1e-12)
    assert motion.u[-1, 0] == pytest.approx(0.333 * 1.5 + 0.667 * 1.0, abs=1e-12)
    assert motion.message == ""


def test_a_row_at_a_jump_has_the_torque_after_it() -> None:
    history = kd.TorqueHistory([0.0, 0.5], [[1.0], [-1.0]])
    for method in METHODS:
        motion = kd.load(WHEEL).simulate(1.0, [0.0], [0.0], history, step=0.1, method=method)
        np.testing.assert_array_equal(motion.tau[:, 0], [1.0] * 5 + [-1.0] * 6)
        np.testing.assert_array_equal(motion.udot, motion.tau)


def test_a_history_is_the_same_as_a_function_of_time(arm: kd.Dynamics) -> None:
    times = np.linspace(0.0, 1.0, 11)
    torques = np.stack([np.sin(5 * times), np.cos(7 * times)], axis=1)

    def linear(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
        return [np.interp(t, times, column) for column in torques.T]

    history = kd.TorqueHistory(times, torques, hold="linear")
    motions = [arm.simulate(1.0, *START, torque) for torque in (history, linear)]
    np.testing.assert_allclose(motions[0].q, motions[1].q, atol=1e-12)
    np.testing.assert_allclose(motions[0].tau, motions[1].tau, atol=1e-12)


# ------------------------------------------------------------------------------------ functions


def test_a_function_may_keep_and_change_what_it_is_given(arm: kd.Dynamics) -> None:
    kept = []

    def greedy(t: float, q: np.ndarray, u: np.ndarray) -> tuple[int, int]:
        kept.append((t, q.copy(), q))
        q += 1.0
        u *= 0.0
        return 0, 0

    motion = arm.simulate(0.1, *START, greedy)
    np.testing.assert_array_equal(motion.q, arm.simulate(0.1, *START).q)
    assert all((given == q + 1.0).all() for _, q, given in kept)


@pytest.mark.parametrize("method", METHODS)
def test_a_function_drives_every_method(arm: kd.Dynamics, method: str) -> None:
    motion = arm.simulate(0.2, *START, lambda t, q, u: arm.gravity(q) - 3.0 * u, method=method)
    np.testing.assert_allclose(
        motion.tau, arm.gravity(motion.q) - 3.0 * motion.u, rtol=1e-12, atol=1e-12
    )
    assert motion.checks.round_trip_error < 1e-11


# ---------------------------------------------------------------------------------- controllers


def reference() -> Trajectory:
    """From rest to rest, without a jump of the accelerations."""
    last = Q + np.array([0.1, 0.4, -0.2, 0.3, 0.2, -0.5])
    still, between = np.zeros(6), np.full(6, 0.3)
    speeds, accelerations = [still, between, still], [still, -between, still]
    return trajectory_through([0.1, 0.4, 0.9], [Q, Q + 0.3, last], speeds, accelerations)


Law = Callable[[kd.Dynamics, float, np.ndarray, np.ndarray], np.ndarray]
KP, KD = np.array([200.0, 300.0, 150.0, 20.0, 10.0, 2.0]), np.array([20.0, 30, 15, 2, 1, 0.2])


def pd(arm: kd.Dynamics, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    x, v, _ = reference().sample(t)
    return KP * (x - q) + KD * (v - u) + arm.gravity(q)


def computed(arm: kd.Dynamics, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    x, v, a = reference().sample(t)
    return arm.inverse_dynamics(q, u, a + 100.0 * (x - q) + 20.0 * (v - u))


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("method", ["rk4", "dop853"])
@pytest.mark.parametrize(
    ("control", "law"),
    [(kd.PDControl(reference(), KP, KD), pd), (kd.ComputedTorque(reference()), computed)],
    ids=["pd", "computed torque"],
)
def test_a_compiled_controller_is_the_same_as_a_function(
    control: kd.PDControl | kd.ComputedTorque, law: Law, method: str, backend: str
) -> None:
    text = re.sub(r'damping="0.0"', 'damping="0.7"', UR5.read_text(encoding="utf-8"))
    arm = kd.load(text, backend=backend)
    duration, step = (1.2, 1e-3) if backend == "c" else (0.2, 1e-2)
    options = {"step": step, "method": method, "tolerance": 1e-11, "output_step": 0.01}
    ours = arm.simulate(duration, Q + 0.1, np.zeros(6), control, **options)
    other = arm.simulate(
        duration, Q + 0.1, np.zeros(6), lambda t, q, u: law(arm, t, q, u), **options
    )
    largest = 1e-10 if method == "rk4" else 1e-6
    np.testing.assert_allclose(ours.q, other.q, atol=largest)
    np.testing.assert_allclose(ours.tau, other.tau, atol=1e3 * largest)


def test_computed_torque_follows_its_reference(ur5: kd.Dynamics) -> None:
    path = reference()
    motion = ur5.simulate(1.5, Q, np.zeros(6), kd.ComputedTorque(path))
    np.testing.assert_allclose(motion.q, path.sample(motion.t).positions, atol=1e-8)


def test_errors_die_out_under_computed_torque(ur5: kd.Dynamics) -> None:
    control = kd.ComputedTorque(Q, kp=100.0, kd=20.0)
    motion = ur5.simulate(1.0, Q + 0.2, np.zeros(6), control)
    expected = 0.2 * (1 + 10 * motion.t) * np.exp(-10 * motion.t)  # critically damped
    np.testing.assert_allclose(motion.q - Q, expected[:, None] * np.ones(6), atol=1e-7)


def test_pd_control_with_gravity_compensation_reaches_its_set_point(ur5: kd.Dynamics) -> None:
    control = kd.PDControl(Q, kp=[300, 300, 200, 40, 20, 5], kd=[80, 80, 40, 8, 4, 1])
    motion = ur5.simulate(4.0, Q + 0.5, np.zeros(6), control, output_step=0.1)
    np.testing.assert_allclose(motion.q[-1], Q, atol=2e-3)
    assert motion.checks.round_trip_error < 1e-10


def test_pd_control_drives_the_joints_of_a_floating_robot_but_not_its_base() -> None:
    robot = kd.load(UR5, base="floating")
    q0 = np.concatenate([[0.0, 0, 0, 0, 0, 0, 1], Q])
    for backend in ("c", "numpy"):
        robot = kd.load(UR5, base="floating", backend=backend)
        control = kd.PDControl(Q + 0.1, kp=50.0, kd=5.0)
        motion = robot.simulate(0.02, q0, np.zeros(12), control)
        assert not motion.tau[:, :6].any()
        expected = robot.gravity(motion.q)[:, 6:] + 50.0 * (Q + 0.1 - motion.q[:, 7:])
        np.testing.assert_allclose(motion.tau[:, 6:], expected - 5.0 * motion.u[:, 6:], atol=1e-9)
        assert motion.checks.round_trip_error < 1e-9


# ------------------------------------------------------------------------------------- wrenches


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_forces_at_the_centres_of_mass_are_as_good_as_gravity(method: str, backend: str) -> None:
    weightless = kd.load(PENDULUM, gravity=(0.0, 0.0, 0.0), backend=backend)
    arm = kd.load(PENDULUM, backend=backend)
    weight = np.array([0.0, 0.0, -9.81, 0.0, 0.0, 0.0])  # of the particles at the origins of B, P2
    options = {"method": method, "tolerance": 1e-10, "output_step": 0.05}
    pulled = weightless.simulate(0.5, *START, wrenches={"B": weight, "P2": weight}, **options)
    falling = arm.simulate(0.5, *START, **options)
    np.testing.assert_allclose(pulled.q, falling.q, atol=1e-8)
    assert pulled.checks.relative_energy_error < 1e-8
    np.testing.assert_allclose(pulled.other_forces, -arm.gravity(pulled.q), atol=1e-12)
    np.testing.assert_allclose(pulled.work, falling.potential[0] - falling.potential, atol=1e-7)


def test_a_push_gives_its_impulse() -> None:
    wheel = kd.load(WHEEL)
    push = kd.WrenchHistory([0.2345, 0.2501], [[0, 0, 0, 0, 0, 100.0], [0.0] * 6])
    for method in METHODS:
        options = {"step": 0.01, "method": method}
        motion = wheel.simulate(1.0, [0.0], [0.0], wrenches={"wheel": push}, **options)
        assert not motion.u[motion.t < 0.2345].any()
        assert motion.u[-1, 0] == pytest.approx(1.56, abs=1e-12)
        assert not motion.tau.any()


def test_a_wrench_can_grow_linearly() -> None:
    wheel = kd.load(WHEEL)
    ramp = kd.WrenchHistory([0.0, 1.0], [[0.0] * 6, [0, 0, 0, 0, 0, 1.0]], hold="linear")
    motion = wheel.simulate(2.0, [0.0], [0.0], wrenches={"wheel": ramp})
    assert motion.u[-1, 0] == pytest.approx(1.5, abs=1e-12)


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("begin", [0.5, 1.5, 3.0])
@pytest.mark.parametrize("kind", [kd.PDControl, kd.ComputedTorque])
def test_a_reference_that_begins_late_is_waited_for(kind: type, begin: float, backend: str) -> None:
    two = kd.load(PENDULUM, backend=backend)
    later = kd.trajectory_through([begin, begin + 1.0], [[0.3, 0.4], [0.6, 0.8]])
    motion = two.simulate(0.5, [0.3, 0.4], [0.0, 0.0], kind(later, 100.0, 20.0), step=5e-3)
    np.testing.assert_allclose(motion.q, np.tile([0.3, 0.4], (101, 1)), atol=1e-12)
    np.testing.assert_allclose(motion.tau[:-1], two.gravity(motion.q[:-1]), atol=1e-9)
