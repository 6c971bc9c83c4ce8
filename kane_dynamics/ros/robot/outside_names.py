"""Names of joints outside: drivers and recordings may call them otherwise than the URDF does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.robot.names import repeated, shown

_QUOTED = re.compile(r"'([^']*)'")


def read_name_map(entries: Sequence[str]) -> dict[str, str]:
    """Names outside of joints of the URDF, from entries "outside=urdf".

    >>> read_name_map(["fer_joint1=panda_joint1"])
    {'panda_joint1': 'fer_joint1'}

    Raises ArgumentError if an entry is no such pair, or two are about the same joint or name.
    """
    pairs = [tuple(part.strip() for part in entry.split("=")) for entry in entries]
    for entry, pair in zip(entries, pairs):
        if len(pair) != 2 or not all(pair):
            raise ArgumentError(
                f"joint_name_map: {entry!r} must be the name in messages, =, and that in the URDF"
            )
    outside, inside = [[pair[k] for pair in pairs] for k in (0, 1)]
    twice = repeated(outside)
    if twice is not None:
        raise ArgumentError(f"joint_name_map: {twice!r} is the name of two joints")
    twice = repeated(inside)
    if twice is not None:
        raise ArgumentError(f"joint_name_map: joint {twice!r} of the URDF has two names")
    return dict(zip(inside, outside))


@dataclass(frozen=True)
class OutsideNames:
    """What the joints of a robot are called in messages.

    Parameters
    ----------
    of : dict from str to str
        Name outside of each joint that is called otherwise there, by its name in the URDF.
    """

    of: Mapping[str, str]

    def __call__(self, joint: str) -> str:
        """Name outside of a joint of the URDF."""
        return self.of.get(joint, joint)

    def said(self, sentence: str) -> str:
        """A sentence about the URDF's joints, quoted by name, with their names outside."""
        return _QUOTED.sub(lambda found: f"'{self(found[1])}'", sentence)

    @cached_property
    def _inside(self) -> dict[str, str]:
        return {outside: inside for inside, outside in self.of.items()}

    def inside(self, name: str) -> str:
        """Name in the URDF of a joint that is called by either name.

        Raises ArgumentError if that may be either of two joints.
        """
        joint = self._inside.get(name, name)
        if joint != name and name in self.of:
            raise ArgumentError(
                f"joint {name!r} is ambiguous: it is that of the URDF, called {self.of[name]!r} in "
                f"messages, or {joint!r} of the URDF, called so in messages"
            )
        return joint


SAME_NAMES = OutsideNames({})
"""Those of a robot whose joints messages call as the URDF does."""


def outside_names(joints: Iterable[str], prefix: str, name_map: Mapping[str, str]) -> OutsideNames:
    """What the joints of a robot are called outside.

    Raises ArgumentError if the map is about a joint that is not there, or two joints have the same
    name.

    Parameters
    ----------
    joints : iterable of str
        As the URDF calls them.
    prefix : str
        What comes before these names outside.
    name_map : dict from str to str
        Whole names outside, by the joint's name in the URDF.
    """
    known = list(joints)
    for joint in name_map:
        if joint not in known:
            raise ArgumentError(
                f"joint_name_map: there is no joint {joint!r}, the robot has {shown(known)}"
            )
    of = {joint: name_map.get(joint, prefix + joint) for joint in known}
    twice = repeated(of.values())
    if twice is not None:
        alike = [joint for joint, name in of.items() if name == twice]
        raise ArgumentError(
            f"joint_prefix and joint_name_map: joints {shown(alike)} would both be called {twice!r}"
        )
    return OutsideNames(of)
