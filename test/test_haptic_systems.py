"""The examples of Gillespie (2003), formed from SymPy models, move as the paper says.

Printed equations are corrected where they are wrong: (39) has F_f for -F_f; (63) u̇2² for u2²; (66)
m_b for m_B; (67) a minus before s4 (Z4 - L3 m_C c4) u1 u2 / Z2, with which velocity terms do not
cancel as they do in truth.
"""

import numpy as np
import pytest
from paper_examples import constants, example, numbers

import kane_dynamics as kd
from kane_dynamics.arrays import Array

RANDOM = np.random.default_rng(2)


def states(count: int, size: int) -> Array:
    return RANDOM.uniform(-2.0, 2.0, (count, size))


# ---------------------------------------------------------------------------------- disk, example 1

DISK = example("rolling_disk")


@pytest.mark.parametrize("friction", [-3.0, 0.7])
def test_the_disk_slides_as_printed(friction: float) -> None:
    """(40)."""
    k = constants(DISK)
    _, _, a1, a2 = DISK.sliding().rhs(0.0, [0.3, 0.2, -1.0, 0.4], [friction])
    weight = k["m"] * k["g"] * np.sin(k["phi"])
    assert -weight - friction - k["m"] * a1 == pytest.approx(0.0, abs=1e-12)
    assert -friction - k["J"] / k["r"] ** 2 * a2 == pytest.approx(0.0, abs=1e-12)


def test_the_disk_rolls_as_printed_whatever_the_friction() -> None:
    """(42), by the recombination of (47)."""
    k = constants(DISK)
    rolling = DISK.rolling()
    for friction in (-3.0, 0.7):
        rates = rolling.rhs(0.0, [0.3, 0.2, -1.0, 1.0], [friction])
        weight = k["m"] * k["g"] * np.sin(k["phi"])
        inertia = k["m"] + k["J"] / k["r"] ** 2
        assert -weight - inertia * rates[2] == pytest.approx(0.0, abs=1e-12)
        assert rates[3] == pytest.approx(-rates[2], rel=1e-12)


@pytest.mark.parametrize("coefficient", [0.0, 0.2, 0.6])
def test_an_auxiliary_speed_gives_the_normal_force_and_the_friction_that_goes_with_it(
    coefficient: float,
) -> None:
    k = constants(DISK)
    disk = DISK.with_normal_force(coefficient)
    x = [0.3, 0.2, -1.0, 0.4]
    normal = k["m"] * k["g"] * np.cos(k["phi"])
    assert list(disk.forces(0.0, x).values()) == pytest.approx([normal], rel=1e-12)
    _, _, a1, a2 = disk.rhs(0.0, x)
    friction = -coefficient * normal
    expected = -k["g"] * np.sin(k["phi"]) - friction / k["m"]
    assert a1 == pytest.approx(expected, rel=1e-12)
    assert a2 == pytest.approx(-friction * k["r"] ** 2 / k["J"], rel=1e-12, abs=1e-12)


# --------------------------------------------------------------------------------- wrist, example 2

WRIST = example("spherical_wrist")


@pytest.fixture(scope="module")
def wrist() -> kd.System:
    return WRIST.system(body_fixed=True)


def wrist_states(count: int) -> tuple[Array, Array]:
    x = states(3 * count, 6)
    x = x[np.abs(np.sin(x[:, 1])) > 0.2][:count]
    return x, states(len(x), 6)


def printed_wrist(x: Array, inputs: Array) -> Array:
    """(50), then (49)."""
    v = numbers("q1 q2 q3 u1 u2 u3", x) | numbers("T1 T2 T3 F1 F2 F3", inputs)
    k = constants(WRIST)
    s1, c1, s2, c2, s3, c3 = (v[name] for name in ("s1", "c1", "s2", "c2", "s3", "c3"))
    u1, u2, u3 = v["u1"], v["u2"], v["u3"]
    M, L, G, I1, I2, I3 = (k[name] for name in ("M", "L", "G", "I1", "I2", "I3"))
    T1, T2, T3, F1, F2 = (v[name] for name in ("T1", "T2", "T3", "F1", "F2"))
    rates = [
        (s3 * u2 - c3 * u1) / s2,
        s3 * u1 + c3 * u2,
        u3 - c2 * (s3 * u2 - c3 * u1) / s2,
        (T1 - L * (F2 + G * M * (s1 * c3 + s3 * c1 * c2)) - (I3 - I2 - M * L**2) * u2 * u3)
        / (I1 + M * L**2),
        (T2 + L * (F1 + G * M * (s1 * s3 - c1 * c2 * c3)) + (I3 - I1 - M * L**2) * u1 * u3)
        / (I2 + M * L**2),
        (T3 + (I1 - I2) * u1 * u2) / I3,
    ]
    return np.stack(rates, axis=-1)


