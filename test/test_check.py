"""Faults put into a sound robot are found, at the link or joint that has them."""

import re
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kane_dynamics as kd
from kane_dynamics.robot import (
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    Robot,
    Shape,
    moving_tree,
    read_urdf,
)
from kane_dynamics.robot.check import RULES, SEVERITIES, Finding, check
from kane_dynamics.robot.model import ZERO, Matrix, Vector

ROBOTS = Path(
    str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data"))
)
PANDA = read_urdf(next(ROBOTS.rglob("panda.urdf")))
XARM = read_urdf(next(ROBOTS.rglob("xarm7.urdf")))

Change = Callable[[Inertia], Inertia]


def vector(values: Any) -> Vector:
    x, y, z = map(float, values)
    return x, y, z


def matrix(rows: Any) -> Matrix:
    x, y, z = map(vector, rows)
    return x, y, z


def scaled(mass: float = 1.0, center: float = 1.0, tensor: float = 1.0) -> Change:
    def change(inertia: Inertia) -> Inertia:
        return Inertia(
            mass * inertia.mass,
            vector(center * np.array(inertia.center)),
            matrix(tensor * np.array(inertia.tensor)),
        )

    return change


def diagonal(*moments: float) -> Change:
    return lambda inertia: replace(inertia, tensor=matrix(np.diag(moments)))


def with_link(robot: Robot, name: str, change: Change) -> Robot:
    links = [
        replace(link, inertia=change(link.inertia)) if link.name == name and link.inertia else link
        for link in robot.links
    ]
    return replace(robot, links=tuple(links))


def with_joint(robot: Robot, name: str, **fields: Any) -> Robot:
    joints = [replace(j, **fields) if j.name == name else j for j in robot.joints]
    return replace(robot, joints=tuple(joints))


def everywhere(robot: Robot, change: Change, length: float = 1.0) -> Robot:
    links = [replace(link, inertia=link.inertia and change(link.inertia)) for link in robot.links]
    joints = [
        replace(joint, translation=vector(length * np.array(joint.translation)))
        for joint in robot.joints
    ]
    return replace(robot, links=tuple(links), joints=tuple(joints))


def found(robot: Robot) -> set[tuple[str, str, str]]:
    return {(finding.severity, finding.link, finding.rule) for finding in check(robot)}


def ball(mass: float = 1.0, radius: float = 0.06, center: Vector = ZERO) -> Inertia:
    return Inertia(mass, center, matrix(0.4 * mass * radius**2 * np.eye(3)))


def hinge(name: str, parent: str, child: str, **fields: Any) -> Joint:
    return Joint(name, **{"kind": "revolute", "parent": parent, "child": child, **fields})


def pendulum(bob: Inertia | None, **fields: Any) -> Robot:
    links = (Link("ground"), Link("bob", bob))
    return Robot("pendulum", links, (hinge("pivot", "ground", "bob", **fields),))


@pytest.mark.parametrize("robot", [PANDA, XARM], ids=["panda", "xarm7"])
def test_nothing_speaks_against_a_sound_robot(robot: Robot) -> None:
    assert check(robot) == ()


@pytest.mark.parametrize("link", ["panda_link1", "panda_link4", "panda_link6"])
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (scaled(tensor=-1.0), ("error", "negative-inertia")),
        (diagonal(0.01, 0.01, 0.03), ("error", "triangle-inequality")),
        (scaled(tensor=1e9), ("error", "gyration-radius")),
        (scaled(tensor=1e6), ("error", "gyration-radius")),
        (diagonal(5.0, 5.0, 5.0), ("warning", "gyration-radius")),
        (scaled(center=1000.0), ("error", "center-of-mass")),
        (scaled(mass=1000.0), ("warning", "density")),
        (scaled(tensor=1e-6), ("warning", "density")),
        (scaled(tensor=0.0), ("note", "point-mass")),
        (scaled(mass=0.0), ("warning", "inertia-without-mass")),
        (scaled(mass=0.0, tensor=0.0), ("warning", "massless-link")),
        (diagonal(1.0, 1.0, 1.0), ("warning", "placeholder-inertia")),
        (diagonal(0.001, 0.001, 0.001), ("note", "placeholder-inertia")),
    ],
)
def test_a_fault_of_one_link_is_found_there(
    link: str, fault: Change, expected: tuple[str, str]
) -> None:
    severity, rule = expected
    if rule == "massless-link":
        link = "panda_link4"  # the others meet their neighbours in one point
    if rule == "gyration-radius" and severity == "warning":
        link = "panda_link6"
    assert (severity, link, rule) in found(with_link(PANDA, link, fault))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (scaled(tensor=1e9), "g mm^2"),
        (scaled(tensor=1e6), "kg mm^2"),
        (scaled(center=1000.0), "mm"),
    ],
)
def test_the_unit_that_was_taken_instead_is_named(change: Change, expected: str) -> None:
    (finding, *_) = check(with_link(XARM, "link4", change))
    assert finding.severity == "error"
    assert expected in finding.message


