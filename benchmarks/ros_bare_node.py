"""A bare rclpy node that only copies messages: what any node in Python has to pay."""

from __future__ import annotations

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

SENSOR = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)


class BareNode(Node):
    """Has the topics of the node kane_dynamics, with the same qualities of service."""

    def __init__(self) -> None:
        super().__init__("kane_dynamics")
        self._states = self.create_publisher(JointState, "~/gravity_torques", 10)
        self._trajectories = self.create_publisher(JointTrajectory, "~/torque_trajectory", 10)
        self.create_subscription(JointState, "joint_states", self._states.publish, SENSOR)
        self.create_subscription(JointTrajectory, "joint_trajectory", self._copy, 32)

    def _copy(self, message: JointTrajectory) -> None:
        copy = JointTrajectory(header=message.header, joint_names=message.joint_names)
        for point in message.points:
            copy.points.append(
                JointTrajectoryPoint(
                    positions=point.positions,
                    velocities=point.velocities,
                    accelerations=point.accelerations,
                    effort=point.effort,
                    time_from_start=point.time_from_start,
                )
            )
        self._trajectories.publish(copy)


def main() -> None:
    rclpy.init()
    try:
        rclpy.spin(BareNode())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
