"""What is commanded at every joint state: the robot floats, holds, follows, or is brought to rest.

A trip ends the motion, not the care: while joint states can be trusted, the robot is braked within
its effort limits, and then held or let float. Where they cannot, it is braked as the model says
that it moves on from the last good state, and the last command is the torque that holds it there.

All times are whole nanoseconds of one clock, which the caller chooses and nobody sets back.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.commands.bounds import Bounds
from kane_dynamics.ros.commands.followed import Followed
from kane_dynamics.ros.commands.output import FADING
from kane_dynamics.ros.commands.rhythm import Rhythm
from kane_dynamics.ros.commands.state import State
from kane_dynamics.ros.commands.torques import Torques
from kane_dynamics.ros.commands.trust import Seen, Trust
from kane_dynamics.ros.commands.unseen import Unseen
from kane_dynamics.ros.commands.wanted import Wanted
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.trajectories.plans import Plan
from kane_dynamics.ros.trajectories.verdicts import Code
from kane_dynamics.simulation.trajectory import Sample

TICK = 0.005
"""Seconds between calls of `tick` while the robot moves."""

_HARD, _SOFT = 0.9, 0.7
"""Shares of the effort limits with which a fault and a request bring the robot to rest."""

_NEARLY_AT_REST = 0.05  # share of the usual speed
_PAUSE, _PAUSE_PERIODS = 0.01, 4.0  # s, or periods, after which a motion goes on without a state
_MISSED = 0.5  # share of the timeout, after which a robot in motion misses joint states
_CATCH_UP = SECOND // 200  # ns without a command, while newer joint states are waiting
_LET_SETTLE = 3 * SECOND // 10  # ns under feedback, before a robot that moved is left to itself
_KEPT = ("state", "reason", "tripped", "_after", "_rhythm")
_UNSEEN_DAMPING = 0.5 / TICK  # 1/s


class Commander:
    """Torques of a robot at every joint state, from when it is enabled until it is disabled.

    Parameters
    ----------
    due : callable
        The motion that is due at a time in ns, None if none is.

    Attributes
    ----------
    state : State
    reason : str
        Why the robot is being braked, or was.
    tripped : bool
        Whether something was wrong since it was enabled; then no motion is followed.
    """

    def __init__(self, model: Model, settings: Settings, due: Callable[[int], Plan | None]) -> None:
        self.model, self._settings = model, settings
        self.state = State.CLOSED
        self.reason = ""
        self.tripped = False
        self._torques = Torques(model, settings)
        self._law, self._output = self._torques.law, self._torques.output
        self._trust = Trust(model)
        self._unseen = Unseen(model, self._law)
        self._bounds = Bounds(model, settings)
        self._wanted = Wanted(model)
        self._followed = Followed(due)
        self._after = State.FLOATING
        self._rhythm = Rhythm()

    # --------------------------------------------------------------------------------- parameters
    def configure(self, settings: Settings, now: int) -> None:
        """Take other parameters over, without a jump of the torques.

        Raises ArgumentError if one of them has the wrong number of entries for this robot; then
        none is taken over.
        """
        self._torques.configure(settings)
        bounds = Bounds(self.model, settings)
        before, self._settings, self._bounds = self._settings, settings, bounds
        if self.state is not State.CLOSED:
            if self._trust.last is not None:
                bounds.begin(self._trust.last.positions)
            self._output.fade(now)
            if settings.idle != before.idle and self.state in (State.FLOATING, State.HOLDING):
                self._idle()

    # ------------------------------------------------------------------------ enabled and disabled
    @property
    def enabled(self) -> bool:
        """Whether commands go out, or would if joint states could be trusted."""
        return self.state is not State.CLOSED

    @property
    def blind(self) -> bool:
        """Whether commands are due, and joint states cannot be trusted."""
        return self.state is State.BRAKING and not self._trust.holds

    def enable(self, seen: Seen, now: int) -> None:
        """Command the robot from this state on.

        Raises ArgumentError if the state is too old or cannot be true, or the base is not fixed.
        """
        self.model.check_driven(seen.positions)
        sentence = self._trust.too_old(seen.times, now, self._settings.state_timeout)
        sentence = sentence or self._trust.absurd(seen)
        if not sentence and self.blind:
            sentence = f"joint states cannot be trusted yet, try again in a moment: {self.reason}"
        if sentence:
            raise ArgumentError(sentence)
        tripped, self.tripped = self.tripped, False
        if self.state in (State.CLOSED, State.NOTHING):
            self.reason = ""
            self._rhythm.begin(now)
            self._trust.begin(seen)
            self._bounds.begin(seen.positions)
            self._law.forget()
            self._output.begin(self._torques.still(seen.positions), now, self._settings.ramp_time)
            self._idle()
        elif self.state is State.BRAKING:
            self._after = self._resting_state
        elif tripped:
            self.reason = ""
            self._output.fade(now)
            self._idle()

    def disable(self, now: int, why: str = "effort commands are switched off") -> None:
        """Bring the robot to rest, leave it with a torque that holds it, and fall silent."""
        if self.state is State.CLOSED:
            return
        if self.state is State.NOTHING or self._trust.last is None:
            self._close()
            return
        self._after, self.reason = State.CLOSED, why
        if self.state is not State.BRAKING:
            self._brake(now, _SOFT)
        self._followed.leave(why)

    def _close(self) -> None:
        self.state, self.reason, self.tripped = State.CLOSED, "", False

    def check_start(self, motion: Plan, now: int) -> None:
        """Raise an ArgumentError if the robot is too far from where a motion begins that is due."""
        last = self._trust.last
        if last is not None and self._followed.due(now) is None and motion.begin <= now:
            sentence = self._bounds.too_far_off(motion.at(now).positions, last.positions)
            if sentence:
                raise ArgumentError(sentence)

    def stop_following(self, observer: object, now: int) -> bool:
        """Come to rest along the path of what an observer sees; whether that is followed."""
        motion = self._followed.motion
        followed = motion is not None and motion.observer is observer
        if followed:
            self.stop(now)
        return followed

    def wanted(self, now: int) -> Sample | None:
        """Where the robot is wanted to be under feedback; None where it is not under feedback."""
        if self.state in (State.HOLDING, State.FOLLOWING, State.BRAKING) and self._trust.holds:
            return self._wanted.at(now)
        return None

    def successor(self, model: Model, sentence: str, now: int) -> Commander:
        """What goes on in this one's place for another model of the same joints, tripped."""
        self.trip(sentence, now)
        other = Commander(model, self._settings, self._followed.due)
        for name in _KEPT:
            setattr(other, name, getattr(self, name))
        other._wanted.reference = self._wanted.reference
        other._unseen.believed = self._unseen.believed
        if self.state is not State.CLOSED and self._trust.last is not None:
            other._trust.begin(self._trust.last)
            other._bounds.begin(self._trust.last.positions)
            if not self._trust.holds:
                other._trust.doubt(now)
            other._output.begin(self._output.last, now, FADING)
        return other

    # ----------------------------------------------------------------------------- what is stopped
    def trip(self, sentence: str, now: int) -> None:
        """End the motion, because something is wrong."""
        if self.state in (State.CLOSED, State.NOTHING):
            return
        ends = self._after is State.CLOSED and self.state is State.BRAKING
        if not ends:
            self._end_motion(sentence, now)
        self._followed.leave(sentence)

    def _end_motion(self, sentence: str, now: int) -> None:
        again = self.tripped and self.state is State.BRAKING
        if not self.tripped:
            self.reason = sentence
        self.tripped = True
        self._after = State.HOLDING if self._settings.after_trip == "hold" else State.FLOATING
        if not again:
            self._brake(now, _HARD)

    def doubt(self, sentence: str, now: int) -> None:
        """Trust joint states no more for a while, and end the motion.

        What is being braked for a fault already is braked on as it is, only unseen.
        """
        if self.state in (State.CLOSED, State.NOTHING):
            return
        if self._trust.holds:
            self._unseen.believed = None
        self._trust.doubt(now)
        self.trip(sentence, now)

    def stop(self, now: int) -> None:
        """Come to rest along the path, and hold; whoever wants the motion is told so when it is.

        What is being brought to rest already comes to rest as it does.
        """
        if self.state in (State.CLOSED, State.NOTHING, State.BRAKING) or not self._trust.holds:
            return
        self._followed.stop()
        self._after = State.HOLDING
        if not self.tripped:
            self.reason = "stopped on request"
        if self._followed.stopping is None:
            self._brake(now, _SOFT)
            return
        self._wanted.slow_down(now, _SOFT)
        self._begin_braking()

    def _brake(self, now: int, share: float) -> None:
        """Come to rest from where the robot is."""
        assert self._trust.last is not None
        positions, velocities, _ = self._trust.last
        if not self._trust.holds:
            self._law.recall()
            positions, velocities = self._unseen.at(self._trust.last, now)
            self._unseen.believe(positions, velocities, now)
        if self._unseen.at_rest(velocities):
            self._wanted.rest(positions)
        else:
            self._wanted.brake(positions, velocities, now, share)
        self._begin_braking()

    def _begin_braking(self) -> None:
        self.state = State.BRAKING
        self._torques.renew_gains()

    # ---------------------------------------------------------------------------- at a joint state
    def step(self, seen: Seen, now: int, more: bool = False) -> Array | None:
        """Torques (n,) to command at a joint state; None if nothing is.

        Parameters
        ----------
        more : bool
            Whether newer joint states are waiting: then old ones mean nothing.
        """
        if self.state is State.CLOSED:
            return None
        sentence = self._trust.too_old(seen.times, now, self._settings.state_timeout)
        if sentence:
            return None if more else self._distrust(sentence, now)
        if more and now - self._rhythm.stepped < _CATCH_UP and self._trust.holds:
            return None  # where the robot is will be known in a moment
        gap = (now - self._rhythm.stepped) / SECOND
        self._rhythm.came(seen.times, now)
        trusted = self._trust.holds
        sentence = self._trust.take(seen, now)
        if sentence:
            self._rhythm.cautious = True
            return self._distrust(sentence, now)
        if not self._trust.holds:
            return self.tick(now)
        if not trusted:  # it may be elsewhere than where the model took it to be
            self._bounds.begin(seen.positions)
            self._brake(now, _HARD)
        elif gap > self._settings.state_timeout:
            self.trip(f"no joint state was served for {gap:.3g} s", now)
        return self._cared_for(seen, now)

    def tick(self, now: int) -> Array | None:
        """Torques to command without a joint state that can be trusted; None if nothing is."""
        if self.state in (State.CLOSED, State.NOTHING):
            return None
        assert self._trust.last is not None
        if self._trust.holds:
            times = self._trust.last.times
            sentence = self._trust.too_old(times, now, self._settings.state_timeout)
            sentence = sentence or self._missed(now)
            return self._distrust(sentence, now) if sentence else self._unseen_motion(now)
        wanted = self._ahead(now, TICK)
        resting = now >= self._wanted.end
        torques = (
            self._law.still(wanted.positions)
            if resting
            else self._unseen.braking(wanted, self._trust.last, now, _UNSEEN_DAMPING)
        )
        command = self._shaped(torques, wanted.positions, now, True)
        if resting and self._output.settled:
            if self._after is State.CLOSED:
                self._close()
            else:
                self.state = State.NOTHING
        return command

    @property
    def _moves(self) -> bool:
        return self.state in (State.FOLLOWING, State.BRAKING)

    def _missed(self, now: int) -> str:
        """The sentence about joint states that a robot in motion misses; empty if it does not.

        It is braked sooner than one at rest: friction that nobody knows of drives it off its path.
        """
        timeout = self._settings.state_timeout
        most = max(_MISSED * timeout, _PAUSE_PERIODS * self._rhythm.period)
        gap = (now - self._rhythm.stepped) / SECOND
        missed = self._moves and gap > min(most, timeout)
        return f"no joint state has come for {gap:.3g} s, and the robot moves" if missed else ""

    def _unseen_motion(self, now: int) -> Array | None:
        """Torques of a motion whose joint states are late: it goes on as the model says.

        So it does beyond its end, where it is held: the torques of its last deceleration would
        drive the robot back.
        """
        pause = max(_PAUSE, _PAUSE_PERIODS * self._rhythm.period)
        if not self._moves or now - self._rhythm.stepped < pause * SECOND:
            return None
        assert self._trust.last is not None
        wanted = self._ahead(now, TICK)
        torques = self._unseen.moving_on(wanted, self._trust.last, now)
        return self._shaped(torques, wanted.positions, now, True)  # no feedback makes up for a fade

    def _ahead(self, now: int, until_next: float) -> Sample:
        """State that is wanted now, with the acceleration for so many seconds from then on."""
        return self._wanted.ahead(now, self._rhythm.lead, until_next)

    def _distrust(self, sentence: str, now: int) -> Array | None:
        if self.state is State.NOTHING:
            self._trust.doubt(now)
        else:
            self.doubt(sentence, now)
        return self.tick(now)

    def _cared_for(self, seen: Seen, now: int) -> Array | None:
        """Torques at a state that can be trusted."""
        seconds = self._rhythm.step(seen.times, now)
        if self.state is State.FOLLOWING:
            acting = self._torques.acting(self._output.last, seen.positions)
            self._unseen.see(acting, seen, now, seconds)
        else:
            self._unseen.friction.look_away()
        if self.state is State.BRAKING and self._wanted.is_lost(seen.positions, now):
            self._brake(now, _HARD)
        self._supervise(seen, now)
        self._follow_due(seen, now)
        if self._rests(seen, now):
            if self._after is State.CLOSED:
                return self._leave_behind(seen, now)
            self._care_on(now)
        if self.state is State.FLOATING:
            torques = self._torques.floating(seen, self._bounds, self._rhythm.period)
        else:
            torques = self._tracking(seen, now, seconds)
            if now >= self._wanted.end and self._is_slow(seen.velocities):
                self._law.rested(torques, seen.positions, seconds)
        return self._shaped(torques, seen.positions, now, self.state is State.BRAKING)

    def _is_slow(self, velocities: Array) -> bool:
        return bool((np.abs(velocities) <= _NEARLY_AT_REST * self.model.usual_speeds).all())

    def _supervise(self, seen: Seen, now: int) -> None:
        """Trip at limits of speed and position."""
        sentence = self._bounds.too_fast(seen.velocities)
        # what was tripped is held: to brake it anew would only hold it a little farther out
        held = self.state is State.HOLDING and not self.tripped
        if not sentence and (held or self.state is State.FOLLOWING):
            sentence = self._bounds.too_far(seen.positions, seen.velocities)
        if sentence and self.state is not State.BRAKING:
            self.trip(sentence, now)

    # -------------------------------------------------------------------------------- what is due
    def _follow_due(self, seen: Seen, now: int) -> None:
        if self.tripped or self.state is State.BRAKING:
            return
        motion = self._followed.other(now)
        if motion is not None:
            self._take_up(motion, seen, now)
        if self._followed.motion is not None:
            self._watch_over(self._followed.motion, seen, now)

    def _take_up(self, motion: Plan, seen: Seen, now: int) -> None:
        """Follow another motion, if the robot is where that begins."""
        sentence = self._bounds.too_far_off(motion.at(now).positions, seen.positions)
        if sentence:
            motion.withdraw(sentence)
            return
        before: Sample | None = Sample(*seen[:2], np.zeros_like(seen.positions))
        if self.state is not State.FLOATING:
            before = self._wanted.at(now)
        if self._settings.control == "feedforward":  # which does not ask where the robot is
            before = None
        self._followed.take_up(motion)
        self._wanted.follow(motion, before, now)
        self.state = State.FOLLOWING
        self._torques.renew_gains()

    def _watch_over(self, motion: Plan, seen: Seen, now: int) -> None:
        """End a motion that is done, or cannot be followed."""
        wanted = (self._wanted if self._wanted.is_followed(motion) else motion).at(now)
        verdict = self._followed.judged(motion, now, wanted, seen)
        if verdict is None:
            return
        if verdict.code is Code.SUCCESSFUL:
            self._rest_at(motion.at(max(now, motion.end + 1)).positions)
        elif motion.trips:
            self.trip(verdict.sentence, now)
        else:
            self.reason, self._after = verdict.sentence, State.HOLDING
            self._brake(now, _HARD)

    def _rest_at(self, positions: Array) -> None:
        self._wanted.rest_after_joining(positions)
        floats = self._settings.control == "feedforward"
        self.state = State.FLOATING if floats else State.HOLDING

    def _rests(self, seen: Seen, now: int) -> bool:
        """Whether the robot has been brought to rest, or has had long enough for it."""
        late = now - self._wanted.end
        if self.state is not State.BRAKING or late < 0:
            return False
        if self._after is State.CLOSED and self._wanted.end and late < _LET_SETTLE:
            return False
        return self._is_slow(seen.velocities) or late > SECOND

    def _care_on(self, now: int) -> None:
        """Hold or let float a robot that was brought to rest."""
        self.state = self._after
        self._torques.renew_gains()
        self._wanted.rest(self._wanted.at(now).positions)
        self._followed.stopped()
        if not self.tripped:
            self.reason = ""

    def _leave_behind(self, seen: Seen, now: int) -> Array:
        """Go over to the command that holds the robot when no other follows."""
        command = self._shaped(self._law.still(seen.positions), seen.positions, now, True)
        if self._output.settled:
            self._close()
        return command

    def _idle(self) -> None:
        """Do what is done when nothing is wanted."""
        assert self._trust.last is not None
        self._wanted.rest(self._trust.last.positions.copy())
        self.state = self._resting_state
        self._torques.renew_gains()

    @property
    def _resting_state(self) -> State:
        return State.HOLDING if self._settings.idle == "hold" else State.FLOATING

    # ------------------------------------------------------------------------------------ torques
    def _tracking(self, seen: Seen, now: int, seconds: float) -> Array:
        wanted = self._ahead(now, self._rhythm.period)
        if self._settings.control == "feedforward" and self.state is State.FOLLOWING:
            return self._law.feedforward(wanted)
        delay = self._rhythm.delay
        return self._torques.tracking(seen, wanted, now, seconds, delay, usual=self.tripped)

    def _shaped(self, torques: Array, positions: Array, now: int, urgent: bool = False) -> Array:
        """The command for torques that are wanted; what it does is reckoned."""
        if not np.isfinite(torques).all():
            self._law.forget()
            torques = self._law.still(self._trust.last.positions)  # type: ignore[union-attr]
            self.trip("the torques are not finite numbers", now)
        command = self._torques.command(torques, positions, now, urgent)
        acting = self._torques.acting(command, positions)
        self._unseen.commanded(acting, now + round(self._rhythm.lead * SECOND))
        return command

    @property
    def saturation(self) -> str:
        """The sentence about a joint whose effort limit the last command lacks; empty if none."""
        return self._torques.saturation
