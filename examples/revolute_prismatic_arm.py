"""The arm with a revolute and a prismatic joint of Buffinton's handbook chapter, section 6.4.

Link A turns about a vertical axis; B, with C at its end, slides along A. The force that drives B
acts at P̂, a point of B of which nothing is known but its velocity (6.40).
"""

from __future__ import annotations

import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

q1, q2, u1, u2, TA, FAB = me.dynamicsymbols("q1 q2 u1 u2 T_A F_AB")
mA, mB, mC, IA, IB, IC = sm.symbols("m_A m_B m_C I_A I_B I_C")
L, LA, LT, LP, LC = sm.symbols("L L_A L_T L_P L_C")
CONSTANTS = {mA: 5.0, mB: 2.0, mC: 1.0, IA: 0.1, IB: 0.11, IC: 0.002}
CONSTANTS |= {L: 0.8, LA: 0.1, LT: 0.15, LP: 0.2, LC: 0.05}


def model() -> tuple[me.KanesMethod, list, list]:
    """Speeds, bodies and loads."""
    N = me.ReferenceFrame("N")
    A = N.orientnew("A", "Axis", [q1, N.z])
    B, C = A.orientnew("B", "Axis", [0, A.z]), A.orientnew("C", "Axis", [0, A.z])
    A.set_ang_vel(N, u1 * A.z)  # 6.29, 6.31
    O = me.Point("O")
    O.set_vel(N, 0)
    A_star = O.locatenew("A*", LA * A.y)
    P = O.locatenew("P", LP * A.x + LT * A.y)  # 6.36
    B_star = P.locatenew("B*", (q2 - L / 2) * A.x)
    C_star = P.locatenew("C*", (q2 + LC) * A.x)
    A_star.v2pt_theory(O, N, A)  # 6.34
    P.v2pt_theory(O, N, A)  # 6.37
    for point in (B_star, C_star):  # 6.41, 6.42
        point.set_vel(A, u2 * A.x)  # 6.30
        point.set_vel(N, point.vel(A) + A.ang_vel_in(N).cross(point.pos_from(O)))
    P_hat = me.Point("P̂")
    P_hat.set_vel(N, P.vel(N) + u2 * A.x)  # 6.40
    kane = me.KanesMethod(
        N, q_ind=[q1, q2], u_ind=[u1, u2], kd_eqs=[u1 - q1.diff(), u2 - q2.diff()]
    )
    masses = ((A, A_star, mA, IA), (B, B_star, mB, IB), (C, C_star, mC, IC))
    bodies = [
        me.RigidBody(frame.name, point, frame, mass, (me.inertia(frame, 0, 0, inertia), point))
        for frame, point, mass, inertia in masses
    ]
    loads = [(A, TA * A.z), (P_hat, FAB * A.x), (P, -FAB * A.x)]  # 6.62
    return kane, bodies, loads


def system() -> kd.System:
    return kd.System(*model(), constants=CONSTANTS, inputs=[TA, FAB])


def main() -> None:
    arm = system()
    print("Partial velocities (table 6.2)")
    print(arm.partial_velocities())
    x, inputs = [0.3, 0.4, 0.8, -0.5], [2.0, 5.0]
    print(f"d(q1, q2, u1, u2)/dt: {arm.rhs(0.0, x, inputs).round(6)}")
    print(f"in {arm.operations('rhs')}")


if __name__ == "__main__":
    main()
