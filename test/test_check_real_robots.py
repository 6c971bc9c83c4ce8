"""What is found in real robots: true faults, and nothing in robots that are well made."""

from collections import Counter
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from kane_dynamics.robot import read_urdf
from kane_dynamics.robot.check import check

ROBOTS = Path(
    str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data"))
)
EMPTY = "ur3"  # the file has no links
URDFS = [path for path in sorted(ROBOTS.rglob("*.urdf")) if path.stem != EMPTY]
each_robot = pytest.mark.parametrize("path", URDFS, ids=lambda path: path.stem)

FAULTS = {
    # products of inertia of the wrong sign, or nothing but powers of ten
    "alex_psyonic_hands": {"triangle-inequality": 4},
    "allegro_left_hand": {"triangle-inequality": 4},
    "allegro_right_hand": {"triangle-inequality": 4},
    "pr2": {"triangle-inequality": 2},
    # one number for all links
    "alex_sake_hands": {"placeholder-inertia": 1},
    "TwoDofs": {"placeholder-inertia": 1},
    "baxter": {"placeholder-inertia": 1},
    "simple_humanoid": {"placeholder-inertia": 1, "gyration-radius": 14},
    "simple_humanoid_classical": {"placeholder-inertia": 1, "gyration-radius": 12},
    "tiago": {"placeholder-inertia": 1, "gyration-radius": 28},
    "tiago_dual": {"placeholder-inertia": 2, "gyration-radius": 56},
    "double_pendulum_simple": {
        "gyration-radius": 1,
        "no-range": 2,
        "zero-effort": 2,
        "zero-velocity": 2,
    },
    # the trunk of solo12, which weighs twice as much; cylinders of radius 0.6 m instead of 0.06 m
    "bolt": {"gyration-radius": 1},
    "ur5_robot": {"gyration-radius": 2},
    "ur5_joint_limited_robot": {"gyration-radius": 2},
    "ur5_gripper": {"gyration-radius": 1},
    # inertia left at 1e-18 in half of the body
    "icub": {"point-mass": 10},
    "icub_reduced": {"point-mass": 7},
    # inertia about the joints, partly moved to the centre of mass, and massless fingers
    "romeo": {"inertia-about-origin": 1, "no-inertia": 2, "zero-effort": 2, "zero-velocity": 2},
    "romeo_small": {"inertia-about-origin": 1, "triangle-inequality": 2},
    "romeo_laas_small": {"negative-inertia": 3, "triangle-inequality": 1, "no-inertia": 2},
    # limits left at zero
    "centauro": {"no-range": 4},
    "quadruped": {"no-range": 4},
    "double_pendulum": {"no-range": 2, "zero-effort": 2, "zero-velocity": 2},
    "double_pendulum_continuous": {"zero-effort": 2, "zero-velocity": 2},
    "iris": {"zero-effort": 4, "zero-velocity": 4},
}
SERIOUS = {"romeo", "romeo_small", "romeo_laas_small"}


@each_robot
def test_real_robots_have_the_faults_they_have_and_no_others(path: Path) -> None:
    findings = check(read_urdf(path))
    assert Counter(finding.rule for finding in findings) == FAULTS.get(path.stem, {})
    assert any(finding.severity == "error" for finding in findings) == (path.stem in SERIOUS)


def test_wrong_signs_of_products_of_inertia_are_recognized() -> None:
    (path,) = (path for path in URDFS if path.stem == "allegro_left_hand")
    findings = check(read_urdf(path))
    tips = {"link_3.0", "link_7.0", "link_11.0", "link_15.0"}
    assert {finding.link for finding in findings} == tips
    assert all("opposite sign" in finding.message for finding in findings)


def is_singular(model: pin.Model, seed: int) -> bool:
    """Whether some motion of the joints takes no effort, at a random configuration."""
    random = np.random.default_rng(seed)
    q = pin.integrate(model, pin.neutral(model), random.uniform(0.3, 1.2, model.nv))
    inertia = pin.crba(model, model.createData(), q)
    inertia = np.triu(inertia) + np.triu(inertia, 1).T
    size = np.sqrt(np.diag(inertia))
    if not size.all():
        return True
    return bool(np.linalg.eigvalsh(inertia / np.outer(size, size))[0] < 1e-9)


@each_robot
def test_joints_without_inertia_are_those_that_make_the_mass_matrix_singular(path: Path) -> None:
    robot = read_urdf(path)
    robot = replace(robot, joints=tuple(replace(joint, mimic=None) for joint in robot.joints))
    model = pin.buildModelFromUrdf(str(path))
    if model.nv == 0:
        pytest.skip("nothing moves")
    rules = {finding.rule for finding in check(robot)}
    assert ("no-inertia" in rules) == is_singular(model, seed=1)


def random_tree(seed: int) -> str:
    """URDF of a random tree with particles, rods along joint axes and massless links."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 7))
    text = ['<robot name="random"><link name="link0"/>']
    for i in range(1, count + 1):
        mass, moment = random.choice([0.0, 1.0, 2.5]), random.choice([0.0, 0.0, 0.01])
        center = random.choice([0.0, 0.0, 0.1], 3)
        text.append(
            f'<link name="link{i}"><inertial><origin xyz="{center[0]} {center[1]} {center[2]}"/>'
            f'<mass value="{mass}"/><inertia ixx="{moment if mass else 0}" ixy="0" ixz="0"'
            f' iyy="{moment if mass else 0}" iyz="0" izz="0"/></inertial></link>'
        )
        axis = np.eye(3)[random.integers(3)]
        kind = random.choice(["continuous", "prismatic"], p=[0.8, 0.2])
        offset = random.choice([0.0, 0.2], 3)
        text.append(
            f'<joint name="joint{i}" type="{kind}"><parent link="link{random.integers(i)}"/>'
            f'<child link="link{i}"/><origin xyz="{offset[0]} {offset[1]} {offset[2]}"/>'
            f'<axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>'
            '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
        )
    return "".join([*text, "</robot>"])


def test_singular_trees_are_told_from_regular_ones() -> None:
    singular = 0
    for seed in range(200):
        text = random_tree(seed)
        expected = is_singular(pin.buildModelFromXML(text), seed)
        rules = {finding.rule for finding in check(read_urdf(text))}
        assert ("no-inertia" in rules) == expected, text
        singular += expected
    assert 40 < singular < 160
