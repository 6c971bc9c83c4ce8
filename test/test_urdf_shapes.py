"""What robots look like and strike with: shapes, meshes and colours that are read from URDF."""

from importlib.metadata import distribution
from math import pi
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import kane_dynamics as kd
from kane_dynamics.robot import Link, Material, Mesh, Robot, Shape, read_urdf

ROBOTS = Path(
    str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data"))
)
TWO_LINK_ARM = Path(__file__).parent.parent / "urdf" / "two_link_arm.urdf"
# with meshes, primitives, scales, textures, materials that are named in links or defined twice
CHOSEN = ["allegro_left_hand", "hyq_no_sensors", "kinova", "pr2", "solo12", "talos_full_v2"]


def path_of(name: str) -> Path:
    return next(ROBOTS.rglob(f"{name}.urdf"))


def link(inside: str, robot: str = "", version: str = "1.0") -> Link:
    text = f'<robot name="r" version="{version}">{robot}<link name="l">{inside}</link></robot>'
    return read_urdf(text).link("l")


def visual(inside: str, robot: str = "") -> Shape:
    """Return the one shape of a visual that is a ball, with whatever else is in it."""
    ball = '<geometry><sphere radius="1"/></geometry>'
    (shape,) = link(f"<visual>{ball}{inside}</visual>", robot).visuals
    return shape


@pytest.mark.parametrize("kind", ["visuals", "collisions"])
@pytest.mark.parametrize("name", CHOSEN)
def test_shapes_of_real_robots_are_those_that_pinocchio_reads(name: str, kind: str) -> None:
    path = path_of(name)
    robot, model = read_urdf(path), pin.buildModelFromUrdf(str(path))
    wanted = pin.VISUAL if kind == "visuals" else pin.COLLISION
    folders = [str(ROBOTS.parent), str(ROBOTS / "robots")]
    theirs: dict[str, list[pin.GeometryObject]] = {part.name: [] for part in robot.links}
    shapes = pin.buildGeomFromUrdf(model, str(path), wanted, package_dirs=folders)
    for shape in shapes.geometryObjects:
        theirs[model.frames[shape.parentFrame].name].append(shape)
    for part in robot.links:
        for our, their in zip(getattr(part, kind), theirs[part.name], strict=True):
            place = model.frames[their.parentFrame].placement.inverse() * their.placement
            np.testing.assert_allclose(our.rotation, place.rotation, atol=1e-9)
            np.testing.assert_allclose(our.translation, place.translation, atol=1e-9)
            _assert_same_geometry(our, their)
            if our.material is not None and our.material.rgba is not None:
                np.testing.assert_allclose(our.material.rgba, their.meshColor, atol=1e-6)


def _assert_same_geometry(our: Shape, their: "pin.GeometryObject") -> None:
    solid = their.geometry
    if our.mesh is not None:
        assert their.meshPath.endswith(our.mesh.filename.removeprefix("package:/"))
        np.testing.assert_allclose(our.mesh.scale, their.meshScale)
    elif our.kind == "box":
        np.testing.assert_allclose(our.extent, solid.halfSide)
    elif our.kind == "cylinder":
        assert our.extent == pytest.approx((solid.radius, solid.radius, solid.halfLength))
    else:
        assert our.extent == pytest.approx((solid.radius,) * 3)


def test_the_hand_of_the_panda_is_a_mesh_to_see_and_another_to_strike_with() -> None:
    hand = read_urdf(path_of("panda")).link("panda_hand")
    (seen,), (struck,) = hand.visuals, hand.collisions
    folder = "package://example-robot-data/robots/panda_description/meshes"
    assert seen == Shape("mesh", mesh=Mesh(f"{folder}/visual/hand.dae"))
    assert struck == Shape("mesh", mesh=Mesh(f"{folder}/collision/hand.stl"))
    assert hand.shapes == ()


@pytest.mark.parametrize("name", CHOSEN)
def test_a_robot_with_its_looks_is_a_value(name: str) -> None:
    robot = read_urdf(path_of(name))
    assert hash(robot) == hash(read_urdf(path_of(name)))


