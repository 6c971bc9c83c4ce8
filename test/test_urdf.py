"""What is read from URDF, and what is passed over."""

import logging
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import distribution
from math import cos, inf, pi, sin
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from kane_dynamics.robot import Joint, Limits, Mimic, Robot, read_urdf
from kane_dynamics.robot.model import Matrix

ROBOTS = Path(
    str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data"))
)
PANDA = ROBOTS / "robots/panda_description/urdf/panda.urdf"
INERTIAL = (
    '<inertial><mass value="2"/>'
    '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="3"/></inertial>'
)


def arm(joint: str = "", kind: str = "continuous", link: str = INERTIAL, robot: str = "") -> str:
    """One link that moves, with whatever else is in it."""
    return (
        f'<robot name="arm" {robot}><link name="world"/><link name="rod">{link}</link>'
        f'<joint name="hinge" type="{kind}"><parent link="world"/><child link="rod"/>{joint}'
        "</joint></robot>"
    )


def hinge(*args: str, **options: str) -> Joint:
    return read_urdf(arm(*args, **options)).joint("hinge")


def test_path_text_and_bytes_give_the_same_robot() -> None:
    robot = read_urdf(PANDA)
    assert robot.name == "panda"
    assert robot.source == str(PANDA)
    for source in (str(PANDA), PANDA.read_text(), PANDA.read_bytes()):
        assert read_urdf(source) == robot
    assert read_urdf(PANDA.read_text()).source == "<text>"


def test_the_second_finger_of_the_panda_mimics_the_first() -> None:
    joint = read_urdf(PANDA).joint("panda_finger_joint2")
    assert joint.mimic == Mimic("panda_finger_joint1", 1.0, 0.0)


@pytest.mark.parametrize("path", sorted(ROBOTS.rglob("*.urdf")), ids=lambda path: path.stem)
def test_what_pinocchio_loads_is_loaded(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        model = pin.buildModelFromUrdf(str(path))
    except ValueError:
        pytest.skip("Pinocchio does not load it")
    capfd.readouterr()
    robot = read_urdf(path)
    assert capfd.readouterr() == ("", "")
    assert robot.name == model.name
    moving = [joint for joint in robot.joints if joint.kind != "fixed"]
    assert {joint.name for joint in moving} == set(model.names) - {"universe"}
    for joint in moving:
        if joint.kind != "continuous":
            theirs = model.joints[model.getJointId(joint.name)]
            at, speed = theirs.idx_q, theirs.idx_v
            assert joint.limits == Limits(
                model.lowerPositionLimit[at],
                model.upperPositionLimit[at],
                model.velocityLimit[speed],
                model.upperEffortLimit[speed],
            )
            assert joint.damping == model.damping[speed]


def test_reading_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, kane_dynamics.robot as robot;"
        "assert 'urdf_parser_py' not in sys.modules and 'xacro' not in sys.modules;"
        'robot.read_urdf(\'<robot name="r"><link name="l"/></robot>\');'
        "assert 'urdf_parser_py' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_dynamics_does_not_need_is_passed_over(capfd: pytest.CaptureFixture[str]) -> None:
    plain = read_urdf(arm('<limit effort="1" velocity="2"/>'))
    rich = read_urdf(
        arm(
            '<limit effort="1" velocity="2" jerk="3"/><safety_controller k_velocity="1"/>'
            '<calibration rising="0"/><limit effort="9" velocity="9"/>',
            robot='xmlns:xacro="http://ros.org/wiki/xacro" author="me"',
            link=INERTIAL
            + '<visual><geometry><mesh filename="rod.stl"/></geometry>'
            + '<material name="red"/></visual><inertial/><self_collide/>',
        ).replace(
            "</robot>",
            '<gazebo><plugin name="p"><link name="x"/></plugin></gazebo><material name="red"/>'
            '<transmission name="t"><joint name="hinge"/></transmission>'
            '<ros2_control name="c" type="system"><joint name="hinge"/></ros2_control></robot>',
        )
    )
    links = tuple(replace(link, visuals=()) for link in rich.links)
    assert replace(rich, links=links) == plain
    assert capfd.readouterr() == ("", "")


def test_blanks_before_the_declaration_a_namespace_and_a_byte_order_mark_do_no_harm() -> None:
    declared = f'<?xml version="1.0" encoding="utf-8"?>{arm()}'
    assert read_urdf(f"\n  {declared}") == read_urdf(arm())
    assert read_urdf(arm(robot='xmlns="http://ros.org"')) == read_urdf(arm())
    assert read_urdf(f"\ufeff{declared}") == read_urdf(arm())
    assert read_urdf(declared.encode("utf-8-sig")) == read_urdf(arm())
    assert read_urdf(arm().encode("utf-16")) == read_urdf(arm())
    assert read_urdf(declared.replace("utf-8", "utf-16")) == read_urdf(arm())


def test_names_may_be_in_any_script() -> None:
    text = arm().replace("rod", "Gelenk-é-関節")
    assert read_urdf(text.encode()).joint("hinge").child == "Gelenk-é-関節"


def test_inertia_is_turned_into_the_axes_of_the_link() -> None:
    roll, pitch, yaw = 0.3, -0.4, 0.5
    origin = f'<origin xyz="1 2 3" rpy="{roll} {pitch} {yaw}"/>'
    link = read_urdf(arm(link=INERTIAL.replace("<mass", origin + "<mass"))).link("rod")
    turn = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()
    tensor = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]])
    assert link.inertia is not None
    assert link.inertia.mass == 2.0
    assert link.inertia.center == (1.0, 2.0, 3.0)
    np.testing.assert_allclose(link.inertia.tensor, turn @ tensor @ turn.T, atol=1e-15)


