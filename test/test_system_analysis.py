"""What follows from the equations of SymPy models: linear ones, equilibria, momentum, speeds."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me
from mechanisms import chain, four_bar, pendulum_on_cart, t

import kane_dynamics as kd


def test_a_spinning_hub_with_a_radial_spring_is_linearized_after_the_equations_are_formed() -> None:
    r, s, u, v = me.dynamicsymbols("r s u v")
    N, hub = me.ReferenceFrame("N"), me.Point("hub")
    hub.set_vel(N, 0)
    A = N.orientnew("A", "Axis", [3.0 * t, N.z])
    P = hub.locatenew("P", r * A.x + s * A.y)
    kane = me.KanesMethod(N, [r, s], [u, v], [r.diff(t) - u, s.diff(t) - v])
    loads = [(P, -50.0 * (r - 1) * A.x - 50.0 * s * A.y)]
    system = kd.System(kane, [me.Particle("P", P, 2.0)], loads, {}, backend="numpy")
    rest = system.equilibrium([1.0, 0.0])
    np.testing.assert_allclose(rest, [25.0 / (25.0 - 9.0), 0.0], atol=1e-10)
    linear = system.linearize(0.0, [*rest, 0.0, 0.0])
    assert linear.states == ("r", "s", "u", "v")
    radial = linear.of(["r", "u"])
    np.testing.assert_allclose(np.abs(radial.eigenvalues), np.sqrt(25.0 - 9.0), rtol=1e-12)
    np.testing.assert_allclose(linear.A[2:], [[-16, 0, 0, 6], [0, -16, -6, 0]], atol=1e-12)
    assert len(linear.modes) == 2


def test_a_closed_loop_is_linearized_in_what_is_independent() -> None:
    system = four_bar().system(backend="numpy")
    q, u = system.assemble([1.0, -0.8, -1.9], [2.0, 0.0, 0.0], fixed=["q1", "u1"])

    def rates(q1: float, u1: float) -> np.ndarray:
        near = system.assemble([q1, *q[1:]], [u1, *u[1:]], fixed=["q1", "u1"])
        return system.rhs(0.0, np.concatenate(near), [0.3])[[0, 3]]

    linear = system.linearize(0.0, np.concatenate([q, u]), [0.3])
    assert (linear.states, linear.inputs) == (("q1", "u1"), ("T",))
    h = 1e-6
    columns = [
        (rates(q[0] + a, u[0] + b) - rates(q[0] - a, u[0] - b)) / (2 * h)
        for a, b in ((h, 0.0), (0.0, h))
    ]
    np.testing.assert_allclose(linear.A, np.transpose(columns), rtol=1e-6, atol=1e-6)


def test_a_loop_finds_its_equilibrium() -> None:
    system = four_bar().system(backend="numpy")
    q, _ = system.assemble([1.0, -0.8, -1.9], fixed=["q1"])
    rest = system.equilibrium(q)
    np.testing.assert_allclose(system.assemble(rest)[0], rest, atol=1e-10)
    rates = system.rhs(0.0, [*rest, 0.0, 0.0, 0.0], [0.0])
    np.testing.assert_allclose(rates, 0.0, atol=1e-9)


def test_linear_equations_along_a_motion_are_those_of_its_states() -> None:
    system = pendulum_on_cart(1).system()
    motion = system.simulate(0.02, [0.0, 0.3], [0.0, 1.0], inputs=lambda t, q, u: [t])
    along = system.linearize(motion)
    k = 10
    x = [*motion.q[k], *motion.u[k]]
    one = system.linearize(motion.t[k], x, [motion.t[k]])
    np.testing.assert_allclose(along.A[k], one.A, atol=1e-12)
    assert one.inputs == ("F",)


def test_other_speeds_describe_the_same_motion() -> None:
    mechanism = chain(3)
    system = mechanism.system(backend="numpy")
    w, u, q = me.dynamicsymbols("w1:4"), mechanism.kane.u, mechanism.kane.q
    speeds = {w[0]: u[0] + 1, w[1]: u[0] * sm.cos(q[1]) + u[1], w[2]: u[2] - 2 * u[0]}
    other = system.with_speeds(speeds)
    assert other.speed_names == ("w1", "w2", "w3")
    x = np.random.default_rng(0).normal(size=6)
    c, s = np.cos(x[1]), np.sin(x[1])
    new = [x[3] + 1, x[3] * c + x[4], x[5] - 2 * x[3]]
    before, after = system.rhs(0.0, x, [0.2]), other.rhs(0.0, [*x[:3], *new], [0.2])
    a, b, d = before[3:]
    expected = [*before[:3], a, a * c - x[3] * s * before[1] + b, d - 2 * a]
    np.testing.assert_allclose(after, expected, rtol=1e-10)
    energies = system.energy(0.0, x, [0.0]), other.energy(0.0, [*x[:3], *new], [0.0])
    assert energies[0].kinetic == pytest.approx(energies[1].kinetic)
    with pytest.raises(kd.ModelError, match="do not determine those of the model"):
        system.with_speeds({w[0]: u[0], w[1]: u[0], w[2]: u[2]})


def test_other_speeds_are_named_by_symbols_of_their_own() -> None:
    mechanism = pendulum_on_cart(1)
    system = mechanism.system(backend="numpy")
    q1, (u0, u1) = mechanism.kane.q[1], mechanism.kane.u
    w = me.dynamicsymbols("w")
    for speeds, name in (({u0: u1, u1: u0}, "u0"), ({u0: u0, q1: u1}, "q1")):
        with pytest.raises(kd.ArgumentError, match=rf"{name}\(t\) means something else"):
            system.with_speeds(speeds)
    with pytest.raises(kd.ArgumentError, match="speeds are list, expected a dict"):
        system.with_speeds([u0, u1])
    with pytest.raises(kd.ArgumentError, match="'a' is no symbol"):
        system.with_speeds({"a": u0, w: u1})
    other = system.with_speeds({u0: u0, w: u0 + u1})  # a speed may stay
    x, y = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.1, 0.2, 0.3, 0.7])
    rates, found = system.rhs(0.0, x, [1.0]), other.rhs(0.0, y, [1.0])
    np.testing.assert_allclose(found, [*rates[:3], rates[2] + rates[3]], rtol=1e-12)


def test_column_reduction_finds_speeds_with_fewer_partial_velocities() -> None:
    """Two links in the plane: absolute instead of relative angular velocities."""
    q, u = me.dynamicsymbols("q1:3"), me.dynamicsymbols("u1:3")
    N, last = me.ReferenceFrame("N"), me.Point("origin")
    last.set_vel(N, 0)
    frame, bodies = N, []
    for k in range(2):
        A = frame.orientnew(f"A{k}", "Axis", [q[k], N.z])
        A.set_ang_vel(frame, u[k] * N.z)
        tip = last.locatenew(f"P{k}", A.x)
        tip.v2pt_theory(last, N, A)
        bodies.append(me.RigidBody(f"B{k}", tip, A, 1.0, (me.inertia(A, 0, 0, 1), tip)))
        frame, last = A, tip
    kane = me.KanesMethod(N, q, u, [a.diff(t) - b for a, b in zip(q, u)])
    system = kd.System(kane, bodies, [], {}, backend="numpy")
    found = system.reduced_speeds()
    assert found.speeds == {"u1*": {"u1": 1.0}, "u2*": {"u1": 1.0, "u2": 1.0}}
    assert [tuple(each) for each in found.vanished] == [("B1", "angular velocity", "u1")]
    assert found.after.total < found.before.total
    other = system.with_speeds(found)
    x = np.array([0.3, 0.5, 0.7, 0.9])
    rates = other.rhs(0.0, [0.3, 0.5, 0.7, 1.6])
    expected = system.rhs(0.0, x)
    np.testing.assert_allclose(rates[2:], [expected[2], expected[2] + expected[3]], rtol=1e-12)


def test_momentum_of_a_free_body_is_conserved() -> None:
    from mechanisms import gyrostat

    mechanism = gyrostat()
    system = mechanism._replace(loads=mechanism.loads[1:3]).system()
    motion = system.simulate(
        0.2, np.full(7, 0.3), [0.1, 0.2, -0.3, 1.0, 2.0, -1.0, 5.0], inputs=[0.4]
    )
    x = np.concatenate([motion.q, motion.u], axis=1)
    momentum = system.momentum(motion.t, x, [0.4])
    assert np.ptp(momentum.linear, axis=0).max() < 1e-9
    assert np.ptp(momentum.angular, axis=0).max() < 1e-9
    assert np.abs(momentum.angular).min() > 1e-3


def test_a_system_of_joints_and_actuators_has_the_equations_that_it_forms_itself() -> None:
    q, u = me.dynamicsymbols("q1:3"), me.dynamicsymbols("u1:3")
    k, m, g = sm.symbols("k m g")
    wall, cart, bob = (
        me.RigidBody("wall"),
        me.RigidBody("cart", mass=m),
        me.RigidBody("bob", mass=m),
    )
    system = me.System.from_newtonian(wall)
    slide = me.PrismaticJoint("slide", wall, cart, q[0], u[0], joint_axis=wall.x)
    pin = me.PinJoint("pin", cart, bob, q[1], u[1], joint_axis=cart.z, child_point=2 * bob.y)
    system.add_joints(slide, pin)
    path = me.LinearPathway(wall.masscenter, cart.masscenter)
    system.add_actuators(me.LinearSpring(k, path))
    system.apply_uniform_gravity(-g * wall.y)
    names = sorted(
        {*bob.central_inertia.to_matrix(bob.frame).free_symbols, *_inertia(cart)}, key=str
    )
    constants = {each: 0.3 + 0.1 * n for n, each in enumerate(names)} | {k: 7.0, m: 1.3, g: 9.81}
    ours = kd.System(system, constants=constants, backend="numpy")
    x = [0.4, 0.3, 0.2, 0.6]
    system.form_eoms()
    values = dict(zip([*system.q, *system.u], x)) | constants
    M = np.array(system.mass_matrix_full.subs(values), float)
    right = np.array(system.forcing_full.subs(values), float).ravel()
    np.testing.assert_allclose(ours.rhs(0.0, x), np.linalg.solve(M, right), rtol=1e-10)


def _inertia(body: me.RigidBody) -> set[sm.Symbol]:
    return set(body.central_inertia.to_matrix(body.frame).free_symbols)
