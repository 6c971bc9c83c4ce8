"""Robots written by hand: values that compare and hash, and mistakes that are named."""

from dataclasses import FrozenInstanceError, replace
from math import inf, nan
from typing import Any

import pytest

from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.robot import Inertia, Joint, Limits, Link, Material, Mesh, Mimic, Robot, Shape

BALL = Inertia(2.0, (0.0, 0.0, 0.1), ((0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1)))
HINGE = Joint("hinge", "revolute", "world", "arm", axis=(0.0, 1.0, 0.0), limits=Limits(-1.0, 1.0))
SLIDE = Joint("slide", "prismatic", "arm", "hand", mimic=Mimic("hinge", 0.5, 0.1))
HAND = Link("hand", BALL)
ARM = Robot("arm", (Link("world"), Link("arm", BALL), HAND), (HINGE, SLIDE), source="arm.urdf")


def with_joints(*joints: Joint) -> Robot:
    return replace(ARM, joints=joints)


def test_equal_robots_from_different_files_are_equal_and_hash_alike() -> None:
    other = replace(ARM, source="copy.urdf")
    assert other == ARM
    assert hash(other) == hash(ARM)
    assert replace(ARM, name="other") != ARM


def test_a_robot_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        ARM.name = "other"  # type: ignore[misc]


def test_links_and_joints_are_found_by_name() -> None:
    assert ARM.root == "world"
    assert ARM.link("arm").inertia == BALL
    assert ARM.joint("slide") is SLIDE


def test_an_unknown_name_is_answered_with_the_closest_ones() -> None:
    with pytest.raises(ArgumentError, match="no joint 'hing': expected one of 'hinge', 'slide'"):
        ARM.joint("hing")
    with pytest.raises(ArgumentError, match="no link 'hnd': expected one of 'hand'"):
        ARM.link("hnd")


def test_the_root_need_not_be_the_first_link() -> None:
    assert replace(ARM, links=tuple(reversed(ARM.links))).root == "world"


