"""Judges a history by its messages alone: is every command finite, within limits, explained?

When a command was computed no message says; but a node computes one after it has sent the one
before. So it was between the times at which the two were sent, however late the machine was.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import numpy as np
from action_msgs.msg import GoalStatus
from history_explanations import BLIND, Explanations
from history_lifetime import SILENT, Lifetime
from history_messages import MS, SECOND, Array, History
from history_verdict import Verdict

import kane_dynamics as kd

LONGEST_STEP = 0.05
"""Seconds that count between two commands, as in kane_dynamics/ros/commands/output.py."""

_CARING = ("braking", "tripped", "closed")
_TERMINAL = (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)
_SUCCEEDED_WITHIN = 0.05, 0.01  # rad and rad/s


def check(history: History, dynamics: kd.Dynamics) -> Verdict:
    """Judge a history.

    Parameters
    ----------
    history : History
    dynamics : kd.Dynamics
        Of the robot; its joints are in the order of the messages.
    """
    verdict = Verdict()
    _check_goals(history, verdict)
    for life in history.lives:
        _LifeChecker(Lifetime(history, life, dynamics), verdict).check()
    return verdict


# ------------------------------------------------------------------------------------------ goals
def _check_goals(history: History, verdict: Verdict) -> None:
    """Each goal ends once, and none succeeds that is not at its end."""
    succeeded: dict[bytes, int] = {}
    for when, identity, status in history.statuses:
        if status == GoalStatus.STATUS_SUCCEEDED:
            succeeded.setdefault(identity, when)
    for goal in history.goals:
        killed = any(life.killed and life.begin <= goal.asked <= life.end for life in history.lives)
        if len(goal.results) != 1 and not killed:
            verdict.found(goal.asked, "results", f"a goal has {len(goal.results)} results")
        for when, status, _, _ in goal.results:
            if status not in _TERMINAL:
                verdict.found(when, "results", f"a goal has ended in status {status}")
            if status != GoalStatus.STATUS_SUCCEEDED:
                continue
            sent = succeeded.get(goal.identity, when)  # its result may have been read late
            if not goal.sound:
                verdict.found(when, "success", "a goal that nobody can follow has succeeded")
            elif not _was_at(history, goal.last, sent):
                verdict.found(when, "success", "a goal has succeeded that was not at its end")
    ended: dict[bytes, int] = {}
    for when, identity, status in history.statuses:
        before = ended.get(identity)
        if before is not None and status != before:
            verdict.found(when, "results", f"a goal that ended as {before} is now {status}")
        if status in _TERMINAL:
            ended[identity] = status


def _was_at(history: History, last: Array, when: int) -> bool:
    """Whether joint states said, at most 1.5 s before, that the arm was at rest there."""
    first, end = np.searchsorted(history.state_sent, [when - 3 * SECOND // 2, when])
    off = np.abs(history.positions[first:end] - last).max(axis=1)
    speeds = np.abs(history.velocities[first:end]).max(axis=1)
    near, slow = _SUCCEEDED_WITHIN
    return bool(((off <= near + 1e-9) & (speeds <= slow + 1e-9)).any())


class _LifeChecker:
    """Judges what one process of the node has commanded."""

    def __init__(self, lifetime: Lifetime, verdict: Verdict) -> None:
        self._of, self._verdict = lifetime, verdict

    def check(self) -> None:
        self._check_told()
        if not len(self._of.commands):
            return
        finite = self._check_numbers()
        self._check_slew()
        self._check_silence()
        self._check_last_commands()
        Explanations(self._of, self._verdict).check(finite)

    # ------------------------------------------------------------------------- what was told
    def _check_told(self) -> None:
        """After a trip, nothing is followed until somebody enables."""
        tripped: int | None = None
        for told in self._of.told:
            if told.state == "tripped":
                tripped = told.sent
            elif tripped is not None and told.state not in _CARING:
                if not self._of.enabled_between(tripped, told.sent):
                    self._verdict.found(
                        told.sent, "trip", f"{told.state} after a trip, without being enabled"
                    )
                tripped = None
            elif told.state == "closed":
                tripped = None

    # ---------------------------------------------------------------------- numbers and steps
    def _check_numbers(self) -> np.ndarray:
        finite = np.isfinite(self._of.commands).all(axis=1)
        for k in np.flatnonzero(~finite):
            self._verdict.found(self._of.sent[k], "finite", f"{self._of.commands[k]} is commanded")
        over = (np.abs(self._of.commands) > self._of.limits * (1.0 + 1e-9)).any(axis=1) & finite
        for k in np.flatnonzero(over):
            self._verdict.found(self._of.sent[k], "limit", f"{self._of.commands[k]} is commanded")
        return finite

    def _check_slew(self) -> None:
        """No step is larger than the rate times the time since the command before.

        With the earliest times at which commands can have been computed, step by step.
        """
        computed = 0.0
        for k in range(len(self._of.sent)):
            sent = float(self._of.sent[k] - self._of.sent[0])
            if k == 0 or self._of.begins(k):
                computed = float(self._of.sent[k - 1] - self._of.sent[0]) if k else -SECOND
                continue
            step = np.abs(self._of.commands[k] - self._of.commands[k - 1])
            if not np.isfinite(step).all():
                continue
            rates = self._of.settings.largest_rates(self._of.sent[k - 1], self._of.sent[k])
            needed = float((step / rates).max())
            before = float(self._of.sent[k - 1] - self._of.sent[0])
            computed = max(before, computed + needed * SECOND)
            if needed > LONGEST_STEP * (1.0 + 1e-6) or computed > sent + 1000.0:
                joint = int((step / rates).argmax())
                self._verdict.found(
                    self._of.sent[k],
                    "step",
                    f"joint {joint} steps by {step[joint]:.4g}, {1e-6 * (sent - before):.3f} ms "
                    f"after the command before, for which it needs {1e3 * needed:.3f} ms",
                )
                computed = before

    def _check_silence(self) -> None:
        for k, words in enumerate(self._of.words):
            if words and words <= set(SILENT):
                self._verdict.found(self._of.sent[k], "silence", f"a command while {words}")

    # --------------------------------------------------------------------------------- the last one
    def _check_last_commands(self) -> None:
        """Before silence, the last command holds the arm about where it was."""
        for told in self._of.told:
            k = bisect_right(self._of.sent, told.sent) - 1
            if told.doing not in SILENT or k < 0 or told.sent - self._of.sent[k] > 50 * MS:
                continue
            if self._of.words[k] <= set(SILENT):
                continue
            if not self._holds_somewhere(k):
                self._verdict.found(
                    self._of.sent[k],
                    "left behind",
                    f"the last command, {np.round(self._of.commands[k], 3).tolist()}, holds the "
                    "arm nowhere near",
                )

    def _holds_somewhere(self, k: int) -> bool:
        end = int(np.searchsorted(self._of.state_sent, self._of.sent[k], "right"))
        first = int(np.searchsorted(self._of.state_sent, self._of.sent[k] - BLIND))
        q, v = self._of.q[first:end], self._of.v[first:end]
        travel = 0.3 * np.abs(v).max(axis=1)  # rad, until it rests
        off = np.abs(self._of.arm.gravity(q) - self._of.commands[k]) / self._of.limits
        return bool((off <= (1e-3 + 0.4 * travel)[:, None]).all(axis=1).any())


def pauses(history: History) -> list[float]:
    """Times in s, longer than 50 ms, for which nothing was commanded."""
    gaps = (later - earlier for earlier, later in pairwise(history.command_sent.tolist()))
    return [gap / SECOND for gap in gaps if gap > 50 * MS]
