"""Derivatives of torques and accelerations against Pinocchio's, in its tangent conventions."""

import numpy as np
import pinocchio as pin
import pytest
from oracle import Array, Pinocchio, load, random_states, robot_path
from random_robots import Recipe, random_robot
from test_equations_contract import CartPendulum
from test_joint_kinds import TWINS, Twin
from test_random_robots import EVERY_KIND
from test_singular import MASSLESS_TIP, POINT_MASSES

import kane_dynamics as kd
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.kane.equations import Equations

ROBOTS = [
    ("panda", "fixed"),
    ("ur5_robot", "fixed"),
    ("stanford_arm", "fixed"),
    ("double_pendulum_continuous", "fixed"),
    ("solo12", "floating"),
    ("hextilt_flying_arm_5", "floating"),
    ("panda", "floating"),
    ("talos_reduced", "floating"),
]
"""The fingers of the Panda mimic each other."""

MORE_TWINS = {
    **TWINS,
    "floating": Twin(["floating", "revolute", "ball", "screw"], [-1, 0, 1, 2]),
    "floating outboard": Twin(["revolute", "prismatic", "floating", "screw"], [-1, 0, 1, 2]),
}


def agrees(ours: Array, theirs: Array) -> bool:
    return float(np.abs(ours - theirs).max()) <= 1e-9 * max(float(np.abs(theirs).max()), 1.0)


def symmetric(upper: Array) -> Array:
    return np.triu(upper) + np.triu(upper, 1).T


@pytest.mark.parametrize(("stem", "base"), ROBOTS)
def test_derivatives_of_real_robots_are_those_of_pinocchio(stem: str, base: str) -> None:
    arm, peer = load(robot_path(stem), base=base), Pinocchio(robot_path(stem), base)
    model, data, G = peer.model, peer.data, peer.G
    states = random_states(arm, 5)
    tau = arm.inverse_dynamics(states.q, states.u, states.udot)
    inverse = arm.inverse_dynamics_derivatives(states.q, states.u, states.udot)
    forward = arm.forward_dynamics_derivatives(states.q, states.u, tau)
    for k, (q, u, udot) in enumerate(zip(states.q, states.u, states.udot)):
        pin.computeRNEADerivatives(model, data, peer.configuration(q), G @ u, G @ udot)
        dq, du = (G.T @ each @ G for each in (data.dtau_dq, data.dtau_dv))
        M = G.T @ symmetric(data.M) @ G
        for ours, theirs in zip(inverse, (dq, du, M)):
            assert agrees(ours[k], theirs)
        # The error is measured in M times derivative, as the condition of M may be anything.
        for ours, theirs in zip(forward, (-dq, -du, np.eye(arm.dof))):
            assert agrees(M @ ours[k], theirs)


@pytest.mark.parametrize("stem", ["panda", "ur5_robot"])
def test_derivatives_of_accelerations_are_those_of_pinocchio(stem: str) -> None:
    arm = kd.load(robot_path(stem), joint_friction=False, locked=LOCKED.get(stem))
    model = pin.buildModelFromUrdf(str(robot_path(stem)))
    fingers = [model.getJointId(name) for name in LOCKED.get(stem, ())]
    model = pin.buildReducedModel(model, fingers, pin.neutral(model))
    data = model.createData()
    states = random_states(arm, 10)
    for q, u, tau in zip(states.q, states.u, states.udot):
        expected = pin.computeABADerivatives(model, data, q, u, tau)
        found = arm.forward_dynamics_derivatives(q, u, tau)
        for ours, theirs in zip(found, (*expected[:2], symmetric(expected[2]))):
            assert agrees(ours, theirs)


LOCKED = {"panda": {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}}


