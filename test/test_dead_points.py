"""Dry friction of a joint whose speed vanishes while the rest of its mechanism moves on.

Where crank and coupler of a four-bar linkage are aligned, its rocker turns back. No friction can
hold it there: to stop the rocker is to stop the crank, which takes a force without bounds.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from linkages import BASE, COUPLER, CRANK, FOUR_BAR, FOUR_BAR_LOOP, ROCKER
from scipy.integrate import solve_ivp

import kane_dynamics as kd
from kane_dynamics.arrays import Array
from kane_dynamics.simulation import impacts
from kane_dynamics.simulation.complementarity import Rub, solve

DAMPING, FRICTION, TORQUE, GRAVITY = 0.1, 0.05, 0.5, 9.81

ROUGH = FOUR_BAR.replace(
    '<child link="rocker"/>',
    f'<child link="rocker"/><dynamics damping="{DAMPING}" friction="{FRICTION}"/>',
)

MASSES = {"crank": 1.0, "coupler": 2.0, "rocker": 1.5}


@functools.cache
def rough_four_bar(backend: str = "c") -> kd.ConstrainedDynamics:
    robot = kd.load(ROUGH, constraints=[FOUR_BAR_LOOP], gravity=(0, -GRAVITY, 0), backend=backend)
    assert isinstance(robot, kd.ConstrainedDynamics)
    return robot


def directions(crank: float) -> Array:
    """Angles of all three bars against the x axis, of the linkage that is not crossed."""
    tip = CRANK * np.array([np.cos(crank), np.sin(crank)])
    way = np.array([BASE, 0.0]) - tip
    reach = np.hypot(*way)
    along = (COUPLER**2 - ROCKER**2 + reach**2) / (2.0 * reach)
    across = np.sqrt(COUPLER**2 - along**2)
    pin = tip + (along * way + across * np.array([-way[1], way[0]])) / reach
    coupler, rocker = pin - tip, pin - [BASE, 0.0]
    return np.array([crank, np.arctan2(*coupler[::-1]), np.arctan2(*rocker[::-1])])


def shares(crank: float) -> tuple[Array, Array]:
    """Rates of these angles per rate of the crank, and the rates of those rates."""
    bars = np.array([CRANK, COUPLER, -ROCKER])
    angles = directions(crank)
    sine, cosine = bars * np.sin(angles), bars * np.cos(angles)
    block = np.array([sine[1:], cosine[1:]])
    share = np.concatenate([[1.0], -np.linalg.solve(block, [sine[0], cosine[0]])])
    right = [-cosine @ share**2, sine @ share**2]
    return share, np.concatenate([[0.0], np.linalg.solve(block, right)])


def inertia_and_pull(crank: float) -> tuple[float, float, float]:
    """Of the crank: inertia, half its rate, and the moment of weights; with one coordinate."""
    (_, p, r), (dp, dr) = directions(crank), shares(crank)[0][1:]
    ddp, ddr = shares(crank)[1][1:]
    m1, m2, m3 = MASSES.values()
    angle, half = p - crank, COUPLER / 2
    inertia = m1 * CRANK**2 / 3 + m2 * (CRANK**2 + COUPLER**2 * dp**2 / 3)
    inertia += 2 * m2 * CRANK * half * dp * np.cos(angle) + m3 * ROCKER**2 / 3 * dr**2
    rate = m2 * COUPLER**2 / 3 * dp * ddp + m3 * ROCKER**2 / 3 * dr * ddr
    rate += m2 * CRANK * half * (ddp * np.cos(angle) - dp * np.sin(angle) * (dp - 1.0))
    arms = (m1 / 2 + m2) * CRANK * np.cos(crank) + m2 * half * dp * np.cos(p)
    return inertia, rate, -GRAVITY * (arms + m3 * ROCKER / 2 * dr * np.cos(r))


def turned(duration: float, crank: float, speed: float) -> tuple[Array, int]:
    """Angle and speed of the crank, and how often the rocker turns back."""

    def rates(t: float, y: Array, side: float) -> list[float]:
        share, (inertia, rate, pull) = shares(y[0])[0][2], inertia_and_pull(y[0])
        rocker = share * y[1]
        resists = DAMPING * rocker + side * FRICTION
        force = TORQUE + pull - resists * share - rate * y[1] ** 2
        return [y[1], force / inertia]

    def turns_back(t: float, y: Array, side: float) -> float:
        return float(side * shares(y[0])[0][2] * y[1])

    turns_back.terminal, turns_back.direction = True, -1.0  # type: ignore[attr-defined]
    t, y, turns = 0.0, np.array([crank, speed]), 0
    side = float(np.sign(shares(crank + 1e-6 * np.sign(speed))[0][2] * speed))
    while True:
        options = {"args": (side,), "events": turns_back, "rtol": 1e-9, "atol": 1e-9}
        found = solve_ivp(rates, (t, duration), y, "DOP853", **options)
        t, y = found.t[-1], found.y[:, -1]
        if found.status == 0:
            return y, turns
        side, turns = -side, turns + 1


def dead_point(reach: float) -> float:
    """Where the crank is when it and the coupler, aligned, reach so far."""
    return float(np.arccos((BASE**2 + reach**2 - ROCKER**2) / (2.0 * BASE * reach)))


def start(crank: float, speed: float) -> tuple[Array, Array]:
    angles, (share, _) = directions(crank), shares(crank)
    relative = np.array([[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    return relative @ angles, relative @ share * speed


def test_a_rocker_with_friction_passes_its_dead_points() -> None:
    robot = rough_four_bar()
    motion = robot.simulate(1.2, *start(1.0, -12.0), torque=[TORQUE, 0, 0], output_step=0.01)
    expected, turns = turned(1.2, 1.0, -12.0)
    assert motion.completed, motion.message
    assert turns >= 4
    assert abs(motion.q[-1, 0] - 1.0) > 4.0 * np.pi
    np.testing.assert_allclose([motion.q[-1, 0], motion.u[-1, 0]], expected, atol=1e-5)
    assert motion.checks.relative_energy_error < 1e-6


def test_loops_in_c_and_in_python_pass_them_alike() -> None:
    ends = []
    for backend in ("c", "numpy"):
        robot = rough_four_bar(backend)
        q, u = start(0.53, -6.0)
        motion = robot.simulate(0.02, q, u, torque=[TORQUE, 0, 0], step=1e-3)
        assert motion.u[0, 2] * motion.u[-1, 2] < 0.0
        ends.append(np.concatenate([motion.q[-1], motion.u[-1]]))
    np.testing.assert_allclose(*ends, rtol=0.0, atol=1e-10)


def test_an_adaptive_method_passes_them() -> None:
    robot = rough_four_bar()
    motion = robot.simulate(0.1, *start(1.0, -12.0), torque=[TORQUE, 0, 0], method="dop853")
    assert motion.completed, motion.message
    assert motion.u[0, 2] * motion.u[-1, 2] < 0.0
    expected, _ = turned(0.1, 1.0, -12.0)
    np.testing.assert_allclose([motion.q[-1, 0], motion.u[-1, 0]], expected, atol=1e-6)


STRETCHED, FOLDED = dead_point(COUPLER + CRANK), dead_point(COUPLER - CRANK) + np.pi


@pytest.mark.parametrize("speed", [5.0, -5.0])
@pytest.mark.parametrize("crank", [STRETCHED, FOLDED, FOLDED + 1e-11, STRETCHED - 1e-8])
def test_a_motion_may_start_at_a_dead_point(crank: float, speed: float) -> None:
    robot = rough_four_bar()
    q, u = start(crank, speed)
    u[2] = u[2] if crank not in (STRETCHED, FOLDED) else 0.0
    motion = robot.simulate(0.2, q, u, torque=[TORQUE, 0, 0])
    expected, _ = turned(0.2, crank, speed)
    np.testing.assert_allclose([motion.q[-1, 0], motion.u[-1, 0]], expected, atol=1e-6)
    assert motion.checks.relative_energy_error < 1e-8


def test_friction_opposes_the_speed_after_a_blow() -> None:
    bumper = kd.Lock("bumper", "d", least=float(directions(STRETCHED)[2]) + 1e-3, restitution=0.5)
    constraints, gravity = [FOUR_BAR_LOOP, bumper], (0, -GRAVITY, 0)
    robot = kd.load(ROUGH, constraints=constraints, gravity=gravity)
    motion = robot.simulate(0.5, *start(1.0, -6.0), torque=[TORQUE, 0, 0])
    assert [event.kind for event in motion.events] == ["contact", "contact"]
    assert motion.checks.relative_energy_error < 1e-7


def test_rounding_of_a_row_that_cannot_move_is_no_motion() -> None:
    W = np.zeros((4, 4))  # of a linkage near its dead point, and a row out of its plane
    W[np.ix_([0, 1, 3], [0, 1, 3])] = [
        [2.068167731404871, -1.5453080926028446, 3.0116944382540916],
        [-1.5453080926028449, 1.7318334070101657, -1.428568416877708],
        [3.0116944382540916, -1.428568416877708, 5.555555555555555],
    ]
    v = np.array([3.660068720982702e-18, -1.2732472553298965e-18, 0.0, -1.2521214834850631e-07])
    impulses = solve(W, v, [0, 1, 2], [Rub(3, (), 0.0, 0.0, True)])
    np.testing.assert_allclose(W @ impulses, -v, atol=1e-12)


def test_a_brake_that_slips_is_put_on_at_a_dead_point() -> None:
    brake = kd.Lock("brake", "d", limit=FRICTION, active=False)
    free = ROUGH.replace(f'friction="{FRICTION}"', "")
    robot = kd.load(free, constraints=[FOUR_BAR_LOOP, brake], gravity=(0, -GRAVITY, 0))
    q, u = start(FOLDED, 5.0)
    on = [kd.Switch("brake", on=True, at=0.0)]
    motion = robot.simulate(0.1, q, u * [1.0, 1.0, 0.0], torque=[TORQUE, 0, 0], switches=on)
    expected, _ = turned(0.1, FOLDED, 5.0)
    np.testing.assert_allclose([motion.q[-1, 0], motion.u[-1, 0]], expected, atol=1e-6)


def test_a_blow_that_would_give_energy_ends_the_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*given: Any) -> Array:
        return 3.0 * solve(*given)

    monkeypatch.setattr(impacts, "solve", wrong)
    bumper = kd.Lock("bumper", "d", least=float(directions(STRETCHED)[2]) + 1e-3)
    robot = kd.load(ROUGH, constraints=[FOUR_BAR_LOOP, bumper], gravity=(0, -GRAVITY, 0))
    motion = robot.simulate(0.1, *start(1.0, -6.0), torque=[TORQUE, 0, 0])
    assert "energy no longer comes from the work" in motion.message
    assert not motion.completed
