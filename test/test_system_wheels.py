"""Wheels whose angular velocity a SymPy model states and whose orientation nobody needs."""

import numpy as np
import sympy
import sympy.physics.mechanics as me

import kane_dynamics as kd


def wheel(oriented: bool) -> tuple[me.KanesMethod, list, list]:
    """A wheel on a frame that turns about a fixed point; its inertia is given in that frame."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    N = me.ReferenceFrame("N")
    A = N.orientnew("A", "Axis", [q[0], N.z])
    B = A.orientnew("B", "Axis", [q[1], A.x])
    W = B.orientnew("W", "Axis", [q[2], B.y]) if oriented else me.ReferenceFrame("W")
    A.set_ang_vel(N, u[0] * N.z)
    B.set_ang_vel(A, u[1] * A.x)
    W.set_ang_vel(B, u[2] * B.y)
    origin = me.Point("O")
    origin.set_vel(N, 0)
    hub, center = (
        origin.locatenew("hub", 0.3 * B.y + 0.2 * B.x),
        origin.locatenew("center", 0.1 * B.x),
    )
    for point in (hub, center):
        point.v2pt_theory(origin, N, B)
    kane = me.KanesMethod(N, q, u, kd_eqs=[a.diff() - b for a, b in zip(q, u)])
    disk, block = me.inertia(B, 0.1, 0.2, 0.1), me.inertia(B, 0.11, 0.12, 0.13, 0.01)
    bodies = [
        me.RigidBody("W", hub, W, 2, (disk, hub)),
        me.RigidBody("B", center, B, 1, (block, center)),
    ]
    return kane, bodies, [(hub, -20 * N.z), (W, 0.3 * B.y + 0.1 * N.x), (B, -0.3 * B.y)]


def test_a_wheel_moves_alike_with_and_without_its_orientation_as_sympy_says() -> None:
    x = np.random.default_rng(0).uniform(-1.0, 1.0, 6)
    without, oriented = (kd.System(*wheel(each), constants={}) for each in (False, True))
    np.testing.assert_allclose(without.rhs(0.0, x), oriented.rhs(0.0, x), rtol=1e-12)
    kane, bodies, loads = wheel(oriented=False)
    kane.kanes_equations(bodies, loads)
    M, f = sympy.lambdify([[*kane.q], [*kane.u]], [kane.mass_matrix, kane.forcing])(x[:3], x[3:])
    np.testing.assert_allclose(without.rhs(0.0, x)[3:], np.linalg.solve(M, f).ravel(), rtol=1e-10)