def test_a_robot_in_gram_or_in_millimetres_is_told_from_its_size() -> None:
    in_gram = everywhere(PANDA, scaled(mass=1e3, tensor=1e3))
    in_mm = everywhere(PANDA, scaled(center=1e3), length=1e3)
    assert "mass-units" in {rule for _, _, rule in found(in_gram)}
    assert "length-units" in {rule for _, _, rule in found(in_mm)}


@pytest.mark.parametrize("digits", [3, 4, 6])
def test_rounding_of_a_flat_plate_is_no_fault(digits: int) -> None:
    random = np.random.default_rng(digits)
    for a, b in random.uniform(0.05, 0.4, (300, 2)):
        moments = [float(f"{m:.{digits}g}") for m in (a * a / 12, b * b / 12, (a * a + b * b) / 12)]
        plate = diagonal(*moments)(ball(1.0))
        size = Shape("box", (a / 2, b / 2, 0.001))
        robot = Robot(
            "door",
            (Link("ground"), Link("plate", plate, (size,))),
            (hinge("pivot", "ground", "plate"),),
        )
        assert check(robot) == ()


def test_a_triangle_is_judged_about_principal_axes() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        spread = random.uniform(0.001, 0.003, 3)
        for least, wrong in ((0.0002, False), (-0.0002, True)):
            spread[0] = least
            moments = spread.sum() - spread
            tensor = (turn * moments) @ turn.T
            robot = pendulum(replace(ball(), tensor=matrix(tensor)))
            assert (("error", "bob", "triangle-inequality") in found(robot)) == wrong


def test_frames_and_sensors_behind_fixed_joints_are_judged_with_their_carrier() -> None:
    links = (
        Link("tool0"),
        Link("camera", Inertia(0.1, ZERO, (ZERO, ZERO, ZERO))),
        Link("imu", diagonal(1e-6, 1e-6, 1e-6)(ball(1e-6))),
    )
    joints = [
        Joint(f"{link.name}_mount", "fixed", "panda_link8", link.name, translation=(0, 0, 0.05))
        for link in links
    ]
    robot = replace(PANDA, links=(*PANDA.links, *links), joints=(*PANDA.joints, *joints))
    assert check(robot) == ()


def test_an_impossible_part_of_a_possible_body_is_a_warning() -> None:
    part = Link("bracket", diagonal(1e-4, 1e-4, 1e-3)(ball(0.1)))
    mount = Joint("mount", "fixed", "panda_link7", "bracket")
    robot = replace(PANDA, links=(*PANDA.links, part), joints=(*PANDA.joints, mount))
    assert found(robot) == {("warning", "bracket", "triangle-inequality")}


def about_origin(inertia: Inertia) -> Inertia:
    center = np.array(inertia.center)
    steiner = inertia.mass * (center @ center * np.eye(3) - np.outer(center, center))
    return replace(inertia, tensor=matrix(np.array(inertia.tensor) + steiner))


def test_inertias_about_the_origins_of_links_are_recognized() -> None:
    (finding,) = check(everywhere(XARM, about_origin))
    assert (finding.severity, finding.rule) == ("warning", "inertia-about-origin")


def chain(masses: list[float], lengths: list[float]) -> Robot:
    links = [Link("link0")]
    joints = []
    at = 0.0
    for i, (mass, length) in enumerate(zip(masses, lengths, strict=True), start=1):
        rod = diagonal(mass * 0.09 / 12, mass * 0.09 / 12, 1e-3)(ball(mass, center=(0, 0, 0.1)))
        links.append(Link(f"link{i}", rod))
        joints.append(hinge(f"joint{i}", f"link{i - 1}", f"link{i}", translation=(0, 0, at)))
        at = length
    return Robot("chain", tuple(links), tuple(joints))


