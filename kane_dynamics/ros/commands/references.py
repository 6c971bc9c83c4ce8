"""What the robot is to do at a time: rest, come to rest from where it moves, or along a path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.simulation.trajectory import Sample

_DURATIONS = 0.1 * 1.4 ** np.arange(11)
"""Seconds in which a robot may be brought to rest: from 0.1 to 2.9."""

_LOOKS = np.linspace(0.0, 1.0, 6)
"""Shares of a motion at which its efforts are looked at."""


NEAR = 2e-3, 2e-2
"""Rad or m, and rad/s or m/s, up to which a motion is joined at once."""

SOONEST_JOINED = 0.1
"""Seconds in which a motion is joined that begins elsewhere, at least."""

_PER_OFF = 1.875 / 0.2  # s, so that a joint has a fifth of its usual speed more
_PER_SPEED = 1.0  # s


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
class _ToRest:
    """A motion that begins at a time in ns, and is at rest after so many seconds."""

    begin: int
    seconds: float

    @property
    def end(self) -> int:
        return self.begin + round(self.seconds * SECOND)

    def _slowed(self, now: int) -> tuple[float, float, float]:
        """Seconds of motion at full speed that have been made, share of the speed, and its rate."""
        total = self.seconds
        s = min(max((now - self.begin) / SECOND, 0.0), total)
        return s - 0.5 * s * s / total, 1.0 - s / total, -1.0 / total if s < total else 0.0


@dataclass(frozen=True, eq=False)
class Braking(_ToRest):
    """All joints come to rest together, each with a constant deceleration.

    They begin with these positions and velocities (n,).
    """

    positions: Array
    velocities: Array

    def at(self, now: int) -> Sample:
        made, share, rate = self._slowed(now)
        u = self.velocities
        return Sample(self.positions + u * made, u * share, u * rate)


@dataclass(frozen=True, eq=False)
class Slowing(_ToRest):
    """A motion is followed ever more slowly, and on its path comes to rest."""

    motion: Reference

    def at(self, now: int) -> Sample:
        made, share, rate = self._slowed(now)
        q, u, udot = self.motion.at(self.begin + round(made * SECOND))
        return Sample(q, u * share, udot * share**2 + u * rate)


@dataclass(frozen=True, eq=False)
class Joining:
    """A motion that begins elsewhere is joined little by little, without a step of the velocity.

    Attributes
    ----------
    begin : int
        In ns.
    off, speed : array (n,)
        How far from it the robot is wanted to be at the beginning, and how fast that changes.
    seconds : float
        Until it is joined.
    """

    motion: Reference
    begin: int
    off: Array
    speed: Array
    seconds: float

    @property
    def end(self) -> int:
        return self.motion.end

    def at(self, now: int) -> Sample:
        wanted, total = self.motion.at(now), self.seconds
        s = max((now - self.begin) / SECOND, 0.0) / total
        if s >= 1.0:
            return wanted
        off, speed = self.off, self.speed * total
        # 1 and 0, 0 and 1 are the values and slopes of the two polynomials at the beginning
        p = off * (1 - s**3 * (10 - 15 * s + 6 * s * s)) + speed * s * (
            1 - s * s * (6 - 8 * s + 3 * s * s)
        )
        v = off * (-30 * s * s * (1 - s) ** 2) + speed * (1 - s * s * (18 - 32 * s + 15 * s * s))
        a = off * (-60 * s * (1 - s) * (1 - 2 * s)) + speed * (-12 * s * (3 - 8 * s + 5 * s * s))
        return Sample(
            wanted.positions + p, wanted.velocities + v / total, wanted.accelerations + a / total**2
        )


class Latest:
    """States of references; the last one is remembered, for it is asked for several times."""

    def __init__(self) -> None:
        self._known: tuple[Reference, int, Sample] | None = None

    def at(self, reference: Reference, now: int) -> Sample:
        """State of all joints at a time."""
        if self._known is None or self._known[0] is not reference or self._known[1] != now:
            self._known = reference, now, reference.at(now)
        return self._known[2]

    def ahead(self, reference: Reference, now: int, lead: float, seconds: float) -> Sample:
        """State at a time, with the mean acceleration while the command for it acts.

        That is for so many seconds, after a lead in which it comes to the robot.
        """
        wanted, begin = self.at(reference, now), now + round(lead * SECOND)
        end = begin + round(seconds * SECOND)
        before, after = reference.at(begin).velocities, reference.at(end).velocities
        return Sample(wanted.positions, wanted.velocities, (after - before) / seconds)


def joined(motion: Reference, before: Sample, now: int, model: Model) -> Reference:
    """A motion, joined from the state that the robot was wanted to be in until now.

    The farther that is off, the longer it takes; if the motion is shorter, its end is joined.
    """
    wanted, usual = motion.at(now), model.usual_speeds
    off = model.off(before.positions, wanted.positions)
    speed = before.velocities - wanted.velocities
    if ((np.abs(off) <= NEAR[0]) & (np.abs(speed) <= NEAR[1])).all():
        return motion
    seconds = np.maximum(np.abs(off) * _PER_OFF, np.abs(speed) * _PER_SPEED) / usual
    return Joining(motion, now, off, speed, max(float(seconds.max()), SOONEST_JOINED))


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
