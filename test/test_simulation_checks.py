"""Known-wrong motions must be noticed: the checks of a simulation are tested by mutation.

Every test makes a motion that is wrong in one way, and names the check that has to see it; beside
it the same motion without the mistake, of which that check must say that all is well.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from oracle import BUNDLED

import kane_dynamics as kd
from kane_dynamics.codegen import backend_numpy
from kane_dynamics.simulation.run import Run

PENDULUM = (BUNDLED / "two_link_arm.urdf").read_text()
START = np.array([2.0, 1.0]), np.array([0.0, 0.0])
BACKENDS = ["c", "numpy"]

SLIDE = """<robot name="thrown"><link name="ground"/><link name="ball"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="up" type="prismatic"><parent link="ground"/><child link="ball"/><axis xyz="0 0 1"/>
<limit lower="-100" upper="{upper!r}" effort="1" velocity="1"/></joint></robot>"""


def pulses(phase: float) -> Callable[..., list[float]]:
    """20 kHz, on for a fifth of the time: fifty periods in a step of 2.5 ms, a whole number."""

    def torque(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
        within = (t * 20e3 - phase + 0.1 + 1e-6) % 1.0
        return [5.0 if within < 0.2 else 0.0, 0.0]

    return torque


# ------------------------------------------------------------------------------- misread inputs
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("duration", [0.5, 1.5], ids=["every step", "a sample"])
@pytest.mark.parametrize("phase", [0.0, 0.25, 0.5, 0.8])
def test_an_input_that_hides_between_the_steps_is_noticed(
    phase: float, duration: float, backend: str
) -> None:
    arm = kd.load(PENDULUM, backend=backend)
    aliased = arm.simulate(duration, *START, pulses(phase), step=1e-3).checks
    mean = arm.simulate(duration, *START, [1.0, 0.0], step=1e-3).checks
    # its work is misread alike, so energy says nothing
    assert aliased.relative_energy_error < 1e-7
    assert aliased.local_error > 3e-3
    assert mean.local_error < 1e-6


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_misread_input_is_noticed_by_other_steps(backend: str) -> None:
    arm = kd.load(PENDULUM, backend=backend)
    aliased = arm.simulate(0.5, *START, pulses(0.0), step=1e-3, verify=True).checks
    mean = arm.simulate(0.5, *START, [1.0, 0.0], step=1e-3, verify=True).checks
    assert aliased.global_error > 0.5
    assert mean.global_error < 1e-6


# -------------------------------------------------------------------------------- wrong equations
def judged_by(motion: kd.Motion, arm: kd.Dynamics) -> kd.Checks:
    """The checks of a motion by the equations of another robot, which is the right one."""
    own = arm.simulate(1e-3, *START)
    kinetic, potential = arm.energy(motion.q, motion.u)
    right = {"_functions": own._functions, "_parameters": own._parameters}
    return dataclasses.replace(motion, kinetic=kinetic, potential=potential, **right).checks


@pytest.mark.parametrize("share", [1.0, 1e-3, 1e-6])
def test_dropped_inertia_is_noticed(share: float) -> None:
    """Of a load at the tip, which is there when the motion is judged."""
    load = {"mass": 0.1, "com": (0.1, 0.05, 0.0)}
    arm, lighter = (kd.load(PENDULUM, payload="P2") for _ in range(2))
    arm.set_payload("P2", **load)
    lighter.set_payload("P2", mass=(1.0 - share) * load["mass"], com=load["com"])
    wrong = judged_by(lighter.simulate(2.0, *START), arm)
    right = judged_by(arm.simulate(2.0, *START), arm)
    assert right.round_trip_error < 1e-12
    assert wrong.round_trip_error > 1e-2 * share
    assert wrong.energy_error > 10.0 * right.energy_error


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6])
def test_a_wrong_sine_is_noticed(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only single states have it, with which a motion is computed; checks have many at once."""
    arm = kd.load(PENDULUM, backend="numpy", cache=False)
    right = arm.simulate(0.5, *START).checks
    functions = [
        (lambda angle: (1.0 + share) * math.sin(angle)) if each is math.sin else each
        for each in backend_numpy._NUMBER_FUNCTIONS
    ]
    monkeypatch.setattr(backend_numpy, "_NUMBER_FUNCTIONS", tuple(functions))
    wrong = arm.simulate(0.5, *START).checks
    assert right.round_trip_error < 1e-12
    assert wrong.round_trip_error > 0.1 * share
    assert wrong.energy_error > 10.0 * right.energy_error


