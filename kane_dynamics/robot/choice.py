"""Which joints of a robot move, and where the others stand still."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kane_dynamics.errors import ArgumentError
from kane_dynamics.names import unknown_name
from kane_dynamics.robot.magnitude import LARGEST
from kane_dynamics.robot.model import Robot
from kane_dynamics.robot.structure import MIMIC_KINDS


@dataclass(frozen=True, slots=True)
class Law:
    """Position of a joint: multiplier times that of the moving joint `master`, plus offset.

    Without a master, the joint stands still at the offset.
    """

    master: str | None
    multiplier: float
    offset: float


def position_laws(
    robot: Robot, joints: Iterable[str] | None, locked: Mapping[str, float] | None
) -> dict[str, Law]:
    """Return how every joint of the robot gets its position, by name, in the order of the file.

    Parameters
    ----------
    robot : Robot
        The robot.
    joints : iterable of str, optional
        Joints that move by themselves; by default all that can and are not in `locked`.
    locked : mapping of str to float, optional
        Positions, in rad or m, of joints that do not move; others stand at zero.

    Raises
    ------
    ArgumentError
        If `joints` or `locked` name a joint that is not there, or cannot move or be locked so.
    """
    positions = _positions(robot, locked)
    moving = _moving(robot, joints, positions)
    by_name = {joint.name: joint for joint in robot.joints}

    def law(name: str) -> Law:
        multiplier, offset = 1.0, 0.0
        while name not in moving:
            mimic = by_name[name].mimic
            if name in positions or mimic is None:
                return Law(None, 0.0, multiplier * positions.get(name, 0.0) + offset)
            offset += multiplier * mimic.offset
            multiplier *= mimic.multiplier
            name = mimic.joint
        return Law(name, multiplier, offset) if multiplier != 0.0 else Law(None, 0.0, offset)

    return {name: law(name) for name in by_name}


def _positions(robot: Robot, locked: Mapping[str, float] | None) -> dict[str, float]:
    if locked is not None and not isinstance(locked, Mapping):
        raise ArgumentError(f"locked is {locked!r}, expected a mapping of joint names to positions")
    kinds = {joint.name: joint.kind for joint in robot.joints}
    positions = {}
    for name, value in (locked or {}).items():
        if name not in kinds:
            raise _named("locked", unknown_name("joint", name, kinds))
        try:
            position = float(value)
        except OverflowError:
            position = float("inf")
        except (TypeError, ValueError):
            position = float("nan")
        if not abs(position) <= LARGEST:
            shown = position if isinstance(value, (int, float)) else repr(value)
            raise ArgumentError(
                f"locked: joint {name!r} is at {shown}, expected a finite number"
                f" of at most {LARGEST:g}"
            )
        if position != 0.0 and kinds[name] not in MIMIC_KINDS:
            raise ArgumentError(
                f"locked: joint {name!r} is {kinds[name]} and at {position}, expected such a joint"
                " at 0"
            )
        positions[name] = position
    return positions


def _moving(
    robot: Robot, joints: Iterable[str] | None, positions: Mapping[str, float]
) -> frozenset[str]:
    movable = {j.name for j in robot.joints if j.kind != "fixed" and j.mimic is None}
    if joints is None:
        return frozenset(movable - positions.keys())
    if isinstance(joints, (str, bytes)) or not isinstance(joints, Iterable):
        raise ArgumentError(f"joints is {joints!r}, expected a list of joint names")
    chosen: set[str] = set()
    for name in joints:
        if not isinstance(name, str) or name not in movable:
            raise _named("joints", _immovable(robot, name))
        if name in chosen:
            raise ArgumentError(f"joints: joint {name!r} is there twice, expected once")
        if name in positions:
            raise ArgumentError(f"joints: joint {name!r} is also in locked, expected it in one")
        chosen.add(name)
    return frozenset(chosen)


def _immovable(robot: Robot, name: str) -> ArgumentError:
    for joint in robot.joints:
        if joint.name == name and joint.mimic is not None:
            return ArgumentError(
                f"joint {name!r} mimics {joint.mimic.joint!r}, expected joints that move by"
                " themselves"
            )
        if joint.name == name:
            return ArgumentError(f"joint {name!r} is {joint.kind}, expected joints that move")
    return unknown_name("joint", name, [j.name for j in robot.joints if j.kind != "fixed"])


def _named(argument: str, error: ArgumentError) -> ArgumentError:
    return ArgumentError(f"{argument}: {error}")
