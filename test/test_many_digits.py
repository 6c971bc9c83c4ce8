"""Robots with masses and lengths of very different sizes, against equations with sixty digits.

An error is judged a component, relative to the sum of magnitudes of what adds up to it.
"""

import logging
import os

import numpy as np
import pytest
from many_digits import ManyDigits
from oracle import load, random_states
from random_robots import RandomRobot, Recipe, random_robot
from textbook import textbook_answers

COUNT = int(os.environ.get("RANDOM_ROBOTS", "45"))
FIRST = int(os.environ.get("FIRST_ROBOT", "0"))
ODD_GRAVITY = (3.0, -7.0, 2.5)
KINDS = ("revolute", "continuous", "prismatic", "fixed")
TOLERANCE = {"inverse_dynamics": 1e-6, "bias": 1e-6, "gravity": 1e-6, "mass_matrix": 1e-3}
"""Frames stand where axes come near each other, perhaps far from a small body: that costs digits.
A number that is dropped shows as an error of one."""


def recipe(decades: float, square: float) -> Recipe:
    """Masses and lengths spread over so many decades, mostly at their ends."""
    spread = (-decades / 2.0, decades / 2.0)
    return Recipe(
        kinds=KINDS,
        square=square,
        branching=0.2,
        mimics=0.1,
        masses=spread,
        lengths=spread,
        extreme=0.7,
        centered=0.5,
    )


def relative_errors(urdf: str, base: str = "fixed", seed: int = 0) -> dict[str, float]:
    """The largest of each function, at one state."""
    arm = load(urdf, base=base, gravity=ODD_GRAVITY, cache=False)
    exact = ManyDigits(urdf, ODD_GRAVITY, base)
    states = random_states(arm, count=1, seed=seed)
    (q,), (u,), (udot,), rest = states.q, states.u, states.udot, np.zeros(arm.dof)
    inertia = exact.mass_matrix(q)
    diagonal = np.sqrt(np.outer(inertia[1].diagonal(), inertia[1].diagonal()))
    pairs = {
        "inverse_dynamics": (arm.inverse_dynamics(q, u, udot), *exact.torques(q, u, udot)),
        "bias": (arm.bias(q, u), *exact.torques(q, u, rest)),
        "gravity": (arm.gravity(q), *exact.torques(q, rest, rest)),
        # where an element is zero exactly, rounding beside those of the diagonal is all there is
        "mass_matrix": (arm.mass_matrix(q), inertia[0], inertia[1] + 1e-12 * diagonal),
    }
    return {name: _largest(*each) for name, each in pairs.items()}


def _largest(found: np.ndarray, value: np.ndarray, size: np.ndarray) -> float:
    difference = np.abs((found - value).astype(float))
    return float(np.max(np.where(difference == 0.0, 0.0, difference / np.maximum(size, 1e-300))))


def drawn(seed: int) -> tuple[RandomRobot, str]:
    """One of many robots, over up to eight decades, and its base."""
    decades, square = (8.0, 8.0, 4.0)[seed % 3], (0.3, 0.8, 0.95)[seed // 3 % 3]
    return random_robot(recipe(decades, square), seed), ("fixed", "floating")[seed % 2]


def test_random_robots_over_eight_decades_agree_a_component() -> None:
    logger = logging.getLogger("random robots")
    found: dict[str, list[float]] = {name: [] for name in TOLERANCE}
    wrong = []
    for seed in range(FIRST, FIRST + COUNT):
        robot, base = drawn(seed)
        if base == "fixed" and all(part.kind == "fixed" for part in robot.parts):
            continue
        errors = relative_errors(robot.urdf(), base)
        for name, error in errors.items():
            found[name].append(error)
        if not all(errors[name] <= TOLERANCE[name] for name in TOLERANCE):
            wrong.append((seed, base, errors))
    for name, errors in found.items():
        many = np.quantile(errors, [0.5, 0.9, 0.99, 0.999, 1.0])
        logger.info(
            "%s of %d robots: median %.0e, 90%% %.0e, 99%% %.0e, 99.9%% %.0e, largest %.0e",
            *(name, len(errors), *many),
        )
    assert not wrong


def body(name: str, mass: float, center: str, inertia: float) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="{center}"/><mass value="{mass}"/><inertia '
        f'ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial>'
        "</link>"
    )


@pytest.mark.parametrize("axis", ["0 0 1", "0 1 0", "1 2 3"])
@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e9, 1e12])
def test_a_mountain_carries_a_feather(axis: str, ratio: float) -> None:
    """The centre of the mountain lies on its axis, so that only the feather is felt there."""
    heavy, light = ratio**0.5, ratio**-0.5
    urdf = (
        '<robot name="feather"><link name="ground"/>'
        + body("mountain", heavy, "0 0 10", heavy)
        + body("feather", light, "0.03 0.01 0.02", 1e-4 * light)
        + '<joint name="turn" type="continuous"><parent link="ground"/><child link="mountain"/>'
        '<axis xyz="0 0 1"/></joint><joint name="wave" type="continuous"><parent link="mountain"/>'
        f'<child link="feather"/><origin xyz="0.05 0.02 0"/><axis xyz="{axis}"/></joint></robot>'
    )
    for name, error in relative_errors(urdf).items():
        assert error < 1e-12, name


def test_many_digits_agree_with_the_textbook_where_nothing_is_extreme() -> None:
    for seed, base in enumerate(["fixed", "floating"] * 3):
        robot = random_robot(Recipe(mimics=0.3, square=0.3, kinds=KINDS), seed)
        exact = ManyDigits(robot.urdf(), ODD_GRAVITY, base)
        arm = load(robot.urdf(), base=base, cache=False)
        states = random_states(arm, count=1)
        expected = textbook_answers(robot, states, ODD_GRAVITY, base, {}, ())
        torques, size = exact.torques(states.q[0], states.u[0], states.udot[0])
        assert _largest(expected.torques[0], torques, size) < 1e-13
