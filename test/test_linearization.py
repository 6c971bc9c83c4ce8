"""Linear equations about states and motions, modes and equilibria of arms."""

import numpy as np
import pinocchio as pin
import pytest
from oracle import Array, load, random_states, robot_path
from scipy.linalg import expm
from test_equations_contract import CartPendulum
from test_joint_kinds import Twin

import kane_dynamics as kd
from kane_dynamics.codegen.functions import Functions

PENDULA = """<robot name="pendula"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 -1"/><mass value="1"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0 0 -1"/><mass value="1"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
<joint name="a" type="continuous"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/></joint>
<joint name="b" type="continuous"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 -1"/><axis xyz="0 1 0"/></joint></robot>"""
"""Two equal bobs on equal strings: omega² = (2 ± √2) g / l."""

FLOATING = Twin(["floating", "revolute", "ball", "screw"], [-1, 0, 1, 2])


def pendula(**options: object) -> kd.Dynamics:
    return kd.load(PENDULA, backend="numpy", gravity=(0.0, 0.0, -10.0), **options)


def test_modes_of_the_double_pendulum_are_those_of_the_textbook() -> None:
    modes = pendula().linearize([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).modes
    slow, fast = np.sqrt(10.0 * (2.0 - np.sqrt(2.0))), np.sqrt(10.0 * (2.0 + np.sqrt(2.0)))
    np.testing.assert_allclose([each.eigenvalue for each in modes], [1j * slow, 1j * fast])
    assert [each.frequency for each in modes] == pytest.approx([slow / 2 / np.pi, fast / 2 / np.pi])
    assert [each.damping for each in modes] == pytest.approx([0.0, 0.0], abs=1e-12)
    for mode, ratio in zip(modes, (np.sqrt(2.0), -np.sqrt(2.0))):  # of the absolute angles
        assert (mode.shape["a"] + mode.shape["b"]) / mode.shape["a"] == pytest.approx(ratio)


def test_linear_equations_have_names_and_can_be_taken_in_some_variables() -> None:
    whole = pendula().linearize([0.1, 0.2], [0.3, 0.4], [0.0, 1.0])
    assert whole.states == ("a", "b", "a.speed", "b.speed")
    assert whole.inputs == ("a", "b")
    some = whole.of(states=["b", "b.speed"], inputs=["b"])
    assert (some.states, some.inputs) == (("b", "b.speed"), ("b",))
    np.testing.assert_array_equal(some.A, whole.A[np.ix_([1, 3], [1, 3])])
    np.testing.assert_array_equal(some.B, whole.B[np.ix_([1, 3], [1])])


def test_a_neighbour_of_a_floating_robots_motion_moves_as_the_linear_equations_say() -> None:
    """Both motions by Pinocchio; their difference in its tangent space, over a short time."""
    arm, model, data = FLOATING.load(), FLOATING.model, FLOATING.data
    states = random_states(arm, 1, seed=2)
    q, u, tau = states.q[0], 0.5 * states.u[0], states.udot[0]
    linear = arm.linearize(q, u, tau)
    h, deviation = 1e-4, 1e-5 * np.random.default_rng(4).normal(size=2 * arm.dof)

    def later(q: Array, u: Array) -> tuple[Array, Array]:
        for _ in range(10):
            middle_u = u + 0.05 * h * pin.aba(model, data, q, u, tau)
            middle_q = pin.integrate(model, q, 0.05 * h * u)
            udot = pin.aba(model, data, middle_q, middle_u, tau)
            q, u = pin.integrate(model, q, 0.1 * h * middle_u), u + 0.1 * h * udot
        return q, u

    n = arm.dof
    ends = [
        later(pin.integrate(model, q, s * deviation[:n]), u + s * deviation[n:]) for s in (1, -1)
    ]
    nominal = later(q, u)[0]
    aside = [pin.difference(model, nominal, end[0]) for end in ends]
    found = 0.5 * np.concatenate([aside[0] - aside[1], ends[0][1] - ends[1][1]])
    expected = expm(h * linear.A) @ deviation
    change = np.abs(expected - deviation).max()
    assert np.abs(found - expected).max() < 2e-3 * change


HUB = """<robot name="hub"><link name="base"/>
<link name="wheel"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="bead"><inertial><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="spin" type="continuous"><parent link="base"/><child link="wheel"/>
<axis xyz="0 0 1"/></joint>
<joint name="slide" type="prismatic"><parent link="wheel"/><child link="bead"/>
<axis xyz="1 0 0"/><limit effort="1" velocity="1"/></joint></robot>"""


def test_a_bead_on_a_spinning_hub_feels_a_softer_spring() -> None:
    """Omega² = k / m - spin². Who drops products of small quantities before differentiating,
    the centripetal acceleration of the displaced bead among them, finds k / m."""
    arm = kd.load(HUB, backend="numpy")
    mass, stiffness, spin, rest = 2.0, 50.0, 3.0, 0.4
    tau = [0.0, -mass * spin**2 * rest]  # what the spring gives where the bead stays
    linear = arm.linearize([0.2, rest], [spin, 0.0], tau).of(["slide", "slide.speed"], ["slide"])
    closed = linear.A + linear.B @ np.array([[-stiffness, 0.0]])
    frequency = np.abs(np.linalg.eigvals(closed).imag).max()
    assert frequency == pytest.approx(np.sqrt(stiffness / mass - spin**2))


def test_the_displacements_of_a_floating_base_turn_with_it() -> None:
    arm = FLOATING.load()
    u = random_states(arm, 1).u[0]
    q = random_states(arm, 1).q[0]
    A = arm.linearize(q, u, np.zeros(arm.dof)).A
    v, w = (np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) for x, y, z in (u[:3], u[3:6]))
    np.testing.assert_allclose(A[:3, :3], -w, atol=1e-12)
    np.testing.assert_allclose(A[:3, 3:6], -v, atol=1e-12)
    np.testing.assert_allclose(A[3:6, 3:6], -w, atol=1e-12)
    np.testing.assert_allclose(A[3:6, :3], 0.0, atol=1e-12)


