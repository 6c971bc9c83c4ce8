"""What commands an arm, as a state machine under a fake clock: whatever happens, in any order.

Each step is something that happens: a service is called, a parameter is set, a trajectory comes,
joint states come or do not. After each, what must always hold is looked at. The runs of every day
take some thousand steps; 10^5 of them, which take ten minutes, with

    KANE_DYNAMICS_MACHINE_STEPS=100000 python -m pytest test/ros/test_machines.py
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from machine_runs import STEPS, runs
from simulated_arms import Arm, arm

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.commands.commander import Commander
from kane_dynamics.ros.commands.output import RISE
from kane_dynamics.ros.commands.state import State
from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.limits import clamped
from kane_dynamics.ros.trajectories.efforts import course_of
from kane_dynamics.ros.trajectories.plans import Plan, Timetable, plan_for
from kane_dynamics.ros.trajectories.points import Points
from kane_dynamics.ros.trajectories.verdicts import Code, Verdict
from kane_dynamics.simulation.trajectory import Sample

SEEN: Counter[State] = Counter()
"""How many steps ended in which state."""

MILLISECOND = SECOND // 1000
PATIENCE = 200 * MILLISECOND
SETTLING = 100 * MILLISECOND
TICK = 5 * MILLISECOND
LONGEST_STEP = 0.05  # s that count between two commands
SLUGGISH = (100.0, 50.0)
BEGINNING = {"turns": np.array([0.3, 0.4]), "slides": np.array([0.5, 0.4])}


@dataclass
class Observer:
    """Wants a motion, and keeps what it hears of it."""

    trips: bool
    end: float
    fails_at: float = np.inf
    ends: list[str] = field(default_factory=list)
    taken: bool = False

    def state(self, t: float, desired: Sample, positions: Array, velocities: Array) -> Any:
        self.taken = True
        assert not self.ends, "it is not bothered after the end"
        verdict = None
        if t >= self.fails_at:
            verdict = Verdict(Code.PATH_TOLERANCE_VIOLATED, "the observer has had enough")
        elif (np.abs(desired.positions - positions) > 0.2).any():
            verdict = Verdict(Code.PATH_TOLERANCE_VIOLATED, "too far from the path")
        elif t > self.end:
            verdict = Verdict(Code.SUCCESSFUL)
        if verdict is not None:
            self.ends.append(f"{verdict.code}")
        return verdict

    def over(self, sentence: str = "") -> None:
        self.ends.append(sentence)


class Commanding(RuleBasedStateMachine):
    """The commander, the schedule of plans and an arm, with the ways that lead to them."""

    @initialize(
        name=st.sampled_from(["turns", "slides"]),
        idle=st.sampled_from(["float", "hold"]),
        ramp=st.sampled_from([0.0, 0.2, 1.0]),
        enabled=st.sampled_from([True, True, True, False]),
    )
    def begin(self, name: str, idle: str, ramp: float, enabled: bool) -> None:
        self.name, self.model = name, arm(name)
        self.now = 1000 * SECOND
        self.arm = Arm(self.model, BEGINNING[name])
        self.settings = Settings(idle=idle, ramp_time=ramp)
        self.schedule = Timetable()
        self.commander = Commander(self.model, self.settings, self.schedule.due)
        self.plans: list[Plan] = []
        self.before: Array | None = None  # the last command
        self.commanded_at = 0
        self.seen: list[Seen] = []
        self.ticked = self.now
        self.braked = True
        self.disturbed_at = 0
        self.clean = True
        """Whether nothing has pushed the arm, or made its feedback poor, since it was at rest."""
        self.steady = 0
        """Joint states for which the arm has floated on, and been seen at 250 Hz at least."""
        if enabled:
            self.enable(True)

    # ------------------------------------------------------------------- the shell without ROS
    def _observe(self, lag: int = 0) -> Seen:
        times = np.full(2, self.now - lag)
        seen = Seen(self.arm.positions.copy(), self.arm.velocities.copy(), times)
        self.seen = [*self.seen[-20:], seen]
        return seen

    def _send(self, command: Array | None, state: State) -> None:
        """Check a command, and give it to the arm."""
        if state is State.CLOSED:
            assert command is None, "nothing is commanded while closed"
        if command is None:
            return
        assert np.isfinite(command).all()
        assert (np.abs(command) <= self.model.effort_limits).all()
        rates = self.settings.effort_rate or self.model.effort_limits / RISE
        elapsed = min((self.now - self.commanded_at) / SECOND, LONGEST_STEP)
        assert self.before is not None
        most = np.asarray(rates) * (elapsed + 1e-12) + 1e-9
        assert (np.abs(command - self.before) <= most).all(), "a jump of the command"
        self.before, self.commanded_at = command, self.now
        self.arm.command, self.braked = command.copy(), False

    def _step(self, seen: Seen, more: bool = False) -> None:
        state = self.commander.state
        self._send(self.commander.step(seen, self.now, more), state)

    def _tick(self) -> None:
        state = self.commander.state
        self._send(self.commander.tick(self.now), state)

    def _pass(self, nanoseconds: int) -> None:
        """Let time pass without joint states."""
        while nanoseconds > 0:
            part = min(nanoseconds, max(self.ticked + TICK - self.now, 1))
            self.now += part
            nanoseconds -= part
            self._move(part)
            if self.now >= self.ticked + TICK:
                self.ticked = self.now
                self._tick()
                self.schedule.drop_finished(self.now)
            self._look_at_the_arm()

    def _move(self, nanoseconds: int) -> None:
        """Brakes close when nothing is commanded any more, and open with the first command."""
        self.braked |= self.commander.state in (State.CLOSED, State.NOTHING)
        if self._sluggish:
            self._disturb()
        if self.braked:
            self.arm.brake()
        else:
            self.arm.move(nanoseconds)

    def _disturb(self) -> None:
        """Claim nothing about the closed loop until the arm has been at rest for a while."""
        self.clean, self.disturbed_at = False, self.now

    def _look_at_the_arm(self) -> None:
        """The claims about closed loops."""
        model, settings = self.model, self.settings
        if self._at_rest() and self.now - self.disturbed_at > SETTLING:
            self.clean = True
        if not self.clean:
            return
        assert (self.arm.fastest <= 1.2 * model.velocity_limits).all(), "too fast"
        limits = model.dynamics.limits
        margin = np.minimum(settings.position_margin, 0.05 * (limits.upper - limits.lower)) + 0.02
        assert (self.arm.positions <= limits.upper + margin).all(), "beyond a stop"
        assert (self.arm.positions >= limits.lower - margin).all(), "beyond a stop"

    def _at_rest(self) -> bool:
        limits = self.model.dynamics.limits
        at_rest = (np.abs(self.arm.velocities) < 0.002 * self.model.usual_speeds).all()
        inside = (self.arm.positions <= limits.upper) & (self.arm.positions >= limits.lower)
        resting = self.commander.state in (State.CLOSED, State.HOLDING, State.FLOATING)
        if at_rest and inside.all() and resting:
            self.arm.fastest = np.abs(self.arm.velocities)
            return True
        return False

    def _good(self, rate: int, count: int, lag: int = 0) -> None:
        """Let joint states come."""
        if rate < 250 or lag > 2 * MILLISECOND or self._sluggish:
            self._disturb()
        period = SECOND // rate
        for _ in range(count):
            state, energy = self.commander.state, self.arm.kinetic_energy
            self._pass(period)
            self._step(self._observe(lag))
            self._look_at_floating(state, energy, period, lag)

    def _look_at_floating(self, state: State, energy: float, period: int, lag: int) -> None:
        """Floating takes energy out of the arm, and never adds any.

        That is so where all joints are damped alike. Where they are not, each loses its speed as
        fast as it was asked to, which for coupled joints may cost the others energy.
        """
        output, model = self.commander._output, self.model
        limits, margin = model.dynamics.limits, 0.05
        free = (self.arm.positions > limits.lower + margin).all()
        free &= (self.arm.positions < limits.upper - margin).all()
        fading = output._fading is not None or not output.settled
        floats = state is self.commander.state is State.FLOATING
        alike = len(self.settings.float_damping) == 1
        if period > 4 * MILLISECOND or lag or not floats or fading or not free or not alike:
            self.steady = 0
            return
        self.steady += 1
        if self.steady > 2:
            assert self.arm.kinetic_energy <= energy * (1.0 + 0.5 * period / SECOND) + 1e-9

    # ----------------------------------------------------------------------------- time passes
    @rule(
        rate=st.sampled_from([100, 250, 250, 500, 500, 1000]),
        count=st.integers(1, 40),
        lag=st.sampled_from([0, 0, 0, 1, 5]),
    )
    def good_states_come(self, rate: int, count: int, lag: int) -> None:
        self._good(rate, count, lag * MILLISECOND)

    @rule(rate=st.sampled_from([250, 500]))
    def good_states_come_until_it_rests(self, rate: int) -> None:
        """Within two seconds after whatever it was, an arm rests that does not float or follow."""
        fast = (np.abs(self.arm.velocities) > 2.0 * self.model.velocity_limits).any()
        self._good(rate, rate // 5)
        for _ in range(12 if self.commander._rhythm.cautious else 9):
            if self._finished():
                return
            self._good(rate, rate // 5)
        assert self._finished() or self._sluggish or fast, "it does not come to rest"

    @property
    def _sluggish(self) -> bool:
        """Whether efforts may change so slowly that no feedback can be good."""
        return self.settings.effort_rate == SLUGGISH

    def _finished(self) -> bool:
        state, speeds = self.commander.state, np.abs(self.arm.velocities)
        rests = state is State.HOLDING and (speeds < 0.01 * self.model.usual_speeds).all()
        return bool(rests) or state in (State.CLOSED, State.FOLLOWING, State.FLOATING)

    @rule(milliseconds=st.sampled_from([1, 5, 20, 60, 150, 250, 700]))
    def no_states_come(self, milliseconds: int) -> None:
        self._pass(milliseconds * MILLISECOND)

    @rule(milliseconds=st.sampled_from([30, 150, 400, 3000]))
    def the_process_stands_still(self, milliseconds: int) -> None:
        """Nothing is served, and then it goes on as if nothing had been.

        Hardware that has not been commanded for a while closes its brakes.
        """
        self._disturb()
        gap = milliseconds * MILLISECOND
        self._move(min(gap, PATIENCE))
        self.braked |= gap > PATIENCE
        self.now += gap
        self.ticked = self.now
        self._move(0)

    # ------------------------------------------------------------------------- states that are bad
    @rule(count=st.integers(1, 10), more=st.booleans(), back=st.integers(1, 20))
    def old_states_come_again(self, count: int, more: bool, back: int) -> None:
        self._disturb()
        for seen in self.seen[-back:][:count]:
            self._pass(MILLISECOND)
            self._step(seen, more)

    @rule(late=st.sampled_from([-1000, -300, -100, 100, 300, 1000]), more=st.booleans())
    def states_come_late_or_early(self, late: int, more: bool) -> None:
        self._pass(2 * MILLISECOND)
        self._step(self._observe()._replace(times=np.full(2, self.now - late * MILLISECOND)), more)

    @rule(joint=st.integers(0, 1), by=st.sampled_from([-2.0, -0.3, 0.08, 0.3, 7.0, 1e9, 1e300]))
    def a_state_jumps(self, joint: int, by: float) -> None:
        self._disturb()
        self._pass(2 * MILLISECOND)
        seen = self._observe()
        positions = seen.positions.copy()
        positions[joint] += by
        self._step(seen._replace(positions=positions))

    @rule(joint=st.integers(0, 1), speed=st.sampled_from([-1e200, -50.0, 5.0, 1e5, 1e160]))
    def a_velocity_is_absurd(self, joint: int, speed: float) -> None:
        self._disturb()
        self._pass(2 * MILLISECOND)
        seen = self._observe()
        velocities = seen.velocities.copy()
        velocities[joint] = speed
        self._step(seen._replace(velocities=velocities))

    @rule(count=st.integers(1, 10))
    def states_are_not_numbers(self, count: int) -> None:
        for _ in range(count):
            self._pass(2 * MILLISECOND)
            self.commander.doubt("the doubt", self.now)
            self._tick()

    # ----------------------------------------------------------------------------- what users do
    @rule(fresh=st.sampled_from([True, True, True, False]))
    def enable(self, fresh: bool) -> None:
        seen = self._observe(0 if fresh else SECOND)
        silent = self.commander.state in (State.CLOSED, State.NOTHING)
        try:
            self.commander.enable(seen, self.now)
        except ArgumentError:
            assert not fresh or self.commander.blind
            return
        assert fresh
        assert not self.commander.tripped
        if silent:
            self.before = clamped(self.model.gravity(seen.positions), self.model)
            self.commanded_at = self.now

    @rule()
    def disable(self) -> None:
        self.commander.disable(self.now)

    @rule()
    def stop(self) -> None:
        self.commander.stop(self.now)

    @rule()
    def trip(self) -> None:
        self.commander.trip("the fault", self.now)
        self._expect_a_trip()

    def _expect_a_trip(self) -> None:
        ends = self.commander.state is State.BRAKING and self.commander._after is State.CLOSED
        assert self.commander.tripped or ends or not self.commander.enabled

    @rule(joint=st.integers(0, 1), speed=st.sampled_from([-4.0, -1.0, 0.3, 1.0]))
    def push(self, joint: int, speed: float) -> None:
        """A blow changes the velocities at once."""
        if not self.braked:
            self._disturb()
            self.steady = 0
            self.arm.velocities[joint] += speed

    @rule(
        change=st.sampled_from(
            [
                {"kp": ()},
                {"kp": (30.0,)},
                {"kp": (30.0, 100.0)},
                {"ki": (0.0,)},
                {"ki": ()},
                {"control": "pd"},
                {"control": "feedforward"},
                {"control": "computed_torque"},
                {"float_damping": (0.5,)},
                {"float_damping": (3.0,)},
                {"float_damping": (1.0, 10.0)},
                {"idle": "float"},
                {"idle": "hold"},
                {"after_trip": "float"},
                {"after_trip": "hold"},
                {"effort_rate": ()},
                {"effort_rate": SLUGGISH},
                {"effort_rate": (1e12,)},
                {"position_margin": 0.0},
                {"position_margin": 0.05},
                {"velocity_margin": 0.05},
                {"velocity_margin": 0.1},
                {"start_tolerance": 0.5},
                {"start_tolerance": 0.1},
            ]
        )
    )
    def set_a_parameter(self, change: dict[str, Any]) -> None:
        self.settings = replace(self.settings, **change)
        self.commander.configure(self.settings, self.now)

    @rule(name=st.sampled_from(["kp", "kd", "effort_rate"]))
    def set_a_wrong_parameter(self, name: str) -> None:
        try:
            self.commander.configure(replace(self.settings, **{name: (1.0, 2.0, 3.0)}), self.now)
        except ArgumentError:
            return
        raise AssertionError("three numbers for two joints")

    @rule(velocity=st.sampled_from([3.0, 3.5]))
    def swap_the_description(self, velocity: float) -> None:
        if self.commander.enabled:
            sentence = "another description"
            self.model = arm(self.name, velocity)
            self.commander = self.commander.successor(self.model, sentence, self.now)
            self._expect_a_trip()

    # --------------------------------------------------------------------------------- plans
    @rule(
        by=st.lists(st.tuples(*[st.floats(-0.5, 0.5)] * 2), min_size=1, max_size=3),
        spacing=st.sampled_from([0.005, 0.2, 0.5, 1.0]),
        begins=st.sampled_from([-300, 0, 0, 0, 1, 50, 300]),
        trips=st.booleans(),
        fails_at=st.sampled_from([np.inf, np.inf, 0.0, 0.2]),
        only=st.sampled_from([None, None, 0, 1]),
    )
    def a_trajectory_comes(
        self,
        by: list[tuple[float, float]],
        spacing: float,
        begins: int,
        trips: bool,
        fails_at: float,
        only: int | None,
    ) -> None:
        joints = np.arange(2) if only is None else np.array([only])
        reference = self.now + begins * MILLISECOND
        start = self._start(max(self.now, reference))
        positions = (start.positions + np.cumsum(0.5 * np.array(by), axis=0))[:, joints]
        times = spacing * np.arange(1.0, len(positions) + 1.0)
        names = tuple(self.model.joint_names[k] for k in joints)
        points = Points(names, joints, times, positions, None, None)
        self._add(points, reference, start, Observer(trips, float(times[-1]), fails_at))

    @rule(
        to=st.lists(st.tuples(*[st.floats(0.1, 0.9)] * 2), min_size=1, max_size=3),
        brisk=st.floats(0.2, 1.0),
        rate=st.sampled_from([250, 500, 1000]),
        trips=st.booleans(),
    )
    def the_arm_moves(
        self, to: list[tuple[float, float]], brisk: float, rate: int, trips: bool
    ) -> None:
        """An arm that is enabled and at rest is given a motion within its limits."""
        self.enable(True)
        for _ in range(10):
            if self._at_rest():
                break
            self._good(rate, rate // 10)
        start = self._start(self.now)
        limits = self.model.dynamics.limits
        lower, upper = np.maximum(limits.lower, -2.5), np.minimum(limits.upper, 2.5)
        positions = lower + np.array(to) * (upper - lower)
        far = np.abs(np.diff(np.vstack((start.positions, positions)), axis=0))
        spacing = np.maximum((far / self.model.velocity_limits).max(axis=1) * 2.0 / brisk, 0.1)
        times = np.cumsum(spacing)
        points = Points(self.model.joint_names, np.arange(2), times, positions, None, None)
        self._add(points, self.now, start, Observer(trips, float(times[-1])))
        self._good(rate, rate // 20)

    @rule(rate=st.sampled_from([250, 500, 1000]), count=st.integers(10, 120))
    def time_goes_on(self, rate: int, count: int) -> None:
        self._good(rate, count)

    @rule(far=st.sampled_from([0.3, 3.0, 40.0]), trips=st.booleans())
    def a_trajectory_from_elsewhere_comes(self, far: float, trips: bool) -> None:
        start = self._start(self.now)
        points = Points(
            self.model.joint_names,
            np.arange(2),
            np.array([0.0, 0.5]),
            start.positions + np.array([[far, far], [far, far]]),
            None,
            None,
        )
        self._add(points, self.now, start, Observer(trips, 0.5))

    def _start(self, begin: int) -> Sample:
        before = self.schedule.newest(begin)
        if begin > self.now and before is not None and before.end >= self.now:
            return before.at(begin)
        wanted = self.commander.wanted(self.now)
        if wanted is not None:
            return wanted
        moving = self.arm.velocities if begin == self.now else np.zeros(2)
        return Sample(self.arm.positions.copy(), moving.copy(), np.zeros(2))

    def _add(self, points: Points, reference: int, start: Sample, observer: Observer) -> None:
        """As topics do with observers that trip, and goals with others."""
        commander = self.commander
        goal = not observer.trips
        if goal and (not commander.enabled or commander.tripped):
            return
        try:
            plan = plan_for(points, reference, self.now, self.model, start, observer)
            course = course_of(plan, self.model, self.settings)
            if goal:
                if course.unfit or course.beyond:
                    return
                commander.check_start(plan, self.now)
            plan.withdrawn = bool(course.unfit)
            self.schedule.drop_finished(self.now)
            self.schedule.add(plan)
        except (Fault, ArgumentError):
            return
        if not plan.withdrawn:
            self.plans.append(plan)

    @precondition(lambda self: self.plans)
    @rule(data=st.data())
    def cancel(self, data: Any) -> None:
        plan = data.draw(st.sampled_from(self.plans))
        if self.commander.stop_following(plan.observer, self.now):
            return
        for each in self.schedule.plans:
            if each.observer is plan.observer and not each.withdrawn:
                each.withdrawn = True
                each.over("")

    @rule()
    def all_trajectories_are_dropped(self) -> None:
        """As when simulated time jumps."""
        self.commander.trip("the fault", self.now)
        self.schedule.withdraw("the fault")
        self.schedule.plans.clear()

    # ---------------------------------------------------------------------------- what holds
    @invariant()
    def states_are_consistent(self) -> None:
        commander = self.commander
        SEEN[commander.state] += 1
        state, reason, tripped = commander.state, commander.reason, commander.tripped
        if state is State.CLOSED:
            assert not reason
            assert not tripped
        assert bool(reason) == (state is State.BRAKING or tripped), (state, reason, tripped)
        if tripped:
            assert state not in (State.CLOSED, State.FOLLOWING)
        if state is State.NOTHING:
            assert tripped
        assert (state is State.FOLLOWING) == (commander._followed.motion is not None)
        if commander.blind or state is State.NOTHING:
            assert commander.wanted(self.now) is None

    @invariant()
    def observers_hear_one_end(self) -> None:
        commander = self.commander
        for plan in self.plans:
            ends = plan.observer.ends
            assert len(ends) <= 1, ends
            waits = plan in self.schedule.plans and not plan.withdrawn
            moves = plan is commander._followed.motion or plan is commander._followed.stopping
            if waits or moves:
                assert not ends, ends
            elif not plan.observer.trips or plan.observer.taken or plan.withdrawn:
                assert len(ends) == 1, "nobody told it"
        self.plans = [plan for plan in self.plans if not plan.observer.ends]

    def teardown(self) -> None:
        """Whatever was, an arm whose joint states are good comes to rest, and can be closed."""
        if not hasattr(self, "commander") or not self.commander.enabled:
            return
        self.set_a_parameter({"effort_rate": ()})
        began = self.arm.positions, self.arm.velocities
        if (np.abs(self.arm.velocities) > 2.0 * self.model.velocity_limits).any():
            return  # feedback that was sluggish has made it so fast
        self.commander.disable(self.now)
        self._good(250, 25)
        for _ in range(30):
            if self.commander.state is State.CLOSED:
                return
            self._good(250, 25)
        raise AssertionError(
            f"not closed after 3 s: {self.commander.state}, began at {began}, now "
            f"{self.arm.positions} {self.arm.velocities}"
        )


def test_an_arm_is_commanded_safely_whatever_happens() -> None:
    SEEN.clear()
    run_state_machine_as_test(Commanding, settings=runs(STEPS))
    assert all(SEEN[state] > 0.01 * STEPS for state in State), SEEN
    assert SEEN.total() > STEPS, SEEN
