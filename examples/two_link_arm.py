"""The two-link arm of Buffinton's handbook chapter, section 6.3, in two sets of speeds.

Names are the chapter's: particles P1 and P2 at the ends of links A and B. The speeds are the rates
of the joints (6.12, 6.13), or the velocity of P2 along n1 and n2, which gives the equations of
operational space: formed with these speeds, or taken over from the first by `with_speeds`.
"""

from __future__ import annotations

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
TA, TAB, FxE, FyE = me.dynamicsymbols("T_A T_AB F_xE F_yE")
m, L, g, bt1, bt2 = sm.symbols("m L g b_t1 b_t2")
CONSTANTS = {m: 2.0, L: 0.5, g: 9.81, bt1: 0.3, bt2: 0.2}
INPUTS = [TA, TAB, FxE, FyE]

# The velocity of P2 along n1 and n2, in the rates of the joints.
HAND = [
    -L * sm.sin(q1) * u1 - L * sm.sin(q1 + q2) * (u1 + u2),
    L * sm.cos(q1) * u1 + L * sm.cos(q1 + q2) * (u1 + u2),
]


def model(operational_space: bool = False) -> tuple[me.KanesMethod, list, list]:
    """Speeds, bodies and loads."""
    rates = {u1: q1.diff(), u2: q2.diff()}
    N = me.ReferenceFrame("N")
    A = N.orientnew("A", "Axis", [q1, N.z])
    B = A.orientnew("B", "Axis", [q2, A.z])
    if operational_space:
        definitions = [u - each.xreplace(rates) for u, each in zip((u1, u2), HAND)]
    else:
        definitions = [u - rate for u, rate in rates.items()]  # 6.12, 6.13
        A.set_ang_vel(N, u1 * N.z)  # 6.14
        B.set_ang_vel(A, u2 * A.z)  # 6.15
    O = me.Point("O")
    O.set_vel(N, 0)
    P1 = O.locatenew("P1", L * A.x)
    P2 = P1.locatenew("P2", L * B.x)
    P1.v2pt_theory(O, N, A)  # 6.16
    P2.v2pt_theory(P1, N, B)  # 6.17
    kane = me.KanesMethod(N, q_ind=[q1, q2], u_ind=[u1, u2], kd_eqs=definitions)
    damping1, damping2 = bt1 * A.ang_vel_in(N), bt2 * B.ang_vel_in(A)
    loads = [
        (P1, -m * g * N.y),
        (P2, -m * g * N.y + FxE * N.x + FyE * N.y),  # 6.27
        (A, TA * A.z - TAB * A.z - damping1 + damping2),  # 6.23, 6.28
        (B, TAB * B.z - damping2),
    ]
    return kane, [me.Particle("P1", P1, m), me.Particle("P2", P2, m)], loads


def system(operational_space: bool = False) -> kd.System:
    return kd.System(*model(operational_space), constants=CONSTANTS, inputs=INPUTS)


def hand_speeds(q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The velocity of P2, from the rates of the joints."""
    values = dict(zip((q1, q2, u1, u2), (*q, *u)))
    return np.array([each.subs({**CONSTANTS, **values}) for each in HAND], dtype=float)


def main() -> None:
    q, u, inputs = np.array([0.4, 0.9]), np.array([1.0, -0.5]), [3.0, 1.0, 2.0, -1.0]
    joints = system()
    print("Partial velocities (table 6.1)")
    print(joints.partial_velocities())
    print("du/dt with the rates of the joints as speeds:")
    print(f"  {joints.rhs(0.0, [*q, *u], inputs)[2:].round(6)}")
    hand = [*q, *hand_speeds(q, u)]
    v1, v2 = me.dynamicsymbols("v1 v2")
    print("acceleration of P2, formed with its velocity as speeds, and by with_speeds:")
    print(f"  {system(operational_space=True).rhs(0.0, hand, inputs)[2:].round(6)}")
    there = joints.with_speeds(dict(zip((v1, v2), HAND)))
    print(f"  {there.rhs(0.0, hand, inputs)[2:].round(6)}")


if __name__ == "__main__":
    main()