def test_rates_of_displacements_hold_for_speeds_that_are_no_rates() -> None:
    """The cart's T is [[1, 0], [-cos / l, 1 / l]]: only the angle's displacement changes it."""
    functions = Functions(CartPendulum(), "numpy", cache=False)
    q, u = np.array([0.3, 0.7]), np.array([0.4, -0.6])
    found = functions.function("displacement_rates")(q, u)
    rates = functions.function("coordinate_rates")
    T = np.column_stack([rates(q, e) for e in np.eye(2)])
    h = 1e-6

    def T_at(q: Array) -> Array:
        return np.column_stack([rates(q, e) for e in np.eye(2)])

    turned = (T_at(q + h * T @ u) - T_at(q - h * T @ u)) / (2 * h)
    changed = np.column_stack([(rates(q + h * t, u) - rates(q - h * t, u)) / (2 * h) for t in T.T])
    np.testing.assert_allclose(found, np.linalg.solve(T, changed - turned), atol=1e-8)


def test_a_batch_and_a_motion_are_linearized_state_by_state() -> None:
    arm = pendula()
    motion = arm.simulate(0.2, [0.5, -0.2], [0.0, 1.0], torque=[1.0, 0.5], step=0.05)
    along = arm.linearize(motion)
    assert along.A.shape == (len(motion), 4, 4)
    assert along.eigenvalues.shape == (len(motion), 4)
    one = arm.linearize(motion.q[2], motion.u[2], motion.tau[2])
    np.testing.assert_allclose(along[2].A, one.A, atol=1e-12)
    np.testing.assert_allclose(along[2].B, one.B, atol=1e-12)


def test_a_motion_with_dry_friction_is_linearized_at_its_own_accelerations() -> None:
    rough = PENDULA.replace(
        '<axis xyz="0 1 0"/></joint></robot>',
        '<axis xyz="0 1 0"/><dynamics friction="5" damping="0.1"/></joint></robot>',
    )
    arm = kd.load(rough, backend="numpy", gravity=(0.0, 0.0, -10.0))
    motion = arm.simulate(0.1, [0.5, -0.2], [0.3, 0.0], step=0.05)
    np.testing.assert_array_equal(motion.u[:, 1], 0.0)  # it sticks
    M = arm.mass_matrix(motion.q)
    smooth = kd.load(rough.replace('friction="5"', ""), backend="numpy", gravity=(0, 0, -10.0))
    expected = smooth.inverse_dynamics_derivatives(motion.q, motion.u, motion.udot)
    found = arm.linearize(motion)
    np.testing.assert_allclose(M @ found.A[:, 2:, :2], -expected.dtau_dq, atol=1e-9)
    np.testing.assert_allclose(M @ found.A[:, 2:, 2:], -expected.dtau_du, atol=1e-9)


