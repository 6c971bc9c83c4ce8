"""Which way goals of ~/follow_joint_trajectory go: executed here, passed on, or not served."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode
    from kane_dynamics.ros.trajectories.forwarding import Forwarding
    from kane_dynamics.ros.trajectories.goals import FollowAction


def follow_joint_trajectory(node: DynamicsNode) -> FollowAction | Forwarding | None:
    """The action as the parameter forward_to wants it; None if there is no control_msgs.

    Raises ArgumentError if forward_to cannot be the name of a controller's action.
    """
    try:  # it comes with a ROS distribution, and the rest of the node does without it
        from kane_dynamics.ros.trajectories.forwarding import Forwarding
        from kane_dynamics.ros.trajectories.goals import FollowAction
    except ImportError as error:
        node.get_logger().warning(
            f"The node runs without the action follow_joint_trajectory: {error}. It needs "
            "control_msgs, which comes with a ROS distribution."
        )
        return None
    return Forwarding(node) if node.parameters.values.forward_to else FollowAction(node)
