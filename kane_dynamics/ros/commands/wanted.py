"""Where a robot is wanted to be: on a motion, on its way to rest, or at rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.commands.references import (
    Braking,
    Joining,
    Latest,
    Reference,
    Rest,
    Slowing,
    joined,
    soonest,
)
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.simulation.trajectory import Sample

_LOST = 0.1  # rad or m, by which a joint that is braked may be off


class Wanted:
    """What a robot is to do from now on, until something else is said.

    Attributes
    ----------
    reference : Reference
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.reference: Reference = Rest(np.zeros(len(model.joint_names)))
        self._latest = Latest()

    # ---------------------------------------------------------------------------- what is to be
    def rest(self, positions: Array) -> None:
        """Rest there."""
        self.reference = Rest(positions)

    def rest_after_joining(self, positions: Array) -> None:
        """Rest there, where a motion ends; one that is being joined still is joined at its end."""
        joining, rest = self.reference, Rest(positions)
        self.reference = replace(joining, motion=rest) if isinstance(joining, Joining) else rest

    def follow(self, motion: Reference, before: Sample | None, now: int) -> None:
        """Follow a motion, joined from what was wanted before; at once if that does not count."""
        self.reference = motion if before is None else joined(motion, before, now, self._model)

    def brake(self, positions: Array, velocities: Array, now: int, share: float) -> None:
        """Come to rest from a state, with this share of the effort limits."""
        self.reference = soonest(
            lambda seconds: Braking(now, seconds, positions, velocities), now, self._model, share
        )

    def slow_down(self, now: int, share: float) -> None:
        """Come to rest along the path."""
        path = self.reference
        self.reference = soonest(
            lambda seconds: Slowing(now, seconds, path), now, self._model, share
        )

    # --------------------------------------------------------------------------------- what is
    @property
    def end(self) -> int:
        """When the robot is to come to rest, in ns; zero where it rests already."""
        return self.reference.end

    def at(self, now: int) -> Sample:
        """State that is wanted now."""
        return self._latest.at(self.reference, now)

    def ahead(self, now: int, lead: float, until_next: float) -> Sample:
        """State that is wanted now, with the acceleration for so many seconds after a lead."""
        return self._latest.ahead(self.reference, now, lead, until_next)

    def is_followed(self, motion: Reference) -> bool:
        """Whether a motion is wanted just as it is."""
        return self.reference is motion

    def is_lost(self, positions: Array, now: int) -> bool:
        """Whether a robot that is braked from where it was is elsewhere."""
        if not isinstance(self.reference, Braking):
            return False
        return bool((self._model.apart(positions, self.at(now).positions) > _LOST).any())