def test_the_hanging_pendula_are_an_equilibrium_and_the_standing_ones_too() -> None:
    arm = pendula()
    hanging = arm.equilibrium([0.3, -0.4])
    np.testing.assert_allclose(hanging, [0.0, 0.0], atol=1e-9)
    standing = arm.equilibrium([3.0, 0.2])
    np.testing.assert_allclose(standing, [np.pi, 0.0], atol=1e-9)
    rest = np.zeros(2)
    assert arm.linearize(standing, rest, rest).eigenvalues.real.max() > 1.0
    assert not arm.linearize(standing, rest, rest).is_stable
    held = arm.equilibrium([0.3, 0.3], tau=[5.0, 2.0])
    np.testing.assert_allclose(arm.gravity(held), [5.0, 2.0], atol=1e-9)


def test_what_no_torque_depends_on_stays_where_it_was_guessed() -> None:
    arm = load(robot_path("ur5_robot"))
    guess = np.array([0.7, -1.4, 0.1, -1.5, 0.1, 0.4])
    found = arm.equilibrium(guess)
    np.testing.assert_allclose(arm.gravity(found), 0.0, atol=1e-9)
    assert found[0] == pytest.approx(0.7, abs=1e-9)


def test_a_ball_joint_finds_its_equilibrium_on_the_unit_sphere() -> None:
    arm = Twin(["ball", "revolute"], [-1, 0]).load()
    q = random_states(arm, 1).q[0]
    found = arm.equilibrium(q)
    assert np.linalg.norm(found[:4]) == pytest.approx(1.0)
    np.testing.assert_allclose(arm.gravity(found), 0.0, atol=1e-9)


def test_a_robot_that_nothing_holds_has_no_equilibrium() -> None:
    arm = load(robot_path("solo12"), base="floating")
    with pytest.raises(kd.ArgumentError, match=r"no equilibrium near the guess.*'base\.v"):
        arm.equilibrium([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0, *np.zeros(12)])


def test_a_torque_that_nothing_resists_leaves_no_equilibrium() -> None:
    upright = kd.load(PENDULA.replace('xyz="0 1 0"', 'xyz="0 0 1"'), backend="numpy")
    with pytest.raises(kd.ArgumentError, match=r"no equilibrium near the guess.*'a'"):
        upright.equilibrium([0.0, 0.0], tau=[1.0, 0.0])


def test_bad_input_is_named() -> None:
    arm = pendula()
    linear = arm.linearize([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(kd.ArgumentError, match="there is no state 'c'"):
        linear.of(states=["c"])
    with pytest.raises(kd.ArgumentError, match="input 'a' is named twice"):
        linear.of(inputs=["a", "a"])
    with pytest.raises(kd.ArgumentError, match="linearize misses tau"):
        arm.linearize([0.0, 0.0], [0.0, 0.0])
    with pytest.raises(kd.ArgumentError, match="u must have shape"):
        arm.linearize([0.0, 0.0], [0.0], [0.0, 0.0])
    with pytest.raises(kd.ArgumentError, match="modes are of one state, this has 3"):
        _ = arm.linearize(np.zeros((3, 2)), np.zeros(2), np.zeros(2)).modes
    with pytest.raises(kd.ArgumentError, match=r"guess\[1\] is inf"):
        arm.equilibrium([0.0, np.inf])
    with pytest.raises(kd.ArgumentError, match=r"equilibrium: guess must have shape \(2,\)"):
        arm.equilibrium(np.zeros((3, 2)))
    with pytest.raises(kd.ArgumentError, match=r"no equilibrium near the guess.*'a'"):
        arm.equilibrium([0.0, 0.0], tau=[100.0, 0.0])
