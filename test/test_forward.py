"""Accelerations by both formulations: they are those of Pinocchio and of the textbook."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from formulations import FORMULATIONS, keep_to
from oracle import (
    Pinocchio,
    assert_produces,
    error,
    load,
    random_states,
    random_torques,
    robot_path,
)
from random_robots import Recipe, random_robot
from test_operation_counts import chain
from textbook import textbook_answers

from kane_dynamics.kane.tree.frames import framed
from kane_dynamics.kane.tree.mass import diagonal, mass_matrix
from kane_dynamics.robot.rotation import plane_axes
from kane_dynamics.symbolic.graph import Graph

ODD_GRAVITY = (3.0, -7.0, 2.5)

ROBOTS = [
    ("stanford_arm", "fixed"),  # a sliding joint
    ("allegro_left_hand", "floating"),  # branches
    ("panda", "fixed"),  # two fingers share a speed
    ("talos_reduced", "floating"),
    ("tiago_pro", "floating"),  # grippers of several links that share a speed
]

every_formulation = pytest.mark.parametrize("formulation", FORMULATIONS)


@every_formulation
@pytest.mark.parametrize(("stem", "base"), ROBOTS)
def test_both_formulations_give_the_accelerations_of_pinocchio(
    stem: str, base: str, formulation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_to(formulation, monkeypatch)
    robot, arm = Pinocchio(robot_path(stem), base), load(robot_path(stem), base=base, cache=False)
    states = random_states(arm, count=10, seed=7)
    expected = robot.answers(states)
    tau = random_torques(expected)
    assert_produces(expected, tau, arm.forward_dynamics(states.q, states.u, tau))


EVERY_KIND = ("revolute", "prismatic", "planar", "floating")
RECIPES = {
    "every kind of joint": Recipe(parts=8, kinds=EVERY_KIND, square=0.4),
    "mimics among every kind": Recipe(kinds=EVERY_KIND, mimics=0.6, square=0.5),
    "mimics on branches": Recipe(parts=8, mimics=0.5, branching=0.8),
    "massless links": Recipe(massless=0.3, square=0.5),
    "parallel axes": Recipe(kinds=("revolute", "prismatic"), parallel=(0.0, 1e-6), square=0.4),
}


@every_formulation
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RECIPES)
def test_both_formulations_give_the_accelerations_of_the_textbook(
    name: str, seed: int, base: str, formulation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_to(formulation, monkeypatch)
    robot = random_robot(RECIPES[name], 100 + seed)
    arm = load(robot.urdf(), base=base, gravity=ODD_GRAVITY, cache=False)
    states = random_states(arm, count=5)
    planes = {
        k: np.array(plane_axes(tuple(part.axis / np.linalg.norm(part.axis))))
        for k, part in enumerate(robot.parts)
        if part.kind == "planar"
    }
    expected = textbook_answers(robot, states, ODD_GRAVITY, base, planes, [])
    size = np.sqrt(expected.mass_matrix.diagonal(axis1=1, axis2=2))
    scaled = expected.mass_matrix / (size[:, :, None] * size[:, None, :])
    if np.linalg.eigvalsh(scaled)[:, 0].min() < 1e-10:
        pytest.skip("nearly singular: see test_singular_robots")
    tau = random_torques(expected)
    assert_produces(expected, tau, arm.forward_dynamics(states.q, states.u, tau))


@pytest.mark.parametrize(("length", "backend"), [(60, "numpy"), (30, "c")])
def test_a_long_chain_accelerates_as_in_pinocchio(
    length: int, backend: str, tmp_path: Path
) -> None:
    path = tmp_path / "chain.urdf"
    path.write_text(chain(length, turned=True))
    arm, robot = load(path, backend=backend), Pinocchio(path)
    states = random_states(arm, count=3)
    tau = random_torques(robot.answers(states))
    found = arm.forward_dynamics(states.q, states.u, tau)
    expected = [
        pin.aba(robot.model, robot.data, robot.configuration(q), u, torques).copy()
        for q, u, torques in zip(states.q, states.u, tau, strict=True)
    ]
    assert error(found, np.array(expected)) < 1e-9


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("stem", ["stanford_arm", "panda", "tiago_pro"])
def test_the_inertia_felt_at_a_speed_is_the_diagonal_of_the_mass_matrix(
    stem: str, base: str
) -> None:
    """Also where bodies on several branches share a speed."""
    tree = load(robot_path(stem), base=base).tree
    bodies, graph = framed(tree), Graph()
    q = graph.inputs("q", tree.nq)
    M = mass_matrix(graph, bodies, q, tree.nu)
    assert diagonal(graph, bodies, q, tree.nu) == [M[r][r] for r in range(tree.nu)]