def test_collisions_and_visuals_are_kept_apart_in_the_order_of_the_file() -> None:
    part = link(
        '<visual><geometry><sphere radius="1"/></geometry></visual>'
        '<collision><geometry><box size="1 2 3"/></geometry></collision>'
        '<visual><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
        '<geometry><cylinder radius="2" length="6"/></geometry></visual>'
    )
    quarter_turn = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    cylinder = Shape("cylinder", (2.0, 2.0, 3.0), quarter_turn, (1.0, 2.0, 3.0))
    assert part.visuals == (Shape("sphere", (1.0, 1.0, 1.0)), cylinder)
    assert part.collisions == (Shape("box", (0.5, 1.0, 1.5)),)


def test_a_mesh_need_not_be_there_and_is_named_as_in_the_file() -> None:
    (shape,) = link(
        '<visual><geometry><mesh filename="package://none/a b.stl" scale="1 -1 0.001"/></geometry>'
        "</visual>"
    ).visuals
    assert shape.mesh == Mesh("package://none/a b.stl", (1.0, -1.0, 0.001))


def test_a_material_is_the_one_that_the_robot_defines_wherever_that_stands() -> None:
    red = '<material name="red"><color rgba="1 0 0 0.5"/><texture filename="red.png"/></material>'
    expected = Material("red", (1.0, 0.0, 0.0, 0.5), "red.png")
    assert visual('<material name="red"/>', robot=red).material == expected
    dark = '<material name="red"><color rgba="0.3 0 0 1"/></material>'
    assert visual(dark, robot=red).material == expected
    assert visual(dark).material == Material("red", (0.3, 0.0, 0.0, 1.0))
    twice = "".join(
        f'<visual><geometry><sphere radius="1"/></geometry>{material}</visual>'
        for material in ('<material name="red"/>', dark, red)
    )
    assert {shape.material for shape in link(twice).visuals} == {visual(dark).material}


def test_materials_without_a_name_are_each_their_own() -> None:
    materials = '<material name=""><color rgba="0 1 0 1"/></material>', "<material/>"
    green, nothing = map(visual, materials)
    assert green.material == Material("", (0.0, 1.0, 0.0, 1.0))
    assert nothing.material == Material()
    assert visual("").material is None


@pytest.mark.parametrize(
    "material",
    [
        '<material name="m"><color rgba="1 0 0"/></material>',
        '<material name="m"><color rgba="red"/></material>',
        '<material name="m"><color/><texture filename=""/></material>',
        '<material name="m"><shader/></material>',
    ],
)
def test_colours_that_are_none_are_passed_over(
    material: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert visual(material).material == Material("m")
    assert visual('<material name="m"/>', robot=material).material == Material("m")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "inside",
    [
        '<geometry><mesh scale="1 1 1"/></geometry>',
        '<geometry><mesh filename="a.stl" scale="1"/></geometry>',
        '<geometry><capsule radius="1" length="1"/></geometry>',
        '<origin xyz="a"/><geometry><mesh filename="a.stl"/></geometry>',
        '<origin quat_xyzw="0 0 0 0"/><geometry><mesh filename="a.stl"/></geometry>',
        '<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/><geometry><mesh filename="a.stl"/></geometry>',
    ],
)
def test_shapes_that_are_wrong_or_unknown_are_passed_over(inside: str) -> None:
    part = link(f"<visual>{inside}</visual><collision>{inside}</collision>", version="1.1")
    assert (part.visuals, part.collisions) == ((), ())


def test_a_shape_may_be_turned_by_a_quaternion() -> None:
    inside = '<origin {}="{}"/><geometry><mesh filename="a.stl"/></geometry>'
    by_angles = link(f"<visual>{inside.format('rpy', f'0 0 {pi / 2}')}</visual>")
    by_quaternion = link(f"<visual>{inside.format('quat_xyzw', '0 0 1 1')}</visual>", version="1.1")
    assert by_quaternion == by_angles


def test_looks_are_no_part_of_the_equations(tmp_path: Path) -> None:
    def arm(mesh: str) -> Robot:
        text = TWO_LINK_ARM.read_text(encoding="utf-8")
        return read_urdf(text.replace("</link>", mesh + "</link>", 1))

    looks = '<visual><geometry><mesh filename="a.stl"/></geometry></visual>'
    assert arm(looks) != arm("")
    entries = []
    for mesh in ("", looks):
        kd.load(arm(mesh), cache=tmp_path).gravity([0.1, 0.2])
        entries.append(sorted(path.name for path in tmp_path.iterdir()))
    assert entries[0] == entries[1] != []
