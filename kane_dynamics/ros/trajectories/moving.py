"""What moves a robot along trajectories, and what watches how well it does."""

from __future__ import annotations

from typing import Protocol

from kane_dynamics.ros.model import Array
from kane_dynamics.ros.trajectories.points import Points
from kane_dynamics.ros.trajectories.verdicts import Verdict
from kane_dynamics.simulation.trajectory import Sample


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
        desired : Sample
        positions, velocities : array (m,)
            Where the joints of the trajectory should be, and are, in its order.
        """

    def over(self, sentence: str = "") -> None:
        """Hear that the trajectory is not followed any more, for a reason that is not a verdict.

        Parameters
        ----------
        sentence : str
            Why. Not needed if it was stopped by `Mover.stop`, and the joints are at rest.
        """


class Mover(Protocol):
    """Moves the robot along trajectories, one at a time."""

    def begin(self, points: Points, stamp: int, observer: Observer) -> None:
        """Follow a trajectory in place of the one that is followed now, whose observer hears of it.

        From then on the observer sees every joint state, until it gives a verdict or is told that
        the motion is over, whichever comes first. After a verdict other than SUCCESSFUL the robot
        is brought to rest, and held in any case.

        Parameters
        ----------
        points : Points
        stamp : int
            When time_from_start is zero, ROS time in ns; zero stands for now.
        observer : Observer

        Raises
        ------
        Fault
            If that cannot be; then what is followed now is followed on.
        """

    def stop(self, observer: Observer) -> None:
        """Decelerate along the trajectory of an observer, and tell it when the joints are at rest.

        Nothing happens if its trajectory is not followed any more.
        """
