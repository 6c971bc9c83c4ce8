"""Where the joints are: joint states matched by name in any order, whole or in parts."""

from __future__ import annotations

import copy
import time
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.faults import Fault, Unsafe
from kane_dynamics.ros.messages.cdr import Malformed
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.robot.names import repeated, shown
from kane_dynamics.ros.states.differences import Differences
from kane_dynamics.ros.states.joint_state_bytes import (
    PREFIX,
    ParsedState,
    StateLayout,
    is_big_endian,
    read_state,
)

CAUSE = "joint_states"
NON_FINITE = "joint_states not finite"
OUT_OF_ORDER = "joint_states out of order"

SET_BACK = 0.5
"""Seconds by which older stamps are out of order; by more, the clock of their sender was set."""

# Orders of names: a robot has a few, a flood of random messages has many.
_REMEMBERED = 32
_LONGEST_REMEMBERED = 1000


class Order(NamedTuple):
    """How the entries of a message belong to the joints of the robot.

    Attributes
    ----------
    entries, joints : index
        Entries of the message, and the joints of the robot that they are about.
    differences : Differences
        Velocities of these joints where messages carry none.
    moves : bool
        Whether there are any.
    """

    entries: Any
    joints: Any
    differences: Differences
    moves: bool = True


_ALL = slice(None)
Known = tuple[StateLayout, Order]


