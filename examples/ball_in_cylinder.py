"""The ball that rolls in a fixed cylinder, of the encyclopedia's article on Kane's method.

With one speed, u1 = (R − r) dq1/dt, or with two, of which rolling leaves one.
"""

from __future__ import annotations

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
m, r, R, g = sm.symbols("m r R g")
inertia = sm.Rational(2, 5) * m * r**2
CONSTANTS = {m: 0.5, r: 0.05, R: 0.4, g: 9.81}


def model(speeds: int) -> tuple[me.KanesMethod, list, list]:
    """Speeds, body and load; q1 is the angle of the ball's center from below, q2 its own."""
    A = me.ReferenceFrame("A")
    E = A.orientnew("E", "Axis", [q1, A.z])  # e1 along the wall, e2 towards the axis
    rolled = -(R - r) / r * q1 if speeds == 1 else q2
    B = A.orientnew("B", "Axis", [rolled, A.z])
    E.set_ang_vel(A, u1 / (R - r) * A.z)
    O = me.Point("O")
    O.set_vel(A, 0)
    center = O.locatenew("B'", -(R - r) * E.y)
    center.set_vel(A, u1 * E.x)
    if speeds == 1:
        B.set_ang_vel(A, -u1 / r * A.z)
        kane = me.KanesMethod(A, [q1], [u1], kd_eqs=[u1 - (R - r) * q1.diff()])
    else:
        B.set_ang_vel(A, u2 * A.z)
        kane = me.KanesMethod(
            A, [q1, q2], [u1, u2], kd_eqs=[u1 - (R - r) * q1.diff(), u2 - q2.diff()]
        )
    body = me.RigidBody("B", center, B, m, (me.inertia(B, inertia, inertia, inertia), center))
    return kane, [body], [(center, -m * g * A.y)]


def one_speed() -> kd.System:
    return kd.System(*model(1), constants=CONSTANTS)


def two_speeds() -> kd.System:
    """The point that touches the wall has the velocity u1 + r u2, which is zero."""
    return kd.System(*model(2), constants=CONSTANTS, constraints={"rolling": u1 + r * u2})


def period(ball: kd.System, angle: float) -> float:
    """Of the swing that begins at rest at this angle: four times the time to the bottom."""
    quarter = 4.0 * np.sqrt(CONSTANTS[R] / CONSTANTS[g])
    rest = len(ball.coordinate_names) - 1
    q, u = [angle, *[0.0] * rest], [0.0] * len(ball.speed_names)
    motion = ball.simulate(quarter, q, u, step=1e-4)
    k = int(np.argmax(motion.q[:, 0] < 0.0))
    t, q1 = motion.t[k - 1 : k + 1], motion.q[k - 1 : k + 1, 0]
    return 4.0 * float(t[0] + (t[1] - t[0]) * q1[0] / (q1[0] - q1[1]))


def main() -> None:
    ball = one_speed()
    print(f"du1/dt at q1 = 1 rad: {ball.rhs(0.0, [1.0, 0.0])[1]:.6f}")
    rolling = two_speeds().rhs(0.0, [1.0, 0.0, 0.0, 0.0])[2]
    print(f"the same with rolling as a motion constraint: {rolling:.6f}")
    for angle in (0.01, 2.5):
        print(f"period of a swing from {angle} rad: {period(ball, angle):.5f} s")


if __name__ == "__main__":
    main()
