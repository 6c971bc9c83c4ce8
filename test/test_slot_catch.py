"""The two-link arm of the handbook catches the particle in the slot (6.5.2) while both move."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import slot_grasp as handbook

import kane_dynamics as kd

M, M3, L, G, H = (
    handbook.CONSTANTS[each]
    for each in (handbook.m, handbook.m3, handbook.L, handbook.g, handbook.h)
)
BODY = """<link name="{name}"><inertial><origin xyz="{x} 0 0"/><mass value="{mass}"/><inertia
ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>"""
TURN = """<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>"""
ARM = f"""<robot name="slot"><link name="N"/>{BODY.format(name="A", x=L, mass=M)}
{BODY.format(name="B", x=L, mass=M)}{BODY.format(name="P3", x=0, mass=M3)}
{TURN.format(name="q1", parent="N", child="A", x=0)}
{TURN.format(name="q2", parent="A", child="B", x=L)}
<joint name="q3" type="prismatic"><parent link="N"/><child link="P3"/><origin xyz="0 {H} 0"/>
<axis xyz="1 0 0"/><limit effort="0" velocity="99"/></joint></robot>"""


def mass(q: np.ndarray) -> np.ndarray:
    """Of u1, u2, u3."""
    c2 = np.cos(q[1])
    a, b, d = M * L**2 * (3 + 2 * c2), M * L**2 * (1 + c2), M * L**2
    return np.array([[a, b, 0.0], [b, d, 0.0], [0.0, 0.0, M3]])


def free(t: float, x: np.ndarray) -> np.ndarray:
    q, u = x[:3], x[3:]
    c1, s2, c12 = np.cos(q[0]), np.sin(q[1]), np.cos(q[0] + q[1])
    swing = M * L**2 * s2
    bias = [
        -swing * u[1] * (2 * u[0] + u[1]) + M * G * L * (2 * c1 + c12),
        swing * u[0] ** 2 + M * G * L * c12,
        0.0,
    ]
    return np.array([*u, *np.linalg.solve(mass(q), -np.array(bias))])


def height(t: float, x: np.ndarray) -> float:
    """Of P2 above the slot."""
    return float(L * np.sin(x[0]) + L * np.sin(x[0] + x[1]) - H)


def apart(q: np.ndarray) -> np.ndarray:
    """Coefficients of 6.69 and 6.70."""
    s1, c1, s12, c12 = np.sin(q[0]), np.cos(q[0]), np.sin(q[0] + q[1]), np.cos(q[0] + q[1])
    return L * np.array([[-s1 - s12, -s12, -1.0 / L], [c1 + c12, c12, 0.0]])


def test_an_arm_catches_the_particle_in_the_slot() -> None:
    start = np.array([0.3, 0.4, 0.0, 0.5, -0.6, -0.4])
    height.terminal = True  # type: ignore[attr-defined]
    exact = solve_ivp(free, (0.0, 2.0), start, "DOP853", events=height, rtol=1e-13, atol=1e-13)
    when, before = exact.t_events[0][0], exact.y_events[0][0]
    reach = L * np.cos(before[0]) + L * np.cos(before[0] + before[1])
    start[2], before[2] = reach - when * start[5], reach  # so that they meet
    grasp = kd.Loop("grasp", "B", "P3", at1=(L, 0, 0), active=False)
    robot = kd.load(ARM, constraints=[grasp], gravity=(0.0, -G, 0.0))
    catch = kd.Switch("grasp", when=lambda t, q, u: -height(t, q))
    motion = robot.simulate(when + 0.5, start[:3], start[3:], switches=[catch], step=2e-4)
    (event,) = motion.events
    assert (event.kind, event.constraint) == ("on", "grasp")
    assert event.t == pytest.approx(when, abs=1e-9)
    # multipliers apart
    q, u, A = before[:3], before[3:], apart(before)
    inverse = np.linalg.inv(mass(q))
    impulse = -np.linalg.solve(A @ inverse @ A.T, A @ u)
    change = inverse @ A.T @ impulse
    np.testing.assert_allclose(event.impulse, [*impulse, 0.0], rtol=1e-7, atol=1e-9)
    lost = 0.5 * u @ mass(q) @ u - 0.5 * (u + change) @ mass(q) @ (u + change)
    assert event.energy_lost == pytest.approx(lost, rel=1e-7)
    assert lost == pytest.approx(0.5 * change @ mass(q) @ change, rel=1e-9)
    # and from then on as the handbook's system
    later = np.flatnonzero(motion.t > when + 1e-9)
    held = handbook.system(1)
    after = solve_ivp(
        lambda t, x: held.rhs(t, x, [0.0, 0.0]),
        (when, motion.t[-1]),
        np.concatenate([q, u + change]),
        "DOP853",
        motion.t[later],
        rtol=1e-11,
        atol=1e-12,
    )
    np.testing.assert_allclose(motion.q[later], after.y[:3].T, atol=1e-7)
    np.testing.assert_allclose(motion.u[later], after.y[3:].T, atol=1e-6)
    closed = robot.switched({"grasp": True}).constraint_rows(motion.q[later], motion.u[later])
    assert np.abs(closed.errors).max() <= 1e-10
