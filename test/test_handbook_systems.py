"""The systems of Buffinton's handbook chapter, formed from SymPy models, move as it says.

Printed equations are corrected where they are wrong: 6.22 has s2 u2² for s2 u1²; 6.24 and 6.25 have
sines for cosines and other signs; 6.28 has b_t2 (u1 + u2) for b_t2 u2; 6.40 has - L_P u1 a2 for
+ L_P u1 a2; 6.58 and 6.60 lack the lever in 2 m u1 u2; 6.61 has - L_C for + L_C.
"""

import numpy as np
import pytest
import sympy
import sympy.physics.mechanics as me
from paper_examples import constants, example, numbers
from scipy.integrate import solve_ivp

import kane_dynamics as kd
from kane_dynamics.arrays import Array

RANDOM = np.random.default_rng(6)


def states(count: int, size: int) -> Array:
    return RANDOM.uniform(-2.0, 2.0, (count, size))


# ------------------------------------------------------------------------------ two-link arm, 6.3

ARM = example("two_link_arm")


def printed_two_link_arm(x: Array, udot: Array, inputs: Array) -> Array:
    """F1 + F1* and F2 + F2* by 6.21, 6.22, 6.24, 6.25, 6.27 and 6.28."""
    v = numbers("q1 q2 u1 u2", x) | numbers("TA TAB FxE FyE", inputs) | numbers("a1 a2", udot)
    k = constants(ARM)
    m, L, g = k["m"], k["L"], k["g"]
    u1, u2, a1, a2, s2, c2 = (v[name] for name in ("u1", "u2", "a1", "a2", "s2", "c2"))
    s12, c12 = np.sin(v["q1"] + v["q2"]), np.cos(v["q1"] + v["q2"])
    F1s = -m * L**2 * ((3 + 2 * c2) * a1 + (1 + c2) * a2 + s2 * (u1**2 - (u1 + u2) ** 2))
    F2s = -m * L**2 * ((1 + c2) * a1 + a2 + s2 * u1**2)
    F1 = v["TA"] - m * g * L * (2 * v["c1"] + c12)
    F2 = v["TAB"] - m * g * L * c12
    F1 += L * (-(v["s1"] + s12) * v["FxE"] + (v["c1"] + c12) * v["FyE"])
    F2 += L * (-s12 * v["FxE"] + c12 * v["FyE"])
    F1 += -k["bt1"] * u1
    F2 += -k["bt2"] * u2
    return np.stack([F1 + F1s, F2 + F2s], axis=-1)


@pytest.fixture(scope="module")
def arm() -> kd.System:
    return ARM.system()


def test_the_two_link_arm_accelerates_as_printed(arm: kd.System) -> None:
    x, inputs = states(200, 4), states(200, 4)
    rates = arm.rhs(np.zeros(200), x, inputs)
    np.testing.assert_array_equal(rates[:, :2], x[:, 2:])
    rest = printed_two_link_arm(x, rates[:, 2:], inputs)
    np.testing.assert_allclose(rest, 0.0, atol=1e-11)


def test_the_two_link_arm_has_the_partial_velocities_of_table_6_1(arm: kd.System) -> None:
    table = arm.partial_velocities()
    shown = str(table)
    for name in ("A", "B", "P1", "P2"):
        assert name in shown


def test_damping_only_takes_energy_out() -> None:
    """As printed, 6.28 has b_t2 (u1 + u2), whose power -b_t2 (u1 + u2) u2 can be positive."""
    u1, u2 = 1.0, -0.5
    assert -(u1 + u2) * u2 > 0.0
    assert -u2 * u2 < 0.0


def hand(x: Array) -> Array:
    return np.array([[*each[:2], *ARM.hand_speeds(each[:2], each[2:])] for each in x])


def test_in_operational_space_the_hand_accelerates_as_it_does_in_joint_space(
    arm: kd.System,
) -> None:
    x, inputs = states(50, 4), states(50, 4)
    x = x[np.abs(np.sin(x[:, 1])) > 0.2]
    inputs, t = inputs[: len(x)], np.zeros(len(x))
    formed = ARM.system(operational_space=True)
    v = me.dynamicsymbols("v1 v2")
    taken_over = arm.with_speeds(dict(zip(v, ARM.HAND)))
    rates, h = arm.rhs(t, x, inputs), 1e-6
    expected = (hand(x + h * rates) - hand(x - h * rates)) / (2 * h)
    ours = formed.rhs(t, hand(x), inputs)
    np.testing.assert_allclose(ours, expected, atol=2e-7)
    np.testing.assert_allclose(taken_over.rhs(t, hand(x), inputs), ours, rtol=1e-9, atol=1e-9)


