"""A robot as immutable values: links with inertia and shape, joined by joints into a tree.

Numbers are tuples of floats, so that a robot is hashable and can be compared, in SI units. Every
:class:`Robot` is checked when it is built, whether it was read from a file or written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from kane_dynamics.names import unknown_name
from kane_dynamics.robot.structure import check_structure, root_link

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]
Colour = tuple[float, float, float, float]

ZERO: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Inertia:
    """How mass is distributed over one link.

    Parameters
    ----------
    mass : float
        Mass in kg, not negative.
    center : Vector
        Centre of mass in the link frame, in m.
    tensor : Matrix
        Inertia about the centre of mass, in kg m², along the axes of the link frame.
    """

    mass: float
    center: Vector
    tensor: Matrix


@dataclass(frozen=True, slots=True)
class Mesh:
    """A file of surfaces, named as in the URDF and not read, and what its lengths are times."""

    filename: str
    scale: Vector = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Material:
    """What a surface looks like: red, green, blue, opacity from 0 to 1, and the file of a picture.

    Both are None where the file names a material that it does not define.
    """

    name: str = ""
    rgba: Colour | None = None
    texture: str | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A solid that is fixed to a link.

    Parameters
    ----------
    kind : str
        "box", "cylinder", "sphere" or "mesh".
    extent : Vector
        Half the edges of the bounding box, along the axes of the shape, in m: of a cylinder, whose
        axis is z, (radius, radius, length / 2); zero for a mesh.
    rotation : Matrix
        Axes of the shape, as columns in the link frame.
    translation : Vector
        Middle of the shape, or origin of the mesh, in the link frame, in m.
    mesh : Mesh, optional
        For the kind "mesh".
    material : Material, optional
        Of a shape that is to be seen.
    """

    kind: str
    extent: Vector = ZERO
    rotation: Matrix = IDENTITY
    translation: Vector = ZERO
    mesh: Mesh | None = None
    material: Material | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """One rigid part.

    Parameters
    ----------
    name : str
        Unique among links.
    inertia : Inertia, optional
        None for a link that is only a frame.
    collisions, visuals : tuple of Shape
        What the link strikes others with, and what it looks like; dynamics needs neither.
    """

    name: str
    inertia: Inertia | None = None
    collisions: tuple[Shape, ...] = ()
    visuals: tuple[Shape, ...] = ()

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The boxes, cylinders and spheres, which tell the size of the link."""
        return tuple(s for s in (*self.collisions, *self.visuals) if s.kind != "mesh")


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a joint in rad or m, rad/s or m/s, N m or N; infinite where there are none."""

    lower: float = -inf
    upper: float = inf
    velocity: float = inf
    effort: float = inf


@dataclass(frozen=True, slots=True)
class Mimic:
    """Position of a joint as multiplier times the position of the joint named, plus offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Joint:
    """How one link moves relative to another.

    Parameters
    ----------
    name : str
        Unique among joints.
    kind : str
        "revolute", "continuous", "prismatic", "fixed", "floating" or "planar"; and, which URDF
        does not have, "ball" (four coordinates, a unit quaternion x y z w; three speeds, the
        angular velocity in the frame of the child) or "screw" (the angle about its axis, along
        which it moves).
    parent, child : str
        Names of the links joined.
    rotation : Matrix
        Axes of the joint frame, as columns in the parent link's frame. The child link's frame
        is the joint frame when the joint is at zero.
    translation : Vector
        Origin of the joint frame in the parent link's frame, in m.
    axis : Vector
        Unit vector in the joint frame: of rotation, of sliding, or normal to the plane.
    limits : Limits, optional
        Bounds of motion.
    damping : float
        Viscous friction in N m s/rad or N s/m.
    friction : float
        Dry friction in N m or N.
    mimic : Mimic, optional
        The joint that this one follows.
    pitch : float
        How far a screw moves along its axis, in m/rad; zero for all others.
    """

    name: str
    kind: str
    parent: str
    child: str
    rotation: Matrix = IDENTITY
    translation: Vector = ZERO
    axis: Vector = (1.0, 0.0, 0.0)
    limits: Limits | None = None
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None
    pitch: float = 0.0


@dataclass(frozen=True, slots=True)
class Robot:
    """Links joined into a tree.

    Parameters
    ----------
    name : str
        Name of the robot.
    links : tuple of Link
        In the order of the file.
    joints : tuple of Joint
        In the order of the file, which is the order of joints everywhere in this package.
    source : str
        File the robot was read from, for messages; two robots from two files can be equal.

    Raises
    ------
    ModelError
        If the links and joints are no tree, or a number is not a finite one.

    Examples
    --------
    >>> rod = Inertia(1.0, (0.0, 0.0, -0.5), ((0.08, 0.0, 0.0), (0.0, 0.08, 0.0), (0.0, 0.0, 0.0)))
    >>> pendulum = Robot(
    ...     "pendulum",
    ...     links=(Link("world"), Link("rod", rod)),
    ...     joints=(Joint("hinge", "continuous", "world", "rod", axis=(0.0, 1.0, 0.0)),),
    ... )
    >>> pendulum.root
    'world'
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...] = ()
    source: str = field(default="<robot>", compare=False)

    def __post_init__(self) -> None:
        check_structure(self)

    @property
    def root(self) -> str:
        """Name of the one link that is no joint's child."""
        return root_link(self)

    def link(self, name: str) -> Link:
        """Return the link of this name; ArgumentError if there is none."""
        for link in self.links:
            if link.name == name:
                return link
        raise unknown_name("link", name, [link.name for link in self.links])

    def joint(self, name: str) -> Joint:
        """Return the joint of this name; ArgumentError if there is none."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise unknown_name("joint", name, [joint.name for joint in self.joints])
