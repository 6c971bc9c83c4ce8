"""Elements <collision>, <visual> and <material> of a URDF to shapes and what they look like."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from kane_dynamics.robot.grammar import MATERIAL, VISUAL
from kane_dynamics.robot.model import ZERO, Material, Mesh, Shape
from kane_dynamics.robot.urdf_origin import numbers, origin_fault, take_pose
from kane_dynamics.robot.xml import fault


def drop_wrong_shapes(document: Element) -> None:
    """Remove shapes and materials that cannot be used: no robot is refused for its looks."""
    for material in document.iter("material"):
        for child in list(material):
            if fault(child, MATERIAL.children[child.tag]):
                material.remove(child)
    for link in document.iterfind("link"):
        for shape in [*link.iterfind("collision"), *link.iterfind("visual")]:
            geometry = shape.find("geometry")
            wrong = fault(shape, VISUAL) or any(map(origin_fault, shape.iterfind("origin")))
            if geometry is None or len(geometry) == 0 or wrong:
                link.remove(shape)
            else:
                geometry[1:] = []


def materials_by_name(document: Element) -> dict[str, Material]:
    """Return what each name stands for in all links: for the robot's material or the first of it.

    So do other readers, also where a <visual> says otherwise.
    """
    elements = [*document.iterfind("material"), *document.iterfind("link/visual/material")]
    materials = [_material(element) for element in reversed(elements)]
    return {m.name: m for m in materials if m.name and (m.rgba or m.texture)}


def read_shape(shape: Element, materials: Mapping[str, Material]) -> Shape:
    """Return the shape that a <collision> or <visual> describes."""
    rotation, translation = take_pose(shape)
    (geometry,) = shape.iterfind("geometry/*")
    extent, mesh = ZERO, None
    if geometry.tag == "mesh":
        x, y, z = numbers(geometry.get("scale", "1 1 1"))
        mesh = Mesh(geometry.attrib["filename"], (x, y, z))
    elif geometry.tag == "box":
        x, y, z = numbers(geometry.attrib["size"])
        extent = (x / 2, y / 2, z / 2)
    else:
        radius = float(geometry.attrib["radius"])
        length = geometry.get("length")
        extent = (radius, radius, radius if length is None else float(length) / 2)
    material = None
    for element in shape.iterfind("material"):
        material = materials.get(element.get("name", "")) or _material(element)
    return Shape(geometry.tag, extent, rotation, translation, mesh, material)


def _material(element: Element) -> Material:
    rgba, texture = None, element.find("texture")
    for color in element.iterfind("color"):
        red, green, blue, opacity = numbers(color.attrib["rgba"])
        rgba = (red, green, blue, opacity)
    return Material(
        element.get("name", ""), rgba, None if texture is None else texture.attrib["filename"]
    )
