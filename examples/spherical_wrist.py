"""The spherical wrist of Gillespie (2003), example 2: what a choice of speeds does to equations.

A and B have no mass. With measure numbers of the angular velocity of C along c1, c2, c3 as speeds
the equations are (49) and (50); with rates of coordinates (48) the dynamical equations are long.
"""

from __future__ import annotations

import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
T, F = me.dynamicsymbols("T1:4"), me.dynamicsymbols("F1:4")
M, L, G, I1, I2, I3 = sm.symbols("M L G I1 I2 I3")
DYNAMICAL = "udot"
CONSTANTS = {M: 1.3, L: 0.25, G: 9.81, I1: 0.02, I2: 0.03, I3: 0.015}


def model(body_fixed: bool) -> tuple[me.KanesMethod, list, list]:
    """Speeds, body and loads."""
    N = me.ReferenceFrame("N")
    A = N.orientnew("A", "Axis", [q[0], N.z])
    B = A.orientnew("B", "Axis", [q[1], A.y])
    C = B.orientnew("C", "Axis", [q[2], B.z])
    O = me.Point("O")
    O.set_vel(N, 0)
    C_o = O.locatenew("C_o", L * C.z)
    if body_fixed:
        omega = C.ang_vel_in(N).express(C)
        definitions = [u[k] - omega.dot(axis) for k, axis in enumerate(C)]  # 50
        C.set_ang_vel(N, u[0] * C.x + u[1] * C.y + u[2] * C.z)
    else:
        definitions = [u[k] - q[k].diff() for k in range(3)]  # 48
        A.set_ang_vel(N, u[0] * N.z)
        B.set_ang_vel(A, u[1] * A.y)
        C.set_ang_vel(B, u[2] * B.z)
    C_o.v2pt_theory(O, N, C)
    kane = me.KanesMethod(N, q, u, kd_eqs=definitions)
    body = me.RigidBody("C", C_o, C, M, (me.inertia(C, I1, I2, I3), C_o))
    torque = T[0] * C.x + T[1] * C.y + T[2] * C.z
    force = F[0] * C.x + F[1] * C.y + F[2] * C.z
    return kane, [body], [(C, torque), (C_o, force - M * G * N.x)]


def system(body_fixed: bool) -> kd.System:
    return kd.System(*model(body_fixed), constants=CONSTANTS, inputs=[*T, *F])


def sympy_operations(body_fixed: bool) -> int:
    """What SymPy has to evaluate for the rates of the speeds, after cse and constants folded."""
    kane, bodies, loads = model(body_fixed)
    kane.kanes_equations(bodies, loads)
    constants = {symbol: sm.Float(value) for symbol, value in CONSTANTS.items()}
    shared, matrices = sm.cse([kane.mass_matrix.subs(constants), kane.forcing.subs(constants)])
    solved = 3 + 3 * 2 + 11  # and the elimination of a symmetric matrix of order three
    return solved + sum(sm.count_ops(each) for each in (*(value for _, value in shared), *matrices))


def main() -> None:
    print("Dynamical equations          multiplications, divisions   additions   sin, cos")
    print("  paper, u = rates of q, not shared               790         285        372")
    print("  paper, (49), not shared                          29          16         10")
    for name, body_fixed in (("u = rates of q", False), ("body-fixed u", True)):
        n = system(body_fixed).operations(DYNAMICAL)
        products = n.multiplications + n.divisions
        print(f"  kane_dynamics, {name:20}{products:18}{n.additions:12}{n.functions:11}")
        print(f"  SymPy after cse, {name:20}{sympy_operations(body_fixed):16} in all")


if __name__ == "__main__":
    main()
