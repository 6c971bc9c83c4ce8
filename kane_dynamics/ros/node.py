"""The node kane_dynamics: its constructor is the table of contents."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from kane_dynamics.ros.description import Description
from kane_dynamics.ros.diagnostics import Diagnostics
from kane_dynamics.ros.effort_commands import EffortCommands
from kane_dynamics.ros.faults import Fault, Faults, Unsafe
from kane_dynamics.ros.following import Following
from kane_dynamics.ros.gravity import GravityCompensation
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.log import forward_log
from kane_dynamics.ros.model import Model
from kane_dynamics.ros.parameters import Parameters, Settings
from kane_dynamics.ros.services import Services
from kane_dynamics.ros.simulating import Simulating

# Best effort is what drivers of robots offer, and reliable ones serve it too. The depth bridges
# moments in which the machine has no time for the node.
SENSOR = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class DynamicsNode(Node):
    """Torques, gravity compensation and services of one robot."""

    def __init__(self) -> None:
        super().__init__("kane_dynamics")
        self.model: Model | None = None
        self.parameters = Parameters(self, self._parameters_changed)
        self.faults = Faults(self.get_logger())
        self._end_log = forward_log(self.get_logger())
        self.states = JointStates()
        self.gravity = GravityCompensation(self, self.parameters, self.faults)
        self.commands = EffortCommands(self, self.parameters, self.states, self._gate_changed)
        self.following = Following(self, self.parameters, self.faults, self.states, self.commands)
        self.answers = Services(self, self.parameters, self.faults, self.states)
        self.simulating = Simulating(self, self.parameters, self.faults, self.states)
        self.joint_states = self.create_subscription(
            JointState, "joint_states", self._joint_state_came, SENSOR
        )
        self.diagnostics: Diagnostics | None = None
        self.description = Description(
            self, self.parameters, self.faults, self._serve, self._report
        )
        self.diagnostics = Diagnostics(self)

    def destroy_node(self) -> None:
        """Leave nothing of the node behind."""
        self._end_log()
        super().destroy_node()

    def failed(self, error: Exception) -> None:
        """Count and log an error that no part of the node has foreseen."""
        fault = Fault("internal error", f"{type(error).__name__}: {error}")
        self.faults.record(fault)
        self.commands.trip(f"internal error: {fault.sentence}")

    def _serve(self, model: Model) -> None:
        """Serve a new model from now on."""
        self.model = model
        parts = (self.gravity, self.commands, self.following, self.answers, self.simulating)
        for part in (self.states, *parts):
            part.use(model)

    def _joint_state_came(self, message: JointState, more: bool = False) -> None:
        """Serve a joint state; `more` says that a newer one is waiting already."""
        if self.model is None:
            return
        try:
            if self.states.update(message) and self.states.complete:
                self._compensate(message, more)
        except Unsafe as fault:
            self.faults.record(fault)
            self.commands.trip(fault.sentence)
        except Fault as fault:
            self.faults.record(fault)

    def _compensate(self, message: JointState, more: bool) -> None:
        self.commands.state_came(more)
        torques = self.gravity.compensate(self.states, message.header)
        if self.commands.open and not self.following.running:
            self.commands.command(torques)

    def _parameters_changed(self, before: Settings, now: Settings) -> None:
        if now.rate != before.rate:
            self.following.rate_changed()
        if now.state_timeout != before.state_timeout:
            self.commands.time_watchdog()
        if now.robot_description != before.robot_description:
            self.description.parameter_changed()

    def _gate_changed(self) -> None:
        if self.commands.open:
            self.following.withhold_far_ones()
        else:
            self.following.withhold()
        self._report()

    def _report(self) -> None:
        if self.diagnostics is not None:
            self.diagnostics.report()
