"""Gravity compensation: for every joint state the torques that hold the robot still there."""

from __future__ import annotations

import time

from rclpy.node import Node
from sensor_msgs.msg import JointState

from kane_dynamics.ros.faults import Faults
from kane_dynamics.ros.joint_state_bytes import EffortMessage
from kane_dynamics.ros.joint_states import JointStates
from kane_dynamics.ros.limits import torques_of, within_limits
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.parameters import Parameters
from kane_dynamics.ros.timing import Timing
from kane_dynamics.ros.topics import publish


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
        self._publisher = publish(node, JointState, "~/gravity_torques", 10)
        self._message = EffortMessage(())
        self.timing = Timing()

    def use(self, model: Model) -> None:
        """Serve another model."""
        self._model = model
        self._message = EffortMessage(model.joint_names)

    def compensate(self, states: JointStates) -> Array:
        """Publish the torques at the present positions under the header of the latest joint state.

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
        self._publisher.publish(self._message.written(states.stamp, states.frame_id, torques))
        return torques