def linear_as_printed(x: Array, udot: Array, inputs: Array) -> tuple[Array, Array]:
    """A and B from differences of the printed equations, solved for the accelerations."""

    def accelerations(x: Array, inputs: Array) -> Array:
        zero, one, two = (
            printed_two_link_arm(x, each, inputs) for each in ([0, 0], [1.0, 0], [0, 1.0])
        )
        return np.linalg.solve(-np.column_stack([one - zero, two - zero]), zero)

    h = 1e-5
    rows = []
    for k in range(8):
        step = h * np.eye(8)[k]
        up = accelerations(x + step[:4], inputs + step[4:])
        down = accelerations(x - step[:4], inputs - step[4:])
        rows.append((up - down) / (2 * h))
    lower = np.array(rows).T
    np.testing.assert_allclose(accelerations(x, inputs), udot, atol=1e-10)
    A = np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), lower[:, :4]])
    return A, np.vstack([np.zeros((2, 4)), lower[:, 4:]])


@pytest.mark.parametrize("moving", [False, True], ids=["at rest", "in motion"])
def test_the_arm_is_linear_about_rest_and_about_a_motion(arm: kd.System, moving: bool) -> None:
    x = np.array([-1.2, 0.4, 0.9, -1.7]) if moving else np.array([-np.pi / 2, 0.0, 0.0, 0.0])
    inputs = np.array([1.0, -2.0, 0.5, 0.3]) if moving else np.zeros(4)
    found = arm.linearize(0.0, x, inputs)
    A, B = linear_as_printed(x, arm.rhs(0.0, x, inputs)[2:], inputs)
    np.testing.assert_allclose(found.A, A, atol=1e-8)
    np.testing.assert_allclose(found.B, B, atol=1e-8)
    assert moving or found.is_stable


# --------------------------------------------------------------- revolute and prismatic joint, 6.4

SLIDER = example("revolute_prismatic_arm")


@pytest.fixture(scope="module")
def slider() -> kd.System:
    return SLIDER.system()


def test_the_arm_with_a_prismatic_joint_accelerates_as_printed(slider: kd.System) -> None:
    """By 6.53, 6.56 to 6.61, 6.63 and 6.64."""
    x, inputs = states(200, 4), states(200, 2)
    rates = slider.rhs(np.zeros(200), x, inputs)
    k = constants(SLIDER)
    _, q2, u1, u2 = x.T
    a1, a2 = rates[:, 2:].T
    LT, LA, LP, L, LC = (k[name] for name in ("LT", "LA", "LP", "L", "LC"))
    F1s, F2s = -(k["mA"] * LA**2 + k["IA"]) * a1, 0.0
    for m, inertia, lever in (
        (k["mB"], k["IB"], LP + q2 - L / 2),
        (k["mC"], k["IC"], LP + q2 + LC),
    ):
        F1s = F1s - (m * (lever**2 + LT**2) + inertia) * a1 + m * LT * a2 - 2 * m * lever * u1 * u2
        F2s = F2s + m * LT * a1 - m * a2 + m * lever * u1**2
    np.testing.assert_allclose(inputs[:, 0] + F1s, 0.0, atol=1e-11)
    np.testing.assert_allclose(inputs[:, 1] + F2s, 0.0, atol=1e-11)


