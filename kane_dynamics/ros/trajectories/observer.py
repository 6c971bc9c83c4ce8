"""Who sees how well a robot follows a trajectory, and may end that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.trajectories.points import CAUSE, Points
from kane_dynamics.ros.trajectories.verdicts import Code, Verdict
from kane_dynamics.simulation.trajectory import Sample

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode


class Observer(Protocol):
    """Sees how a trajectory is followed.

    Attributes
    ----------
    trips : bool
        Whether a trajectory that cannot be followed is a fault after which the robot is to be
        enabled again, because nobody hears of it otherwise.
    """

    trips: bool

    def state(
        self, t: float, desired: Sample, positions: Array, velocities: Array
    ) -> Verdict | None:
        """See a state; the verdict if the trajectory is not to be followed any longer.

        Parameters
        ----------
        t : float
            Time in s after that of time_from_start = 0. It goes on after the last point: there
            the joints are held until the verdict.
        positions, velocities : array (m,)
            Where the joints of the trajectory should be, and are, in its order.
        """

    def over(self, sentence: str = "") -> None:
        """Hear that the trajectory is not followed any more, for a reason that is not a verdict.

        The sentence says why, unless the observer had it stopped, and the joints are at rest.
        """


class Unobserved:
    """The observer of a trajectory from a topic: only log and diagnostics hear how that ends."""

    trips = True

    def __init__(self, node: DynamicsNode, model: Model, points: Points) -> None:
        self._node, self._end = node, float(points.times[-1])
        self._axes = model.axes.some(points.joints)

    def state(
        self, t: float, desired: Sample, positions: Array, velocities: Array
    ) -> Verdict | None:
        """The verdict on a state: done after the end, or too far from the path."""
        tolerance = self._node.parameters.values.path_tolerance
        if tolerance:
            off = np.abs(self._axes.off(desired.positions, positions))
            worst = int(off.argmax())
            if not off[worst] <= tolerance:
                sentence = (
                    f"joint {self._axes.names[worst]!r} is {off[worst]:.3g} from where the "
                    f"trajectory wants it, path_tolerance is {tolerance:g}"
                )
                return Verdict(Code.PATH_TOLERANCE_VIOLATED, sentence)
        return Verdict(Code.SUCCESSFUL) if t > self._end else None

    def over(self, sentence: str = "") -> None:
        """Log why it is not followed any more."""
        if sentence:
            self._node.faults.record(Fault(CAUSE, f"a trajectory is not followed: {sentence}"))
