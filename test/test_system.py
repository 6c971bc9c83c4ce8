"""Mechanisms modelled in SymPy: the equations are Kane's, as SymPy forms them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me
from mechanisms import (
    Mechanism,
    chain,
    gyrostat,
    pendulum_on_cart,
    swinging_on_a_driven_pivot,
    sympy_rates,
)

import kane_dynamics as kd

MECHANISMS: dict[str, Callable[[], Mechanism]] = {
    "cart": lambda: pendulum_on_cart(3),
    "chain": lambda: chain(3),
    "gyrostat": gyrostat,
    "driven": swinging_on_a_driven_pivot,
}


@pytest.fixture(params=MECHANISMS, scope="module")
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    return MECHANISMS[request.param]()


@pytest.fixture(scope="module")
def system(mechanism: Mechanism) -> kd.System:
    return mechanism.system(backend="numpy")


def state(system: kd.System, seed: int = 0) -> tuple[float, np.ndarray, list[float]]:
    choose = np.random.default_rng(seed)
    x = choose.uniform(0.2, 1.2, system.nq + system.dof)
    return 0.7, x, [0.9] * len(system.input_names)


def test_rates_are_those_of_kanes_equations(mechanism: Mechanism, system: kd.System) -> None:
    time, x, inputs = state(system)
    expected = sympy_rates(mechanism, time, x, inputs)
    np.testing.assert_allclose(system.rhs(time, x, inputs), expected, rtol=1e-10, atol=1e-10)


def test_mass_matrix_and_bias_make_the_same_equations(system: kd.System) -> None:
    time, x, inputs = state(system, 1)
    M, bias = system.mass_matrix(time, x, inputs), system.bias(time, x, inputs)
    np.testing.assert_allclose(M, M.T, atol=1e-14)
    udot = system.rhs(time, x, inputs)[system.nq :]
    np.testing.assert_allclose(M @ udot + bias, 0.0, atol=1e-10)


def test_a_batch_is_many_states(system: kd.System) -> None:
    time, x, inputs = state(system, 2)
    states = x + np.linspace(0.0, 0.1, 3)[:, None]
    together = system.rhs([time] * 3, states, inputs)
    for each, one in zip(states, together):
        np.testing.assert_allclose(system.rhs(time, each, inputs), one, atol=1e-12)


@pytest.mark.parametrize("n", [3, 8])
def test_operations_of_a_chain_grow_with_its_length(n: int) -> None:
    once = pendulum_on_cart(n).system().operations("rhs").total
    twice = pendulum_on_cart(2 * n).system().operations("rhs").total
    assert twice < 2.2 * once


def test_energy_of_a_motion_balances_the_work_of_loads() -> None:
    motion = (
        pendulum_on_cart(2)
        .system()
        .simulate(1.0, [0.0, 0.3, -0.2], np.zeros(3), inputs=lambda t, q, u: [np.sin(5 * t) - q[0]])
    )
    assert motion.completed
    assert motion.checks.relative_energy_error < 1e-7
    assert motion.checks.round_trip_error < 1e-10


def test_adjustable_constants_change_without_deriving_again() -> None:
    mechanism = swinging_on_a_driven_pivot()
    m, k = mechanism.constants
    system = mechanism.system(adjustable=[k], backend="numpy")
    time, x, _ = state(system)
    system.constants[k] = 35.0
    changed = mechanism._replace(constants={**mechanism.constants, k: 35.0})
    expected = changed.system(backend="numpy").rhs(time, x)
    np.testing.assert_allclose(system.rhs(time, x), expected, rtol=1e-13)
    with pytest.raises(kd.ArgumentError, match="constant m is not adjustable"):
        system.constants[m] = 1.0


def test_a_potential_takes_the_place_of_the_work_of_its_loads() -> None:
    mechanism = pendulum_on_cart(1)
    q = mechanism.kane.q
    m1, l0, g = sm.symbols("m1 l0 g")
    potential = m1 * g * l0 * sm.cos(q[1])
    system = mechanism.system(potential=potential)
    motion = system.simulate(1.0, [0.0, 0.5], [0.0, 0.0], inputs=[0.0])
    assert np.abs(motion.work).max() < 1e-12
    assert np.ptp(motion.kinetic + motion.potential) < 1e-7
    assert np.ptp(motion.potential) > 0.1


def test_a_body_that_does_not_turn_needs_no_inertia() -> None:
    ground, cart = me.RigidBody("ground"), me.RigidBody("cart", mass=2.0)
    model = me.System.from_newtonian(ground)
    model.add_joints(me.PrismaticJoint("slide", ground, cart))
    model.add_loads(me.Force(cart, 3.0 * ground.x))
    np.testing.assert_allclose(kd.System(model).rhs(0.0, [0.0, 0.5]), [0.5, 1.5])


def test_partial_velocities_are_vectors_in_the_frames_of_the_model() -> None:
    table = pendulum_on_cart(2).system().partial_velocities()
    u = table.speeds
    assert [str(table["P2"][each]) for each in u] == ["I.x", "- l0*B0.x", "- l1*B1.x"]
    assert str(table).splitlines()[1].split() == ["P0", "I.x", "0", "0"]
    assert r"\hat{i}_x" in table.latex()


def test_sources_and_equations_can_be_looked_at() -> None:
    system = pendulum_on_cart(1).system()
    assert "void rhs(const double x[4], const double inputs[1]" in system.source("rhs")
    assert "def rhs(x, inputs)" in system.source("rhs", "python")
    _, outputs = system.equations("rhs")
    assert outputs[0] == sm.Symbol("x3", real=True)


# ----------------------------------------------------------------------------------- bad input
def pendulum(load: object = 0, **options: object) -> kd.System:
    q, u = me.dynamicsymbols("q u")
    N, origin = me.ReferenceFrame("N"), me.Point("O")
    A = N.orientnew("A", "Axis", [q, N.z])
    A.set_ang_vel(N, u * N.z)
    origin.set_vel(N, 0)
    P = origin.locatenew("P", A.x)
    P.v2pt_theory(origin, N, A)
    kane = me.KanesMethod(N, [q], [u], kd_eqs=[q.diff() - u])
    return kd.System(kane, [me.Particle("B", P, 1)], [(P, load * N.y)], **options)


x, c = me.dynamicsymbols("x"), sm.Symbol("c")


@pytest.mark.parametrize(
    ("load", "options", "message"),
    [
        (c, {}, "the load at P has c, which is neither coordinate, speed, input nor constant"),
        (x, {}, "the load at P has x"),
        (sm.gamma(x), {"inputs": [x]}, r"gamma\(…\), which is no function known here"),
        (c, {"constants": {c: "two"}}, "constants: c is 'two', expected a finite number"),
        (c, {"constants": {c: 1.0}, "inputs": [c]}, "c is a constant and an input"),
        (c, {"constants": {c: 1.0}, "adjustable": [x]}, r"x\(t\) has no value in constants"),
        (c, {"inputs": ["c"]}, "inputs: 'c' is no symbol of SymPy"),
        (me.dynamicsymbols("u", 1), {}, "has the acceleration"),
        (0, {"inputs": [me.dynamicsymbols._t]}, "t is an input and the time"),
        (0, {"potential": "q"}, "potential is 'q', expected an expression"),
        (0, {"constraints": {"a": "q"}}, "constraint 'a' is 'q', expected an expression"),
    ],
)
def test_wrong_symbols_are_named(load: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(kd.KaneDynamicsError, match=message):
        pendulum(load, **options)


def test_functions_of_constants_are_those_of_sympy() -> None:
    x = [0.2, 0.0]
    rate = pendulum(sm.gamma(c), constants={c: 4.0}).rhs(0.0, x)
    np.testing.assert_allclose(rate, pendulum(6.0).rhs(0.0, x), rtol=1e-14)
    with pytest.raises(kd.ModelError, match=r"gamma\(…\), which is no function known here"):
        pendulum(sm.gamma(c), constants={c: 4.0}, adjustable=[c])


def test_a_load_that_is_no_vector_is_named() -> None:
    mechanism = pendulum_on_cart(1)
    (point, _), *_ = mechanism.loads
    with pytest.raises(kd.ArgumentError, match=r"is x\(t\), expected a vector"):
        mechanism._replace(loads=[(point, x)]).system()


def test_states_at_several_times_are_a_batch_though_nothing_depends_on_time() -> None:
    system = pendulum()
    one = system.rhs(0.0, [0.3, 0.1])
    np.testing.assert_array_equal(system.rhs([0.0, 1.0], [0.3, 0.1]), [one, one])
    with pytest.raises(kd.ArgumentError, match="t has 2 entries, but x has 3 states"):
        system.rhs([0.0, 1.0], np.zeros((3, 2)))
    with pytest.raises(kd.ArgumentError, match="t must be a number"):
        system.rhs(np.zeros((2, 2)), [0.3, 0.1])


def test_missing_inputs_are_named() -> None:
    system = pendulum(x, inputs=[x])
    with pytest.raises(kd.ArgumentError, match="inputs must have shape"):
        system.rhs(0.0, [0.0, 0.0])
    with pytest.raises(kd.ArgumentError, match="inputs is missing, expected values of x"):
        system.simulate(0.1, [0.0], [0.0])
