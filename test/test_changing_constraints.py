"""Constraints that come and go: disks that slip, a block that tips, a catch, Painlevé's rod."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kane_dynamics as kd

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from disk_and_ball import (
    BODY,
    DISK,
    FRICTION,
    INERTIA,
    MASS,
    RADIUS,
    SLIDES,
    G,
    disk,
    disk_until,
    start,
)


def _kinds(motion: kd.Motion) -> list[str]:
    return [each.kind for each in motion.events]


# ----------------------------------------------------------------------------------------- a disk
@pytest.mark.parametrize(
    ("slope", "v", "omega", "kind"),
    [(0.1, 2.0, 0.0, "stick"), (-0.2, 1.0, -20.0, "stick"), (1.0, 0.0, 30.0, "reversal")],
)
def test_a_disk_slides_until_its_closed_form_says(slope, v, omega, kind) -> None:
    motion = disk(slope).simulate(1.0, *start(v, omega))
    t, speed, turning = disk_until(slope, v, omega)
    event = next(each for each in motion.events if each.kind in ("stick", "reversal"))
    assert event.kind == kind
    assert event.t == pytest.approx(t, abs=1e-10)
    rest = motion.t[-1] - t
    pull, push = G * np.sin(slope), FRICTION * G * np.cos(slope)
    if kind == "stick":
        a = pull / (1 + INERTIA / (MASS * RADIUS**2))
        b = a / RADIUS
    else:
        a, b = pull - push, MASS * push * RADIUS / INERTIA
    np.testing.assert_allclose(
        motion.u[-1, [0, 2]], [speed + a * rest, turning + b * rest], atol=1e-10
    )
    assert motion.checks.relative_energy_error < 1e-9


def test_a_rolling_disk_that_comes_to_a_steeper_ramp_slips() -> None:
    rolls = disk(0.1).simulate(0.5, *start(1.0, 1.0 / RADIUS))
    assert "slip" not in _kinds(rolls)
    steep = 1.0
    motion = disk(steep).simulate(0.5, rolls.q[-1], rolls.u[-1])
    a = G * np.sin(steep) - FRICTION * G * np.cos(steep)
    b = MASS * FRICTION * G * np.cos(steep) * RADIUS / INERTIA
    np.testing.assert_allclose(motion.u[:, 0], rolls.u[-1, 0] + a * motion.t, atol=1e-10)
    np.testing.assert_allclose(motion.u[:, 2], rolls.u[-1, 2] + b * motion.t, atol=1e-9)


# -------------------------------------------------------------------------------- a block that tips
def test_a_block_on_a_steep_ramp_tips_about_its_lower_edge() -> None:
    width, height, slope = 0.2, 0.6, 0.4
    inertia = MASS * (width**2 + height**2) / 12
    text = DISK.replace(f'iyy="{INERTIA}"', f'iyy="{inertia!r}"')
    feet = [
        kd.Contact(name, "disk", at=(side * width / 2, 0, -height / 2), friction=3.0)
        for name, side in (("upper", -1), ("lower", 1))
    ]
    gravity = (G * np.sin(slope), 0.0, -G * np.cos(slope))
    block = kd.load(text, constraints=feet, gravity=gravity)
    motion = block.simulate(0.3, [0.0, height / 2, 0.0], np.zeros(3))
    about = inertia + MASS * (width**2 + height**2) / 4

    def tips(t: float, state: np.ndarray) -> list[float]:
        c, s = np.cos(state[0]), np.sin(state[0])
        lever = gravity[0] * (width * s + height * c) + gravity[2] * (width * c - height * s)
        return [state[1], MASS * 0.5 * lever / about]

    exact = solve_ivp(tips, (0.0, 0.3), [0.0, 0.0], "DOP853", motion.t, rtol=1e-12, atol=1e-13)
    assert exact.y[0, -1] > 0.02
    np.testing.assert_allclose(motion.q[:, 2], exact.y[0], atol=1e-8)
    assert motion.active("lower").all()
    assert not motion.active("upper")[1:].any()


# ------------------------------------------------------------------------------------------ a catch
ARM = f"""<robot name="catch"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="1.5"/><inertia ixx="0.001" ixy="0"
ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.15 0 0"/><mass value="1"/><inertia ixx="0.001" ixy="0"
ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/>
<origin xyz="0.4 0 0"/><axis xyz="0 0 1"/></joint>
<link name="slide"/>{BODY.format(name="particle", mass=0.5, inertia=0.001)}
{SLIDES.format(name="px", parent="base", child="slide", axis="1 0 0")}
{SLIDES.format(name="py", parent="slide", child="particle", axis="0 1 0")}</robot>"""
HAND = 0.3


def test_an_arm_catches_a_particle_and_loses_what_multipliers_say() -> None:
    free = kd.load(ARM)
    grasp = kd.Loop("grasp", "fore", "particle", at1=(HAND, 0, 0), active=False)
    robot = kd.load(ARM, constraints=[grasp])
    q0, u0, when = np.array([0.3, 0.9, 0.0, 0.0]), np.array([1.0, -2.0, 0.0, 0.0]), 0.37
    alone = free.simulate(when, q0, u0, method="dop853", tolerance=1e-13, output_step=when)
    meet = (free.pose("fore", alone.q[-1]) @ [HAND, 0, 0, 1])[:2]
    u0[2:] = [-0.5, 0.8]
    q0[2:] = meet - when * u0[2:]

    def off(q: np.ndarray) -> float:
        return float(0.4 * np.cos(q[0]) + HAND * np.cos(q[0] + q[1]) - q[2])

    side = -np.sign(off(q0))

    def gap(t: float, q: np.ndarray, u: np.ndarray) -> float:
        return side * off(q)

    motion = robot.simulate(1.0, q0, u0, switches=[kd.Switch("grasp", when=gap)], step=5e-4)
    event = next(each for each in motion.events if each.kind == "on")
    assert event.t == pytest.approx(when, abs=1e-8)
    # apart: momentum before and after, and the impulse that keeps hand and particle together
    q, u = alone.q[-1].copy(), alone.u[-1].copy()
    q[2:], u[2:] = meet, u0[2:]
    M, J = free.mass_matrix(q), free.jacobian("fore", q)
    frame = free.pose("fore", q)[:3, :3] @ [HAND, 0.0, 0.0]
    point = J[:3] + np.cross(J[3:].T, frame).T
    A = point[:2].copy()
    A[0, 2] -= 1.0
    A[1, 3] -= 1.0
    inverse = np.linalg.inv(M)
    impulse = -np.linalg.solve(A @ inverse @ A.T, A @ u)
    change = inverse @ A.T @ impulse
    np.testing.assert_allclose(np.linalg.norm(event.impulse), np.linalg.norm(impulse), rtol=1e-6)
    assert event.energy_lost == pytest.approx(0.5 * change @ M @ change, rel=1e-6)
    k = int(np.searchsorted(motion.t, event.t + 1e-9))
    after = free.simulate(1e-6, q, u + change, step=1e-6)  # which needs no constraint so soon
    np.testing.assert_allclose(motion.u[k], after.u[0], atol=0.05)
    errors = robot.switched({"grasp": True}).constraint_rows(motion.q[k:], motion.u[k:]).errors
    assert np.abs(errors).max() < 1e-9


# ----------------------------------------------------------------------------------- Painlevé's rod
def test_a_rod_that_friction_holds_back_too_much_is_reported() -> None:
    """With 1 + 3 cos θ (cos θ - μ sin θ) < 0 no contact force keeps it out of the ground.

    The other way round it slides on.
    """
    half, angle, friction = 0.5, 1.1, 2.0
    assert 1 + 3 * np.cos(angle) * (np.cos(angle) - friction * np.sin(angle)) < 0
    inertia = MASS * half**2 / 3
    text = DISK.replace(f'iyy="{INERTIA}"', f'iyy="{inertia!r}"').replace('"0.005"', '"0.1"')
    touches = kd.Contact("tip", "disk", at=(half, 0, 0), friction=friction)
    rod = kd.load(text, constraints=[touches])
    q0 = np.array([0.0, half * np.sin(angle), angle])
    with pytest.raises(kd.ArgumentError, match="Painlevé"):
        rod.simulate(0.3, q0, np.array([3.0, 0.0, 0.0]))
    motion = rod.simulate(0.05, q0, np.array([-3.0, 0.0, 0.0]))
    assert motion.completed
    energy = motion.kinetic + motion.potential
    assert (np.diff(energy) < 1e-9 * energy[0]).all()
    # at first: N from the contact point's acceleration, which is zero
    push = MASS * G / (1 + 3 * np.cos(angle) * (np.cos(angle) + friction * np.sin(angle)))
    force = motion.constraint_forces["tip"][0]
    assert force[0] == pytest.approx(push, rel=1e-9)
    assert np.linalg.norm(force[1:]) == pytest.approx(friction * push, rel=1e-9)
