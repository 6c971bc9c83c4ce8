"""Which bodies move, how they are numbered, and which wishes cannot be met."""

import logging
from dataclasses import replace
from math import inf, nan, pi

import numpy as np
import pytest

from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.robot import (
    Body,
    Frame,
    Inertia,
    Joint,
    Link,
    Mimic,
    Robot,
    Tree,
    moving_tree,
)

BALL = Inertia(2.0, (0.0, 0.0, 0.5), ((0.3, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.1)))
Z = (0.0, 0.0, 1.0)


def joint(name: str, kind: str, parent: str, child: str, **more: object) -> Joint:
    return Joint(name, kind, parent, child, translation=(0.0, 0.0, 1.0), axis=Z, **more)  # type: ignore[arg-type]


SHOULDER = joint("shoulder", "revolute", "base", "upper", damping=0.1, friction=0.2)
ELBOW = joint("elbow", "continuous", "upper", "lower")
SLIDE = joint("slide", "prismatic", "lower", "hand")
WELD = joint("weld", "fixed", "hand", "tool")
LINKS = tuple(Link(name, BALL) for name in ("base", "upper", "lower", "hand", "tool"))
# the order of the file is not the order along the arm
ARM = Robot("arm", LINKS, (SLIDE, SHOULDER, WELD, ELBOW), source="arm.urdf")


def with_joint(new: Joint) -> Robot:
    joints = tuple(new if old.name == new.name else old for old in ARM.joints)
    return replace(ARM, joints=joints)


def body(tree: Tree, name: str) -> Body:
    return next(body for body in tree.bodies if body.name == name)


def test_speeds_are_in_the_order_of_the_file_and_bodies_from_the_root() -> None:
    tree = moving_tree(ARM)
    assert tree.joint_names == ("slide", "shoulder", "elbow")
    assert tree.coordinate_names == tree.speed_names == tree.joint_names
    assert (tree.nq, tree.nu) == (3, 3)
    assert [b.name for b in tree.bodies] == ["upper", "lower", "hand"]
    assert [b.parent for b in tree.bodies] == [-1, 0, 1]
    assert [b.kind for b in tree.bodies] == ["revolute", "revolute", "prismatic"]
    assert [b.coordinate for b in tree.bodies] == [1, 2, 0]


@pytest.mark.parametrize(
    "joints", [["shoulder", "slide"], ("slide", "shoulder"), {"slide", "shoulder"}]
)
def test_the_order_in_which_joints_are_chosen_does_not_matter(joints: object) -> None:
    tree = moving_tree(ARM, joints=joints)  # type: ignore[arg-type]
    assert tree.joint_names == ("slide", "shoulder")
    assert tree == moving_tree(ARM, locked={"elbow": 0.0})


def test_rigid_links_are_one_body() -> None:
    hand = body(moving_tree(ARM), "hand")
    assert hand.mass == 4.0
    assert hand.first_moment == (0.0, 0.0, 2.0 * 0.5 + 2.0 * 1.5)
    # second moments of the ball along x, y, z are 0, 0.1 and 0.2
    np.testing.assert_allclose(
        hand.second_moment, np.diag([0.0, 0.2, 2 * 0.2 + 2.0 * 0.25 + 2.0 * 2.25]), atol=1e-15
    )
    assert moving_tree(ARM).frame("tool") == Frame(2, translation=(0.0, 0.0, 1.0))


def test_the_ground_has_the_mass_of_what_does_not_move_and_no_part_in_the_equations() -> None:
    tree = moving_tree(ARM, joints=["slide"])
    assert tree.ground.mass == 6.0
    assert tree.ground.first_moment == (0.0, 0.0, 2.0 * (0.5 + 1.5 + 2.5))
    bare = moving_tree(replace(ARM, links=(Link("base"), *LINKS[1:])), joints=["slide"])
    assert bare.ground.mass == 4.0
    assert (bare, repr(bare)) == (tree, repr(tree))
    assert moving_tree(ARM, base="floating").ground.mass == 0.0


def test_a_joint_locked_at_a_right_angle_turns_what_it_carries() -> None:
    tree = moving_tree(ARM, locked={"elbow": pi / 2, "slide": 0.25})
    assert tree.joint_names == ("shoulder",)
    hand = tree.frame("hand")
    assert hand.rotation == ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    assert hand.translation == (0.0, 0.0, 2.25)


