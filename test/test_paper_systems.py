"""Other systems of the papers, from SymPy models: ball, Stanford Arm, floating chain, bicycle."""

import numpy as np
import pytest
import stanford_oracle as oracle
from oracle import BUNDLED
from paper_examples import constants, example
from scipy.linalg import expm
from scipy.special import ellipk

import kane_dynamics as kd
from kane_dynamics.arrays import Array

# ------------------------------------------------------------------------------ ball in a cylinder

BALL = example("ball_in_cylinder")


@pytest.fixture(scope="module")
def ball() -> kd.System:
    return BALL.one_speed()


def test_the_ball_rolls_by_the_printed_equation(ball: kd.System) -> None:
    """F1 = -m g sin q1 and F1* = -(m + I/r²) u̇1; its acceleration has q̇1 b3 × b1, not ωᴮ × b1."""
    k = constants(BALL)
    inertia = 0.4 * k["m"] * k["r"] ** 2
    rolling = BALL.two_speeds()
    for q1, u1 in ((1.0, 0.0), (-2.0, 0.7), (0.1, -1.5)):
        q1dot, u1dot = ball.rhs(0.0, [q1, u1])
        assert q1dot == pytest.approx(u1 / (k["R"] - k["r"]), rel=1e-12)
        rest = -k["m"] * k["g"] * np.sin(q1) - (k["m"] + inertia / k["r"] ** 2) * u1dot
        assert rest == pytest.approx(0.0, abs=1e-12)
        two = rolling.rhs(0.0, [q1, 0.3, u1, -u1 / k["r"]])
        np.testing.assert_allclose(two[[0, 2]], [q1dot, u1dot], rtol=1e-12)
        assert two[1] == pytest.approx(-u1 / k["r"], rel=1e-12)


@pytest.mark.parametrize("angle", [0.01, 1.0, 2.5])
@pytest.mark.parametrize("speeds", ["one speed", "two speeds"])
def test_the_ball_swings_with_the_period_of_a_pendulum(
    ball: kd.System, angle: float, speeds: str
) -> None:
    """7/5 (R - r) long."""
    k = constants(BALL)
    slow = np.sqrt(1.4 * (k["R"] - k["r"]) / k["g"])
    expected = 4.0 * slow * ellipk(np.sin(angle / 2.0) ** 2)
    system = ball if speeds == "one speed" else BALL.two_speeds()
    assert BALL.period(system, angle) == pytest.approx(expected, rel=1e-6)


# -------------------------------------------------------------- Stanford Arm in the paper's speeds

STANFORD = example("stanford_arm_speeds")


@pytest.fixture(scope="module")
def stanford() -> kd.System:
    return STANFORD.system()


def stanford_states(count: int) -> tuple[Array, Array]:
    random = np.random.default_rng(1)
    x, tau = random.uniform(-2.0, 2.0, (2 * count, 12)), random.uniform(-9.0, 9.0, (2 * count, 6))
    usable = np.flatnonzero(np.abs(np.sin(x[:, 1])) > 0.1)[:count]
    return x[usable], tau[usable]


def test_the_stanford_arm_accelerates_as_printed_in_the_speeds_of_the_paper(
    stanford: kd.System,
) -> None:
    """Equations 8 to 12 and 118 to 123."""
    x, tau = stanford_states(300)
    rates = stanford.rhs(np.zeros(len(x)), x, tau)
    q, u = x[:, :6], x[:, 6:]
    np.testing.assert_allclose(rates[:, :6], oracle.rates(q, u), rtol=1e-10, atol=1e-10)
    expected = oracle.accelerations(q, u, tau)
    np.testing.assert_allclose(rates[:, 6:], expected, rtol=1e-9, atol=1e-8)


def test_the_stanford_arm_accelerates_as_its_urdf_says(stanford: kd.System) -> None:
    x, tau = stanford_states(100)
    rates = stanford.rhs(np.zeros(len(x)), x, tau)
    urdf = kd.load(BUNDLED / "stanford_arm.urdf")
    q, qdot = x[:, :6], rates[:, :6]
    qddot = urdf.forward_dynamics(q, qdot, oracle.EFFORT_SIGNS * tau)
    expected = oracle.speed_derivatives(q, qdot, qddot)
    np.testing.assert_allclose(rates[:, 6:], expected, rtol=1e-9, atol=1e-8)


# --------------------------------------------------------------------------------- floating chain

CHAIN = example("floating_chain_speeds")


@pytest.fixture(scope="module")
def chain() -> kd.System:
    return CHAIN.system()


def test_the_chain_has_the_zeros_of_the_paper_and_more(chain: kd.System) -> None:
    """Equations 8 and 9; in 10, ω3 has u3 for the printed u4.

    The paper's s1 and s2 are vectors. Here u1 to u6, their measure numbers, count by themselves, so
    that speeds along and about the common axis, u3 and u6, are taken out of later ones as well.
    """
    found = chain.reduced_speeds()
    expected = np.eye(10)
    expected[8, 7] = expected[9, 6] = 1.0  # s5* = s4 + s5, s6* = s3 + s6
    expected[6, 2] = expected[7, 5] = expected[8, 5] = expected[9, 2] = 1.0
    np.testing.assert_array_equal(found.T, expected)
    assert {
        ("body4", "angular velocity", "u8"),  # (8, 4)
        ("body5", "velocity", "u7"),  # (9, 3)
        ("body5", "angular velocity", "u8"),  # (10, 4)
    } <= set(found.vanished)
    assert found.after.total < found.before.total


