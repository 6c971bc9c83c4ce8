"""How a simulation goes on, or ends."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Where it is; the same numbers stand in elimination.c, but for those that only Python has."""

    RUNNING = 0
    FINISHED = 1
    DIVERGED = 2
    SINGULAR = 3
    INPUT_FAULT = 4
    LIMIT_REACHED = 5
    DOUBTFUL = 6
    CANCELLED = 7
    EXHAUSTED = 8
    UNBALANCED = 9
    EVENT = 10
    UNSOLVABLE = 11
    VIOLATED = 12
    STORM = 13
    NO_CHOICE = 14


class Ended(Exception):
    """A simulation ends early; `culprit` is the speed, n + the coordinate, or the constraint."""

    def __init__(self, status: Status, culprit: int = 0, fault: str = "") -> None:
        super().__init__(status.name)
        self.status = status
        self.culprit = culprit
        self.fault = fault


class InputFault(Exception):
    """The function that gives the torques has failed; the message says how."""
