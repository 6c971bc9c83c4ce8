"""Which way goals of ~/follow_joint_trajectory go: executed here, passed on, or not served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.faults import Faults
from kane_dynamics.ros.model import Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.trajectories.moving import Mover


class Action(Protocol):
    """What serves the goals."""

    def use(self, model: Model) -> None:
        """Serve another model, from the next goal on."""


def follow_joint_trajectory(
    node: Node,
    parameters: Parameters,
    faults: Faults,
    mover: Mover,
    with_efforts: Callable[[JointTrajectory], JointTrajectory],
    holding: Callable[[], JointTrajectory],
) -> Action | None:
    """The action as the parameter forward_to wants it; None if there is no control_msgs.

    Parameters
    ----------
    mover : Mover
        Executes goals here.
    with_efforts : callable
        Takes a trajectory message, and returns the one with efforts; Fault if there are none.
    holding : callable
        A trajectory that holds the arm where it is, with efforts; Fault if there is none.

    Raises
    ------
    ArgumentError
        If forward_to cannot be the name of a controller's action.
    """
    forward_to = parameters.values.forward_to
    try:  # it comes with a ROS distribution, and the rest of the node does without it
        from kane_dynamics.ros.trajectories.forwarding import Forwarding
        from kane_dynamics.ros.trajectories.goals import FollowAction
    except ImportError as error:
        node.get_logger().warning(
            f"The node runs without the action follow_joint_trajectory: {error}. It needs "
            "control_msgs, which comes with a ROS distribution."
        )
        return None
    if forward_to:
        return Forwarding(node, faults, forward_to, with_efforts, holding)
    return FollowAction(node, parameters, faults, mover)
