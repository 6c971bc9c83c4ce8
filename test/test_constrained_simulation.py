"""Motions of robots with constraints: loops stay closed, wheels do not slip, energy balances."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from linkages import (
    BASE,
    COUPLER,
    CRANK,
    DIFFERENTIAL_DRIVE,
    FIVE_BAR,
    FIVE_BAR_LOOP,
    FOUR_BAR,
    FOUR_BAR_LOOP,
    RADIUS,
    ROCKER,
    WHEELS,
)
from scipy.integrate import solve_ivp

import kane_dynamics as kd
from kane_dynamics.arrays import Array
from kane_dynamics.simulation.compiled import CompiledSteps

DOWN = (0.0, -9.81, 0.0)
STILL = np.zeros(3)


def _four_bar(*others, text: str = FOUR_BAR) -> kd.ConstrainedDynamics:
    robot = kd.load(text, constraints=[FOUR_BAR_LOOP, *others], gravity=DOWN)
    assert isinstance(robot, kd.ConstrainedDynamics)
    return robot


def _gap(robot: kd.Dynamics, loop: kd.Loop, q: Array) -> float:
    """How far the two points of a loop are apart, in the worst of many configurations."""
    one, two = robot.pose(loop.link1, q), robot.pose(loop.link2, q)
    apart = one @ [*loop.at1[:3], 1.0] - two @ [*loop.at2[:3], 1.0]
    return float(np.abs(apart).max())


def _crank_rates(theta: float) -> tuple[Array, Array, Array]:
    """Angles of coupler and rocker in the ground, and their first two derivatives by the crank's.

    Angles from two circles that meet, derivatives from the closure differentiated once and twice.
    """
    x, y = CRANK * np.cos(theta), CRANK * np.sin(theta)
    dx, dy = BASE - x, -y
    d = np.hypot(dx, dy)
    along = (COUPLER**2 - ROCKER**2 + d * d) / (2 * d)
    across = np.sqrt(COUPLER**2 - along**2)
    px, py = x + (along * dx - across * dy) / d, y + (along * dy + across * dx) / d
    b, c = np.arctan2(py - y, px - x), np.arctan2(py, px - BASE)
    block = np.array(
        [[-COUPLER * np.sin(b), ROCKER * np.sin(c)], [COUPLER * np.cos(b), -ROCKER * np.cos(c)]]
    )
    first = np.linalg.solve(block, [CRANK * np.sin(theta), -CRANK * np.cos(theta)])
    right = np.array([CRANK * np.cos(theta), CRANK * np.sin(theta)])
    right += COUPLER * first[0] ** 2 * np.array([np.cos(b), np.sin(b)])
    right -= ROCKER * first[1] ** 2 * np.array([np.cos(c), np.sin(c)])
    return np.array([b, c]), first, np.linalg.solve(block, right)


def _crank_acceleration(t: float, state: Array) -> list[float]:
    """By Lagrange's equation in the angle of the crank alone."""
    theta, speed = state
    (b, c), (b1, c1), (b2, c2) = _crank_rates(theta)
    half = COUPLER / 2
    v = CRANK * np.array([-np.sin(theta), np.cos(theta)])
    v = v + half * b1 * np.array([-np.sin(b), np.cos(b)])
    dv = -CRANK * np.array([np.cos(theta), np.sin(theta)])
    dv = dv + half * b2 * np.array([-np.sin(b), np.cos(b)])
    dv = dv - half * b1**2 * np.array([np.cos(b), np.sin(b)])
    inertia = CRANK**2 / 3 + 0.5 * ROCKER**2 * c1**2 + 2.0 * v @ v + COUPLER**2 / 6 * b1**2
    slope = ROCKER**2 * c1 * c2 + 4.0 * v @ dv + COUPLER**2 / 3 * b1 * b2
    weight = CRANK / 2 * np.cos(theta) + 2.0 * v[1] + 0.75 * ROCKER * np.cos(c) * c1
    return [speed, -(0.5 * slope * speed**2 + 9.81 * weight) / inertia]


def test_a_four_bar_swings_as_in_minimal_coordinates() -> None:
    robot = _four_bar()
    (b, c), (b1, c1), _ = _crank_rates(1.0)
    q0, u0 = [1.0, b - 1.0, c], [0.5, 0.5 * (b1 - 1.0), 0.5 * c1]
    motion = robot.simulate(1.0, q0, u0, step=1e-3, output_step=0.1)
    exact = solve_ivp(
        _crank_acceleration, (0.0, 1.0), [1.0, 0.5], "DOP853", motion.t, rtol=1e-12, atol=1e-12
    )
    assert motion.completed
    np.testing.assert_allclose(motion.q[:, 0], exact.y[0], atol=2e-7)
    np.testing.assert_allclose(motion.u[:, 0], exact.y[1], atol=2e-6)
    assert _gap(robot, FOUR_BAR_LOOP, motion.q) < 1e-10
    assert motion.checks.relative_energy_error < 1e-7
    assert motion.checks.round_trip_error < 1e-9


