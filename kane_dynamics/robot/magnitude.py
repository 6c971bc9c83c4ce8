"""Numbers too large to compute with, refused before they overflow.

With every mass, length, moment of inertia, multiplier and friction within :data:`LARGEST`, also the
square of a generalized inertia, a mass times two lengths times two multipliers, is a finite number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kane_dynamics.errors import ModelError

if TYPE_CHECKING:
    from kane_dynamics.robot.body import Body, Frame
    from kane_dynamics.robot.choice import Law
    from kane_dynamics.robot.model import Robot

LARGEST = 1e30
"""Largest magnitude of a number, in SI units; nothing that is called a robot comes near it."""


def check_joints(robot: Robot, laws: Mapping[str, Law]) -> None:
    """Raise ModelError unless positions and offsets of all joints can be computed with."""
    for joint in robot.joints:
        where = f"{robot.source}: joint {joint.name!r}"
        _check(where, "origin", joint.translation)
        law = laws[joint.name]
        _check(where, "mimic multiplier", (law.multiplier,))
        _check(where, "position" if law.master is None else "mimic offset", (law.offset,))


def check_inertias(robot: Robot, frames: Mapping[str, Frame], ground: int) -> None:
    """Raise ModelError unless the inertias of all links that move can be computed with."""
    for link in robot.links:
        if link.inertia is None or frames[link.name].body == ground:
            continue
        where = f"{robot.source}: link {link.name!r}"
        _check(where, "mass", (link.inertia.mass,))
        _check(where, "centre of mass", link.inertia.center)
        for row in link.inertia.tensor:
            _check(where, "inertia", row)


def check_frictions(robot: Robot, bodies: Iterable[Body]) -> None:
    """Raise ModelError unless the friction of all joints that move can be computed with."""
    for body in bodies:
        where = f"{robot.source}: joint {body.joint!r}"
        _check(where, "damping", (body.damping,))
        _check(where, "friction", (body.friction,))


def _check(where: str, what: str, numbers: Iterable[float]) -> None:
    for number in numbers:
        if not abs(number) <= LARGEST:  # nor for nan
            raise ModelError(
                f"{where} has the {what} {number:g}, expected a magnitude of at most {LARGEST:g}"
            )