def test_links_fixed_to_the_root_are_ground_and_without_inertia() -> None:
    tree = moving_tree(ARM, joints=["elbow"])
    assert tree.frame("base") == Frame(-1)
    assert tree.frame("upper") == Frame(-1, translation=(0.0, 0.0, 1.0))
    assert [b.mass for b in tree.bodies] == [6.0]
    assert tree.bodies[0].translation == (0.0, 0.0, 2.0)


def test_a_floating_base_is_the_first_body_and_comes_first_among_coordinates() -> None:
    tree = moving_tree(ARM, base="floating")
    assert tree.coordinate_names == (
        *("base.x", "base.y", "base.z", "base.qx", "base.qy", "base.qz", "base.qw"),
        *("slide", "shoulder", "elbow"),
    )
    assert tree.speed_names[:6] == (
        *("base.vx", "base.vy", "base.vz"),
        *("base.wx", "base.wy", "base.wz"),
    )
    assert tree.joint_names == ("slide", "shoulder", "elbow")
    base, upper = tree.bodies[:2]
    assert (base.name, base.kind, base.parent, base.mass) == ("base", "floating", -1, 2.0)
    assert (upper.parent, upper.coordinate, upper.speed) == (0, 8, 7)


def test_a_robot_without_joints_can_float() -> None:
    tree = moving_tree(Robot("stone", (Link("stone", BALL),)), base="floating")
    assert (tree.nq, tree.nu, tree.joint_names) == (7, 6, ())


def test_a_floating_joint_has_seven_coordinates_and_six_speeds() -> None:
    tree = moving_tree(with_joint(replace(SHOULDER, kind="floating")))
    assert tree.coordinate_names[:3] == ("slide", "shoulder.x", "shoulder.y")
    assert tree.speed_names[:3] == ("slide", "shoulder.vx", "shoulder.vy")
    assert (tree.nq, tree.nu) == (9, 8)
    upper, lower = body(tree, "upper"), body(tree, "lower")
    assert (upper.kind, upper.coordinate, upper.speed) == ("floating", 1, 1)
    assert (upper.damping, upper.friction) == (0.0, 0.0)
    assert (lower.coordinate, lower.speed) == (8, 7)


