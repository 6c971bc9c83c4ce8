"""Constraints of mechanisms modelled in SymPy: embedded, held, assembled, and what they exert."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sympy.physics.mechanics as me
from mechanisms import Mechanism, four_bar, rolling_disk, sympy_rates, t

import kane_dynamics as kd

MECHANISMS: dict[str, Callable[[], Mechanism]] = {"four bar": four_bar, "disk": rolling_disk}


@pytest.mark.parametrize("name", MECHANISMS)
def test_rates_under_constraints_are_those_of_kanes_equations(name: str) -> None:
    mechanism = MECHANISMS[name]()
    system = mechanism.system(backend="numpy")
    inputs = [0.4] * len(system.input_names)
    begin = np.random.default_rng(0).uniform(0.5, 1.0, system.nq + system.dof)
    q, u = system.assemble(begin[: system.nq], begin[system.nq :])
    x = np.concatenate([q, u])
    expected = sympy_rates(mechanism, 0.0, x, inputs)
    np.testing.assert_allclose(system.rhs(0.0, x, inputs), expected, rtol=1e-10, atol=1e-10)
    wrong = x.copy()
    wrong[-1] += 0.3  # a dependent speed, which is computed anew
    np.testing.assert_allclose(system.rhs(0.0, wrong, inputs), expected, rtol=1e-9, atol=1e-9)
    M, bias = system.mass_matrix(0.0, x, inputs), system.bias(0.0, x, inputs)
    own = [system.speed_names.index(each) for each in system.independent_speeds]
    np.testing.assert_allclose(M @ expected[system.nq :][own] + bias, 0.0, atol=1e-10)


def test_constraints_given_by_name_do_what_dependent_speeds_do() -> None:
    embedded = four_bar().system(backend="numpy")
    free = four_bar(dependent=False)
    q = free.kane.q
    tip = free.bodies[2].masscenter.pos_from(free.bodies[0].masscenter)
    N, A0, A2 = free.kane._inertial, free.bodies[0].frame, free.bodies[2].frame
    closing = tip + 0.15 * A0.x + 0.3 * A2.x - 0.7 * N.x
    rows = [closing & N.x, closing & N.y]
    system = free.system(backend="numpy", constraints={"loop": rows})
    assert system.constraint_names == ("loop",)
    state, speeds = system.assemble([1.0, -0.8, -1.9], [1.0, 0.0, 0.0], fixed=[q[0], "u1"])
    assert (state[0], speeds[0]) == (1.0, 1.0)
    x = np.concatenate([state, speeds])
    np.testing.assert_allclose(
        system.rhs(0.0, x, [0.3]), embedded.rhs(0.0, x, [0.3]), rtol=1e-9, atol=1e-9
    )
    both = np.array([x, x])
    np.testing.assert_allclose(system.rhs(0.0, both, [0.3])[1], system.rhs(0.0, x, [0.3]))


def test_a_loop_stays_closed_and_energy_balances() -> None:
    system = four_bar().system()
    q, u = system.assemble([1.0, -0.8, -1.9], [2.0, 0.0, 0.0], fixed=["q1", "u1"])
    motion = system.simulate(0.2, q, u, inputs=[1.0], step=2e-3)
    assert motion.completed, motion.message
    assert motion.checks.relative_energy_error < 1e-6
    a, b, c = np.cumsum(motion.q, axis=1).T
    x = 0.3 * np.cos(a) + 0.8 * np.cos(b) + 0.6 * np.cos(c) - 0.7
    y = 0.3 * np.sin(a) + 0.8 * np.sin(b) + 0.6 * np.sin(c)
    assert np.abs([x, y]).max() < 1e-9


def test_forces_of_constraints_are_those_of_auxiliary_speeds() -> None:
    x = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    named = rolling_disk().system(backend="numpy")
    asked = rolling_disk(auxiliary=True).system(backend="numpy")
    held = named.constraint_forces(0.0, np.concatenate([x, np.zeros(3)]))
    found = asked.forces(0.0, x)
    assert list(found) == ["f1", "f2", "f3"]
    np.testing.assert_allclose([*found.values()], np.ravel([*held.values()]), rtol=1e-10)
    rates = named.rhs(0.0, np.concatenate([x, np.zeros(3)]))
    np.testing.assert_allclose(asked.rhs(0.0, x), rates[:6], rtol=1e-10)


def sled(friction: float = 0.0, named: dict[str, object] | None = None) -> kd.System:
    """A particle that slides on a plane, pressed on it by a force that is asked for."""
    q, u, ua, N_c = me.dynamicsymbols("q u ua N_c")
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    P = origin.locatenew("P", q * N.x)
    P.set_vel(N, u * N.x + ua * N.y)
    kane = me.KanesMethod(N, [q], [u], [q.diff(t) - u], u_auxiliary=[ua])
    loads = [(P, -2.0 * 9.81 * N.y), (P, N_c * N.y - friction * N_c * N.x + u * u * N.y)]
    return kd.System(kane, [me.Particle("P", P, 2.0)], loads, {}, constraints=named)


def test_friction_by_an_unknown_normal_force_slows_a_sled() -> None:
    system = sled(0.3)
    normal = 2.0 * 9.81 - 0.5**2
    assert system.forces(0.0, [0.0, 0.5])["N_c"] == pytest.approx(normal)
    assert system.rhs(0.0, [0.0, 0.5])[1] == pytest.approx(-0.3 * normal / 2.0)
    motion = system.simulate(0.05, [0.0], [0.5])
    assert motion.u[-1, 0] < 0.36
    assert motion.work[-1] < -0.1
    assert motion.checks.relative_energy_error < 1e-8


def test_the_constraint_that_cannot_close_is_named() -> None:
    system = four_bar().system(backend="numpy")
    with pytest.raises(kd.ArgumentError, match=r"constraint 'configuration .' cannot be assembled"):
        system.assemble([1.0, 0.0, 0.0], fixed=["q1", "q2", "q3"])
    with pytest.raises(kd.ArgumentError, match="q0 violates constraint 'configuration 2'"):
        system.simulate(0.1, [1.0, 0.0, 0.0], np.zeros(3), inputs=[0.0])


def test_constraints_that_make_no_sense_are_named() -> None:
    u = me.dynamicsymbols("u")
    with pytest.raises(kd.ModelError, match="constraint 'odd' is not linear in the speed u"):
        sled(named={"odd": u**2 - 1})
    with pytest.raises(kd.ModelError, match="leave no freedom to 1 speeds"):
        sled(named={"still": u})


def test_constraints_that_contradict_others_are_named() -> None:
    mechanism = four_bar(dependent=False)
    u = mechanism.kane.u
    rows = {"first": u[0] - 1, "second": 2 * u[0] - 3}
    with pytest.raises(kd.ModelError, match="constraint 'second' contradicts those before it"):
        mechanism.system(constraints=rows)
    steady = mechanism.system(backend="numpy", constraints={"first": u[0] - 1})
    assert steady.rhs(0.0, np.full(6, 0.5), [0.0])[0] == 1.0
    motion = steady.simulate(0.1, np.full(3, 0.5), [1.0, 0.0, 0.0], inputs=[0.0])
    np.testing.assert_allclose(motion.q[:, 0], 0.5 + motion.t, atol=1e-12)
    with pytest.raises(kd.ArgumentError, match="u0 violates constraint 'first'"):
        steady.simulate(0.1, np.full(3, 0.5), [0.9, 0.0, 0.0], inputs=[0.0])


def test_redundant_constraints_are_found_and_named() -> None:
    mechanism = four_bar(dependent=False)
    u = mechanism.kane.u
    rows = {"first": u[0] - 2 * u[1], "second": 1e6 * (2 * u[1] - u[0])}
    system = mechanism.system(backend="numpy", constraints=rows)
    assert system.redundant == ("second",)
    assert system.constraint_names == ("first",)


def test_places_that_contradict_each_other_are_named() -> None:
    mechanism = four_bar(dependent=False)
    q = mechanism.kane.q
    rows = {"here": q[0] + q[1] - 1, "there": 2e3 * (q[0] + q[1]) - 3}
    with pytest.raises(kd.ModelError, match="constraint 'there' contradicts those before it"):
        mechanism.system(constraints=rows)
    twice = {"here": q[0] + q[1] - 1, "again": 2e3 * (q[0] + q[1]) - 2e3}
    assert mechanism.system(constraints=twice).redundant == ("again",)


def test_a_place_is_held_though_its_rate_was_held_before() -> None:
    mechanism = four_bar(dependent=False)
    q, u = mechanism.kane.q, mechanism.kane.u
    system = mechanism.system(backend="numpy", constraints={"rate": u[0], "place": q[0] - 1})
    assert system.redundant == ("rate",)
    assert system.assemble([0.3, 0.0, 0.0])[0][0] == pytest.approx(1.0)


def test_a_parallelogram_that_is_folded_flat_has_the_accelerations_of_its_swing() -> None:
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    frames = [N.orientnew(f"A{k}", "Axis", [q[k], N.z]) for k in range(3)]
    for frame, speed in zip(frames, u):
        frame.set_ang_vel(N, speed * N.z)
    crank = origin.locatenew("crank", 0.3 * frames[0].x)
    rod = crank.locatenew("rod", 0.8 * frames[1].x)
    rocker = origin.locatenew("rocker", 0.8 * N.x + 0.3 * frames[2].x)
    crank.v2pt_theory(origin, N, frames[0])
    rod.v2pt_theory(crank, N, frames[1])
    rocker.set_vel(N, 0.3 * u[2] * frames[2].y)
    closing = rod.pos_from(rocker)
    rows = [closing & N.x, closing & N.y]
    kane = me.KanesMethod(N, q, u, [a.diff(t) - b for a, b in zip(q, u)])
    bodies = [me.Particle(str(each), each, 1.0) for each in (crank, rod, rocker)]
    system = kd.System(kane, bodies, [], {}, constraints={"loop": rows}, backend="numpy")
    flat = [0.0, 0.0, 0.0, 1.0, 0.0, 1.0]  # where it could swing on with crossed bars as well
    np.testing.assert_allclose(system.rhs(0.0, flat), [1.0, 0.0, 1.0, 0.0, 0.0, 0.0], atol=1e-9)
    for function in (system.mass_matrix, system.linearize):
        with pytest.raises(kd.SingularError, match=f"{function.__name__}: in this state the other"):
            function(0.0, flat)


def ladder(u_dependent: int) -> Mechanism:
    """A rod whose ends slide along two walls: a particle in its middle goes round a circle."""
    q, u = me.dynamicsymbols("x y"), me.dynamicsymbols("u v")
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    P = origin.locatenew("P", q[0] * N.x + q[1] * N.y)
    P.set_vel(N, u[0] * N.x + u[1] * N.y)
    speeds = [u[1 - u_dependent], u[u_dependent]]
    row = q[0] ** 2 + q[1] ** 2 - 1
    kane = me.KanesMethod(
        N,
        [q[1 - u_dependent]],
        speeds[:1],
        [a.diff(t) - b for a, b in zip((q[1 - u_dependent], q[u_dependent]), speeds)],
        q_dependent=[q[u_dependent]],
        configuration_constraints=[row],
        u_dependent=speeds[1:],
        velocity_constraints=[2 * q[0] * u[0] + 2 * q[1] * u[1]],
    )
    return Mechanism(kane, [me.Particle("P", P, 2.0)], [(P, -2.0 * 9.81 * N.y)], {})


@pytest.mark.parametrize("dependent", [0, 1])
def test_a_motion_passes_where_the_named_choice_of_speeds_is_singular(dependent: int) -> None:
    system = ladder(dependent).system(backend="numpy")
    horizontal = system.coordinate_names.index("x")
    q0 = np.zeros(2)
    q0[horizontal] = 1.0  # where the y axis alone can move, and later the x axis alone
    rates = system.rhs(0.0, [*q0, 0.0, 0.0])
    np.testing.assert_allclose(rates[2 + 1 - horizontal], -9.81, rtol=1e-9)
    motion = system.simulate(1.5, q0, np.zeros(2), step=5e-3)
    assert motion.completed, motion.message
    x, y = motion.q[:, horizontal], motion.q[:, 1 - horizontal]
    assert np.abs(x**2 + y**2 - 1.0).max() < 1e-10
    assert x.min() < -0.99
    speed = (motion.u**2).sum(axis=1)
    np.testing.assert_allclose(speed, -2 * 9.81 * y, atol=1e-4)


def test_a_cart_has_fewer_speeds_than_coordinates() -> None:
    x, y, angle, roll = q = me.dynamicsymbols("x y a r")
    v, w, s = u = me.dynamicsymbols("v w s")
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    A = N.orientnew("A", "Axis", [angle, N.z])
    A.set_ang_vel(N, w * N.z)
    C = origin.locatenew("C", x * N.x + y * N.y)
    C.set_vel(N, v * A.x)
    G = C.locatenew("G", 0.2 * A.x)
    G.v2pt_theory(C, N, A)
    moving = v * A.x
    kinematical = [x.diff(t) - (moving & N.x), y.diff(t) - (moving & N.y)]
    kinematical += [angle.diff(t) - w, roll.diff(t) - s]
    kane = me.KanesMethod(N, q, u, kinematical)
    body = me.RigidBody("cart", G, A, 3.0, (me.inertia(A, 0, 0, 0.5), G))
    rotor = me.RigidBody("rotor", C, A.orientnew("R", "Axis", [roll, A.y]), 0.1)
    rotor.frame.set_ang_vel(A, s * A.y)
    rotor.central_inertia = me.inertia(A, 0.01, 0.02, 0.01)
    mechanism = Mechanism(kane, [body, rotor], [(A, 0.3 * N.z)], {})
    system = mechanism.system(backend="numpy")
    state = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    np.testing.assert_allclose(
        system.rhs(0.0, state), sympy_rates(mechanism, 0.0, state), rtol=1e-10, atol=1e-12
    )
