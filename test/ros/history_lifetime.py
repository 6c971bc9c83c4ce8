"""What was said in the life of one process of the node, command by command."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
from history_messages import MS, SECOND, Array, History, Life, Motion
from history_settings import Settings

import kane_dynamics as kd
from kane_dynamics.simulation.trajectory import Sample, trajectory_through

SILENT = ("closed", "nothing")
"""What is told where nothing is commanded."""

_NEWEST = 6  # states that are looked at first


class Plan:
    """A trajectory at a possible place in time.

    `misfit` is how far commands were from it, summed up.
    """

    def __init__(self, motion: Motion, reference: int) -> None:
        self.begin = reference
        self.misfit = 0.0
        self._motion = trajectory_through(
            motion.times, motion.positions, motion.velocities, motion.accelerations
        )

    def at(self, times: Array, windows: Sequence[tuple[float, float]]) -> Sample:
        """States at times (N,) in ns, with mean accelerations, for each of the windows.

        A window is a lead and a period in s, for which the mean is taken after the lead.
        """
        lead, period = np.array(windows).T[..., None]  # a row for each window
        late = np.concatenate([0.0 * lead, lead, lead + period])
        states = self.states((times + SECOND * late).ravel())
        positions, velocities = (
            x.reshape(3, len(windows), len(times), -1)
            for x in (states.positions, states.velocities)
        )
        mean = (velocities[2] - velocities[1]) / period[..., None]
        return Sample(*(x.reshape(-1, x.shape[-1]) for x in (positions[0], velocities[0], mean)))

    def states(self, times: Array) -> Sample:
        """States at times (N,) in ns."""
        return self._motion.sample((times - self.begin) / SECOND)


class Joined(Plan):
    """A trajectory that is joined, from a state of the arm that was wanted when it was taken up.

    As in kane_dynamics/ros/commands/references.py.
    """

    def __init__(self, plan: Plan, taken_up: float, before: Sample, speeds: Array) -> None:
        self.begin, self._motion, self.misfit = plan.begin, plan._motion, 0.0
        self._taken_up = taken_up
        wanted = plan.states(np.array([taken_up]))
        self._off = before.positions - wanted.positions[0]
        self._speed = before.velocities - wanted.velocities[0]
        shares = 9.375 * np.abs(self._off) / speeds, np.abs(self._speed) / speeds
        self._seconds = max(np.max(shares), 0.1)

    def states(self, times: Array) -> Sample:
        wanted, total = super().states(times), self._seconds
        s = np.clip((times - self._taken_up) / SECOND / total, 0.0, 1.0)[:, None]
        off = self._off * (1.0 - 10.0 * s**3 + 15.0 * s**4 - 6.0 * s**5)
        off = off + self._speed * total * (s - 6.0 * s**3 + 8.0 * s**4 - 3.0 * s**5)
        fading = self._off / total * (-30.0 * s**2 + 60.0 * s**3 - 30.0 * s**4)
        fading = fading + self._speed * (1.0 - 18.0 * s**2 + 32.0 * s**3 - 15.0 * s**4)
        return Sample(wanted.positions + off, wanted.velocities + fading, wanted.accelerations)


class Lifetime:
    """Commands of a process, and what they can have known.

    Attributes
    ----------
    sent : array (M,)
        When each command was sent.
    commands : array (M, n)
    words : list of set of str
        What was being done when each was sent.
    tripped : list of bool
        Whether something had been wrong before; then gains are the node's own.
    told : list of Told
    settings : Settings
    enablings : list of Enabling
    state_sent, state_time, q, v : arrays
        Joint states that are finite.
    plans : list of (int, list of Plan)
        Motions as they were asked for, each with all its possible places in time.
    timeout : int
        Age in ns beyond which a state explains nothing.
    """

    def __init__(self, history: History, life: Life, arm: kd.Dynamics) -> None:
        self.arm = arm
        self.limits, self.speeds = arm.limits.effort, arm.limits.velocity
        first, last = np.searchsorted(history.command_sent, [life.begin, life.end + SECOND])
        self.sent = history.command_sent[first:last]
        self.commands = history.commands[first:last]
        numbers = history.command_number[first:last]
        self.after_loss = np.append(True, np.diff(numbers) != 1)
        self.told = [t for t in history.told if life.begin <= t.sent <= life.end + SECOND]
        self.told_sent = [told.sent for told in self.told]
        self.settings = Settings(history, life)
        sound = np.isfinite(history.positions).all(axis=1)
        sound &= np.isfinite(history.velocities).all(axis=1)
        self.state_sent, self.state_time = history.state_sent[sound], history.state_time[sound]
        self.q, self.v = history.positions[sound], history.velocities[sound]
        self.enablings = [
            each for each in history.enablings if life.begin <= each.asked <= life.end
        ]
        self.plans = [
            (motion.asked, [Plan(motion, reference) for reference in motion.references])
            for motion in history.motions
            if life.begin <= motion.asked <= life.end
        ]
        self.plans_asked = [asked for asked, _ in self.plans]
        self.timeout = round(float(self.settings.first["state_timeout"]) * SECOND)
        self.words = [self._doing(k) for k in range(len(self.sent))]
        self.tripped = [self._is_tripped(k) for k in range(len(self.sent))]

    def enabled_between(self, begin: int, end: int) -> bool:
        """Whether somebody's wish to enable may have been heard from one time to another."""
        return any(
            each.on and each.asked <= end and (each.answered or end) >= begin
            for each in self.enablings
        )

    def _doing(self, k: int) -> set[str]:
        """What was being done when a command was sent.

        What is told right after it may have been so already, for a command goes out first.
        """
        sent = self.sent[k]
        after = self.sent[k + 1] if k + 1 < len(self.sent) else sent + SECOND
        first, last = bisect_right(self.told_sent, sent), bisect_left(self.told_sent, after)
        return {told.doing for told in self.told[max(first - 1, 0) : max(last, first)]}

    def _is_tripped(self, k: int) -> bool:
        """Whether it was told before a command that something was wrong."""
        last = bisect_right(self.told_sent, self.sent[k]) - 1
        return last >= 0 and self.told[last].state == "tripped"

    def begins(self, k: int) -> bool:
        """Whether a command has none before it that it could differ from: just enabled, or lost."""
        if self.after_loss[k]:
            return True
        first = bisect_right(self.told_sent, self.sent[k - 1])
        last = bisect_right(self.told_sent, self.sent[k])
        before = self.told[max(first - 1, 0) : last]
        return any(told.doing in SILENT for told in before)

    def recent(self, k: int, longest: int) -> Iterator[slice | np.ndarray]:
        """States that were no older than that when a command was computed: newest, then all."""
        since = self.sent[k - 1] if k else self.sent[k]
        end = int(np.searchsorted(self.state_sent, self.sent[k], "right"))
        first = int(np.searchsorted(self.state_sent, since - longest - MS))
        places = np.arange(first, end)
        ages_ok = self.state_time[places] >= since - longest - MS
        ages_ok &= self.state_time[places] <= self.sent[k] + longest + MS
        places = places[ages_ok]
        yield places[-_NEWEST:]
        if len(places) > _NEWEST:
            yield places
