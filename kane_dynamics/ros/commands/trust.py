"""Whether joint states can be trusted: recent, and no joint where it cannot have come to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.model import Model

JUMP = 0.05
"""Rad or m by which a joint may seem to run ahead of what it can do: noise, late messages."""

_FASTER = 1.5  # than the velocity limit, or than it moved just now
_ABSURD = 10.0  # times the velocity limit, at which no joint moves
_FARTHEST = 1e9  # rad or m, beyond which numbers are too coarse to tell a motion
_TRUSTED_AFTER = SECOND // 20  # ns, and so many states in them that fit each other
_TRUSTED_STATES = 5


class Seen(NamedTuple):
    """Where the joints are, how fast they move, and for each when that was, in ns."""

    positions: Array
    velocities: Array
    times: NDArray[np.int64]


class Trust:
    """Follows joint states, and says when one cannot be true.

    What a joint may move by depends on the time that passed, however many messages that was: each
    joint has an allowance of `JUMP`, which motion beyond what the joint can do uses up, and time
    fills again.

    Attributes
    ----------
    last : Seen or None
        The last state that could be trusted.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.last: Seen | None = None
        self._before: Seen | None = None
        self._allowance = np.full(len(model.joint_names), JUMP)
        self._doubted: int | None = None
        self._fitting = 0

    @property
    def holds(self) -> bool:
        """Whether the newest state could be trusted."""
        return self._doubted is None

    def too_old(self, times: NDArray[np.int64], now: int, timeout: float) -> str:
        """The sentence about a joint whose state is too old, or ahead of time; empty if none is."""
        ages = (now - times) / SECOND
        oldest = int(np.abs(ages).argmax())
        if abs(ages[oldest]) <= timeout:
            return ""
        name, age = self._model.joint_names[oldest], ages[oldest]
        when = f"{age:.3g} s old" if age > 0 else f"{-age:.3g} s ahead of the clock"
        return f"the state of joint {name!r} is {when}, the limit is {timeout:g} s"

    def absurd(self, seen: Seen) -> str:
        """The sentence about a joint that cannot be there, or as fast as that; empty if none is."""
        looks = (
            ("position", seen.positions, _FARTHEST),
            ("velocity", seen.velocities, _ABSURD * self._model.usual_speeds),
        )
        for what, values, most in looks:
            excess = np.abs(values) - most
            worst = int(excess.argmax())
            if excess[worst] > 0.0:
                return (
                    f"the {what} of joint {self._model.joint_names[worst]!r} is {values[worst]:g}"
                )
        return ""

    def begin(self, seen: Seen) -> None:
        """Trust a state, with no regard to those before it."""
        self.last = self._before = seen
        self._allowance[:] = JUMP
        self._doubted = None

    def take(self, seen: Seen, now: int) -> str:
        """The sentence about a joint that jumped, or cannot be so; empty if none did.

        After a doubt states are trusted again when some of them have fitted each other for a while.
        """
        sentence = self.absurd(seen) or self._jump(seen)
        if sentence:
            self.doubt(now)
        elif self._doubted is not None:
            self._fitting += 1
            if now - self._doubted >= _TRUSTED_AFTER and self._fitting >= _TRUSTED_STATES:
                self._doubted = None
        if self._doubted is None:
            self.last = seen
        return sentence

    def doubt(self, now: int) -> None:
        """Trust no state until some have fitted each other."""
        self._doubted, self._fitting = now, 0

    def _jump(self, seen: Seen) -> str:
        before, self._before = self._before, seen
        if before is None:
            return ""
        model = self._model
        elapsed = np.maximum(seen.times - before.times, 0) / SECOND
        moved = model.apart(seen.positions, before.positions)
        able = _FASTER * np.maximum(model.usual_speeds, np.abs(before.velocities)) * elapsed
        self._allowance = np.minimum(self._allowance + able - moved, JUMP)
        worst = int(self._allowance.argmin())
        if self._allowance[worst] >= 0.0:
            return ""
        self._allowance[:] = JUMP
        name = model.joint_names[worst]
        return (
            f"the position of joint {name!r} jumped by {moved[worst]:.3g} "
            f"within {elapsed[worst]:.3g} s"
        )
