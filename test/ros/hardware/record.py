"""What happened to hardware, tick by tick: written by its process, read by tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Times = NDArray[np.int64]

_CHUNK = 8192


@dataclass(frozen=True)
class Record:
    """A run of hardware; times in ns of the system's clock, vectors in the order of its joints.

    Attributes
    ----------
    time : array (N,)
        Of every tick.
    position, velocity, effort : array (N, n)
        State at that time; effort is that of the motors until then.
    braked : array (N,)
    command_received, command_sent : array (M,)
        When the middleware had received a command, and when its sender sent it.
    command_effort : array (M, motors)
        As it came: not all of it needs to be finite or within limits.
    malformed : int
        Commands of the wrong length, which are not among them.
    late : array (K,)
        Times by which ticks came too late, where that was more than 5 ms.
    """

    time: Times
    position: Array
    velocity: Array
    effort: Array
    braked: NDArray[np.bool_]
    command_received: Times
    command_sent: Times
    command_effort: Array
    malformed: int
    late: Array

    @classmethod
    def read(cls, path: Path) -> Record:
        with np.load(path) as stored:
            entries = {each.name: stored[each.name] for each in fields(cls)}
        return cls(**{**entries, "malformed": int(entries["malformed"])})

    def between(self, begin: float, end: float) -> Record:
        """What happened from one time to another, ns."""
        ticks = (self.time >= begin) & (self.time <= end)
        if not ticks.any():
            raise ValueError("nothing was recorded in that time")
        commands = (self.command_received >= begin) & (self.command_received <= end)
        return replace(
            self,
            **{name: getattr(self, name)[ticks] for name in _OF_TICKS},
            **{name: getattr(self, name)[commands] for name in _OF_COMMANDS},
        )

    def moved(self) -> Array:
        """The largest distance of each joint from where it was at the beginning."""
        return np.abs(self.position - self.position[0]).max(axis=0)

    def drifted(self) -> Array:
        """The distance of each joint at the end from where it was at the beginning."""
        return np.abs(self.position[-1] - self.position[0])

    def fastest(self) -> Array:
        return np.abs(self.velocity).max(axis=0)

    def tracking_error(self, wanted: Callable[[Array], Array], begin: float) -> Array:
        """The largest distance of each joint from where it was wanted.

        `wanted` takes times in s, counted from `begin` in ns, and gives positions (N, n).
        """
        seconds = 1e-9 * (self.time - np.int64(begin))
        return np.abs(self.position - wanted(seconds)).max(axis=0)


_OF_TICKS = ("time", "position", "velocity", "effort", "braked")
_OF_COMMANDS = ("command_received", "command_sent", "command_effort")


class _Rows:
    """A table that grows without moving what is in it."""

    def __init__(self, kind: np.dtype) -> None:
        self._kind = kind
        self._chunks = [np.zeros(_CHUNK, kind)]
        self._used = 0

    def append(self, *row: object) -> None:
        if self._used == _CHUNK:
            self._chunks.append(np.zeros(_CHUNK, self._kind))
            self._used = 0
        self._chunks[-1][self._used] = row
        self._used += 1

    def table(self) -> np.ndarray:
        """All rows, also while others are appended."""
        used, chunks = self._used, list(self._chunks)
        return np.concatenate([*chunks[:-1], chunks[-1][:used]])


class Recorder:
    """Keeps a record in memory."""

    def __init__(self, joints: int, motors: int) -> None:
        vector = (float, (joints,))
        self._ticks = _Rows(
            np.dtype(
                [
                    ("time", np.int64),
                    ("position", *vector),
                    ("velocity", *vector),
                    ("effort", *vector),
                    ("braked", bool),
                ]
            )
        )
        self._commands = _Rows(
            np.dtype([("received", np.int64), ("sent", np.int64), ("effort", float, (motors,))])
        )
        self.tick = self._ticks.append
        self.command = self._commands.append
        self.malformed = 0
        self.late: list[float] = []

    def write(self, path: Path) -> None:
        """Write a file, whole or not at all."""
        ticks, commands = self._ticks.table(), self._commands.table()
        half = path.with_suffix(".part.npz")
        np.savez(
            half,
            **{name: ticks[name] for name in _OF_TICKS},
            **{f"command_{name}": commands[name] for name in commands.dtype.names},
            malformed=self.malformed,
            late=np.array(self.late),
        )
        os.replace(half, path)
