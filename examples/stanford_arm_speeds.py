"""The Stanford Arm of Kane and Levinson (1983) in the generalized speeds of their paper.

u1, u2, u3 are measure numbers of the angular velocity of D along d1, d2, d3 (5 to 7), and u4, u5,
u6 the rates of q4, q5, q6 (3). The URDF gives the same arm with the rates of all joints as speeds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

URDF = Path(__file__).parent.parent / "urdf" / "stanford_arm.urdf"
SIGNS = np.array([1.0, -1.0, -1.0, -1.0, -1.0, -1.0])
"""Of torques: tau2 ... tau5 and sigma are what an outboard body exerts on the inboard one."""

q, u = me.dynamicsymbols("q1:7"), me.dynamicsymbols("u1:7")
TORQUES = me.dynamicsymbols("tau1:6 sigma")
L = sm.symbols("L1:7")
m = dict(zip("ABCDEF", sm.symbols("m_A:F")))
I = {body: sm.symbols(f"{body}1:4") for body in "ABCDEF"}
g = sm.Symbol("g")

# Appendix 3, and g, which the scan has lost.
INERTIAS = {"A": (0.01, 0.02, 0.01), "B": (0.06, 0.01, 0.05), "C": (0.4, 0.01, 0.4)}
INERTIAS |= {"D": (5e-4, 1e-3, 1e-3), "E": (5e-4, 2e-4, 5e-4), "F": (1e-3, 2e-3, 3e-3)}
CONSTANTS = {g: 9.81}
CONSTANTS |= dict(zip(L, (0.1, 0.6, 0.2, 0.1, 0.7, 0.06)))
CONSTANTS |= dict(zip(m.values(), (9.0, 6.0, 4.0, 1.0, 0.6, 0.5)))
for name, numbers in INERTIAS.items():
    CONSTANTS |= dict(zip(I[name], numbers))


def model() -> tuple[me.KanesMethod, list, list]:
    """Speeds, bodies and loads."""
    L1, L2, L3, L4, L5, L6 = L
    N = me.ReferenceFrame("N")
    A = N.orientnew("A", "Axis", [q[0], N.y])
    B = A.orientnew("B", "Axis", [q[1], A.x])
    C = B.orientnew("C", "Axis", [0, B.x])
    D = C.orientnew("D", "Axis", [q[2], C.y])
    E = D.orientnew("E", "Axis", [q[3], D.x])
    F = E.orientnew("F", "Axis", [q[4], E.y])
    omega = D.ang_vel_in(N)
    definitions = [u[k] - omega.dot(axis) for k, axis in enumerate(D)]  # 5 to 7
    definitions += [u[k] - q[k].diff() for k in (3, 4, 5)]  # 3
    D.set_ang_vel(N, u[0] * D.x + u[1] * D.y + u[2] * D.z)
    E.set_ang_vel(D, u[3] * D.x)
    F.set_ang_vel(E, u[4] * E.y)

    A_star = me.Point("A*")
    B_star = A_star.locatenew("B*", L1 * A.x + L4 * A.y)
    C_star = B_star.locatenew("C*", q[5] * C.y)
    D_star = C_star.locatenew("D*", L5 * C.y)
    wrist = C_star.locatenew("wrist", L2 * C.y)
    E_star = wrist.locatenew("E*", L6 * E.y)
    F_star = wrist.locatenew("F*", L3 * E.y)
    A_star.set_vel(N, 0)  # 28
    B_star.v2pt_theory(A_star, N, A)  # 29
    C_star.set_vel(B, u[5] * C.y)
    C_star.v1pt_theory(B_star, N, B)
    for point, fixed, frame in (
        (D_star, C_star, C),
        (wrist, C_star, C),
        (E_star, wrist, E),
        (F_star, wrist, E),
    ):
        point.v2pt_theory(fixed, N, frame)

    frames = dict(zip("ABCDEF", (A, B, C, D, E, F)))
    centers = dict(zip("ABCDEF", (A_star, B_star, C_star, D_star, E_star, F_star)))
    bodies = [
        me.RigidBody(
            name, centers[name], frame, m[name], (me.inertia(frame, *I[name]), centers[name])
        )
        for name, frame in frames.items()
    ]
    tau1, tau2, tau3, tau4, tau5, sigma = TORQUES
    loads = [(centers[name], -m[name] * g * N.y) for name in "ABCDEF"]
    loads += [(A, tau1 * A.y), (A, tau2 * B.x), (B, -tau2 * B.x)]
    loads += [(C, tau3 * C.y), (D, -tau3 * C.y), (D, tau4 * D.x), (E, -tau4 * D.x)]
    loads += [(E, tau5 * E.y), (F, -tau5 * E.y)]
    loads += [(B_star, sigma * C.y), (C_star, -sigma * C.y)]
    kane = me.KanesMethod(N, q, u, kd_eqs=definitions)
    return kane, bodies, loads


def system() -> kd.System:
    return kd.System(*model(), constants=CONSTANTS, inputs=TORQUES)


def main() -> None:
    arm, urdf = system(), kd.load(URDF)
    angles = np.array([0.2, 1.2, 0.3, 0.7, -0.4, 0.1])
    speeds = np.array([0.5, -0.3, 0.2, 0.1, 0.4, 0.2])
    torques = np.array([1.0, 15.0, 0.2, -1.0, 0.1, -20.0])
    rates = arm.rhs(0.0, [*angles, *speeds], torques)
    print(f"dq/dt by (8) to (12): {rates[:6].round(6)}")
    print(f"du/dt by (118) to (123): {rates[6:].round(6)}")
    ahead = urdf.forward_dynamics(angles, rates[:6], SIGNS * torques)
    print(f"the URDF gives the same accelerations of q4, q5, q6: {ahead[3:].round(6)}")
    print(f"right-hand side: {arm.operations('rhs')}")


if __name__ == "__main__":
    main()
