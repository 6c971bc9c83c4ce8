"""A robot seen from one of its links, against Pinocchio and the equations of motion themselves."""

import numpy as np
import pinocchio as pin
import pytest
from oracle import Array, load, random_states, robot_path
from test_joint_kinds import TWINS

import kane_dynamics as kd

PANDA = load(robot_path("panda"), locked={"panda_finger_joint1": 0.0})
HAND = "panda_hand"
STATES = random_states(PANDA, 4, seed=8)


def acceleration(arm: kd.Dynamics, link: str, q: Array, u: Array, udot: Array) -> Array:
    """Of a link, by differences of its velocity along the motion."""
    h = 1e-6
    ahead, behind = (
        (arm.jacobian(link, q + s * u + 0.5 * s * s * udot) @ (u + s * udot)) for s in (h, -h)
    )
    return (ahead - behind) / (2 * h)


@pytest.mark.parametrize("rows", [(0, 1, 2), (3, 4, 5), (2,), (0, 1, 2, 3, 4, 5), (5, 0)])
def test_torques_give_the_link_the_acceleration_commanded(rows: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    for q, u in zip(STATES.q, STATES.u):
        hand = PANDA.operational_space(HAND, q, u, rows)
        wanted, null = random.normal(size=len(rows)), random.normal(size=PANDA.dof)
        tau = hand.torques(wanted, null_torque=10.0 * null)
        udot = PANDA.forward_dynamics(q, u, tau)
        reached = PANDA.jacobian(HAND, q)[list(rows)] @ udot + hand.drift
        np.testing.assert_allclose(reached, wanted, atol=1e-8)
        measured = acceleration(PANDA, HAND, q, u, udot)[list(rows)]
        np.testing.assert_allclose(measured, wanted, atol=1e-3)
        assert not hand.damped
        assert hand.message == ""


def test_the_drift_of_a_link_is_that_of_pinocchio() -> None:
    for twin in TWINS.values():
        arm, model, data = twin.load(), twin.model, twin.data
        states = random_states(arm, 3)
        for q, u in zip(states.q, states.u):
            pin.forwardKinematics(model, data, q, u, np.zeros(model.nv))
            for i in range(model.njoints - 1):
                frame = pin.LOCAL_WORLD_ALIGNED
                expected = pin.getClassicalAcceleration(model, data, i + 1, frame).vector
                found = arm.operational_space(f"link{i}", q, u, [0]).drift
                np.testing.assert_allclose(found, expected[:1], atol=1e-9)
                whole = arm._function("drift", f"link{i}")(q, u)
                np.testing.assert_allclose(whole, expected, atol=1e-9)


def test_inertia_bias_and_gravity_are_those_of_khatib() -> None:
    for q, u in zip(STATES.q, STATES.u):
        hand = PANDA.operational_space(HAND, q, u)
        J, M = PANDA.jacobian(HAND, q)[:3], PANDA.mass_matrix(q)
        inverse = np.linalg.inv(M)
        inertia = np.linalg.inv(J @ inverse @ J.T)
        np.testing.assert_allclose(hand.inertia, inertia, rtol=1e-8, atol=1e-9)
        gravity = inertia @ J @ inverse @ PANDA.gravity(q)
        np.testing.assert_allclose(hand.gravity, gravity, rtol=1e-8, atol=1e-8)
        bias = inertia @ (J @ inverse @ PANDA.bias(q, u) - hand.drift)
        np.testing.assert_allclose(hand.bias, bias, rtol=1e-8, atol=1e-8)


def test_a_torque_in_the_null_space_does_not_accelerate_the_link() -> None:
    q, u = STATES.q[0], STATES.u[0]
    hand = PANDA.operational_space(HAND, q, u, range(6))
    null = hand.null_space @ np.arange(7.0)
    assert np.abs(null).max() > 0.1
    np.testing.assert_allclose(
        hand.jacobian @ np.linalg.solve(PANDA.mass_matrix(q), null), 0.0, atol=1e-8
    )


def test_a_wrench_on_the_surroundings_is_answered_by_them() -> None:
    """What the link exerts comes back to it: it accelerates as without both."""
    q, u = STATES.q[1], STATES.u[1]
    hand, push = PANDA.operational_space(HAND, q, u), np.array([3.0, -20.0, 5.0])
    tau = hand.torques([0.1, 0.2, 0.3], wrench=push)
    udot = PANDA.forward_dynamics(q, u, tau, wrenches={HAND: [*-push, 0.0, 0.0, 0.0]})
    np.testing.assert_allclose(hand.jacobian @ udot + hand.drift, [0.1, 0.2, 0.3], atol=1e-8)


def test_a_stretched_arm_is_damped_and_says_so() -> None:
    arm = load(robot_path("ur5_robot"))
    stretched = np.array([0.3, -0.8, 0.0, 0.4, 0.9, 0.2])
    hand = arm.operational_space("wrist_3_link", stretched, np.zeros(6), range(6))
    assert hand.damped
    assert "damped" in hand.message
    torques = hand.torques(np.ones(6))
    assert np.isfinite(torques).all()
    bent = stretched + np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    both = arm.operational_space("wrist_3_link", np.array([stretched, bent]), np.zeros(6), range(6))
    assert both.damped.tolist() == [True, False]
    assert "in 1 states" in both.message


def test_damping_begins_without_a_jump() -> None:
    arm = load(robot_path("ur5_robot"))
    q = np.array([0.3, -0.8, 0.0, 0.4, 0.9, 0.2])
    angles = np.linspace(0.0, 0.05, 4001)
    batch = np.tile(q, (len(angles), 1))
    batch[:, 2] = angles
    hand = arm.operational_space("wrist_3_link", batch, np.zeros(6), range(6))
    assert 0 < hand.damped.sum() < len(angles)
    at = int(np.flatnonzero(~hand.damped)[0])
    before, after = hand.inertia[at - 1], hand.inertia[at]
    assert np.abs(after - before).max() < 0.05 * np.abs(after).max()


def test_a_link_that_cannot_move_in_a_row_is_damped() -> None:
    arm = load(robot_path("double_pendulum_continuous"))
    link = arm.link_names[-1]
    hand = arm.operational_space(link, [0.3, 0.5], [0.1, 0.2], range(6))
    assert hand.damped
    assert np.isfinite(hand.torques(np.zeros(6))).all()


def test_a_batch_is_its_states_one_by_one() -> None:
    many = PANDA.operational_space(HAND, STATES.q, STATES.u, (2, 0))
    torques = many.torques([0.1, 0.2], wrench=[1.0, 2.0], null_torque=np.ones(7))
    for k, (q, u) in enumerate(zip(STATES.q, STATES.u)):
        one = PANDA.operational_space(HAND, q, u, (2, 0))
        for name in ("jacobian", "inertia", "bias", "gravity", "drift"):
            np.testing.assert_allclose(getattr(many, name)[k], getattr(one, name), atol=1e-9)
        expected = one.torques([0.1, 0.2], wrench=[1.0, 2.0], null_torque=np.ones(7))
        np.testing.assert_allclose(torques[k], expected, atol=1e-8)


def test_a_payload_is_felt_at_the_link_in_linear_equations_and_in_equilibrium() -> None:
    path, inertia = robot_path("ur5_robot"), ((0.02, 0, 0), (0, 0.03, 0), (0, 0, 0.04))
    arm = load(path, payload="wrist_3_link")
    arm.set_payload("wrist_3_link", 3.0, (0.0, 0.1, 0.2), inertia)
    read = kd.read_urdf(path)
    carried = kd.Inertia(3.0, (0.0, 0.1, 0.2), inertia)
    tool = kd.Link("tool", carried), kd.Joint("grip", "fixed", "wrist_3_link", "tool")
    fixed = load(kd.Robot("with tool", (*read.links, tool[0]), (*read.joints, tool[1])))
    q, u = np.array([0.1, -0.9, 0.7, 0.4, 0.9, 0.2]), np.full(6, 0.3)
    ours, expected = (each.operational_space("wrist_3_link", q, u) for each in (arm, fixed))
    np.testing.assert_allclose(ours.inertia, expected.inertia, rtol=1e-9)
    np.testing.assert_allclose(ours.bias, expected.bias, rtol=1e-9)
    linear, known = (each.linearize(q, u, u) for each in (arm, fixed))
    np.testing.assert_allclose(linear.A, known.A, atol=1e-8)
    np.testing.assert_allclose(arm.equilibrium(q), fixed.equilibrium(q), atol=1e-7)
    np.testing.assert_array_equal(arm.reduced_speeds().T, fixed.reduced_speeds().T)


def test_bad_input_is_named() -> None:
    q, u = STATES.q[0], STATES.u[0]
    with pytest.raises(kd.ArgumentError, match="there is no link 'hand'"):
        PANDA.operational_space("hand", q, u)
    for rows in ((), (0, 0), (6,), (0.5,), "012", 3, (True,), (-1,)):
        with pytest.raises(kd.ArgumentError, match="operational_space: rows are"):
            PANDA.operational_space(HAND, q, u, rows)
    with pytest.raises(kd.ArgumentError, match="u must have shape"):
        PANDA.operational_space(HAND, q, u[:3])
    hand = PANDA.operational_space(HAND, q, u)
    with pytest.raises(kd.ArgumentError, match=r"torques: acceleration must have shape \(3,\)"):
        hand.torques([0.0, 0.0])
    with pytest.raises(kd.ArgumentError, match="torques: every entry of wrench must be finite"):
        hand.torques([0.0, 0.0, 0.0], wrench=[0.0, np.nan, 0.0])
    with pytest.raises(kd.ArgumentError, match="null_torque must have shape"):
        hand.torques([0.0, 0.0, 0.0], null_torque=[0.0])


def test_a_massless_tip_is_named() -> None:
    from test_singular import MASSLESS_TIP

    arm = kd.load(MASSLESS_TIP, backend="numpy", cache=False)
    with pytest.raises(kd.SingularError, match="'boom'"):
        arm.operational_space("boom", [0.1, 0.2], [0.0, 0.0])
