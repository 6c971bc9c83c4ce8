"""States whose numbers are no longer those of a motion."""

from __future__ import annotations

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.constants import LARGEST_COORDINATE, LARGEST_SPEED
from kane_dynamics.simulation.status import Ended, Status


def refuse_unreasonable(q: Array, u: Array) -> None:
    """End when a number is none, or not of reasonable size."""
    for values, largest, offset in ((u, LARGEST_SPEED, 0), (q, LARGEST_COORDINATE, len(u))):
        wrong = np.flatnonzero(~(np.abs(values) < largest))
        if len(wrong):
            raise Ended(Status.DIVERGED, offset + int(wrong[0]))
