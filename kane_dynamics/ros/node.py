"""The node kane_dynamics: its constructor is the table of contents."""

from __future__ import annotations

import threading
import time

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from kane_dynamics.ros.beside import Beside
from kane_dynamics.ros.commands.effort_commands import EffortCommands
from kane_dynamics.ros.control_clock import ControlClock
from kane_dynamics.ros.description import Description
from kane_dynamics.ros.diagnostics import Diagnostics
from kane_dynamics.ros.faults import Fault, Faults, Unsafe
from kane_dynamics.ros.gravity import GravityCompensation
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.log import forward_log
from kane_dynamics.ros.model import Model
from kane_dynamics.ros.parameters import Parameters, warn_of_unknown_parameters
from kane_dynamics.ros.realtime import run_in_real_time
from kane_dynamics.ros.services import Services
from kane_dynamics.ros.settings import Settings
from kane_dynamics.ros.silence import Silence
from kane_dynamics.ros.simulate.simulating import Simulating
from kane_dynamics.ros.topics import subscribe
from kane_dynamics.ros.trajectories.action import follow_joint_trajectory
from kane_dynamics.ros.trajectories.following import Following
from kane_dynamics.ros.trajectories.plans import Schedule

# Best effort is what drivers of robots offer, and reliable ones serve it too. The depth bridges
# moments in which the machine has no time for the node.
SENSOR = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class DynamicsNode(Node):
    """Torques, gravity compensation and services of one robot."""

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
        parameters = self.parameters
        run_in_real_time(self, parameters.values.realtime_priority)
        faults = self.faults = Faults(self.get_logger())
        states = self.states = JointStates()
        clock = self.clock = ControlClock(self, self._clock_jumped)
        schedule = self.schedule = Schedule()
        self.gravity = GravityCompensation(self, parameters, faults)
        self.commands = EffortCommands(
            self, parameters, faults, states, clock, schedule, self._commands_changed
        )
        self.following = Following(self, parameters, faults, states, clock, schedule, self.commands)
        self.action = follow_joint_trajectory(
            self,
            parameters,
            faults,
            self.following,
            self.following.with_efforts,
            self.following.holding,
        )
        self.beside = Beside(self, self.failed)
        self.answers = Services(self.beside, parameters, faults, states)
        self.simulating = Simulating(self, self.beside, parameters, faults, states)
        self.joint_states = subscribe(
            self, JointState, "joint_states", self._joint_state_came, SENSOR, raw=True
        )
        self.silence = Silence(self)
        self.description = Description(self, parameters, faults, self._serve, self._report)
        self.diagnostics = Diagnostics(self)
        clock.watch_jumps(parameters.values.state_timeout)
        warn_of_unknown_parameters(self)

    def leave(self, seconds: float) -> None:
        """Bring a robot that is commanded to rest, and leave it held; called in another thread.

        It ends when that is done, and in any case after so many seconds.
        """
        self._ends = True
        self._leaving.trigger()
        self._left.wait(seconds)

    def _leave(self) -> None:
        if not self.commands.leave():
            self._left.set()

    def destroy_node(self) -> None:
        """Leave nothing of the node behind."""
        self._end_log()
        super().destroy_node()

    def failed(self, error: Exception) -> None:
        """Count and log an error that no part of the node has foreseen."""
        fault = Fault("internal error", f"{type(error).__name__}: {error}")
        self.faults.record(fault)
        self.commands.trip(f"internal error: {fault.sentence}")

    # ---------------------------------------------------------------------------- what is served
    def _serve(self, model: Model) -> None:
        """Serve a new model from now on, or when the robot that is commanded has come to rest."""
        if self.commands.holds_back(model):
            self._waiting = model
            return
        self._waiting = None
        with self.beside.swapping:
            self.model = model
            self.states.use(model)
            self.gravity.use(model)
            self.answers.use(model)
            self.simulating.use(model)
        self.commands.use(model)
        self.following.use(model)
        self.silence.use(model)
        if self.action is not None:
            self.action.use(model)

    def _serve_waiting(self) -> None:
        if self._waiting is not None:
            self._serve(self._waiting)

    def _commands_changed(self) -> None:
        """Tell what effort commands do now; a model may have waited for their end."""
        if self._ends and not self.commands.enabled:
            self._left.set()
        if self._waiting is not None and not self.commands.enabled:
            self._swap.trigger()  # not in the middle of a joint state
        self._report()

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
                self.gravity.compensate(self.states)
        except Unsafe as fault:
            self.faults.record(fault)
            self.commands.doubt(fault.sentence)
        except Fault as fault:
            self.faults.record(fault)

    def _parameters_changed(self, before: Settings, now: Settings) -> None:
        if now.rate != before.rate:
            self.following.rate_changed()
        if now.robot_description != before.robot_description:
            self.description.parameter_changed()
        else:
            self.commands.parameters_changed()

    def _clock_jumped(self, sentence: str) -> None:
        self.commands.trip(sentence)
        self.following.drop(sentence)

    def _report(self) -> None:
        if self.diagnostics is not None:
            self.diagnostics.report()
