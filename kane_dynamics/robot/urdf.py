"""URDF to a robot.

The XML is parsed, reduced to what dynamics needs and checked by this package, so that nothing in a
file can harm or slow it and every complaint names its element. Origins and shapes are read here,
because urdf_parser_py knows no quaternions; the elements that are left are handed to it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Container, Iterator, Mapping
from math import inf
from typing import Any
from xml.etree.ElementTree import Element

from kane_dynamics.errors import ModelError
from kane_dynamics.robot.grammar import ROBOT
from kane_dynamics.robot.model import (
    ZERO,
    Inertia,
    Joint,
    Limits,
    Link,
    Material,
    Matrix,
    Mimic,
    Robot,
    Vector,
)
from kane_dynamics.robot.rotation import change_basis, unit
from kane_dynamics.robot.source import read_description
from kane_dynamics.robot.structure import AXIS_KINDS, MIMIC_KINDS
from kane_dynamics.robot.urdf_origin import origin_fault, take, take_pose
from kane_dynamics.robot.urdf_shapes import materials_by_name, take_shapes
from kane_dynamics.robot.xml import fault, parse

_logger = logging.getLogger("kane_dynamics")


def read_urdf(source: str | bytes | os.PathLike[str]) -> Robot:
    """Return the robot that a URDF describes.

    Parameters
    ----------
    source : str, bytes or path
        Path of a .urdf or .xacro file; or URDF text, which is bytes or a string with a "<" in it.

    Raises
    ------
    ModelError
        If the file cannot be read, or does not describe a robot.

    Examples
    --------
    >>> read_urdf('<robot name="rock"><link name="stone"/></robot>').root
    'stone'
    """
    name, data, encoding = read_description(source)
    document = parse(data, "robot", ROBOT, name, encoding)
    wrong = fault(Element(document.tag, document.attrib), ROBOT)
    if wrong:
        raise ModelError(f"{name}: {wrong}")
    if document.get("version", "1.0") == "1.0":  # in which quaternions are ignored, right or wrong
        for origin in document.iter("origin"):
            origin.attrib.pop("quat_xyzw", None)
    materials = materials_by_name(document)
    masters = {joint.get("name") for joint in document.iterfind("joint")}
    return Robot(
        document.attrib["name"],
        tuple(_link(link, where, materials) for where, link in _named(document, "link", name)),
        tuple(_joint(joint, where, masters) for where, joint in _named(document, "joint", name)),
        name,
    )


def _named(document: Element, tag: str, source: str) -> Iterator[tuple[str, Element]]:
    """Yield links or joints, each with its name in messages."""
    for number, part in enumerate(document.iterfind(tag), start=1):
        name = repr(part.get("name")) if part.get("name") else f"number {number}"
        yield f"{source}: {tag} {name}", part


def _check(part: Element, where: str) -> None:
    rotations = map(origin_fault, part.iter("origin"))
    wrong = fault(part, ROBOT.children[part.tag]) or next(filter(None, rotations), None)
    if wrong:
        raise ModelError(f"{where}: {wrong}")


def _read(part: Element, where: str) -> Any:
    """Return what urdf_parser_py reads in a link or joint."""
    # imported here, because it loads more than the rest of this package
    from urdf_parser_py import urdf  # type: ignore[import-untyped]
    from urdf_parser_py.xml_reflection.core import Path  # type: ignore[import-untyped]

    reader = urdf.Link if part.tag == "link" else urdf.Joint
    try:
        return reader.from_xml(part, Path(part.tag))
    except Exception as error:  # the reader raises exceptions of many types, also Exception
        cause = " ".join(str(error).split())
        raise ModelError(f"{where}: urdf_parser_py cannot read it: {cause}") from error


def _link(part: Element, where: str, materials: Mapping[str, Material]) -> Link:
    collisions = take_shapes(part, "collision", materials)
    visuals = take_shapes(part, "visual", materials)
    _check(part, where)
    rotation, center = take_pose(part.find("inertial"))
    link = _read(part, where)
    inertia = link.inertial and _inertia(link.inertial, rotation, center)
    return Link(link.name, inertia, collisions, visuals)


def _inertia(inertial: Any, rotation: Matrix, center: Vector) -> Inertia:
    if inertial.inertia is None:
        return Inertia(inertial.mass, center, (ZERO, ZERO, ZERO))
    xx, xy, xz, yy, yz, zz = (getattr(inertial.inertia, key) for key in inertial.inertia.KEYS)
    tensor = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    return Inertia(inertial.mass, center, change_basis(rotation, tensor))


def _joint(part: Element, where: str, masters: Container[str | None]) -> Joint:
    for name, kinds in (("axis", AXIS_KINDS), ("mimic", MIMIC_KINDS)):
        if part.get("type") not in kinds:
            take(part, name)  # ignored by other readers, too, right or wrong
    _check(part, where)
    _free_without_master(part, where, masters)
    rotation, translation = take_pose(part)
    for limit in part.iterfind("limit"):
        limit.attrib.setdefault("velocity", "inf")
        limit.attrib.setdefault("effort", "inf")
    joint = _read(part, where)
    direction = (1.0, 0.0, 0.0) if joint.axis is None else tuple(joint.axis)
    if not any(direction):
        raise ModelError(f"{where}: <axis> has xyz='0 0 0', expected a direction")
    dynamics, mimic = joint.dynamics, joint.mimic
    return Joint(
        joint.name,
        joint.type,
        joint.parent,
        joint.child,
        rotation,
        translation,
        unit(direction),
        joint.limit and _limits(joint),
        (dynamics and dynamics.damping) or 0.0,
        (dynamics and dynamics.friction) or 0.0,
        mimic and Mimic(mimic.joint, _default(mimic.multiplier, 1.0), _default(mimic.offset, 0.0)),
    )


def _free_without_master(part: Element, where: str, masters: Container[str | None]) -> None:
    """Let a joint move by itself if the joint it mimics is not there, as other readers do."""
    mimic = part.find("mimic")
    if mimic is not None and mimic.get("joint") not in masters:
        master = mimic.get("joint")
        _logger.warning("%s: mimics %r, which no joint is named: it moves freely", where, master)
        part.remove(mimic)


def _limits(joint: Any) -> Limits:
    limit = joint.limit
    lower, upper = float(limit.lower), float(limit.upper)
    if joint.type not in ("revolute", "prismatic"):
        lower, upper = -inf, inf
    return Limits(lower, upper, limit.velocity, limit.effort)


def _default(value: float | None, default: float) -> float:
    return default if value is None else value
