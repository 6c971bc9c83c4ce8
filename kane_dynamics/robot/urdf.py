"""URDF to a robot.

The XML is parsed, reduced to what dynamics needs and checked by this package, so that nothing in a
file can harm or slow it and every complaint names its element; urdf_parser_py then reads it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from math import inf
from typing import Any
from xml.etree.ElementTree import Element, tostring

from kane_dynamics.errors import ModelError
from kane_dynamics.robot.grammar import ROBOT, SHAPE
from kane_dynamics.robot.model import (
    IDENTITY,
    ZERO,
    Inertia,
    Joint,
    Limits,
    Link,
    Matrix,
    Mimic,
    Robot,
    Shape,
    Vector,
)
from kane_dynamics.robot.rotation import change_basis, from_rpy, rpy_from_quaternion, unit
from kane_dynamics.robot.source import read_description
from kane_dynamics.robot.structure import AXIS_KINDS, MIMIC_KINDS
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
    _drop_what_is_not_used(document)
    _check(document, name)
    _free_mimics_without_master(document, name)
    _translate(document, name)
    return _robot(_read(document, name), name)


def _parts(document: Element, source: str) -> Iterator[tuple[str, Element]]:
    """Yield links and joints, each with its name in messages."""
    counts = {"link": 0, "joint": 0}
    for part in document:
        counts[part.tag] += 1
        name = repr(part.get("name")) if part.get("name") else f"number {counts[part.tag]}"
        yield f"{source}: {part.tag} {name}", part


def _drop_what_is_not_used(document: Element) -> None:
    """Remove what other readers of URDF ignore, too, right or wrong."""
    if document.get("version", "1.0") == "1.0":
        for origin in document.iter("origin"):
            origin.attrib.pop("quat_xyzw", None)
    for link in document.iterfind("link"):
        for shape in [*link.iterfind("collision"), *link.iterfind("visual")]:
            geometry = shape.find("geometry")
            if geometry is None or len(geometry) == 0 or fault(shape, SHAPE):
                link.remove(shape)
            else:
                geometry[1:] = []
    for joint in document.iterfind("joint"):
        for name, kinds in (("axis", AXIS_KINDS), ("mimic", MIMIC_KINDS)):
            element = joint.find(name)
            if element is not None and joint.get("type") not in kinds:
                joint.remove(element)


def _free_mimics_without_master(document: Element, source: str) -> None:
    """Let a joint move by itself if the joint it mimics is not there, as other readers do."""
    names = {joint.get("name") for joint in document.iterfind("joint")}
    for where, joint in _parts(document, source):
        mimic = joint.find("mimic")
        if mimic is not None and mimic.get("joint") not in names:
            master = mimic.get("joint")
            _logger.warning(
                "%s: mimics %r, which no joint is named: it moves freely", where, master
            )
            joint.remove(mimic)


def _check(document: Element, source: str) -> None:
    wrong = fault(Element(document.tag, document.attrib), ROBOT)
    if wrong:
        raise ModelError(f"{source}: {wrong}")
    for where, part in _parts(document, source):
        wrong = fault(part, ROBOT.children[part.tag])
        if wrong:
            raise ModelError(f"{where}: {wrong}")


def _translate(document: Element, source: str) -> None:
    """Put into the words of URDF 1.0 what urdf_parser_py does not know."""
    document.attrib.pop("version", None)
    for where, part in _parts(document, source):
        for origin in part.iter("origin"):
            _translate_quaternion(origin, where)
        for limit in part.iter("limit"):
            limit.attrib.setdefault("velocity", "inf")
            limit.attrib.setdefault("effort", "inf")


def _translate_quaternion(origin: Element, where: str) -> None:
    quaternion = origin.attrib.pop("quat_xyzw", None)
    if quaternion is None:
        return
    if "rpy" in origin.attrib:
        raise ModelError(f"{where}: <origin> has both rpy and quat_xyzw, expected one of them")
    x, y, z, w = map(float, quaternion.split())
    if x == y == z == w == 0.0:
        raise ModelError(f"{where}: <origin> has quat_xyzw={quaternion!r}, expected a rotation")
    origin.set("rpy", " ".join(map(repr, rpy_from_quaternion(x, y, z, w))))


def _read(document: Element, source: str) -> Any:
    # imported here, because it loads more than the rest of this package
    from urdf_parser_py.urdf import URDF  # type: ignore[import-untyped]

    try:
        return URDF.from_xml_string(tostring(document, encoding="unicode"))
    except Exception as error:  # the reader raises exceptions of many types, also Exception
        cause = " ".join(str(error).split())
        raise ModelError(f"{source}: urdf_parser_py cannot read it: {cause}") from error


def _robot(document: Any, source: str) -> Robot:
    return Robot(
        document.name,
        tuple(_link(link) for link in document.links),
        tuple(_joint(joint, source) for joint in document.joints),
        source,
    )


def _link(link: Any) -> Link:
    shapes = (_shape(shape) for shape in [*link.collisions, *link.visuals])
    inertia = None if link.inertial is None else _inertia(link.inertial)
    return Link(link.name, inertia, tuple(dict.fromkeys(shapes)))


def _inertia(inertial: Any) -> Inertia:
    rotation, center = _pose(inertial.origin)
    if inertial.inertia is None:
        return Inertia(inertial.mass, center, (ZERO, ZERO, ZERO))
    xx, xy, xz, yy, yz, zz = (getattr(inertial.inertia, key) for key in inertial.inertia.KEYS)
    tensor = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    return Inertia(inertial.mass, center, change_basis(rotation, tensor))


def _shape(shape: Any) -> Shape:
    rotation, translation = _pose(shape.origin)
    geometry = shape.geometry
    kind = type(geometry).__name__.lower()
    if kind == "box":
        x, y, z = geometry.size
        extent = (x / 2, y / 2, z / 2)
    elif kind == "cylinder":
        extent = (geometry.radius, geometry.radius, geometry.length / 2)
    else:
        extent = (geometry.radius, geometry.radius, geometry.radius)
    return Shape(kind, extent, rotation, translation)


def _joint(joint: Any, source: str) -> Joint:
    rotation, translation = _pose(joint.origin)
    direction = (1.0, 0.0, 0.0) if joint.axis is None else tuple(joint.axis)
    if not any(direction):
        raise ModelError(
            f"{source}: joint {joint.name!r}: <axis> has xyz='0 0 0', expected a direction"
        )
    dynamics, mimic = joint.dynamics, joint.mimic
    return Joint(
        joint.name,
        joint.type,
        joint.parent,
        joint.child,
        rotation,
        translation,
        unit(direction),
        None if joint.limit is None else _limits(joint),
        (dynamics and dynamics.damping) or 0.0,
        (dynamics and dynamics.friction) or 0.0,
        mimic and Mimic(mimic.joint, _default(mimic.multiplier, 1.0), _default(mimic.offset, 0.0)),
    )


def _limits(joint: Any) -> Limits:
    limit = joint.limit
    lower, upper = float(limit.lower), float(limit.upper)
    if joint.type not in ("revolute", "prismatic"):
        lower, upper = -inf, inf
    return Limits(lower, upper, limit.velocity, limit.effort)


def _default(value: float | None, default: float) -> float:
    return default if value is None else value


def _pose(origin: Any) -> tuple[Matrix, Vector]:
    if origin is None:
        return IDENTITY, ZERO
    (roll, pitch, yaw), (x, y, z) = origin.rpy, origin.xyz
    return from_rpy((roll, pitch, yaw)), (float(x), float(y), float(z))
