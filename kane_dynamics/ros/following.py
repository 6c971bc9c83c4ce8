"""Commanded trajectories: answered at once with efforts, then streamed as they fall due."""

from __future__ import annotations

import time

from rclpy.node import Node
from rclpy.time import Time
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.arrays import message_array
from kane_dynamics.ros.commanded import Commanded, read_commanded
from kane_dynamics.ros.effort_commands import EffortCommands
from kane_dynamics.ros.faults import Fault, Faults, Unsafe
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.limits import torques_of, within_limits
from kane_dynamics.ros.model import NO_MODEL, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.plans import Plan, Schedule, plan_for
from kane_dynamics.ros.timing import Timing
from kane_dynamics.ros.trajectories import CAUSE

NEAR = 0.1
"""Distance in rad or m within which a robot follows a trajectory that has begun already."""


class Following:
    """Takes `joint_trajectory`; publishes `~/torque_trajectory` and `~/torques`.

    Parameters
    ----------
    node : Node
    parameters : Parameters
    faults : Faults
    states : JointStates
    commands : EffortCommands
        Takes the torques of all joints as they fall due.
    """

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        faults: Faults,
        states: JointStates,
        commands: EffortCommands,
    ) -> None:
        self._node = node
        self._clock = node.get_clock()
        self._parameters, self._faults, self._states = parameters, faults, states
        self._commands = commands
        self._model: Model | None = None
        self._schedule = Schedule()
        self._withheld: list[Plan] = []
        self._timer: Timer | None = None
        self._answers = node.create_publisher(JointTrajectory, "~/torque_trajectory", 10)
        self._torques = node.create_publisher(JointState, "~/torques", 10)
        node.create_subscription(JointTrajectory, "joint_trajectory", self._receive, 32, raw=True)
        self.timing = Timing()

    def use(self, model: Model) -> None:
        """Serve another model; trajectories go on if it has the same joints."""
        if self._model is not None and self._model.joint_names != model.joint_names:
            self.stop()
        self._model = model

    def withhold(self) -> None:
        """Command the robot nothing of the trajectories that there are; they are streamed on."""
        self._withheld = list(self._schedule.plans)

    def withhold_far_ones(self) -> None:
        """Command nothing of trajectories under way that the robot is not following anyway."""
        now, model = self._clock.now().nanoseconds, self._model
        plan = self._schedule.due(now)
        if plan is None or model is None:
            return
        if not (model.apart(plan.at(now).positions, self._states.positions) <= NEAR).all():
            self._withheld.append(plan)

    def stop(self) -> None:
        """Drop all trajectories."""
        self._schedule = Schedule()
        self._stop_timer()

    @property
    def running(self) -> bool:
        """Whether a trajectory is to be commanded now."""
        if not self._schedule.plans:
            return False
        now = self._clock.now().nanoseconds
        plan = self._schedule.due(now)
        return plan is not None and plan.end >= now and plan not in self._withheld

    # ------------------------------------------------------------------------------- answering
    def _receive(self, data: bytes) -> None:
        try:
            self._follow(read_commanded(data))
        except Fault as fault:
            self._faults.record(fault)

    def _follow(self, commanded: Commanded) -> None:
        began = time.perf_counter()
        model, settings = self._model, self._parameters.values
        if model is None:
            raise Fault(CAUSE, NO_MODEL)
        points = commanded.points(model, settings.max_trajectory_points)
        now = self._clock.now().nanoseconds
        if not now:
            raise Fault(CAUSE, "time has not begun: use_sim_time is on, and nothing came on /clock")
        plan = plan_for(points, commanded.stamp, now, model, self._states, self._schedule)
        state = plan.last_points(len(points.times))
        wanted = torques_of(model.efforts, *state)
        efforts = within_limits(wanted, model, settings.limits, self._faults)
        self._schedule.drop_finished(now)
        self._schedule.add(plan)
        some = [x[:, points.joints] for x in (state.velocities, state.accelerations, efforts)]
        self._answers.publish(commanded.answer(*some))
        self.timing.add(time.perf_counter() - began)
        if self._timer is None:  # else it keeps its beat, however often trajectories come
            self._start_timer()

    # ------------------------------------------------------------------------------- streaming
    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self._node.create_timer(1.0 / self._parameters.values.rate, self._tick)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def rate_changed(self) -> None:
        """Stream at the rate that the parameters now say."""
        if self._timer is not None:
            self._start_timer()

    def _tick(self) -> None:
        now = self._clock.now()
        plan = self._schedule.due(now.nanoseconds)
        if plan is not None:
            try:
                self._stream(plan, now)
            except Unsafe as fault:
                self._faults.record(fault)
                if plan not in self._withheld:
                    self._commands.trip(fault.sentence)
        self._schedule.drop_finished(now.nanoseconds)
        if not self._schedule.plans:
            self._stop_timer()

    def _stream(self, plan: Plan, now: Time) -> None:
        if self._model is None:
            return
        state = plan.at(min(now.nanoseconds, plan.end))  # the last point is streamed as it is
        wanted = torques_of(self._model.efforts, *state)
        policy = self._parameters.values.limits
        efforts = within_limits(wanted, self._model, policy, self._faults)
        message = JointState(name=list(self._model.joint_names))
        message.header.stamp = now.to_msg()
        message.position = message_array(state.positions)
        message.velocity = message_array(state.velocities)
        message.effort = message_array(efforts)
        self._torques.publish(message)
        if plan not in self._withheld:
            self._commands.command(efforts, state.positions)
