"""The motion that moves a robot, of those that are due, and the one on whose path it is stopped."""

from __future__ import annotations

from collections.abc import Callable

from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.trajectories.plans import Plan
from kane_dynamics.ros.trajectories.verdicts import Verdict
from kane_dynamics.simulation.trajectory import Sample


class Followed:
    """At most one motion, and those who wait for its end hear of it.

    Attributes
    ----------
    due : callable
        The motion that is due at a time in ns, None if none is.
    motion : Plan or None
        What moves the robot.
    stopping : Plan or None
        What moved it, until somebody wanted it to come to rest.
    """

    def __init__(self, due: Callable[[int], Plan | None]) -> None:
        self.due = due
        self.motion: Plan | None = None
        self.stopping: Plan | None = None

    def other(self, now: int) -> Plan | None:
        """The motion that is due and is to be followed, if it is not followed already."""
        motion = self.due(now)
        other = motion is not None and motion is not self.motion and not motion.withdrawn
        return motion if other else None

    def take_up(self, motion: Plan) -> None:
        """Follow another motion."""
        self.leave("another trajectory has taken its place")
        self.motion, motion.followed = motion, True

    def leave(self, sentence: str) -> None:
        """Follow what was followed no more, because of what the sentence says."""
        left = [motion for motion in (self.motion, self.stopping) if motion is not None]
        self.motion = self.stopping = None
        for motion in left:
            motion.withdrawn = True
            motion.over(sentence)

    def stop(self) -> None:
        """Come to rest on the path of what is followed."""
        self.motion, self.stopping = None, self.motion
        if self.stopping is not None:
            self.stopping.withdrawn = True

    def stopped(self) -> None:
        """The robot is at rest: whoever wanted that is told."""
        if self.stopping is not None:
            self.stopping.over("")
            self.stopping = None

    def judged(self, motion: Plan, now: int, wanted: Sample, seen: Seen) -> Verdict | None:
        """The verdict on what is followed, with which that ends; None while it goes on."""
        verdict = motion.judged(now, wanted, seen.positions, seen.velocities)
        if verdict is not None:
            self.motion, motion.withdrawn = None, True
        return verdict
