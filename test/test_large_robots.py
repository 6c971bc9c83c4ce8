"""Robots of many joints: their equations cost a compiler no more than their joints are worth."""

import numpy as np
import pinocchio as pin
import pytest

import kane_dynamics as kd
from kane_dynamics.codegen.columns import LARGE
from kane_dynamics.errors import ArgumentError

JOINT = """<link name="l{0}"><inertial><origin xyz="0.02 0.01 0.1" rpy="0.1 0.2 0.3"/>
    <mass value="{3}"/><inertia ixx="0.01" ixy="0.001" ixz="0" iyy="0.012" iyz="0" izz="0.013"/>
    </inertial></link><joint name="j{0}" type="continuous"><parent link="l{1}"/><child link="l{0}"/>
    <origin xyz="0 0 0.2" rpy="0.3 0.2 0.1"/><axis xyz="{2}"/></joint>"""


def robot(joints: int, branches: int) -> str:
    """Every link carries as many others as there are branches."""
    axes = ("1 0 0", "0 1 0", "0 0 1")
    parts = (
        JOINT.format(k, (k - 1) // branches, axes[k % 3], 1.0 + 0.1 * (k % 4))
        for k in range(1, joints + 1)
    )
    return f'<robot name="many"><link name="l0"/>{"".join(parts)}</robot>'


def mass_matrix_of_pinocchio(text: str, q: dict[str, float]) -> np.ndarray:
    """Rows and columns in the order of the names."""
    model = pin.buildModelFromXML(text)
    configuration = pin.neutral(model)
    for name, angle in q.items():
        first = model.joints[model.getJointId(name)].idx_q
        configuration[first : first + 2] = np.cos(angle), np.sin(angle)
    M = pin.crba(model, model.createData(), configuration)
    M = np.triu(M) + np.triu(M, 1).T
    order = [model.joints[model.getJointId(name)].idx_v for name in q]
    return M[np.ix_(order, order)]


@pytest.mark.parametrize("branches", [1, 2], ids=["chain", "tree"])
def test_the_mass_matrix_of_many_joints_is_that_of_pinocchio(branches: int) -> None:
    text = robot(LARGE + 10, branches)
    arm = kd.load(text)
    angles = np.random.default_rng(7).uniform(-3.0, 3.0, (3, arm.dof))
    found = arm.mass_matrix(angles)
    assert found.shape == (3, arm.dof, arm.dof)
    for q, M in zip(angles, found):
        expected = mass_matrix_of_pinocchio(text, dict(zip(arm.joint_names, q)))
        np.testing.assert_allclose(M, expected, rtol=1e-9, atol=1e-12 * expected.max())
        np.testing.assert_array_equal(M, M.T)
        np.testing.assert_array_equal(M, arm.mass_matrix(q))
    assert arm.mass_matrix(np.empty((0, arm.dof))).shape == (0, arm.dof, arm.dof)


def test_a_payload_is_part_of_the_mass_matrix_of_many_joints() -> None:
    text = robot(LARGE + 1, 1)
    arm, bare = kd.load(text, payload="l5"), kd.load(text)
    q = np.full(arm.dof, 0.2)
    np.testing.assert_allclose(arm.mass_matrix(q), bare.mass_matrix(q), rtol=1e-9, atol=1e-9)
    arm.set_payload("l5", mass=3.0, com=(0.1, 0.0, 0.2))
    J = bare.jacobian("l5", q)
    pose = bare.pose("l5", q)
    x, y, z = pose[:3, :3] @ (0.1, 0.0, 0.2)
    cross = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    velocity = J[:3] + cross @ J[3:]
    expected = bare.mass_matrix(q) + 3.0 * velocity.T @ velocity
    np.testing.assert_allclose(arm.mass_matrix(q), expected, rtol=1e-9, atol=1e-9)


def test_a_wrong_argument_is_one_of_the_mass_matrix() -> None:
    arm = kd.load(robot(LARGE + 1, 1), backend="numpy")
    with pytest.raises(ArgumentError, match=r"^mass_matrix: q must have shape"):
        arm.mass_matrix(np.zeros(3))


@pytest.mark.parametrize("branches", [1, 2], ids=["chain", "tree"])
def test_what_is_compiled_grows_with_the_number_of_joints_and_not_faster(branches: int) -> None:
    few, many = (
        kd.load(robot(joints, branches)).operations("generalized_momentum").total
        for joints in (60, 240)
    )
    assert many < 4.5 * few  # with the square it would be 16


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_the_momentum_is_the_mass_matrix_times_the_speeds(base: str) -> None:
    arm = kd.load(robot(12, 2), base=base)
    functions = arm._functions
    random = np.random.default_rng(3)
    q, u = random.uniform(-1.0, 1.0, arm.nq), random.uniform(-1.0, 1.0, arm.dof)
    if base == "floating":
        q[3:7] /= np.linalg.norm(q[3:7])
    found = functions.function("generalized_momentum")(q, u)
    np.testing.assert_allclose(found, arm.mass_matrix(q) @ u, rtol=1e-9, atol=1e-12)
