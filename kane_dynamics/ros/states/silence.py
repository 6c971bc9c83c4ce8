"""What does not come: the log says what the node waits for, on which topic, and what to do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from rclpy.clock import Clock, ClockType

from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.robot.names import shown

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

PERIOD = 0.25
"""Seconds between two looks."""

PATIENCE = 1.0
"""Seconds that something may take before it is missed."""

REMINDER = 10.0
"""Seconds between two reminders that there is no description yet."""


class Silence:
    """Looks for what a node misses, also while time stands still; may lock silent joints."""

    def __init__(self, node: DynamicsNode) -> None:
        self._node = node
        self._description_missed = -np.inf
        self.begin()
        node.create_timer(PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def begin(self) -> None:
        """Wait for the joints of a model from now on."""
        self._began = time.monotonic()
        self._told_no_states = False
        self._told_missing: set[tuple[str, ...]] = set()
        self._told_late: set[str] = set()

    @property
    def sentence(self) -> str:
        """What is missing of the joints, and what to do; empty if nothing is."""
        node = self._node
        missing = node.states.missing()
        if node.model is None or not missing:
            return ""
        if np.isinf(node.states.first):
            topic = node.joint_states.topic_name
            speakers = node.count_publishers(topic)
            why = "nothing publishes it" if not speakers else f"publishers: {speakers}"
            return f"no joint state with a joint of the robot has come on {topic} ({why})"
        return (
            f"no joint state has named {shown(missing)} yet, and there are no torques before one "
            "does: joints that never report belong into the parameter locked_joints, or out of "
            "joints; lock_silent_joints locks them by itself"
        )

    def _look(self) -> None:
        node, now = self._node, time.monotonic()
        if node.model is None:
            self._miss_description(now)
        elif np.isinf(node.states.first):
            self._miss_joint_states(now)
        else:
            self._miss_joints(node.model, now)

    def _miss_description(self, now: float) -> None:
        descriptions = self._node.descriptions
        late = now - self._began > PATIENCE and now - self._description_missed > REMINDER
        if late and descriptions.waiting:
            self._description_missed = now
            self._node.get_logger().info(
                f"Waiting for a robot description on {descriptions.topic}."
            )

    def _miss_joint_states(self, now: float) -> None:
        if not self._told_no_states and now - self._began > 2.0 * PATIENCE:
            self._told_no_states = True
            self._say(self.sentence)

    def _miss_joints(self, model: Model, now: float) -> None:
        node, missing = self._node, tuple(self._node.states.missing())
        silent = {model.outside(joint) for joint in node.descriptions.silent}
        late = sorted((node.states.ignored & silent) - self._told_late)
        if late:
            self._told_late.update(late)
            self._say(
                f"joint states are ignored of joints that were locked because they were silent: "
                f"{shown(late)}"
            )
        if not missing or now - node.states.first < PATIENCE or node.descriptions.activity:
            return
        if silent.issuperset(missing):
            return  # they could not be locked, and the diagnostics say why
        if node.parameters.values.lock_silent_joints:
            node.descriptions.lock(dict(_at_rest(model, name) for name in missing))
            self._say(f"joints that no joint state has named are locked: {shown(missing)}")
        elif missing not in self._told_missing:
            self._told_missing.add(missing)
            self._say(self.sentence)

    def _say(self, sentence: str) -> None:
        self._node.get_logger().warning(f"{sentence[0].upper()}{sentence[1:]}.")


def _at_rest(model: Model, name: str) -> tuple[str, float]:
    """The joint as the URDF calls it, and zero or the limit of the joint that is nearest to it."""
    limits, joint = model.dynamics.limits, model.index[name]
    position = float(np.clip(0.0, limits.lower[joint], limits.upper[joint]))
    return model.dynamics.joint_names[joint], position
