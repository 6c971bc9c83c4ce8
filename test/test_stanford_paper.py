"""The Stanford Arm does what Kane and Levinson (1983) compute and report for it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import stanford_oracle as oracle
import stanford_paper as paper
from oracle import BUNDLED, random_states
from scipy.integrate import solve_ivp
from stanford_oracle import EFFORT_SIGNS
from stanford_paper import GAINS, GOAL, MISPRINTS, START, Misprint

import kane_dynamics as kd
from kane_dynamics.arrays import Array

DURATION = 10.0
STEP = 0.01
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def arm() -> kd.Dynamics:
    return kd.load(BUNDLED / "stanford_arm.urdf")


def states_away_from_the_vertical(arm: kd.Dynamics, count: int) -> tuple[Array, Array, Array]:
    """Coordinates, their rates, and torques; the paper's speeds cannot be used at sin q2 = 0."""
    states = random_states(arm, 2 * count)
    usable = np.flatnonzero(np.abs(np.sin(states.q[:, 1])) > 0.1)[:count]
    return states.q[usable], states.u[usable], states.udot[usable]


# ---------------------------------------------------------------------------------- equations


def test_nothing_is_missing_in_the_transcription() -> None:
    symbols = [symbol for symbol, _ in oracle.definitions(*oracle.APPENDICES)]
    assert [symbol for symbol in symbols if symbol[0] == "Z"] == [f"Z{k}" for k in range(1, 197)]
    assert [symbol for symbol in symbols if symbol[0] == "W"] == [f"W{k}" for k in range(1, 32)]
    upper = [f"X{r}{s}" for r in range(1, 7) for s in range(r, 7)]
    assert [symbol for symbol in symbols if symbol[0] == "X"] == upper


def test_the_speeds_of_the_paper_are_there_and_back(arm: kd.Dynamics) -> None:
    q, qdot, qddot = states_away_from_the_vertical(arm, 100)
    np.testing.assert_allclose(oracle.rates(q, oracle.speeds(q, qdot)), qdot, rtol=0, atol=1e-12)
    h = 1e-5
    after, before = (
        oracle.speeds(q + t * qdot + t**2 / 2 * qddot, qdot + t * qddot) for t in (h, -h)
    )
    slope = (after - before) / (2 * h)
    np.testing.assert_allclose(slope, oracle.speed_derivatives(q, qdot, qddot), atol=1e-7)


def test_the_accelerations_of_the_paper_are_ours(arm: kd.Dynamics) -> None:
    """Equations 118 to 123."""
    q, qdot, tau = states_away_from_the_vertical(arm, 1000)
    assert len(q) == 1000
    ours = arm.forward_dynamics(q, qdot, EFFORT_SIGNS * tau)
    np.testing.assert_allclose(
        oracle.accelerations(q, oracle.speeds(q, qdot), tau),
        oracle.speed_derivatives(q, qdot, ours),
        rtol=1e-10,
        atol=1e-10,
    )


