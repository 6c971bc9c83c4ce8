"""Whether efforts may be commanded: closed at first, opened on request, closed when in doubt."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.limits import clamped
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.names import repeated, shown
from kane_dynamics.ros.stamps import SECOND

_JUMP_MARGIN = 0.05  # rad or m: noise, and what a late message leaves out
_JUMP_FACTOR = 2.0  # of the velocity limit
_FASTEST_TURNING, _FASTEST_SLIDING = 6.3, 2.0  # rad/s and m/s, of joints without velocity limit


class Gate(Enum):
    """Whether efforts are commanded; TRIPPED closed by itself."""

    CLOSED = "closed"
    OPEN = "open"
    TRIPPED = "tripped"


class Seen(NamedTuple):
    """Where the joints are, and for each when that was: stamp in ns or zero, and arrival in s."""

    positions: Array
    stamps: NDArray[np.int64]
    received: Array

    def seconds_since(self, before: Seen) -> Array:
        """Time of each joint since another state: by the stamps, or by arrival without them."""
        stamped = (self.stamps != 0) & (before.stamps != 0)
        by_stamp = (self.stamps - before.stamps) / SECOND
        elapsed = np.where(stamped, by_stamp, self.received - before.received)
        return np.maximum(elapsed, 0.0)


class EffortGate:
    """Lets efforts pass while all is well, limited and ramped in.

    A gate that tripped stays shut until it is opened again. Times `now` are in s of one clock,
    which the caller chooses.

    Parameters
    ----------
    model : Model
    command_joints : sequence of str
        Order of the commands; empty for all joints in the order of the robot.

    Attributes
    ----------
    state : Gate
    sentence : str
        Why the gate tripped.
    """

    def __init__(self, model: Model, command_joints: tuple[str, ...] = ()) -> None:
        self.state = Gate.CLOSED
        self.sentence = ""
        self.model = model
        self._command_joints = command_joints
        self._order: NDArray[np.intp] = np.arange(len(model.joint_names))
        self._opened = self._ramp_time = 0.0
        self._seen: Seen | None = None

    def open(self, seen: Seen, now: float, ramp_time: float) -> None:
        """Let efforts pass from now on, rising over `ramp_time` s; `seen` is the present state.

        Raises
        ------
        ArgumentError
            If the command joints are not joints of the robot, or the base is not fixed.
        """
        if self.model.floating:
            raise ArgumentError(
                "effort commands need a fixed base: joint states do not say where a floating one is"
            )
        self._order = self._places()
        if self.state is not Gate.OPEN:
            self._opened, self._ramp_time, self._seen = now, ramp_time, seen
        self.state, self.sentence = Gate.OPEN, ""

    def close(self) -> None:
        """Let nothing pass."""
        self.state, self.sentence = Gate.CLOSED, ""

    def trip(self, sentence: str) -> None:
        """Let nothing pass, because something is wrong."""
        if self.state is Gate.OPEN:
            self.state, self.sentence = Gate.TRIPPED, sentence

    def too_old(self, ages: Array, timeout: float) -> str:
        """The sentence about a joint whose state, of an age in s, is too old; empty if none is."""
        oldest = int(np.abs(ages).argmax())
        if abs(ages[oldest]) <= timeout:
            return ""
        name, age = self.model.joint_names[oldest], ages[oldest]
        when = f"{age:.3g} s old" if age > 0 else f"{-age:.3g} s ahead of the clock"
        return f"the state of joint {name!r} is {when}, the limit is {timeout:g} s"

    def check_jump(self, seen: Seen) -> None:
        """Trip if a joint is where it cannot have moved to since the last call."""
        before, self._seen = self._seen, seen
        if before is None:
            return
        elapsed = seen.seconds_since(before)
        moved = self.model.apart(seen.positions, before.positions)
        excess = moved - (_JUMP_MARGIN + _JUMP_FACTOR * self._speeds() * elapsed)
        worst = int(excess.argmax())
        if not excess[worst] <= 0.0:
            name = self.model.joint_names[worst]
            self.trip(
                f"the position of joint {name!r} jumped by {moved[worst]:.3g} "
                f"within {elapsed[worst]:.3g} s"
            )

    def check_path(self, wanted: Array, tolerance: float) -> None:
        """Trip if a joint is farther than the tolerance from where a trajectory wants it."""
        if self._seen is None or not tolerance:
            return
        off = self.model.apart(self._seen.positions, wanted)
        worst = int(off.argmax())
        if not off[worst] <= tolerance:
            name = self.model.joint_names[worst]
            self.trip(
                f"joint {name!r} is {off[worst]:.3g} from where the trajectory wants it, "
                f"path_tolerance is {tolerance:g}"
            )

    def command(self, efforts: Array, now: float) -> Array | None:
        """Efforts to command in the order of the command joints; None if none may be."""
        if self.state is not Gate.OPEN:
            return None
        if not np.isfinite(efforts).all():
            self.trip("the torques are not finite numbers")
            return None
        elapsed = max(now - self._opened, 0.0)
        share = 1.0 if elapsed >= self._ramp_time else elapsed / self._ramp_time
        ordered: Array = share * clamped(efforts, self.model)[self._order]
        return ordered

    def _places(self) -> NDArray[np.intp]:
        names = self._command_joints or self.model.joint_names
        twice = repeated(names)
        if twice is not None:
            raise ArgumentError(f"command_joints names joint {twice!r} twice")
        for name in names:
            if name not in self.model.index:
                raise ArgumentError(
                    f"command_joints names {name!r}, expected moving joints of the robot: "
                    f"{shown(self.model.joint_names)}"
                )
        return np.array([self.model.index[name] for name in names], dtype=np.intp)

    def _speeds(self) -> Array:
        limits = self.model.dynamics.limits.velocity
        usual = np.where(self.model.slides, _FASTEST_SLIDING, _FASTEST_TURNING)
        return np.where((limits > 0.0) & np.isfinite(limits), limits, usual)