def test_a_mass_without_inertia_is_a_point() -> None:
    link = read_urdf(arm(link='<inertial><mass value="3"/></inertial>')).link("rod")
    assert link.inertia is not None
    assert link.inertia.mass == 3.0
    assert link.inertia.tensor == ((0.0, 0.0, 0.0),) * 3


def test_a_link_without_inertial_is_a_frame() -> None:
    assert read_urdf(arm()).link("world").inertia is None


def test_shapes_keep_half_their_size_and_bad_ones_are_passed_over() -> None:
    link = (
        '<collision><origin xyz="1 0 0"/><geometry><box size="2 4 6"/></geometry></collision>'
        '<visual><geometry><cylinder radius="1" length="4"/></geometry></visual>'
        '<visual><geometry><sphere radius="5"/></geometry></visual>'
        '<visual><geometry><box size="a b c"/></geometry></visual>'
        '<visual><geometry><box size="-1 1 1"/></geometry></visual>'
        "<visual><geometry/></visual><collision/>"
    )
    shapes = read_urdf(arm(link=link)).link("rod").shapes
    assert [(shape.kind, shape.extent) for shape in shapes] == [
        ("box", (1.0, 2.0, 3.0)),
        ("cylinder", (1.0, 1.0, 2.0)),
        ("sphere", (5.0, 5.0, 5.0)),
    ]
    assert shapes[0].translation == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("", (1.0, 0.0, 0.0)),
        ('<axis xyz="0 0 -1"/>', (0.0, 0.0, -1.0)),
        ('<axis xyz="0 3 4"/>', (0.0, 0.6, 0.8)),
        ('<axis xyz="0 0 1e-200"/>', (0.0, 0.0, 1.0)),
        ('<axis xyz="0 0 1e300"/>', (0.0, 0.0, 1.0)),
        ('<axis xyz="0 1 0"/><axis xyz="0 0 1"/>', (0.0, 1.0, 0.0)),
    ],
)
def test_an_axis_of_any_length_is_a_direction(text: str, axis: tuple[float, ...]) -> None:
    assert hinge(text).axis == axis


@pytest.mark.parametrize("kind", ["fixed", "floating"])
def test_a_joint_without_axis_may_have_a_wrong_one(kind: str) -> None:
    assert hinge('<axis xyz="0 0 0"/>', kind=kind) == hinge('<axis xyz="a"/>', kind=kind)


