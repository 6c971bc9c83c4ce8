"""What is commanded at every joint state: the robot floats, holds, follows, or is brought to rest.

A trip ends the motion, not the care: while joint states can be trusted, the robot is braked within
its effort limits, and then held or let float. Where they cannot, it is braked as the model says
that it moves on from the last good state, and the last command is the torque that holds it there.

All times are whole nanoseconds of one clock, which the caller chooses and nobody sets back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.commands.bounds import Bounds
from kane_dynamics.ros.commands.law import Gains, Law, per_joint
from kane_dynamics.ros.commands.output import FADING, Output
from kane_dynamics.ros.commands.reckoning import Reckoning
from kane_dynamics.ros.commands.references import Braking, Reference, Rest, Slowing, soonest
from kane_dynamics.ros.commands.rhythm import Rhythm
from kane_dynamics.ros.commands.trust import Seen, Trust
from kane_dynamics.ros.commands.wishes import Motion, Saturation, State
from kane_dynamics.ros.limits import clamped
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.settings import Settings
from kane_dynamics.ros.stamps import SECOND
from kane_dynamics.ros.trajectories.verdicts import Code
from kane_dynamics.simulation.trajectory import Sample

TICK = 0.005
"""Seconds between calls of `tick` while the robot moves."""

_HARD, _SOFT = 0.9, 0.7
"""Shares of the effort limits with which a fault and a request bring the robot to rest."""

_AT_REST, _NEARLY_AT_REST = 0.01, 0.05  # shares of the usual speed
_LONGEST_UNSEEN = 0.5  # s without joint states, after which nobody knows where the robot is
_PAUSE, _PAUSE_PERIODS = 0.01, 4.0  # s, or periods, after which a motion goes on without a state
_CATCH_UP = SECOND // 200  # ns without a command, while newer joint states are waiting
_GAINS_LAST = SECOND // 50  # ns, for the inertia changes with the pose
_LET_SETTLE = 3 * SECOND // 10  # ns under feedback, before a robot that moved is left to itself
_KEPT = ("_reference", "_after", "_rhythm", "_believed")
_UNSEEN_DAMPING = 0.5 / TICK  # 1/s


class Commander:
    """Torques of a robot at every joint state, from when it is enabled until it is disabled.

    Parameters
    ----------
    model : Model
    settings : Settings
    due : callable
        The motion that is due at a time in ns, None if none is.

    Attributes
    ----------
    state : State
    reason : str
        Why the robot is being braked, or was.
    tripped : bool
        Whether something was wrong since it was enabled; then no motion is followed.
    saturation : Saturation or None
        What effort limits cost in the last command.
    """

    def __init__(
        self, model: Model, settings: Settings, due: Callable[[int], Motion | None]
    ) -> None:
        self.model, self._settings, self._due = model, settings, due
        self.state = State.CLOSED
        self.reason = ""
        self.tripped = False
        self.saturation: Saturation | None = None
        self._law = Law(model)
        self._trust = Trust(model)
        self._output = Output(model)
        self._reckoning = Reckoning(model)
        self._bounds = Bounds(model, 0.0, 0.0)
        self._reference: Reference = Rest(np.zeros(len(model.joint_names)))
        self._latest: tuple[Reference, int, Sample] = (self._reference, 0, self._reference.at(0))
        self._motion: Motion | None = None
        self._stopping: Motion | None = None
        self._after = State.FLOATING
        self._gains: Gains | None = None
        self._rhythm = Rhythm()
        self._believed: Seen | None = None
        self._damping: Array | float = 0.0
        self._given: tuple[Array | None, Array | None, Array | None] = (None, None, None)
        self._gained = 0
        self.configure(settings, 0)

    # --------------------------------------------------------------------------------- parameters
    def configure(self, settings: Settings, now: int) -> None:
        """Take other parameters over, without a jump of the torques.

        Raises
        ------
        ArgumentError
            If one of them has the wrong number of entries for this robot; then none is taken over.
        """
        given = tuple(per_joint(k, getattr(settings, k), self.model) for k in ("kp", "kd", "ki"))
        damping = per_joint("float_damping", settings.float_damping, self.model)
        rates = per_joint("effort_rate", settings.effort_rate, self.model)
        bounds = Bounds(self.model, settings.position_margin, settings.velocity_margin)
        before, self._settings = self._settings, settings
        self._given, self._gains = given, None  # type: ignore[assignment]
        self._bounds = bounds
        self._damping = 0.0 if damping is None else damping
        self._output.limit_rates(rates)
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

        Raises
        ------
        ArgumentError
            If the state is too old or cannot be true, or the base is not fixed.
        """
        if self.model.floating:
            raise ArgumentError(
                "effort commands need a fixed base: joint states do not say where a floating one is"
            )
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
            self._output.begin(self._still(seen.positions), now, self._settings.ramp_time)
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
        self._leave(why)
        self._after, self.reason = State.CLOSED, why
        if self.state is not State.BRAKING:
            self._brake(now, _SOFT)

    def _close(self) -> None:
        self.state, self.reason, self.tripped = State.CLOSED, "", False

    def check_start(self, motion: Motion, now: int) -> None:
        """Raise an ArgumentError if the robot is too far from where a motion begins that is due."""
        last = self._trust.last
        if last is not None and self._due(now) is None and motion.begin <= now:
            sentence = self._too_far_off(motion, last.positions, now)
            if sentence:
                raise ArgumentError(sentence)

    def stop_following(self, observer: object, now: int) -> bool:
        """Come to rest along the path of what an observer sees; whether that is followed."""
        followed = self._motion is not None and self._motion.observer is observer
        if followed:
            self.stop(now)
        return followed

    def wanted(self, now: int) -> Sample | None:
        """Where the robot is wanted to be under feedback; None where it is not under feedback."""
        if self.state in (State.HOLDING, State.FOLLOWING, State.BRAKING) and self._trust.holds:
            return self._reference.at(now)
        return None

    def successor(self, model: Model, sentence: str, now: int) -> Commander:
        """What goes on in this one's place for another model of the same joints, tripped."""
        self.trip(sentence, now)
        other = Commander(model, self._settings, self._due)
        for name in ("state", "reason", "tripped", *_KEPT):
            setattr(other, name, getattr(self, name))
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
        self._leave(sentence)
        if self._after is State.CLOSED and self.state is State.BRAKING:
            return  # it ends anyway
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
            self._believed = None
        self._trust.doubt(now)
        self.trip(sentence, now)

    def stop(self, now: int) -> None:
        """Come to rest along the path, and hold; whoever wants the motion is told so when it is.

        What is being brought to rest already comes to rest as it does.
        """
        if self.state in (State.CLOSED, State.NOTHING, State.BRAKING) or not self._trust.holds:
            return
        motion, self._motion, self._stopping = self._motion, None, self._motion
        self._after = State.HOLDING
        if not self.tripped:
            self.reason = "stopped on request"
        if motion is None:
            self._brake(now, _SOFT)
            return
        motion.withdrawn = True
        self._begin_braking(
            soonest(lambda seconds: Slowing(motion, now, seconds), now, self.model, _SOFT)
        )

    def _brake(self, now: int, share: float) -> None:
        """Come to rest from where the robot is."""
        assert self._trust.last is not None
        positions, velocities, _ = self._trust.last
        if not self._trust.holds:
            self._law.recall()
            positions, velocities = self._unseen(self._trust.last, now)
            self._believe(positions, velocities, now)
        if (np.abs(velocities) <= _AT_REST * self.model.usual_speeds).all():
            velocities = np.zeros_like(velocities)
        self._begin_braking(
            soonest(lambda s: Braking(positions, velocities, now, s), now, self.model, share)
            if velocities.any()
            else Rest(positions)
        )

    def _believe(self, positions: Array, velocities: Array, now: int) -> None:
        """Take a robot that nobody sees to be in a state."""
        self._believed = Seen(positions, velocities, np.full(len(positions), now))

    def _begin_braking(self, reference: Reference) -> None:
        self._reference = reference
        self.state, self._gains = State.BRAKING, None

    def _unseen(self, last: Seen, now: int) -> tuple[Array, Array]:
        """Where the robot is that nobody sees; where it was, if nobody can know.

        It is taken to be no faster than it is wanted to be, or was: friction that the model does
        not know of makes it slower, and to brake a motion that is not there would begin one.
        """
        positions, velocities, times = last
        slow = (np.abs(velocities) <= _AT_REST * self.model.usual_speeds).all()
        if slow or now - int(times.min()) > _LONGEST_UNSEEN * SECOND:
            return positions, np.zeros_like(velocities)
        reckoned, speeds = self._reckoning.at(last, now)
        fastest = velocities
        if self.state is not State.FLOATING:
            fastest = self._reference.at(now).velocities
        return reckoned, np.clip(speeds, np.minimum(fastest, 0.0), np.maximum(fastest, 0.0))

    def _leave(self, sentence: str) -> None:
        """Follow what was followed no more."""
        for motion in (self._motion, self._stopping):
            if motion is not None:
                motion.withdrawn = True
                motion.over(sentence)
        self._motion = self._stopping = None

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
        if self._trust.holds:
            assert self._trust.last is not None
            times = self._trust.last.times
            sentence = self._trust.too_old(times, now, self._settings.state_timeout)
            return self._distrust(sentence, now) if sentence else self._unseen_motion(now)
        wanted = self._wanted(now, TICK)
        resting = now >= self._reference.end
        torques = (
            self._law.still(wanted.positions) if resting else self._braking_unseen(wanted, now)
        )
        command = self._shaped(torques, wanted.positions, now, True)
        if resting and self._output.settled:
            if self._after is State.CLOSED:
                self._close()
            else:
                self.state = State.NOTHING
        return command

    def _braking_unseen(self, wanted: Sample, now: int) -> Array:
        """Torques that bring a robot to rest that is where the model says; never mind where."""
        assert self._trust.last is not None
        if self._believed is None:
            self._believe(*self._unseen(self._trust.last, now), now)
        positions, velocities = self._reckoning.at(cast(Seen, self._believed), now)
        none = np.zeros_like(positions)
        gains = Gains(none, none + _UNSEEN_DAMPING, none, True, (none, none, none))
        return self._law.computed(wanted, positions, velocities, gains)

    def _unseen_motion(self, now: int) -> Array | None:
        """Torques of a motion whose joint states are late: it goes on as the model says.

        So it does beyond its end, where it is held: the torques of its last deceleration would
        drive the robot back.
        """
        moving = self.state in (State.FOLLOWING, State.BRAKING)
        pause = max(_PAUSE, _PAUSE_PERIODS * self._rhythm.period)
        if not moving or now - self._rhythm.stepped < pause * SECOND:
            return None
        assert self._trust.last is not None
        self._reckoning.at(self._trust.last, now)  # so that it need not catch up when it is asked
        wanted = self._wanted(now, TICK)
        torques = self._law.feedforward(wanted) + self._law.integral
        return self._shaped(torques, wanted.positions, now, True)  # no feedback makes up for a fade

    def _wanted(self, now: int, until_next: float) -> Sample:
        """State that is wanted now, with the mean acceleration while the next command acts.

        That is from when it has come to the robot until the one after it has.
        """
        wanted, begin = self._now_wanted(now), now + round(self._rhythm.lead * SECOND)
        end = begin + round(until_next * SECOND)
        before, after = self._reference.at(begin).velocities, self._reference.at(end).velocities
        return Sample(wanted.positions, wanted.velocities, (after - before) / until_next)

    def _now_wanted(self, now: int) -> Sample:
        """State that is wanted now; it is asked for several times at a joint state."""
        reference, then, wanted = self._latest
        if reference is not self._reference or then != now:
            wanted = self._reference.at(now)
            self._latest = self._reference, now, wanted
        return wanted

    def _distrust(self, sentence: str, now: int) -> Array | None:
        if self.state is State.NOTHING:
            self._trust.doubt(now)
        else:
            self.doubt(sentence, now)
        return self.tick(now)

    def _cared_for(self, seen: Seen, now: int) -> Array | None:
        """Torques at a state that can be trusted."""
        seconds = self._rhythm.step(seen.times, now)
        if isinstance(self._reference, Braking) and self._lost(seen, now):
            self._brake(now, _HARD)
        self._supervise(seen, now)
        self._follow_due(seen, now)
        if self._rests(seen, now):
            if self._after is State.CLOSED:
                return self._leave_behind(seen, now)
            self._care_on(now)
        if self.state is State.FLOATING:
            torques = self._floating(seen)
        else:
            torques = self._tracking(seen, now, seconds)
            if now >= self._reference.end and self._is_slow(seen.velocities):
                self._law.rested(torques, seen.positions, seconds)
        return self._shaped(torques, seen.positions, now, self.state is State.BRAKING)

    def _is_slow(self, velocities: Array) -> bool:
        return bool((np.abs(velocities) <= _NEARLY_AT_REST * self.model.usual_speeds).all())

    def _lost(self, seen: Seen, now: int) -> bool:
        """Whether the robot is not where it is supposed to be while it is braked."""
        wanted = self._now_wanted(now).positions
        return self.state is State.BRAKING and bool(
            (self.model.apart(seen.positions, wanted) > 0.1).any()
        )

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
        motion = self._due(now)
        if motion is not None and motion is not self._motion and not motion.withdrawn:
            self._take_up(motion, seen, now)
        if self._motion is not None:
            self._watch_over(self._motion, seen, now)

    def _take_up(self, motion: Motion, seen: Seen, now: int) -> None:
        """Follow another motion, if the robot is where that begins."""
        sentence = self._too_far_off(motion, seen.positions, now)
        if sentence:
            motion.withdrawn = True
            motion.over(sentence)
            return
        self._leave("another trajectory has taken its place")
        self._motion, self._reference, self._gains = motion, motion, None
        self.state, motion.followed = State.FOLLOWING, True

    def _too_far_off(self, motion: Motion, positions: Array, now: int) -> str:
        off = self.model.apart(motion.at(now).positions, positions)
        worst, tolerance = int(off.argmax()), self._settings.start_tolerance
        if off[worst] <= tolerance:
            return ""
        name = self.model.joint_names[worst]
        return (
            f"joint {name!r} is {off[worst]:.3g} from where the trajectory begins, "
            f"start_tolerance is {tolerance:g}"
        )

    def _watch_over(self, motion: Motion, seen: Seen, now: int) -> None:
        """End a motion that is done, or cannot be followed."""
        wanted = self._now_wanted(now)
        verdict = motion.judged(now, wanted, seen.positions, seen.velocities)
        if verdict is None:
            return
        self._motion, motion.withdrawn = None, True
        if verdict.code is Code.SUCCESSFUL:
            self._rest_at(motion.at(max(now, motion.end + 1)).positions)
        elif motion.trips:
            self.trip(verdict.sentence, now)
        else:
            self.reason, self._after = verdict.sentence, State.HOLDING
            self._brake(now, _HARD)

    def _rest_at(self, positions: Array) -> None:
        self._reference = Rest(positions)
        floats = self._settings.control == "feedforward"
        self.state = State.FLOATING if floats else State.HOLDING

    def _rests(self, seen: Seen, now: int) -> bool:
        """Whether the robot has been brought to rest, or has had long enough for it."""
        late = now - self._reference.end
        if self.state is not State.BRAKING or late < 0:
            return False
        if self._after is State.CLOSED and self._reference.end and late < _LET_SETTLE:
            return False
        return self._is_slow(seen.velocities) or late > SECOND

    def _care_on(self, now: int) -> None:
        """Hold or let float a robot that was brought to rest."""
        self.state, self._gains = self._after, None
        self._reference = Rest(self._reference.at(now).positions)
        if self._stopping is not None:
            self._stopping.over("")
            self._stopping = None
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
        self._reference, self._gains = Rest(self._trust.last.positions.copy()), None
        self.state = self._resting_state

    @property
    def _resting_state(self) -> State:
        return State.HOLDING if self._settings.idle == "hold" else State.FLOATING

    # ------------------------------------------------------------------------------------ torques
    def _floating(self, seen: Seen) -> Array:
        self._law.forget()
        damped = -self._damping * seen.velocities
        accelerations = self._bounds.walled(
            damped, seen.positions, seen.velocities, self._rhythm.period
        )
        return self._law.driven(seen.positions, accelerations)

    def _tracking(self, seen: Seen, now: int, seconds: float) -> Array:
        wanted = self._wanted(now, self._rhythm.period)
        positions, velocities, _ = seen
        control = self._settings.control
        if control == "feedforward" and self.state is State.FOLLOWING:
            return self._law.feedforward(wanted)
        computed = control != "pd"
        if self._gains is None or now - self._gained > _GAINS_LAST:
            self._gained = now
            # gains that were given may be what made it trip
            given = (None, None, None) if self.tripped else self._given
            self._gains = self._law.gains(computed, self._rhythm.delay, positions, given)
        saturation = self._output.lacking
        self._law.integrate(wanted, positions, self._gains, seconds, saturation)
        law = self._law.computed if computed else self._law.pd
        return law(wanted, positions, velocities, self._gains)

    def _still(self, positions: Array) -> Array:
        """The command that holds the robot still."""
        return self._without_gravity(self._law.still(positions), positions)

    def _shaped(self, torques: Array, positions: Array, now: int, urgent: bool = False) -> Array:
        """A command: within the effort limits, and not too far from the one before."""
        if not np.isfinite(torques).all():
            self._law.forget()
            torques = self._law.still(self._trust.last.positions)  # type: ignore[union-attr]
            self.trip("the torques are not finite numbers", now)
        lacking = np.abs(torques) - self.model.effort_limits
        worst = int(lacking.argmax())
        self.saturation = None
        if lacking[worst] > 0.0:
            name = self.model.joint_names[worst]
            limit = float(self.model.effort_limits[worst])
            self.saturation = Saturation(name, float(torques[worst]), limit)
        command = self._output.shaped(self._without_gravity(torques, positions), now, urgent)
        acting = command - self._law.unknown
        if self._settings.robot_compensates_gravity:
            acting = acting + self.model.gravity(positions)
        self._reckoning.commanded(acting, now + round(self._rhythm.lead * SECOND))
        return command

    def _without_gravity(self, torques: Array, positions: Array) -> Array:
        """Torques as they are commanded; what the robot adds to them counts for its limits."""
        if not self._settings.robot_compensates_gravity:
            return torques
        return clamped(torques, self.model) - self.model.gravity(positions)
