"""Mechanisms that are led over time, by constraints that contain t or by prescribed motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me
from mechanisms import four_bar, swinging_on_a_driven_pivot, t
from scipy.integrate import solve_ivp

import kane_dynamics as kd

SPIN, LENGTH, CRANK, ROD = 2.0, 0.4, 0.3, 0.8


def bead_on_a_bar(named: dict[str, Any], offset: float = 0.0, **options: Any) -> kd.System:
    """A particle that slides along a bar, which turns in a level plane and has a mass itself."""
    q, s, u, v = me.dynamicsymbols("q s u v")
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    A = N.orientnew("A", "Axis", [q, N.z])
    A.set_ang_vel(N, (u + offset) * N.z)
    bead = origin.locatenew("bead", s * A.x)
    bead.set_vel(N, v * A.x + s * (u + offset) * A.y)
    bar = me.RigidBody("bar", origin, A, 1.0, (me.inertia(A, 0, 0, 0.2), origin))
    kane = me.KanesMethod(N, [q, s], [u, v], [q.diff(t) - u - offset, s.diff(t) - v])
    parts = [me.Particle("bead", bead, 1.5), bar]
    return kd.System(kane, parts, [], {}, constraints=named, **options)


@pytest.mark.parametrize(("backend", "way"), [("numpy", "place"), ("auto", "speed")])
def test_a_bar_that_is_led_throws_its_bead_outward(backend: Any, way: str) -> None:
    q, u = me.dynamicsymbols("q u")
    led = {"place": q - SPIN * t, "speed": u - SPIN}[way]
    system = bead_on_a_bar({"led": led}, backend=backend)
    motion = system.simulate(0.5, [0.0, 0.3], [SPIN, 0.0], step=5e-3)
    assert motion.completed, motion.message
    s = 0.3 * np.cosh(SPIN * motion.t)
    np.testing.assert_allclose(motion.q, np.stack([SPIN * motion.t, s], axis=1), atol=1e-9)
    v = 0.3 * SPIN * np.sinh(SPIN * motion.t)
    torque = 2.0 * 1.5 * s * v * SPIN
    np.testing.assert_allclose(motion.constraint_forces["led"][:, 0], torque, atol=1e-7)
    np.testing.assert_allclose(motion.work, 1.5 * SPIN**2 * (s**2 - 0.3**2), atol=1e-8)
    assert motion.checks.relative_energy_error < 1e-8


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_corrections_do_not_mistake_offsets_of_kinematics_for_motion(backend: Any) -> None:
    q = me.dynamicsymbols("q")
    system = bead_on_a_bar({"led": q - SPIN * t - 0.1 * sm.sin(3 * t)}, 0.7, backend=backend)
    motion = system.simulate(0.3, [0.0, 0.3], [SPIN + 0.3 - 0.7, 0.0], step=5e-3)
    led = SPIN * motion.t + 0.1 * np.sin(3 * motion.t)
    assert motion.completed, motion.message
    np.testing.assert_allclose(motion.q[:, 0], led, atol=1e-12)


def pendulum_at_a_slider(**options: Any) -> kd.System:
    """A slider that a crank moves through a rod, a pendulum at it, all of particles."""
    q, u = me.dynamicsymbols("q x p"), me.dynamicsymbols("u v w")
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    A, B = (N.orientnew(k, "Axis", [a, N.z]) for k, a in (("A", q[0]), ("B", q[2])))
    A.set_ang_vel(N, u[0] * N.z)
    B.set_ang_vel(N, u[2] * N.z)
    crank = origin.locatenew("crank", CRANK * A.x)
    crank.v2pt_theory(origin, N, A)
    slider = origin.locatenew("slider", q[1] * N.x)
    slider.set_vel(N, u[1] * N.x)
    bob = slider.locatenew("bob", -LENGTH * B.y)
    bob.v2pt_theory(slider, N, B)
    rod = crank.pos_from(slider)
    rows = {"rod": (rod & rod) - ROD**2, "drive": q[0] - crank_angle(t)}
    kane = me.KanesMethod(N, q, u, [a.diff(t) - b for a, b in zip(q, u)])
    parts = [me.Particle(str(each), each, 1.0) for each in (crank, slider, bob)]
    loads = [(each, -9.81 * N.y) for each in (crank, slider, bob)]
    return kd.System(kane, parts, loads, {}, constraints=rows, **options)


def crank_angle(time: Any) -> Any:
    return 0.4 + 3 * time + sm.sin(4 * time) / 5


def swing_at_a_led_slider(duration: float) -> tuple[Any, Any]:
    """Place of the slider over time, and the angle of the pendulum at the end."""
    angle = crank_angle(t)
    x = CRANK * sm.cos(angle) + sm.sqrt(ROD**2 - (CRANK * sm.sin(angle)) ** 2)
    place, pull = (sm.lambdify(t, each) for each in (x, x.diff(t, 2)))

    def rates(time: float, y: Any) -> Any:
        return [y[1], -(9.81 * np.sin(y[0]) + pull(time) * np.cos(y[0])) / LENGTH]

    found = solve_ivp(rates, (0.0, duration), [0.2, 0.0], "DOP853", rtol=1e-12, atol=1e-12)
    return place, found.y[0, -1]


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_a_crank_that_is_led_moves_a_slider_and_what_hangs_on_it(backend: Any) -> None:
    system = pendulum_at_a_slider(backend=backend)
    place, last = swing_at_a_led_slider(0.24)
    q, u = system.assemble([0.4, 1.0, 0.2], [3.8, 0.0, 0.0], fixed=["p", "w"])
    motion = system.simulate(0.24, q, u, step=2e-3, output_step=0.02)
    assert motion.completed, motion.message
    np.testing.assert_allclose(motion.q[:, 1], place(motion.t), atol=1e-11)
    np.testing.assert_allclose(motion.q[-1, 2], last, atol=1e-8)
    assert motion.checks.relative_energy_error < 1e-7


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_adaptive_methods_hold_what_is_led(method: Any) -> None:
    system = pendulum_at_a_slider(backend="numpy")
    place, last = swing_at_a_led_slider(0.3)
    q, u = system.assemble([0.4, 1.0, 0.2], [3.8, 0.0, 0.0], fixed=["p", "w"])
    tolerance = {"dop853": 1e-9, "radau": 1e-6}[method]
    motion = system.simulate(0.3, q, u, output_step=0.02, method=method, tolerance=tolerance)
    assert motion.completed, motion.message
    np.testing.assert_allclose(motion.q[:, 1], place(motion.t), atol=1e-11)
    np.testing.assert_allclose(motion.q[-1, 2], last, atol=1e2 * tolerance)
    assert motion.checks.relative_energy_error < 1e2 * tolerance


def test_speeds_that_do_not_follow_what_leads_are_refused() -> None:
    system = pendulum_at_a_slider(backend="numpy")
    q, _ = system.assemble([0.4, 1.0, 0.2])
    with pytest.raises(kd.ArgumentError, match="u0 violates constraint 'drive'"):
        system.simulate(0.1, q, np.zeros(3))


def test_constraints_that_inputs_change_are_refused() -> None:
    mechanism = four_bar(dependent=False)
    T = mechanism.inputs[0]
    system = mechanism.system(backend="numpy", constraints={"first": mechanism.kane.u[0] - T})
    with pytest.raises(kd.ArgumentError, match="inputs change on the way, expected functions of t"):
        system.simulate(0.1, np.full(3, 0.5), [1.0, 0.0, 0.0], inputs=lambda t, q, u: [1.0])


# ------------------------------------------------------------------------------ prescribed motion
@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_energy_balances_with_the_work_of_a_driven_pivot(backend: Any) -> None:
    m, k = sm.symbols("m k")
    mechanism = swinging_on_a_driven_pivot()
    system = mechanism.system(backend=backend)
    motion = system.simulate(0.5, [0.3, 1.1], [0.5, 0.0], step=5e-3, output_step=0.05)
    (q, r), (u, v) = motion.q.T, motion.u.T
    led = 0.6 * np.cos(2 * motion.t)
    speed = (led + r * u * np.cos(q) + v * np.sin(q)) ** 2
    speed += (r * u * np.sin(q) - v * np.cos(q)) ** 2
    np.testing.assert_allclose(motion.kinetic, 0.75 * speed, atol=1e-12)
    assert np.ptp(motion.kinetic - motion.work) < 1e-6  # loads have no potential here
    assert motion.checks.relative_energy_error < 1e-7
    given = m * 9.81 * (-mechanism.kane.q[1] * sm.cos(mechanism.kane.q[0]))
    given += k * (mechanism.kane.q[1] - 1) ** 2 / 2 + t * mechanism.kane.q[0]
    shown = mechanism.system(backend=backend, potential=given)
    other = shown.simulate(0.5, [0.3, 1.1], [0.5, 0.0], step=5e-3, method="dop853")
    assert other.checks.relative_energy_error < 1e-7


def test_a_bar_turned_as_prescribed_takes_the_torque_of_one_that_is_led() -> None:
    s, v = me.dynamicsymbols("s v")
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    A = N.orientnew("A", "Axis", [SPIN * t + t**3, N.z])
    bead = origin.locatenew("bead", s * A.x)
    bead.set_vel(A, v * A.x)
    bead.v1pt_theory(origin, N, A)
    bar = me.RigidBody("bar", origin, A, 1.0, (me.inertia(A, 0, 0, 0.2), origin))
    kane = me.KanesMethod(N, [s], [v], [s.diff(t) - v])
    parts = [me.Particle("bead", bead, 1.5), bar]
    turned = kd.System(kane, parts, [], {}, backend="numpy")
    motion = turned.simulate(0.5, [0.3], [0.0], step=5e-3)
    led = bead_on_a_bar({"led": me.dynamicsymbols("q") - SPIN * t - t**3}, backend="numpy")
    other = led.simulate(0.5, [0.0, 0.3], [SPIN, 0.0], step=5e-3)
    np.testing.assert_allclose(motion.work, other.work, atol=1e-8)
    assert motion.work[-1] > 1.0
    assert motion.checks.relative_energy_error < 1e-8


def test_energy_balances_where_inputs_prescribe_motion() -> None:
    """A double pendulum in relative angles, whose pivot follows an input."""
    q, u, f = me.dynamicsymbols("q1:3"), me.dynamicsymbols("u1:3"), me.dynamicsymbols("f")
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    last, frame, bodies, loads = origin.locatenew("pivot", f * N.y), N, [], []
    last.set_vel(N, f.diff(t) * N.y)
    for k in range(2):
        frame = frame.orientnew(f"A{k}", "Axis", [q[k], frame.z])
        frame.set_ang_vel(N, sum(u[: k + 1]) * N.z)
        centre = last.locatenew(f"C{k}", -0.2 * frame.y)
        tip = last.locatenew(f"P{k}", -0.4 * frame.y)
        centre.v2pt_theory(last, N, frame)
        tip.v2pt_theory(last, N, frame)
        inertia = me.inertia(frame, 0, 0, 0.03)
        bodies.append(me.RigidBody(f"B{k}", centre, frame, 1.0 + k, (inertia, centre)))
        loads.append((centre, -9.81 * (1.0 + k) * N.y))
        last = tip
    kane = me.KanesMethod(N, q, u, [a.diff(t) - b for a, b in zip(q, u)])
    inputs = [f, f.diff(t), f.diff(t, 2)]
    height = 9.81 * sum(
        (1.0 + k) * (b.masscenter.pos_from(origin) & N.y) for k, b in enumerate(bodies)
    )
    system = kd.System(kane, bodies, loads, {}, inputs=inputs, potential=height, backend="numpy")

    def shaken(time: float, q: Any, u: Any) -> list[float]:
        return [0.1 * np.sin(9 * time), 0.9 * np.cos(9 * time), -8.1 * np.sin(9 * time)]

    motion = system.simulate(0.4, [0.4, -0.3], [0.0, 0.0], shaken, step=4e-3)
    assert np.ptp(motion.work) > 1.0
    assert motion.checks.relative_energy_error < 1e-7


def test_work_that_is_not_known_is_not_judged() -> None:
    system = swinging_on_a_driven_pivot().system(backend="numpy")
    motion = system.simulate(0.1, [0.3, 1.1], [0.5, 0.0], step=5e-3, method="euler")
    assert np.isnan(motion.checks.energy_error)
    assert np.isnan(motion.checks.relative_energy_error)
    coupled = {"coupled": me.dynamicsymbols("u") - me.dynamicsymbols("v")}
    system = swinging_on_a_driven_pivot().system(backend="numpy", constraints=coupled)
    motion = system.simulate(0.02, [0.3, 1.1], [0.5, 0.5], step=5e-3)
    assert np.isnan(motion.checks.energy_error)
    assert motion.checks.round_trip_error < 1e-10