def test_the_partial_velocities_are_those_of_table_6_2(slider: kd.System) -> None:
    q2 = SLIDER.q2
    L, LA, LT, LP, LC = SLIDER.L, SLIDER.LA, SLIDER.LT, SLIDER.LP, SLIDER.LC
    printed = {
        "A": ((0, 0, 1), (0, 0, 0)),
        "B": ((0, 0, 1), (0, 0, 0)),
        "C": ((0, 0, 1), (0, 0, 0)),
        "A*": ((-LA, 0, 0), (0, 0, 0)),
        "P": ((-LT, LP, 0), (0, 0, 0)),
        "P̂": ((-LT, LP, 0), (1, 0, 0)),
        "B*": ((-LT, LP + q2 - L / 2, 0), (1, 0, 0)),
        "C*": ((-LT, LP + q2 + LC, 0), (1, 0, 0)),
    }
    table = slider.partial_velocities()
    frames = {body.frame.name: body.frame for body in SLIDER.model()[1]}
    for name, columns in printed.items():
        for speed, expected in zip((SLIDER.u1, SLIDER.u2), columns):
            found = table[name][speed]
            A = next(iter(found.args))[1] if found.args else None
            parts = found.to_matrix(A) if A is not None else sympy.zeros(3, 1)
            difference = (parts - sympy.Matrix(expected)).subs(SLIDER.CONSTANTS)
            assert difference.applyfunc(sympy.simplify) == sympy.zeros(3, 1), (name, speed)
    assert frames.keys() == {"A", "B", "C"}


# -------------------------------------------------------------------------------- slot, 6.5.2

SLOT = example("slot_grasp")
K = constants(SLOT)


def direct(q: Array, u: Array, inputs: Array) -> float:
    """The acceleration of q1 from Lagrange's equation of one angle, for an elbow that is up.

    With y the angle of B from n1, sin y = h/L - sin q1; P2 and P3 move along n1 only.
    """
    m, m3, L, g = K["m"], K["m3"], K["L"], K["g"]
    a, s = sympy.symbols("a s")
    y = sympy.asin(K["h"] / L - sympy.sin(a))
    x = L * (sympy.cos(a) + sympy.cos(y))
    inertia = m * L**2 + (m + m3) * x.diff(a) ** 2
    V = m * g * L * sympy.sin(a)
    Q = inputs[0] + inputs[1] * (y - a).diff(a)
    acceleration = (Q - V.diff(a) - inertia.diff(a) / 2 * s**2) / inertia
    return float(acceleration.subs({a: q[0], s: u[0]}))


@pytest.fixture(scope="module")
def grasping() -> dict[int, kd.System]:
    return {independent: SLOT.system(independent) for independent in (1, 2, 3)}


@pytest.mark.parametrize("independent", [1, 2, 3])
def test_each_choice_of_the_independent_speed_gives_the_equation_of_one_angle(
    grasping: dict[int, kd.System], independent: int
) -> None:
    """6.75."""
    system = grasping[independent]
    order = [independent - 1, *(k for k in range(3) if k != independent - 1)]
    for angle, rate in ((-0.9, 1.0), (0.2, -2.0), (-1.3, 3.0)):
        q, u = SLOT.start(angle, rate)
        inputs = np.array([1.0, 0.5])
        rates = system.rhs(0.0, [*q, *u[order]], inputs)
        udot = rates[3:][np.argsort(order)]
        assert udot[0] == pytest.approx(direct(q, u, inputs), rel=1e-9)
        free = printed_slot(q, u, udot, inputs)
        c1, c12, s2 = np.cos(q[0]), np.cos(q[0] + q[1]), np.sin(q[1])
        alpha21, alpha31 = -(c1 + c12) / c12, K["L"] * s2 / c12  # 6.71, 6.72
        assert free[0] + alpha21 * free[1] + alpha31 * free[2] == pytest.approx(0.0, abs=1e-10)


def printed_slot(q: Array, u: Array, udot: Array, inputs: Array) -> list[float]:
    """Fr + Fr* of the three speeds, by 6.21, 6.22, 6.24, 6.25, 6.73 and 6.74."""
    m, L, g = K["m"], K["L"], K["g"]
    s2, c2, c1, c12 = np.sin(q[1]), np.cos(q[1]), np.cos(q[0]), np.cos(q[0] + q[1])
    u1, u2, _ = u
    a1, a2, a3 = udot
    F1s = -m * L**2 * ((3 + 2 * c2) * a1 + (1 + c2) * a2 + s2 * (u1**2 - (u1 + u2) ** 2))
    F2s = -m * L**2 * ((1 + c2) * a1 + a2 + s2 * u1**2)
    F1, F2 = inputs[0] - m * g * L * (2 * c1 + c12), inputs[1] - m * g * L * c12
    return [F1 + F1s, F2 + F2s, -K["m3"] * a3]


