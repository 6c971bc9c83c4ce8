"""Kane's method step by step: frames, regrouped inertia, and what follows from them."""

import numpy as np
import pytest

import kane_dynamics as kd
from kane_dynamics.kane.equations import program
from kane_dynamics.kane.tree.equations import TreeEquations
from kane_dynamics.kane.tree.frames import framed
from kane_dynamics.kane.tree.inverse import inverse_dynamics
from kane_dynamics.kane.tree.regrouping import regrouped
from kane_dynamics.robot.tree import moving_tree
from kane_dynamics.symbolic.evaluate import evaluate
from kane_dynamics.symbolic.graph import Graph

GRAVITY = (0.3, -0.4, -9.7)


def chain(axes, kinds=None, com=(0.1, -0.2, 0.05), names="abcdefgh"):
    """URDF of a serial chain of generic bodies whose joints have the given axes."""
    kinds = kinds or ["continuous"] * len(axes)
    parts = ['<link name="ground"/>']
    parent = "ground"
    for k, (axis, kind) in enumerate(zip(axes, kinds, strict=True)):
        name = names[k]
        parts.append(
            f'<link name="{name}"><inertial><origin xyz="{com[0] + 0.01 * k} {com[1]} {com[2]}" '
            f'rpy="0.1 0.2 {0.3 * k}"/><mass value="{1 + 0.5 * k}"/><inertia ixx="0.02" '
            'ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.0015" izz="0.025"/></inertial></link>'
            f'<joint name="j{k + 1}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{name}"/><origin xyz="0.3 {0.1 * k} 0.2"/>'
            f'<axis xyz="{axis[0]} {axis[1]} {axis[2]}"/><limit effort="1" velocity="1" '
            'lower="-1" upper="1"/></joint>'
        )
        parent = name
    return f'<robot name="chain">{"".join(parts)}</robot>'


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
CHAINS = {
    "crossed axes": chain([Z, Y, X, Y]),
    "parallel axes": chain([Z, Y, Y, Y, X]),
    "antiparallel axes": chain([Z, Y, (0, -1, 0), Y]),
    "oblique axes": chain([(1, 2, 3), (-1, 0.5, 2), (0.2, -3, 1)]),
    "nearly parallel axes": chain([Z, Y, (0, 1, 1e-7), (1e-4, 1, 0)]),
    "a slide between parallel axes": chain(
        [Z, Y, X, Y], ["continuous", "continuous", "prismatic", "continuous"]
    ),
    "slides only": chain([X, Y, Z], ["prismatic"] * 3),
    "slide first": chain([Z, Y, X], ["prismatic", "continuous", "continuous"]),
}


def tree_of(name):
    return moving_tree(kd.read_urdf(CHAINS[name]))


def torques(bodies, nu, values):
    graph = Graph()
    q, u, udot = (graph.inputs(name, nu) for name in ("q", "u", "udot"))
    return np.array(evaluate(inverse_dynamics(graph, bodies, GRAVITY, q, u, udot), values))


def a_motion(nu, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=nu) for name in ("q", "u", "udot")}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("balanced", [False, True])
def test_moving_inertia_between_bodies_leaves_the_torques_as_they_are(name, balanced):
    tree = tree_of(name)
    bodies = framed(tree)
    values = a_motion(tree.nu)
    expected = torques(bodies, tree.nu, values)
    found = torques(regrouped(bodies, balanced), tree.nu, values)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", CHAINS)
def test_a_turning_body_keeps_at_most_seven_inertia_parameters(name):
    for body in regrouped(framed(tree_of(name)), balanced=False):
        numbers = [body.mass, *body.first_moment, *body.second_moment[np.triu_indices(3)]]
        limit = 7 if body.kind == "revolute" else 1
        assert np.count_nonzero(numbers) <= limit