# ------------------------------------------------------------------------------- missed events
@pytest.mark.parametrize("misses", [False, True])
def test_a_missed_event_is_noticed_by_other_steps(
    misses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ball rises beyond its limit for 0.8 steps, between two of them."""
    if misses:
        monkeypatch.setattr(Run, "excursion", lambda self, h, k0, k1: h)
    step, g = 0.01, 9.81
    peak, beyond = 10.5 * step, 0.4 * step
    upper = g * (peak**2 - beyond**2) / 2.0
    arm = kd.load(SLIDE.format(upper=upper), backend="numpy")
    motion = arm.simulate(0.3, [0.0], [g * peak], limits="stop", step=step, verify=True)
    assert motion.completed == misses
    assert math.isinf(motion.checks.global_error) == misses


# --------------------------------------------------------------------------------------- chaos
@pytest.mark.parametrize("backend", BACKENDS)
def test_chaos_is_noticed_by_other_steps_alone(backend: str) -> None:
    arm = kd.load(PENDULUM, backend=backend, joint_friction=False)
    duration = 30.0 if backend == "c" else 20.0
    short, long = (
        arm.simulate(end, *START, step=2e-3, output_step=0.1, verify=True).checks
        for end in (1.0, duration)
    )
    assert max(long.relative_energy_error, long.local_error, long.round_trip_error) < 1e-5
    assert short.global_error < 1e-5
    assert long.global_error > 1.0


# -------------------------------------------------------------------------------------- verify
def test_without_verify_nothing_is_said_of_the_whole() -> None:
    assert kd.load(PENDULUM).simulate(0.1, *START).checks.global_error is None


@pytest.mark.parametrize("method", ["rk4", "euler", "dop853", "radau"])
def test_the_global_error_is_about_that_of_the_motion(method: str) -> None:
    arm = kd.load(PENDULUM)
    motion = arm.simulate(1.0, *START, method=method, step=4e-3, tolerance=1e-5, verify=True)
    exact = arm.simulate(1.0, *START, method="dop853", tolerance=1e-12, output_step=4e-3)
    error = max(np.abs(motion.q - exact.q).max(), np.abs(motion.u - exact.u).max())
    assert 0.3 * error < motion.checks.global_error < 2.0 * error


def test_verifying_changes_nothing_in_the_motion() -> None:
    arm = kd.load(PENDULUM)
    once, twice = (arm.simulate(0.5, *START, verify=verify) for verify in (False, True))
    for name in ("t", "q", "u", "udot", "tau", "work"):
        np.testing.assert_array_equal(getattr(once, name), getattr(twice, name))


def test_stops_are_as_stiff_the_second_time() -> None:
    """Their time constant is the step that was asked for."""
    arm = kd.load(SLIDE.format(upper=0.5))
    for step in (1e-2, 1e-3):
        motion = arm.simulate(1.0, [0.0], [4.0], limits="compliant", step=step, verify=True)
        assert motion.checks.global_error < 0.05


def test_a_verification_that_is_cancelled_leaves_the_motion() -> None:
    arm = kd.load(PENDULUM)
    asked = []

    def torque(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
        asked.append(t)
        return [0.0, 0.0]

    def cancel() -> bool:
        return len(asked) > 100 and 0.0 in asked[100:]

    motion = arm.simulate(3.0, *START, torque, cancel=cancel, verify=True, step=1e-4)
    assert motion.completed
    assert math.isnan(motion.checks.global_error)
