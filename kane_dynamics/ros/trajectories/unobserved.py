"""Trajectories that came on a topic: nobody hears how they end but the log and the diagnostics."""

from __future__ import annotations

import numpy as np

from kane_dynamics.ros.faults import Fault, Faults
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.trajectories.points import CAUSE, Points
from kane_dynamics.ros.trajectories.verdicts import Code, Verdict
from kane_dynamics.simulation.trajectory import Sample


class Unobserved:
    """Sees to it that a robot stays near a trajectory; the `Observer` where there is no other.

    Parameters
    ----------
    model : Model
    points : Points
    parameters : Parameters
    faults : Faults
    """

    trips = True

    def __init__(
        self, model: Model, points: Points, parameters: Parameters, faults: Faults
    ) -> None:
        self._parameters, self._faults = parameters, faults
        self._names, self._end = points.names, float(points.times[-1])
        self._turns = model.turns[points.joints]
        self._any_turns = bool(self._turns.any())

    def state(
        self, t: float, desired: Sample, positions: Array, velocities: Array
    ) -> Verdict | None:
        """The verdict on a state: done after the end, or too far from the path."""
        tolerance = self._parameters.values.path_tolerance
        if tolerance:
            off = desired.positions - positions
            if self._any_turns:
                turns = np.round(off / (2.0 * np.pi)) * (2.0 * np.pi)
                off = off - np.where(self._turns, turns, 0.0)
            off = np.abs(off)
            worst = int(off.argmax())
            if not off[worst] <= tolerance:
                sentence = (
                    f"joint {self._names[worst]!r} is {off[worst]:.3g} from where the trajectory "
                    f"wants it, path_tolerance is {tolerance:g}"
                )
                return Verdict(Code.PATH_TOLERANCE_VIOLATED, sentence)
        return Verdict(Code.SUCCESSFUL) if t > self._end else None

    def over(self, sentence: str = "") -> None:
        """Log why it is not followed any more."""
        if sentence:
            self._faults.record(Fault(CAUSE, f"a trajectory is not followed: {sentence}"))
