"""What may be wanted of a robot that is commanded, and what is being done about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from kane_dynamics.ros.commands.references import Reference
from kane_dynamics.ros.model import Array
from kane_dynamics.ros.trajectories.verdicts import Verdict
from kane_dynamics.simulation.trajectory import Sample


class State(Enum):
    """What is being done."""

    CLOSED = "closed"
    FLOATING = "floating"
    HOLDING = "holding"
    FOLLOWING = "following"
    BRAKING = "braking"
    NOTHING = "nothing"
    """Enabled, but joint states cannot be trusted, and the last command has gone out."""


class Motion(Reference, Protocol):
    """A motion that somebody wants, and that falls due at a time.

    Attributes
    ----------
    withdrawn : bool
        Whether it is not to be followed any more.
    followed : bool
        Whether it has been taken up; then it hears from here how that ends.
    """

    begin: int
    withdrawn: bool
    followed: bool

    @property
    def observer(self) -> object:
        """Who sees how it is followed."""

    @property
    def trips(self) -> bool:
        """Whether it is a fault if it cannot be followed."""

    def judged(
        self, now: int, wanted: Sample, positions: Array, velocities: Array
    ) -> Verdict | None:
        """The verdict of the one who wants it, if it is not to be followed any longer."""

    def over(self, sentence: str) -> None:
        """Tell the one who wants it that it is not followed any more, and why."""


@dataclass(frozen=True)
class Saturation:
    """What effort limits cost: the torque wanted of a joint that could not be commanded."""

    joint: str
    wanted: float
    limit: float

    def __str__(self) -> str:
        return (
            f"joint {self.joint!r} is commanded its limit of {self.limit:g}, "
            f"where {self.wanted:.4g} is needed"
        )
