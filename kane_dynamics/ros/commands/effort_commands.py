"""Effort commands for a robot, at every joint state: the topics and services around the machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.timer import Timer
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.commands.commander import TICK, Commander
from kane_dynamics.ros.commands.law import per_joint
from kane_dynamics.ros.commands.sight import Sight
from kane_dynamics.ros.commands.state import State
from kane_dynamics.ros.faults import Fault, blamed_on
from kane_dynamics.ros.messages.arrays import message_array
from kane_dynamics.ros.messages.stamps import stamp_of
from kane_dynamics.ros.middleware.topics import publish
from kane_dynamics.ros.parameters.settings import Settings, checked
from kane_dynamics.ros.robot.model import NO_MODEL, Model
from kane_dynamics.ros.trajectories.plans import Plan
from kane_dynamics.simulation.trajectory import Sample
from kane_dynamics_interfaces.msg import CommandState

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

# Deep enough that a state which lasts for some milliseconds is not lost before it is sent.
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)

CAUSE = "effort limits"
REPLACED = "the robot description was replaced"
NOT_ENABLED = (
    "effort commands are not enabled, so nothing moves: call ~/enable_effort_commands first"
)
PER_JOINT = ("kp", "kd", "ki", "float_damping", "effort_rate")
"""Parameters with a number for each joint."""


class EffortCommands:
    """Publishes `~/effort_commands` and `~/command_state`, silent until they are enabled."""

    def __init__(self, node: DynamicsNode) -> None:
        self._node, self._parameters, self._faults = node, node.parameters, node.faults
        self._states, self._clock, self._timetable = node.states, node.clock, node.timetable
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer: Timer | None = None
        self._period = 0.0
        self.commander: Commander | None = None
        self._order: NDArray[np.intp] = np.arange(0)
        self._sight = Sight(node)
        self._message = Float64MultiArray()
        self.told = ("", "", "")
        """State, reason, and what is commanded, as on ~/command_state."""
        self._publisher = publish(node, Float64MultiArray, "~/effort_commands", 10)
        self._state = publish(node, CommandState, "~/command_state", LATCHED)
        node.create_service(SetBool, "~/enable_effort_commands", self._enable)
        node.create_service(Trigger, "~/stop", self._stop)
        node.add_on_set_parameters_callback(self._check)
        self._tell()

    # -------------------------------------------------------------------------------- other models
    def use(self, model: Model) -> None:
        """Serve another model; a robot that is commanded is braked, for it may be another."""
        before, model = self.commander, model.commanded
        self._order = np.flatnonzero(model.actuated)
        if before is not None and before.enabled and same_joints(before.model, model):
            self.commander = before.successor(model, REPLACED, self._clock.now())
            self._order = self._places(model)
        else:
            self.commander = self._new(model)
        self._follow_up()

    def _new(self, model: Model) -> Commander:
        settings = self._parameters.values
        try:
            return Commander(model, settings, self._timetable.due)
        except ArgumentError as error:  # it is said again when they are to be enabled
            self._faults.record(Fault("parameters", str(error)))
            usual = {name: getattr(Settings, name) for name in PER_JOINT}
            return Commander(model, replace(settings, **usual), self._timetable.due)

    def holds_back(self, model: Model) -> bool:
        """Whether a model of other joints has to wait until the robot has been brought to rest."""
        same = self.commander is None or same_joints(self.commander.model, model)
        return not same and self.leave(REPLACED)

    def leave(self, why: str) -> bool:
        """Bring the robot to rest and leave it held; whether that takes some time."""
        if self.commander is None or not self.commander.enabled:
            return False
        self.commander.disable(self._clock.now(), why)
        self._follow_up()
        return self.commander.enabled

    # ------------------------------------------------------------------------------- what is done
    @property
    def enabled(self) -> bool:
        """Whether efforts are commanded."""
        return self.commander is not None and self.commander.enabled

    def wanted(self) -> Sample | None:
        """Where the robot is wanted to be under feedback now; None where it is not."""
        return None if self.commander is None else self.commander.wanted(self._clock.now())

    def check_fit(self) -> None:
        """Raise a Fault if no trajectory could be followed."""
        if self.commander is None:
            raise Fault(CAUSE, NO_MODEL)
        if not self.commander.enabled:
            raise Fault(CAUSE, NOT_ENABLED)
        if self.commander.tripped:
            raise Fault(
                CAUSE,
                f"effort commands have tripped ({self.commander.reason}): call "
                "~/enable_effort_commands again",
            )

    def check_start(self, plan: Plan) -> None:
        """Raise a Fault if the robot, which is fit, is too far from where a plan begins."""
        assert self.commander is not None
        with blamed_on(CAUSE):
            self.commander.check_start(plan, self._clock.now())

    def stop_following(self, observer: object) -> bool:
        """Bring the robot to rest along what an observer sees; whether that is followed."""
        commander = self.commander
        followed = commander is not None and commander.stop_following(observer, self._clock.now())
        self._follow_up()
        return followed

    # ------------------------------------------------------------------------------ joint states
    def state_came(self, more: bool) -> None:
        """Command what is due at new joint states, which may be old if there are more of them."""
        self._sight.came()
        if self.commander is not None and self.commander.enabled:
            now = self._clock.now()
            self._send(self.commander.step(self._sight.seen(now), now, more))

    def doubt(self, sentence: str) -> None:
        """Trust joint states no more for a while, because of what the sentence says."""
        if self.commander is not None:
            self.commander.doubt(sentence, self._clock.now())
            self._tick()

    def trip(self, sentence: str) -> None:
        """End the motion, because of what the sentence says."""
        if self.commander is not None:
            self.commander.trip(sentence, self._clock.now())
            self._follow_up()

    def _tick(self) -> None:
        if self.commander is not None:
            self._send(self.commander.tick(self._clock.now()))

    def _send(self, torques: Array | None) -> None:
        """Command, and tell what is done: no command comes after what says that none will."""
        if torques is not None:
            self._message.data = message_array(torques[self._order])
            self._publisher.publish(self._message)
            if self.commander is not None and self.commander.saturation:
                self._faults.record(Fault(CAUSE, self.commander.saturation))
        self._follow_up()

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
        if self.commander is not None:
            self.commander.disable(self._clock.now())
        self._timetable.withdraw_waiting("effort commands are switched off")
        braked = "the arm is brought to rest, then " if self.enabled else ""
        return f"{braked}effort commands are off"

    def _open(self) -> str:
        commander, states = self.commander, self._states
        if commander is None:
            raise ArgumentError(NO_MODEL)
        states.check_complete()
        order, now = self._places(commander.model), self._clock.now()
        if not commander.enabled:
            commander.configure(self._parameters.values, now)
        elif commander.tripped:
            self._timetable.withdraw_waiting(f"effort commands have tripped: {commander.reason}")
        commander.enable(self._sight.seen(now), now)
        self._order = order
        weak = _too_weak(commander.model, states.positions)
        if weak:
            self._faults.record(Fault(CAUSE, weak))
        return f"effort commands are on{_limits_to_know(commander.model)}{weak and '; '}{weak}"

    def _stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Bring the robot to rest along its path, and hold it."""
        commander = self.commander
        if commander is None or not commander.enabled:
            response.success, response.message = False, NOT_ENABLED
            return response
        commander.stop(self._clock.now())
        self._timetable.withdraw_waiting("stopped on request")
        self._follow_up()
        response.success = not commander.blind and commander.state is not State.NOTHING
        response.message = (
            "the arm is brought to rest, and held"
            if response.success
            else f"joint states cannot be trusted: {commander.reason}"
        )
        return response

    def _places(self, model: Model) -> NDArray[np.intp]:
        """Where the joints of commands are in the robot."""
        motors = tuple(np.array(model.joint_names)[model.actuated])
        names = self._parameters.values.command_joints or motors
        try:
            return model.places(names)
        except ArgumentError as error:
            raise ArgumentError(f"command_joints: {error}") from None

    # -------------------------------------------------------------------------------- parameters
    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        """Refuse parameters that do not fit the joints of the robot."""
        try:
            for each in parameters:
                if self.commander is not None and each.name in PER_JOINT:
                    values = checked(each.name, each.value)
                    per_joint(each.name, values, self.commander.model)
        except ArgumentError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def parameters_changed(self) -> None:
        """Take over what the parameters now say."""
        if self.commander is not None:
            try:
                self.commander.configure(self._parameters.values, self._clock.now())
            except ArgumentError as error:
                self._faults.record(Fault("parameters", str(error)))
        self._period = 0.0
        self._follow_up()

    # ------------------------------------------------------------------------- what others are told
    def _follow_up(self) -> None:
        """Tell a change, and look at the robot as often as what is done asks for."""
        period = 0.0
        if self.commander is not None and self.commander.enabled:
            moving = self.commander.state in (State.FOLLOWING, State.BRAKING)
            period = TICK if moving else self._parameters.values.state_timeout / 4.0
        if period != self._period or (period == 0.0) != (self._timer is None):
            self._look_every(period)
        self._tell()

    def _look_every(self, period: float) -> None:
        self._period = period
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None
        if period:
            self._timer = self._node.create_timer(period, self._tick, clock=self._steady)

    def _tell(self) -> None:
        commander = self.commander
        told = CommandState.CLOSED, "", CommandState.NOTHING
        if commander is not None and commander.enabled:
            word = commander.state.value
            tripped = commander.tripped and commander.state is not State.BRAKING
            told = CommandState.TRIPPED if tripped else word, commander.reason, word
        if told == self.told:
            return
        state, reason, commanding = told
        if state == CommandState.TRIPPED and self.told[0] != state:
            self._node.get_logger().error(f"Effort commands have tripped: {reason}.")
        self.told = told
        stamp = stamp_of(self._clock.ros_now())
        self._state.publish(
            CommandState(stamp=stamp, state=state, reason=reason, commanding=commanding)
        )
        self._node.commands_changed()


def same_joints(one: Model, other: Model) -> bool:
    """Whether commands for one model mean the same joints as those for another."""
    return one.joint_names == other.joint_names and not other.floating


def _too_weak(model: Model, positions: Array) -> str:
    """The sentence about a joint that cannot hold the robot against gravity; empty if all can."""
    needed, limits = np.abs(model.gravity(positions)), model.effort_limits
    worst = int((needed - limits).argmax())
    if needed[worst] <= limits[worst] * (1.0 + 1e-9) + 1e-9:
        return ""
    return (
        f"the arm will sink: joint {model.joint_names[worst]!r} needs {needed[worst]:.3g} against "
        f"gravity here, and its effort limit is {limits[worst]:g}"
    )


def _limits_to_know(model: Model) -> str:
    """What is said about joints without limit, and about those that can have no effort at all."""
    limits = dict(zip(model.joint_names, model.effort_limits))
    free = ", ".join(name for name, limit in limits.items() if not np.isfinite(limit))
    idle = ", ".join(name for name, limit in limits.items() if limit == 0.0)
    return (f"; the URDF gives no effort limit for {free}" if free else "") + (
        f"; the URDF limits the effort of {idle} to zero" if idle else ""
    )
