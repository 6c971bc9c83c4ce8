"""What is commanded at every joint state, under a clock that the test sets, without ROS."""

from typing import Any

import numpy as np
import pytest
from robot_graph import limited_arm

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.commands.commander import Commander
from kane_dynamics.ros.commands.output import RISE
from kane_dynamics.ros.commands.state import State
from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model, load_model
from kane_dynamics.ros.trajectories.plans import Plan, Timetable, plan_for
from kane_dynamics.ros.trajectories.points import Points
from kane_dynamics.ros.trajectories.verdicts import Code, Verdict
from kane_dynamics.simulation.trajectory import Sample

JOINTS = ("joint1", "joint2")
HERE, THERE = np.array([0.3, 0.4]), np.array([0.8, 0.1])
PERIOD = 2_000_000  # ns between joint states
EFFORT = 50.0


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(limited_arm(effort=EFFORT, velocity=10.0), Settings(backend="numpy"))


class Watcher:
    """Sees how a trajectory is followed."""

    def __init__(self, trips: bool = True) -> None:
        self.trips = trips
        self.verdict: Verdict | None = Verdict(Code.SUCCESSFUL)
        self.told: list[str] = []

    def state(self, t: float, desired: Sample, positions: Array, velocities: Array) -> Any:
        return self.verdict

    def over(self, sentence: str = "") -> None:
        self.told.append(sentence)


class Arm:
    """An arm that obeys the equations of motion, and its commander."""

    def __init__(self, model: Model, enabled: bool = True, **settings: Any) -> None:
        self.model, self.now = model, 1000 * SECOND
        self.settings = Settings(backend="numpy", **settings)
        self.schedule = Timetable()
        self.commander = Commander(model, self.settings, self.schedule.due)
        self.positions, self.velocities = HERE.copy(), np.zeros(2)
        self.effort = model.gravity(HERE)
        self.commands: list[tuple[int, Array]] = []
        if enabled:
            self.commander.enable(self.seen(), self.now)

    @property
    def state(self) -> State:
        return self.commander.state

    def seen(self, age: float = 0.0) -> Seen:
        times = np.full(2, self.now - round(age * SECOND))
        return Seen(self.positions.copy(), self.velocities.copy(), times)

    def take(self, command: Array | None) -> None:
        if command is not None:
            self.effort = command
            self.commands.append((self.now, command))

    def move(self) -> None:
        seconds, dynamics = PERIOD / SECOND, self.model.dynamics
        acceleration = dynamics.forward_dynamics(self.positions, self.velocities, self.effort)
        self.velocities = self.velocities + seconds * acceleration
        self.positions = self.positions + seconds * self.velocities
        self.now += PERIOD

    def run(self, seconds: float, seen: bool = True) -> None:
        """Move on, with joint states or without."""
        for _ in range(round(seconds * SECOND / PERIOD)):
            self.move()
            commander = self.commander
            self.take(commander.step(self.seen(), self.now) if seen else commander.tick(self.now))

    def until(self, state: State, seconds: float = 10.0) -> None:
        end = self.now + seconds * SECOND
        while self.state is not state:
            assert self.now < end, f"it is {self.state} still"
            self.run(PERIOD / SECOND)

    def send(self, positions: Any = THERE, seconds: float = 1.0, watcher: Any = None) -> Plan:
        """Have a trajectory followed."""
        points = Points(
            JOINTS, np.arange(2), np.array([seconds]), np.array([positions]), None, None
        )
        wanted = self.commander.wanted(self.now)
        start = wanted or Sample(self.positions, self.velocities, np.zeros(2))
        self.schedule.drop_finished(self.now)
        made = plan_for(points, self.now, self.now, self.model, start, watcher or Watcher())
        self.schedule.add(made)
        return made

    def off(self, positions: Array) -> float:
        return float(np.abs(self.positions - positions).max())

    def assert_smooth(self, first: Array) -> None:
        """Every command is within the effort limits, and near enough to the one before."""
        times = np.array([time for time, _ in self.commands])
        rows = np.array([first, *(command for _, command in self.commands)])
        assert (np.abs(rows) <= self.model.effort_limits).all()
        steps = np.abs(np.diff(rows, axis=0))[1:]
        most = np.minimum(np.diff(times) / SECOND, 0.05)[:, None] * EFFORT / RISE
        assert (steps <= most * (1.0 + 1e-9) + 1e-9).all()


