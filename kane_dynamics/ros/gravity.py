"""Gravity compensation: for every joint state the torques that hold the robot still there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sensor_msgs.msg import JointState

from kane_dynamics.ros.diagnostics import Timing
from kane_dynamics.ros.middleware.topics import publish
from kane_dynamics.ros.robot.limits import torques_of, within_limits
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.states.joint_state_bytes import EffortMessage

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

DEPTH = 100  # messages that wait for a listener which has no time for them


class GravityCompensation:
    """Publishes `~/gravity_torques`."""

    def __init__(self, node: DynamicsNode) -> None:
        self._node = node
        self._publisher = publish(node, JointState, "~/gravity_torques", DEPTH)
        self._message = EffortMessage(())
        self.timing = Timing()

    def use(self, model: Model) -> None:
        """Serve another model."""
        self._model, self._message = model, EffortMessage(model.joint_names)

    def compensate(self) -> None:
        """Publish the torques at the present positions under the header of the latest joint state.

        Raises Fault if the torques are not finite, or the limits reject them.
        """
        node, states = self._node, self._node.states
        began = time.perf_counter()
        torques = torques_of(self._model.gravity, states.positions)
        self.timing.add(time.perf_counter() - began)
        torques = within_limits(torques, self._model, node.parameters.values.limits, node.faults)
        self._publisher.publish(self._message.written(states.stamp, states.frame_id, torques))
