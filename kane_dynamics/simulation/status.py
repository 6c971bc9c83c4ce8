"""How a simulation ended, and what is said about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Status(IntEnum):
    """How it ended; the same numbers stand in run.h, but for the last three."""

    RUNNING = 0
    FINISHED = 1
    DIVERGED = 2
    SINGULAR = 3
    INPUT_FAULT = 4
    LIMIT_REACHED = 5
    CANCELLED = 6
    EXHAUSTED = 7
    UNBALANCED = 8


class Ended(Exception):
    """A simulation written in Python ends early."""

    def __init__(self, status: Status, culprit: int = 0) -> None:
        super().__init__(status.name)
        self.status = status
        self.culprit = culprit


class InputFault(Exception):
    """The function that gives the torques has failed; the message says how."""


@dataclass(frozen=True)
class Outcome:
    """What an integrator leaves.

    Attributes
    ----------
    rows : array (K, 2 + nq + 4 n)
        t, q, u, udot, tau, force, work.
    status : Status
    culprit : int
        The speed at fault; or n + the coordinate at fault.
    fault : str
        What went wrong with the input.
    local_error : float
        Largest estimated error of a step.
    """

    rows: NDArray[np.float64]
    status: Status
    culprit: int
    fault: str
    local_error: float