# ------------------------------------------------------------------------------------- enabling
def test_nothing_is_commanded_until_it_is_enabled(model: Model) -> None:
    arm = Arm(model, enabled=False)
    assert arm.state is State.CLOSED
    arm.run(0.1)
    assert arm.commander.tick(arm.now) is None
    assert not arm.commands


@pytest.mark.parametrize("ramp_time", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("idle", ["float", "hold"])
def test_enabling_begins_with_the_full_gravity_torque_and_moves_nothing(
    model: Model, idle: str, ramp_time: float
) -> None:
    arm = Arm(model, idle=idle, ramp_time=ramp_time)
    arm.run(1.5)
    np.testing.assert_allclose(arm.commands[0][1], model.gravity(HERE), rtol=1e-9)
    assert arm.off(HERE) < 1e-6
    assert arm.state is (State.FLOATING if idle == "float" else State.HOLDING)


def test_what_differs_from_the_holding_torque_comes_in_over_the_ramp_time(model: Model) -> None:
    """An arm that moves is not braked at once by its damping."""
    arm = Arm(model, enabled=False, ramp_time=1.0)
    arm.velocities = np.array([0.5, 0.0])
    arm.commander.enable(arm.seen(), arm.now)
    arm.run(0.004)
    np.testing.assert_allclose(arm.commands[0][1], model.gravity(HERE), atol=1e-2)


def test_an_arm_whose_state_is_old_or_ahead_is_not_enabled(model: Model) -> None:
    for age, words in ((0.3, "0.3 s old"), (-0.3, "0.3 s ahead of the clock")):
        arm = Arm(model, enabled=False)
        with pytest.raises(ArgumentError, match=words):
            arm.commander.enable(arm.seen(age), arm.now)
        assert arm.state is State.CLOSED


def test_a_floating_base_is_not_enabled() -> None:
    floating = load_model(limited_arm(), Settings(backend="numpy", base="floating"))
    with pytest.raises(ArgumentError, match="need a fixed base"):
        Arm(floating)


def test_enabling_again_what_is_enabled_makes_no_step(model: Model) -> None:
    arm = Arm(model, control="pd")
    arm.send()
    arm.run(0.5)
    arm.commander.enable(arm.seen(), arm.now)
    assert arm.state is State.FOLLOWING
    arm.run(1.0)
    arm.assert_smooth(model.gravity(HERE))
    assert arm.off(THERE) < 1e-3


# ------------------------------------------------------------------------------------ following
@pytest.mark.parametrize("control", ["pd", "computed_torque"])
def test_a_trajectory_is_followed_and_its_end_is_held(model: Model, control: str) -> None:
    arm = Arm(model, control=control)
    plan = arm.send()
    while arm.now < plan.end:
        arm.run(PERIOD / SECOND)
        assert arm.off(plan.at(arm.now).positions) < 2e-3
    arm.run(1.0)
    assert arm.state is State.HOLDING
    assert arm.off(THERE) < 1e-3
    arm.assert_smooth(model.gravity(HERE))


def test_after_a_trajectory_without_feedback_it_floats(model: Model) -> None:
    arm = Arm(model, control="feedforward")
    arm.send()
    arm.run(0.5)
    assert arm.state is State.FOLLOWING
    arm.run(0.6)
    assert arm.state is State.FLOATING


@pytest.mark.parametrize("control", ["feedforward", "pd", "computed_torque"])
def test_no_torque_of_the_last_point_goes_out_after_the_end(model: Model, control: str) -> None:
    """The last point decelerates, and what follows holds: nothing of it comes back."""
    for seconds in (0.5, 1 / 3, 0.7001):
        arm = Arm(model, control=control)
        plan = arm.send(seconds=seconds)
        arm.run(seconds + 0.2)
        moving = model.efforts(*(x[-1] for x in plan.states(np.array([seconds]))))
        assert np.abs(moving - model.gravity(THERE)).max() > 1.0
        held = model.gravity(THERE)
        after = [command for time, command in arm.commands if time > plan.end + 0.06 * SECOND]
        assert len(after) > 50
        assert np.abs(np.diff(after, axis=0)).max() < 0.05 * np.abs(moving - held).max()


def test_a_trajectory_that_begins_far_from_the_arm_is_not_followed(model: Model) -> None:
    arm, watcher = Arm(model, idle="hold"), Watcher()
    points = Points(JOINTS, np.arange(2), np.array([1.0]), THERE[None], None, None)
    elsewhere = Sample(np.add(HERE, [0.0, 0.11]), np.zeros(2), np.zeros(2))
    arm.schedule.add(plan_for(points, arm.now, arm.now, model, elsewhere, watcher))
    arm.run(0.5)
    assert arm.state is State.HOLDING
    (sentence,) = watcher.told
    assert sentence.startswith("joint 'joint2' is 0.11 from where the trajectory begins")
    assert not arm.commander.tripped
    assert arm.off(HERE) < 1e-6


def test_an_arm_that_was_led_away_before_a_trajectory_begins_is_not_pulled_back(
    model: Model,
) -> None:
    arm, watcher = Arm(model), Watcher()
    points = Points(JOINTS, np.arange(2), np.array([1.0]), THERE[None], None, None)
    begin, start = arm.now + SECOND, Sample(HERE, np.zeros(2), np.zeros(2))
    arm.schedule.add(plan_for(points, begin, arm.now, model, start, watcher))
    arm.velocities = np.array([1.0, 0.0])  # damped, it goes a third of a radian
    arm.run(1.2)
    assert "from where the trajectory begins" in watcher.told[0]
    assert arm.state is State.FLOATING


def test_contradicting_trajectories_at_200_hz_keep_the_rate_of_torque(model: Model) -> None:
    arm = Arm(model, idle="hold")
    for k in range(100):
        arm.send(HERE + (0.09 if k % 2 else -0.09), 0.05)
        arm.run(0.004 if k % 3 else 0.006)
    commands = np.array([command for _, command in arm.commands])
    assert np.abs(np.diff(commands, axis=0)).max() > 2.0, "they do contradict each other"
    arm.assert_smooth(model.gravity(HERE))


def test_a_path_that_is_left_brakes_and_holds(model: Model) -> None:
    arm, watcher = Arm(model), Watcher()
    arm.send(watcher=watcher)
    arm.run(0.5)
    watcher.verdict = Verdict(Code.PATH_TOLERANCE_VIOLATED, "too far")
    arm.run(PERIOD / SECOND)
    assert (arm.state, arm.commander.reason, arm.commander.tripped) == (
        State.BRAKING,
        "too far",
        True,
    )
    arm.until(State.HOLDING)
    assert np.abs(arm.velocities).max() < 0.5
    arm.assert_smooth(model.gravity(HERE))


def test_a_goal_that_cannot_be_followed_is_no_fault(model: Model) -> None:
    arm, watcher = Arm(model), Watcher(trips=False)
    arm.send(watcher=watcher)
    arm.run(0.5)
    watcher.verdict = Verdict(Code.PATH_TOLERANCE_VIOLATED, "too far")
    arm.until(State.HOLDING)
    assert not arm.commander.tripped
    arm.send(HERE)
    arm.run(0.1)
    assert arm.state is State.FOLLOWING


# ------------------------------------------------------------------------------------- tripping
@pytest.mark.parametrize("after_trip", ["hold", "float"])
def test_a_trip_brakes_within_the_limits_and_then_cares_on(model: Model, after_trip: str) -> None:
    arm, watcher = Arm(model, after_trip=after_trip), Watcher()
    arm.send(watcher=watcher)
    arm.run(0.5)
    arm.commander.trip("the sky fell", arm.now)
    assert watcher.told == ["the sky fell"]
    assert arm.state is State.BRAKING
    arm.until(State.HOLDING if after_trip == "hold" else State.FLOATING, 3.0)
    arm.run(1.0)
    rest = arm.positions
    arm.run(1.0)
    assert arm.off(rest) < 1e-3, "it rests"
    assert arm.commander.tripped
    assert arm.commander.reason == "the sky fell"
    arm.assert_smooth(model.gravity(HERE))
    arm.send(rest)
    arm.run(0.1)
    assert arm.state is not State.FOLLOWING, "nothing is followed until it is enabled again"


def test_a_trajectory_that_was_broken_off_is_not_taken_up_again(model: Model) -> None:
    arm = Arm(model)
    arm.send(seconds=60.0)
    arm.run(0.2)
    arm.commander.trip("the sky fell", arm.now)
    arm.until(State.HOLDING)
    arm.commander.enable(arm.seen(), arm.now)
    assert not arm.commander.tripped
    arm.run(0.2)
    assert arm.state is State.FLOATING
    arm.send(arm.positions)
    arm.run(0.1)
    assert arm.state is State.FOLLOWING, "a new one is"


def test_too_fast_an_arm_is_braked(model: Model) -> None:
    arm = Arm(model, path_tolerance=0.0)
    arm.velocities = np.array([0.0, 11.5])
    arm.run(PERIOD / SECOND)
    assert arm.state is State.BRAKING
    assert "joint 'joint2' moves at 11." in arm.commander.reason
    arm.until(State.HOLDING, 5.0)
    arm.assert_smooth(model.gravity(HERE))


@pytest.mark.parametrize("wild", [np.nan, np.inf])
def test_torques_that_are_not_finite_are_never_commanded(model: Model, wild: float) -> None:
    arm = Arm(model)
    arm.run(0.1)
    law = arm.commander._law
    law.driven = lambda q, a: np.array([0.0, wild])  # type: ignore[method-assign]
    arm.run(PERIOD / SECOND)
    del law.driven
    assert arm.commander.tripped
    assert arm.commander.reason == "the torques are not finite numbers"
    arm.until(State.HOLDING)
    law.integral = np.array([0.0, np.nan])
    arm.run(0.1)
    assert np.isfinite([command for _, command in arm.commands]).all()
    assert arm.off(HERE) < 1e-2


def test_what_effort_limits_cost_is_said() -> None:
    weak = load_model(limited_arm(effort=12.8), Settings(backend="numpy"))
    arm = Arm(weak)  # it needs 13.1, which is nearly that
    arm.run(PERIOD / SECOND)
    assert "joint 'joint1' is commanded its limit of 12.8, where 13" in arm.commander.saturation


# ------------------------------------------------------------------------- states not to be trusted
def blinded(model: Model) -> Arm:
    """An arm in mid-motion whose joint states stop, until nothing more is commanded."""
    arm = Arm(model)
    arm.send(seconds=2.0)
    arm.run(1.0)
    while arm.state is not State.NOTHING:
        arm.run(PERIOD / SECOND, seen=False)
        assert arm.now < 1005 * SECOND
    return arm


def test_without_joint_states_the_last_command_is_a_holding_torque_and_then_nothing(
    model: Model,
) -> None:
    arm = blinded(model)
    assert arm.commander.reason == "no joint state has come for 0.102 s, and the robot moves"
    np.testing.assert_allclose(arm.effort, model.gravity(arm.positions), atol=0.5)
    assert np.abs(arm.velocities).max() < 0.1, "it was braked as the model says"
    arm.assert_smooth(model.gravity(HERE))
    heard = len(arm.commands)
    arm.run(0.2, seen=False)
    assert len(arm.commands) == heard


def test_when_states_can_be_trusted_again_the_arm_is_braked_and_held_but_follows_nothing(
    model: Model,
) -> None:
    arm, watcher = blinded(model), Watcher()
    heard, before = len(arm.commands), arm.effort
    arm.run(4 * PERIOD / SECOND)
    assert len(arm.commands) == heard, "some of them have to fit each other first"
    arm.until(State.HOLDING)
    assert np.abs(arm.commands[heard][1] - before).max() <= EFFORT / RISE * 0.05
    assert arm.commander.tripped
    arm.send(arm.positions, watcher=watcher)
    arm.run(0.5)
    assert arm.state is State.HOLDING
    assert np.abs(arm.velocities).max() < 0.01


def test_a_jump_is_doubted_braked_and_then_held_where_the_arm_is(model: Model) -> None:
    arm = Arm(model)
    arm.send(seconds=2.0)
    arm.run(1.0)
    sensor = np.array([0.0, 1.0])
    for _ in range(500):
        arm.move()
        seen = arm.seen()
        arm.take(arm.commander.step(seen._replace(positions=seen.positions + sensor), arm.now))
        assert arm.state is not State.FOLLOWING
    assert "the position of joint 'joint2' jumped by 1" in arm.commander.reason
    assert arm.state is State.HOLDING, "states that fit each other are trusted again"
    assert np.isfinite(arm.positions).all()
    arm.assert_smooth(model.gravity(HERE))


def test_old_states_mean_nothing_while_newer_ones_are_waiting(model: Model) -> None:
    arm = Arm(model)
    arm.run(0.1)
    heard = len(arm.commands)
    for age in (0.6, 0.4, 0.3):
        arm.take(arm.commander.step(arm.seen(age), arm.now, more=True))
    assert len(arm.commands) == heard
    assert not arm.commander.tripped
    arm.take(arm.commander.step(arm.seen(0.3), arm.now, more=False))
    assert arm.commander.tripped


# -------------------------------------------------------------------------------------- stopping
def test_a_stop_decelerates_along_the_path_and_holds(model: Model) -> None:
    arm, watcher = Arm(model), Watcher()
    plan = arm.send(watcher=watcher, seconds=2.0)
    arm.run(1.0)
    arm.commander.stop(arm.now)
    assert (arm.state, arm.commander.reason) == (State.BRAKING, "stopped on request")
    assert watcher.told == [], "it is told when the arm rests"
    arm.until(State.HOLDING, 3.0)
    assert watcher.told == [""]
    arm.run(0.5)
    along = np.array([plan.motion.sample(t).positions for t in np.linspace(0.0, 2.0, 2001)])
    assert np.abs(along - arm.positions).max(axis=1).min() < 2e-3, "it is on the path"
    assert arm.off(THERE) > 0.05
    assert not arm.commander.tripped
    assert arm.commander.reason == ""
    arm.assert_smooth(model.gravity(HERE))
    arm.send(HERE)
    arm.run(0.1)
    assert arm.state is State.FOLLOWING


def test_a_floating_arm_is_stopped_and_held(model: Model) -> None:
    arm = Arm(model, float_damping=(0.0,))
    arm.velocities = np.array([0.5, 0.0])
    arm.run(0.1)
    arm.commander.stop(arm.now)
    arm.until(State.HOLDING)
    arm.run(0.5)
    assert np.abs(arm.velocities).max() < 1e-3


def test_switching_off_leaves_an_arm_at_rest_with_a_torque_that_holds_it(model: Model) -> None:
    arm, watcher = Arm(model), Watcher()
    arm.send(watcher=watcher, seconds=2.0)
    arm.run(1.0)
    arm.commander.disable(arm.now)
    assert arm.state is State.BRAKING
    assert watcher.told == ["effort commands are switched off"]
    arm.until(State.CLOSED, 4.0)
    np.testing.assert_allclose(arm.effort, model.gravity(arm.positions), atol=0.1)
    assert np.abs(arm.velocities).max() < 0.02
    heard = len(arm.commands)
    arm.run(0.1)
    assert len(arm.commands) == heard


@pytest.mark.parametrize("end", ["disable", "trip", "doubt"])
def test_an_arm_is_braked_before_those_who_wait_hear_of_it(model: Model, end: str) -> None:
    """To tell them takes time, and may fail."""
    arm, watcher, heard = Arm(model), Watcher(), []
    arm.send(watcher=watcher, seconds=2.0)
    arm.run(1.0)

    def over(sentence: str = "") -> None:
        heard.append(arm.state)
        raise OSError("nobody can be told")

    watcher.over = over  # type: ignore[method-assign]
    arguments = {"disable": (arm.now,)}.get(end, ("the sky fell", arm.now))
    with pytest.raises(OSError, match="nobody"):
        getattr(arm.commander, end)(*arguments)
    assert heard == [State.BRAKING]
    arm.until(State.CLOSED if end == "disable" else State.HOLDING, 4.0)
    assert heard == [State.BRAKING], "once is enough"


# ------------------------------------------------------------------------------------ parameters
@pytest.mark.parametrize("name", ["kp", "kd", "ki", "float_damping", "effort_rate"])
def test_a_wrong_number_of_gains_is_refused_and_nothing_is_taken_over(
    model: Model, name: str
) -> None:
    sentence = f"{name} has 3 numbers, expected one, or one for each of the 2 joints"
    with pytest.raises(ArgumentError, match=sentence):
        Commander(model, Settings(**{name: (1.0, 2.0, 3.0)}), lambda now: None)
    arm = Arm(model, idle="hold")
    arm.run(0.1)
    with pytest.raises(ArgumentError, match=sentence):
        arm.commander.configure(Settings(idle="float", **{name: (1.0, 2.0, 3.0)}), arm.now)
    assert arm.state is State.HOLDING


@pytest.mark.parametrize("control", ["pd", "computed_torque"])
@pytest.mark.parametrize("kp", [(1.0,), (900.0, 400.0)])
def test_other_gains_in_mid_motion_make_no_jump(
    model: Model, control: str, kp: tuple[float, ...]
) -> None:
    arm = Arm(model, control=control, path_tolerance=0.0)
    arm.send(np.add(HERE, [0.05, 0.05]), 2.0)
    arm.run(1.0)
    arm.positions = arm.positions + 0.02  # an error for the gains to act on
    arm.run(0.02)
    before = arm.effort
    arm.commander.configure(Settings(control=control, kp=kp, path_tolerance=0.0), arm.now)
    arm.run(PERIOD / SECOND)
    assert np.abs(arm.effort - before).max() < 0.02 * EFFORT
    arm.run(1.0)
    assert not arm.commander.tripped


def test_torques_of_a_robot_that_compensates_gravity_come_without_it(model: Model) -> None:
    arm = Arm(model, robot_compensates_gravity=True, idle="hold")
    for _ in range(100):
        arm.now += PERIOD
        arm.take(arm.commander.step(arm.seen(), arm.now))
    for _, command in arm.commands:
        np.testing.assert_allclose(command, np.zeros(2), atol=1e-9)


# ---------------------------------------------------------------------------- another description
def test_another_model_of_the_same_joints_brakes_and_goes_on_from_the_last_torque(
    model: Model,
) -> None:
    arm = Arm(model)
    arm.send(seconds=2.0)
    arm.run(1.0)
    before = arm.effort
    other = load_model(limited_arm(effort=45.0, velocity=10.0), Settings(backend="numpy"))
    arm.commander = arm.commander.successor(other, "the robot description was replaced", arm.now)
    assert (arm.state, arm.commander.tripped) == (State.BRAKING, True)
    arm.run(PERIOD / SECOND)
    assert np.abs(arm.effort - before).max() <= EFFORT / RISE * PERIOD / SECOND
    arm.until(State.HOLDING)
    assert (np.abs([command for _, command in arm.commands]) <= EFFORT).all()
