"""Effort commands for a robot: gravity torques while idle, trajectory torques while one runs."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rclpy.clock import Clock, ClockType, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.timer import Timer
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.arrays import message_array
from kane_dynamics.ros.effort_gate import EffortGate, Gate, Seen
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.model import NO_MODEL, Array, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.stamps import SECOND

CATCHING_UP = 1.0
"""Seconds that joint states may wait for after something long; meanwhile nothing is commanded."""


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
        self._behind: float | None = None  # since when joint states are old that others follow
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
    def state_came(self, more: bool) -> None:
        """Look at new joint states, which may be old if there are more of them."""
        if self.gate is not None and self.open:
            self.gate.check_jump(self._seen())
            self._follow_up()
            self._watch(more)

    def trip(self, sentence: str) -> None:
        """Fall silent, because of what the sentence says."""
        if self.gate is not None and self.open:
            self.gate.trip(sentence)
            self._follow_up()

    def command(self, efforts: Array, wanted: Array | None = None) -> None:
        """Publish efforts of all joints, if the gate lets them pass.

        Parameters
        ----------
        efforts : array (n,)
        wanted : array (n,), optional
            Positions that a trajectory wants the joints to be at.
        """
        if self.gate is None or not self.open:
            return
        self._watch()
        if self._behind is not None:
            return  # where the robot is will be known in a moment
        if wanted is not None:
            self.gate.check_path(wanted, self._parameters.values.path_tolerance)
        passed = self.gate.command(efforts, self._now())
        if passed is not None:
            self._publisher.publish(Float64MultiArray(data=message_array(passed)))
        elif not self.open:
            self._follow_up()

    def _watch(self, more: bool = False) -> None:
        """Trip if joint states are old; if more are waiting, these have some time to be served."""
        if self.gate is None or not self.open:
            return
        sentence = self.gate.too_old(self._ages(), self._parameters.values.state_timeout)
        if not sentence:
            self._behind = None
            return
        if more and self._behind is None:
            self._behind = time.monotonic()
        if self._behind is None or time.monotonic() - self._behind > CATCHING_UP:
            self.trip(sentence)

    def _now(self) -> float:
        """Time of the ramp: simulated, or one that nobody can set."""
        if self._clock.ros_time_is_active:
            return float(self._clock.now().nanoseconds / SECOND)
        return time.monotonic()

    def _seen(self) -> Seen:
        states = self._states
        return Seen(states.positions.copy(), states.stamps.copy(), states.received.copy())

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
        gate.open(self._seen(), self._now(), self._parameters.values.ramp_time)
        self._behind = None
        return f"effort commands are on{_limits_to_know(gate.model)}"

    def _follow_up(self) -> None:
        """Tell a change of the gate, and watch over it while it is open."""
        if self.open != (self._watchdog is not None):
            self.time_watchdog()
        state = Gate.CLOSED if self.gate is None else self.gate.state
        if state is self._told:
            return
        self._told = state
        if self.gate is not None and state is Gate.TRIPPED:
            self._node.get_logger().error(f"Effort commands fell silent: {self.gate.sentence}.")
        self._changed()

    def time_watchdog(self) -> None:
        """Watch over an open gate in the time that the parameters now say."""
        if self._watchdog is not None:
            self._node.destroy_timer(self._watchdog)
            self._watchdog = None
        if self.open:
            period = self._parameters.values.state_timeout / 4.0
            self._watchdog = self._node.create_timer(period, self._watch, clock=self._steady)

    def _clock_jumped(self, jump: TimeJump) -> None:
        self.trip("the clock jumped back")
        self._changed()  # for trajectories come again, whether the gate was open or not


def _limits_to_know(model: Model) -> str:
    """What is said about joints without limit, and about those that can have no effort at all."""
    limits = dict(zip(model.joint_names, model.effort_limits))
    free = ", ".join(name for name, limit in limits.items() if not np.isfinite(limit))
    idle = ", ".join(name for name, limit in limits.items() if limit == 0.0)
    return (f"; the URDF gives no effort limit for {free}" if free else "") + (
        f"; the URDF limits the effort of {idle} to zero" if idle else ""
    )
