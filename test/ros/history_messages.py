"""What was said in a history: messages with the times at which they were sent, and requests.

All times are ns of one clock that nobody sets.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Times = NDArray[np.int64]

SECOND, MS = 1_000_000_000, 1_000_000
"""In ns."""


@dataclass(frozen=True)
class Told:
    """A message of ~/command_state."""

    sent: int
    state: str
    reason: str
    commanding: str

    @property
    def doing(self) -> str:
        """What is commanded."""
        return self.commanding if self.state == "tripped" else self.state


@dataclass
class Request:
    """Something that was asked of the node; `answered` is None while it has not."""

    asked: int
    answered: int | None = None
    granted: bool = False


@dataclass
class Enabling(Request):
    """Of ~/enable_effort_commands."""

    on: bool = True


@dataclass
class Setting(Request):
    """Of parameters."""

    values: dict[str, Any] = field(default_factory=dict)


@dataclass
class Motion(Request):
    """A trajectory: a goal, or one on the topic, which is not answered.

    Attributes
    ----------
    references : list of int
        When its time_from_start is zero; several where the clock was set meanwhile.
    times, positions, velocities, accelerations : array
        Its points.
    """

    references: list[int] = field(default_factory=list)
    times: Array = field(default_factory=lambda: np.zeros(0))
    positions: Array = field(default_factory=lambda: np.zeros(0))
    velocities: Array = field(default_factory=lambda: np.zeros(0))
    accelerations: Array = field(default_factory=lambda: np.zeros(0))


@dataclass
class Goal:
    """A goal and what came of it; `sound` says whether there is a motion in it.

    `results` holds when each result came, its status, code and sentence; `identity` is that of
    messages that tell its status.
    """

    asked: int
    sound: bool
    last: Array
    accepted: bool = False
    results: list[tuple[int, int, int, str]] = field(default_factory=list)
    identity: bytes = b""


@dataclass(frozen=True)
class Life:
    """A process of the node, from its start until it is killed or ended."""

    begin: int
    end: int
    killed: bool


@dataclass
class History:
    """Everything that was said.

    Attributes
    ----------
    state_sent, state_time : array (N,)
        When a joint state was sent, and when it was true by its stamp, or by its sending where it
        has none.
    positions, velocities : array (N, n)
    command_sent, command_number : array (M,)
        The number is that of the sender, one more with every command.
    commands : array (M, n)
    told, settings, enablings, motions, goals, lives : list
    statuses : list of (int, bytes, int)
        When a goal, by its identity, was said to have a status.
    done : dict from str to int
        How often each operation was done.
    """

    state_sent: Times
    state_time: Times
    positions: Array
    velocities: Array
    command_sent: Times
    command_number: Times
    commands: Array
    told: list[Told] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    enablings: list[Enabling] = field(default_factory=list)
    motions: list[Motion] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    statuses: list[tuple[int, bytes, int]] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        path.write_bytes(pickle.dumps(self))

    @classmethod
    def read(cls, path: Path) -> History:
        made = pickle.loads(path.read_bytes())
        assert isinstance(made, cls)
        return made
