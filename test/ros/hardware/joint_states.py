"""Joint states as bytes, and what can be wrong with them on request."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

Array = np.ndarray


@dataclass(frozen=True)
class StateFault:
    """What is wrong with joint states.

    Attributes
    ----------
    stopped : bool
        None are sent.
    not_a_number : sequence of str
        Joints whose positions are NaN; with `velocities` their velocities.
    offset : mapping
        By joint, what is added to its position.
    delay : float
        Time in s between a state and its message, which keeps the state's stamp.
    repeats : int
        How often each message is sent besides.
    reordered : bool
        Two messages after each other are swapped.
    unstamped : bool
        The stamp is zero.
    ahead : float
        By how much the clock of the stamps is ahead, s.
    stuck : bool
        Positions and velocities stay as they are now, under new stamps.
    """

    stopped: bool = False
    not_a_number: Sequence[str] = ()
    velocities: bool = False
    offset: Mapping[str, float] = field(default_factory=dict)
    delay: float = 0.0
    repeats: int = 0
    reordered: bool = False
    unstamped: bool = False
    ahead: float = 0.0
    stuck: bool = False


SOUND = StateFault()


class StateMessages:
    """Messages of joint states: numbers are put into the bytes of one message."""

    def __init__(self, joints: Sequence[str]) -> None:
        self._index = {name: k for k, name in enumerate(joints)}
        count = len(joints)
        zeros = array("d", bytes(8 * count))
        message = JointState(name=list(joints), position=zeros, velocity=zeros, effort=zeros)
        self._buffer = bytearray(serialize_message(message))
        # behind the encapsulation's four bytes: the stamp; at the end, behind a length and four
        # bytes of padding each: positions, velocities and efforts
        self._stamp = np.frombuffer(self._buffer, np.uint32, 2, 4)
        end = len(self._buffer)
        self._position, self._velocity, self._effort = (
            np.frombuffer(self._buffer, np.float64, count, end - place * (8 * count + 8) + 8)
            for place in (3, 2, 1)
        )
        self._fault = SOUND
        self._messages = self._until = np.inf
        self._waiting: list[tuple[float, bytes]] = []
        self._held: bytes | None = None
        self._stuck: tuple[Array, Array] | None = None

    def disturb(self, fault: StateFault, messages: float = np.inf, until: float = np.inf) -> None:
        """Have a fault, instead of the one before, for a number of messages or until a time."""
        names = [*fault.not_a_number, *fault.offset]
        if unknown := [name for name in names if name not in self._index]:
            raise ValueError(f"there is no joint {unknown[0]!r} whose state could be wrong")
        self._fault, self._messages, self._until = fault, messages, until
        self._stuck = None

    def due(
        self, now: float, stamp: int, position: Array, velocity: Array, effort: Array
    ) -> list[bytes]:
        """Messages to send now, where there is a new state; times in s, stamp in ns."""
        if self._fault is not SOUND:
            if self._messages <= 0 or now >= self._until:
                self.disturb(SOUND)
            self._messages -= 1
        fault = self._fault
        if fault.stuck:
            self._stuck = position, velocity = self._stuck or (position, velocity)
        stamp = 0 if fault.unstamped else stamp + round(1e9 * fault.ahead)
        self._stamp[:] = divmod(stamp, 1_000_000_000)
        self._position[:], self._velocity[:], self._effort[:] = position, velocity, effort
        if fault is not SOUND:
            self._falsify(fault)
        messages = [] if fault.stopped else [bytes(self._buffer)] * (1 + fault.repeats)
        return self._delayed(now, fault.delay, self._swapped(messages))

    def _falsify(self, fault: StateFault) -> None:
        for name in fault.not_a_number:
            (self._velocity if fault.velocities else self._position)[self._index[name]] = np.nan
        for name, offset in fault.offset.items():
            self._position[self._index[name]] += offset

    def _swapped(self, messages: list[bytes]) -> list[bytes]:
        if self._held is not None:
            messages, self._held = [*messages, self._held], None
        elif self._fault.reordered and messages:
            self._held, messages = messages[-1], messages[:-1]
        return messages

    def _delayed(self, now: float, delay: float, messages: list[bytes]) -> list[bytes]:
        if delay:
            self._waiting += [(now + delay, message) for message in messages]
            messages = []
        if not self._waiting:
            return messages
        ready = [message for due, message in self._waiting if due <= now]
        self._waiting = [(due, message) for due, message in self._waiting if due > now]
        return ready + messages
