"""Limits that are shares of other forces, and stops of joints, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import kane_dynamics as kd

G = 9.81
_SLIDER = """<link name="{name}">{inertial}</link><joint name="{joint}" type="prismatic">
<parent link="{parent}"/><child link="{name}"/><axis xyz="{axis}"/>
<limit lower="-9" upper="9" effort="99" velocity="99"/></joint>"""
_MASS = """<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
</inertial>"""


def slider(name: str, joint: str, parent: str, axis: str, inertial: str = "") -> str:
    return _SLIDER.format(name=name, joint=joint, parent=parent, axis=axis, inertial=inertial)


ONE = f'<robot name="one"><link name="base"/>{slider("block", "x", "base", "1 0 0", _MASS)}</robot>'
TWO = f"""<robot name="two"><link name="base"/>{slider("none", "x", "base", "1 0 0")}
{slider("block", "z", "none", "0 0 1", _MASS)}</robot>"""


@pytest.mark.parametrize(("backend", "way"), [("c", 1.0), ("numpy", -1.0)])
def test_a_stop_bounces_and_what_is_pressed_against_it_comes_to_rest(backend, way) -> None:
    stop = {"most": 1.0} if way > 0.0 else {"least": -1.0}
    robot = kd.load(
        ONE, constraints=[kd.Lock("stop", "x", restitution=0.5, **stop)], backend=backend
    )
    force = 3.0
    motion = robot.simulate(
        4.0, [0.0], [0.0], torque=np.array([way * force]), step=2e-2, output_step=0.1
    )
    first = np.sqrt(2.0 * 2.0 / force)
    speed = force / 2.0 * first
    event = motion.events[0]
    assert (event.kind, event.constraint) == ("contact", "stop")
    assert event.t == pytest.approx(first, abs=1e-12)
    assert event.impulse[0] == pytest.approx(2.0 * 1.5 * speed, rel=1e-12)
    assert event.energy_lost == pytest.approx(0.75 * 0.5 * 2.0 * speed**2, rel=1e-12)
    # each bounce takes half as long as the one before
    assert motion.events[-1].t == pytest.approx(first + 2.0 * first, abs=1e-6)
    np.testing.assert_allclose([motion.q[-1], motion.u[-1]], [[way], [0.0]], atol=1e-9)
    assert motion.constraint_forces["stop"][-1, 0] == pytest.approx(force)


def rubbing(backend: str) -> kd.Dynamics:
    """A block that is drawn along a floor, held by a share of what presses it on the floor."""
    constraints = [
        kd.Contact("floor", "block"),
        kd.Lock("rubs", "x", limit=(0.5, 0.3), of="floor"),
    ]
    return kd.load(TWO, constraints=constraints, backend=backend)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_lock_slips_at_its_share_of_the_force_that_presses(backend) -> None:
    robot, rate, more = rubbing(backend), 10.0, 5.0  # N/s, N of a push downward

    def force(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.array([rate * t, -more])

    motion = robot.simulate(2.5, [0.0, 0.0], [0.0, 0.0], torque=force, step=2e-2, output_step=0.01)
    pressed = 2.0 * G + more
    (slip,) = motion.events
    assert (slip.kind, slip.constraint) == ("slip", "rubs")
    assert slip.t == pytest.approx(0.5 * pressed / rate, abs=1e-9)
    speed = (0.5 * rate * (2.5**2 - slip.t**2) - 0.3 * pressed * (2.5 - slip.t)) / 2.0
    assert motion.u[-1, 0] == pytest.approx(speed, rel=1e-9)
    np.testing.assert_allclose(motion.constraint_forces["rubs"][-1], -0.3 * pressed, rtol=1e-9)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_where_nothing_presses_nothing_rubs(backend) -> None:
    robot = rubbing(backend)
    motion = robot.simulate(1.0, [0.0, 0.5], [0.7, 0.0], step=2e-2, output_step=0.01)
    falls = np.sqrt(2.0 * 0.5 / G)
    landing = next(event for event in motion.events if event.kind == "contact")
    assert landing.t == pytest.approx(falls, abs=1e-10)
    before = motion.u[motion.t < falls, 0]
    np.testing.assert_allclose(before, 0.7, rtol=1e-12)
    # the blow rubs with the kinetic share of its impulse, then friction does
    after = 0.7 - 0.3 * G * falls
    assert after < 0.0, "it is stopped by the blow"
    assert motion.u[-1, 0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_brake_that_has_slipped_holds_where_it_comes_to_rest(backend) -> None:
    robot = kd.load(ONE, constraints=[kd.Lock("brake", "x", limit=(4.0, 3.0))], backend=backend)
    motion = robot.simulate(1.0, [0.2], [1.0], step=2e-2, output_step=0.05)
    (stick,) = motion.events
    assert (stick.kind, stick.t) == ("stick", pytest.approx(2.0 / 3.0, abs=1e-10))
    np.testing.assert_allclose(motion.q[motion.t > stick.t], 0.2 + 1.0 / 3.0, atol=1e-10)
