"""The shopping cart of Gillespie (2003), example 3: its caster turns freely, or sticks.

Four coordinates and three speeds: those already fit the back wheels. That the caster rolls (59),
and that it sticks (64), are added by recombination; or the equations are formed directly for
speeds of which others are named dependent.
"""

from __future__ import annotations

import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

q1, q2, q3, q4, u1, u2, u3 = me.dynamicsymbols("q1:5 u1:4")
F, tau = me.dynamicsymbols("F tau")
mB, mC, IB, L1, L2, L3 = sm.symbols("m_B m_C I_B L1 L2 L3")
CONSTANTS = {mB: 20.0, mC: 1.5, IB: 1.8, L1: 0.35, L2: 0.7, L3: 0.06}

ROLLING = -sm.sin(q4) * u1 + L2 * sm.cos(q4) * u2 - L3 * u3  # 59
STICKING = u3 - u2  # the second row of 64


def model(*constraints: sm.Expr) -> tuple[me.KanesMethod, list, list]:
    """Speeds, bodies and loads; as many of u3, u2 are dependent as there are constraints."""
    N = me.ReferenceFrame("N")
    B = N.orientnew("B", "Axis", [q3, N.z])
    C = B.orientnew("C", "Axis", [q4, B.z])
    B.set_ang_vel(N, u2 * N.z)  # 52
    C.set_ang_vel(N, u3 * N.z)  # 53
    O, P1 = me.Point("O"), me.Point("P1")
    O.set_vel(N, 0)
    P1.set_pos(O, q1 * N.x + q2 * N.y)
    P1.set_vel(N, u1 * B.x)  # 51, 54
    B_o = P1.locatenew("B_o", L1 * B.x)
    P2 = P1.locatenew("P2", L2 * B.x)
    P3 = P2.locatenew("P3", -L3 * C.x)
    B_o.v2pt_theory(P1, N, B)
    P2.v2pt_theory(P1, N, B)
    P3.v2pt_theory(P2, N, C)
    rates = {q1: sm.cos(q3) * u1, q2: sm.sin(q3) * u1, q3: u2, q4: u3 - u2}  # 57
    free = 3 - len(constraints)
    kane = me.KanesMethod(
        N,
        q_ind=[q1, q2, q3, q4],
        u_ind=[u1, u2, u3][:free],
        u_dependent=[u1, u2, u3][free:],
        kd_eqs=[each.diff() - rate for each, rate in rates.items()],
        velocity_constraints=constraints,
    )
    bodies = [
        me.RigidBody("B", B_o, B, mB, (me.inertia(B, 0, 0, IB), B_o)),
        me.Particle("C", P3, mC),
    ]
    return kane, bodies, [(P1, F * B.x), (B, tau * B.z)]  # 61


def system(sticking: bool = False) -> kd.System:
    """By recombination from the three speeds."""
    named = {"rolling": ROLLING} | ({"sticking": STICKING} if sticking else {})
    return kd.System(*model(), constants=CONSTANTS, inputs=[F, tau], constraints=named)


def directly(sticking: bool = False) -> kd.System:
    """With u3, and u2 if the caster sticks, named dependent."""
    constraints = (ROLLING, STICKING) if sticking else (ROLLING,)
    return kd.System(*model(*constraints), constants=CONSTANTS, inputs=[F, tau])


def main() -> None:
    angle, u = 0.7, (1.2, 0.9)
    length2, length3 = CONSTANTS[L2], CONSTANTS[L3]
    swivel = float((-sm.sin(angle) * u[0] + length2 * sm.cos(angle) * u[1]) / length3)
    x, inputs = [0.0, 0.0, 0.3, angle, *u, swivel], [15.0, 4.0]
    print("caster free:     d(u1, u2)/dt =", directly().rhs(0.0, x, inputs)[4:6].round(6))
    yaw = float(sm.sin(angle) / (length2 * sm.cos(angle) - length3)) * u[0]  # 65
    x = [0.0, 0.0, 0.3, angle, u[0], yaw, yaw]
    print("caster sticking: du1/dt =", directly(sticking=True).rhs(0.0, x, inputs)[4].round(6))
    for name, angle in (("forward", 0.0), ("backward", float(sm.pi))):
        straight = directly().linearize(0.0, [0.0, 0.0, 0.0, angle, 1.0, 0.0, 0.0], [0.0, 0.0])
        print(f"straight on, caster {name}: eigenvalues {straight.eigenvalues.real.round(4) + 0.0}")


if __name__ == "__main__":
    main()
