"""The bundled gripper and mobile manipulator, against equations in minimal coordinates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kane_dynamics as kd
from kane_dynamics.arrays import Array

URDF = Path(__file__).parents[1] / "urdf"
LENGTH, TRACK, RADIUS = 0.05, 0.5, 0.1
WHEELS = ["left_wheel", "right_wheel"]


def load(name: str, *motors: str, **options) -> kd.ConstrainedDynamics:
    robot = kd.load(
        URDF / f"{name}.urdf", constraints=URDF / f"{name}.yaml", actuated=motors, **options
    )
    assert isinstance(robot, kd.ConstrainedDynamics)
    return robot


# ---------------------------------------------------------------------------------------- gripper
G = 9.81
FELT = 2 * (8e-6 + 5e-6 + (0.03 + 0.02) * 0.025**2 + 0.05 * LENGTH**2)
MOMENT = 2 * ((0.03 + 0.02) * 0.025 + 0.05 * LENGTH)
"""Of a crank's angle: both cranks turn, the finger goes round without turning; two of each."""


@pytest.fixture(scope="module")
def gripper() -> kd.ConstrainedDynamics:
    return load("parallel_gripper", "left_driver", gravity=(G, 0.0, 0.0))


def _closed(robot: kd.Dynamics, angle: float) -> Array:
    sides = {"left": 1.0, "right": -1.0}
    turns = {"driver": 1.0, "follower": 1.0, "finger": -1.0}
    names = [name.split("_") for name in robot.joint_names]
    return np.array([angle * sides[side] * turns[part] for side, part in names])


def test_a_gripper_moves_as_its_one_crank_and_its_fingers_stay_parallel(gripper) -> None:
    start, torque = 0.3, 2e-3
    motors = np.zeros(6)
    motors[gripper.joint_names.index("left_driver")] = torque
    q0 = _closed(gripper, start)
    motion = gripper.simulate(10.0, q0, np.zeros(6), torque=motors, output_step=0.01)
    exact = solve_ivp(
        lambda t, x: [x[1], (torque - MOMENT * G * np.sin(x[0])) / FELT],
        (0.0, 10.0),
        [start, 0.0],
        "DOP853",
        motion.t,
        rtol=1e-12,
        atol=1e-12,
    )
    assert motion.completed
    assert np.ptp(exact.y[0]) > 0.5
    np.testing.assert_allclose(motion.q, [_closed(gripper, a) for a in exact.y[0]], atol=2e-6)
    errors = gripper.constraint_rows(motion.q, motion.u).errors
    assert np.abs(errors).max() < 1e-10
    for finger in ("left_finger", "right_finger"):
        np.testing.assert_allclose(
            gripper.pose(finger, motion.q)[:, :3, :3] - np.eye(3), 0.0, atol=1e-9
        )
    assert motion.checks.relative_energy_error < 1e-7


def test_the_motor_of_a_gripper_moves_and_holds_all_of_it(gripper) -> None:
    k = gripper.joint_names.index("left_driver")
    for angle, rate, acceleration in ((0.3, 0.0, 0.0), (0.5, 2.0, -30.0), (1.2, -1.0, 50.0)):
        q = _closed(gripper, angle)
        u, udot = _closed(gripper, rate), _closed(gripper, acceleration)
        tau = gripper.inverse_dynamics(q, u, udot)
        expected = FELT * acceleration + MOMENT * G * np.sin(angle)
        assert tau[k] == pytest.approx(expected, rel=1e-9)
        assert not np.delete(tau, k).any()
        assert gripper.gravity(q)[k] == pytest.approx(MOMENT * G * np.sin(angle), rel=1e-9)
    # the fingers close on what is between them: a force on both is the motor's, by virtual work
    q, squeezed = _closed(gripper, 0.4), 3.0
    push = np.array([0.0, squeezed, 0.0, 0.0, 0.0, 0.0])
    wrenches = {"left_finger": push, "right_finger": -push}
    zero = np.zeros(6)
    tau = gripper.inverse_dynamics(q, zero, zero, wrenches) - gripper.gravity(q)
    assert tau[k] == pytest.approx(-2 * squeezed * LENGTH * np.cos(0.4), rel=1e-9)


# ------------------------------------------------------------------------------ mobile manipulator
@pytest.fixture(scope="module")
def mobile() -> kd.ConstrainedDynamics:
    return load("mobile_manipulator", *WHEELS, "shoulder", "elbow")


def _unicycle(t: Array, v: float, omega: float) -> tuple[Array, Array]:
    """Coordinates and speeds on a circle, while the arm is still."""
    left, right = (v - side * omega * TRACK / 2 for side in (1.0, -1.0))
    zero, one = np.zeros_like(t), np.ones_like(t)
    heading = omega * t
    q = [v / omega * np.sin(heading), v / omega * (1 - np.cos(heading)), heading]
    q += [left / RADIUS * t, right / RADIUS * t, 0.3 * one, 0.5 * one]
    u = [v * np.cos(heading), v * np.sin(heading), omega * one]
    u += [left / RADIUS * one, right / RADIUS * one, zero, zero]
    return np.stack(q, axis=-1), np.stack(u, axis=-1)