def test_copied_numbers_are_noted_unless_the_links_are_copies() -> None:
    unlike, copies = [0.1, 0.3, 0.2, 0.25], [0.2] * 4
    assert ("note", "link1", "repeated-inertia") in found(chain([1, 1, 1, 1], unlike))
    assert ("note", "link1", "equal-masses") in found(chain([1, 1, 1, 1], unlike))
    assert found(chain([1, 2, 3, 1], unlike)) == set()
    same = Shape("box", (0.05, 0.05, 0.1), translation=(0, 0, 0.1))
    modular = chain([1, 1, 1, 1], copies)
    links = [replace(link, collisions=(same,)) for link in modular.links]
    assert found(replace(modular, links=tuple(links))) == set()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"damping": -0.1}, ("error", "negative-damping")),
        ({"friction": -0.1}, ("error", "negative-friction")),
        ({"limits": Limits(1.0, -1.0, 2.0, 10.0)}, ("error", "limits-reversed")),
        ({"limits": Limits(0.0, 0.0, 2.0, 10.0)}, ("note", "no-range")),
        ({"limits": Limits(-1.0, 1.0, 2.0, 0.0)}, ("note", "zero-effort")),
        ({"limits": Limits(-1.0, 1.0, 0.0, 10.0)}, ("note", "zero-velocity")),
    ],
)
def test_a_fault_of_a_joint_is_found_there(
    fields: dict[str, Any], expected: tuple[str, str]
) -> None:
    severity, rule = expected
    robot = with_joint(PANDA, "panda_joint3", **fields)
    assert found(robot) == {(severity, "panda_joint3", rule)}


def test_a_tip_without_mass_is_told_once_at_its_first_joint() -> None:
    links = (Link("hand"), Link("finger"), Link("nail"))
    joints = (
        hinge("wrist", "bob", "hand"),
        hinge("knuckle", "hand", "finger"),
        Joint("grown", "fixed", "finger", "nail"),
    )
    robot = pendulum(ball())
    robot = replace(robot, links=(*robot.links, *links), joints=(*robot.joints, *joints))
    assert found(robot) == {("error", "wrist", "no-inertia")}


def test_a_massless_follower_of_a_joint_with_inertia_is_no_fault() -> None:
    robot = pendulum(ball())
    links = (*robot.links, Link("shadow"))
    follower = hinge("follower", "ground", "shadow", mimic=Mimic("pivot"))
    assert found(replace(robot, links=links, joints=(*robot.joints, follower))) == set()


def test_a_particle_resists_only_joints_whose_axis_it_is_not_on() -> None:
    particle = Inertia(1.0, (0.3, 0.4, 0.0), (ZERO, ZERO, ZERO))
    assert found(pendulum(particle, axis=(0.0, 0.0, 1.0))) == {("note", "bob", "point-mass")}
    on_axis = found(pendulum(particle, axis=(0.6, 0.8, 0.0)))
    assert ("error", "pivot", "no-inertia") in on_axis


@pytest.mark.parametrize("kind", ["prismatic", "planar", "floating", "continuous"])
def test_every_kind_of_joint_needs_mass(kind: str) -> None:
    assert found(pendulum(ball(), kind=kind)) == set()
    assert found(pendulum(None, kind=kind)) == {("error", "pivot", "no-inertia")}


def test_the_worst_comes_first_and_then_the_order_of_the_file() -> None:
    robot = with_joint(PANDA, "panda_joint2", limits=Limits(-1.0, 1.0, 0.0, 0.0))
    for link in ("panda_link6", "panda_link3"):
        robot = with_link(robot, link, diagonal(0.01, 0.01, 0.05))
    robot = with_link(robot, "panda_link1", diagonal(1.0, 1.0, 1.0))
    findings = check(robot)
    assert [(f.severity, f.link) for f in findings] == [
        ("error", "panda_link3"),
        ("error", "panda_link6"),
        ("warning", "panda_link1"),
        ("note", "panda_joint2"),
        ("note", "panda_joint2"),
    ]
    assert str(findings[0]).startswith("error: link 'panda_link3' has principal moments of inertia")


