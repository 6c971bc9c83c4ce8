"""The virtual coupler: its wrench, its energy, what the hand feels, and when it is passive."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from linkages import FIVE_BAR, FIVE_BAR_LOOP

import kane_dynamics as kd

ROOT = Path(__file__).parents[1]

SLIDER = """<robot name="slider"><link name="rail"/><link name="mass"><inertial><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="x" type="prismatic"><parent link="rail"/><child link="mass"/><axis xyz="1 0 0"/>
<limit effort="1" velocity="1"/></joint></robot>"""

WHEEL = SLIDER.replace("prismatic", "continuous").replace('xyz="1 0 0"', 'xyz="0 0 1"')


def test_a_mass_on_a_coupler_swings_as_an_oscillator() -> None:
    slider = kd.load(SLIDER)
    coupler = kd.VirtualCoupler("mass", (0.3, 0, 0), stiffness=200.0, damping=4.0)
    motion = slider.simulate(1.0, [0.0], [0.0], wrenches={"mass": coupler})
    # 2 x'' + 4 x' + 200 (x - 0.3) = 0
    omega = np.sqrt(100.0 - 1.0)
    t = motion.t
    x = 0.3 - 0.3 * np.exp(-t) * (np.cos(omega * t) + np.sin(omega * t) / omega)
    np.testing.assert_allclose(motion.q[:, 0], x, atol=1e-8)
    also = slider.simulate(1.0, [0.0], [0.0], torque=coupler)
    np.testing.assert_array_equal(also.q, motion.q)
    felt = coupler.hand_wrench(slider, t, motion.q, motion.u)
    np.testing.assert_allclose(felt[:, 0], -2.0 * motion.udot[:, 0], atol=1e-9)
    np.testing.assert_allclose(coupler.hand_wrench(slider, 0.0, [0.0], [0.0])[0], -60.0)


def test_a_wheel_on_a_coupler_swings_as_a_pendulum() -> None:
    """0.1 θ'' = -K' sin θ: over a quarter of the period it turns from θ0 to 0."""
    wheel = kd.load(WHEEL)
    coupler = kd.VirtualCoupler("mass", np.zeros(6), stiffness=(0.0, 0.4))
    start = 2.0
    a, b = 1.0, np.cos(start / 2.0)  # the elliptic integral is π over twice this mean
    while a - b > 1e-15:
        a, b = 0.5 * (a + b), np.sqrt(a * b)
    quarter = 0.5 * np.pi / (a * 2.0)
    motion = wheel.simulate(quarter, [start], [0.0], torque=coupler)
    assert motion.q[-1, 0] == pytest.approx(0.0, abs=1e-9)
    whole = motion.kinetic + coupler.energy(wheel, motion.t, motion.q)
    np.testing.assert_allclose(whole, whole[0], rtol=1e-11)


def test_the_wrench_of_a_coupler_balances_energy_on_a_moving_arm() -> None:
    arm = kd.load(ROOT / "urdf" / "stanford_arm.urdf", joint_friction=False)
    hand, q0 = arm.link_names[-1], np.array([0.2, 1.2, 0.3, 0.7, -0.4, 0.1])
    at = np.array([0.03, -0.02, 0.1])
    place = arm.pose(hand, q0)[:3, 3] + arm.pose(hand, q0)[:3, :3] @ at
    times = np.array([0.0, 0.5, 1.0])
    way = np.array([[0.0] * 6, [0.1, 0.05, -0.1, 0.4, -0.3, 1.0], [0.1, 0.1, 0.1, 0.2, 0.4, 0.3]])
    pose = kd.trajectory_through(times, way + np.array([*place, 0.1, 0.2, 0.3]))
    coupler = kd.VirtualCoupler(hand, pose, stiffness=(300.0, 6.0), damping=(20.0, 0.4), at=at)
    motion = arm.simulate(1.0, q0, np.zeros(6), wrenches={hand: coupler}, step=5e-4)
    t, q, u = motion.t, motion.q, motion.u
    # the same wrench as a function of the state, by arrays instead of expressions
    k = len(t) // 2
    felt = coupler.hand_wrench(arm, t[k], q[k], u[k])
    frame = arm.pose(hand, q[k])
    lever = np.cross(frame[:3, :3] @ at, felt[:3])
    wrench = -np.concatenate([felt[:3], felt[3:] + lever])
    udot = arm.forward_dynamics(q[k], u[k], np.zeros(6), {hand: wrench})
    np.testing.assert_allclose(motion.udot[k], udot, rtol=1e-9, atol=1e-9)
    # work of the hand becomes energy of arm and springs, and what the damper takes
    felt = coupler.hand_wrench(arm, t, q, u)
    sample = pose.sample(t)
    twist = np.einsum("kij,kj->ki", arm.jacobian(hand, q), u)
    arms = arm.pose(hand, q)[:, :3, :3] @ at
    v = twist[:, :3] + np.cross(twist[:, 3:], arms)
    _, pitch, yaw = sample.positions[:, 3:].T
    rates = sample.velocities[:, 3:]
    zero, one = np.zeros_like(yaw), np.ones_like(yaw)
    columns = [
        [np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), -np.sin(pitch)],
        [-np.sin(yaw), np.cos(yaw), zero],
        [zero, zero, one],
    ]
    turning = np.einsum("ijk,kj->ki", np.swapaxes(np.array(columns), 0, 1), rates)
    dv, dw = sample.velocities[:, :3] - v, turning - twist[:, 3:]
    given = -(felt[:, :3] * sample.velocities[:, :3]).sum(1) - (felt[:, 3:] * turning).sum(1)
    lost = 20.0 * (dv**2).sum(1) + 0.4 * (dw**2).sum(1)
    net = given - lost
    work = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * (net[1:] + net[:-1]))])
    whole = motion.kinetic + motion.potential + coupler.energy(arm, t, q)
    assert np.ptp(whole) > 1.0
    np.testing.assert_allclose(whole - whole[0], work, atol=2e-4 * np.ptp(whole))


