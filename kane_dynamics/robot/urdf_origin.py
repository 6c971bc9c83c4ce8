"""Where an element of a URDF is placed: its <origin> to a rotation and a translation."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from kane_dynamics.robot.model import IDENTITY, ZERO, Matrix, Vector
from kane_dynamics.robot.rotation import from_quaternion, from_rpy


def origin_fault(origin: Element) -> str | None:
    """Say why an <origin>, whose numbers are numbers, is no rotation; None if it is one."""
    quaternion = origin.get("quat_xyzw")
    if quaternion is not None and "rpy" in origin.attrib:
        return "<origin> has both rpy and quat_xyzw, expected one of them"
    if quaternion is not None and not any(numbers(quaternion)):
        return f"<origin> has quat_xyzw={quaternion!r}, expected a rotation"
    return None


def take_pose(element: Element | None) -> tuple[Matrix, Vector]:
    """Take the <origin> out of an element; it is the identity where there is none."""
    origins = [] if element is None else take(element, "origin")
    if not origins:
        return IDENTITY, ZERO
    (origin,) = origins
    x, y, z = numbers(origin.get("xyz", "0 0 0"))
    if "quat_xyzw" in origin.attrib:
        return from_quaternion(*numbers(origin.attrib["quat_xyzw"])), (x, y, z)
    roll, pitch, yaw = numbers(origin.get("rpy", "0 0 0"))
    return from_rpy((roll, pitch, yaw)), (x, y, z)


def take(element: Element, tag: str) -> list[Element]:
    """Take the children of this name out of an element."""
    children = element.findall(tag)
    for child in children:
        element.remove(child)
    return children


def numbers(text: str) -> list[float]:
    """Return the numbers that an attribute holds."""
    return [float(word) for word in text.split()]
