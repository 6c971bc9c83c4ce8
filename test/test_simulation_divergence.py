"""Motions computed with steps that are too long: which end early, and which are only inaccurate."""

import time

import numpy as np
import pytest
from oracle import BUNDLED
from test_simulation_faults import is_good

import kane_dynamics as kd

PENDULUM = BUNDLED / "two_link_arm.urdf"
START = np.array([0.3, -1.1]), np.array([0.5, 1.5])


@pytest.fixture(scope="module", params=["c", "numpy"])
def arm(request: pytest.FixtureRequest) -> kd.Dynamics:
    return kd.load(PENDULUM, backend=request.param)


@pytest.fixture(scope="module")
def fast() -> kd.Dynamics:
    return kd.load(PENDULUM)


def swing(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A controller with a reference that jumps, at which long steps get the work all wrong."""
    side = 1.0 if int(t / 0.4) % 2 else -1.0
    return 300.0 * (side * np.array([0.8, -0.5]) - q) - 5.2 * u


class Calls:
    """Swings, counts the calls, and keeps how far time has gone back from one to a later one."""

    def __init__(self) -> None:
        self.latest, self.furthest_back, self.count = 0.0, 0.0, 0

    def __call__(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        self.furthest_back = max(self.furthest_back, self.latest - t)
        self.latest = max(self.latest, t)
        self.count += 1
        return swing(t, q, u)


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_a_motion_that_diverges_ends_at_its_last_good_state(arm: kd.Dynamics, method: str) -> None:
    # a controller that is well behaved at first, then too stiff for the step
    def stiffening(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -(1e2 if t < 0.0505 else 3e6) * q

    motion = arm.simulate(1.0, *START, stiffening, method=method)
    assert is_good(motion)
    assert not motion.completed
    assert 0.05 <= motion.t[-1] < 0.056
    assert np.abs(motion.u).max() < 1e4
    assert f"the motion diverged after t = {motion.t[-1]:g} s" in motion.message
    assert "a step shorter than 0.001 s may help" in motion.message


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_motion_without_end_is_given_up_by_adaptive_methods(
    fast: kd.Dynamics, method: str
) -> None:
    # the speed doubles ever faster and is infinite before one second has passed
    motion = fast.simulate(5.0, *START, lambda t, q, u: 20.0 * u**3, method=method)
    assert is_good(motion)
    assert not motion.completed
    assert "diverged" in motion.message


@pytest.mark.parametrize("step", [0.5, 1.0])
@pytest.mark.parametrize("output_step", [None, 0.07])
def test_a_motion_that_gains_energy_from_nowhere_is_not_complete(
    arm: kd.Dynamics, step: float, output_step: float | None
) -> None:
    motion = arm.simulate(1.0, [0.3, 0.4], [1.0, 0.0], step=step, output_step=output_step)
    assert is_good(motion)
    assert not motion.completed
    assert np.abs(motion.u).max() < 30.0
    assert motion.message == (
        f"the motion diverged after t = {motion.t[-1]:g} s, where its energy no longer comes from "
        f"the work done; a step shorter than {step:g} s may help"
    )


def test_a_controller_too_stiff_for_the_step_does_not_stir_up_a_robot_at_rest(
    fast: kd.Dynamics,
) -> None:
    hold = kd.PDControl([0.3, 0.4], 100.0, 20.0)
    for step, completed in ((1e-3, True), (5e-3, True), (1e-2, False)):
        # nearly at rest: rounding, which would stir it up, may leave it exactly there
        motion = fast.simulate(2.0, [0.3 + 1e-15, 0.4], [0.0, 0.0], hold, step=step)
        assert motion.completed is completed
        assert np.abs(motion.u).max() < 0.01


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_motion_that_is_only_inaccurate_is_complete(backend: str) -> None:
    # kd step / inertia is 2.5, near where Runge-Kutta becomes unstable: it gets the work all wrong
    wheel = kd.load(
        '<robot name="wheel"><link name="axle"/><link name="wheel"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="continuous"><parent link="axle"/><child link="wheel"/>'
        '<axis xyz="0 0 1"/></joint></robot>',
        backend=backend,
    )
    motion = wheel.simulate(1.0, [0.0], [1.0], kd.PDControl([0.0], 0.0, 250.0), step=0.01)
    assert motion.checks.relative_energy_error > 0.5
    assert motion.completed
    assert abs(motion.u[-1, 0]) < 1e-9


def test_a_motion_with_peaks_of_energy_is_complete(fast: kd.Dynamics) -> None:
    motion = fast.simulate(20.0, [0.0, 0.0], [0.0, 0.0], swing, step=0.02)
    assert motion.checks.relative_energy_error > 0.5
    assert motion.completed


def test_a_first_step_that_is_early_is_no_divergence() -> None:
    text = PENDULUM.read_text(encoding="utf-8")
    rough = text.replace("</joint>", '<dynamics damping="0.05" friction="0.8"/></joint>')
    arm = kd.load(rough)
    start, control = ([0.2, 0.2], [0.0, 0.0]), kd.PDControl([0.5, 0.7], 140.0, 5.5)
    motion = arm.simulate(1.5, *start, control, step=0.039)
    accurate = arm.simulate(1.5, *start, control, step=1e-3)
    assert motion.checks.relative_energy_error > 0.5
    assert motion.completed
    assert motion.kinetic.max() < 2.0 * accurate.kinetic.max()
    np.testing.assert_allclose(motion.q[-1], accurate.q[-1], atol=0.05)


def test_a_function_is_asked_for_no_time_more_than_a_step_back(arm: kd.Dynamics) -> None:
    calls = Calls()
    motion = arm.simulate(20.0, [0.0, 0.0], [0.0, 0.0], calls, step=0.01)
    assert motion.completed
    assert motion.checks.relative_energy_error > 0.5
    assert 0.0 < calls.furthest_back <= 0.01 * (1 + 1e-9)


def test_a_motion_in_doubt_takes_no_more_than_a_tenth_of_the_work(fast: kd.Dynamics) -> None:
    calls = Calls()
    assert fast.simulate(20.0, [0.0, 0.0], [0.0, 0.0], calls, step=0.01).completed
    assert calls.count < 1.1 * (4 + 7 / 50) * 2000  # the estimate of an error takes seven


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_motion_in_doubt_can_be_cancelled(backend: str) -> None:
    calls = Calls()

    def slow(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        time.sleep(0.001 if t > 2.0 else 0.0)
        return calls(t, q, u)

    arm, start = kd.load(PENDULUM, backend=backend), ([0.0, 0.0], [0.0, 0.0])
    motion = arm.simulate(20.0, *start, slow, step=0.01, cancel=lambda: calls.latest > 2.0)
    assert calls.latest < 3.0
    assert is_good(motion)
    assert not motion.completed
    assert motion.message == f"cancelled at t = {motion.t[-1]:g} s of 20 s"


def test_the_drift_of_a_method_is_no_divergence(fast: kd.Dynamics) -> None:
    motion = fast.simulate(200.0, *START, method="euler", output_step=0.1)
    assert motion.checks.relative_energy_error > 0.5
    assert motion.completed


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(("method", "step"), [("rk4", 1e-4), ("rk4", 1e-2), ("euler", 1e-3)])
def test_a_function_is_not_blamed_for_a_motion_that_diverges(
    arm: kd.Dynamics, method: str, step: float
) -> None:
    motion = arm.simulate(2.0, START[0], [1.0, 0.0], lambda t, q, u: u**5, method=method, step=step)
    assert is_good(motion)
    assert not motion.completed
    assert "the motion diverged after t = " in motion.message
    assert motion.checks.relative_energy_error < 0.11


def test_torques_too_large_for_numbers_are_a_divergence(arm: kd.Dynamics) -> None:
    motion = arm.simulate(1.0, *START, [1e300, 0.0])
    assert is_good(motion)
    assert len(motion) == 1
    assert "diverged" in motion.message
