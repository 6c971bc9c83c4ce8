"""What makes links and joints a robot: one tree of uniquely named parts, described by numbers.

Whether the numbers are physical is another question; here they only have to be numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import float_info
from typing import TYPE_CHECKING

from kane_dynamics.errors import ModelError

if TYPE_CHECKING:
    from kane_dynamics.robot.model import Joint, Link, Robot, Shape

URDF_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
"""Kinds of joints that a URDF can have."""

JOINT_KINDS = (*URDF_KINDS, "ball", "screw")
"""Kinds of joints a robot can have."""

SHAPE_KINDS = ("box", "cylinder", "sphere", "mesh")
"""Kinds of shapes a link can have."""

AXIS_KINDS = frozenset({"revolute", "continuous", "prismatic", "planar", "screw"})
"""Kinds of joints that move about, along or normal to an axis."""

MIMIC_KINDS = frozenset({"revolute", "continuous", "prismatic", "screw"})
"""Kinds of joints with one degree of freedom, which can follow another joint."""

_UPRIGHT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_UNIT_TOLERANCE = 1e-6
_SYMMETRY_TOLERANCE = 1e-9  # of the largest component


def root_link(robot: Robot) -> str:
    """Return the name of the first link that is no joint's child."""
    children = {joint.child for joint in robot.joints}
    return next(link.name for link in robot.links if link.name not in children)


def check_structure(robot: Robot) -> None:
    """Raise ModelError, naming the source and the part at fault, unless `robot` is a robot."""
    for what, parts in (("links", robot.links), ("joints", robot.joints)):
        if not isinstance(parts, tuple):
            raise ModelError(
                f"{robot.source}: {what} is a {type(parts).__name__}, expected a tuple"
            )
    _check_types(robot)
    if not robot.links:
        raise ModelError(f"{robot.source}: the robot has no link, expected at least one")
    _check_unique(robot, "link", (link.name for link in robot.links))
    _check_unique(robot, "joint", (joint.name for joint in robot.joints))
    for link in robot.links:
        _check_link(robot, link)
    for joint in robot.joints:
        _check_joint(robot, joint)
    _check_tree(robot)
    _check_mimics(robot)


def _check_types(robot: Robot) -> None:
    from kane_dynamics.robot import model  # which imports this file

    for i, link in enumerate(robot.links):
        where = f"{robot.source}: links[{i}]"
        _check_type(where, link, model.Link)
        _check_type(f"{where}.inertia", link.inertia, model.Inertia, type(None))
        for shapes in ("collisions", "visuals"):
            _check_type(f"{where}.{shapes}", getattr(link, shapes), tuple)
            for shape in getattr(link, shapes):
                _check_type(f"{where}.{shapes}", shape, model.Shape)
                kinds = (model.Mesh,) if shape.kind == "mesh" else (type(None),)
                _check_type(f"{where}.{shapes}.mesh", shape.mesh, *kinds)
                _check_type(
                    f"{where}.{shapes}.material", shape.material, model.Material, type(None)
                )
    for i, joint in enumerate(robot.joints):
        where = f"{robot.source}: joints[{i}]"
        _check_type(where, joint, model.Joint)
        _check_type(f"{where}.limits", joint.limits, model.Limits, type(None))
        _check_type(f"{where}.mimic", joint.mimic, model.Mimic, type(None))
        for end in ("kind", "parent", "child"):
            _check_type(f"{where}.{end}", getattr(joint, end), str)
        if joint.mimic is not None:
            _check_type(f"{where}.mimic.joint", joint.mimic.joint, str)


def _check_type(where: str, value: object, *expected: type) -> None:
    if not isinstance(value, expected):
        names = " or ".join("None" if kind is type(None) else kind.__name__ for kind in expected)
        raise ModelError(f"{where} is of type {type(value).__name__}, expected {names}")


