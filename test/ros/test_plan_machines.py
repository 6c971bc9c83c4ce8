"""Plans and trust as state machines, each beside a simple one that says what it should do.

More steps than every day: see test_machines.py.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
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
from simulated_arms import arm

from kane_dynamics.ros.commands.trust import JUMP, Seen, Trust
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.trajectories.plans import Plan, Timetable, plan_for
from kane_dynamics.ros.trajectories.points import Points
from kane_dynamics.simulation.trajectory import Sample

MILLISECOND = SECOND // 1000
MOST_WAITING = 16


@dataclass
class Observer:
    """Hears how its plan ends."""

    trips: bool
    ends: list[str] = field(default_factory=list)

    def state(self, t: float, desired: Sample, positions: Any, velocities: Any) -> None:
        return None

    def over(self, sentence: str = "") -> None:
        self.ends.append(sentence)


class Planning(RuleBasedStateMachine):
    """The schedule beside a list of all plans that ever came, none of which is forgotten."""

    @initialize()
    def begin(self) -> None:
        self.now, self.schedule = 1000 * SECOND, Timetable()
        self.came: list[Plan] = []
        self.replaced: set[Plan] = set()

    def _due(self, now: int) -> Plan | None:
        """The last to come of those that have begun, and that none with an earlier begin took."""
        begun = [p for p in self.came if p.begin <= now and p not in self.replaced]
        if not begun:
            return None
        newest = max(p.begin for p in begun)
        (plan,) = (p for p in begun if p.begin == newest)
        return plan if now <= plan.end else None

    @rule(
        begins=st.sampled_from([-200, 0, 0, 1, 2, 50, 300]),
        milliseconds=st.sampled_from([1, 10, 300]),
        trips=st.booleans(),
        withdrawn=st.sampled_from([False, False, True]),
    )
    def a_plan_comes(self, begins: int, milliseconds: int, trips: bool, withdrawn: bool) -> None:
        model = arm("turns")
        points = Points(
            model.joint_names,
            np.arange(2),
            np.array([milliseconds / 1000]),
            np.array([[0.1, 0.2]]),
            None,
            None,
        )
        start = Sample(np.zeros(2), np.zeros(2), np.zeros(2))
        reference = self.now + begins * MILLISECOND
        if reference + milliseconds * MILLISECOND < self.now:
            with pytest.raises(Fault, match="ended"):
                plan_for(points, reference, self.now, model, start, Observer(trips))
            return
        plan = plan_for(points, reference, self.now, model, start, Observer(trips))
        assert plan.begin == max(self.now, reference)
        plan.withdrawn = withdrawn
        try:
            self.schedule.add(plan)
        except Fault:
            assert len(self.schedule.plans) > MOST_WAITING
            return
        self.replaced |= {each for each in self.came if each.begin >= plan.begin}
        self.came.append(plan)

    @rule(milliseconds=st.sampled_from([0, 1, 2, 10, 50, 400]))
    def time_passes(self, milliseconds: int) -> None:
        self.now += milliseconds * MILLISECOND

    @rule()
    def finished_ones_are_dropped(self) -> None:
        self.schedule.drop_finished(self.now)
        for plan in self.schedule.plans:
            assert plan.end >= self.now
        assert sum(plan.begin <= self.now for plan in self.schedule.plans) <= 1
        for plan in self.came:
            if plan not in self.schedule.plans and not plan.trips and not plan.followed:
                assert plan.withdrawn

    @precondition(lambda self: self._due(self.now) is not None)
    @rule(how=st.sampled_from(["begins", "ends"]))
    def the_robot_follows(self, how: str) -> None:
        """As the commander does: it takes up what is due, and tells the end of what it took up."""
        plan = self.schedule.due(self.now)
        assert plan is not None
        if not plan.withdrawn:
            plan.followed = True
            if how == "ends":
                plan.withdrawn = True
                plan.over("followed")

    @rule()
    def all_are_withdrawn(self) -> None:
        self.schedule.withdraw("all")
        assert all(plan.withdrawn for plan in self.schedule.plans)

    @rule()
    def all_are_dropped(self) -> None:
        self.schedule.withdraw("all")
        self.schedule.plans.clear()
        self.came = []

    @invariant()
    def the_one_that_is_due_is_the_one_that_came_for_that_time(self) -> None:
        for later in (0, 1, 7, 60, 500):
            then = self.now + later * MILLISECOND
            assert self.schedule.due(then) is self._due(then)

    @invariant()
    def plans_are_in_the_order_of_their_begins(self) -> None:
        begins = [plan.begin for plan in self.schedule.plans]
        assert begins == sorted(set(begins))

    @invariant()
    def observers_hear_one_end_at_most(self) -> None:
        for plan in self.came:
            assert len(plan.observer.ends) <= 1
            assert plan.withdrawn or not plan.observer.ends


class Trusting(RuleBasedStateMachine):
    """Trust in joint states, and a joint that moves as it can, or as none can."""

    @initialize(name=st.sampled_from(["turns", "slides"]))
    def begin(self, name: str) -> None:
        self.model = arm(name)
        self.trust = Trust(self.model)
        self.now, self.positions = 1000 * SECOND, np.array([0.3, 0.4])
        self.trust.begin(self._seen())
        self.doubted: int | None = None
        self.fitting = 0

    def _seen(self, velocities: Any = (0.0, 0.0)) -> Seen:
        return Seen(self.positions.copy(), np.array(velocities), np.full(2, self.now))

    def _took(self, sentence: str) -> None:
        """What is expected of the trust after a state."""
        if sentence:
            self.doubted, self.fitting = self.now, 0
        elif self.doubted is not None:
            self.fitting += 1
            if self.fitting >= 5 and self.now - self.doubted >= 50 * MILLISECOND:
                self.doubted = None

    @rule(
        count=st.integers(1, 20),
        milliseconds=st.sampled_from([1, 2, 10, 100]),
        shares=st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
    )
    def joints_move_within_their_limits(
        self, count: int, milliseconds: int, shares: tuple[float, float]
    ) -> None:
        speeds = np.array(shares) * self.model.usual_speeds
        for _ in range(count):
            self.now += milliseconds * MILLISECOND
            self.positions = self.positions + speeds * milliseconds / 1000
            sentence = self.trust.take(self._seen(speeds), self.now)
            assert not sentence, sentence
            self._took(sentence)

    @rule(count=st.integers(1, 30), by=st.floats(-0.02, 0.02))
    def positions_are_noisy(self, count: int, by: float) -> None:
        """Noise is no jump, however long it lasts, for joints that are fast enough for it."""
        where = self.positions
        for k in range(count):
            self.now += 10 * MILLISECOND
            self.positions = where + by * (-1) ** k * self.model.usual_speeds / 3.0
            sentence = self.trust.take(self._seen(), self.now)
            assert not sentence, sentence
            self._took(sentence)
        self.now += 100 * MILLISECOND
        self.positions = where
        self._took(self.trust.take(self._seen(), self.now))

    @rule(joint=st.integers(0, 1), by=st.floats(0.2, 2.0), milliseconds=st.integers(0, 10))
    def a_joint_jumps(self, joint: int, by: float, milliseconds: int) -> None:
        self.now += milliseconds * MILLISECOND
        self.positions = self.positions.copy()
        self.positions[joint] += by
        sentence = self.trust.take(self._seen(), self.now)
        assert f"joint{joint + 1}" in sentence
        assert "jumped" in sentence
        self._took(sentence)

    @rule(joint=st.integers(0, 1), count=st.integers(10, 40))
    def a_joint_creeps_faster_than_it_can(self, joint: int, count: int) -> None:
        """No single step is a jump, but no joint can do them all."""
        self.now += MILLISECOND
        self._took(self.trust.take(self._seen(), self.now))
        total = 0.0
        for _ in range(count):
            self.now += MILLISECOND
            self.positions = self.positions.copy()
            self.positions[joint] += 0.02
            sentence = self.trust.take(self._seen(), self.now)
            self._took(sentence)
            if sentence:
                return
            total += 0.02 - 1.5 * self.model.usual_speeds[joint] / 1000
            assert total <= JUMP + 1e-9

    @rule(joint=st.integers(0, 1), speed=st.sampled_from([-1e300, 1e3]))
    def a_velocity_is_absurd(self, joint: int, speed: float) -> None:
        velocities = np.zeros(2)
        velocities[joint] = speed
        self.now += MILLISECOND
        sentence = self.trust.take(self._seen(velocities), self.now)
        assert "velocity" in sentence
        self._took(sentence)

    @rule()
    def somebody_doubts(self) -> None:
        self.trust.doubt(self.now)
        self.doubted, self.fitting = self.now, 0

    @rule(turns=st.integers(-3, 3))
    def a_continuous_joint_is_counted_otherwise(self, turns: int) -> None:
        self.now += MILLISECOND
        self.positions = self.positions + np.array([2.0 * np.pi * turns, 0.0])
        sentence = self.trust.take(self._seen(), self.now)
        assert not sentence
        self._took(sentence)

    @invariant()
    def states_are_trusted_that_have_fitted_for_a_while(self) -> None:
        assert self.trust.holds == (self.doubted is None)

    @invariant()
    def the_last_state_is_one_that_was_trusted(self) -> None:
        assert self.trust.last is not None
        if self.trust.holds:
            assert self.model.apart(self.trust.last.positions, self.positions).max() < 1e-6


def test_the_plan_that_is_due_is_the_one_that_came_last_for_its_time() -> None:
    run_state_machine_as_test(Planning, settings=runs(STEPS))


def test_joint_states_are_trusted_that_joints_can_move_by() -> None:
    run_state_machine_as_test(Trusting, settings=runs(STEPS))
