"""The node kane_dynamics: its constructor is the table of contents."""

from __future__ import annotations

import threading
import time

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from kane_dynamics.ros.commands.control_clock import ControlClock
from kane_dynamics.ros.commands.effort_commands import REPLACED, EffortCommands
from kane_dynamics.ros.diagnostics import Diagnostics
from kane_dynamics.ros.faults import Fault, Faults, Unsafe, unforeseen
from kane_dynamics.ros.gravity import GravityCompensation
from kane_dynamics.ros.middleware.beside import Beside
from kane_dynamics.ros.middleware.log import forward_log
from kane_dynamics.ros.middleware.realtime import run_in_real_time
from kane_dynamics.ros.middleware.topics import subscribe
from kane_dynamics.ros.parameters.declaration import Parameters, warn_of_unknown_parameters
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.description import Descriptions
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.services import Services
from kane_dynamics.ros.simulate.simulating import Simulating
from kane_dynamics.ros.states.joint_states import JointStates
from kane_dynamics.ros.states.silence import Silence
from kane_dynamics.ros.switching import Switching
from kane_dynamics.ros.trajectories.action import follow_joint_trajectory
from kane_dynamics.ros.trajectories.following import Following
from kane_dynamics.ros.trajectories.plans import Timetable

# Best effort is what drivers of robots offer, and reliable ones serve it too. The depth bridges
# moments in which the machine has no time for the node.
SENSOR = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class DynamicsNode(Node):
    """Torques, gravity compensation and services of one robot.

    Every part of it is given the node, and finds those that were made before it there.
    """

    def __init__(self) -> None:
        super().__init__("kane_dynamics")
        self._end_log = forward_log(self.get_logger())
        self.model: Model | None = None
        self._waiting: Model | None = None
        self._ends, self._left = False, threading.Event()
        self._leaving = self.create_guard_condition(self._leave)
        self._swap = self.create_guard_condition(self._serve_waiting)
        self.diagnostics: Diagnostics | None = None
        self.parameters = Parameters(self, self._parameters_changed)
        run_in_real_time(self, self.parameters.values.realtime_priority)
        self.faults = Faults(self.get_logger())
        self.states = JointStates()
        self.clock = ControlClock(self, self._clock_jumped)
        self.timetable = Timetable()
        self.gravity = GravityCompensation(self)
        self.commands = EffortCommands(self)
        self.following = Following(self)
        self.action = follow_joint_trajectory(self)
        self.beside = Beside(self, self.failed)
        self.answers = Services(self)
        self.switching = Switching(self)
        self.simulating = Simulating(self)
        self.joint_states = subscribe(
            self, JointState, "joint_states", self._joint_state_came, SENSOR
        )
        self.silence = Silence(self)
        self.descriptions = Descriptions(self)
        self.diagnostics = Diagnostics(self)
        self.clock.watch_jumps(self.parameters.values.state_timeout)
        warn_of_unknown_parameters(self)

    def leave(self, seconds: float) -> None:
        """Bring a robot that is commanded to rest, and leave it held; called in another thread.

        It ends when that is done, and in any case after so many seconds.
        """
        self._ends = True
        self._leaving.trigger()
        self._left.wait(seconds)

    def _leave(self) -> None:
        if not self.commands.leave("the node ends"):
            self._left.set()

    def destroy_node(self) -> None:
        """Leave nothing of the node behind."""
        self._end_log()
        super().destroy_node()

    def failed(self, error: Exception) -> None:
        """Count and log an error that no part of the node has foreseen."""
        fault = unforeseen(error)
        self.faults.record(fault)
        self.commands.trip(f"{fault.cause}: {fault.sentence}")

    # ---------------------------------------------------------------------------- what is served
    def serve(self, model: Model) -> None:
        """Serve a new model from now on, or when the robot that is commanded has come to rest."""
        if self.commands.holds_back(model):
            self._waiting = model
            return
        before, self._waiting = self.model, None
        with self.beside.swapping:
            self.model = model
            self.states.use(model)
        self.gravity.use(model)
        self.commands.use(model)
        if before is not None and before.joint_names != model.joint_names:
            self.following.drop(REPLACED)
        self.silence.begin()

    def _serve_waiting(self) -> None:
        if self._waiting is not None:
            self.serve(self._waiting)

    def commands_changed(self) -> None:
        """Tell what effort commands do now; a model may have waited for their end."""
        if self._ends and not self.commands.enabled:
            self._left.set()
        if self._waiting is not None and not self.commands.enabled:
            self._swap.trigger()  # not in the middle of a joint state
        self.report()

    # ------------------------------------------------------------------------------ what happens
    def _joint_state_came(
        self, data: bytes, received: float | None = None, more: bool = False
    ) -> None:
        """Serve a joint state; `more` says that a newer one is waiting already.

        When it was received, in s of `time.monotonic`, is not known where rclpy's executor calls.
        """
        if self.model is None:
            return
        try:
            when = time.monotonic() if received is None else received
            if self.states.update(data, when) and self.states.complete:
                self.commands.state_came(more)
                self.gravity.compensate()
        except Unsafe as fault:
            self.faults.record(fault)
            self.commands.doubt(fault.sentence)
        except Fault as fault:
            self.faults.record(fault)

    def _parameters_changed(self, before: Settings, now: Settings) -> None:
        if now.rate != before.rate:
            self.following.rate_changed()
        if now.robot_description != before.robot_description:
            self.descriptions.parameter_changed()
        else:
            self.commands.parameters_changed()

    def _clock_jumped(self, sentence: str) -> None:
        self.commands.trip(sentence)
        self.following.drop(sentence)

    def report(self) -> None:
        """Say on /diagnostics what is going on, once that has begun."""
        if self.diagnostics is not None:
            self.diagnostics.report()