@pytest.mark.parametrize(
    ("normal", "x", "y"),
    [
        ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        ((0.0, -0.6, 0.8), (1.0, 0.0, 0.0), (0.0, 0.8, 0.6)),
    ],
)
def test_a_planar_joint_slides_twice_and_turns(
    normal: tuple[float, float, float],
    x: tuple[float, float, float],
    y: tuple[float, float, float],
) -> None:
    tree = moving_tree(with_joint(replace(SHOULDER, kind="planar", axis=normal)))
    names = ("shoulder.x", "shoulder.y", "shoulder.angle")
    assert tree.coordinate_names == tree.speed_names == ("slide", *names, "elbow")
    first, second, third = tree.bodies[:3]
    assert [b.kind for b in tree.bodies[:3]] == ["prismatic", "prismatic", "revolute"]
    assert [b.joint for b in tree.bodies[:3]] == ["shoulder"] * 3
    assert [b.coordinate for b in tree.bodies[:3]] == [1, 2, 3]
    assert [b.parent for b in tree.bodies[:3]] == [-1, 0, 1]
    assert [b.mass for b in tree.bodies[:3]] == [0.0, 0.0, 2.0]
    assert (first.translation, second.translation) == ((0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
    assert third.name == "upper"
    np.testing.assert_allclose([first.axis, second.axis, third.axis], [x, y, normal], atol=1e-15)


def test_a_mimic_of_a_mimic_follows_the_first_joint() -> None:
    robot = with_joint(replace(ELBOW, mimic=Mimic("shoulder", 2.0, 0.5)))
    robot = replace(
        robot,
        joints=tuple(
            replace(SLIDE, mimic=Mimic("elbow", -3.0, 0.25)) if j.name == "slide" else j
            for j in robot.joints
        ),
    )
    tree = moving_tree(robot)
    assert tree.joint_names == ("shoulder",)
    assert [(b.multiplier, b.offset) for b in tree.bodies] == [(1, 0), (2, 0.5), (-6, -1.25)]
    assert {b.coordinate for b in tree.bodies} == {0}

    halted = moving_tree(robot, locked={"elbow": 0.1})
    assert [b.name for b in halted.bodies] == ["upper"]
    assert halted.frame("hand").translation[2] == pytest.approx(2.0 - 3.0 * 0.1 + 0.25)

    still = moving_tree(robot, locked={"shoulder": 0.1}, base="floating")
    assert still.frame("hand").translation[2] == pytest.approx(3.0 - 3.0 * (2 * 0.1 + 0.5) + 0.25)


@pytest.mark.parametrize("mimic", [Mimic("weld", 2.0, 0.25), Mimic("shoulder", 0.0, 0.25)])
def test_a_mimic_of_what_does_not_move_stands_at_its_offset(mimic: Mimic) -> None:
    tree = moving_tree(with_joint(replace(SLIDE, mimic=mimic)))
    assert tree.joint_names == ("shoulder", "elbow")
    assert tree.frame("hand") == Frame(1, translation=(0.0, 0.0, 1.25))


def test_joint_friction_can_be_left_out() -> None:
    upper = body(moving_tree(ARM), "upper")
    assert (upper.damping, upper.friction) == (0.1, 0.2)
    upper = body(moving_tree(ARM, joint_friction=False), "upper")
    assert (upper.damping, upper.friction) == (0.0, 0.0)


def test_equal_trees_are_equal_and_hash_alike() -> None:
    assert hash(moving_tree(ARM)) == hash(moving_tree(replace(ARM, source="copy.urdf")))


def test_a_long_chain_is_a_long_tree() -> None:
    count = 3000
    links = tuple(Link(f"l{i}", BALL) for i in range(count))
    joints = tuple(joint(f"j{i}", "continuous", f"l{i}", f"l{i + 1}") for i in range(count - 1))
    tree = moving_tree(Robot("chain", links, joints))
    assert [b.parent for b in tree.bodies] == list(range(-1, count - 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joints": ["elbw"]}, "joints: there is no joint 'elbw': expected one of 'elbow'"),
        ({"locked": {"sholder": 1}}, "locked: there is no joint 'sholder': .* 'shoulder'"),
        ({"joints": ["weld"]}, "joints: joint 'weld' is fixed"),
        ({"joints": ["elbow", "elbow"]}, "joints: joint 'elbow' is there twice"),
        ({"joints": ["elbow"], "locked": {"elbow": 0}}, "joint 'elbow' is also in locked"),
        ({"joints": "elbow"}, "joints is 'elbow', expected a list"),
        ({"joints": 3}, "joints is 3, expected a list"),
        ({"joints": [["elbow"]]}, "there is no joint"),
        ({"locked": ["elbow"]}, r"locked is \['elbow'\], expected a mapping"),
        ({"locked": {"elbow": nan}}, "locked: joint 'elbow' is at nan"),
        ({"locked": {"elbow": inf}}, "locked: joint 'elbow' is at inf"),
        ({"locked": {"elbow": "up"}}, "locked: joint 'elbow' is at 'up'"),
        ({"locked": {"elbow": 10**400}}, "locked: joint 'elbow' is at inf"),
        ({"locked": {"slide": -1e200}}, r"locked: joint 'slide' is at -1e\+200"),
        ({"locked": {"weld": 0.1}}, "locked: joint 'weld' is fixed and at 0.1"),
        ({"base": "swinging"}, "base is 'swinging', expected 'fixed' or 'floating'"),
    ],
)
def test_a_wish_that_cannot_be_met_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        moving_tree(ARM, **options)  # type: ignore[arg-type]


def test_a_mimic_cannot_be_chosen_to_move() -> None:
    robot = with_joint(replace(SLIDE, mimic=Mimic("elbow")))
    with pytest.raises(ArgumentError, match="joints: joint 'slide' mimics 'elbow'"):
        moving_tree(robot, joints=["slide"])


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_joints_of_many_degrees_can_be_locked_at_zero_only(kind: str) -> None:
    robot = with_joint(replace(SHOULDER, kind=kind))
    assert moving_tree(robot, locked={"shoulder": 0}).joint_names == ("slide", "elbow")
    with pytest.raises(ArgumentError, match=f"joint 'shoulder' is {kind} and at 0.5"):
        moving_tree(robot, locked={"shoulder": 0.5})


def test_a_robot_of_which_nothing_moves_is_named() -> None:
    for robot, joints in ((Robot("stone", (Link("stone", BALL),)), None), (ARM, [])):
        with pytest.raises(ModelError, match=f"{robot.source}: nothing moves"):
            moving_tree(robot, joints=joints)


def test_the_frame_of_an_unknown_link_is_answered_with_the_closest_ones() -> None:
    with pytest.raises(ArgumentError, match="there is no link 'tol': expected one of 'tool'"):
        moving_tree(ARM).frame("tol")


HUGE = 1e200


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        (with_joint(replace(ELBOW, translation=(HUGE, 1.0, 1.0))), "joint 'elbow' has the origin"),
        (with_joint(replace(WELD, translation=(1.0, 1.0, -HUGE))), "joint 'weld' has the origin"),
        (
            with_joint(replace(SLIDE, mimic=Mimic("elbow", 1e308))),
            "joint 'slide' has the mimic multiplier",
        ),
        (
            with_joint(replace(SLIDE, mimic=Mimic("elbow", 1.0, HUGE))),
            "joint 'slide' has the mimic offset",
        ),
        (with_joint(replace(SLIDE, mimic=Mimic("weld", 1.0, HUGE))), "'slide' has the position"),
        (with_joint(replace(ELBOW, damping=HUGE)), "joint 'elbow' has the damping"),
        (with_joint(replace(ELBOW, friction=HUGE)), "joint 'elbow' has the friction"),
    ],
)
def test_a_joint_with_a_number_too_large_to_compute_with_is_named(
    robot: Robot, message: str
) -> None:
    with pytest.raises(ModelError, match=f"^arm.urdf: .*{message}.* expected a magnitude"):
        moving_tree(robot)


