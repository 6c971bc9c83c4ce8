"""The bodies that move: links merged where they are rigid, and the joints that carry them."""

from __future__ import annotations

from dataclasses import dataclass, field

from kane_dynamics.names import unknown_name
from kane_dynamics.robot.model import IDENTITY, ZERO, Matrix, Vector

SIZES = {"floating": (7, 6), "ball": (4, 3)}
"""Coordinates and speeds of joints that have not one of each."""

GROUND = -1
"""Index that stands for the ground where bodies are counted."""


@dataclass(frozen=True, slots=True)
class Body:
    """Links that move as one, and the joint that carries them.

    The body frame is the frame of the link `name`, and coincides with the joint frame when the
    joint's position is zero.

    Parameters
    ----------
    name : str
        First link outboard of the joint.
    joint : str
        Name of the joint; "base" for a floating base.
    kind : str
        "revolute", "prismatic", "floating", "ball" or "screw".
    parent : int
        Index of the inboard body; -1 for the ground, whose frame is that of the root link.
    rotation, translation : Matrix, Vector
        Joint frame in the frame of the parent body; m.
    axis : Vector
        Unit vector in the joint frame; (0, 0, 1) and of no meaning for a floating joint.
    coordinate, speed : int
        Index of the first entry of this joint among coordinates q and speeds u.
    multiplier, offset : float
        Position of the joint is multiplier q[coordinate] + offset; 1 and 0 but for mimics.
    mass : float
        ∫dm, kg.
    first_moment : Vector
        ∫r dm about the origin of the body frame, along its axes, kg m.
    second_moment : Matrix
        ∫r rᵀ dm likewise, kg m².
    translation_size, first_size, second_size : Vector, Vector, Matrix
        How large the terms are that add up to each component of translation and moments, so that
        what rounding has left of a sum that is zero can be told from a small number.
    damping, friction : float
        Viscous and dry friction of the joint; zero for planar, floating and ball joints, for which
        there is no unit.
    pitch : float
        How far a screw moves along its axis, m/rad.
    """

    name: str
    joint: str
    kind: str
    parent: int
    rotation: Matrix
    translation: Vector
    axis: Vector
    coordinate: int
    speed: int
    multiplier: float = 1.0
    offset: float = 0.0
    mass: float = 0.0
    first_moment: Vector = ZERO
    second_moment: Matrix = (ZERO, ZERO, ZERO)
    translation_size: Vector = ZERO
    first_size: Vector = ZERO
    second_size: Matrix = (ZERO, ZERO, ZERO)
    damping: float = 0.0
    friction: float = 0.0
    pitch: float = 0.0

    @property
    def speeds(self) -> range:
        """Indices of the speeds of the joint."""
        return range(self.speed, self.speed + SIZES.get(self.kind, (1, 1))[1])

    @property
    def quaternion(self) -> int | None:
        """Index of the first of four coordinates that are a unit quaternion; None without one."""
        count, _ = SIZES.get(self.kind, (1, 1))
        return None if count == 1 else self.coordinate + count - 4


STANDING = Body("ground", "", "fixed", GROUND, IDENTITY, ZERO, (0.0, 0.0, 1.0), 0, 0)
"""The ground before anything is fixed to it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Frame of a link in the frame of its body, or of the ground when `body` is -1.

    `size` is how large the terms are that add up to each component of the translation.
    """

    body: int
    rotation: Matrix = IDENTITY
    translation: Vector = ZERO
    size: Vector = field(default=ZERO, compare=False)


@dataclass(frozen=True, slots=True)
class Tree:
    """Bodies, parents before children, and the names of what describes their motion.

    Parameters
    ----------
    bodies : tuple of Body
        Those of a planar joint are three, the first two without mass.
    frames : tuple of (str, Frame)
        Frame of every link.
    joint_names : tuple of str
        Joints that move by themselves, in the order of the file.
    coordinate_names, speed_names : tuple of str
        Entries of q and u.
    late, payload : tuple of str
        Links whose inertia is given at run time, and links that carry a body whose inertia is;
        this inertia is no part of the bodies.
    ground : Body
        Mass of all that does not move; equations are the same whatever it is.
    """

    bodies: tuple[Body, ...]
    frames: tuple[tuple[str, Frame], ...]
    joint_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]
    speed_names: tuple[str, ...]
    late: tuple[str, ...] = ()
    payload: tuple[str, ...] = ()
    ground: Body = field(default=STANDING, repr=False, compare=False)

    @property
    def nq(self) -> int:
        """Number of generalized coordinates."""
        return len(self.coordinate_names)

    @property
    def nu(self) -> int:
        """Number of generalized speeds."""
        return len(self.speed_names)

    def frame(self, link: str) -> Frame:
        """Return the frame of a link in its body; ArgumentError if there is no such link."""
        for name, frame in self.frames:
            if name == link:
                return frame
        raise unknown_name("link", link, [name for name, _ in self.frames])