def test_a_five_bar_under_torques_stays_closed_and_balances_its_energy() -> None:
    robot = kd.load(FIVE_BAR, constraints=[FIVE_BAR_LOOP], actuated=["m1", "m2"], gravity=DOWN)
    q = robot.assemble([2.0, -1.0, 1.0, 1.0])
    torque = robot.gravity(q) + np.array([0.2, 0.0, -0.1, 0.0])
    motion = robot.simulate(0.5, q, np.zeros(4), torque=torque, step=1e-3)
    assert motion.completed
    assert np.abs(motion.u[-1]).max() > 0.1
    assert _gap(robot, FIVE_BAR_LOOP, motion.q) < 1e-10
    assert motion.checks.relative_energy_error < 1e-7


def test_gravity_torques_hold_a_robot_where_it_is() -> None:
    robot = kd.load(FIVE_BAR, constraints=[FIVE_BAR_LOOP], actuated=["m1", "m2"], gravity=DOWN)
    q = robot.assemble([2.0, -1.0, 1.0, 1.0])
    motion = robot.simulate(0.1, q, np.zeros(4), torque=robot.gravity(q), step=1e-3)
    np.testing.assert_allclose(motion.q[-1], q, atol=1e-10)


def test_a_cart_goes_straight_as_fast_as_its_mass_and_wheels_allow() -> None:
    cart = kd.load(DIFFERENTIAL_DRIVE, constraints=WHEELS)
    torque = [0.0, 0.0, 0.0, 0.3, 0.3, 0.0]
    motion = cart.simulate(0.5, np.zeros(6), np.zeros(6), torque=torque, step=1e-3)
    felt = 6.0 + 1.6 + 1.0 + 2 * 0.004 / RADIUS**2
    expected = 0.5 * (0.6 / RADIUS) / felt * motion.t**2
    np.testing.assert_allclose(motion.q[:, 0], expected, atol=1e-10)
    np.testing.assert_allclose(motion.q[:, 3], expected / RADIUS, atol=1e-10)


def test_a_cart_that_turns_does_not_slip_sideways() -> None:
    cart = kd.load(DIFFERENTIAL_DRIVE, constraints=WHEELS)
    torque = [0.0, 0.0, 0.0, 0.3, -0.1, 0.05]
    motion = cart.simulate(0.5, np.zeros(6), np.zeros(6), torque=torque, step=1e-3)
    heading = motion.q[:, 2]
    slip = np.cos(heading) * motion.u[:, 1] - np.sin(heading) * motion.u[:, 0]
    assert np.abs(heading[-1]) > 0.05
    assert np.abs(slip).max() < 1e-10
    assert motion.checks.relative_energy_error < 1e-7


@pytest.mark.parametrize(("friction", "moves"), [(20.0, False), (0.5, True)])
def test_dry_friction_in_a_joint_holds_a_linkage_up_to_its_limit(friction, moves) -> None:
    rough = FOUR_BAR.replace(
        '<axis xyz="0 0 1"/></joint>',
        f'<axis xyz="0 0 1"/><dynamics friction="{friction}"/></joint>',
        1,
    )
    robot = _four_bar(text=rough)
    q = robot.assemble([1.0, -0.3, 1.5], fixed=["a"])
    motion = robot.simulate(0.3, q, STILL, step=1e-3)
    energy = motion.kinetic + motion.potential
    assert motion.completed
    if moves:
        assert energy[-1] < energy[0] - 0.05
        assert motion.checks.relative_energy_error < 1e-6
    else:
        assert np.abs(motion.q - q).max() < 1e-10
        assert abs(robot.gravity(q)).max() > 0.5


def test_a_brake_that_is_put_on_keeps_what_it_finds() -> None:
    robot = _four_bar(kd.Lock("brake", "a", active=False))
    q = robot.assemble([1.0, -0.3, 1.5], fixed=["a"])
    first = robot.simulate(0.2, q, STILL, step=1e-3)
    robot.set_active("brake", True, first.q[-1])
    u = robot.admissible_speeds(first.q[-1], first.u[-1])
    assert np.abs(u).max() < 1e-10  # a four-bar has no other motion
    second = robot.simulate(0.1, first.q[-1], u, step=1e-3)
    np.testing.assert_allclose(second.q, np.tile(first.q[-1], (len(second.q), 1)), atol=1e-9)


