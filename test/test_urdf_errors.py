"""Bad URDF: each mistake is an error that names the file and the element."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.robot import Robot, read_urdf

GOOD = """<robot name="arm">
  <link name="world"/>
  <link name="rod">
    <inertial>
      <origin xyz="0 0 1" rpy="0 0 0"/>
      <mass value="2"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
    </inertial>
  </link>
  <link name="tip"/>
  <joint name="hinge" type="revolute">
    <origin xyz="0 0 0" rpy="0 0 0"/>
    <parent link="world"/>
    <child link="rod"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/>
    <dynamics damping="0.1" friction="0.1"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="rod"/>
    <child link="tip"/>
    <mimic joint="hinge" multiplier="1" offset="0"/>
  </joint>
</robot>
"""


Read = Callable[..., Robot]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a file and read it as URDF."""

    def write_and_read(content: str | bytes, name: str = "arm.urdf") -> Robot:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_urdf(path)

    return write_and_read


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def test_the_robot_is_good_before_it_is_spoiled(read: Read) -> None:
    assert len(read(GOOD).joints) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # names and types
        ('robot name="arm"', "robot", "<robot> has no name"),
        ('robot name="arm"', 'robot name="arm" version="3.0"', "<robot> has version='3.0'"),
        ('link name="rod"', "link", "link number 2: <link> has no name"),
        ('link name="rod"', 'link name=""', "link number 2: <link> has name=''"),
        ('joint name="slide"', "joint", "joint number 2: <joint> has no name"),
        (' type="revolute"', "", "joint 'hinge': <joint> has no type"),
        ('"revolute"', '"spherical"', "joint 'hinge': <joint> has type='spherical'.*revolute"),
        # the tree
        ('<parent link="world"/>', "", "joint 'hinge': <joint> has no <parent>"),
        ('<child link="rod"/>', "<child/>", "joint 'hinge': <joint><child> has no link"),
        ('parent link="world"', 'parent link="moon"', "joint 'hinge' has the parent 'moon'"),
        ('child link="tip"', 'child link="toe"', "joint 'slide' has the child 'toe'"),
        ('<link name="tip"/>', '<link name="rod"/>', "link 'rod' is there twice"),
        ('joint name="slide"', 'joint name="hinge"', "joint 'hinge' is there twice"),
        ('<link name="tip"/>', '<link name="tip"/><link name="hat"/>', "'world', 'hat'.*one root"),
        ('child link="tip"', 'child link="rod"', "joint 'slide' gives link 'rod' a second parent"),
        ('parent link="world"', 'parent link="tip"', "'rod' - 'tip' - 'rod' form a cycle"),
        # inertia
        ('<mass value="2"/>', "", "link 'rod': <link><inertial> has no <mass>"),
        ('<mass value="2"/>', "<mass/>", "link 'rod': <link><inertial><mass> has no value"),
        ('mass value="2"', 'mass value="-2"', "link 'rod' has mass -2.0"),
        ('mass value="2"', 'mass value="nan"', "link 'rod': .*<mass> has value='nan'"),
        ('mass value="2"', 'mass value="inf"', "link 'rod': .*<mass> has value='inf'"),
        ('mass value="2"', 'mass value="1e999"', "link 'rod': .*<mass> has value='1e999'"),
        ('mass value="2"', 'mass value="1_0"', "link 'rod': .*<mass> has value='1_0'"),
        ('mass value="2"', 'mass value="${m}"', "link 'rod': .*<mass> has value="),
        ('ixy="0" ', "", "link 'rod': <link><inertial><inertia> has no ixy"),
        ('izz="1"', 'izz="one"', "link 'rod': .*<inertia> has izz='one'"),
        ('izz="1"', 'izz="NaN"', "link 'rod': .*<inertia> has izz='NaN'"),
        ('xyz="0 0 1" rpy', 'xyz="0 0" rpy', "link 'rod': .*<origin> has xyz='0 0'"),
        ('xyz="0 0 1" rpy', 'xyz="0 0 inf" rpy', "link 'rod': .*<origin> has xyz='0 0 inf'"),
        # motion
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>', "joint 'hinge': <axis> has xyz='0 0 0'"),
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 y 0"/>', "joint 'hinge': .*<axis> has xyz='0 y 0'"),
        ('<axis xyz="0 1 0"/>', "<axis/>", "joint 'hinge': .*<axis> has no xyz"),
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 nan 0"/>', "joint 'hinge': .*<axis> has xyz="),
        ('xyz="0 0 0" rpy="0 0 0"', 'rpy="0 0 nan"', "joint 'hinge': .*<origin> has rpy='0 0 nan'"),
        ('xyz="0 0 0" rpy="0 0 0"', 'xyz=""', "joint 'hinge': .*<origin> has xyz=''"),
        ('lower="-1"', 'lower="nan"', "joint 'hinge': .*<limit> has lower='nan'"),
        ('effort="1"', 'effort="strong"', "joint 'hinge': .*<limit> has effort='strong'"),
        ('damping="0.1"', 'damping="inf"', "joint 'hinge': .*<dynamics> has damping='inf'"),
        ('friction="0.1"', 'friction=""', "joint 'hinge': .*<dynamics> has friction=''"),
        ('mimic joint="hinge"', "mimic", "joint 'slide': .*<mimic> has no joint"),
        ('multiplier="1"', 'multiplier="nan"', "joint 'slide': .*<mimic> has multiplier='nan'"),
        ('mimic joint="hinge"', 'mimic joint="slide"', "'slide' - 'slide' mimic each other"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_element(
    read: Read, old: str, new: str, message: str
) -> None:
    with pytest.raises(ModelError, match=rf"arm\.urdf: .*{message}") as caught:
        read(changed(old, new))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ('quat_xyzw="0 0 0 0"', "expected a rotation"),
        ('quat_xyzw="0 0 1"', "expected four finite numbers"),
        ('rpy="0 0 0" quat_xyzw="0 0 0 1"', "both rpy and quat_xyzw"),
    ],
)
def test_a_wrong_quaternion_is_named(read: Read, origin: str, message: str) -> None:
    text = changed('robot name="arm"', 'robot name="arm" version="1.1"')
    with pytest.raises(ModelError, match=f"joint 'hinge': .*{message}"):
        read(text.replace('xyz="0 0 0" rpy="0 0 0"', origin))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        (" \n\t ", "is empty"),
        ("just words", "is not XML: syntax error in line 1"),
        ("<robot name='arm'>\n<link name='a'></robot>", "is not XML: mismatched tag in line 2"),
        ("<robot name='arm'><link name='a'/>", "is not XML: no element found"),
        ("<robot name='a' name='b'/>", "is not XML: duplicate attribute"),
        ("<robot name='&who;'/>", "is not XML: undefined entity"),
        ("<robot name='arm'/><robot name='arm'/>", "is not XML: junk after document element"),
        ("<sdf version='1.6'/>", "starts with <sdf>, expected <robot>"),
        ("<robot name='arm'/>", "the robot has no link"),
        (bytes(range(256)), "is not XML"),
        (b"\x7fELF\x02\x01\x01" + bytes(500), "is not XML"),
        (GOOD.replace("rod", "r\xf6d").encode("latin-1"), "is not XML: not well-formed"),
        (b"<?xml version='1.0' encoding='utf-16'?>" + GOOD.encode(), "is not XML"),
        (b"<?xml version='1.0' encoding='klingon'?>" + GOOD.encode(), "cannot be decoded|unknown"),
        (b"<?xml version='1.0' encoding='gb2312'?>" + GOOD.encode(), "cannot be decoded|unknown"),
    ],
)
def test_what_is_no_urdf_at_all_is_named(read: Read, content: str | bytes, message: str) -> None:
    with pytest.raises(ModelError, match=rf"arm\.urdf: .*({message})"):
        read(content)


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
BOMB = "A" * 100_000


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE robot>",
        '<!DOCTYPE robot SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE robot PUBLIC "-//X" "http://127.0.0.1:9/x.dtd">',
        '<!DOCTYPE robot [<!ENTITY who SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE robot [<!ENTITY % who SYSTEM "file:///etc/passwd"> %who;]>',
        f'<!DOCTYPE robot [<!ENTITY l0 "ha">{LAUGHS}<!ENTITY who "&l11;">]>',
        f'<!DOCTYPE robot [<!ENTITY who "{BOMB}">]>',
        '<!DOCTYPE robot [<!ENTITY who "&who;">]>',
        '<!DOCTYPE robot [<!ATTLIST robot name CDATA "default">]>',
    ],
)
def test_document_types_are_refused_before_any_entity_is_expanded(read: Read, doctype: str) -> None:
    for content in (f"{doctype}<robot name='{'&who;' * 1000}'/>", f"{doctype}{GOOD}"):
        for name in ("arm.urdf", "arm.xacro"):
            with pytest.raises(ModelError, match=rf"{name}: declares the document type 'robot'"):
                read(content, name)


