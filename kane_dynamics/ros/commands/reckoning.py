"""Dead reckoning: where a robot is that nobody sees, as its model moves on under the commands."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.stamps import SECOND

LONGEST = 4.0
"""Seconds for which commands are remembered: to be brought to rest takes no longer."""

_STEP = SECOND // 500  # ns
_ABSURD = 10.0  # times the velocity limit, at which no joint moves
_SLOW = 1e-3  # rad/s or m/s, below which dry friction grows with speed


class Reckoning:
    """Moves the model of a robot on from the last state that was seen.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._fastest = _ABSURD * model.usual_speeds
        self._commands: deque[tuple[int, Array]] = deque()
        self._seen: Seen | None = None
        self._time = 0
        self._state = np.zeros((2, len(model.joint_names)))

    def commanded(self, torques: Array, now: int) -> None:
        """Remember the torques that act from now on."""
        commands = self._commands
        commands.append((now, torques))
        while commands[0][0] < now - LONGEST * SECOND:
            commands.popleft()

    def at(self, seen: Seen, now: int) -> tuple[Array, Array]:
        """Positions and velocities now of a robot that was last seen in a state."""
        if seen is not self._seen:
            self._seen, self._time = seen, int(seen.times.min())
            self._state = np.array([seen.positions, seen.velocities])
        changes = [when for when, _ in self._commands if self._time < when < now]
        for begin, end in pairwise([self._time, *changes, now]):
            self._move_on(begin, end)
        self._time = max(now, self._time)
        positions, velocities = self._state
        return positions, velocities

    def _move_on(self, begin: int, end: int) -> None:
        """From one command to the next."""
        acting = [torques for when, torques in self._commands if when <= begin]
        if not acting or end <= begin:
            return
        count = -((begin - end) // _STEP)
        for _ in range(count):
            if not (np.abs(self._state[1]) <= self._fastest).all():
                return  # that is no robot any more
            self._state = self._stepped(acting[-1], (end - begin) / SECOND / count)

    def _stepped(self, torques: Array, seconds: float) -> Array:
        """The state after a step, with friction taken at its end, for it may be stiff."""
        (q, u), model = self._state, self._model
        halfway = q + 0.5 * seconds * u
        viscous, dry = model.friction
        friction = viscous + dry / np.maximum(np.abs(u), _SLOW)
        matrix = model.mass_matrix(halfway)
        bias = model.rigid_efforts(halfway, u, np.zeros_like(u))
        momentum = matrix @ u + seconds * (torques - bias)
        after = np.linalg.solve(matrix + np.diag(seconds * friction), momentum)
        return np.array([q + 0.5 * seconds * (u + after), after])