def test_rotations_are_by_roll_pitch_yaw_about_fixed_axes() -> None:
    joint = hinge('<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>')
    expected = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    np.testing.assert_allclose(joint.rotation, expected, atol=1e-15)
    assert joint.translation == (1.0, 2.0, 3.0)


def test_right_angles_are_exact_and_near_ones_are_kept() -> None:
    exact = hinge(f'<origin rpy="{pi / 2} 0 {-pi}"/>').rotation
    assert exact == ((-1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    near = hinge('<origin rpy="1.5708 0 0"/>').rotation
    assert near == (
        (1.0, 0.0, 0.0),
        (0.0, cos(1.5708), -sin(1.5708)),
        (0.0, sin(1.5708), cos(1.5708)),
    )


@pytest.mark.parametrize("pitch", [0.0, 0.7, pi / 2, -pi / 2, pi / 2 - 1e-9])
def test_quaternions_of_urdf_1_1_are_rotations(pitch: float) -> None:
    turn = Rotation.from_euler("xyz", [0.4, pitch, -0.9])
    quaternion = " ".join(str(component) for component in 2.0 * turn.as_quat())
    text = f'<origin quat_xyzw="{quaternion}"/>'
    np.testing.assert_allclose(
        hinge(text, robot='version="1.1"').rotation, turn.as_matrix(), atol=1e-14
    )
    assert hinge(text, robot='version="1.0"') == hinge()


def test_quaternions_of_right_angles_are_exact_and_near_ones_are_kept() -> None:
    def turn(quaternion: str) -> Matrix:
        return hinge(f'<origin quat_xyzw="{quaternion}"/>', robot='version="1.1"').rotation

    about_x = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
    assert turn("0.7071067811865475 0 0 0.7071067811865476") == about_x
    assert turn("0.7071 0 0 0.7071") == about_x
    assert turn("0.5 0.5 0.5 0.5") == ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    angle = pi / 2 - 1e-9
    near = turn(f"{sin(angle / 2)} 0 0 {cos(angle / 2)}")
    assert near[1][1] == pytest.approx(1e-9, rel=1e-6)


def test_urdf_parser_py_may_ask_for_children_as_lxml_names_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    as_read = read_urdf(PANDA)
    monkeypatch.setattr(
        "urdf_parser_py.xml_reflection.core.xml_children", lambda element: element.getchildren()
    )
    assert read_urdf(PANDA) == as_read


def test_limits_default_as_in_urdf() -> None:
    assert hinge('<limit effort="1" velocity="2"/>', kind="revolute").limits == Limits(0, 0, 2, 1)
    assert hinge('<limit effort="1" velocity="2"/>').limits == Limits(-inf, inf, 2, 1)
    assert hinge('<limit lower="-1" upper="1"/>', kind="prismatic").limits == Limits(-1, 1)
    assert hinge(kind="revolute").limits is None


def test_damping_and_friction_default_to_zero() -> None:
    joint = hinge('<dynamics damping="0.5"/>')
    assert (joint.damping, joint.friction) == (0.5, 0.0)
    joint = hinge('<dynamics friction="0.5"/>')
    assert (joint.damping, joint.friction) == (0.0, 0.5)
    joint = hinge()
    assert (joint.damping, joint.friction) == (0.0, 0.0)


def two_hinges(mimic: str) -> Robot:
    second = (
        '<link name="tip"/><joint name="wrist" type="continuous"><parent link="rod"/>'
        f'<child link="tip"/>{mimic}</joint></robot>'
    )
    return read_urdf(arm().replace("</robot>", second))


def test_mimic_defaults_to_the_same_motion() -> None:
    assert two_hinges('<mimic joint="hinge"/>').joint("wrist").mimic == Mimic("hinge", 1.0, 0.0)
    mimic = two_hinges('<mimic joint="hinge" multiplier="0" offset="2"/>').joint("wrist").mimic
    assert mimic == Mimic("hinge", 0.0, 2.0)


def test_a_mimic_of_a_joint_that_is_not_there_moves_by_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "kane_dynamics"):
        assert two_hinges('<mimic joint="elbow"/>').joint("wrist").mimic is None
    assert "<text>: joint 'wrist': mimics 'elbow'" in caplog.text
