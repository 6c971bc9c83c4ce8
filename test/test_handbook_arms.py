"""The equations of the two arms of Buffinton's handbook chapter are ours, as identities.

Equations 6.21 to 6.26 and 6.53 to 6.65 of "Kane's Method in Robotics" stand here in the symbols of
the chapter, with F1s and F2s for the generalized inertia forces F1* and F2*, and G1 and G2 for what
gravity adds to the generalized active forces F1 and F2.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import sympy
from oracle import BUNDLED, random_states

import kane_dynamics as kd

TOLERANCE = 1e-12  # of a coefficient: numbers of the URDFs are rounded as floats are


@dataclass(frozen=True)
class Arm:
    """An arm of the chapter: its URDF, numbers for its symbols, and its equations."""

    urdf: str
    numbers: dict[str, str]
    equations: dict[str, str]


@dataclass(frozen=True)
class Misprint:
    """A part of an equation as it is printed, and as it must be."""

    arm: Arm
    equation: str
    symbol: str
    printed: str
    correct: str


TWO_LINKS = Arm(
    "two_link_arm",
    {"m": "1", "L": "1/2", "g": "981/100"},
    {
        # 6.21 and 6.22
        "F1s": "-m*L**2*((3 + 2*c2)*udot1 + (1 + c2)*udot2 + s2*(u1**2 - (u1 + u2)**2))",
        "F2s": "-m*L**2*((1 + c2)*udot1 + udot2 + s2*u1**2)",
        # 6.24 and 6.25
        "G1": "-m*g*L*(2*c1 + c12)",
        "G2": "-m*g*L*c12",
    },
)

REVOLUTE_PRISMATIC = Arm(
    "revolute_prismatic_arm",
    {"L": "4/5", "LA": "1/10", "LT": "3/20", "LP": "1/5", "LC": "1/20"}
    | {"mA": "5", "mB": "2", "mC": "1", "IA": "1/10", "IB": "11/100", "IC": "1/500"},
    {
        # 6.56 to 6.61
        "F1A": "-(mA*LA**2 + IA)*udot1",
        "F2A": "0",
        "F1B": "-(mB*((LP + q2 - L/2)**2 + LT**2) + IB)*udot1 + mB*LT*udot2"
        " - 2*mB*(LP + q2 - L/2)*u1*u2",
        "F2B": "mB*LT*udot1 - mB*udot2 + mB*(LP + q2 - L/2)*u1**2",
        "F1C": "-(mC*((LP + q2 + LC)**2 + LT**2) + IC)*udot1 + mC*LT*udot2"
        " - 2*mC*(LP + q2 + LC)*u1*u2",
        "F2C": "mC*LT*udot1 - mC*udot2 + mC*(LP + q2 + LC)*u1**2",
        # 6.53; 6.63 and 6.64
        "F1s": "F1A + F1B + F1C",
        "F2s": "F2A + F2B + F2C",
        "G1": "0",
        "G2": "0",
    },
)

# 6.24 and 6.25 print s2 and s23, the sines of q2 and q2 + q3, for angles other than in figure 6.1.
# 6.40 prints -LP u1 a2 for +LP u1 a2, which no equation here uses.
MISPRINTS = [
    Misprint(TWO_LINKS, "6.22", "F2s", "s2*u2**2", "s2*u1**2"),
    Misprint(TWO_LINKS, "6.24", "G1", "m*g*L*(2*s1 + s12)", "-m*g*L*(2*c1 + c12)"),
    Misprint(TWO_LINKS, "6.25", "G2", "m*g*L*s12", "-m*g*L*c12"),
    Misprint(REVOLUTE_PRISMATIC, "6.58", "F1B", "2*mB*u1*u2", "2*mB*(LP + q2 - L/2)*u1*u2"),
    Misprint(REVOLUTE_PRISMATIC, "6.60", "F1C", "2*mC*u1*u2", "2*mC*(LP + q2 + LC)*u1*u2"),
    Misprint(REVOLUTE_PRISMATIC, "6.61", "F2C", "LP + q2 - LC", "LP + q2 + LC"),
]

arms = pytest.mark.parametrize(
    "arm", [TWO_LINKS, REVOLUTE_PRISMATIC], ids=["two links", "revolute and prismatic"]
)

STATE = {name: sympy.Symbol(name, real=True) for name in ("q1", "q2", "u1", "u2", "udot1", "udot2")}


def printed_efforts(arm: Arm, misprint: Misprint | None = None) -> list[sympy.Expr]:
    """Torques and forces of the actuators by 6.26 and 6.65, Fr + Fr* = 0."""
    q1, q2 = STATE["q1"], STATE["q2"]
    known = STATE | {name: sympy.Rational(number) for name, number in arm.numbers.items()}
    for name, angle in (("1", q1), ("2", q2), ("12", q1 + q2)):
        known |= {f"s{name}": sympy.sin(angle), f"c{name}": sympy.cos(angle)}
    for symbol, text in arm.equations.items():
        if misprint is not None and symbol == misprint.symbol:
            assert text.count(misprint.correct) == 1
            text = text.replace(misprint.correct, misprint.printed)
        known[symbol] = sympy.sympify(text, known)
    return [-(known["F1s"] + known["G1"]), -(known["F2s"] + known["G2"])]


def our_efforts(arm: Arm) -> list[sympy.Expr]:
    """The torques of `inverse_dynamics`, without intermediate quantities."""
    definitions, efforts = kd.load(BUNDLED / f"{arm.urdf}.urdf").equations("inverse_dynamics")
    values: dict[sympy.Symbol, sympy.Expr] = {}
    for symbol, value in definitions:
        values[symbol] = value.xreplace(values)
    return [effort.xreplace(values) for effort in efforts]


def largest_coefficient(expression: sympy.Expr) -> float:
    """Of an expression as polynomial in speeds, coordinates, sines and cosines.

    Sines are left in the first power only, so it is zero if and only if the expression is.
    """
    angles = [STATE["q1"], STATE["q2"]]
    cosines, sines = sympy.symbols("c1:3"), sympy.symbols("s1:3")
    expression = sympy.expand_trig(expression)
    for angle, cosine, sine in zip(angles, cosines, sines):
        expression = expression.subs({sympy.cos(angle): cosine, sympy.sin(angle): sine})
    expression = sympy.nsimplify(expression.expand(), rational=True)
    for cosine, sine in zip(cosines, sines):
        expression = sympy.rem(expression, sine**2 + cosine**2 - 1, sine)
    polynomial = sympy.Poly(expression, *STATE.values(), *cosines, *sines)
    return max(abs(float(coefficient)) for coefficient in polynomial.coeffs())


@arms
def test_our_equations_are_those_of_the_handbook_for_every_motion(arm: Arm) -> None:
    for ours, printed in zip(our_efforts(arm), printed_efforts(arm), strict=True):
        assert ours.free_symbols <= set(STATE.values())
        assert largest_coefficient(printed) > 0.1
        assert largest_coefficient(ours - printed) <= TOLERANCE


@arms
def test_our_torques_are_those_of_the_handbook(arm: Arm) -> None:
    dynamics = kd.load(BUNDLED / f"{arm.urdf}.urdf")
    states = random_states(dynamics, 1000)
    printed = sympy.lambdify(list(STATE.values()), printed_efforts(arm))
    expected = np.transpose(printed(*states.q.T, *states.u.T, *states.udot.T))
    ours = dynamics.inverse_dynamics(states.q, states.u, states.udot)
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("misprint", MISPRINTS, ids=lambda misprint: misprint.equation)
def test_what_was_corrected_is_wrong_as_printed(misprint: Misprint) -> None:
    differences = [
        largest_coefficient(ours - printed)
        for ours, printed in zip(our_efforts(misprint.arm), printed_efforts(misprint.arm, misprint))
    ]
    assert max(differences) > 0.01
