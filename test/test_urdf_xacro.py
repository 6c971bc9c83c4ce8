"""Xacro files: expanded, quiet, and their failures named."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kane_dynamics.errors import ModelError
from kane_dynamics.robot import Robot, read_urdf

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
