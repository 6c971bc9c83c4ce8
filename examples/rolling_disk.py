"""The disk on a ramp of Gillespie (2003), example 1: sliding, rolling, and its normal force.

The auxiliary speed u3, along the normal, is zero; it brings the normal force into evidence, which
stands in the loads as an unknown, and friction of μ N with it.
"""

from __future__ import annotations

import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

q1, q2, u1, u2, u3, Ff, Nf = me.dynamicsymbols("q1 q2 u1 u2 u3 F_f N_f")
m, J, r, g, phi, mu = sm.symbols("m J r g phi mu")
CONSTANTS = {m: 2.0, J: 0.09, r: 0.3, g: 9.81, phi: 0.4}


def model(friction: sm.Expr, auxiliary: bool) -> tuple[me.KanesMethod, list, list]:
    """Speeds, bodies and loads."""
    N = me.ReferenceFrame("N")
    A = N.orientnew("A", "Axis", [phi, N.z])
    B = A.orientnew("B", "Axis", [q2, A.z])
    B.set_ang_vel(A, u2 / r * A.z)  # 36
    O, contact = me.Point("O"), me.Point("contact")
    O.set_vel(N, 0)
    B_o = O.locatenew("B_o", q1 * A.x + r * A.y)
    normal = u3 * A.y if auxiliary else 0
    B_o.set_vel(N, u1 * A.x + normal)
    contact.set_vel(N, (u1 + u2) * A.x + normal)
    definitions = [u1 - q1.diff(), u2 - r * q2.diff()]
    kane = me.KanesMethod(
        N, [q1, q2], [u1, u2], kd_eqs=definitions, u_auxiliary=[u3] if auxiliary else None
    )
    body = me.RigidBody("B", B_o, B, m, (me.inertia(B, 0, 0, J), B_o))
    force = -friction * A.x + (Nf * A.y if auxiliary else 0)
    return kane, [body], [(B_o, -m * g * N.y), (contact, force)]


def sliding() -> kd.System:
    """Two degrees of freedom under a given friction force (40)."""
    return kd.System(*model(Ff, auxiliary=False), constants=CONSTANTS, inputs=[Ff])


def rolling() -> kd.System:
    """One degree of freedom (42): u1 + u2 = 0 by recombination (47)."""
    return kd.System(
        *model(Ff, auxiliary=False),
        constants=CONSTANTS,
        inputs=[Ff],
        constraints={"rolling": u1 + u2},
    )


def with_normal_force(coefficient: float) -> kd.System:
    """Sliding down under Newton's law of friction: the force is μ N, against u1 + u2 < 0."""
    return kd.System(*model(-mu * Nf, auxiliary=True), constants={**CONSTANTS, mu: coefficient})


def main() -> None:
    x = [0.0, 0.0, -1.0, 0.4]
    print(f"sliding, F_f = -1 N:  d(u1, u2)/dt = {sliding().rhs(0.0, x, [-1.0])[2:].round(6)}")
    x = [0.0, 0.0, -1.0, 1.0]
    print(f"rolling:              d(u1, u2)/dt = {rolling().rhs(0.0, x, [-1.0])[2:].round(6)}")
    disk = with_normal_force(0.2)
    print(f"friction 0.2 N:       d(u1, u2)/dt = {disk.rhs(0.0, x)[2:].round(6)}")
    print(f"normal force: {float(disk.forces(0.0, x)['N_f']):.6f} N")


if __name__ == "__main__":
    main()
