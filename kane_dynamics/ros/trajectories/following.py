"""Commanded trajectories: answered at once with efforts, then streamed as they fall due."""

from __future__ import annotations

import time

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.arrays import message_array
from kane_dynamics.ros.commands.effort_commands import EffortCommands
from kane_dynamics.ros.control_clock import ControlClock
from kane_dynamics.ros.faults import Fault, Faults
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.limits import clamped, torques_of
from kane_dynamics.ros.model import NO_MODEL, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.stamps import SECOND, nanoseconds_of, stamp_of
from kane_dynamics.ros.timing import Timing
from kane_dynamics.ros.topics import publish, subscribe
from kane_dynamics.ros.trajectories.commanded import Commanded, read_commanded
from kane_dynamics.ros.trajectories.efforts import CAUSE as LIMITS
from kane_dynamics.ros.trajectories.efforts import Course, course_of
from kane_dynamics.ros.trajectories.moving import Observer
from kane_dynamics.ros.trajectories.plans import Plan, Schedule, plan_for
from kane_dynamics.ros.trajectories.points import CAUSE, Points, points_of, read_points
from kane_dynamics.ros.trajectories.unobserved import Unobserved
from kane_dynamics.simulation.trajectory import Sample

NO_TIME = "time has not begun: use_sim_time is on, and nothing came on /clock"

STARTING = 0.5
"""Seconds between looks whether somebody listens to the first hold trajectory."""