@pytest.mark.parametrize("twin", MORE_TWINS.values(), ids=MORE_TWINS)
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_derivatives_of_every_kind_of_joint_are_those_of_pinocchio(
    twin: Twin, backend: str
) -> None:
    arm, model, data = twin.load(backend), twin.model, twin.data
    states = random_states(arm, 5)
    for q, u, udot in zip(states.q, states.u, states.udot):
        tau = pin.rnea(model, data, q, u, udot)
        found = arm.inverse_dynamics_derivatives(q, u, udot)
        pin.computeRNEADerivatives(model, data, q, u, udot)
        for ours, theirs in zip(found, (data.dtau_dq, data.dtau_dv, symmetric(data.M))):
            assert agrees(ours, theirs)
        accelerations = arm.forward_dynamics_derivatives(q, u, tau)
        expected = pin.computeABADerivatives(model, data, q, u, tau)
        for ours, theirs in zip(accelerations, (*expected[:2], symmetric(expected[2]))):
            assert agrees(ours, theirs)


@pytest.mark.parametrize("twin", [MORE_TWINS["floating"], MORE_TWINS["tree"]])
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_sums_over_bodies_and_derivatives_of_the_graph_agree(twin: Twin, name: str) -> None:
    arm = twin.load()
    by_graph = _of_the_graph(arm, f"{name}_derivatives")
    states = random_states(arm, 5)
    given = states.q, states.u, states.udot
    ours = getattr(arm, f"{name}_derivatives")(*given)
    for k, matrix in enumerate(ours):
        assert agrees(matrix, by_graph(*given)[:, k])


RECIPES = {
    "aligned": Recipe(square=0.8),
    "bushy": Recipe(parts=9, square=0.3, branching=0.9),
    "mimics among every kind": Recipe(kinds=EVERY_KIND, mimics=0.6, square=0.7),
    "mimics about parallel axes": Recipe(kinds=("revolute",), mimics=0.5, parallel=(0.0,)),
    "massless links": Recipe(massless=0.5, square=0.5),
}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_random_robots_are_those_of_their_torques(
    recipe: Recipe, base: str, seed: int
) -> None:
    arm = load(random_robot(recipe, seed).urdf(), base=base, gravity=(3.0, -7.0, 2.5), cache=False)
    states = random_states(arm, 3)
    given = states.q, states.u, states.udot
    found = np.stack(arm.inverse_dynamics_derivatives(*given), axis=1)
    expected = _of_the_graph(arm, "inverse_dynamics_derivatives")(*given)
    size = np.maximum(np.abs(expected).max(axis=(2, 3), keepdims=True), 1e-300)
    np.testing.assert_allclose(found / size, expected / size, atol=1e-9)


def _of_the_graph(arm: kd.Dynamics, name: str):
    """A program as the contract derives it for any mechanism."""
    equations = arm._functions.equations

    class Plain(type(equations)):
        pass

    setattr(Plain, name, getattr(Equations, name))
    plain = Plain(equations.name, equations.tree, equations.gravity_vector)
    return Functions(plain, "numpy", cache=False).function(name)


def test_derivatives_hold_for_speeds_that_are_no_rates() -> None:
    functions = Functions(CartPendulum(), "numpy", cache=False)
    random = np.random.default_rng(3)
    q, u, tau = random.normal(size=(3, 2))
    found = functions.function("forward_dynamics_derivatives")(q, u, tau)
    udot, rates = (functions.function(name) for name in ("forward_dynamics", "coordinate_rates"))
    h = 1e-6
    for r, e in enumerate(np.eye(2)):
        step = h * rates(q, e)
        by_q = (udot(q + step, u, tau) - udot(q - step, u, tau)) / (2 * h)
        by_u = (udot(q, u + h * e, tau) - udot(q, u - h * e, tau)) / (2 * h)
        by_tau = (udot(q, u, tau + h * e) - udot(q, u, tau - h * e)) / (2 * h)
        np.testing.assert_allclose(found[:, :, r], [by_q, by_u, by_tau], atol=1e-7)


