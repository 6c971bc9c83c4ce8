"""Robots that no factory would build against Kane's equations as they stand in a textbook."""

import numpy as np
import pytest
from oracle import (
    Pinocchio,
    assert_agrees,
    assert_produces,
    load,
    random_states,
    random_torques,
)
from random_robots import Part, RandomRobot, Recipe, random_robot
from textbook import textbook_answers

import kane_dynamics as kd
from kane_dynamics.robot.rotation import plane_axes

EVERY_KIND = ("revolute", "continuous", "prismatic", "planar", "floating", "fixed")
ODD_GRAVITY = (3.0, -7.0, 2.5)

RECIPES = {
    "generic": Recipe(),
    "aligned": Recipe(square=0.8),
    "long": Recipe(parts=10, square=0.5, branching=0.1),
    "bushy": Recipe(parts=9, square=0.3, branching=0.9),
    "every kind of joint": Recipe(kinds=EVERY_KIND, square=0.4),
    "mimics": Recipe(mimics=0.6, square=0.3),
    "mimics among every kind": Recipe(kinds=EVERY_KIND, mimics=0.6, square=0.7),
    "mimics about parallel axes": Recipe(kinds=("revolute",), mimics=0.5, parallel=(0.0,)),
    "parallel axes": Recipe(kinds=("revolute", "prismatic"), square=0.6, parallel=(0.0,)),
    "massless links": Recipe(massless=0.5, square=0.5),
    "points without extent": Recipe(square=0.9, massless=0.2, branching=0.1),
    "feathers and anvils": Recipe(masses=(-6.0, 5.0)),
    "aligned feathers and anvils": Recipe(masses=(-6.0, 5.0), square=0.5),
    "feathers and anvils on parallel axes": Recipe(
        masses=(-6.0, 5.0), square=0.5, parallel=(0.0,), kinds=("revolute", "prismatic")
    ),
    "long and short": Recipe(lengths=(-5.0, 1.0), square=0.2),
    "tiny": Recipe(lengths=(-4.0, -3.0), masses=(-6.0, -3.0), square=0.3, kinds=("revolute",)),
}

SEEDS = range(6)


def assert_moves_by_the_textbook(
    robot: RandomRobot, base: str, gravity: tuple[float, float, float] = ODD_GRAVITY
) -> None:
    arm = load(robot.urdf(), base=base, gravity=gravity, cache=False)
    states = random_states(arm, count=20)
    planes = {
        k: np.array(plane_axes(tuple(part.axis / np.linalg.norm(part.axis))))
        for k, part in enumerate(robot.parts)
        if part.kind == "planar"
    }
    links = arm.link_names[:1]  # the file lists the outermost first
    expected = textbook_answers(robot, states, gravity, base, planes, links)
    assert_agrees(arm, states, expected)
    # The mass matrix with ones on its diagonal, where there is inertia.
    inertia, _ = expected.sizes()
    scaled = expected.mass_matrix / np.sqrt(np.outer(inertia, inertia))
    least = np.linalg.eigvalsh(scaled)[:, 0].max()
    tau = random_torques(expected)
    if least > 1e-10:
        assert_produces(expected, tau, arm.forward_dynamics(states.q, states.u, tau))
    elif least < 1e-16:
        with pytest.raises(kd.SingularError):
            arm.forward_dynamics(states.q, states.u, tau)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", RECIPES)
def test_a_random_robot_moves_by_the_textbook(name: str, seed: int, base: str) -> None:
    assert_moves_by_the_textbook(random_robot(RECIPES[name], seed), base)


@pytest.mark.parametrize("angle", [10.0**-k for k in range(2, 14)])
@pytest.mark.parametrize("seed", range(4))
def test_nearly_parallel_axes_are_no_worse_than_others(angle: float, seed: int) -> None:
    recipe = Recipe(kinds=("revolute",), parallel=(angle,), branching=0.1)
    assert_moves_by_the_textbook(random_robot(recipe, seed), "fixed")
    mixed = Recipe(kinds=("revolute", "prismatic"), parallel=(angle, 0.0), square=0.5, mimics=0.2)
    assert_moves_by_the_textbook(random_robot(mixed, seed), "floating")


@pytest.mark.parametrize("excess", [0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-4])
def test_a_counterweight_may_leave_a_slide_with_next_to_no_mass(excess: float) -> None:
    """The crank's mass centre lies beyond the next joint, just so far that the mass kept there to
    balance the crank takes away nearly all that the slide has."""
    none, inertia = np.zeros(3), np.diag([0.3, 0.4, 0.5])

    def part(parent: int, kind: str, xyz: list, axis: list, mass: float, center: list) -> Part:
        numbers = (np.array(each, float) for each in (xyz, none, axis))
        return Part(parent, kind, *numbers, mass, np.array(center), none, inertia)

    slide = part(-1, "prismatic", [0, 0, 0], [1, 2, 3], 1.0, [0.1, 0.2, 0.3])
    center = [0.6 * (1.0 + excess), 0.05, 0.1]
    crank = part(0, "revolute", [0.2, 0.1, 0.4], [0, 0, 1], 1.0, center)
    rod = part(1, "revolute", [0.3, 0, 0], [0, 0, 1], 0.7, [0.2, 0.1, 0])
    root = part(-1, "fixed", [0, 0, 0], [0, 0, 1], 1.0, [0, 0, 0])
    assert_moves_by_the_textbook(RandomRobot((slide, crank, rod), (0, 1, 2), root), "floating")


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.0, 0.0, 1.62), (9.81, 0.0, 0.0)])
@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_points_where_it_likes(gravity: tuple[float, float, float], seed: int) -> None:
    robot = random_robot(Recipe(square=0.7, kinds=EVERY_KIND), seed)
    assert_moves_by_the_textbook(robot, "fixed", gravity)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_textbook_agrees_with_pinocchio(seed: int, base: str, tmp_path) -> None:
    robot = random_robot(Recipe(mimics=0.3, square=0.3), seed)
    path = tmp_path / "random.urdf"
    path.write_text(robot.urdf())
    arm = load(path, base=base, cache=False)
    states = random_states(arm, count=5)
    expected = textbook_answers(robot, states, (0.0, 0.0, -9.81), base, {}, arm.link_names)
    found = Pinocchio(path, base).answers(states, arm.link_names)
    for name in ("torques", "gravity", "bias", "mass_matrix", "kinetic", "linear", "angular"):
        right = getattr(expected, name)
        np.testing.assert_allclose(
            getattr(found, name), right, rtol=0, atol=1e-12 * np.abs(right).max()
        )
    for link in arm.link_names:
        for kind in ("poses", "jacobians"):
            right = getattr(expected, kind)[link]
            np.testing.assert_allclose(
                getattr(found, kind)[link], right, rtol=0, atol=1e-12 * max(1, np.abs(right).max())
            )
