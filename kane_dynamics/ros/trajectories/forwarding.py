"""The action ~/follow_joint_trajectory, with goals that are passed on to a controller."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalInfo, GoalStatus
from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.middleware.late_answers import Conclude
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.trajectories.goal_messages import check_joints, result_of
from kane_dynamics.ros.trajectories.goals import NAME, GoalServer
from kane_dynamics.ros.trajectories.verdicts import CAUSE, Code, Refused, Verdict

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

WATCH_PERIOD = 0.1
"""Seconds between two looks whether the controller is there."""

ANSWER_TIMEOUT = 5.0
"""Seconds that a controller may take to accept a goal."""

SILENCE_TIMEOUT = 2.0
"""Seconds without feedback, after which a controller that gave some is taken to have ended.

The middleware misses a process that was killed only after some 20 s.
"""


class Forwarding(GoalServer):
    """Passes goals on to a controller, with efforts.

    Goals, tolerances, requests to cancel, feedback and results are passed on as they are. Which
    goal takes the place of another is up to the controller.

    Raises ArgumentError if the parameter forward_to cannot be the name of a controller's action.
    """

    def __init__(self, node: DynamicsNode) -> None:
        self.name = _resolved(node, node.parameters.values.forward_to)
        self._looked = 0
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)  # simulated time may stand still
        self._timer: Timer | None = None
        self._cancels: dict[bytes, _Cancel] = {}
        self.controller = ActionClient(node, FollowJointTrajectory, self.name)
        self._cancelling = node.create_client(CancelGoal, f"{self.name}/_action/cancel_goal")
        super().__init__(node)

    @property
    def busy(self) -> bool:
        """Whether the controller follows a goal."""
        return bool(self.goals)

    def begin(self, handle: Any, model: Model, conclude: Conclude) -> None:
        """Pass a goal on, with efforts."""
        goal = handle.request
        check_joints(goal, model)
        if not self.controller.server_is_ready():
            raise Refused(
                Code.INVALID_GOAL,
                f"the controller's action {self.name}, which the parameter forward_to names, is "
                "not there: is the controller active?",
            )
        goal.trajectory = self.node.following.with_efforts(goal.trajectory)
        forwarded = _Forwarded(self, handle, conclude)
        self.goals[bytes(handle.goal_id.uuid)] = forwarded
        forwarded.send(goal)
        self._watch()

    def hold(self) -> None:
        """Have the controller hold the arm with efforts, where a goal has not ended well.

        It holds the arm by itself then, but without feed-forward, and the arm sags.
        """
        if self.goals:
            return  # another goal has taken its place
        try:
            goal = FollowJointTrajectory.Goal(trajectory=self.node.following.holding())
        except Fault as fault:
            self.faults.record(fault)
            return
        self.controller.send_goal_async(goal)

    def cancel_there(self, goal: GoalInfo) -> None:
        """Have the controller cancel a goal, also one that it has never answered."""
        key = bytes(goal.goal_id.uuid)
        if key not in self._cancels:
            self._cancels[key] = _Cancel(self._cancelling, goal)
        self._watch()

    def _watch(self) -> None:
        if self._timer is None:
            self._timer = self.node.create_timer(WATCH_PERIOD, self._look, clock=self._steady)

    def _look(self) -> None:
        """Give up goals of a controller that has gone away, unless time stands still."""
        self._cancels = {key: each for key, each in self._cancels.items() if not each.over()}
        there = self.controller.server_is_ready()
        before, self._looked = self._looked, self.node.get_clock().now().nanoseconds
        for forwarded in [*self.goals.values()]:
            forwarded.look(there, self._looked != before)
        if not self.goals and not self._cancels and self._timer is not None:
            self.node.destroy_timer(self._timer)
            self._timer = None


class _Cancel:
    """A request to cancel a goal, made again until the controller has the goal and answers.

    A request is lost while one side does not know the other, and finds nothing where it overtakes
    the goal.
    """

    def __init__(self, client: Any, goal: GoalInfo) -> None:
        self._client, self._goal = client, goal
        self._end = time.monotonic() + ANSWER_TIMEOUT
        self._ask()

    def _ask(self) -> None:
        self._answer = self._client.call_async(CancelGoal.Request(goal_info=self._goal))

    def over(self) -> bool:
        """Whether the controller knows of it, or has not for so long that it never will."""
        answer = self._answer.result() if self._answer.done() else None
        if answer is not None and answer.return_code != CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID:
            return True
        if time.monotonic() > self._end:
            return True
        if answer is None:
            self._client.remove_pending_request(self._answer)
        self._ask()
        return False


class _Forwarded:
    """A goal that a controller has been sent."""

    def __init__(self, forwarding: Forwarding, handle: Any, end: Conclude) -> None:
        self._forwarding, self._handle, self._end = forwarding, handle, end
        self._controller = f"the controller's action {forwarding.name}"
        self._goal = GoalInfo()
        self._goal.goal_id.uuid = list(uuid.uuid4().bytes)
        self._there: Any = None
        self._sent = time.monotonic()
        self._quiet: float | None = None
        self._cancelled = self._over = False

    # ------------------------------------------------------------------------ to the controller
    def send(self, goal: Any) -> None:
        """Pass the goal on."""
        controller = self._forwarding.controller
        answer = controller.send_goal_async(goal, self._feedback_came, self._goal.goal_id)
        answer.add_done_callback(lambda answer: self._answered(answer.result()))

    def cancel(self) -> None:
        """Pass a request to cancel on, as soon as the controller knows the goal."""
        self._cancelled = True
        if self._there is not None:
            self._forwarding.cancel_there(self._goal)

    def look(self, there: bool, time_passes: bool) -> None:
        """Give the goal up if the controller is not there, never answers, or falls silent.

        Looks are counted, for what waits to be read when this process was stopped is not late.
        """
        if self._quiet is not None and time_passes:
            self._quiet += WATCH_PERIOD
        if not there:
            self._give_up(f"{self._controller} has gone away")
        elif self._quiet is not None and self._quiet > SILENCE_TIMEOUT:
            self._give_up(f"{self._controller} has sent no feedback for {SILENCE_TIMEOUT:g} s")
        elif self._there is None and time.monotonic() - self._sent > ANSWER_TIMEOUT:
            self._give_up(f"{self._controller} has not answered for {ANSWER_TIMEOUT:g} s")

    def _give_up(self, sentence: str) -> None:
        self._forwarding.cancel_there(self._goal)  # if it is moving after all, it shall stop
        self._fail(sentence)

    # ---------------------------------------------------------------------- from the controller
    def _answered(self, there: Any) -> None:
        if not there.accepted:
            self._fail(f"{self._controller} has rejected the goal; its log says why")
            return
        self._there = there
        if self._cancelled or self._over:
            self._forwarding.cancel_there(self._goal)
        there.get_result_async().add_done_callback(lambda result: self._ended(result.result()))

    def _feedback_came(self, message: Any) -> None:
        self._quiet = 0.0
        if not self._over:
            self._handle.publish_feedback(message.feedback)

    def _ended(self, answer: Any) -> None:
        """Pass the result on, or say what has become of the goal instead."""
        status, result = answer.status, answer.result
        if status == GoalStatus.STATUS_UNKNOWN:
            self._fail(f"{self._controller} does not know the goal any more")
            return
        if status == GoalStatus.STATUS_CANCELED and not self._cancelled:
            self._fail(f"another client of {self._forwarding.name} has cancelled the goal")
        else:
            self._conclude(result, status == GoalStatus.STATUS_SUCCEEDED)
        if status != GoalStatus.STATUS_SUCCEEDED and "preempted" not in result.error_string:
            self._forwarding.hold()

    def _fail(self, sentence: str) -> None:
        if not self._over:
            self._forwarding.faults.record(Fault(CAUSE, sentence))
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
