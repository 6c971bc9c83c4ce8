"""What the robot is to do at a time: rest, come to rest from where it moves, or along a path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.stamps import SECOND
from kane_dynamics.simulation.trajectory import Sample

_DURATIONS = 0.1 * 1.4 ** np.arange(11)
"""Seconds in which a robot may be brought to rest: from 0.1 to 2.9."""

_LOOKS = np.linspace(0.0, 1.0, 6)
"""Shares of a motion at which its efforts are looked at."""


class Reference(Protocol):
    """A motion of all joints, at rest from its end on; times in ns."""

    @property
    def end(self) -> int:
        """When it comes to rest."""

    def at(self, now: int) -> Sample:
        """State of all joints."""


@dataclass(frozen=True, eq=False)
class Rest:
    """The joints stay at their positions (n,)."""

    positions: Array
    end: int = 0

    def at(self, now: int) -> Sample:
        zero = np.zeros_like(self.positions)
        return Sample(self.positions, zero, zero)


@dataclass(frozen=True, eq=False)
class Braking:
    """All joints come to rest together, each with a constant deceleration.

    Attributes
    ----------
    positions, velocities : array (n,)
        At the beginning.
    begin : int
        In ns.
    seconds : float
        Until they rest.
    """

    positions: Array
    velocities: Array
    begin: int
    seconds: float

    @property
    def end(self) -> int:
        return self.begin + round(self.seconds * SECOND)

    def at(self, now: int) -> Sample:
        total = self.seconds
        s = min(max((now - self.begin) / SECOND, 0.0), total)
        moving = s < total
        return Sample(
            self.positions + self.velocities * (s - 0.5 * s * s / total),
            self.velocities * (1.0 - s / total),
            self.velocities * (-1.0 / total if moving else 0.0),
        )


@dataclass(frozen=True, eq=False)
class Slowing:
    """A motion is followed ever more slowly, and on its path comes to rest.

    Attributes
    ----------
    motion : Reference
    begin : int
        In ns.
    seconds : float
        Until it rests.
    """

    motion: Reference
    begin: int
    seconds: float

    @property
    def end(self) -> int:
        return self.begin + round(self.seconds * SECOND)

    def at(self, now: int) -> Sample:
        total = self.seconds
        s = min(max((now - self.begin) / SECOND, 0.0), total)
        rate = 1.0 - s / total
        along = self.motion.at(self.begin + round((s - 0.5 * s * s / total) * SECOND))
        slowing = -1.0 / total if s < total else 0.0
        return Sample(
            along.positions,
            along.velocities * rate,
            along.accelerations * rate**2 + along.velocities * slowing,
        )


def soonest(
    at_rest_in: Callable[[float], Reference], begin: int, model: Model, share: float
) -> Reference:
    """The motion that comes to rest in the shortest time that the joints have the effort for.

    Parameters
    ----------
    at_rest_in : callable
        The motion that comes to rest in so many seconds.
    share : float
        Of the effort limits, that may be used.
    """
    motion = at_rest_in(float(_DURATIONS[-1]))
    for seconds in _DURATIONS:
        motion = at_rest_in(float(seconds))
        looks = [motion.at(begin + round(float(s * seconds) * SECOND)) for s in _LOOKS]
        # the last one is at rest: what is needed there is needed in any case
        efforts = model.rigid_efforts(*(np.array(column) for column in zip(*looks)))
        allowed = np.maximum(share * model.effort_limits, 1.05 * np.abs(efforts[-1]))
        if (np.abs(efforts) <= allowed).all():
            return motion
    return motion