def test_mimics_of_mimics_that_overflow_together_are_named() -> None:
    links = tuple(Link(f"l{i}", BALL) for i in range(30))
    joints = [joint("j0", "continuous", "l0", "l1")]
    for i in range(1, 29):
        follow = Mimic(f"j{i - 1}", 1e16, 1.0)
        joints.append(joint(f"j{i}", "revolute", f"l{i}", f"l{i + 1}", mimic=follow))
    with pytest.raises(ModelError, match=r"joint 'j2' has the mimic multiplier 1e\+32"):
        moving_tree(Robot("chain", links, tuple(joints)))
    with pytest.raises(ModelError, match=r"joint 'j3' has the position 1e\+32"):
        moving_tree(Robot("chain", links, tuple(joints)), locked={"j0": 0.0}, base="floating")


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        (replace(BALL, mass=1e308), "mass"),
        (replace(BALL, mass=10**300), "mass"),
        (replace(BALL, center=(0.0, HUGE, 0.0)), "centre of mass"),
        (replace(BALL, tensor=((HUGE, 0.0, 0.0), (0.0, HUGE, 0.0), (0.0, 0.0, HUGE))), "inertia"),
    ],
)
def test_a_link_with_a_number_too_large_to_compute_with_is_named_if_it_moves(
    inertia: Inertia, message: str
) -> None:
    links = tuple(
        replace(link, inertia=inertia) if link.name == "upper" else link for link in LINKS
    )
    robot = replace(ARM, links=links)
    with pytest.raises(ModelError, match=f"^arm.urdf: link 'upper' has the {message} "):
        moving_tree(robot)
    assert moving_tree(robot, joints=["elbow"]) == moving_tree(ARM, joints=["elbow"])


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_friction_of_joints_of_many_degrees_is_not_used_and_the_log_says_so(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    robot = with_joint(replace(SHOULDER, kind=kind))
    assert not any(b.damping or b.friction for b in moving_tree(robot).bodies)
    expected = f"arm.urdf: joint 'shoulder' is {kind}: its damping and friction are not used"
    assert [record.getMessage() for record in caplog.records] == [expected]
    assert caplog.records[0].levelno == logging.WARNING
    caplog.clear()
    moving_tree(robot, joint_friction=False)
    moving_tree(robot, locked={"shoulder": 0.0})
    moving_tree(ARM)
    assert not caplog.records
