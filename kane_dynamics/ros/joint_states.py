"""Where the joints are: joint states matched by name in any order, whole or in parts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from kane_dynamics.ros.faults import Fault, Unsafe
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.names import repeated, shown
from kane_dynamics.ros.stamps import SECOND

CAUSE = "joint_states"
NON_FINITE = "joint_states not finite"

# Orders of names: a robot has a few, a flood of random messages has many.
_REMEMBERED = 32
_LONGEST_REMEMBERED = 1000


@dataclass(frozen=True)
class Order:
    """How the entries of a message belong to the joints of the robot.

    Attributes
    ----------
    entries, joints : index
        Entries of the message, and the joints of the robot that they are about.
    moves : bool
        Whether there are any.
    """

    entries: Any
    joints: Any
    moves: bool = True

    def of(self, values: Any) -> Array:
        """Values of a message, as far as they are about joints of the robot."""
        array: Array = np.frombuffer(values)[self.entries]
        return array


_ALL = slice(None)


class JointStates:
    """The latest position and velocity of each moving joint, and when they came.

    Attributes
    ----------
    positions, velocities : array (n,)
        Positions are NaN where no joint state has named the joint yet.
    received : array (n,)
        When each joint was named last, in s of `time.monotonic`.
    stamps : array (n,) of int
        Stamp of that message in ns; zero where it had none.
    complete : bool
        Whether every joint has been named.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._use(())

    def _use(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.positions = np.full(len(names), np.nan)
        self.velocities = np.zeros(len(names))
        self.received = np.full(len(names), -np.inf)
        self.stamps = np.zeros(len(names), dtype=np.int64)
        self.complete = False
        self._has_velocity = np.zeros(len(names), bool)
        self._all_have_velocity = False
        self._orders: dict[tuple[str, ...], Order] = {}
        self._latest_names: list[str] | None = None
        self._latest_order = Order(_ALL, _ALL, False)

    def use(self, model: Model) -> None:
        """Serve another model; what is known of joints of the same name is kept."""
        known = zip(self.names, self.positions, self.velocities, self.received, self.stamps)
        self._use(model.joint_names)
        self._model = model
        for name, *state in known:
            k = model.index.get(name)
            if k is not None:
                self.positions[k], self.velocities[k], self.received[k], self.stamps[k] = state
        self.complete = not np.isnan(self.positions).any()

    def missing(self) -> list[str]:
        """Joints that no joint state has named yet."""
        return [name for name, p in zip(self.names, self.positions) if np.isnan(p)]

    def stale(self, timeout: float) -> list[str]:
        """Joints that were named once, but not within `timeout` seconds."""
        late = (time.monotonic() - self.received > timeout) & ~np.isnan(self.positions)
        return [self.names[k] for k in np.flatnonzero(late)]

    def update(self, message: JointState) -> bool:
        """Take a message; whether it named a joint that moves.

        Raises
        ------
        Fault
            If the message cannot be used; then nothing of it is.
        """
        names, position, velocity = message.name, message.position, message.velocity
        if names != self._latest_names:
            self._recall(names)
        order, count = self._latest_order, len(names)
        if len(position) != count or not {len(velocity), len(message.effort)} <= {0, count}:
            raise _wrong_length(message)
        positions = order.of(position)
        velocities = order.of(velocity) if velocity else 0.0
        # a sum is not finite if an entry is not: two of them cost less than a look at each entry
        if not (isfinite(sum(position)) and isfinite(sum(velocity))):
            self._check_finite("position", positions, order)
            velocities = self._measured(velocities, order)
            self._check_finite("velocity", velocities, order)
        stamp = message.header.stamp
        joints = order.joints
        self.positions[joints] = positions
        self.velocities[joints] = velocities
        if velocity and not self._all_have_velocity:
            self._note_velocities(order, velocity)
        self.received[joints] = time.monotonic()
        self.stamps[joints] = stamp.sec * SECOND + stamp.nanosec
        if not self.complete:
            self.complete = not np.isnan(self.positions).any()
        return order.moves

    def _note_velocities(self, order: Order, given: Any) -> None:
        """Remember which joints have had a velocity."""
        self._has_velocity[order.joints] |= np.isfinite(order.of(given))
        self._all_have_velocity = bool(self._has_velocity.all())

    def _measured(self, velocities: Any, order: Order) -> Any:
        """Velocities, zero where they are NaN and always were: those are not measured."""
        never = np.isnan(velocities) & ~self._has_velocity[order.joints]
        return np.where(never, 0.0, velocities)

    def _check_finite(self, what: str, values: Any, order: Order) -> None:
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            name = np.array(self.names)[order.joints][bad[0]]
            raise Unsafe(NON_FINITE, f"{what} of joint {name!s} is {values[bad[0]]}")

    def _recall(self, names: Sequence[str]) -> None:
        """Make the order of these names the latest one."""
        key = tuple(names)
        order = self._orders.get(key)
        if order is None:
            order = self._order(key)
            if len(self._orders) >= _REMEMBERED:
                self._orders.clear()
            if len(key) <= _LONGEST_REMEMBERED:
                self._orders[key] = order
        self._latest_names, self._latest_order = list(key), order

    def _order(self, names: tuple[str, ...]) -> Order:
        if not names:
            raise Fault(CAUSE, "the message names no joint")
        twice = repeated(names)
        if twice is not None:
            raise Fault(CAUSE, f"joint {twice!r} is named twice")
        index = self._model.index
        pairs = [(k, index[name]) for k, name in enumerate(names) if name in index]
        if not pairs and not any(name in self._model.other_joints for name in names):
            raise Fault(
                CAUSE,
                f"none of the robot's joints is named: the message is about {shown(names)}, "
                f"the robot has {shown(self.names)}",
            )
        if names == self.names:
            return Order(_ALL, _ALL)
        entries, joints = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return Order(entries, joints, bool(pairs))


def _wrong_length(message: JointState) -> Fault:
    lengths = (len(message.position), len(message.velocity), len(message.effort))
    return Fault(
        CAUSE,
        f"{len(message.name)} joints are named, but there are {lengths[0]} positions, "
        f"{lengths[1]} velocities and {lengths[2]} efforts",
    )