def test_the_momentum_of_the_paper_is_ours(arm: kd.Dynamics) -> None:
    """W31 of appendix 4: A* is the world's origin, and n2 is z."""
    q, qdot, _ = states_away_from_the_vertical(arm, 1000)
    theirs = oracle.momentum(q, oracle.speeds(q, qdot))
    np.testing.assert_allclose(theirs, arm.momentum(q, qdot).angular[:, 2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("misprint", MISPRINTS, ids=lambda each: f"{each.symbol}:{each.printed}")
def test_what_was_corrected_is_wrong_as_printed(arm: kd.Dynamics, misprint: Misprint) -> None:
    q, qdot, tau = states_away_from_the_vertical(arm, 100)
    u = oracle.speeds(q, qdot)
    ours = oracle.speed_derivatives(q, qdot, arm.forward_dynamics(q, qdot, EFFORT_SIGNS * tau))
    assert np.abs(oracle.accelerations(q, u, tau, misprint) - ours).max() > 1e-3


# ---------------------------------------------------------------------------------- figure 1


def manoeuvre(t: Array) -> tuple[Array, Array, Array]:
    """Equation 127 and its derivatives.

    The final configuration is lost in the scan; it is taken to be that of figure 3.
    """
    phase = 2 * np.pi * t[:, None] / DURATION
    speed = (GOAL - START) / DURATION
    q = START + speed * (t[:, None] - DURATION / (2 * np.pi) * np.sin(phase))
    return q, speed * (1 - np.cos(phase)), speed * 2 * np.pi / DURATION * np.sin(phase)


@pytest.fixture(scope="module")
def figure_1(arm: kd.Dynamics) -> Array:
    return EFFORT_SIGNS * arm.inverse_dynamics(*manoeuvre(np.linspace(0.0, DURATION, 1001)))


def test_the_torques_of_the_manoeuvre_are_those_of_the_paper(figure_1: Array) -> None:
    q, qdot, qddot = manoeuvre(np.linspace(0.0, DURATION, 1001))
    u, udot = oracle.speeds(q, qdot), oracle.speed_derivatives(q, qdot, qddot)
    np.testing.assert_allclose(figure_1, oracle.torques(q, u, udot), rtol=0, atol=1e-10)


def test_the_manoeuvre_begins_and_ends_with_the_torques_that_hold_the_arm(figure_1: Array) -> None:
    g = 9.81
    tip = 0.6 * 0.06 + 0.5 * 0.2
    start = [0.0, g * (0.7 + 1.1 * 0.6 + tip), 0.0, g * tip, 0.0, 0.0]
    np.testing.assert_allclose(figure_1[0], start, rtol=0, atol=1e-12)
    s, c = np.sqrt(3) / 2, 0.5
    tau2 = (5 * 0.1 + 0.7) * s + 1.1 * (0.1 + 0.6) * s + tip * (c * s + c * s * c)
    end = [0.0, g * tau2, -g * tip * s**3, g * tip * (c * s + s * c * c), 0.0, -g * 6.1 * c]
    np.testing.assert_allclose(figure_1[-1], end, rtol=0, atol=1e-12)


def test_the_base_is_first_driven_and_then_braked(figure_1: Array) -> None:
    tau1 = figure_1[1:-1, 0]
    ((reversal,),) = np.nonzero(np.diff(np.sign(tau1)))
    assert (tau1[:reversal] > 0).all()
    assert abs(reversal - 500) < 20
    assert tau1.max() == pytest.approx(-tau1.min(), rel=0.05)


# ---------------------------------------------------------------------------------- figure 3


def controlled(arm: kd.Dynamics, free_base: bool = False) -> kd.Motion:
    """Equations 128 to 133 as PD control with gravity compensation, from rest."""
    kp, damping = GAINS[0::2].copy(), GAINS[1::2].copy()
    if free_base:
        kp[0] = damping[0] = 0.0
    return arm.simulate(
        DURATION,
        START,
        np.zeros(6),
        kd.PDControl(GOAL, kp, damping),
        method="dop853",
        tolerance=1e-10,
        output_step=STEP,
    )


@pytest.fixture(scope="module")
def figure_3(arm: kd.Dynamics) -> kd.Motion:
    return controlled(arm)


def test_the_arm_reaches_the_commanded_configuration(figure_3: kd.Motion) -> None:
    assert figure_3.completed
    assert figure_3.t[-1] == DURATION
    np.testing.assert_allclose(figure_3.q[-1], GOAL, rtol=0.02)
    assert np.abs(figure_3.u[-1]).max() < 0.02


def test_the_equations_of_the_paper_lead_to_the_same_motion(figure_3: kd.Motion) -> None:
    """Equations 8 to 11 and 118 to 123, integrated by themselves."""

    def derivative(t: float, state: Array) -> Array:
        q, u = state[:6], state[6:]
        qdot = oracle.rates(q, u)
        return np.concatenate([qdot, oracle.accelerations(q, u, oracle.feedback(q, qdot))])

    start = np.concatenate([START, np.zeros(6)])
    theirs = solve_ivp(
        derivative, (0.0, DURATION), start, "LSODA", figure_3.t, rtol=1e-8, atol=1e-8
    )
    q, u = theirs.y[:6].T, theirs.y[6:].T
    np.testing.assert_allclose(q, figure_3.q, rtol=0, atol=1e-6)
    np.testing.assert_allclose(oracle.rates(q, u), figure_3.u, rtol=0, atol=1e-5)


def test_the_controller_is_that_of_the_paper(figure_3: kd.Motion) -> None:
    """Terms with g in equations 129 to 133 are our gravity torques."""
    expected = oracle.feedback(figure_3.q, figure_3.u)
    np.testing.assert_allclose(EFFORT_SIGNS * figure_3.tau, expected, rtol=0, atol=1e-12)


def test_the_motion_put_back_asks_for_the_torques_of_the_controller(
    arm: kd.Dynamics, figure_3: kd.Motion
) -> None:
    q, qdot, qddot = figure_3.q, figure_3.u, figure_3.udot
    expected = oracle.feedback(q, qdot)
    ours = EFFORT_SIGNS * arm.inverse_dynamics(q, qdot, qddot)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9)
    theirs = oracle.torques(q, oracle.speeds(q, qdot), oracle.speed_derivatives(q, qdot, qddot))
    np.testing.assert_allclose(theirs, expected, rtol=0, atol=1e-9)
    assert figure_3.checks.round_trip_error < 1e-9


def test_momentum_about_the_vertical_stays_zero_when_the_base_is_free(arm: kd.Dynamics) -> None:
    motion = controlled(arm, free_base=True)
    assert not motion.tau[:, 0].any()
    assert np.abs(motion.u).max() > 0.1
    assert np.abs(oracle.momentum(motion.q, oracle.speeds(motion.q, motion.u))).max() < 1e-9
    assert np.abs(arm.momentum(motion.q, motion.u).angular[:, 2]).max() < 1e-9


# ---------------------------------------------------------------------------------- operations


def test_the_transcription_has_the_multiplications_that_the_paper_counts() -> None:
    """The paper counts 394 additions: fewer than it prints, 33 of which are between constants."""
    assert oracle.written_operations() == (646, 431)


@pytest.mark.parametrize(
    ("function", "multiplications", "additions", "divisions"),
    [("inverse_dynamics", 115, 84, 0), ("forward_dynamics", 246, 179, 5)],
)
def test_ours_need_fewer_operations_than_any_of_the_paper(
    arm: kd.Dynamics, function: str, multiplications: int, additions: int, divisions: int
) -> None:
    ours = arm.operations(function)
    found = (ours.multiplications, ours.additions, ours.divisions)
    assert found == (multiplications, additions, divisions)
    for theirs in paper.OPERATIONS.values():
        assert ours.multiplications + ours.divisions < theirs[0]
        assert ours.additions < theirs[1]


# ------------------------------------------------------------------------------------- example


def example(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "examples/stanford_arm_paper.py", str(directory)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_the_example_says_at_once_that_it_cannot_draw(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = example(file)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"figures cannot be drawn into {file}: File exists\n"


def test_the_example_shows_the_counts_and_draws_the_figures(
    arm: kd.Dynamics, tmp_path: Path
) -> None:
    figures = tmp_path / "new" / "figures"
    done = example(figures)
    assert done.returncode == 0, done.stderr
    for function in ("inverse_dynamics", "forward_dynamics"):
        ours = arm.operations(function)
        counts = rf"kane_dynamics.* {ours.multiplications} +{ours.additions}\n"
        assert re.search(counts, done.stdout)
    pytest.importorskip("matplotlib")
    assert {path.name for path in figures.iterdir()} == {"figure_1.png", "figure_3.png"}