def test_the_wrist_moves_as_printed(wrist: kd.System) -> None:
    x, inputs = wrist_states(200)
    ours = wrist.rhs(np.zeros(len(x)), x, inputs)
    np.testing.assert_allclose(ours, printed_wrist(x, inputs), rtol=1e-11, atol=1e-11)


def test_the_motion_of_the_wrist_does_not_depend_on_the_speeds(wrist: kd.System) -> None:
    x, inputs = wrist_states(20)
    t, h = np.zeros(len(x)), 1e-6
    rates = wrist.rhs(t, x, inputs)
    up, down = (wrist.rhs(t, x + s * h * rates, inputs)[:, :3] for s in (1, -1))
    other = WRIST.system(body_fixed=False)
    ours = other.rhs(t, np.hstack([x[:, :3], rates[:, :3]]), inputs)
    np.testing.assert_allclose(ours[:, 3:], (up - down) / (2 * h), rtol=1e-5, atol=1e-5)


def test_the_dynamical_equations_of_the_wrist_are_short(wrist: kd.System) -> None:
    """Each product of (49) once: the paper counts 29, 16 and 10 with all repetitions."""
    n = wrist.operations(WRIST.DYNAMICAL)
    assert n.multiplications + n.divisions <= 18
    assert n.additions <= 9
    assert n.functions <= 5
    with_rates = WRIST.system(body_fixed=False).operations(WRIST.DYNAMICAL)
    assert n.total < with_rates.total < WRIST.sympy_operations(body_fixed=False)
    assert with_rates.multiplications + with_rates.divisions < 790
    assert with_rates.additions < 285
    assert with_rates.functions < 372


# ---------------------------------------------------------------------------------- cart, example 3

CART = example("shopping_cart")
MASSES = constants(CART)


@pytest.fixture(scope="module")
def free() -> dict[str, kd.System]:
    return {"recombination": CART.system(), "directly": CART.directly()}


@pytest.fixture(scope="module")
def sticking() -> dict[str, kd.System]:
    return {
        "recombination": CART.system(sticking=True),
        "directly": CART.directly(sticking=True),
    }


def cart_states(sticking: bool) -> Array:
    """With speeds that fit the constraints, by (60) and (65)."""
    x = states(100, 7)
    s4, c4, u1 = np.sin(x[:, 3]), np.cos(x[:, 3]), x[:, 4]
    L2, L3 = MASSES["L2"], MASSES["L3"]
    if sticking:
        x[:, 5] = x[:, 6] = s4 / (L2 * c4 - L3) * u1
        return x[np.abs(L3 - L2 * c4) > 0.2]
    x[:, 6] = (-s4 * u1 + L2 * c4 * x[:, 5]) / L3
    return x


both = pytest.mark.parametrize("way", ["recombination", "directly"])


@both
def test_the_cart_moves_as_printed_while_its_caster_turns(
    free: dict[str, kd.System], way: str
) -> None:
    """(57) and (63)."""
    x = cart_states(sticking=False)
    inputs = states(len(x), 2)
    rates = free[way].rhs(np.zeros(len(x)), x, inputs)
    v = numbers("q1 q2 q3 q4 u1 u2 u3", x)
    u1, u2, u3, s3, c3, s4, c4 = (v[n] for n in ("u1", "u2", "u3", "s3", "c3", "s4", "c4"))
    mB, mC, IB, L1, L2, L3 = (MASSES[n] for n in ("mB", "mC", "IB", "L1", "L2", "L3"))
    np.testing.assert_allclose(
        rates[:, :4], np.stack([c3 * u1, s3 * u1, u2, u3 - u2], axis=-1), atol=1e-12
    )
    a1, a2, a3 = rates[:, 4:].T
    F1 = (
        (L1 * mB + L2 * mC * c4**2) * u2**2
        - L3 * mC * c4 * u3**2
        - mC * s4 * c4 * u1 * u2
        - (mB + mC * c4**2) * a1
        - L2 * mC * s4 * c4 * a2
    )
    F2 = (
        mC * L2**2 * s4 * c4 * u2**2
        - L2 * L3 * mC * s4 * u3**2
        - (L1 * mB + L2 * mC * s4**2) * u1 * u2
        - L2 * mC * s4 * c4 * a1
        - (IB + mB * L1**2 + mC * L2**2 * s4**2) * a2
    )
    np.testing.assert_allclose(inputs[:, 0] + F1, 0.0, atol=1e-8)
    np.testing.assert_allclose(inputs[:, 1] + F2, 0.0, atol=1e-8)
    rolls = -c4 * (u3 - u2) * u1 - L2 * s4 * (u3 - u2) * u2 - s4 * a1 + L2 * c4 * a2 - L3 * a3
    np.testing.assert_allclose(rolls, 0.0, atol=1e-8)


