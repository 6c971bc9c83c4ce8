"""The action ~/follow_joint_trajectory, with goals that are executed here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from control_msgs.action import FollowJointTrajectory

from kane_dynamics.arrays import Array
from kane_dynamics.ros.faults import Fault, unforeseen
from kane_dynamics.ros.messages.stamps import nanoseconds_of
from kane_dynamics.ros.middleware.late_answers import Conclude, LateActionServer
from kane_dynamics.ros.robot.model import NO_MODEL, Model
from kane_dynamics.ros.trajectories.goal_messages import Feedback, read_goal, result_of
from kane_dynamics.ros.trajectories.tolerances import Judge, tolerances_of
from kane_dynamics.ros.trajectories.verdicts import CAUSE, Code, Refused, Verdict, as_refused
from kane_dynamics.simulation.trajectory import Sample

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

NAME = "~/follow_joint_trajectory"


class GoalServer(ABC):
    """Serves `~/follow_joint_trajectory`.

    Every goal is accepted. One that is wrong is aborted at once, with a code and a sentence in its
    result, and disturbs no other.
    """

    def __init__(self, node: DynamicsNode) -> None:
        self.node, self.faults = node, node.faults
        self.goals: dict[bytes, Any] = {}
        """Those that are not over, each with a method `cancel`."""
        self._server = LateActionServer(
            node, FollowJointTrajectory, NAME, lambda goal: True, self._accepted, self._cancel
        )

    @abstractmethod
    def begin(self, handle: Any, model: Model, conclude: Conclude) -> None:
        """Serve a goal, which is put among the others; Fault if something about it is wrong."""

    def _accepted(self, handle: Any, conclude: Conclude) -> None:
        def end(result: Any, succeeded: bool) -> None:
            self.goals.pop(bytes(handle.goal_id.uuid), None)
            conclude(result, succeeded)

        try:
            if self.node.model is None:
                raise Refused(Code.INVALID_GOAL, NO_MODEL)
            self.begin(handle, self.node.model, end)
        except Fault as fault:
            refused = as_refused(fault)
            self.faults.record(refused)
            end(result_of(refused.verdict), False)
        except Exception as error:  # nobody waits for ever for a goal that was not begun
            end(
                result_of(Verdict(Code.INVALID_GOAL, f"internal error: {unforeseen(error)}")), False
            )
            raise

    def _cancel(self, handle: Any) -> None:
        goal = self.goals.get(bytes(handle.goal_id.uuid))
        if goal is not None:
            goal.cancel()


class FollowAction(GoalServer):
    """Moves the robot itself.

    A goal that can be followed takes the place of the one before, which is aborted. A cancelled
    goal is over when the robot is at rest.
    """

    busy = False  # with goals that a controller follows

    def begin(self, handle: Any, model: Model, conclude: Conclude) -> None:
        """Follow a goal."""
        goal, settings, clock = handle.request, self.node.parameters.values, self.node.get_clock()
        points = read_goal(goal, model, settings.max_trajectory_points, clock.now().nanoseconds)
        axes = model.axes.some(points.joints)
        tolerances = tolerances_of(goal, points.names, settings)
        judge = Judge(tolerances, float(points.times[-1]), axes)
        feedback = Feedback(handle, points.times, axes, clock)
        followed = _Followed(self, judge, feedback, conclude)
        self.goals[bytes(handle.goal_id.uuid)] = followed
        stamp = nanoseconds_of(goal.trajectory.header.stamp)
        self.node.following.begin(points, stamp, followed)


class _Followed:
    """A goal while it is followed: the observer of its trajectory."""

    trips = False

    def __init__(
        self, action: FollowAction, judge: Judge, feedback: Feedback, end: Conclude
    ) -> None:
        self._action, self._judge, self._feedback, self._end = action, judge, feedback, end
        self._t = 0.0
        self._over = self._cancelled = False

    def cancel(self) -> None:
        """Bring the robot to rest."""
        if not self._cancelled:
            self._cancelled = True
            self._action.node.following.stop(self)

    def state(
        self, t: float, desired: Sample, positions: Array, velocities: Array
    ) -> Verdict | None:
        self._t = t
        verdict = None
        if not self._cancelled:
            verdict = self._judge.judge(t, desired, positions, velocities)
        self._feedback.tell(t, desired, positions, velocities, last=verdict is not None)
        if verdict is not None:
            if verdict.code != Code.SUCCESSFUL:
                self._action.faults.record(Fault(CAUSE, verdict.sentence))
            self._conclude(verdict, verdict.code == Code.SUCCESSFUL)
        return verdict

    def over(self, sentence: str = "") -> None:
        if self._cancelled:  # as the status tells; joint_trajectory_controller has no other code
            why = f": {sentence}" if sentence else ""
            self._conclude(Verdict(Code.SUCCESSFUL, f"cancelled at {self._t:.3f} s{why}"))
        else:
            self._conclude(Verdict(Code.INVALID_GOAL, sentence or "the motion was ended"))

    def _conclude(self, verdict: Verdict, succeeded: bool = False) -> None:
        if not self._over:
            self._over = True
            self._end(result_of(verdict), succeeded)