def test_a_chain_of_many_links_is_checked() -> None:
    count = 20000
    links = tuple(Link(f"l{i}") for i in range(count))
    joints = tuple(Joint(f"j{i}", "fixed", f"l{i}", f"l{i + 1}") for i in range(count - 1))
    assert Robot("chain", links, joints).root == "l0"
    back = Joint("back", "fixed", f"l{count - 1}", "l0")
    with pytest.raises(ModelError, match="cycle"):
        Robot("ring", links, (*joints, back))


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        (lambda: Robot("empty", ()), "no link"),
        (lambda: Robot("list", [Link("a")]), "links is a list"),  # type: ignore[arg-type]
        (lambda: Robot("twins", (Link("a"), Link("a"))), "link 'a' is there twice"),
        (lambda: Robot("nameless", (Link(""),)), "a link has no name"),
        (lambda: with_joints(HINGE, replace(SLIDE, name="hinge")), "joint 'hinge' is there twice"),
        (lambda: with_joints(HINGE), "'world', 'hand' are no joint's child"),
        (lambda: with_joints(HINGE, replace(SLIDE, parent="leg")), "'slide' has the parent 'leg'"),
        (lambda: with_joints(HINGE, replace(SLIDE, child="leg")), "'slide' has the child 'leg'"),
        (
            lambda: with_joints(HINGE, replace(SLIDE, child="arm", parent="hand")),
            "'slide' gives link 'arm' a second parent: 'world' and 'hand'",
        ),
        (
            lambda: with_joints(replace(HINGE, parent="hand"), SLIDE),
            "'arm' - 'hand' - 'arm' form a cycle",
        ),
        (
            lambda: with_joints(replace(HINGE, kind="universal"), SLIDE),
            "'hinge' is of kind 'universal'",
        ),
        (lambda: with_joints(replace(HINGE, axis=(0.0, 0.0, 0.0)), SLIDE), "'hinge' has the axis"),
        (lambda: with_joints(replace(HINGE, axis=(0.0, 0.0, 2.0)), SLIDE), "of length one"),
        (lambda: with_joints(replace(HINGE, translation=(0.0, nan, 0.0)), SLIDE), "'hinge'.*nan"),
        (lambda: with_joints(replace(HINGE, damping=inf), SLIDE), "'hinge' has the damping inf"),
        (lambda: with_joints(replace(HINGE, limits=Limits(upper=nan)), SLIDE), "upper limit nan"),
        (
            lambda: with_joints(replace(HINGE, rotation=((1.0, 0.0, 0.0),) * 3), SLIDE),
            "'hinge' has the rotation .* expected a rotation matrix",
        ),
        (
            lambda: with_joints(HINGE, replace(SLIDE, mimic=Mimic("elbow"))),
            "'slide' mimics 'elbow', expected the name of a joint",
        ),
        (
            lambda: with_joints(HINGE, replace(SLIDE, mimic=Mimic("slide"))),
            "'slide' - 'slide' mimic each other",
        ),
        (
            lambda: with_joints(replace(HINGE, mimic=Mimic("slide")), SLIDE),
            "'hinge' - 'slide' - 'hinge' mimic each other",
        ),
        (
            lambda: with_joints(replace(HINGE, kind="planar"), SLIDE),
            "'slide' mimics the planar joint 'hinge'",
        ),
        (
            lambda: with_joints(HINGE, replace(SLIDE, kind="fixed")),
            "'slide' is fixed, expected no mimic",
        ),
        (
            lambda: with_joints(HINGE, replace(SLIDE, mimic=Mimic("hinge", nan))),
            "'slide' has the mimic multiplier nan",
        ),
    ],
)
def test_what_is_no_tree_of_joints_is_named(robot: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        robot()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (Link("arm", replace(BALL, mass=-1.0)), "mass -1.0"),
        (Link("arm", replace(BALL, mass=nan)), "mass nan"),
        (Link("arm", replace(BALL, mass="heavy")), "mass 'heavy'"),  # type: ignore[arg-type]
        (Link("arm", replace(BALL, center=(0.0, inf, 0.0))), "centre of mass component inf"),
        (Link("arm", replace(BALL, center=(0.0, 0.0))), "tuple of three"),  # type: ignore[arg-type]
        (Link("arm", replace(BALL, tensor=((nan, 0.0, 0.0),) * 3)), "inertia tensor row component"),
        (Link("arm", BALL, (Shape("box", (nan, 1.0, 1.0)),)), "extent of its box"),
        (Link("arm", BALL, (Shape("cone"),)), "a 'cone', expected box, cylinder, sphere or mesh"),
        (
            Link("arm", visuals=(Shape("mesh", mesh=Mesh("arm.stl", (1.0, 1.0, inf))),)),
            "scale of its mesh component inf",
        ),
        (
            Link("arm", visuals=(Shape("box", material=Material("red", (1.0, 0.0, 0.0))),)),  # type: ignore[arg-type]
            "colour of its box .* expected a tuple of four numbers",
        ),
    ],
)
def test_what_is_no_number_is_named_with_its_link_and_file(link: Link, message: str) -> None:
    links = (Link("world"), link, Link("hand", BALL))
    with pytest.raises(ModelError, match=f"^arm.urdf: link 'arm' .*{message}"):
        replace(ARM, links=links)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"links": ("world", "arm")}, r"links\[0\] is of type str, expected Link"),
        ({"links": (Link("a", 3.0),)}, r"links\[0\].inertia is of type float, .* Inertia or None"),
        ({"links": (Link("a", BALL, 3),)}, r"links\[0\].collisions is of type int, .* tuple"),
        ({"links": (Link("a", BALL, ("box",)),)}, r"links\[0\].collisions .* str, expected Shape"),
        ({"links": (Link("a", visuals=[]),)}, r"links\[0\].visuals is of type list, .* tuple"),
        (
            {"links": (Link("a", visuals=(Shape("mesh"),)),)},
            r"links\[0\].visuals.mesh is of type NoneType, expected Mesh",
        ),
        (
            {"links": (Link("a", visuals=(Shape("box", material="red"),)),)},
            r"links\[0\].visuals.material is of type str, expected Material or None",
        ),
        ({"joints": (HINGE, "slide")}, r"joints\[1\] is of type str, expected Joint"),
        ({"joints": (replace(HINGE, limits=3), SLIDE)}, r"joints\[0\].limits is of type int"),
        ({"joints": (HINGE, replace(SLIDE, mimic="a"))}, r"joints\[1\].mimic is of type str"),
        ({"joints": (replace(HINGE, parent=["world"]), SLIDE)}, r"joints\[0\].parent .* list"),
        ({"joints": (HINGE, replace(SLIDE, mimic=Mimic([])))}, r"joints\[1\].mimic.joint .* list"),
        ({"joints": (replace(HINGE, kind=["fixed"]), SLIDE)}, r"joints\[0\].kind is of type list"),
        ({"joints": (replace(HINGE, damping=10**400), SLIDE)}, "'hinge' has the damping of too"),
        ({"joints": (replace(HINGE, axis=(10**300, 0, 0)), SLIDE)}, "'hinge' has the axis"),
    ],
)
def test_parts_that_are_of_another_type_are_named(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=f"^arm.urdf: .*{message}"):
        replace(ARM, **parts)


def test_an_inertia_tensor_is_symmetric_but_for_rounding() -> None:
    def arm(xy: float, yx: float) -> Robot:
        tensor = ((0.1, xy, 0.0), (yx, 0.1, 0.0), (0.0, 0.0, 0.1))
        return replace(ARM, links=(Link("world"), Link("arm", replace(BALL, tensor=tensor)), HAND))

    assert arm(0.01, 0.01 + 1e-15).link("arm").inertia is not None
    with pytest.raises(ModelError, match=r"^arm.urdf: link 'arm' .* expected a symmetric matrix"):
        arm(0.01, 0.0)


def test_limits_may_be_infinite() -> None:
    assert with_joints(replace(HINGE, limits=Limits()), SLIDE).joint("hinge").limits == Limits(
        -inf, inf, inf, inf
    )
