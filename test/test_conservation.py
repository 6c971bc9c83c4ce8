"""What mechanics conserves: energy, momentum, and the balance of power, along computed motions.

Motions are integrated here by Runge and Kutta's method from nothing but `forward_dynamics`.
"""

from collections.abc import Callable

import numpy as np
import pytest
from oracle import random_states, robot_path

import kane_dynamics as kd

Array = np.ndarray
Torque = Callable[[float, Array, Array], Array]

RAFT = """<robot name="raft"><link name="shore"/>
<link name="raft"><inertial><origin xyz="0.1 0.2 0.3" rpy="1 2 3"/><mass value="5"/>
<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/></inertial></link>
<link name="buoy"><inertial><origin xyz="0.3 0 0.1"/><mass value="2"/>
<inertia ixx="0.3" ixy="0" ixz="0.1" iyy="0.4" iyz="0" izz="0.5"/></inertial></link>
<link name="mast"><inertial><origin xyz="0 0 0.5"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial></link>
<joint name="water" type="planar"><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><parent link="shore"/>
<child link="raft"/><axis xyz="0 0 1"/></joint>
<joint name="rope" type="floating"><origin xyz="0.5 0 0"/><parent link="raft"/><child link="buoy"/>
</joint><joint name="foot" type="continuous"><origin xyz="0 0 0.4"/><parent link="raft"/>
<child link="mast"/><axis xyz="1 2 0"/></joint></robot>"""


def load(name: str, **options: object) -> kd.Dynamics:
    source = RAFT if name == "raft" else robot_path(name)
    return kd.load(source, **{"joint_friction": False, **options})


def rates(arm: kd.Dynamics, q: Array, u: Array) -> Array:
    """Time derivative of q: the speeds; for a free body, its velocity and half its quaternion
    times its angular velocity."""
    result = np.zeros(arm.nq)
    k, s = 0, 0
    while k < arm.nq:
        if not arm.coordinate_names[min(k + 3, arm.nq - 1)].endswith(".qx"):
            result[k] = u[s]
            k, s = k + 1, s + 1
            continue
        e, w = q[k + 3 : k + 6], q[k + 6]
        v, omega = u[s : s + 3], u[s + 3 : s + 6]
        result[k : k + 3] = v + 2.0 * np.cross(e, np.cross(e, v) + w * v)
        result[k + 3 : k + 6] = 0.5 * (w * omega + np.cross(e, omega))
        result[k + 6] = -0.5 * e @ omega
        k, s = k + 7, s + 6
    return result


def moved(
    arm: kd.Dynamics,
    q: Array,
    u: Array,
    duration: float,
    step: float = 1e-3,
    torque: Torque | None = None,
    power: Torque | None = None,
    wrenches: dict[str, Array] | None = None,
) -> tuple[Array, Array, float]:
    """Coordinates and speeds after some time, and the work that `power` has done."""

    def derivative(t: float, state: Array) -> Array:
        q, u = state[: arm.nq], state[arm.nq : -1]
        tau = np.zeros(arm.dof) if torque is None else torque(t, q, u)
        udot = arm.forward_dynamics(q, u, tau, wrenches)
        return np.concatenate([rates(arm, q, u), udot, [power(t, q, u) if power else 0.0]])

    state = np.concatenate([q, u, [0.0]])
    for k in range(round(duration / step)):
        t = k * step
        k1 = derivative(t, state)
        k2 = derivative(t + step / 2, state + step / 2 * k1)
        k3 = derivative(t + step / 2, state + step / 2 * k2)
        k4 = derivative(t + step, state + step * k3)
        state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state[: arm.nq], state[arm.nq : -1], float(state[-1])


def start(arm: kd.Dynamics, seed: int = 0) -> tuple[Array, Array]:
    """A moderate motion to start from."""
    states = random_states(arm, count=1, seed=seed)
    return states.q[0], 0.3 * states.u[0]


def total(arm: kd.Dynamics, q: Array, u: Array) -> float:
    energy = arm.energy(q, u)
    return float(energy.kinetic + energy.potential)


FIXED = ["two_link_arm", "stanford_arm", "ur5_robot", "kinova", "panda", "raft"]


@pytest.mark.parametrize("name", FIXED)
def test_energy_is_conserved_in_free_motion(name: str) -> None:
    arm = load(name)
    q, u = start(arm)
    before = total(arm, q, u)
    errors = []
    for step in (2e-3, 1e-3):
        after = moved(arm, q, u, 0.2, step)
        errors.append(abs(total(arm, *after[:2]) - before))
    scale = arm.energy(*after[:2]).kinetic + arm.energy(q, u).kinetic
    assert errors[1] < 1e-6 * scale
    # An error of the integrator falls at least with the fourth power of its step; one of the
    # equations would stay.
    assert errors[1] < errors[0] / 8 or errors[1] < 1e-12 * scale


@pytest.mark.parametrize("name", ["solo12", "hextilt_flying_arm_5"])
def test_momentum_of_a_free_robot_is_conserved_without_gravity(name: str) -> None:
    arm = load(name, base="floating", gravity=(0.0, 0.0, 0.0))
    q, u = start(arm)
    inner = arm.mass_matrix(q).diagonal() * 3.0
    inner[:6] = 0.0  # what the joints do inside the robot does not matter
    before = arm.momentum(q, u)
    q, u, _ = moved(arm, q, u, 0.1, 2.5e-4, torque=lambda t, q, u: inner)
    after = arm.momentum(q, u)
    np.testing.assert_allclose(after.linear, before.linear, rtol=0, atol=1e-8)
    np.testing.assert_allclose(after.angular, before.angular, rtol=0, atol=1e-8)


