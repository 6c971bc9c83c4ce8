"""Elements <collision>, <visual> and <material> of a URDF to shapes and what they look like."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from kane_dynamics.robot.grammar import MATERIAL, VISUAL
from kane_dynamics.robot.model import ZERO, Material, Mesh, Shape
from kane_dynamics.robot.urdf_origin import numbers, origin_fault, take, take_pose
from kane_dynamics.robot.xml import fault


def materials_by_name(document: Element) -> dict[str, Material]:
    """Return what each name stands for in all links: for the robot's material or the first of it.

    So do other readers, also where a <visual> says otherwise. Colours and textures that are wrong
    are taken out.
    """
    elements = [*document.iterfind("material"), *document.iterfind("link/visual/material")]
    for element in elements:
        for child in list(element):
            if fault(child, MATERIAL.children[child.tag]):
                element.remove(child)
    materials = [_material(element) for element in reversed(elements)]
    return {m.name: m for m in materials if m.name and (m.rgba or m.texture)}


def take_shapes(link: Element, tag: str, materials: Mapping[str, Material]) -> tuple[Shape, ...]:
    """Take every <collision> or <visual> out of a link; those that are wrong are passed over."""
    return tuple(_shape(shape, materials) for shape in take(link, tag) if _is_right(shape))


def _is_right(shape: Element) -> bool:
    if fault(shape, VISUAL) or any(map(origin_fault, shape.iterfind("origin"))):
        return False
    return shape.find("geometry/*") is not None


def _shape(shape: Element, materials: Mapping[str, Material]) -> Shape:
    rotation, translation = take_pose(shape)
    geometry = next(shape.iterfind("geometry/*"))
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
    color, texture = element.find("color"), element.find("texture")
    rgba = None
    if color is not None:
        red, green, blue, opacity = numbers(color.attrib["rgba"])
        rgba = (red, green, blue, opacity)
    filename = None if texture is None else texture.attrib["filename"]
    return Material(element.get("name", ""), rgba, filename)