@both
def test_the_cart_moves_as_printed_while_its_caster_sticks(
    sticking: dict[str, kd.System], way: str
) -> None:
    """(65) to (67)."""
    x = cart_states(sticking=True)
    inputs = states(len(x), 2)
    rates = sticking[way].rhs(np.zeros(len(x)), x, inputs)
    v = numbers("q1 q2 q3 q4 u1 u2 u3", x)
    u1, u2, u3, s4, c4 = (v[n] for n in ("u1", "u2", "u3", "s4", "c4"))
    mB, mC, IB, L1, L2, L3 = (MASSES[n] for n in ("mB", "mC", "IB", "L1", "L2", "L3"))
    Z1, Z2 = u3 - u2, L3 - L2 * c4
    Z3, Z4 = L2 * mC * (L2 - L3 * c4), L1 * mB + L2 * mC
    Z5 = IB + Z3 + mB * L1**2
    Z6 = s4 * Z1 * (Z5 + mC * L3**2 - L2 * L3 * mC * c4) / Z2**2
    velocity_terms = (
        (Z4 - L2 * L3 * mC * s4**2 / Z2) * u2**2
        - L3 * mC * (c4 - L2 * s4**2 / Z2) * u3**2
        - Z6 * c4 * u1
        + L2 * Z6 * s4 * u2
        + s4 * (Z4 - L3 * mC * c4) / Z2 * u1 * u2
    )
    np.testing.assert_allclose(velocity_terms, 0.0, atol=1e-9)
    inertia = mB + Z5 * s4**2 / Z2**2 + mC * (1 - L3 * s4**2 / Z2)
    F1 = inputs[:, 0] - s4 * inputs[:, 1] / Z2
    np.testing.assert_allclose(rates[:, 4], (F1 + velocity_terms) / inertia, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rates[:, 3], 0.0, atol=1e-12)
    np.testing.assert_allclose(rates[:, 5], rates[:, 6], atol=1e-9)


@both
@pytest.mark.parametrize(("caster", "sign"), [(0.0, -1.0), (np.pi, 1.0)], ids=["behind", "ahead"])
def test_the_cart_goes_straight_on_with_its_caster_behind_only(
    free: dict[str, kd.System], way: str, caster: float, sign: float
) -> None:
    """Yaw dies out with L1 m_B u1/(I_B + m_B L1²), and the caster turns with ±u1/L3."""
    u1 = 1.3
    found = free[way].linearize(0.0, [0.0, 0.0, 0.4, caster, u1, 0.0, 0.0], [0.0, 0.0])
    k = MASSES
    yaw = -k["L1"] * k["mB"] * u1 / (k["IB"] + k["mB"] * k["L1"] ** 2)
    expected = sorted([sign * u1 / k["L3"], yaw, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(np.sort(found.eigenvalues.real), expected, atol=1e-6)
    np.testing.assert_allclose(found.eigenvalues.imag, 0.0, atol=1e-6)


# ---------------------------------------------------------------------------------- what is shown


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("rolling_disk", ["= [-3.320194  1.", "18.071217"]),
        ("spherical_wrist", ["790         285        372", "body-fixed u"]),
        ("shopping_cart", ["d(u1, u2)/dt = [ 0.926131 -1.135554]", "du1/dt = 0.666369"]),
    ],
)
def test_the_example_shows_its_results(
    name: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    example(name).main()
    shown = capsys.readouterr().out
    assert [line for line in lines if line not in shown] == []