@pytest.mark.parametrize(
    "element",
    [
        '<xacro:arm name="left"/>',
        '<xacro:property name="length" value="1"/>',
        '<link name="a"><xacro:inertia mass="1"/></link>',
        '<gazebo><plugin><xacro:if value="1"/></plugin></gazebo>',
    ],
)
def test_xacro_that_would_not_be_expanded_is_refused(read: Read, element: str) -> None:
    text = changed("</robot>", f"{element}</robot>")
    with pytest.raises(ModelError, match=r"arm\.urdf: <xacro:\w+> is not URDF, .* \.xacro"):
        read(text)
    with pytest.raises(ModelError, match=r"<text>: <xacro:\w+> is not URDF, .* \.xacro"):
        read_urdf(text)
    assert read(changed("</robot>", f"<!-- {element} --></robot>")) == read(GOOD)


@pytest.mark.parametrize("close", [True, False])
def test_deep_nesting_is_refused(read: Read, close: bool) -> None:
    depth = 1_000_000
    text = "<robot name='arm'>" + "<a>" * depth + ("</a>" * depth + "</robot>" if close else "")
    with pytest.raises(ModelError, match=r"arm\.urdf: <a> is nested deeper than"):
        read(text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nothing.urdf"
    for source in (path, str(path), str(path.with_suffix(".xacro"))):
        with pytest.raises(ModelError, match=r"nothing.*cannot be read: no such file or directory"):
            read_urdf(source)


def test_a_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"{tmp_path}.*is a directory"):
        read_urdf(tmp_path)


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(ModelError, match="/dev/zero: is larger than 64 MiB"):
        read_urdf("/dev/zero")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "secret.urdf"
    path.write_text(GOOD)
    path.chmod(0)
    with pytest.raises(ModelError, match=r"secret.urdf.*permission denied"):
        read_urdf(path)


@pytest.mark.parametrize("source", ["", "panda", "a\0b", "x" * 100_000])
def test_text_that_is_neither_a_path_nor_a_urdf_is_named(source: str) -> None:
    with pytest.raises(
        ModelError, match=r"cannot be read: .*expected a URDF file or URDF text"
    ) as e:
        read_urdf(source)
    assert len(str(e.value)) < 400


def test_text_without_a_file_is_named_text() -> None:
    with pytest.raises(ModelError, match=r"^<text>: is not XML"):
        read_urdf("<robot")
    with pytest.raises(ModelError, match=r"^<text>: is empty"):
        read_urdf(b"")
    with pytest.raises(ModelError, match=r"^<text>: cannot be encoded"):
        read_urdf("<robot name='\ud800'/>")


@pytest.mark.parametrize("source", [None, 3, ["arm.urdf"]])
def test_what_is_neither_path_nor_text_is_refused(source: object) -> None:
    with pytest.raises(ArgumentError, match="expected the path of a URDF or its text"):
        read_urdf(source)  # type: ignore[arg-type]