def test_viscous_friction_is_part_of_the_derivatives_and_dry_friction_is_not() -> None:
    path = robot_path("panda")
    rough, smooth = kd.load(path, backend="numpy"), load(path)
    states = random_states(rough, 3)
    given = states.q, states.u, states.udot
    difference = (
        rough.inverse_dynamics_derivatives(*given).dtau_du
        - smooth.inverse_dynamics_derivatives(*given).dtau_du
    )
    damping = [rough.robot.joint(name).damping for name in rough.joint_names]
    assert max(damping) > 0.0
    followers = [j for j in rough.robot.joints if j.mimic is not None]
    for joint in followers:
        damping[rough.joint_names.index(joint.mimic.joint)] += joint.damping
    np.testing.assert_allclose(difference, np.broadcast_to(np.diag(damping), difference.shape))
    tau = rough.inverse_dynamics(*given)
    found = rough.forward_dynamics_derivatives(states.q, states.u, tau)
    torques = rough.inverse_dynamics_derivatives(*given)
    np.testing.assert_allclose(
        rough.mass_matrix(states.q) @ found.dudot_du, -torques.dtau_du, atol=1e-9
    )


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_batch_is_its_states_one_by_one(backend: str) -> None:
    arm = load(robot_path("ur5_robot"), backend=backend)
    states = random_states(arm, 7)
    given = states.q, states.u, states.udot
    for ask in (arm.inverse_dynamics_derivatives, arm.forward_dynamics_derivatives):
        batch = ask(*given)
        for k in range(7):
            one = ask(*(each[k] for each in given))
            for whole, single in zip(batch, one):
                assert whole.shape == (7, 6, 6)
                np.testing.assert_allclose(whole[k], single, rtol=1e-12, atol=1e-12)


def test_payloads_are_felt_by_the_derivatives() -> None:
    path = robot_path("ur5_robot")
    arm = load(path, payload="wrist_3_link")
    arm.set_payload("wrist_3_link", 2.0, (0.1, 0.0, 0.2))
    states = random_states(arm, 1)
    q, u, udot = states.q[0], states.u[0], states.udot[0]
    found = arm.inverse_dynamics_derivatives(q, u, udot)
    h = 1e-6
    for r, e in enumerate(np.eye(arm.dof)):
        change = arm.inverse_dynamics(q + h * e, u, udot) - arm.inverse_dynamics(q - h * e, u, udot)
        np.testing.assert_allclose(found.dtau_dq[:, r], change / (2 * h), atol=1e-5)
    forward = arm.forward_dynamics_derivatives(q, u, arm.inverse_dynamics(q, u, udot))
    np.testing.assert_allclose(arm.mass_matrix(q) @ forward.dudot_dq, -found.dtau_dq, atol=1e-9)


@pytest.mark.parametrize("many", [False, True])
def test_a_link_without_inertia_is_named(many: bool) -> None:
    massless = kd.load(MASSLESS_TIP, backend="numpy", cache=False)
    with pytest.raises(kd.SingularError, match=r"link 'boom'.* joint 'lift'"):
        massless.forward_dynamics_derivatives([0.1, 0.2], [0.0, 0.0], [1.0, 1.0])
    arm = kd.load(POINT_MASSES, backend="numpy", cache=False, gravity=(0, 0, 0))
    up = np.array([0.3, -np.pi / 2])
    q = np.array([[0.3, 0.0], up]) if many else up
    with pytest.raises(kd.SingularError, match=r"in this configuration: link 'post'"):
        arm.forward_dynamics_derivatives(q, np.zeros(2), np.ones(2))


def test_bad_states_are_refused_by_name() -> None:
    arm = load(robot_path("ur5_robot"))
    good = np.zeros(6)
    with pytest.raises(kd.ArgumentError, match=r"inverse_dynamics_derivatives: u must have shape"):
        arm.inverse_dynamics_derivatives(good, np.zeros(5), good)
    bad = good.copy()
    bad[2] = np.nan
    with pytest.raises(kd.ArgumentError, match=r"forward_dynamics_derivatives: tau\[2\] is nan"):
        arm.forward_dynamics_derivatives(good, good, bad)


def test_all_derivatives_of_the_panda_take_few_operations() -> None:
    arm = load(robot_path("panda"), locked=LOCKED["panda"])
    assert arm.operations("inverse_dynamics_derivatives").total <= 2780
    assert arm.operations("forward_dynamics_derivatives").total <= 4799