def test_energy_of_a_free_robot_is_conserved_with_gravity() -> None:
    arm = load("solo12", base="floating", gravity=(1.0, 2.0, -9.0))
    q, u = start(arm)
    before = total(arm, q, u)
    q, u, _ = moved(arm, q, u, 0.2)
    assert total(arm, q, u) == pytest.approx(before, abs=1e-7 * arm.energy(q, u).kinetic)


def test_a_falling_robot_gains_momentum_by_its_weight() -> None:
    gravity = np.array([0.5, -1.0, -9.81])
    arm = load("solo12", base="floating", gravity=tuple(gravity))
    mass = arm.mass_matrix(start(arm)[0])[0, 0]
    q, u = start(arm)
    before = arm.momentum(q, u)
    q, u, _ = moved(arm, q, u, 0.3)
    gained = arm.momentum(q, u).linear - before.linear
    np.testing.assert_allclose(gained, 0.3 * mass * gravity, rtol=1e-8)


@pytest.mark.parametrize("name", ["ur5_robot", "stanford_arm", "kinova"])
def test_angular_momentum_about_the_vertical_is_conserved_when_the_first_joint_is_free(
    name: str,
) -> None:
    arm = load(name)
    q, u = start(arm)
    tau = arm.mass_matrix(q).diagonal() * 3.0
    tau[0] = 0.0
    axis = arm.jacobian(arm.robot.joint(arm.joint_names[0]).child, q)[3:, 0]
    np.testing.assert_allclose(np.abs(axis), [0.0, 0.0, 1.0], atol=1e-9)
    before = arm.momentum(q, u).angular[2]
    assert abs(before) > 1e-3
    q, u, _ = moved(arm, q, u, 0.1, 2.5e-4, torque=lambda t, q, u: tau)
    assert arm.momentum(q, u).angular[2] == pytest.approx(before, rel=1e-7)


@pytest.mark.parametrize("name", ["stanford_arm", "panda", "ur5_robot"])
def test_energy_grows_by_the_work_of_torques_and_wrenches(name: str) -> None:
    arm = load(name)
    link = arm.robot.joint(arm.joint_names[2]).child
    wrench = np.array([3.0, -2.0, 4.0, 0.5, 0.3, -0.4])

    def torque(t: float, q: Array, u: Array) -> Array:
        return np.sin(7.0 * t + np.arange(arm.dof))

    def power(t: float, q: Array, u: Array) -> Array:
        return torque(t, q, u) @ u + wrench @ (arm.jacobian(link, q) @ u)

    q, u = start(arm)
    before = total(arm, q, u)
    q, u, work = moved(arm, q, u, 0.1, 5e-4, torque, power, {link: wrench})
    assert abs(work) > 1e-3
    assert total(arm, q, u) - before == pytest.approx(work, rel=1e-5)


SLED = """<robot name="sled"><link name="ice"/><link name="sled"><inertial><mass value="4"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="track" type="prismatic"><parent link="ice"/><child link="sled"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" velocity="9" effort="9"/><dynamics damping="2" friction="3"/></joint>
</robot>"""


def test_friction_takes_the_energy_that_leaves() -> None:
    arm = kd.load(SLED)
    q, u = np.array([0.0]), np.array([5.0])

    def power(t: float, q: Array, u: Array) -> Array:
        return -2.0 * u[0] ** 2 - 3.0 * abs(u[0])

    before = total(arm, q, u)
    q, u, work = moved(arm, q, u, 1.0, 1e-2, power=power)
    assert u[0] > 0.0
    assert total(arm, q, u) - before == pytest.approx(work, rel=1e-9)
    # 4 du/dt = -(2 u + 3)
    assert u[0] == pytest.approx((5.0 + 1.5) * np.exp(-0.5) - 1.5, rel=1e-9)


@pytest.mark.parametrize("name", ["ur5_robot", "panda", "talos_reduced", "tiago", "baxter"])
def test_forces_due_to_speeds_do_no_work_of_their_own(name: str) -> None:
    """The change of the mass matrix and the speed-dependent forces balance: u (M' - 2C) u = 0."""
    arm = load(name, backend="numpy")
    states = random_states(arm, count=20)
    q, u = states.q, states.u
    step = 1e-5
    faster = arm.energy(q + step * u, u).kinetic - arm.energy(q - step * u, u).kinetic
    power = ((arm.bias(q, u) - arm.gravity(q)) * u).sum(axis=1)
    np.testing.assert_allclose(
        power, faster / (2.0 * step), rtol=0, atol=1e-6 * np.abs(power).max()
    )


@pytest.mark.parametrize("name", ["ur5_robot", "panda", "talos_reduced", "tiago", "baxter"])
def test_weights_are_the_slope_of_the_potential_energy(name: str) -> None:
    arm = load(name, backend="numpy")
    q, u = random_states(arm, count=10).q, np.zeros(arm.dof)
    gravity = arm.gravity(q)
    step = 1e-5
    for k in range(arm.dof):
        shift = step * np.eye(arm.dof)[k]
        slope = arm.energy(q + shift, u).potential - arm.energy(q - shift, u).potential
        np.testing.assert_allclose(
            gravity[:, k], slope / (2.0 * step), rtol=0, atol=1e-7 * np.abs(gravity).max()
        )


def test_work_is_done_only_where_a_force_moves() -> None:
    """A wrench on a link at rest has no power, whatever its size."""
    arm = load("ur5_robot")
    q, _ = start(arm)
    pushed = arm.forward_dynamics(q, np.zeros(6), arm.gravity(q), {"base_link": np.full(6, 1e3)})
    np.testing.assert_allclose(pushed, 0.0, atol=1e-9)
