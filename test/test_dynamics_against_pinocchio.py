"""Dynamics of real robots against Pinocchio: fixed and floating base, a hundred states each."""

import re
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest
from oracle import (
    URDFS,
    Answers,
    Pinocchio,
    States,
    assert_agrees,
    assert_produces,
    error,
    load,
    name_of,
    random_states,
    random_torques,
    robot_path,
)

import kane_dynamics as kd

EVERY_ROBOT = [(path, base) for path in URDFS for base in ("fixed", "floating")]

SINGULAR = {"romeo", "romeo_laas_small"}
"""Robots with fingers that have neither mass nor inertia."""

COMPILED = [
    ("ur5_robot", "fixed"),
    ("panda", "fixed"),
    ("talos_reduced", "fixed"),
    ("kinova", "fixed"),
    ("xarm7", "fixed"),
    ("baxter", "fixed"),
    ("tiago_no_hand", "fixed"),
    ("double_pendulum_continuous", "fixed"),
    ("allegro_right_hand", "fixed"),
    ("stanford_arm", "fixed"),
    ("solo12", "floating"),
    ("hextilt_flying_arm_5", "floating"),
]
"""Robots whose equations are also compiled."""


@dataclass(frozen=True)
class Twins:
    """A robot here and in Pinocchio."""

    stem: str
    arm: kd.Dynamics
    robot: Pinocchio

    @property
    def singular(self) -> bool:
        return self.stem in SINGULAR


@pytest.fixture(
    scope="module", params=EVERY_ROBOT, ids=lambda pair: f"{name_of(pair[0])}-{pair[1]}"
)
def twins(request: pytest.FixtureRequest) -> Twins:
    """Loaded once for all that is asked of them."""
    path, base = request.param
    try:
        robot = Pinocchio(path, base)
    except ValueError:
        with pytest.raises(kd.ModelError, match=re.escape(path.name)):
            load(path, base=base)
        pytest.skip("Pinocchio does not load it either")
    if robot.dof == 0:
        with pytest.raises(kd.ModelError, match="nothing moves"):
            load(path, base=base)
        pytest.skip("nothing moves")
    return Twins(path.stem, load(path, base=base), robot)


def sample(links: tuple[str, ...]) -> list[str]:
    """All links of a small robot, some of a large one."""
    chosen = np.random.default_rng(0).permutation(len(links))[
        : len(links) if len(links) < 12 else 5
    ]
    return [links[i] for i in chosen]


def correlation(mass_matrix: np.ndarray) -> np.ndarray:
    """The mass matrix with ones on the diagonal; nan where there is no inertia."""
    diagonal = np.sqrt(mass_matrix.diagonal(axis1=1, axis2=2))
    with np.errstate(invalid="ignore"):
        return mass_matrix / diagonal[:, :, None] / diagonal[:, None, :]


def test_a_robot_moves_as_in_pinocchio(twins: Twins) -> None:
    arm, robot = twins.arm, twins.robot
    assert list(arm.joint_names) == robot.names
    assert arm.dof == robot.dof
    states = random_states(arm)
    assert_agrees(arm, states, robot.answers(states, sample(arm.link_names)))


def test_torques_produce_the_accelerations_of_pinocchio(twins: Twins) -> None:
    arm = twins.arm
    states = random_states(arm, seed=1)
    expected = twins.robot.answers(states)
    tau = random_torques(expected)
    if twins.singular:
        with pytest.raises(kd.SingularError) as raised:
            arm.forward_dynamics(states.q, states.u, tau)
        assert any(f"'{link}'" in str(raised.value) for link in arm.link_names)
    else:
        assert_produces(expected, tau, arm.forward_dynamics(states.q, states.u, tau))


def test_forward_dynamics_is_refused_exactly_where_the_mass_matrix_is_singular(
    twins: Twins,
) -> None:
    states = random_states(twins.arm, count=3, seed=2)
    scaled = correlation(twins.robot.answers(states).mass_matrix)
    singular = bool(np.isnan(scaled).any()) or np.linalg.cond(scaled).min() > 1e12
    assert singular == twins.singular


