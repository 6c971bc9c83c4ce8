"""Joint states as the commander sees them: each joint with the time at which that was true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.messages.stamps import SECOND

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode


UNDER_WAY = SECOND // 10
"""Ns, within which a state arrives that was stamped before the clock was set."""


class Sight:
    """Tells the age of joint states: by stamp or by arrival, what is longer ago.

    In simulated time, which may stand still, arrival counts only where there is no stamp. A stamp
    that was given before the system clock was set does not count.
    """

    def __init__(self, node: DynamicsNode) -> None:
        self._states, self._clock, self._faults = node.states, node.clock, node.faults
        self._arrived: NDArray[np.int64] = np.zeros(0, np.int64)
        self._received: Array = np.zeros(0)
        self._set = 0
        """Until when, in ns, states may arrive that were stamped before the clock was set."""

    def came(self) -> None:
        """Take note of when joint states come, in simulated time: no other clock runs as that."""
        if self._clock.simulated:
            arrived, received = self._arrivals(), self._states.received
            self._arrived = np.where(received != self._received, self._clock.now(), arrived)
            self._received = received.copy()

    def _arrivals(self) -> NDArray[np.int64]:
        """In ns of simulated time, for each joint; zero where none has come."""
        if self._arrived.shape != self._states.received.shape:  # another robot
            self._arrived = np.zeros(len(self._states.received), np.int64)
            self._received = np.full(len(self._arrived), -np.inf)
        return self._arrived

    def seen(self, now: int) -> Seen:
        """The joint states, and when they were true."""
        states, clock = self._states, self._clock
        stamped = states.stamps != 0
        if clock.simulated:
            since = np.where(stamped, 0, now - self._arrivals())
        else:
            since = now - np.round(states.received * SECOND).astype(np.int64)
        parted = clock.parted()
        if parted:
            sentence = f"the system clock was set by {parted / SECOND:+.3g} s"
            self._faults.record(Fault("clock", sentence))
            self._set = now + UNDER_WAY
        if self._set and not clock.simulated:
            stamped &= now - since > self._set
        by_stamp = np.where(stamped, clock.ros_now() - states.stamps, 0)
        ages = np.where(np.abs(by_stamp) > since, by_stamp, since)
        return Seen(states.positions.copy(), states.velocities.copy(), now - ages)
