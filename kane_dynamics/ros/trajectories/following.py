"""Commanded trajectories: answered at once with efforts, then streamed as they fall due."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.diagnostics import Timing
from kane_dynamics.ros.faults import Fault, blamed_on
from kane_dynamics.ros.messages.arrays import message_array
from kane_dynamics.ros.messages.stamps import SECOND, nanoseconds_of, stamp_of
from kane_dynamics.ros.middleware.topics import publish, subscribe
from kane_dynamics.ros.robot.limits import as_commanded, clamped, torques_of
from kane_dynamics.ros.robot.model import NO_MODEL, Model
from kane_dynamics.ros.trajectories.commanded import (
    CommandedMessage,
    CommandedTable,
    read_commanded,
)
from kane_dynamics.ros.trajectories.efforts import CAUSE as LIMITS
from kane_dynamics.ros.trajectories.efforts import Course, course_of
from kane_dynamics.ros.trajectories.first_hold import FirstHold
from kane_dynamics.ros.trajectories.observer import Observer, Unobserved
from kane_dynamics.ros.trajectories.plans import Plan, plan_for
from kane_dynamics.ros.trajectories.points import CAUSE, Points, points_of, read_points
from kane_dynamics.simulation.trajectory import Sample

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

NO_TIME = "time has not begun: use_sim_time is on, and nothing came on /clock"

FORWARDED = "a controller follows a goal of ~/follow_joint_trajectory: cancel that first"


class Following:
    """Takes `joint_trajectory`; publishes `~/torque_trajectory` and `~/torques`; serves `~/hold`.

    What it plans, effort commands follow.
    """

    def __init__(self, node: DynamicsNode) -> None:
        self._node, self._parameters, self._faults = node, node.parameters, node.faults
        self._states, self._clock, self._timetable = node.states, node.clock, node.timetable
        self._commands = node.commands
        self._streamed: Plan | None = None
        self._timer: Timer | None = None
        self._answers = publish(node, JointTrajectory, "~/torque_trajectory", 10)
        self._torques = publish(node, JointState, "~/torques", 10)
        subscribe(node, JointTrajectory, "joint_trajectory", self._receive, 32)
        node.create_service(Trigger, "~/hold", self._hold_asked_for)
        self._first_hold = FirstHold(node, self._answers, self.holding)
        self.timing = Timing()

    def drop(self, sentence: str) -> None:
        """Forget all trajectories."""
        self._timetable.withdraw(sentence)
        self._timetable.plans.clear()
        self._stop_timer()

    # ------------------------------------------------------------------------------- answering
    def _receive(self, data: bytes) -> None:
        try:
            self._follow(read_commanded(data))
        except Fault as fault:
            self._faults.record(fault)

    def _follow(self, commanded: CommandedTable | CommandedMessage) -> None:
        began = time.perf_counter()
        self._check_alone()
        model = self._present_model()
        points = commanded.points(model, self._parameters.values.max_trajectory_points)
        observer = Unobserved(self._node, model, points)
        plan, course = self._planned(model, points, commanded.stamp, observer)
        unfit = course.unfit or course.restless
        left = "; it is not commanded" if unfit and self._commands.enabled else ""
        if course.beyond or left:
            cause = LIMITS if course.beyond else CAUSE
            self._faults.record(Fault(cause, f"{course.beyond or unfit}{left}"))
        plan.withdrawn = bool(unfit)
        self._timetable.drop_finished(self._clock.now())
        self._timetable.add(plan)
        self._first_hold.end()
        self._answers.publish(commanded.answer(_nanoseconds(course), _fields(course, points)))
        self.timing.add(time.perf_counter() - began)
        self._start_timer()

    def _check_alone(self) -> None:
        """Raise a Fault if a controller follows a goal, which another trajectory would end."""
        if self._node.action is not None and self._node.action.busy:
            raise Fault(CAUSE, FORWARDED)

    def _present_model(self) -> Model:
        if self._node.model is None:
            raise Fault(CAUSE, NO_MODEL)
        if not self._clock.running:
            raise Fault(CAUSE, NO_TIME)
        return self._node.model

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
        before = self._timetable.newest(begin)
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
        """Follow a trajectory in place of the one that is followed now, whose observer hears of it.

        From then on the observer sees every joint state, until it gives a verdict or is told that
        the motion is over, whichever comes first. After a verdict other than SUCCESSFUL the robot
        is brought to rest, and held in any case.

        Raises Fault if that cannot be; then what is followed now is followed on.

        Parameters
        ----------
        stamp : int
            When time_from_start is zero, ROS time in ns; zero stands for now.
        """
        self._commands.check_fit()
        model = self._present_model()
        plan, course = self._planned(model, points, stamp, observer)
        unfit = course.unfit or course.beyond or course.restless
        if unfit:
            raise Fault(CAUSE, unfit)
        self._commands.check_start(plan)
        self._timetable.drop_finished(self._clock.now())
        self._timetable.add(plan)
        self._start_timer()

    def stop(self, observer: Observer) -> None:
        """Decelerate along the trajectory of an observer, and tell it when the joints are at rest.

        Nothing happens if its trajectory is not followed any more.
        """
        if self._commands.stop_following(observer):
            return
        for plan in self._timetable.plans:
            if plan.observer is observer and not plan.withdrawn:
                plan.withdrawn = True
                plan.over("")

    def with_efforts(self, message: JointTrajectory) -> JointTrajectory:
        """A trajectory with efforts, for a controller.

        Raises Fault if something about it is wrong.
        """
        model = self._present_model()
        points = read_points(message, model, self._parameters.values.max_trajectory_points)
        observer = Unobserved(self._node, model, points)
        stamp = nanoseconds_of(message.header.stamp)
        _, course = self._planned(model, points, stamp, observer)
        if course.unfit:
            raise Fault(CAUSE, course.unfit)
        self._first_hold.end()
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
            self._check_alone()
            self._answers.publish(self.holding())
            self._first_hold.end()
            response.success = True
            response.message = "a trajectory that holds the arm is published"
        except Fault as fault:
            response.success, response.message = False, fault.sentence
        return response

    def holding(self) -> JointTrajectory:
        """A trajectory that holds the arm where it is, with the efforts for that.

        Raises Fault if it is not known where the arm is.
        """
        model = self._present_model()
        positions = self._states.positions
        with blamed_on(CAUSE):
            self._states.check_complete()
        efforts = np.zeros_like(positions)
        if not self._parameters.values.robot_compensates_gravity:
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
        plan, before = self._timetable.due(now), self._streamed
        if plan is None and before is not None:  # its last point is streamed as it is
            plan = before if before.end >= 0 and self._timetable.newest(now) is before else None
            self._streamed = None
        else:
            self._streamed = plan
        if plan is not None:
            try:
                self._stream(plan, min(now, plan.end), stamp)
            except Fault as fault:
                self._faults.record(fault)
        self._timetable.drop_finished(now)
        if not self._timetable.plans and self._streamed is None:
            self._stop_timer()

    def _stream(self, plan: Plan, now: int, stamp: int) -> None:
        model, state = self._node.model, plan.at(now)
        assert model is not None
        efforts = torques_of(model.efforts, *state)
        efforts = as_commanded(efforts, state.positions, model, self._parameters.values)
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