@pytest.mark.parametrize("stem", ["ur5_robot", "panda", "tiago", "solo12", "talos_reduced"])
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_wrenches_on_links_act_through_their_jacobians(stem: str, base: str) -> None:
    path = robot_path(stem)
    robot, arm = Pinocchio(path, base), load(path, base=base)
    states = random_states(arm, seed=3)
    links = sample(arm.link_names)[:3]
    expected = robot.answers(states, links)
    random = np.random.default_rng(4)
    wrenches = {link: 30.0 * random.normal(size=(len(states.q), 6)) for link in links}
    felt = sum(np.einsum("nij,ni->nj", expected.jacobians[k], wrenches[k]) for k in links)
    torques = arm.inverse_dynamics(states.q, states.u, states.udot, wrenches)
    assert error(torques, expected.torques - felt) < 1e-9
    tau = random_torques(expected)
    udot = arm.forward_dynamics(states.q, states.u, tau, wrenches)
    assert_produces(expected, tau + felt, udot)


WITH_MIMICS = ["baxter", "panda", "panda_collision", "pr2", "tiago_pro"]


@pytest.mark.parametrize("stem", WITH_MIMICS)
def test_mimicking_joints_load_their_master_as_in_pinocchio(stem: str) -> None:
    """Pinocchio's own mimic joints, where its algorithms know them."""
    arm = load(robot_path(stem))
    model = pin.buildModelFromUrdf(str(robot_path(stem)), mimic=True)
    data = model.createData()
    states = random_states(arm, count=20, seed=5)
    joints = [model.joints[model.getJointId(name)] for name in arm.joint_names]
    order = [joint.idx_v for joint in joints]
    torques, matrices = [], []
    for q, u, udot in zip(states.q, states.u, states.udot, strict=True):
        x, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for joint, angle in zip(joints, q, strict=True):
            entries = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
            x[joint.idx_q : joint.idx_q + joint.nq] = entries
        v[order], a[order] = u, udot
        torques.append(pin.rnea(model, data, x, v, a)[order])
        upper = np.triu(pin.crba(model, data, x))
        matrices.append((upper + np.triu(upper, 1).T)[np.ix_(order, order)])
    assert error(arm.inverse_dynamics(states.q, states.u, states.udot), np.array(torques)) < 1e-9
    assert error(arm.mass_matrix(states.q), np.array(matrices)) < 1e-9


@pytest.mark.parametrize(("stem", "base"), COMPILED)
def test_compiled_equations_are_those_of_numpy(stem: str, base: str) -> None:
    slow = load(robot_path(stem), base=base)
    fast = load(robot_path(stem), base=base, backend="c")
    states = random_states(slow, seed=6)
    answers = answers_of(slow, states)
    assert_agrees(fast, states, answers, tolerance=1e-12)
    tau = random_torques(answers)
    assert_produces(answers, tau, fast.forward_dynamics(states.q, states.u, tau), tolerance=1e-12)
    for n in range(3):
        one = States(states.q[n], states.u[n], states.udot[n])
        np.testing.assert_allclose(
            fast.inverse_dynamics(one.q, one.u, one.udot),
            answers.torques[n],
            rtol=0.0,
            atol=1e-12 * np.abs(answers.torques).max(),
        )


def answers_of(arm: kd.Dynamics, states: States) -> Answers:
    """What a robot says of itself, to compare another with."""
    q, u = states.q, states.u
    link = arm.link_names[-1]
    return Answers(
        torques=arm.inverse_dynamics(q, u, states.udot),
        gravity=arm.gravity(q),
        bias=arm.bias(q, u),
        mass_matrix=arm.mass_matrix(q),
        kinetic=arm.energy(q, u).kinetic,
        potential=arm.energy(q, u).potential,
        linear=arm.momentum(q, u).linear,
        angular=arm.momentum(q, u).angular,
        poses={link: arm.pose(link, q)},
        jacobians={link: arm.jacobian(link, q)},
    )
