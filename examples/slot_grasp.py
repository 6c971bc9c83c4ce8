"""The arm of section 6.3 of Buffinton's handbook chapter grasps a particle in a slot (6.5.2).

Three speeds, the rates of the two joints and that of the particle P3, are left with one degree of
freedom by two constraints (6.69, 6.70). Each of the three may be the independent one (6.75), except
in configurations where that choice is singular: u1 where the second link is upright, u2 where P3 is
above or below the first joint, u3 where the arm is stretched. Left to choose, the system goes
through all of them.
"""

from __future__ import annotations

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

q1, q2, q3, u1, u2, u3, TA, TAB = me.dynamicsymbols("q1 q2 q3 u1 u2 u3 T_A T_AB")
m, m3, L, g, h = sm.symbols("m m3 L g h")
CONSTANTS = {m: 1.0, m3: 0.7, L: 0.5, g: 9.81, h: -0.25}

# P2 and P3 are one: configuration, and motion by 6.69 and 6.70.
CLOSED = [
    L * sm.cos(q1) + L * sm.cos(q1 + q2) - q3,
    L * sm.sin(q1) + L * sm.sin(q1 + q2) - h,
]
GRASP = [
    -L * sm.sin(q1) * u1 - L * sm.sin(q1 + q2) * (u1 + u2) - u3,
    L * sm.cos(q1) * u1 + L * sm.cos(q1 + q2) * (u1 + u2),
]


def model(independent: int | None = None) -> tuple[me.KanesMethod, list, list]:
    """Three speeds; with a choice of the independent one, 1 to 3, they are constrained."""
    N = me.ReferenceFrame("N")
    A = N.orientnew("A", "Axis", [q1, N.z])
    B = A.orientnew("B", "Axis", [q2, A.z])
    A.set_ang_vel(N, u1 * N.z)
    B.set_ang_vel(A, u2 * A.z)
    O = me.Point("O")
    O.set_vel(N, 0)
    P1 = O.locatenew("P1", L * A.x)
    P2 = P1.locatenew("P2", L * B.x)
    P3 = O.locatenew("P3", q3 * N.x + h * N.y)
    P1.v2pt_theory(O, N, A)
    P2.v2pt_theory(P1, N, B)
    P3.set_vel(N, u3 * N.x)  # 6.68
    q, u = [q1, q2, q3], [u1, u2, u3]
    rates = [each - rate.diff() for each, rate in zip(u, q)]
    if independent is None:
        kane = me.KanesMethod(N, q_ind=q, u_ind=u, kd_eqs=rates)
    else:
        kane = me.KanesMethod(
            N,
            q_ind=q,
            u_ind=[u[independent - 1]],
            u_dependent=[each for each in u if each is not u[independent - 1]],
            kd_eqs=rates,
            velocity_constraints=GRASP,
        )
    bodies = [me.Particle(point.name, point, mass) for point, mass in ((P1, m), (P2, m), (P3, m3))]
    loads = [(P1, -m * g * N.y), (P2, -m * g * N.y), (A, (TA - TAB) * A.z), (B, TAB * B.z)]
    return kane, bodies, loads


def system(independent: int | None = None) -> kd.System:
    """Constrained by 6.69 and 6.70 with one speed chosen, or closed with none chosen."""
    named = None if independent else {"grasp": CLOSED}
    return kd.System(*model(independent), constants=CONSTANTS, inputs=[TA, TAB], constraints=named)


def start(angle: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """A configuration with the elbow on one side, by q1, and speeds by u1 that fit."""
    length, height = CONSTANTS[L], CONSTANTS[h]
    sine = height / length - np.sin(angle)
    angle12 = np.arcsin(sine)
    cosine, cosine12 = np.cos(angle), np.cos(angle12)
    rate12 = -cosine / cosine12 * rate
    q = np.array([angle, angle12 - angle, length * (cosine + cosine12)])
    slide = -length * (np.sin(angle) * rate + sine * rate12)
    return q, np.array([rate, rate12 - rate, slide])


def main() -> None:
    q, u = start(-0.9, 1.0)
    by_name = [0, 1, 2]
    for independent in (1, 2, 3):
        order = [independent - 1, *(k for k in by_name if k != independent - 1)]
        x = [*q, *u[order]]
        rates = system(independent).rhs(0.0, x, [1.0, 0.5])[3:]
        print(f"u{independent} independent: d(u1, u2, u3)/dt = {rates[np.argsort(order)].round(6)}")
    q, u = start(-0.9, 8.0)
    free = system()
    motion = free.simulate(2.0, q, u, inputs=[0.0, 0.0], step=2e-3)
    x, turns = motion.q[:, 2], np.ptp(motion.q[:, 0] + motion.q[:, 1])
    print(f"A swing of 2 s: P3 from {x.min():.3f} to {x.max():.3f} m, B turns by {turns:.2f} rad")


if __name__ == "__main__":
    main()