def test_a_finding_is_one_sentence_that_names_the_link_and_the_rule() -> None:
    (finding,) = check(with_link(PANDA, "panda_link5", diagonal(0.01, 0.02, 0.06)))
    assert finding == Finding("error", "panda_link5", "triangle-inequality", finding.message)
    for part in ("'panda_link5'", "0.01, 0.02 and 0.06 kg m^2", "[triangle-inequality]"):
        assert part in str(finding)


def test_every_rule_has_a_severity_and_a_function_of_its_own() -> None:
    assert {rule.severity for rule in RULES} == set(SEVERITIES)
    assert len({rule.faults for rule in RULES}) == len(RULES)


def test_a_robot_without_any_mass_can_be_checked() -> None:
    assert check(Robot("frame", (Link("only"),))) == ()


@pytest.mark.parametrize("size", [1e308, 1e100, 1e-100, 5e-324])
def test_absurd_numbers_are_judged_like_others(size: float) -> None:
    robot = with_link(XARM, "link3", lambda inertia: Inertia(size, inertia.center, inertia.tensor))
    robot = with_link(robot, "link5", diagonal(size, size, 0.0))
    robot = with_joint(robot, "joint4", translation=(size, 0.0, 0.0))
    assert check(robot)


def test_absurd_factors_are_short() -> None:
    robot = with_link(XARM, "link3", diagonal(1e50, 1e50, 1e50))
    messages = [finding.message for finding in check(robot) if finding.rule == "gyration-radius"]
    assert messages
    assert re.search(r"some \d\.?\d*e\+\d\d times smaller", messages[0])


def test_only_what_moves_is_judged_when_some_joints_are_locked() -> None:
    last = with_joint(XARM, "joint7", damping=-1.0)
    robot = with_link(last, "link7", diagonal(1e-6, 1e-6, 1e-5))

    def errors(**options: Any) -> set[tuple[str, str]]:
        findings = check(robot, moving_tree(robot, **options))
        return {(f.link, f.rule) for f in findings if f.severity == "error"}

    both = {("joint7", "negative-damping"), ("link7", "triangle-inequality")}
    assert errors() == both
    assert errors(joints=["joint7"]) == both
    assert errors(locked={"joint7": 0.5}) == set()


def test_a_massless_tip_is_found_when_the_joint_before_it_is_locked() -> None:
    robot = chain([1.0, 0.0, 0.0], [0.3, 0.3, 0.3])
    for link in ("link2", "link3"):
        robot = with_link(robot, link, diagonal(0.0, 0.0, 0.0))
    findings = check(robot, moving_tree(robot, locked={"joint2": 0.0}))
    assert ("joint3", "no-inertia") in {(f.link, f.rule) for f in findings}


def test_a_base_is_judged_as_a_moving_body_where_it_floats() -> None:
    robot = with_link(XARM, "link_base", diagonal(0.001, 0.001, 0.01))
    floating = check(robot, moving_tree(robot, base="floating"))
    assert ("error", "triangle-inequality") in {
        (f.severity, f.rule) for f in floating if f.link == "link_base"
    }
    assert check(robot, moving_tree(robot)) == ()
    assert ("warning", "link_base", "triangle-inequality") in found(robot)


def test_a_joint_is_judged_where_it_is_locked() -> None:
    particle = Inertia(1.0, ZERO, (ZERO, ZERO, ZERO))
    slide = Joint("slide", "prismatic", "bob", "hand", axis=(0.0, 0.0, 1.0))
    robot = pendulum(None, axis=(1.0, 0.0, 0.0))
    robot = replace(
        robot, links=(*robot.links, Link("hand", particle)), joints=(*robot.joints, slide)
    )

    def errors(position: float) -> set[tuple[str, str]]:
        findings = check(robot, moving_tree(robot, locked={"slide": position}))
        return {(f.link, f.rule) for f in findings if f.severity == "error"}

    assert errors(0.0) == {("pivot", "no-inertia")}
    assert errors(0.5) == set()


def test_loading_says_nothing_of_joints_that_are_locked(caplog: pytest.LogCaptureFixture) -> None:
    robot = with_joint(XARM, "joint7", damping=-1.0)
    kd.load(robot, locked={"joint7": 0.0}, backend="numpy", cache=False)
    assert "joint7" not in caplog.text
    kd.load(robot, backend="numpy", cache=False)
    assert "joint 'joint7' has damping -1" in caplog.text
