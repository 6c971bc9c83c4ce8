"""The action ~/follow_joint_trajectory, with goals that are executed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from control_msgs.action import FollowJointTrajectory
from rclpy.node import Node

from kane_dynamics.ros.faults import Fault, Faults
from kane_dynamics.ros.late_answers import Conclude, LateActionServer
from kane_dynamics.ros.model import NO_MODEL, Array, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.settings import Settings
from kane_dynamics.ros.stamps import nanoseconds_of
from kane_dynamics.ros.trajectories.goal_messages import Feedback, read_goal, result_of
from kane_dynamics.ros.trajectories.moving import Mover
from kane_dynamics.ros.trajectories.tolerances import Axes, Defaults, Judge, tolerances_of
from kane_dynamics.ros.trajectories.verdicts import CAUSE, Code, Refused, Verdict, as_refused
from kane_dynamics.simulation.trajectory import Sample

NAME = "~/follow_joint_trajectory"

End = Callable[[Verdict, bool], None]


class FollowAction:
    """Serves `~/follow_joint_trajectory` by moving the robot.

    Every goal is accepted. One that is wrong is aborted at once, with a code and a sentence in its
    result, and disturbs no other. One that can be followed takes the place of the one before,
    which is aborted. A cancelled goal is over when the robot is at rest.

    Parameters
    ----------
    node : Node
    parameters : Parameters
    faults : Faults
    mover : Mover
    """

    def __init__(self, node: Node, parameters: Parameters, faults: Faults, mover: Mover) -> None:
        self._clock = node.get_clock()
        self._parameters, self._faults, self._mover = parameters, faults, mover
        self._model: Model | None = None
        self._followed: dict[bytes, _Followed] = {}
        self._server = LateActionServer(
            node, FollowJointTrajectory, NAME, lambda goal: True, self._accepted, self._cancel
        )

    def use(self, model: Model) -> None:
        """Serve another model, from the next goal on."""
        self._model = model

    def _accepted(self, handle: Any, conclude: Conclude) -> None:
        identity = bytes(handle.goal_id.uuid)

        def end(verdict: Verdict, succeeded: bool = False) -> None:
            self._followed.pop(identity, None)
            conclude(result_of(verdict), succeeded)

        try:
            self._begin(handle, end)
        except Fault as fault:
            refused = as_refused(fault)
            self._faults.record(refused)
            end(refused.verdict)
        except Exception as error:  # nobody waits for ever for a goal that was not begun
            end(Verdict(Code.INVALID_GOAL, f"internal error: {type(error).__name__}: {error}"))
            raise

    def _begin(self, handle: Any, end: End) -> None:
        goal, model, settings = handle.request, self._model, self._parameters.values
        if model is None:
            raise Refused(Code.INVALID_GOAL, NO_MODEL)
        now = self._clock.now().nanoseconds
        points = read_goal(goal, model, settings.max_trajectory_points, now)
        # The client hears of the joints by the names that it gave.
        names = tuple(goal.trajectory.joint_names)
        axes = Axes(names, model.turns[points.joints], model.slides[points.joints])
        tolerances = tolerances_of(goal, names, _defaults(settings))
        judge = Judge(tolerances, float(points.times[-1]), axes)
        feedback = Feedback(handle, points.times, axes, self._clock)
        followed = _Followed(judge, feedback, self._faults, end)
        self._followed[bytes(handle.goal_id.uuid)] = followed
        self._mover.begin(points, nanoseconds_of(goal.trajectory.header.stamp), followed)

    def _cancel(self, handle: Any) -> None:
        followed = self._followed.get(bytes(handle.goal_id.uuid))
        if followed is not None and not followed.cancelled:
            followed.cancelled = True
            self._mover.stop(followed)


class _Followed:
    """A goal while it is followed: the observer of its trajectory."""

    trips = False

    def __init__(self, judge: Judge, feedback: Feedback, faults: Faults, end: End) -> None:
        self._judge, self._feedback, self._faults, self._end = judge, feedback, faults, end
        self._t = 0.0
        self._over = self.cancelled = False

    def state(
        self, t: float, desired: Sample, positions: Array, velocities: Array
    ) -> Verdict | None:
        self._t = t
        verdict = None
        if not self.cancelled:
            verdict = self._judge.judge(t, desired, positions, velocities)
        self._feedback.tell(t, desired, positions, velocities, last=verdict is not None)
        if verdict is not None:
            if verdict.code != Code.SUCCESSFUL:
                self._faults.record(Fault(CAUSE, verdict.sentence))
            self._conclude(verdict, verdict.code == Code.SUCCESSFUL)
        return verdict

    def over(self, sentence: str = "") -> None:
        if self.cancelled:  # as the status tells; joint_trajectory_controller has no other code
            why = f": {sentence}" if sentence else ""
            self._conclude(Verdict(Code.SUCCESSFUL, f"cancelled at {self._t:.3f} s{why}"))
        else:
            self._conclude(Verdict(Code.INVALID_GOAL, sentence or "the motion was ended"))

    def _conclude(self, verdict: Verdict, succeeded: bool = False) -> None:
        if not self._over:
            self._over = True
            self._end(verdict, succeeded)


def _defaults(settings: Settings) -> Defaults:
    return Defaults(
        settings.path_tolerance,
        settings.goal_tolerance,
        settings.stopped_velocity_tolerance,
        settings.goal_time,
    )
