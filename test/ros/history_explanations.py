"""Explains commands: by a recent joint state, or by the plan that is due."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from history_lifetime import SILENT, Joined, Lifetime, Plan
from history_messages import MS, SECOND, Array
from history_settings import Fade
from history_verdict import Verdict

from kane_dynamics.simulation.trajectory import Sample

_LIKELY_WINDOWS = [(lead, 0.002) for lead in (0.0005, 0.00075, 0.001)]
_WINDOWS = [
    (lead, period)
    for period in (0.002, 0.001, 0.003, 0.004, 0.005, 0.007, 0.012, 0.02)
    for lead in (0.0005, 0.001, 0.002, 0.005)
]
"""Seconds until a command has come, and until the next one has, as the node may expect it."""

_LIKELY = 4  # ways of joining a plan that are looked at closely
_STAGES = [(_LIKELY_WINDOWS, 0, 1), (_WINDOWS, 0, _LIKELY), (_LIKELY_WINDOWS, 1, _LIKELY)]
"""How a plan is looked for: in which windows, with the newest states or all, in how many ways."""

_CLOSE, _HELD = 1e-6, 1e-3  # of the effort limits: what counts as equal where all is known
_IN_MOTION = 0.003  # of the effort limits: the instant is known to some ms only
_FADED = 0.01  # of the effort limits: how exactly it is known what other parameters began with
_SLEWING = 0.15  # s, for which a command may be on its way without going as fast as it can
_SLOW = 0.8  # share of the velocity limit, up to which a floating arm is not held back
_ASKED = 12  # commands that are asked where the arm is held
_INSTANTS = 16  # between two commands, at which a plan may have been joined
_LOOKS = 3  # commands, at which a plan that has begun may be joined
_SETTLED = 30  # commands, after which it is known how a plan was joined
_IN_VAIN = 10  # commands, after which what explains them is not looked for everywhere
_MISFIT = 0.1  # of the effort limits: how much a command that does not fit at all counts
_GUESSES = 16  # states that one of them may have known
BLIND = round(3.6 * SECOND)
"""Ns: the longest time of braking without joint states, after a timeout."""


class Explanations:
    """Explains the commands of a process.

    Parameters
    ----------
    lifetime : Lifetime
    verdict : Verdict
        Told what is found.
    """

    def __init__(self, lifetime: Lifetime, verdict: Verdict) -> None:
        self._of, self._verdict = lifetime, verdict
        self._fade: Fade | None = None
        self._offset = np.zeros(len(lifetime.limits))
        self._ways: dict[int, list[Plan]] = {}
        """How the plans that were taken up can have been joined, the likeliest first."""
        self._looks: dict[int, tuple[tuple[int, int], int]] = {}
        self._way: Plan | None = None
        self._in_vain = 0
        """Commands one after the other that nothing has explained."""
        self._wanted: list[Callable[[Array], Sample]] = []
        """Where the arm can have been wanted until now, by the times (N,)."""

    def check(self, finite: np.ndarray) -> None:
        """Find commands that nothing explains, among those that are finite."""
        holds = self._held_places()
        floor, slewing = 0, np.full(len(self._of.limits), -1, dtype=np.int64)
        moved = np.zeros(len(self._of.limits))
        for k in range(len(self._of.sent)):
            words = self._of.words[k] - set(SILENT)
            if not finite[k] or not words:
                continue
            before = (
                self._of.commands[k - 1] if k and not self._of.begins(k) else self._of.commands[k]
            )
            how, away, floor = self._explain(k, words, before, holds.get(k), floor)
            self._in_vain = 0 if how else self._in_vain + 1
            if not how:
                self._verdict.found(self._of.sent[k], "explained", self._unexplained(k, words))
                away = np.zeros(len(self._of.limits), bool)
            self._verdict.explained[how or "not"] += 1
            self._remember(how, k, holds.get(k))
            # what is on its way for long must go as fast as it may
            moved = np.where(away, moved + np.abs(self._of.commands[k] - before), 0.0)
            slewing = np.where(away, np.where(slewing < 0, self._of.sent[k], slewing), -1)
            seconds = np.where(slewing < 0, 0.0, (self._of.sent[k] - slewing) / SECOND)
            rates = self._of.settings.smallest_rates(self._of.sent[k])
            idle = (seconds > _SLEWING) & (moved < 0.3 * rates * seconds)
            if idle.any():
                self._verdict.found(
                    self._of.sent[k],
                    "explained",
                    f"joint {int(idle.argmax())} is not commanded what a recent state explains "
                    f"for {seconds.max():.3g} s; {words}",
                )
                slewing[:] = -1

    def _unexplained(self, k: int, words: set[str]) -> str:
        age = (self._of.sent[k] - self._of.sent[max(k - 1, 0)]) / MS
        return (
            f"command {k}, {np.round(self._of.commands[k], 3).tolist()}, {age:.1f} ms after the "
            f"one before, while {'/'.join(sorted(words))}, is explained by no recent state and "
            "by no plan"
        )

    def _explain(
        self, k: int, words: set[str], before: Array, held: Array | None, floor: int
    ) -> tuple[str, np.ndarray, int]:
        """By what a command is explained, which joints are on their way to it, and the plan."""
        none = np.zeros(len(self._of.limits), bool)
        since = self._of.sent[k - 1] if k else self._of.sent[k]
        for values in self._of.settings.between(since, self._of.sent[k]):
            fade = self._fading(since, self._of.sent[k])
            if self._of.words[k] & set(SILENT):  # the last one holds the arm, whatever was before
                found = self._fit_states(k, before, self._still, _HELD, None)
                if found is not None and not found.any():
                    return "left behind", found, floor
            if "floating" in words:
                found = self._fit_states(k, before, self._floating(values), _CLOSE, fade)
                if found is not None:
                    return "floating", found, floor
            if "holding" in words and held is not None:
                law = self._held(values, held)
                found = self._fit_states(k, before, law, _HELD, fade)
                if found is not None and not (found.any() and self._of.tripped[k]):
                    return "holding", found, floor
                found = self._braked(k, values, before) if self._of.tripped[k] else None
                if found is not None:
                    return "held after a trip", found, floor
            if "following" in words:
                found, plan = self._followed(k, values, before, fade, floor)
                if found is not None:
                    return "following", found, plan
            if "braking" in words:
                found = self._braked(k, values, before)
                if found is not None:
                    return "braking", found, floor
        return "", none, floor

    def _fit_states(
        self, k: int, before: Array, law: Any, close: float, fade: Fade | None
    ) -> np.ndarray | None:
        for places in self._of.recent(k, self._of.timeout):
            if len(places):
                wanted, slack = law(self._of.q[places], self._of.v[places])
                found = self._fits(k, before, wanted, close + slack, fade)
                if found is not None:
                    return found
        return None

    def _fits(
        self, k: int, before: Array, wanted: Array, close: Any, fade: Fade | None
    ) -> np.ndarray | None:
        """Which joints are on their way to what is wanted, in the best of its rows (N, n).

        None if in no row every joint is there or on its way.
        """
        wanted = np.clip(wanted, -self._of.limits, self._of.limits)
        tolerance = np.asarray(close)[..., None] * self._of.limits + np.zeros_like(wanted)
        if fade is not None:
            tolerance = tolerance + self._faded(k, fade, np.abs(wanted - before))
        return self._among(k, before, wanted, tolerance, fade)

    def _among(
        self, k: int, before: Array, wanted: Array, tolerance: Array, fade: Fade | None = None
    ) -> np.ndarray | None:
        command = self._of.commands[k]
        there = np.abs(wanted - command) <= tolerance
        low, high = np.minimum(before, wanted) - tolerance, np.maximum(before, wanted) + tolerance
        fine = (there | ((command >= low) & (command <= high))).all(axis=1)
        if not fine.any():
            return None
        best = int(np.where(fine, there.sum(axis=1), -1).argmax())
        if fade is not None and fade.begins(self._of.sent[k]):
            self._offset = np.maximum(self._offset, np.abs(wanted - before)[best])
        away: np.ndarray = ~there[best]
        return away

    def _fading(self, begin: int, end: int) -> Fade | None:
        return self._of.settings.fade(begin, end, self._of.enablings)

    def _faded(self, k: int, fade: Fade, apart: Array) -> Array:
        """By how much a command may differ from what is wanted while that takes over.

        That is what the command differed by when it began to, or less.
        """
        if fade != self._fade:
            self._fade, self._offset = fade, np.zeros(len(self._of.limits))
        if fade.begins(self._of.sent[k]):
            return np.maximum(apart, self._offset) + _FADED * self._of.limits
        return self._offset + _FADED * self._of.limits

    # -------------------------------------------------------------------------------------- laws
    def _floating(self, values: dict[str, Any]) -> Any:
        def law(q: Array, v: Array) -> tuple[Array, Array]:
            damped = -np.array(values["float_damping"]) * v
            # near its limits it is held back besides
            fast = (np.abs(v) > _SLOW * self._of.speeds).any(axis=1)
            return self._of.arm.inverse_dynamics(q, 0.0 * v, damped), np.where(fast, 2.0, 0.0)

        return law

    def _still(self, q: Array, v: Array) -> tuple[Array, Array]:
        return self._of.arm.gravity(q), np.zeros(len(q))

    def _held(self, values: dict[str, Any], place: Array) -> Any:
        still = np.zeros_like(place)
        return lambda q, v: (
            self._feedback(values, Sample(place, still, still), q, v, False),
            np.zeros(len(q)),
        )

    def _feedback(
        self, values: dict[str, Any], wanted: Sample, q: Array, v: Array, follows: bool
    ) -> Array:
        kp, kd_ = np.array(values["kp"]), np.array(values["kd"])
        e, edot = wanted.positions - q, wanted.velocities - v
        if follows and values["control"] == "feedforward":
            return self._of.arm.inverse_dynamics(*(np.broadcast_to(x, q.shape) for x in wanted))
        if values["control"] == "pd":
            ahead = self._of.arm.inverse_dynamics(*(np.broadcast_to(x, q.shape) for x in wanted))
            return ahead + kp * e + kd_ * edot
        return self._of.arm.inverse_dynamics(q, v, wanted.accelerations + kp * e + kd_ * edot)

    def _followed(
        self, k: int, values: dict[str, Any], before: Array, fade: Fade | None, floor: int
    ) -> tuple[np.ndarray | None, int]:
        """The plans that were sent, the one that was followed last before later ones."""
        since = self._of.sent[k - 1] if k else self._of.sent[k]
        until = bisect_right(self._of.plans_asked, int(self._of.sent[k]))
        instants = _instants(since, self._of.sent[k], 6)
        on_its_way: tuple[np.ndarray | None, int] = None, floor
        plans = range(floor, until)
        looks = [self._look_for_ways(index, since, self._of.sent[k]) for index in plans]
        for index, count in zip(plans, looks):
            if count <= _LOOKS or count % _LOOKS == 0:
                self._weigh(k, index, instants, values)
        for stage, (windows, states, most) in enumerate(_STAGES):
            settled = on_its_way[0] is not None and min(looks) > _SETTLED
            if stage and (settled or self._in_vain > _IN_VAIN):
                break
            if stage == 1:
                for index in plans:
                    self._weigh(k, index, instants, values)
                instants = _instants(since, self._of.sent[k], 24)
            for index in plans:
                for way in self._ways[index][:most]:
                    wanted = way.at(instants, windows)
                    found = self._along(k, wanted, values, before, fade, states)
                    if found is not None and not found.any():
                        self._way = way
                        self._ways[index].sort(key=lambda each: each is not way)
                        return found, index
                    if on_its_way[0] is None and found is not None:
                        on_its_way, self._way = (found, index), way
        return on_its_way

    def _weigh(self, k: int, index: int, instants: Array, values: dict[str, Any]) -> None:
        """Add to the misfits of ways how far they are from a command; keep the better half."""
        places, ways = next(self._of.recent(k, self._of.timeout)), self._ways[index]
        if not (len(ways) > 1 and len(places)):
            return
        samples = [way.at(instants, _LIKELY_WINDOWS[:2]) for way in ways]
        wanted = Sample(*(np.concatenate(parts) for parts in zip(*samples)))
        each = np.tile(places, len(wanted.positions))
        goals = Sample(*(np.repeat(x, len(places), axis=0) for x in wanted))
        law = self._feedback(values, goals, self._of.q[each], self._of.v[each], True)
        off = (np.abs(law - self._of.commands[k]) / self._of.limits).max(axis=1)
        for way, misfit in zip(ways, off.reshape(len(ways), -1).min(axis=1)):
            way.misfit += min(float(misfit), _MISFIT)
        ways.sort(key=lambda way: way.misfit)
        if self._looks[index][1] > _LOOKS:
            del ways[max(len(ways) // 2, _LIKELY) :]

    def _look_for_ways(self, index: int, since: int, sent: int) -> int:
        """Note how a plan may be joined now, if it has only just begun, or something was told.

        How many commands there have been since then.
        """
        plans = [plan for plan in self._of.plans[index][1] if plan.begin <= sent + MS]
        moment = len(plans), bisect_right(self._of.told_sent, sent)
        before, looks = self._looks.get(index, (moment, 0))
        looks = looks + 1 if moment == before else 1
        self._looks[index] = moment, looks
        ways = self._ways.setdefault(index, [])
        if looks <= _LOOKS:
            ways += self._joined(plans, since, sent)
        return looks

    def _joined(self, plans: list[Plan], since: int, sent: int) -> list[Plan]:
        """Plans as they are, and joined from where the arm can have been wanted until then."""
        return plans + [
            Joined(plan, t, Sample(*(x[0] for x in wanted(np.array([t])))), self._of.speeds)
            for plan in plans
            for wanted in self._wanted
            for t in _instants(since, sent, _INSTANTS)
        ]

    def _remember(self, how: str, k: int, held: Array | None) -> None:
        """Note where the arm is wanted, from which the next plan is joined."""
        if how == "following" and self._way is not None:
            self._wanted = [self._way.states]
        elif how == "holding" and held is not None:
            self._wanted = [_still(held)]
        else:
            places = next(self._of.recent(min(k + 1, len(self._of.sent) - 1), self._of.timeout))
            self._wanted = [_moving(self._of.q[at], self._of.v[at]) for at in places[-4:]]

    def _along(
        self,
        k: int,
        wanted: Sample,
        values: dict[str, Any],
        before: Array,
        fade: Fade | None,
        states: int,
    ) -> np.ndarray | None:
        """Which joints are on their way to the torques of a plan at one of some instants."""
        best = None
        places = [*self._of.recent(k, self._of.timeout)][-states]
        if values["control"] != "feedforward" and len(places):
            each = np.tile(places, len(wanted.positions))
            goals = Sample(*(np.repeat(x, len(places), axis=0) for x in wanted))
            law = self._feedback(values, goals, self._of.q[each], self._of.v[each], True)
            best = self._fits(k, before, law, _IN_MOTION, fade)
            if best is not None and not best.any():
                return best
        # without feedback; or states are late, and the motion goes on as planned
        found = self._fits(k, before, self._of.arm.inverse_dynamics(*wanted), _IN_MOTION, fade)
        return found if best is None or (found is not None and not found.any()) else best

    def _braked(self, k: int, values: dict[str, Any], before: Array) -> np.ndarray | None:
        """Which joints are on their way to torques that brake the arm from a state it was in."""
        best = None
        for longest in (self._of.timeout, BLIND):
            for places in self._of.recent(k, longest):
                if not len(places):
                    continue
                q, v = self._of.q[places], self._of.v[places]
                speed = np.abs(v).max(axis=0) + 0.05
                kp, kd_ = np.array(values["kp"]), np.array(values["kd"])
                torque = np.zeros_like(q)
                bound = 15.0 * speed
                if values["control"] == "pd":
                    torque = torque + kp * 0.12 + 1.2 * kd_ * speed
                else:
                    bound = bound + kp * 0.12 + 1.2 * kd_ * speed
                needed = self._of.arm.inverse_dynamics(q, v, 0.0 * v)
                most = np.abs(self._of.arm.mass_matrix(q)) @ bound + torque
                most = most + np.abs(needed - self._of.arm.gravity(q))
                found = self._among(k, before, needed, most)
                if found is not None and not found.any():
                    return found
                best = found if best is None else best
        return best

    # ------------------------------------------------------------------------------------ holding
    def _held_places(self) -> dict[int, Array]:
        """Where the arm is held at each command that holds it.

        No message says where. But it is one place for as long as it is held, so most commands of
        such a time, with the states that were known, tell it.
        """
        places: dict[int, Array] = {}
        for run in self._holding_runs():
            sure = [k for k in run if self._fading(self._of.sent[k - 1], self._of.sent[k]) is None]
            asked = (sure or run)[:: max(len(sure or run) // _ASKED, 1)]
            newest = np.median([self._implied(k, self._known(k)[-1:]) for k in asked], axis=0)[0]
            place = newest
            if not all(self._is_held_at(k, newest) for k in asked):
                guesses = [
                    guess
                    for k in (*asked[:3], *asked[-3:])
                    for guess in self._implied(k, self._known(k)[-_GUESSES:])
                ]
                guesses += list(self._of.q[self._known(run[0])[-_GUESSES:]])  # just enabled
                place = max(
                    [newest, *guesses],
                    key=lambda guess: sum(self._is_held_at(k, guess) for k in asked),
                )
            places.update((k, place) for k in run)
        return places

    def _known(self, k: int) -> np.ndarray:
        """Some states that had been sent before a command."""
        come = int(np.searchsorted(self._of.state_sent, self._of.sent[k] - MS // 4, "right"))
        return np.arange(max(come - _GUESSES, 0), max(come, 1))

    def _is_held_at(self, k: int, place: Array) -> bool:
        values = self._of.settings.between(self._of.sent[k], self._of.sent[k])[0]
        command = self._of.commands[k]
        fade = self._fading(self._of.sent[k - 1], self._of.sent[k])
        return self._fit_states(k, command, self._held(values, place), _HELD, fade) is not None

    def _holding_runs(self) -> Iterator[list[int]]:
        """Commands in the course of which nothing was told or enabled, and it was held."""
        run: list[int] = []
        marks = sorted(
            {told.sent for told in self._of.told}
            | {each.answered for each in self._of.enablings if each.answered}
            | {each.asked for each in self._of.enablings}
            | set(self._of.settings.idle_answered)
        )
        for k, words in enumerate(self._of.words):
            broken = bool(run) and bisect_right(marks, self._of.sent[run[-1]]) != bisect_right(
                marks, self._of.sent[k]
            )
            if broken or "holding" not in words:
                if run:
                    yield run
                run = []
            if "holding" in words:
                run.append(k)
        if run:
            yield run

    def _implied(self, k: int, known: np.ndarray) -> Array:
        """Where the arm is to be that is commanded so, by each of some states."""
        values = self._of.settings.between(self._of.sent[k], self._of.sent[k])[0]
        q, v, command = self._of.q[known], self._of.v[known], self._of.commands[k]
        kp, kd_ = np.array(values["kp"]), np.array(values["kd"])
        if values["control"] == "pd":
            place = q
            for _ in range(30):
                place = q + (command - self._of.arm.gravity(place) + kd_ * v) / kp
            return place
        lacking = command - self._of.arm.inverse_dynamics(q, v, 0.0 * v)
        accelerations = np.linalg.solve(self._of.arm.mass_matrix(q), lacking[..., None])[..., 0]
        implied: Array = q + (accelerations + kd_ * v) / kp
        return implied


def _instants(since: int, sent: int, count: int) -> Array:
    """Times between two commands, the last first: most are computed shortly before being sent."""
    late = np.linspace(max(since, sent - 4 * MS), sent, count)
    return np.unique(np.append(late, np.linspace(max(since, sent - 20 * MS), sent, 5)))[::-1]


def _moving(position: Array, velocity: Array) -> Callable[[Array], Sample]:
    return lambda times: Sample(
        *(np.broadcast_to(x, (len(times), len(x))) for x in (position, velocity, 0.0 * velocity))
    )


def _still(place: Array) -> Callable[[Array], Sample]:
    return _moving(place, 0.0 * place)
