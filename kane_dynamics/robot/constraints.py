"""What a URDF cannot say: loops, wheels that roll, gears, joints that are held, things grasped.

Each is an immutable value with a name, checked when it is made. Lengths are in m, angles in rad,
frames in those of links; the link ``"world"`` is the ground, whose frame is that of the world.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any

from kane_dynamics.errors import ArgumentError
from kane_dynamics.robot.magnitude import LARGEST
from kane_dynamics.robot.rotation import unit

WORLD = "world"
KEEPS = ("point", "axis", "pose")

Numbers = tuple[float, ...]


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
        _check(self)
        for which in ("at1", "at2"):
            _set(self, which, _frame(self, which))
        if self.keeps not in KEEPS:
            raise _wrong(self, "keeps", "one of 'point', 'axis', 'pose'")


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
        _check(self)
        if (self.at1 is None) != (self.at2 is None):
            raise ArgumentError(
                f"constraint {self.name!r}: at1 and at2 are given together, or neither is"
            )
        for which in ("at1", "at2"):
            if getattr(self, which) is not None:
                _set(self, which, _frame(self, which))


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

    def __post_init__(self) -> None:
        _check(self)
        _set(self, "friction", _pair(self, "friction"))
        _set(self, "limit", _pair(self, "limit"))
        if self.friction is not None and self.limit is not None:
            raise ArgumentError(
                f"constraint {self.name!r}: friction and limit are given, expected one of them"
            )
        for which in ("axis", "normal"):
            _set(self, which, _direction(self, which))
        for which in ("radius", "offset"):
            _set(self, which, _number(self, which, getattr(self, which)))
        if self.radius <= 0.0:
            raise _wrong(self, "radius", "a positive number")


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

    def __post_init__(self) -> None:
        _check(self)
        _set(self, "limit", _pair(self, "limit"))
        given = self.factors
        if isinstance(given, tuple):  # a copy
            given = dict(given)
        if not isinstance(given, Mapping) or not given:
            raise _wrong(self, "factors", "a dict from joint names to numbers")
        pairs = []
        for joint, factor in given.items():
            if not isinstance(joint, str) or not joint:
                raise ArgumentError(f"constraint {self.name!r}: {joint!r} is no name of a joint")
            number = _number(self, f"factor of {joint!r}", factor)
            if number == 0.0:
                raise ArgumentError(
                    f"constraint {self.name!r}: factor of {joint!r} is 0, expected another number"
                )
            pairs.append((joint, number))
        _set(self, "factors", tuple(pairs))


@dataclass(frozen=True)
class Lock:
    """A joint is held where it is when the lock begins.

    Parameters
    ----------
    name : str
    joint : str
    limit : number or (static, kinetic), optional
        Torque (N m) or force (N) beyond which it slips, as a brake does.
    active : bool
        Whether it holds from the start.
    """

    name: str
    joint: str
    limit: Any = None
    active: bool = True

    def __post_init__(self) -> None:
        _check(self)
        _set(self, "limit", _pair(self, "limit"))


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
        _check(self)
        _set(self, "at", _numbers(self, "at", (3,)))
        _set(self, "normal", _direction(self, "normal"))
        for which in ("radius", "offset", "restitution"):
            _set(self, which, _number(self, which, getattr(self, which)))
        if self.radius < 0.0:
            raise _wrong(self, "radius", "a number that is not negative")
        if not 0.0 <= self.restitution <= 1.0:
            raise _wrong(self, "restitution", "a number from 0 to 1")
        _set(self, "friction", _pair(self, "friction") or (0.0, 0.0))


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
    return tuple(found.values())


# ---------------------------------------------------------------------------------- what is checked
def _check(constraint: Constraint) -> None:
    """Refuse what is no name of a constraint, a link or a joint, and what is not yes or no."""
    kind = type(constraint).__name__
    if not isinstance(constraint.name, str) or not constraint.name:
        raise ArgumentError(f"{kind}: name is {constraint.name!r}, expected a word")
    for field in fields(constraint):
        value = getattr(constraint, field.name)
        if field.type == "str" and (not isinstance(value, str) or not value):
            raise _wrong(constraint, field.name, "a name")
        if field.type == "bool" and not isinstance(value, bool):
            raise _wrong(constraint, field.name, "True or False")


def _set(constraint: Constraint, field: str, value: Any) -> None:
    object.__setattr__(constraint, field, value)


def _wrong(constraint: Constraint, field: str, expected: str) -> ArgumentError:
    value = getattr(constraint, field)
    return ArgumentError(
        f"constraint {constraint.name!r}: {field} is {value!r}, expected {expected}"
    )


def _number(constraint: Constraint, what: str, value: Any) -> float:
    number = _float(value)
    if not abs(number) <= LARGEST:  # nor for what is no number
        raise ArgumentError(
            f"constraint {constraint.name!r}: {what} is {value!r}, expected a finite number"
        )
    return number


def _numbers(constraint: Constraint, field: str, sizes: Sequence[int]) -> Numbers:
    value = getattr(constraint, field)
    several = None if isinstance(value, (str, bytes, Mapping)) else value
    try:
        numbers = tuple(_float(each) for each in several)  # type: ignore[union-attr]
    except TypeError:
        numbers = ()
    if len(numbers) not in sizes or not all(abs(each) <= LARGEST for each in numbers):
        raise _wrong(constraint, field, f"{' or '.join(map(str, sizes))} finite numbers")
    return numbers


def _frame(constraint: Constraint, field: str) -> Numbers:
    """Return x y z, roll pitch yaw."""
    numbers = _numbers(constraint, field, (3, 6))
    return numbers if len(numbers) == 6 else (*numbers, 0.0, 0.0, 0.0)


def _pair(constraint: Constraint, field: str) -> Numbers | None:
    """Return the static and the kinetic number of what is one number, or two."""
    value = getattr(constraint, field)
    if value is None:
        return None
    several = (value, value) if isfinite(_float(value)) else value
    _set(constraint, field, several)
    try:
        static, kinetic = _numbers(constraint, field, (2,))
    except ArgumentError:
        static, kinetic = -1.0, 0.0
    if not static >= kinetic >= 0.0:
        _set(constraint, field, value)
        expected = "a number that is not negative, or two, (static, kinetic), the second not larger"
        raise _wrong(constraint, field, expected)
    return static, kinetic


def _direction(constraint: Constraint, field: str) -> Numbers:
    """Return a vector of length one."""
    x, y, z = _numbers(constraint, field, (3,))
    if x == y == z == 0.0:
        raise _wrong(constraint, field, "a vector that is not zero")
    return unit((x, y, z))


def _float(value: Any) -> float:
    """Return a number, or one that is none: neither texts nor truth values are numbers."""
    if isinstance(value, (bool, str, bytes)):
        return float("nan")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
    return number if isfinite(number) else float("nan")
