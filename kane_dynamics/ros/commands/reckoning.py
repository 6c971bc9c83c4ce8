"""Dead reckoning: where a robot is that nobody sees, as its model moves on under the commands."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import cast

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.commands.friction import Friction
from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.model import Model

LONGEST = 4.0
"""Seconds for which commands are remembered: to be brought to rest takes no longer."""

_STEP = SECOND // 500  # ns
_ABSURD = 10.0  # times the velocity limit, at which no joint moves
_SLOW = 1e-3  # rad/s or m/s, below which dry friction grows with speed


class Reckoning:
    """Moves the model of a robot on from the last state that was seen.

    There is some friction besides that of the model.
    """

    def __init__(self, model: Model, friction: Friction) -> None:
        self._model, self._friction = model, friction
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
        """The state after a step."""
        (q, u), model = self._state, self._model
        halfway = q + 0.5 * seconds * u
        matrix = model.mass_matrix(halfway)
        bias = model.rigid_efforts(halfway, u, np.zeros_like(u))
        after = self._rubbed(u, matrix, matrix @ u + seconds * (torques - bias), seconds)
        after = model.following(halfway, after)
        return np.array([q + 0.5 * seconds * (u + after), after])

    def _rubbed(self, u: Array, matrix: Array, momentum: Array, seconds: float) -> Array:
        """Velocities after a step, with friction taken at its end, for it may be stiff."""
        viscous, dry = self._model.friction
        viscous, dry = viscous + self._friction.viscous, dry + self._friction.dry
        moving = matrix + np.diag(seconds * viscous)
        free = np.linalg.solve(moving, momentum)
        ways = np.sign(np.where(np.abs(u) > _SLOW, u, free))
        rubbed = np.linalg.solve(moving, momentum - seconds * dry * ways)
        stuck = rubbed * ways <= 0.0  # friction brings a joint to rest, and no farther
        sticking = moving + np.diag(stuck * seconds * dry / _SLOW)
        return cast(Array, np.linalg.solve(sticking, momentum - ~stuck * seconds * dry * ways))