def reference_swing(q: Array, u: Array, t: Array) -> Array:
    """The motion with the constraint forces as unknowns, no speed being independent."""

    def rates(_: float, x: Array) -> Array:
        q, u = x[:3], x[3:]
        rest = np.array(printed_slot(q, u, np.zeros(3), np.zeros(2)))
        columns = [np.array(printed_slot(q, u, e, np.zeros(2))) - rest for e in np.eye(3)]
        s1, c1 = np.sin(q[0]), np.cos(q[0])
        s12, c12 = np.sin(q[0] + q[1]), np.cos(q[0] + q[1])
        L, w = K["L"], u[0] + u[1]
        A = np.array([[-L * (s1 + s12), -L * s12, -1.0], [L * (c1 + c12), L * c12, 0.0]])
        drift = np.array([-L * (c1 * u[0] ** 2 + c12 * w**2), -L * (s1 * u[0] ** 2 + s12 * w**2)])
        M = np.block([[-np.column_stack(columns), A.T], [A, np.zeros((2, 2))]])
        return np.concatenate([u, np.linalg.solve(M, np.concatenate([rest, -drift]))[:3]])

    return solve_ivp(rates, (0.0, t[-1]), [*q, *u], "DOP853", t, rtol=1e-11, atol=1e-11).y.T


def test_a_swing_goes_through_configurations_where_choices_are_singular() -> None:
    q, u = SLOT.start(-0.9, 8.0)
    motion = SLOT.system().simulate(2.0, q, u, inputs=[0.0, 0.0], step=2e-3)
    assert motion.completed
    angle, angle12 = motion.q[:, 0], motion.q[:, 0] + motion.q[:, 1]
    singular = {
        "u1": np.cos(angle12),
        "u2": np.cos(angle) + np.cos(angle12),
        "u3": np.sin(motion.q[:, 1]),
    }
    for name, value in singular.items():
        assert value.min() < -0.2, name
        assert value.max() > 0.2, name
    height = K["L"] * (np.sin(angle) + np.sin(angle12))
    np.testing.assert_allclose(height, K["h"], atol=1e-8)
    np.testing.assert_allclose(
        K["L"] * (np.cos(angle) + np.cos(angle12)), motion.q[:, 2], atol=1e-8
    )
    expected = reference_swing(q, u, motion.t[::100])
    np.testing.assert_allclose(motion.q[::100], expected[:, :3], atol=1e-5)
    np.testing.assert_allclose(motion.u[::100], expected[:, 3:], atol=1e-4)


# ---------------------------------------------------------------------------- linearization, 6.5.1

HUB = example("spinning_hub")


def frequencies(rate: float, stiffness: float) -> Array:
    """Of (s² + kappa)(s² + stiffness) + 4 Omega² s² = 0, kappa = k/m - Omega²."""
    kappa = HUB.CONSTANTS[HUB.k] / HUB.CONSTANTS[HUB.m] - rate**2
    squares = np.roots([1.0, kappa + stiffness + 4 * rate**2, kappa * stiffness])
    return np.sort_complex(np.sqrt(np.concatenate([squares, squares]).astype(complex)))


@pytest.mark.parametrize("rate", [2.0, 5.0, 10.0])
def test_a_swing_on_a_hub_is_stiffer_the_faster_it_spins_but_not_if_linearized_too_early(
    rate: float,
) -> None:
    k = {str(symbol): value for symbol, value in HUB.CONSTANTS.items()}
    length = HUB.steady_length(rate)
    hinge = k["c"] / (k["m"] * length**2)
    for prematurely, stiffness in (
        (False, hinge + rate**2 * k["R"] / length),
        (True, hinge - rate**2),
    ):
        found = HUB.linear_equations(rate, prematurely).eigenvalues
        expected = frequencies(rate, stiffness)
        np.testing.assert_allclose(np.sort(np.abs(found)), np.sort(np.abs(expected)), rtol=1e-8)
        unstable = prematurely and rate**2 > hinge
        assert (found.real.max() > 1e-3) == unstable


# ---------------------------------------------------------------------------------- what is shown


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("two_link_arm", ["Partial velocities (table 6.1)", "acceleration of P2"]),
        ("revolute_prismatic_arm", ["Partial velocities (table 6.2)", "multiplications"]),
        ("slot_grasp", ["u3 independent", "P3 from"]),
        ("spinning_hub", ["linearized too early", "and falls over"]),
    ],
)
def test_the_example_shows_its_results(
    name: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    example(name).main()
    shown = capsys.readouterr().out
    assert [line for line in lines if line not in shown] == []
