"""The Whipple bicycle of Meijaard, Papadopoulos, Ruina and Schwab (2007), and its eigenvalues.

Axes are theirs: x forward, z down. The rear wheel rolls because its contact has no velocity; that
the front wheel neither sinks, slides nor rises are three constraints on the speeds, one of which
has an integral: the pitch depends on lean and steer.
"""

from __future__ import annotations

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

yaw, lean, steer, pitch = me.dynamicsymbols("q1 q2 q3 q4")
u_yaw, u_lean, u_steer, u_pitch, u_rear, u_front = me.dynamicsymbols("u1:7")

# Table 1 of the paper: wheelbase, trail, tilt of the steer axis; then by body.
w, c, lam, g, rR, rF = sm.symbols("w c lambda g r_R r_F")
xB, zB, xH, zH, mR, mB, mH, mF = sm.symbols("x_B z_B x_H z_H m_R m_B m_H m_F")
IRxx, IRyy, IFxx, IFyy = sm.symbols("I_Rxx I_Ryy I_Fxx I_Fyy")
IBxx, IByy, IBzz, IBxz = sm.symbols("I_Bxx I_Byy I_Bzz I_Bxz")
IHxx, IHyy, IHzz, IHxz = sm.symbols("I_Hxx I_Hyy I_Hzz I_Hxz")
CONSTANTS = {w: 1.02, c: 0.08, lam: np.pi / 10, g: 9.81, rR: 0.3, rF: 0.35}
CONSTANTS |= {mR: 2.0, IRxx: 0.0603, IRyy: 0.12, mF: 3.0, IFxx: 0.1405, IFyy: 0.28}
CONSTANTS |= {xB: 0.3, zB: -0.9, mB: 85.0, IBxx: 9.2, IByy: 11.0, IBzz: 2.8, IBxz: 2.4}
CONSTANTS |= {xH: 0.9, zH: -0.7, mH: 4.0, IHxx: 0.05892, IHyy: 0.06, IHzz: 0.00708, IHxz: -0.00756}


def model() -> tuple[me.KanesMethod, list, list]:
    """Speeds, bodies and loads."""
    N = me.ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [yaw, N.z])
    X = Y.orientnew("X", "Axis", [lean, Y.x])
    B = X.orientnew("B", "Axis", [pitch, X.y])  # rear body; b1, b3 are x, z when upright
    S = B.orientnew("S", "Axis", [lam, B.y])  # s3 along the steer axis
    T = S.orientnew("T", "Axis", [steer, S.z])
    H = T.orientnew("H", "Axis", [-lam, T.y])  # handlebar and fork
    WR, WF = me.ReferenceFrame("WR"), me.ReferenceFrame("WF")
    Y.set_ang_vel(N, u_yaw * Y.z)
    X.set_ang_vel(Y, u_lean * X.x)
    B.set_ang_vel(X, u_pitch * B.y)
    WR.set_ang_vel(B, u_rear * B.y)
    T.set_ang_vel(S, u_steer * S.z)
    WF.set_ang_vel(H, u_front * H.y)

    P = me.Point("P")  # rear contact; the other points by their coordinates when upright
    R_o = P.locatenew("R_o", -rR * X.z)
    B_o = R_o.locatenew("B_o", xB * B.x + (zB + rR) * B.z)
    reach = (w + c) * sm.cos(lam) - rR * sm.sin(lam)  # from R_o to the steer axis
    K = R_o.locatenew("K", reach * S.x)  # the point of the axis nearest to R_o
    upright = K.pos_from(R_o).express(B)
    to_axis = {axis: upright.dot(axis) for axis in (B.x, B.z)}
    H_o = K.locatenew("H_o", (xH - to_axis[B.x]) * H.x + (zH + rR - to_axis[B.z]) * H.z)
    F_o = K.locatenew("F_o", (w - to_axis[B.x]) * H.x + (rR - rF - to_axis[B.z]) * H.z)
    down = Y.z - H.y.dot(Y.z) * H.y  # in the plane of the front wheel
    Q = F_o.locatenew("Q", rF * down.normalize())

    P.set_vel(N, 0)
    R_o.v2pt_theory(P, N, WR)
    B_o.v2pt_theory(R_o, N, B)
    K.v2pt_theory(R_o, N, B)
    H_o.v2pt_theory(K, N, H)
    F_o.v2pt_theory(K, N, H)
    Q.v2pt_theory(F_o, N, WF)

    rates = {yaw: u_yaw, lean: u_lean, steer: u_steer, pitch: u_pitch}
    kane = me.KanesMethod(
        N,
        q_ind=[yaw, lean, steer],
        q_dependent=[pitch],
        u_ind=[u_lean, u_steer, u_rear],
        u_dependent=[u_yaw, u_pitch, u_front],
        kd_eqs=[angle.diff() - rate for angle, rate in rates.items()],
        configuration_constraints=[Q.pos_from(P).dot(Y.z)],
        velocity_constraints=[Q.vel(N).dot(axis) for axis in Y],
        constraint_solver="CRAMER",
    )
    rear, front = me.inertia(B, IRxx, IRyy, IRxx), me.inertia(H, IFxx, IFyy, IFxx)
    frame = me.inertia(B, IBxx, IByy, IBzz, izx=IBxz)
    fork = me.inertia(H, IHxx, IHyy, IHzz, izx=IHxz)
    parts = ((WR, R_o, mR, rear), (B, B_o, mB, frame), (H, H_o, mH, fork), (WF, F_o, mF, front))
    bodies = [
        me.RigidBody(each.name, point, each, mass, (tensor, point))
        for each, point, mass, tensor in parts
    ]
    return kane, bodies, [(point, mass * g * N.z) for _, point, mass, _ in parts]


def system() -> kd.System:
    return kd.System(*model(), constants=CONSTANTS)


def upright(v: float) -> np.ndarray:
    """Straight on at v m/s; wheels turn about -y."""
    rear, front = -v / CONSTANTS[rR], -v / CONSTANTS[rF]
    return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, rear, 0.0, 0.0, front])


def eigenvalues(bicycle: kd.System, v: float) -> np.ndarray:
    """Of lean and steer, by real part."""
    states = ("q2", "q3", "u2", "u3")
    found = bicycle.linearize(0.0, upright(v)).of(states).eigenvalues
    return np.array(sorted(found, key=lambda each: (each.real, each.imag)))


def main() -> None:
    bicycle = system()
    print(f"right-hand side: {bicycle.operations('rhs')}")
    print("v (m/s)   eigenvalues (1/s)")
    for v in range(11):
        print(f"{v:5}     {'  '.join(f'{each:.8f}' for each in eigenvalues(bicycle, v))}")


if __name__ == "__main__":
    main()