@pytest.mark.parametrize("friction", [0.0, 0.05])
def test_long_runs_are_written_out_and_go_as_short_ones_do(friction: float, monkeypatch) -> None:
    """With torques, a switch on the way, a joint that sticks and slides, and rows between steps."""
    rough = FOUR_BAR.replace(
        '<child link="rocker"/>',
        f'<child link="rocker"/><dynamics damping="0.1" friction="{friction}"/>',
    )
    robot = _four_bar(kd.Lock("brake", "a", active=False), text=rough)
    q = robot.assemble([1.0, -0.5, 1.5], fixed=["a"])
    switches = [kd.Switch("brake", on=True, at=0.08), kd.Switch("brake", on=False, at=0.1205)]
    embeds, motions = [], []
    asked = CompiledSteps._embed_constraints
    for long in (10**9, 100):
        monkeypatch.setattr("kane_dynamics.simulation.compiled.LONG", long)
        monkeypatch.setattr(
            CompiledSteps,
            "_embed_constraints",
            lambda run: (asked(run), embeds.append(bool(run.run.embedded)))[0],
        )
        motions.append(
            robot.simulate(
                0.2,
                q,
                STILL,
                torque=[0.5, 0.0, 0.0],
                step=1e-3,
                output_step=7.3e-4,
                switches=switches,
            )
        )
    assert embeds == [False, True]
    by_rows, written = motions
    for name in ("q", "u", "udot", "other_forces", "work"):
        expected = getattr(by_rows, name)
        size = np.abs(expected).max()
        np.testing.assert_allclose(getattr(written, name), expected, rtol=0, atol=1e-8 * size)
    brakes = (written.t > 0.0799) & (written.t < 0.121)  # a joint that sticks is held twice
    for name in ("c", "brake"):
        found, expected = (e.constraint_forces[name] for e in (written, by_rows))
        if friction:
            found, expected = found[~brakes], expected[~brakes]
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * size)
    assert [e.kind for e in written.events] == [e.kind for e in by_rows.events]
    assert _gap(robot, FOUR_BAR_LOOP, written.q) < 1e-11


def test_a_long_run_stays_closed_where_its_order_of_elimination_ends(monkeypatch) -> None:
    """The crank of a four-bar turns round fast: dependent speeds must be chosen again."""
    monkeypatch.setattr("kane_dynamics.simulation.compiled.LONG", 100)
    robot = _four_bar()
    q = robot.assemble([1.0, -0.5, 1.5], fixed=["a"])
    u = robot.admissible_speeds(q, [12.0, 0.0, 0.0])
    motion = robot.simulate(1.0, q, u, step=5e-4)
    assert np.ptp(motion.q[:, 0]) > 6.0
    assert _gap(robot, FOUR_BAR_LOOP, motion.q) < 1e-11
    total = motion.kinetic + motion.potential - motion.work
    np.testing.assert_allclose(total, total[0], atol=1e-6 * motion.kinetic.max())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"q0": [1.0, 0.0, 1.0]}, "simulate: q0 violates constraint 'c' by"),
        ({"u0": [1.0, 0.0, 0.0]}, "simulate: u0 violates constraint 'c'"),
        ({"q0": [1.0]}, "q must have shape (3,), got (1,)"),
    ],
)
def test_a_motion_that_cannot_begin_is_refused(options, sentence: str) -> None:
    robot = _four_bar()
    q = robot.assemble([1.0, -0.3, 1.5], fixed=["a"])
    with pytest.raises(kd.ArgumentError) as caught:
        robot.simulate(1.0, **{"q0": q, "u0": STILL, **options})
    assert sentence in str(caught.value)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_adaptive_methods_hold_loops_and_dry_friction(method) -> None:
    crank = '<joint name="a" type="continuous">'
    robot = _four_bar(text=FOUR_BAR.replace(crank, crank + '<dynamics friction="2.0"/>'))
    q = robot.assemble([1.0, -0.5, 1.5], fixed=["a"])
    given = {"duration": 0.3, "q0": q, "u0": STILL, "output_step": 0.05}
    motion = robot.simulate(**given, method=method, tolerance=1e-7)
    same = robot.simulate(**given, step=5e-4)
    assert motion.completed, motion.message
    assert np.ptp(motion.q[:, 0]) > 0.5
    assert motion.work[-1] < -0.1
    assert _gap(robot, FOUR_BAR_LOOP, motion.q) < 1e-11
    np.testing.assert_allclose(motion.q, same.q, atol=1e-6)
    (own,), (other,) = motion.constraint_forces.values(), same.constraint_forces.values()
    np.testing.assert_allclose(own, other, atol=1e-4 * np.abs(other).max())
    assert motion.checks.relative_energy_error < 1e-5


def test_adaptive_methods_refuse_constraints_that_come_and_go() -> None:
    robot = _four_bar()
    q = robot.assemble([1.0, -0.3, 1.5], fixed=["a"])
    switch = kd.Switch("c", on=False, at=0.1)
    with pytest.raises(kd.ArgumentError, match="come and go, as constraint 'c' does, expected"):
        robot.simulate(1.0, q, STILL, method="dop853", switches=[switch])


def test_motions_under_constraints_can_be_pickled() -> None:
    robot = kd.load(FIVE_BAR, constraints=[FIVE_BAR_LOOP], actuated=["m1", "m2"])
    q = robot.assemble([2.0, -1.0, 1.0, 1.0])
    motion = robot.simulate(0.05, q, np.zeros(4))
    copy = pickle.loads(pickle.dumps(motion))
    assert (copy.q == motion.q).all()
    (name,) = robot.active
    assert (copy.constraint_forces[name] == motion.constraint_forces[name]).all()
