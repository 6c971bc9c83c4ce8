"""A controller in a process of its own: says what efforts it was given, and follows in its mind.

The frame of a trajectory tells how it behaves: "reject" it, accept it "late", "abort" it in the
middle, be done at "once", be "mute" all the time, or it "falls mute" when it has begun; else it is
done in the course of time. A new goal takes the place of the one before.
"""

import threading
import time
from contextlib import suppress
from typing import Any

import rclpy
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node

LATE = 1.0
PERIOD = 0.02


class Controller(Node):
    def __init__(self) -> None:
        super().__init__("controller")
        self._newest: Any = None
        self._lock = threading.Lock()
        self._server = ActionServer(
            self,
            FollowJointTrajectory,
            "/arm/follow_joint_trajectory",
            self._follow,
            goal_callback=self._welcome,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
            callback_group=ReentrantCallbackGroup(),
        )

    def _welcome(self, goal: Any) -> GoalResponse:
        frame = goal.trajectory.header.frame_id
        if frame == "late":
            time.sleep(LATE)
        return GoalResponse.REJECT if frame == "reject" else GoalResponse.ACCEPT

    def _follow(self, handle: Any) -> Any:
        self._newest = handle
        motion = handle.request.trajectory
        frame, end = motion.header.frame_id, motion.points[-1].time_from_start
        duration = 0.0 if frame == "once" else end.sec + 1e-9 * end.nanosec
        result = FollowJointTrajectory.Result()
        begin = time.monotonic()
        while time.monotonic() - begin < duration:
            if handle.is_cancel_requested:
                handle.canceled()
                return result
            if self._newest is not handle or frame == "abort":
                handle.abort()
                result.error_code = result.GOAL_TOLERANCE_VIOLATED
                result.error_string = "replaced" if self._newest is not handle else "did not reach"
                return result
            feedback = FollowJointTrajectory.Feedback(joint_names=motion.joint_names, index=1)
            feedback.desired = motion.points[0]
            if "mute" not in frame or (frame == "falls mute" and time.monotonic() - begin < 0.2):
                handle.publish_feedback(feedback)
            time.sleep(PERIOD)
        handle.succeed()
        efforts = [list(point.effort) for point in motion.points]
        tolerances = [each.name for each in handle.request.goal_tolerance]
        result.error_string = f"{motion.joint_names} {efforts} {tolerances}"
        return result


def main() -> None:
    rclpy.init()
    executor = MultiThreadedExecutor(4)
    executor.add_node(Controller())
    with suppress(ExternalShutdownException, KeyboardInterrupt):
        executor.spin()


if __name__ == "__main__":
    main()
