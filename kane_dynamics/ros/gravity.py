"""Gravity compensation: for every joint state the torques that hold the robot still there."""

from __future__ import annotations

import time

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from kane_dynamics.ros.arrays import message_array
from kane_dynamics.ros.faults import Faults
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.limits import torques_of, within_limits
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.timing import Timing


class GravityCompensation:
    """Publishes `~/gravity_torques`.

    Parameters
    ----------
    node : Node
    parameters : Parameters
    faults : Faults
    """

    def __init__(self, node: Node, parameters: Parameters, faults: Faults) -> None:
        self._parameters = parameters
        self._faults = faults
        self._publisher = node.create_publisher(JointState, "~/gravity_torques", 10)
        self._message = JointState()
        self.timing = Timing()

    def use(self, model: Model) -> None:
        """Serve another model."""
        self._model = model
        self._message = JointState(name=list(model.joint_names))

    def compensate(self, states: JointStates, header: Header) -> Array:
        """Publish the torques at the present positions under the header of a joint state.

        Raises
        ------
        Fault
            If the torques are not finite, or the limits reject them.
        """
        began = time.perf_counter()
        torques = torques_of(self._model.gravity, states.positions)
        self.timing.add(time.perf_counter() - began)
        policy = self._parameters.values.limits
        torques = within_limits(torques, self._model, policy, self._faults)
        message = self._message
        message.header = header
        message.effort = message_array(torques)
        self._publisher.publish(message)
        return torques
