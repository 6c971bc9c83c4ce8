"""A cart whose caster sticks and lets go in one motion: by the paper's two sets of equations."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import shopping_cart as paper
import sticking_caster as example

import kane_dynamics as kd

Q, U = [0, 1, 2, 5], [0, 1, 2, 5]


@pytest.fixture(scope="module")
def robot() -> kd.ConstrainedDynamics:
    return example.cart()


@pytest.fixture(scope="module")
def equations() -> dict[bool, kd.System]:
    """Whether the caster sticks; (63) and (67)."""
    return {sticks: paper.directly(sticks) for sticks in (False, True)}


def of_paper(motion: kd.Motion) -> np.ndarray:
    """q1 to q4, u1 to u3 of the paper, (N, 7)."""
    q1, q2, q3, q4 = motion.q[:, Q].T
    v1, v2, u2, turning = motion.u[:, U].T
    forward = np.cos(q3) * v1 + np.sin(q3) * v2
    return np.column_stack([q1, q2, q3, q4, forward, u2, u2 + turning])


def phases(motion: kd.Motion) -> list[tuple[bool, np.ndarray]]:
    """Between events: whether the caster sticks, and samples."""
    ends = [each.t for each in motion.events if each.kind in ("slip", "stick")]
    found, sticks = [], motion.sticking("caster")
    for begin, end in zip([-1.0, *ends], [*ends, np.inf]):
        inside = np.flatnonzero((motion.t > begin) & (motion.t < end))
        assert len(set(sticks[inside])) == 1
        found.append((bool(sticks[inside[0]]), inside))
    return found


def pushes(t: float) -> np.ndarray:
    return np.array([np.interp(t, example.TIMES, each) for each in (example.FORCE, example.MOMENT)])


def test_each_phase_of_a_pushed_cart_is_that_of_the_paper(robot, equations) -> None:
    motion = example.pushed(robot)
    kinds = [each.kind for each in motion.events]
    assert kinds[0] == "slip"
    assert "stick" in kinds
    state = of_paper(motion)
    for sticks, inside in phases(motion):
        begin = state[inside[0]]
        exact = solve_ivp(
            lambda t, x: equations[sticks].rhs(t, x, pushes(t)),  # noqa: B023
            (motion.t[inside[0]], motion.t[inside[-1]]),
            begin,
            "DOP853",
            motion.t[inside],
            rtol=1e-11,
            atol=1e-13,
            max_step=0.1,
        )
        np.testing.assert_allclose(state[inside], exact.y.T, atol=1e-8)
    # what begins to slip is at its limit, and what sticks stays below it
    torque = motion.constraint_forces["caster"][:, 0]
    assert np.abs(torque).max() <= example.STICKS * (1.0 + 1e-9)
    slip = motion.events[0]
    sticking = paper.system(sticking=True)
    x = of_paper(motion)[np.flatnonzero(motion.t < slip.t)[-1]]
    held = sticking.constraint_forces(slip.t, x, pushes(slip.t))["sticking"]
    assert np.abs(held) == pytest.approx(example.STICKS, rel=1e-3)


def test_a_cart_that_a_hand_draws_moves_by_the_paper_too(robot, equations) -> None:
    motion, coupler = example.drawn(robot)
    kinds = {each.kind for each in motion.events}
    assert kinds >= {"slip", "stick"}
    felt = coupler.hand_wrench(robot, motion.t, motion.q, motion.u)
    state = of_paper(motion)
    along = np.column_stack([np.cos(state[:, 2]), np.sin(state[:, 2])])
    forward = -(felt[:, :2] * along).sum(axis=1)
    for sticks, inside in phases(motion):
        for k in inside[1:-1:50]:
            rates = equations[sticks].rhs(motion.t[k], state[k], [forward[k], -felt[k, 5]])
            a1, a2, *_ = motion.udot[k]
            found = [along[k] @ [a1, a2], motion.udot[k, 2]]  # of u1, u2
            np.testing.assert_allclose(found, rates[4:6], atol=1e-9)
    assert motion.checks.energy_error <= 1e-6


def test_a_caster_sticks_where_the_forward_speed_has_to_follow(robot) -> None:
    motion = example.turned(robot)
    state = of_paper(motion)
    assert motion.sticking("caster").all()
    np.testing.assert_allclose(state[:, 4], 0.0, atol=1e-12)
    # it turns about P1 alone, as by its moment of inertia about that
    c4, s4 = np.cos(example.SINGULAR), np.sin(example.SINGULAR)
    lever = (example.L2 - example.L3 * c4) ** 2 + (example.L3 * s4) ** 2
    inertia = example.I_B + example.M_B * example.L1**2 + example.M_C * lever
    np.testing.assert_allclose(state[:, 2], 0.25 * motion.t**2 / inertia, atol=1e-10)
