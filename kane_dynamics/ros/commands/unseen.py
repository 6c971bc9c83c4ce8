"""A robot that nobody sees: where it is by its model, and torques that move it."""

from __future__ import annotations

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.commands.friction import Friction
from kane_dynamics.ros.commands.law import ControlLaw, Gains
from kane_dynamics.ros.commands.reckoning import Reckoning
from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.simulation.trajectory import Sample

_AT_REST = 0.01  # share of the usual speed
_LONGEST_UNSEEN = 0.5  # s without joint states, after which nobody knows where the robot is


class Unseen:
    """Takes note of commands and motions, to know of a robot what nobody sees.

    Attributes
    ----------
    friction : Friction
        What the joints have shown of it.
    believed : Seen or None
        The state in which a robot that cannot be seen is taken to have been.
    """

    def __init__(self, model: Model, law: ControlLaw) -> None:
        self._model, self._law = model, law
        self.friction = Friction(model)
        self._reckoning = Reckoning(model, self.friction)
        self.believed: Seen | None = None

    def at_rest(self, velocities: Array) -> bool:
        """Whether a robot hardly moves."""
        return bool((np.abs(velocities) <= _AT_REST * self._model.usual_speeds).all())

    def commanded(self, torques: Array, now: int) -> None:
        """Take note of torques that act from now on, of which some only hold the robot."""
        self._reckoning.commanded(torques - self._law.holding, now)

    def see(self, torques: Array, seen: Seen, now: int, seconds: float) -> None:
        """Learn from a state in motion, and from the torques that have acted since the last."""
        self.friction.see(torques - self._law.holding, seen, now, seconds)

    def at(self, last: Seen, now: int) -> tuple[Array, Array]:
        """Positions and velocities of a robot last seen so; where it was, if nobody can know."""
        positions, velocities, times = last
        if self.at_rest(velocities) or now - int(times.min()) > _LONGEST_UNSEEN * SECOND:
            return positions, np.zeros_like(velocities)
        return self._reckoning.at(last, now)

    def believe(self, positions: Array, velocities: Array, now: int) -> Seen:
        """Take the robot to be in a state."""
        self.believed = Seen(positions, velocities, np.full(len(positions), now))
        return self.believed

    def braking(self, wanted: Sample, last: Seen, now: int, damping: float) -> Array:
        """Torques that bring a robot to rest that is where the model says; never mind where."""
        believed = self.believed or self.believe(*self.at(last, now), now)
        positions, velocities = self._reckoning.at(believed, now)
        none = np.zeros_like(positions)
        gains = Gains(none, none + damping, none, True, (none, none, none))
        known = self._law.computed(wanted, positions, velocities, gains)
        return known + self.friction.at(wanted.velocities)

    def moving_on(self, wanted: Sample, last: Seen, now: int) -> Array:
        """Torques of a motion whose joint states are late."""
        self._reckoning.at(last, now)  # so that it need not catch up when it is asked
        friction = self.friction.at(wanted.velocities)
        return self._law.feedforward(wanted) + self._law.unseen(friction)
