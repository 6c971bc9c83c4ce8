"""What a URDF cannot say: loops, wheels that roll, gears, joints that are held, things grasped.

Each is an immutable value with a name, checked when it is made. Lengths are in m, angles in rad,
frames in those of links; the link ``"world"`` is the ground, whose frame is that of the world.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kane_dynamics.errors import ArgumentError
from kane_dynamics.names import unknown_name
from kane_dynamics.robot.constraint_fields import (
    Numbers,
    check_fields,
    check_limit,
    check_share,
    direction_of,
    frame_of,
    is_wrong,
    number_of,
    numbers_of,
    pair_of,
    put,
)

WORLD = "world"
KEEPS = ("point", "axis", "pose")


@dataclass(frozen=True)
class Loop:
    """Two frames coincide: in a point, along an axis, or fully.

    Parameters
    ----------
    name : str
    link1, link2 : str
        Links of the robot; one may be ``"world"``.
    at1, at2 : (3,) or (6,) numbers
        The frames in those of the links: x y z, or x y z, roll pitch yaw.
    keeps : {"point", "axis", "pose"}
        Whether the origins coincide; the z-axes too; or the frames.
    active : bool
        Whether it holds from the start.

    Examples
    --------
    >>> Loop("closing", "coupler", "rocker", at1=(1.0, 0.0, 0.0)).at1
    (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """

    name: str
    link1: str
    link2: str
    at1: Numbers = (0.0, 0.0, 0.0)
    at2: Numbers = (0.0, 0.0, 0.0)
    keeps: str = "point"
    active: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        for which in ("at1", "at2"):
            put(self, which, frame_of(self, which))
        if self.keeps not in KEEPS:
            raise is_wrong(self, "keeps", "one of 'point', 'axis', 'pose'")


@dataclass(frozen=True)
class Weld:
    """Two links move as one: a grasp.

    Parameters
    ----------
    name : str
    link1, link2 : str
        Links of the robot; one may be ``"world"``.
    at1, at2 : (3,) or (6,) numbers, optional
        Frames in those of the links, as in `Loop`, that coincide. Without them the links stay as
        they are relative to each other when the weld begins.
    active : bool
        Whether it holds from the start.
    """

    name: str
    link1: str
    link2: str
    at1: Numbers | None = None
    at2: Numbers | None = None
    active: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        if (self.at1 is None) != (self.at2 is None):
            raise ArgumentError(
                f"constraint {self.name!r}: at1 and at2 are given together, or neither is"
            )
        for which in ("at1", "at2"):
            if getattr(self, which) is not None:
                put(self, which, frame_of(self, which))


@dataclass(frozen=True)
class Rolling:
    """A thin wheel rolls on a plane, without slipping.

    Parameters
    ----------
    name : str
    wheel : str
        The link that rolls; its origin is the middle of the wheel.
    radius : float
        Of the wheel, m.
    axis : (3,) numbers
        Of the wheel, in its link's frame.
    ground : str
        The link that carries the plane, or ``"world"``.
    normal : (3,) numbers
        Of the plane, towards the wheel, in the frame of the ground.
    offset : float
        Distance of the plane from the origin of the ground along the normal, m.
    side_slip : bool
        Whether the wheel may slip along its axis, as omnidirectional wheels do.
    friction : number or (static, kinetic), optional
        Beyond this share of the normal force it slips; without it, never.
    limit : number or (static, kinetic), optional
        Beyond this force (N) it slips, however hard it is pressed on the plane.
    of : str, optional
        Another constraint with one force, or a normal one: the limit is a share of that force.
    active : bool
        Whether it holds from the start.
    """

    name: str
    wheel: str
    radius: float
    axis: Numbers = (0.0, 1.0, 0.0)
    ground: str = WORLD
    normal: Numbers = (0.0, 0.0, 1.0)
    offset: float = 0.0
    side_slip: bool = False
    friction: Any = None
    limit: Any = None
    active: bool = True
    of: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        put(self, "friction", pair_of(self, "friction"))
        check_limit(self)
        if self.friction is not None and self.limit is not None:
            raise ArgumentError(
                f"constraint {self.name!r}: friction and limit are given, expected one of them"
            )
        for which in ("axis", "normal"):
            put(self, which, direction_of(self, which))
        for which in ("radius", "offset"):
            put(self, which, number_of(self, which, getattr(self, which)))
        if self.radius <= 0.0:
            raise is_wrong(self, "radius", "a positive number")


@dataclass(frozen=True)
class Coupling:
    """The sum of factors times speeds of joints is zero: gears, belts, differentials.

    The same sum of their positions stays what it is when the coupling begins.

    Parameters
    ----------
    name : str
    factors : dict from joint name to float
    limit : number or (static, kinetic), optional
        Force or torque at a joint of the largest factor, beyond which it slips, as a belt does.
    of : str, optional
        As in `Rolling`.
    active : bool
        Whether it holds from the start.

    Examples
    --------
    >>> Coupling("gear", {"motor": 1.0, "arm": -100.0}).factors
    (('motor', 1.0), ('arm', -100.0))
    """

    name: str
    factors: Any
    limit: Any = None
    active: bool = True
    of: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_limit(self)
        given = self.factors
        if isinstance(given, tuple):  # a copy
            given = dict(given)
        if not isinstance(given, Mapping) or not given:
            raise is_wrong(self, "factors", "a dict from joint names to numbers")
        pairs = []
        for joint, factor in given.items():
            if not isinstance(joint, str) or not joint:
                raise ArgumentError(f"constraint {self.name!r}: {joint!r} is no name of a joint")
            number = number_of(self, f"factor of {joint!r}", factor)
            if number == 0.0:
                raise ArgumentError(
                    f"constraint {self.name!r}: factor of {joint!r} is 0, expected another number"
                )
            pairs.append((joint, number))
        put(self, "factors", tuple(pairs))


@dataclass(frozen=True)
class Lock:
    """A joint is held where it is when the lock begins, or stopped somewhere.

    Parameters
    ----------
    name : str
    joint : str
    limit : number or (static, kinetic), optional
        Torque (N m) or force (N) beyond which it slips, as a brake does.
    of : str, optional
        As in `Rolling`.
    least, most : float, optional
        Given one of them, it is a stop, which only pushes: the joint (rad or m) goes no farther.
    restitution : float
        Of a stop, as in `Contact`.
    active : bool
        Whether it holds from the start.

    Examples
    --------
    >>> Lock("bumper", "elbow", most=2.1, restitution=0.3).stops
    True
    """

    name: str
    joint: str
    limit: Any = None
    active: bool = True
    of: str | None = None
    least: float | None = None
    most: float | None = None
    restitution: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_limit(self)
        for which in ("least", "most"):
            if getattr(self, which) is not None:
                put(self, which, number_of(self, which, getattr(self, which)))
        check_share(self, "restitution")
        if self.stops and (self.limit is not None or None not in (self.least, self.most)):
            raise ArgumentError(
                f"constraint {self.name!r}: a stop has either least or most, and no limit"
            )
        if self.restitution and not self.stops:
            raise ArgumentError(f"constraint {self.name!r}: restitution is for stops")

    @property
    def stops(self) -> bool:
        """Whether it only pushes, at `least` or `most`."""
        return not (self.least is None and self.most is None)


@dataclass(frozen=True)
class Contact:
    """A point or a sphere of a link on a plane, which pushes only, with Coulomb's friction.

    Parameters
    ----------
    name : str
    link : str
    at : (3,) numbers
        The point, or the middle of the sphere, in the frame of the link, m.
    radius : float
        Of the sphere, m.
    ground : str
        The link that carries the plane, or ``"world"``.
    normal : (3,) numbers
        Of the plane, towards the point, in the frame of the ground.
    offset : float
        Distance of the plane from the origin of the ground along the normal, m.
    friction : number or (static, kinetic)
        Largest share of the normal force that keeps the point from slipping, and the share that
        acts against its slip.
    restitution : float
        Share of an impact's impulse of compression that follows in expansion, 0 to 1 (Poisson).
    active : bool
        Whether there is such a contact from the start.

    Examples
    --------
    >>> Contact("foot", "shank", at=(0.0, 0.0, -0.3), friction=0.8).friction
    (0.8, 0.8)
    """

    name: str
    link: str
    at: Numbers = (0.0, 0.0, 0.0)
    radius: float = 0.0
    ground: str = WORLD
    normal: Numbers = (0.0, 0.0, 1.0)
    offset: float = 0.0
    friction: Any = 0.0
    restitution: float = 0.0
    active: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        put(self, "at", numbers_of(self, "at", (3,)))
        put(self, "normal", direction_of(self, "normal"))
        for which in ("radius", "offset"):
            put(self, which, number_of(self, which, getattr(self, which)))
        if self.radius < 0.0:
            raise is_wrong(self, "radius", "a number that is not negative")
        check_share(self, "restitution")
        put(self, "friction", pair_of(self, "friction") or (0.0, 0.0))


Constraint = Loop | Rolling | Coupling | Lock | Weld | Contact

KINDS: dict[str, type[Constraint]] = {
    "loop": Loop,
    "rolling": Rolling,
    "coupling": Coupling,
    "lock": Lock,
    "weld": Weld,
    "contact": Contact,
}
"""The kinds of constraints, as files name them."""


def only_pushes(constraint: Constraint) -> bool:
    """Whether it is open on one side: a contact, a stop."""
    return isinstance(constraint, Contact) or (isinstance(constraint, Lock) and constraint.stops)


def constraints_from(given: Any) -> tuple[Constraint, ...]:
    """Return the constraints of a list, each with a name of its own."""
    if isinstance(given, Constraint):
        given = (given,)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ArgumentError(
            f"constraints is {given!r}, expected a path or a list of constraints such as kd.Loop"
        )
    found: dict[str, Constraint] = {}
    for each in given:
        if not isinstance(each, Constraint):
            raise ArgumentError(
                f"constraints: {each!r} is no constraint, expected such as kd.Loop, kd.Rolling"
            )
        if each.name in found:
            raise ArgumentError(f"constraints: {each.name!r} is there twice, expected once")
        found[each.name] = each
    for each in found.values():
        check_pressed(each, found)
    return tuple(found.values())


def check_pressed(constraint: Constraint, known: Mapping[str, Constraint]) -> None:
    """Refuse a limit that is a share of what no constraint exerts, or of no single force."""
    of = getattr(constraint, "of", None)
    if of is None:
        return
    if of not in known or of == constraint.name:
        others = [name for name in known if name != constraint.name]
        raise ArgumentError(
            f"constraint {constraint.name!r}: of: {unknown_name('other constraint', of, others)}"
        )
    pressing = known[of]
    single = isinstance(pressing, (Contact, Rolling))
    if isinstance(pressing, (Lock, Coupling)):
        single = pressing.limit is None
    if not single:
        raise is_wrong(
            constraint, "of", "a contact, a wheel, or a lock or coupling that has no limit itself"
        )