def test_balancing_removes_the_first_moment_along_the_line_between_joints():
    bodies = regrouped(framed(tree_of("parallel axes")), balanced=True)
    balanced = [body for body in bodies[:-1] if body.kind == "revolute"]
    assert any(body.mass for body in bodies)
    assert all(body.first_moment[0] == 0.0 for body in balanced[1:3])


@pytest.mark.parametrize("name", ["crossed axes", "parallel axes", "oblique axes"])
def test_frames_have_the_joint_axis_as_z_and_the_next_axis_across_x(name):
    tree = tree_of(name)
    for body, original in zip(framed(tree), tree.bodies, strict=True):
        z = body.orientation[:, 2]
        assert abs(abs(np.dot(z, original.axis)) - 1) < 1e-12
        np.testing.assert_allclose(body.orientation.T @ body.orientation, np.eye(3), atol=1e-12)
    assert all(abs(body.swing) < 1e-12 for body in framed(tree)[1:])


def test_parallel_axes_have_no_twist_and_point_the_same_way():
    bodies = framed(tree_of("antiparallel axes"))
    assert [body.twist for body in bodies[2:]] == [0.0, 0.0]
    assert [body.multiplier for body in bodies[1:]] == [1.0, -1.0, 1.0]


def test_nearly_parallel_axes_do_not_send_the_origin_far_away():
    for body in framed(tree_of("nearly parallel axes")):
        assert np.linalg.norm(body.origin) < 10.0


def test_sums_of_angles_are_used_where_parallel_axes_follow_a_simple_motion():
    """Three parallel joints after one across: fewer operations than three unrelated joints."""
    options = {"joint_friction": False, "backend": "numpy", "cache": False}
    parallel = kd.load(chain([Z, Y, Y, Y]), **options).operations("inverse_dynamics")
    crossed = kd.load(chain([Z, Y, X, Y]), **options).operations("inverse_dynamics")
    assert parallel.total < 0.9 * crossed.total


@pytest.mark.parametrize("name", CHAINS)
def test_programs_agree_with_each_other(name):
    """Inverse dynamics is mass matrix times acceleration plus bias; at rest bias is gravity."""
    tree = tree_of(name)
    equations = TreeEquations("chain", tree, GRAVITY)
    values = a_motion(tree.nu, seed=3)
    value = {
        each: np.array(evaluate(program(equations, each).outputs, values))
        for each in ("inverse_dynamics", "mass_matrix", "bias", "gravity", "energy")
    }
    M = value["mass_matrix"].reshape(tree.nu, tree.nu)
    np.testing.assert_allclose(M, M.T, atol=1e-12)
    np.testing.assert_allclose(
        M @ values["udot"] + value["bias"], value["inverse_dynamics"], rtol=1e-10, atol=1e-10
    )
    rest = {**values, "u": np.zeros(tree.nu)}
    at_rest = evaluate(program(equations, "bias").outputs, rest)
    np.testing.assert_allclose(at_rest, value["gravity"], rtol=1e-10, atol=1e-10)
    kinetic = 0.5 * values["u"] @ M @ values["u"]
    assert value["energy"][0] == pytest.approx(kinetic, rel=1e-10)


@pytest.mark.parametrize("name", CHAINS)
def test_gravity_is_the_slope_of_the_potential_energy(name):
    tree = tree_of(name)
    equations = TreeEquations("chain", tree, GRAVITY)
    energy, gravity = (program(equations, each).outputs for each in ("energy", "gravity"))
    q, u = a_motion(tree.nu, seed=5)["q"], np.zeros(tree.nu)
    slopes = []
    for k in range(tree.nu):
        step = np.zeros(tree.nu)
        step[k] = 1e-5
        above, below = (evaluate(energy, {"q": p, "u": u})[1] for p in (q + step, q - step))
        slopes.append((above - below) / 2e-5)
    np.testing.assert_allclose(evaluate(gravity, {"q": q}), slopes, rtol=1e-7, atol=1e-7)