def _check_unique(robot: Robot, what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise ModelError(f"{robot.source}: a {what} has no name, expected a unique one")
        if name in seen:
            raise ModelError(f"{robot.source}: {what} {name!r} is there twice, expected once")
        seen.add(name)


def _check_link(robot: Robot, link: Link) -> None:
    where = f"{robot.source}: link {link.name!r}"
    if link.inertia is not None:
        _check_number(where, "mass", link.inertia.mass)
        if link.inertia.mass < 0:
            raise ModelError(f"{where} has mass {link.inertia.mass}, expected none below zero")
        _check_vector(where, "centre of mass", link.inertia.center)
        _check_matrix(where, "inertia tensor", link.inertia.tensor)
        _check_symmetry(where, "inertia tensor", link.inertia.tensor)
    for shape in (*link.collisions, *link.visuals):
        _check_shape(where, shape)


def _check_shape(where: str, shape: Shape) -> None:
    if shape.kind not in SHAPE_KINDS:
        raise ModelError(f"{where} has a {shape.kind!r}, expected {_either(SHAPE_KINDS)}")
    _check_vector(where, f"extent of its {shape.kind}", shape.extent)
    _check_vector(where, f"translation of its {shape.kind}", shape.translation)
    _check_rotation(where, f"rotation of its {shape.kind}", shape.rotation)
    if shape.mesh is not None:
        _check_vector(where, "scale of its mesh", shape.mesh.scale)
    if shape.material is not None and shape.material.rgba is not None:
        _check_tuple(where, f"colour of its {shape.kind}", shape.material.rgba, 4)


def _check_joint(robot: Robot, joint: Joint) -> None:
    where = f"{robot.source}: joint {joint.name!r}"
    if joint.kind not in JOINT_KINDS:
        raise ModelError(f"{where} is of kind {joint.kind!r}, expected {_either(JOINT_KINDS)}")
    _check_vector(where, "translation", joint.translation)
    _check_rotation(where, "rotation", joint.rotation)
    _check_vector(where, "axis", joint.axis)
    if joint.kind in AXIS_KINDS and abs(_square(joint.axis) - 1.0) > 2 * _UNIT_TOLERANCE:
        raise ModelError(f"{where} has the axis {joint.axis}, expected a vector of length one")
    _check_number(where, "pitch", joint.pitch)
    if joint.kind == "screw" and joint.pitch == 0.0:
        raise ModelError(f"{where} is a screw without pitch, expected m/rad other than zero")
    if joint.kind != "screw" and joint.pitch != 0.0:
        raise ModelError(f"{where} is {joint.kind} and has a pitch, expected one of screws only")
    _check_number(where, "damping", joint.damping)
    _check_number(where, "friction", joint.friction)
    if joint.limits is not None:
        for bound in ("lower", "upper", "velocity", "effort"):
            value = getattr(joint.limits, bound)
            if not isinstance(value, (int, float)) or value != value:
                raise ModelError(f"{where} has the {bound} limit {value!r}, expected a number")


def _check_tree(robot: Robot) -> None:
    parents: dict[str, str] = {}
    known = {link.name for link in robot.links}
    for joint in robot.joints:
        where = f"{robot.source}: joint {joint.name!r}"
        for side, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in known:
                raise ModelError(f"{where} has the {side} {name!r}, expected the name of a link")
        if joint.child in parents:
            both = f"{parents[joint.child]!r} and {joint.parent!r}"
            raise ModelError(
                f"{where} gives link {joint.child!r} a second parent: {both}, expected one"
            )
        parents[joint.child] = joint.parent
    roots = [link.name for link in robot.links if link.name not in parents]
    if len(roots) > 1:
        names = ", ".join(repr(name) for name in roots[:5]) + (", ..." if len(roots) > 5 else "")
        raise ModelError(
            f"{robot.source}: the links {names} are no joint's child, expected one root link"
        )
    cycle = _cycle(parents)
    if cycle:
        raise ModelError(f"{robot.source}: the links {_path(cycle)} form a cycle, expected a tree")


def _check_mimics(robot: Robot) -> None:
    joints = {joint.name: joint for joint in robot.joints}
    masters: dict[str, str] = {}
    for joint in robot.joints:
        if joint.mimic is None:
            continue
        where = f"{robot.source}: joint {joint.name!r}"
        master = joints.get(joint.mimic.joint)
        if master is None:
            raise ModelError(f"{where} mimics {joint.mimic.joint!r}, expected the name of a joint")
        if joint.kind not in MIMIC_KINDS:
            raise ModelError(f"{where} is {joint.kind}, expected no mimic on such a joint")
        if master.kind not in MIMIC_KINDS and master.kind != "fixed":
            raise ModelError(
                f"{where} mimics the {master.kind} joint {master.name!r},"
                " expected one of a single degree of freedom"
            )
        _check_number(where, "mimic multiplier", joint.mimic.multiplier)
        _check_number(where, "mimic offset", joint.mimic.offset)
        masters[joint.name] = master.name
    cycle = _cycle(masters)
    if cycle:
        raise ModelError(
            f"{robot.source}: the joints {_path(cycle)} mimic each other, expected a master"
        )


def _cycle(successor: dict[str, str]) -> list[str]:
    """Return names that follow each other in a circle, the first one again at the end, or none."""
    settled: set[str] = set()
    for start in successor:
        walk: dict[str, None] = {}
        name = start
        while name in successor and name not in settled:
            if name in walk:
                circle = list(walk)[list(walk).index(name) :]
                return [*circle, name]
            walk[name] = None
            name = successor[name]
        settled.update(walk)
    return []


def _path(names: list[str]) -> str:
    shown = names if len(names) <= 8 else [*names[:4], *names[-3:]]
    text = [repr(name) for name in shown]
    if len(names) > 8:
        text.insert(4, "...")
    return " - ".join(text)


def _either(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"


def _square(vector: tuple[float, ...]) -> float:
    return sum(float(component) * float(component) for component in vector)


def _check_number(where: str, what: str, value: object) -> None:
    if not isinstance(value, (int, float)):
        raise ModelError(f"{where} has the {what} {value!r}, expected a finite number")
    if not abs(value) <= float_info.max:  # nor for nan
        shown = value if isinstance(value, float) else "of too many digits"
        raise ModelError(f"{where} has the {what} {shown}, expected a finite number")


def _check_vector(where: str, what: str, value: object) -> None:
    _check_tuple(where, what, value, 3)


def _check_tuple(where: str, what: str, value: object, length: int) -> None:
    if not isinstance(value, tuple) or len(value) != length:
        words = {3: "three", 4: "four"}
        raise ModelError(
            f"{where} has the {what} {value!r}, expected a tuple of {words[length]} numbers"
        )
    for component in value:
        _check_number(where, f"{what} component", component)


def _check_matrix(where: str, what: str, value: object) -> None:
    if not isinstance(value, tuple) or len(value) != 3:
        raise ModelError(f"{where} has the {what} {value!r}, expected a tuple of three rows")
    for row in value:
        _check_vector(where, f"{what} row", row)


def _check_symmetry(where: str, what: str, value: tuple[tuple[float, ...], ...]) -> None:
    largest = max(abs(component) for row in value for component in row)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        if not abs(value[i][j] - value[j][i]) <= _SYMMETRY_TOLERANCE * largest:
            raise ModelError(f"{where} has the {what} {value}, expected a symmetric matrix")


def _check_rotation(where: str, what: str, value: tuple[tuple[float, ...], ...]) -> None:
    _check_matrix(where, what, value)
    if value == _UPRIGHT:  # as most shapes are
        return
    (a, b, c), (d, e, f), (g, h, i) = (map(float, row) for row in value)
    rows_are_unit = all(abs(_square(row) - 1.0) < 2 * _UNIT_TOLERANCE for row in value)
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if not rows_are_unit or abs(determinant - 1.0) > 3 * _UNIT_TOLERANCE:
        raise ModelError(f"{where} has the {what} {value}, expected a rotation matrix")