def test_a_coupler_pulls_at_a_robot_with_constraints() -> None:
    robot = kd.load(FIVE_BAR, constraints=[FIVE_BAR_LOOP], joint_friction=False)
    q0 = robot.assemble([2.0, -1.0, 1.0, 1.0])
    place = robot.pose("fore1", q0) @ [0.5, 0.0, 0.0, 1.0]
    coupler = kd.VirtualCoupler(
        "fore1", place[:3] + 0.1 * np.array([1, -1, 0]), stiffness=50.0, damping=6.0, at=(0.5, 0, 0)
    )
    motion = robot.simulate(0.3, q0, np.zeros(4), torque=coupler)
    errors = robot.constraint_rows(motion.q, motion.u).errors
    assert np.abs(errors).max() < 1e-11
    ends = motion.kinetic[-1] + coupler.energy(robot, 0.3, motion.q[-1])
    assert 0.1 * 0.5 * 50.0 * 0.02 < ends < 0.5 * 50.0 * 0.02


# ------------------------------------------------------------------------------------- passivity
def _extracted(K: float, B: float, T: float, steps: int = 400) -> float:
    """Most energy that a periodic motion can take per step from f = K x + B v, x advanced by v."""
    phases = np.exp(1j * np.linspace(0.0, np.pi, steps + 2)[1:-1])
    impedance = B + K * T / (phases - 1.0)
    return float(-(impedance.real).min())


@pytest.mark.parametrize("K", [10.0, 1000.0])
@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_least_damping_is_that_at_which_no_motion_extracts_energy(K: float, step: float) -> None:
    least, _ = kd.VirtualCoupler("hand", np.zeros(3), K).passivity(step).least_damping
    enough = kd.VirtualCoupler("hand", np.zeros(3), K, 1.0001 * least)
    little = kd.VirtualCoupler("hand", np.zeros(3), K, 0.9999 * least)
    assert enough.passivity(step).passive
    assert not little.passivity(step).passive
    assert _extracted(K, 1.0001 * least, step) <= 0.0 < _extracted(K, 0.9999 * least, step)
    # a motion in time: there and back in two steps, with the force of the beginning of each
    for B, gives in ((0.9999 * least, True), (1.0001 * least, False)):
        x, work = -0.5 * step, 0.0  # about zero
        for k in range(1000):
            v = 1.0 if k % 2 == 0 else -1.0
            work += (K * x + B * v) * v * step
            x += v * step
        assert (work < 0.0) is gives


def test_the_device_needs_the_damping_of_the_sampled_data_criterion() -> None:
    """b > sup T/2 Re{(1 - e^-jωT) H(e^jωT)} / (1 - cos ωT), H = K + B (z - 1) / (T z)."""
    K, B, T = 500.0, 2.0, 2e-3
    angle = np.linspace(1e-3, np.pi, 100_001)
    z = np.exp(1j * angle)
    H = K + B * (z - 1.0) / (T * z)
    needed = 0.5 * T * ((1.0 - 1.0 / z) * H).real / (1.0 - np.cos(angle))
    coupler = kd.VirtualCoupler("hand", np.zeros(3), K, B)
    device, none = coupler.passivity(T).least_device_damping
    assert device == pytest.approx(needed.max(), rel=1e-9)
    assert none == 0.0
    assert coupler.passivity(T, 1.01 * device).passive
    assert not coupler.passivity(T, 0.99 * device).passive


# ------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"link": ""}, "link is '', expected a name"),
        ({"pose": [0.0] * 4}, "pose must be 3 or 6 numbers"),
        ({"pose": [0.0, 0.0, np.nan]}, "pose"),
        ({"pose": kd.trajectory_through([0.0, 1.0], np.zeros((2, 4)))}, "trajectory of 4 numbers"),
        ({"stiffness": -1.0}, "stiffness must be a number or two, none negative"),
        ({"damping": (1.0, 2.0, 3.0)}, "damping must be a number or two"),
        ({"at": (0.0, 0.0)}, "at must be 3 numbers"),
    ],
)
def test_a_wrong_coupler_is_refused_in_one_sentence(arguments, sentence: str) -> None:
    right = {"link": "mass", "pose": np.zeros(3), "stiffness": 1.0}
    with pytest.raises(kd.ArgumentError, match=sentence):
        kd.VirtualCoupler(**{**right, **arguments})


def test_a_coupler_at_the_wrong_place_is_refused() -> None:
    slider = kd.load(SLIDER)
    coupler = kd.VirtualCoupler("mast", np.zeros(3), 1.0)
    with pytest.raises(kd.ArgumentError, match="mast"):
        slider.simulate(1.0, [0.0], [0.0], torque=coupler)
    with pytest.raises(kd.ArgumentError, match="is a coupler of link 'mast'"):
        slider.simulate(1.0, [0.0], [0.0], wrenches={"mass": coupler})
    twice = kd.VirtualCoupler("mass", np.zeros(3), 1.0)
    with pytest.raises(kd.ArgumentError, match="give one"):
        slider.simulate(1.0, [0.0], [0.0], torque=twice, wrenches={"mass": np.zeros(6)})
    with pytest.raises(kd.ArgumentError, match="step is 0"):
        twice.passivity(0)
