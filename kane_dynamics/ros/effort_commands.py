"""Effort commands for a robot: gravity torques while idle, trajectory torques while one runs."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

import numpy as np
from rclpy.clock import Clock, ClockType, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.timer import Timer
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.effort_gate import EffortGate, Gate
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.plans import SECOND

NO_MODEL = "there is no model of the robot yet"


class EffortCommands:
    """Publishes `~/effort_commands`, silent unless `~/enable_effort_commands` has opened the gate.

    Parameters
    ----------
    node : Node
    parameters : Parameters
    states : JointStates
    changed : callable
        Told when the gate opens, closes or trips.
    """

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        states: JointStates,
        changed: Callable[[], None],
    ) -> None:
        self._node, self._parameters, self._states = node, parameters, states
        self._changed = changed
        self._clock = node.get_clock()
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._watchdog: Timer | None = None
        self.gate: EffortGate | None = None
        self._told = Gate.CLOSED
        self._publisher = node.create_publisher(Float64MultiArray, "~/effort_commands", 10)
        node.create_service(SetBool, "~/enable_effort_commands", self._enable)
        back = JumpThreshold(
            min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True
        )
        self._jumps = self._clock.create_jump_callback(back, post_callback=self._clock_jumped)

    def use(self, model: Model) -> None:
        """Serve another model; an open gate trips, for the robot may be another."""
        before = self.gate
        self.gate = EffortGate(model, self._parameters.values.command_joints)
        if before is not None and before.state is not Gate.CLOSED:
            before.trip("the robot description was replaced")
            self.gate.state, self.gate.sentence = before.state, before.sentence
            self._follow_up()

    @property
    def open(self) -> bool:
        """Whether efforts are commanded."""
        return self.gate is not None and self.gate.state is Gate.OPEN

    # ------------------------------------------------------------------------------ commanding
    def state_came(self) -> None:
        """Look at new joint states."""
        if self.gate is not None and self.open:
            self.gate.check_jump(self._states.positions, self._now())
            self._follow_up()
            self._watch()

    def trip(self, sentence: str) -> None:
        """Fall silent, because of what the sentence says."""
        if self.gate is not None and self.open:
            self.gate.trip(sentence)
            self._follow_up()

    def command(self, efforts: Array) -> None:
        """Publish efforts of all joints, if the gate lets them pass."""
        if self.gate is None or not self.open:
            return
        self._watch()
        passed = self.gate.command(efforts, self._now(), self._parameters.values.ramp_time)
        if passed is not None:
            self._publisher.publish(Float64MultiArray(data=array("d", passed.tobytes())))
        elif not self.open:
            self._follow_up()

    def _watch(self) -> None:
        """Trip if joint states are old."""
        if self.gate is None or not self.open:
            return
        sentence = self.gate.too_old(self._ages(), self._parameters.values.state_timeout)
        if sentence:
            self.trip(sentence)

    def _now(self) -> float:
        return float(self._clock.now().nanoseconds / SECOND)

    def _ages(self) -> Array:
        """Age of each joint's state in s: by its stamp, or since it came if that is longer.

        In simulated time only the stamp counts, for that time may stand still.
        """
        states = self._states
        since = time.monotonic() - states.received
        now = self._clock.now().nanoseconds
        stamped = np.where(states.stamps == 0, 0.0, (now - states.stamps) / SECOND)
        if self._clock.ros_time_is_active:
            since = np.where(states.stamps == 0, since, 0.0)
        return np.where(np.abs(stamped) > since, stamped, since)

    # ------------------------------------------------------------------------ opening and closing
    def _enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        try:
            response.message = self._open() if request.data else self._close()
            response.success = True
        except ArgumentError as error:
            response.success, response.message = False, str(error)
        self._follow_up()
        return response

    def _close(self) -> str:
        if self.gate is not None:
            self.gate.close()
        return "effort commands are off"

    def _open(self) -> str:
        gate, states = self.gate, self._states
        if gate is None:
            raise ArgumentError(NO_MODEL)
        if not states.complete:
            raise ArgumentError(
                f"no joint state has named {', '.join(map(repr, states.missing()))} yet"
            )
        sentence = gate.too_old(self._ages(), self._parameters.values.state_timeout)
        if sentence:
            raise ArgumentError(sentence)
        gate.open(states.positions, self._now())
        free = [
            name
            for name, limit in zip(gate.model.joint_names, gate.model.effort_limits)
            if not np.isfinite(limit)
        ]
        return f"effort commands are on{_without_limit(free)}"

    def _follow_up(self) -> None:
        """Tell a change of the gate, and watch over it while it is open."""
        if self.open and self._watchdog is None:
            period = self._parameters.values.state_timeout / 4.0
            self._watchdog = self._node.create_timer(period, self._watch, clock=self._steady)
        elif not self.open and self._watchdog is not None:
            self._node.destroy_timer(self._watchdog)
            self._watchdog = None
        state = Gate.CLOSED if self.gate is None else self.gate.state
        if state is self._told:
            return
        self._told = state
        if self.gate is not None and state is Gate.TRIPPED:
            self._node.get_logger().error(f"Effort commands fell silent: {self.gate.sentence}.")
        self._changed()

    def _clock_jumped(self, jump: TimeJump) -> None:
        self.trip("the clock jumped back")


def _without_limit(names: list[str]) -> str:
    if not names:
        return ""
    return f"; the URDF gives no effort limit for {', '.join(names)}"