def _commanded(robot: kd.ConstrainedDynamics, t: Array) -> tuple[Array, Array, Array]:
    """A base that speeds up and turns while its arm swings; rates from Lagrange's multipliers."""
    v, vdot = 0.4 * t, np.full_like(t, 0.4)
    omega, omegadot = 0.5 * np.sin(t), 0.5 * np.cos(t)
    heading = 0.5 * (1.0 - np.cos(t))
    arm = np.stack([0.3 * np.sin(2 * t), 0.5 + 0.2 * np.sin(3 * t)], axis=-1)
    arm1 = np.stack([0.6 * np.cos(2 * t), 0.6 * np.cos(3 * t)], axis=-1)
    arm2 = np.stack([-1.2 * np.sin(2 * t), -1.8 * np.sin(3 * t)], axis=-1)
    c, s = np.cos(heading), np.sin(heading)
    wheels = [(v - side * omega * TRACK / 2) / RADIUS for side in (1.0, -1.0)]
    wheels1 = [(vdot - side * omegadot * TRACK / 2) / RADIUS for side in (1.0, -1.0)]
    zero = np.zeros_like(t)
    q = np.column_stack([zero, zero, heading, zero, zero, arm])
    u = np.column_stack([v * c, v * s, omega, *wheels, arm1])
    turned = vdot * c - v * omega * s, vdot * s + v * omega * c
    return q, u, np.column_stack([*turned, omegadot, *wheels1, arm2])


def test_a_mobile_manipulator_drives_on_the_circle_of_a_unicycle(mobile) -> None:
    """Torques that keep the speeds, from Lagrange's equations of the unicycle, keep it there."""
    q, u = _unicycle(np.zeros(1), 0.5, 0.8)

    def torque(t: float, q: Array, u: Array) -> Array:
        return mobile.inverse_dynamics(q, mobile.admissible_speeds(q, u), _steady(u))

    def _steady(u: Array) -> Array:
        return np.array([-u[2] * u[1], u[2] * u[0], 0.0, 0.0, 0.0, 0.0, 0.0])

    motion = mobile.simulate(0.1, q[0], u[0], torque=torque, step=5e-3)
    exact_q, exact_u = _unicycle(motion.t, 0.5, 0.8)
    np.testing.assert_allclose(motion.q, exact_q, atol=1e-9)
    np.testing.assert_allclose(motion.u, exact_u, atol=1e-9)
    heading = motion.q[:, 2]
    slip = np.cos(heading) * motion.u[:, 1] - np.sin(heading) * motion.u[:, 0]
    assert np.abs(slip).max() < 1e-10


def test_a_mobile_manipulator_does_not_slip_sideways_in_ten_seconds(mobile) -> None:
    torque = [0.0, 0.0, 0.0, 0.02, 0.012, 0.01, 0.0]
    motion = mobile.simulate(10.0, np.zeros(7), np.zeros(7), torque=torque, output_step=0.01)
    heading = motion.q[:, 2]
    slip = np.cos(heading) * motion.u[:, 1] - np.sin(heading) * motion.u[:, 0]
    assert np.abs(motion.q[-1, :3]).min() > 0.1
    assert np.abs(slip).max() < 1e-10
    rolled = RADIUS * (motion.q[:, 4] - motion.q[:, 3]) / TRACK
    np.testing.assert_allclose(heading, rolled, atol=1e-9)  # which is an integral
    assert motion.checks.relative_energy_error < 1e-7


def test_torques_of_a_commanded_motion_of_base_and_arm_are_those_of_multipliers(mobile) -> None:
    """Equations of the robot that is not held by its wheels, and multipliers written out here."""
    t = np.linspace(0.1, 2.0, 7)
    q, u, udot = _commanded(mobile, t)
    tau = mobile.inverse_dynamics(q, u, udot)
    free = kd.load(URDF / "mobile_manipulator.urdf")
    needed = free.inverse_dynamics(q, u, udot)
    motors = [mobile.joint_names.index(n) for n in (*WHEELS, "shoulder", "elbow")]
    for k in range(len(t)):
        c, s = np.cos(q[k, 2]), np.sin(q[k, 2])
        side = [-s, c, 0, 0, 0, 0, 0]
        rolls = [[c, s, -y, 0, 0, 0, 0] for y in (TRACK / 2, -TRACK / 2)]
        rolls[0][3] = rolls[1][4] = -RADIUS
        A = np.array([side, *rolls])
        # no wheel slips, none slides
        np.testing.assert_allclose(A @ u[k], 0.0, atol=1e-12)
        unknowns = np.concatenate([np.eye(7)[:, motors], A.T], axis=1)
        expected = np.linalg.solve(unknowns, needed[k])[:4]
        np.testing.assert_allclose(tau[k, motors], expected, atol=1e-9)
        assert not np.delete(tau[k], motors).any()
    # the motors' power is the change of energy
    power = (tau * u).sum(axis=1)
    h = 1e-5
    before, after = (free.energy(*_commanded(mobile, t + d)[:2]) for d in (-h, h))
    change = (after.kinetic + after.potential - before.kinetic - before.potential) / (2 * h)
    np.testing.assert_allclose(power, change, rtol=1e-6, atol=1e-6)
