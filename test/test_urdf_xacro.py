"""Xacro files: expanded, quiet, and their failures named."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.robot import Robot, read_urdf
from kane_dynamics.robot.source import read_description
from kane_dynamics.robot.xacro import read_arguments

HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
ARM = (
    HEAD
    + """
  <xacro:property name="length" value="0.5"/>
  <xacro:arg name="count" default="2"/>
  <xacro:macro name="segment" params="name parent">
    <link name="${name}"/>
    <joint name="${name}_joint" type="continuous">
      <origin xyz="0 0 ${2 * length}" rpy="${pi / 2} 0 0"/>
      <parent link="${parent}"/>
      <child link="${name}"/>
    </joint>
  </xacro:macro>
  <link name="world"/>
  <xacro:segment name="a" parent="world"/>
  <xacro:if value="${$(arg count) > 1}"><xacro:segment name="b" parent="a"/></xacro:if>
</robot>"""
)


Read = Callable[[str], Robot]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a xacro file and read it."""

    def write_and_read(text: str) -> Robot:
        path = tmp_path / "arm.urdf.xacro"
        path.write_text(text)
        return read_urdf(path)

    return write_and_read


def test_macros_and_expressions_are_expanded(read: Read) -> None:
    robot = read(ARM)
    assert [joint.name for joint in robot.joints] == ["a_joint", "b_joint"]
    assert robot.joint("b_joint").translation == (0.0, 0.0, 1.0)
    assert robot.joint("b_joint").rotation[1] == (0.0, 0.0, -1.0)
    assert robot.source.endswith("arm.urdf.xacro")


def test_arguments_are_given_or_have_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "arm.xacro"
    path.write_text(ARM)
    for arguments, joints in ((None, 2), ({}, 2), ({"count": "1"}, 1)):
        robot = read_urdf(read_description(path, arguments))
        assert len(robot.joints) == joints
        assert robot.source == str(path)


def test_an_argument_of_an_included_file_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "tip.xacro").write_text(f'{HEAD}<link name="$(arg tip)"/></robot>')
    path = tmp_path / "arm.xacro"
    path.write_text(f'{HEAD}<xacro:include filename="tip.xacro"/></robot>')
    with pytest.raises(ModelError, match="Undefined substitution argument tip"):
        read_description(path)
    assert read_urdf(read_description(path, {"tip": "hand"})).root == "hand"


def test_an_argument_that_the_file_does_not_take_is_named(tmp_path: Path) -> None:
    path = tmp_path / "arm.xacro"
    path.write_text(ARM)
    with pytest.raises(ArgumentError, match=r"arm\.xacro: takes no argument 'cuont', .*'count'$"):
        read_description(path, {"count": "1", "cuont": "1"})
    path.write_text(f'{HEAD}<link name="a"/></robot>')
    with pytest.raises(ArgumentError, match=r"takes no argument 'a', expected none$"):
        read_description(path, {"a": ""})


def test_only_xacro_files_take_arguments(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text('<robot name="arm"><link name="a"/></robot>')
    for source, name in ((path, r"arm\.urdf"), (path.read_text(), "<text>")):
        with pytest.raises(ArgumentError, match=f"{name}: takes no xacro arguments"):
            read_description(source, {"count": "1"})


def test_arguments_are_written_as_for_xacro() -> None:
    assert read_arguments("") == {}
    assert read_arguments(" a:=1  b:='two words' c:= d:=x:=y") == {
        "a": "1",
        "b": "two words",
        "c": "",
        "d": "x:=y",
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mass=2", "'mass=2' is no argument, expected name:=value"),
        ("a:=1 mass", "'mass' is no argument, expected name:=value"),
        (":=2", "':=2' is no argument, expected name:=value"),
        ("a:=1 a:=2", "'a' is given twice, expected one value"),
        ("a:='1", "has no closing quotation"),
    ],
)
def test_malformed_arguments_are_named(text: str, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=f"^xacro_args: .*{sentence}$"):
        read_arguments(text)


def test_files_are_included(read: Read, tmp_path: Path) -> None:
    (tmp_path / "tip.xacro").write_text(f'{HEAD}<link name="tip"/></robot>')
    robot = read(f'{HEAD}<xacro:include filename="tip.xacro"/></robot>')
    assert robot.root == "tip"


@pytest.mark.parametrize(
    "doctype",
    ['<!DOCTYPE robot [<!ENTITY who "tip">]>', '<!DOCTYPE robot SYSTEM "file:///etc/passwd">'],
)
def test_document_types_are_refused_in_included_files(
    read: Read, tmp_path: Path, doctype: str
) -> None:
    import xacro  # type: ignore[import-untyped]

    original = xacro.parse
    inner = tmp_path / "tip.xacro"
    inner.write_text(f'{doctype}{HEAD}<link name="tip"/></robot>')
    (tmp_path / "hand.xacro").write_text(f'{HEAD}<xacro:include filename="tip.xacro"/></robot>')
    with pytest.raises(ModelError, match=r"tip\.xacro: declares the document type 'robot'"):
        read(f'{HEAD}<xacro:include filename="hand.xacro"/></robot>')
    assert xacro.parse is original


def test_an_included_file_that_may_be_missing_may_be_missing(read: Read) -> None:
    include = '<xacro:include filename="gone.xacro" optional="true"/>'
    assert read(f'{HEAD}{include}<link name="tip"/></robot>').root == "tip"


def test_what_xacro_says_goes_to_the_log(
    read: Read, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "kane_dynamics"):
        read(f'{HEAD}<xacro:property name="pi" value="3"/><link name="a"/></robot>')
    assert capfd.readouterr() == ("", "")
    assert "redefining global symbol: pi" in caplog.text


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ('<link name="${nobody}"/>', "name 'nobody' is not defined"),
        ('<link name="${1 / 0}"/>', "division by zero"),
        ('<xacro:nothing name="a"/>', "unknown macro name: xacro:nothing"),
        ('<xacro:include filename="gone.xacro"/>', "[Nn]o such file"),
        ('<link name="$(find no_such_package)"/>', "no_such_package|AMENT_PREFIX_PATH|ament"),
        (
            '<xacro:macro name="m" params=""><xacro:m/></xacro:macro><xacro:m/>',
            "recursion",
        ),
    ],
)
def test_a_xacro_that_fails_is_named_with_the_cause(
    read: Read, capfd: pytest.CaptureFixture[str], body: str, cause: str
) -> None:
    with pytest.raises(ModelError, match=rf"arm\.urdf\.xacro: .*({cause})") as caught:
        read(f"{HEAD}{body}</robot>")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
    assert len(read(ARM).joints) == 2


def test_a_xacro_that_is_no_xml_is_named(read: Read) -> None:
    with pytest.raises(ModelError, match=r"arm\.urdf\.xacro: is not XML: .* in line 2"):
        read(f"{HEAD}\n<link></robot>")


def test_what_a_xacro_expands_to_is_checked(read: Read) -> None:
    with pytest.raises(ModelError, match=r"arm\.urdf\.xacro: link 'world' is there twice"):
        read(ARM.replace('name="b"', 'name="world"'))


def test_without_the_xacro_package_the_error_says_what_to_install(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(ModelError, match=r"arm\.urdf\.xacro: .*pip install xacro"):
        read(ARM)
