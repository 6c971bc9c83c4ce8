"""The action ~/follow_joint_trajectory, with goals that are passed on to a controller."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalInfo, GoalStatus
from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.faults import Fault, Faults
from kane_dynamics.ros.late_answers import Conclude, LateActionServer
from kane_dynamics.ros.model import NO_MODEL, Model
from kane_dynamics.ros.trajectories.goal_messages import check_joints, result_of
from kane_dynamics.ros.trajectories.goals import NAME
from kane_dynamics.ros.trajectories.verdicts import CAUSE, Code, Refused, Verdict, as_refused

WATCH_PERIOD = 0.1
"""Seconds between two looks whether the controller is there."""

ANSWER_TIMEOUT = 5.0
"""Seconds that a controller may take to accept a goal."""


class Forwarding:
    """Serves `~/follow_joint_trajectory` by passing goals on, with efforts.

    Goals, tolerances, requests to cancel, feedback and results are passed on as they are. Which
    goal takes the place of another is up to the controller.

    Parameters
    ----------
    node : Node
    faults : Faults
    name : str
        Of the controller's action.
    with_efforts : callable
        Takes a trajectory message, and returns the one with efforts; Fault if there are none.
    holding : callable
        A trajectory that holds the arm where it is, with efforts; Fault if there is none.

    Raises
    ------
    ArgumentError
        If the name cannot be that of a controller's action.
    """

    def __init__(
        self,
        node: Node,
        faults: Faults,
        name: str,
        with_efforts: Callable[[JointTrajectory], JointTrajectory],
        holding: Callable[[], JointTrajectory],
    ) -> None:
        self._node, self._faults, self._with_efforts = node, faults, with_efforts
        self._holding = holding
        self._name = _resolved(node, name)
        self._model: Model | None = None
        self._forwarded: dict[bytes, _Forwarded] = {}
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)  # simulated time may stand still
        self._timer: Timer | None = None
        self._controller = ActionClient(node, FollowJointTrajectory, self._name)
        self._cancelling = node.create_client(CancelGoal, f"{self._name}/_action/cancel_goal")
        self._server = LateActionServer(
            node, FollowJointTrajectory, NAME, lambda goal: True, self._accepted, self._cancel
        )

    def use(self, model: Model) -> None:
        """Serve another model, from the next goal on."""
        self._model = model

    def _accepted(self, handle: Any, conclude: Conclude) -> None:
        identity = bytes(handle.goal_id.uuid)

        def end(result: Any, succeeded: bool) -> None:
            self._forwarded.pop(identity, None)
            conclude(result, succeeded)

        try:
            goal = self._supplemented(handle.request)
        except Fault as fault:
            refused = as_refused(fault)
            self._faults.record(refused)
            end(result_of(refused.verdict), False)
            return
        except Exception as error:  # nobody waits for ever for a goal that was not begun
            verdict = Verdict(Code.INVALID_GOAL, f"internal error: {type(error).__name__}: {error}")
            end(result_of(verdict), False)
            raise
        forwarded = _Forwarded(
            handle, self._name, self._faults, self._cancel_there, end, self._hold
        )
        self._forwarded[identity] = forwarded
        forwarded.send(self._controller, goal)
        if self._timer is None:
            self._timer = self._node.create_timer(WATCH_PERIOD, self._look, clock=self._steady)

    def _supplemented(self, goal: Any) -> Any:
        """A goal with efforts."""
        if self._model is None:
            raise Refused(Code.INVALID_GOAL, NO_MODEL)
        check_joints(goal, self._model)
        if not self._controller.server_is_ready():
            raise Refused(
                Code.INVALID_GOAL,
                f"the controller's action {self._name}, which the parameter forward_to names, is "
                "not there: is the controller active?",
            )
        goal.trajectory = self._with_efforts(goal.trajectory)
        return goal

    def _cancel(self, handle: Any) -> None:
        forwarded = self._forwarded.get(bytes(handle.goal_id.uuid))
        if forwarded is not None:
            forwarded.cancel()

    def _hold(self) -> None:
        """Have the controller hold the arm with efforts, where a goal has not ended well.

        It holds the arm by itself then, but without feed-forward, and the arm sags.
        """
        if self._forwarded:
            return  # another goal has taken its place
        try:
            goal = FollowJointTrajectory.Goal(trajectory=self._holding())
        except Fault as fault:
            self._faults.record(fault)
            return
        self._controller.send_goal_async(goal)

    def _cancel_there(self, goal: GoalInfo) -> None:
        """Have the controller cancel a goal, also one that it has never answered."""
        self._cancelling.call_async(CancelGoal.Request(goal_info=goal))

    def _look(self) -> None:
        """Give up goals of a controller that has gone away."""
        there = self._controller.server_is_ready()
        for forwarded in [*self._forwarded.values()]:
            forwarded.look(there)
        if not self._forwarded and self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None


class _Forwarded:
    """A goal that a controller has been sent."""

    def __init__(
        self,
        handle: Any,
        name: str,
        faults: Faults,
        cancel: Callable[[GoalInfo], None],
        end: Callable[[Any, bool], None],
        hold: Callable[[], None],
    ) -> None:
        self._handle, self._name, self._faults, self._end = handle, name, faults, end
        self._cancel_there, self._hold = cancel, hold
        self._goal = GoalInfo()
        self._goal.goal_id.uuid = list(uuid.uuid4().bytes)
        self._there: Any = None
        self._sent = time.monotonic()
        self._cancelled = self._over = False

    # ------------------------------------------------------------------------ to the controller
    def send(self, controller: ActionClient, goal: Any) -> None:
        """Pass the goal on."""
        answer = controller.send_goal_async(goal, self._feedback_came, self._goal.goal_id)
        answer.add_done_callback(lambda answer: self._answered(answer.result()))

    def cancel(self) -> None:
        """Pass a request to cancel on, as soon as the controller knows the goal."""
        self._cancelled = True
        if self._there is not None:
            self._cancel_there(self._goal)

    def look(self, there: bool) -> None:
        """Give the goal up if the controller is not there, or has never answered."""
        if not there:
            self._give_up(f"the controller's action {self._name} has gone away")
        elif self._there is None and time.monotonic() - self._sent > ANSWER_TIMEOUT:
            self._give_up(
                f"the controller's action {self._name} has not answered for {ANSWER_TIMEOUT:g} s"
            )

    def _give_up(self, sentence: str) -> None:
        self._cancel_there(self._goal)  # if it is moving after all, it shall stop
        self._fail(sentence)

    # ---------------------------------------------------------------------- from the controller
    def _answered(self, there: Any) -> None:
        if not there.accepted:
            self._fail(
                f"the controller's action {self._name} has rejected the goal; its log says why"
            )
            return
        self._there = there
        if self._cancelled or self._over:
            self._cancel_there(self._goal)
        there.get_result_async().add_done_callback(lambda result: self._ended(result.result()))

    def _feedback_came(self, message: Any) -> None:
        if not self._over:
            self._handle.publish_feedback(message.feedback)

    def _ended(self, answer: Any) -> None:
        """Pass the result on, or say what has become of the goal instead."""
        status, result = answer.status, answer.result
        if status == GoalStatus.STATUS_UNKNOWN:
            self._fail(f"the controller's action {self._name} does not know the goal any more")
            return
        if status == GoalStatus.STATUS_CANCELED and not self._cancelled:
            self._fail(f"another client of {self._name} has cancelled the goal")
        else:
            self._conclude(result, status == GoalStatus.STATUS_SUCCEEDED)
        if status != GoalStatus.STATUS_SUCCEEDED and "preempted" not in result.error_string:
            self._hold()

    def _fail(self, sentence: str) -> None:
        if not self._over:
            self._faults.record(Fault(CAUSE, sentence))
            self._conclude(result_of(Verdict(Code.INVALID_GOAL, sentence)), False)

    def _conclude(self, result: Any, succeeded: bool) -> None:
        if not self._over:
            self._over = True
            self._end(result, succeeded)


def _resolved(node: Node, name: str) -> str:
    """The full name of a controller's action."""
    try:
        resolved: str = node.resolve_topic_name(name)
    except Exception as error:  # rclpy has several about names
        said = " ".join(str(error).split())
        raise ArgumentError(
            f"forward_to is {name!r}, which is no name of an action: {said}"
        ) from None
    if resolved == node.resolve_topic_name(NAME):
        raise ArgumentError(f"forward_to is {name!r}, which is the action of this node itself")
    return resolved