class Following:
    """Takes `joint_trajectory`; publishes `~/torque_trajectory` and `~/torques`; serves `~/hold`.

    It is the `Mover` of goals: what it plans, effort commands follow.

    Parameters
    ----------
    node : Node
    parameters : Parameters
    faults : Faults
    states : JointStates
    clock : ControlClock
    schedule : Schedule
    commands : EffortCommands
    """

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        faults: Faults,
        states: JointStates,
        clock: ControlClock,
        schedule: Schedule,
        commands: EffortCommands,
    ) -> None:
        self._node, self._clock = node, clock
        self._parameters, self._faults, self._states = parameters, faults, states
        self._schedule, self._commands = schedule, commands
        self._model: Model | None = None
        self._streamed: Plan | None = None
        self._timer: Timer | None = None
        self._answers = publish(node, JointTrajectory, "~/torque_trajectory", 10)
        self._torques = publish(node, JointState, "~/torques", 10)
        subscribe(node, JointTrajectory, "joint_trajectory", self._receive, 32, raw=True)
        node.create_service(Trigger, "~/hold", self._hold_asked_for)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._starting = node.create_timer(STARTING, self._hold_at_start, clock=steady)
        self.timing = Timing()

    def use(self, model: Model) -> None:
        """Serve another model; trajectories are streamed on if it has the same joints."""
        if self._model is not None and self._model.joint_names != model.joint_names:
            self.drop("the robot description was replaced")
        self._model = model

    def drop(self, sentence: str) -> None:
        """Forget all trajectories."""
        self._schedule.withdraw(sentence)
        self._schedule.plans.clear()
        self._stop_timer()

    # ------------------------------------------------------------------------------- answering
    def _receive(self, data: bytes) -> None:
        try:
            self._follow(read_commanded(data))
        except Fault as fault:
            self._faults.record(fault)

    def _follow(self, commanded: Commanded) -> None:
        began = time.perf_counter()
        model = self._present_model()
        points = commanded.points(model, self._parameters.values.max_trajectory_points)
        observer = Unobserved(model, points, self._parameters, self._faults)
        plan, course = self._planned(model, points, commanded.stamp, observer)
        unfit = course.unfit if self._commands.enabled else ""
        if course.beyond:
            left = "; it is not commanded" if unfit else ""
            self._faults.record(Fault(LIMITS, f"{course.beyond}{left}"))
        plan.withdrawn = bool(course.unfit)
        self._schedule.drop_finished(self._clock.now())
        self._schedule.add(plan)
        self._answers.publish(_answer(commanded, course, points))
        self.timing.add(time.perf_counter() - began)
        self._start_timer()

    def _present_model(self) -> Model:
        if self._model is None:
            raise Fault(CAUSE, NO_MODEL)
        if not self._clock.running:
            raise Fault(CAUSE, NO_TIME)
        return self._model

    def _planned(
        self, model: Model, points: Points, stamp: int, observer: Observer
    ) -> tuple[Plan, Course]:
        now = self._clock.now()
        reference = self._clock.of(stamp) if stamp else now
        start = self._start(model, max(now, reference), now)
        plan = plan_for(points, reference, now, model, start, observer)
        return plan, course_of(plan, model, self._parameters.values)

    def _start(self, model: Model, begin: int, now: int) -> Sample:
        """State of the joints when a plan takes over; positions are NaN where they are not known.

        That is where the plan before will have brought them, else where they are wanted to be under
        feedback, else where they are.
        """
        before = self._schedule.newest(begin)
        if begin > now and before is not None and before.end >= now:
            return before.at(begin)
        wanted = self._commands.wanted()
        if wanted is not None:
            return wanted
        states = self._states
        moving = states.velocities if begin == now else np.zeros_like(states.velocities)
        return Sample(states.positions.copy(), moving.copy(), np.zeros_like(moving))

    # ------------------------------------------------------------------------------------- goals
    def begin(self, points: Points, stamp: int, observer: Observer) -> None:
        """Follow a trajectory in place of the one that is followed now; see `Mover`."""
        self._commands.check_fit()
        model = self._present_model()
        plan, course = self._planned(model, points, stamp, observer)
        if course.unfit or course.beyond:
            raise Fault(CAUSE, course.unfit or course.beyond)
        self._commands.check_start(plan)
        self._schedule.drop_finished(self._clock.now())
        self._schedule.add(plan)
        self._start_timer()

    def stop(self, observer: Observer) -> None:
        """Decelerate along the trajectory of an observer; see `Mover`."""
        if self._commands.stop_following(observer):
            return
        for plan in self._schedule.plans:
            if plan.observer is observer and not plan.withdrawn:
                plan.withdrawn = True
                plan.over("")

    def with_efforts(self, message: JointTrajectory) -> JointTrajectory:
        """A trajectory with efforts, for a controller.

        Raises
        ------
        Fault
            If something about it is wrong.
        """
        model = self._present_model()
        points = read_points(message, model, self._parameters.values.max_trajectory_points)
        observer = Unobserved(model, points, self._parameters, self._faults)
        stamp = nanoseconds_of(message.header.stamp)
        _, course = self._planned(model, points, stamp, observer)
        if course.unfit:
            raise Fault(CAUSE, course.unfit)
        return JointTrajectory(
            header=message.header,
            joint_names=message.joint_names,
            points=points_of(_nanoseconds(course), _fields(course, points)),
        )

    # ----------------------------------------------------------------------------------- holding
    def _hold_asked_for(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        try:
            self._hold()
            response.success, response.message = (
                True,
                "a trajectory that holds the arm is published",
            )
        except Fault as fault:
            response.success, response.message = False, fault.sentence
        return response

    def _hold_at_start(self) -> None:
        """Publish the first hold trajectory when the arm and a listener are known."""
        known = self._model is not None and self._states.complete
        if not self._parameters.values.hold_at_start or not known:
            return
        if self._answers.get_subscription_count():
            self._node.destroy_timer(self._starting)
            self._hold()

    def _hold(self) -> None:
        """Publish a trajectory that holds the arm where it is."""
        self._answers.publish(self.holding())

    def holding(self) -> JointTrajectory:
        """A trajectory that holds the arm where it is, with the efforts for that.

        Raises
        ------
        Fault
            If it is not known where the arm is.
        """
        model = self._present_model()
        positions = self._states.positions
        if np.isnan(positions).any():
            missing = ", ".join(map(repr, self._states.missing()))
            raise Fault(CAUSE, f"no joint state has named {missing} yet")
        if self._parameters.values.robot_compensates_gravity:
            efforts = np.zeros_like(positions)
        else:
            efforts = clamped(torques_of(model.gravity, positions), model)
        # two points: the first one has effect at once, and the motion between them has no end
        still = np.zeros((2, len(positions)))
        fields = (still + positions, still, still, still + efforts)
        return JointTrajectory(
            joint_names=list(model.joint_names),
            points=points_of(np.array([0, SECOND // 10]), fields),
        )

    # ------------------------------------------------------------------------------- streaming
    def _start_timer(self) -> None:
        """Stream; a timer that runs keeps its beat, however often trajectories come."""
        if self._timer is None:
            period = 1.0 / self._parameters.values.rate
            self._timer = self._node.create_timer(period, self._tick)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def rate_changed(self) -> None:
        """Stream at the rate that the parameters now say."""
        if self._timer is not None:
            self._stop_timer()
            self._start_timer()

    def _tick(self) -> None:
        now, stamp = self._clock.now(), self._clock.ros_now()
        plan, before = self._schedule.due(now), self._streamed
        if plan is None and before is not None:  # its last point is streamed as it is
            plan = before if before.end >= 0 and self._schedule.newest(now) is before else None
            self._streamed = None
        else:
            self._streamed = plan
        if plan is not None:
            try:
                self._stream(plan, min(now, plan.end), stamp)
            except Fault as fault:
                self._faults.record(fault)
        self._schedule.drop_finished(now)
        if not self._schedule.plans and self._streamed is None:
            self._stop_timer()

    def _stream(self, plan: Plan, now: int, stamp: int) -> None:
        model = self._model
        if model is None:
            return
        state = plan.at(now)
        efforts = clamped(torques_of(model.efforts, *state), model)
        if self._parameters.values.robot_compensates_gravity:
            efforts = efforts - model.gravity(state.positions)
        message = JointState(name=list(model.joint_names))
        message.header.stamp = stamp_of(stamp)
        message.position = message_array(state.positions)
        message.velocity = message_array(state.velocities)
        message.effort = message_array(efforts)
        self._torques.publish(message)


def _nanoseconds(course: Course) -> np.ndarray:
    return np.round(course.times * SECOND).astype(np.int64)


def _fields(course: Course, points: Points) -> list[np.ndarray]:
    """Positions, velocities, accelerations and efforts of the joints that were named."""
    return [values[:, points.joints] for values in (*course.states, course.efforts)]


def _answer(commanded: Commanded, course: Course, points: Points) -> JointTrajectory | bytes:
    return commanded.answer(_nanoseconds(course), _fields(course, points))