class JointStates:
    """The latest position and velocity of each moving joint, and when they came.

    Attributes
    ----------
    positions, velocities : array (n,)
        Positions are NaN where no joint state has named the joint yet.
    measured : array (n,) of bool
        Which velocities joint states carry; the others are estimated from the positions.
    received : array (n,)
        When the middleware received what named each joint last, in s of `time.monotonic`.
    stamps : array (n,) of int
        Stamp of that message in ns; zero where it had none.
    complete : bool
        Whether every joint has been named.
    stamp : bytes
        Stamp of the latest message, as little-endian bytes.
    frame_id : str
        Frame of the latest message.
    first : float
        When joints of this model were named first, in s of `time.monotonic`; infinite if never.
    ignored : set of str
        Joints of the robot that were named, but do not move by themselves.
    """

    def __init__(self) -> None:
        self.stamp, self.frame_id = bytes(8), ""
        self._use(())

    def _use(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.positions = np.full(len(names), np.nan)
        self.velocities = np.zeros(len(names))
        self.measured = np.zeros(len(names), bool)
        self.received = np.full(len(names), -np.inf)
        self.stamps = np.zeros(len(names), dtype=np.int64)
        self.complete = False
        self._once_measured = np.zeros(len(names), bool)
        self._all_measured = False
        self._newest = 0  # of the stamps
        self.first = np.inf
        self.ignored: set[str] = set()
        self._orders: dict[tuple[str, ...], Order] = {}
        self._layouts: list[Known] = []
        self._latest: Known | None = None

    def use(self, model: Model) -> None:
        """Serve another model; what is known of joints of the same name is kept."""
        kept = ("positions", "velocities", "measured", "received", "stamps", "_once_measured")
        places = [
            (model.index[name], k) for k, name in enumerate(self.names) if name in model.index
        ]
        new, old = np.array(places, dtype=np.intp).reshape(-1, 2).T
        known = {name: getattr(self, name)[old] for name in kept}
        self._use(model.joint_names)
        self._model = model
        for name, values in known.items():
            getattr(self, name)[new] = values
        self._newest = int(self.stamps.max(initial=0))
        self._all_measured = bool(self.measured.all())
        self.complete = not np.isnan(self.positions).any()
        if np.isfinite(self.received).any():
            self.first = time.monotonic()

    def snapshot(self) -> JointStates:
        """The states as they are now, which no message changes."""
        still = copy.copy(self)
        for name in ("positions", "velocities", "received", "stamps"):
            setattr(still, name, getattr(self, name).copy())
        return still

    def missing(self) -> list[str]:
        """Joints that no joint state has named yet."""
        return [name for name, p in zip(self.names, self.positions) if np.isnan(p)]

    def check_complete(self) -> None:
        """Raise an ArgumentError if no joint state has named a joint yet."""
        if not self.complete:
            raise ArgumentError(f"no joint state has named {shown(self.missing())} yet")

    def stale(self, timeout: float) -> list[str]:
        """Joints that were named once, but not within `timeout` seconds."""
        late = (time.monotonic() - self.received > timeout) & ~np.isnan(self.positions)
        return [self.names[k] for k in np.flatnonzero(late)]

    def update(self, data: bytes, received: float) -> bool:
        """Take a message; whether it named a joint that moves.

        Raises Fault if the message cannot be used; then nothing of it is.

        Parameters
        ----------
        data : bytes
            The message.
        received : float
            When the middleware received it, in s of `time.monotonic`.
        """
        latest = self._latest
        numbers = None if latest is None else latest[0].numbers(data)
        if latest is None or numbers is None:
            if is_big_endian(data):
                data = _parsed(data).written()
            latest, numbers = self._recall(data)
        layout, order = latest
        stamp = numbers[1] * SECOND + numbers[2]
        joints = order.joints
        if stamp < self._newest and stamp:
            self._check_order(stamp, received, joints)
        positions = layout.positions(data)[order.entries]
        # a sum is not finite if an entry is not, and costs less than a look at each entry
        given = layout.velocities_in(data)[order.entries] if layout.velocities else None
        if given is not None and isfinite(sum(numbers)):
            velocities = given
            if not self._all_measured:
                self._note_measured(joints, True)
        else:
            self._check_finite("position", positions, order)
            estimated = order.differences.velocities_at(positions, stamp, received)
            velocities = self._completed(given, estimated, order)
        self.positions[joints] = positions
        self.velocities[joints] = velocities
        self.received[joints] = received
        self.stamps[joints] = stamp
        self._newest = stamp if stamp >= self._newest else int(self.stamps.max(initial=0))
        self.stamp, self.frame_id = data[PREFIX - 8 : PREFIX], layout.frame_id
        if not self.complete:
            if order.moves:
                self.first = min(self.first, time.monotonic())
            self.complete = not np.isnan(self.positions).any()
        return order.moves

    def _completed(self, given: Array | None, estimated: Array, order: Order) -> Array:
        """Velocities, estimated where there are none, or NaN that have never been anything else."""
        joints = order.joints
        if given is None:
            if self.measured.any():
                self._note_measured(joints, False)
            return estimated
        never = np.isnan(given) & ~self._once_measured[joints]
        velocities: Array = np.where(never, estimated, given)
        self._check_finite("velocity", velocities, order)
        self._note_measured(joints, ~never)
        return velocities

    def _note_measured(self, joints: Any, measured: bool | NDArray[np.bool_]) -> None:
        self.measured[joints] = measured
        self._once_measured[joints] |= measured
        self._all_measured = bool(self.measured.all())

    def _check_finite(self, what: str, values: Any, order: Order) -> None:
        if isfinite(sum(values.tolist())):
            return
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            name = np.array(self.names)[order.joints][bad[0]]
            raise Unsafe(NON_FINITE, f"{what} of joint {name!s} is {values[bad[0]]}")

    def _check_order(self, stamp: int, received: float, joints: Any) -> None:
        """Refuse a state that is older than the one that is known, unless that is old, too."""
        known = self.stamps[joints]
        fresh = received - self.received[joints] < SET_BACK
        late = np.where((known != 0) & fresh, known - stamp, 0)
        if 0 < late.max() <= SET_BACK * SECOND:
            raise Fault(
                OUT_OF_ORDER,
                f"a state came whose stamp is {late.max() / SECOND:.3g} s older than that of the "
                "one before",
            )

    def _recall(self, data: bytes) -> tuple[Known, tuple[Any, ...]]:
        """Layout and order of a message, from now on the latest ones, and its numbers."""
        for known in self._layouts:
            numbers = known[0].numbers(data)
            if numbers is not None:
                self._latest = known
                return known, numbers
        parsed = _parsed(data)
        order = self._order_of(parsed.names)
        count, lengths = len(parsed.names), {len(parsed.velocity), len(parsed.effort)}
        if len(parsed.position) != count or not lengths <= {0, count}:
            raise _wrong_length(parsed)
        layout = parsed.layout
        numbers = layout.numbers(data)
        assert numbers is not None
        self._latest = layout, order
        if len(self._layouts) >= _REMEMBERED:
            self._layouts.clear()
        if count <= _LONGEST_REMEMBERED:
            self._layouts.append(self._latest)
        return self._latest, numbers

    def _order_of(self, names: tuple[str, ...]) -> Order:
        order = self._orders.get(names)
        if order is None:
            order = self._order(names)
            if len(self._orders) >= _REMEMBERED:
                self._orders.clear()
            if len(names) <= _LONGEST_REMEMBERED:
                self._orders[names] = order
        return order

    def _order(self, names: tuple[str, ...]) -> Order:
        if not names:
            raise Fault(CAUSE, "the message names no joint")
        twice = repeated(names)
        if twice is not None:
            raise Fault(CAUSE, f"joint {twice!r} is named twice")
        index = self._model.index
        self.ignored.update(self._model.other_joints.intersection(names))
        pairs = [(k, index[name]) for k, name in enumerate(names) if name in index]
        if not pairs and not any(name in self._model.other_joints for name in names):
            raise Fault(
                CAUSE,
                f"none of the robot's joints is named: the message is about {shown(names)}, "
                f"the robot has {shown(self.names)}",
            )
        if names == self.names:
            return Order(_ALL, _ALL, Differences(self._model.axes))
        entries, joints = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return Order(entries, joints, Differences(self._model.axes.some(joints)), bool(pairs))


def _parsed(data: bytes) -> ParsedState:
    try:
        return read_state(data)
    except Malformed as error:
        raise Fault(CAUSE, str(error)) from None


def _wrong_length(message: ParsedState) -> Fault:
    lengths = (len(message.position), len(message.velocity), len(message.effort))
    return Fault(
        CAUSE,
        f"{len(message.names)} joints are named, but there are {lengths[0]} positions, "
        f"{lengths[1]} velocities and {lengths[2]} efforts",
    )