def test_the_chain_moves_alike_in_both_sets_of_speeds(chain: kd.System) -> None:
    found = chain.reduced_speeds()
    reduced = chain.with_speeds(found)
    q = np.array([0.1, -0.2, 0.3, 0.2, 0.4, -0.3, 0.1, 0.5, -0.4, 0.2])
    u = np.array([0.2, 0.1, -0.3, 0.4, -0.2, 0.3, 0.3, -0.6, 0.8, 0.2])
    here = chain.simulate(0.5, q, u, step=1e-3)
    there = reduced.simulate(0.5, q, found.T @ u, step=1e-3)
    assert np.abs(here.q[-1] - q).max() > 0.1
    np.testing.assert_allclose(there.q[-1], here.q[-1], atol=1e-9)
    np.testing.assert_allclose(there.u[-1], found.T @ here.u[-1], atol=1e-9)


def test_the_chain_from_sympy_is_the_chain_from_bodies_and_joints(chain: kd.System) -> None:
    tree = kd.load(example("floating_chain").chain(), base="floating", gravity=(0.0, 0.0, 0.0))
    q = np.array([0.1, -0.2, 0.3, 0.2, 0.4, -0.3, 0.1, 0.5, -0.4, 0.2])
    u = np.array([0.2, 0.1, -0.3, 0.4, -0.2, 0.3, 0.3, -0.6, 0.8, 0.2])
    pose = [*q[:3], *CHAIN.quaternion(q[3:6]), *q[6:]]
    expected = tree.forward_dynamics(pose, u, np.zeros(10))
    np.testing.assert_allclose(chain.rhs(0.0, [*q, *u])[10:], expected, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------------------- bicycle

BICYCLE = example("whipple_bicycle")

# Table 2 of Meijaard et al.: real and imaginary part of the weave, capsize, castering.
PUBLISHED = {
    1: (3.52696170990070, 0.80774027519930, -3.13423125066578, -7.11008014637442),
    2: (2.68234517512745, 1.68066296590675, -3.07158645641514, -8.67387984831735),
    3: (1.70675605663975, 2.31582447384325, -2.63366137253667, -10.35101467245920),
    4: (0.41325331521125, 3.07910818603206, -1.42944427361326, -12.15861426576447),
    5: (-0.77534188219585, 4.46486771378823, -0.32286642900409, -14.07838969279822),
    6: (-1.52644486584142, 5.87673060598709, -0.00406690076970, -16.08537123098026),
    7: (-2.13875644258362, 7.19525913329805, 0.10268170574766, -18.15788466125262),
    8: (-2.69348683581097, 8.46037971396931, 0.14327879765713, -20.27940894394569),
    9: (-3.21675402252485, 9.69377351531791, 0.15790184030917, -22.43788559040858),
    10: (-3.72016840437287, 10.90681139476287, 0.16105338653172, -24.62459635017404),
}
STANDING = (-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393)


@pytest.fixture(scope="module")
def bicycle() -> kd.System:
    return BICYCLE.system()


def test_the_eigenvalues_of_the_bicycle_are_the_published_ones(bicycle: kd.System) -> None:
    """To the digits that a computation in double precision has."""
    np.testing.assert_allclose(BICYCLE.eigenvalues(bicycle, 0), STANDING, rtol=0, atol=1e-11)
    for v, (real, imaginary, capsize, castering) in PUBLISHED.items():
        weave = real + 1j * imaginary
        expected = sorted(
            [weave, weave.conjugate(), capsize, castering], key=lambda z: (z.real, z.imag)
        )
        found = BICYCLE.eigenvalues(bicycle, v)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-12)


def test_the_bicycle_takes_less_than_half_of_the_operations_that_sympy_has(
    bicycle: kd.System,
) -> None:
    """Solved for accelerations; SymPy's are 2228 after cse, numbers folded, not yet solved."""
    assert bicycle.operations("rhs").total <= 2228 / 2


def test_the_bicycle_is_stable_where_it_is_said_to_be(bicycle: kd.System) -> None:
    """Between 4.292 and 6.024 m/s."""
    for v, stable in ((4.292, False), (4.293, True), (6.024, True), (6.025, False)):
        assert (BICYCLE.eigenvalues(bicycle, v).real.max() < 0.0) == stable


def test_a_bicycle_left_alone_steers_itself_upright_as_its_linear_equations_say(
    bicycle: kd.System,
) -> None:
    """At 5 m/s, from a little lean: all that is left out is of second order."""
    x = BICYCLE.upright(5.0)
    A = bicycle.linearize(0.0, x).of(("q2", "q3", "u2", "u3")).A
    motion = bicycle.simulate(2.0, [0.0, 0.002, 0.0, 0.0], x[4:], step=2e-3)
    assert motion.completed
    expected = [expm(A * t) @ [0.002, 0.0, 0.0, 0.0] for t in motion.t[::200]]
    found = np.hstack([motion.q[::200, 1:3], motion.u[::200, :2]])
    assert np.abs(found).max() > 0.002
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("ball_in_cylinder", ["-5.896307", "1.40426 s", "2.30715 s"]),
        ("stanford_arm_speeds", ["by (118) to (123)", "multiplications"]),
        ("floating_chain_speeds", ["u10* = u3 + u7 + u10", "angular velocity of body4 for u8*"]),
        ("whipple_bicycle", ["-0.77534188+4.46486771j", "-22.43788559"]),
    ],
)
def test_the_example_shows_its_results(
    name: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    example(name).main()
    shown = capsys.readouterr().out
    assert [line for line in lines if line not in shown] == []
