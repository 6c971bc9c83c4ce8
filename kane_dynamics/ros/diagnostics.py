"""What the node says of itself on /diagnostics: model, joint states, effort commands, faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType

from kane_dynamics.ros.middleware.topics import publish

if TYPE_CHECKING:
    from kane_dynamics.ros.node import DynamicsNode

PERIOD = 1.0
"""Seconds between two reports; changes are reported at once."""

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

Report = tuple[bytes, str, dict[str, str]]


class Diagnostics:
    """Publishes `/diagnostics` about a node, also while time stands still."""

    def __init__(self, node: DynamicsNode) -> None:
        self._node = node
        self._publisher = publish(node, DiagnosticArray, "/diagnostics", 10)
        self._faults_before = 0
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(PERIOD, self._report_periodically, clock=steady)

    def _report_periodically(self) -> None:
        self.report()
        self._faults_before = self._node.faults.total

    def report(self) -> None:
        """Publish the present state."""
        node = self._node
        message = DiagnosticArray()
        message.header.stamp = node.get_clock().now().to_msg()
        robot = "" if node.model is None else node.model.dynamics.robot.name
        for subject, (level, summary, values) in (
            ("model", self._model()),
            ("joint states", self._joint_states()),
            ("effort commands", self._effort_commands()),
            ("faults", self._faults()),
        ):
            message.status.append(
                DiagnosticStatus(
                    level=level,
                    name=f"{node.get_fully_qualified_name()}: {subject}",
                    message=summary,
                    hardware_id=robot,
                    values=[KeyValue(key=key, value=value) for key, value in values.items()],
                )
            )
        self._publisher.publish(message)

    def _model(self) -> Report:
        node = self._node
        model, description = node.model, node.descriptions
        values = {} if model is None else model_values(node)
        if description.sentence:
            kept = "" if model is None else "; the model before it serves on"
            return ERROR, f"{description.sentence}{kept}", values
        if description.activity:
            return WARN, description.activity, values
        return OK, "serving" if model else "waiting", values

    def _joint_states(self) -> Report:
        states, timeout = self._node.states, self._node.parameters.values.state_timeout
        missing, stale = states.missing(), states.stale(timeout)
        values = {"missing joints": ", ".join(missing), "stale joints": ", ".join(stale)}
        if self._node.model is None:
            return WARN, "not looked at until there is a model", values
        if missing:
            return WARN, self._node.silence.sentence, values
        if stale:
            return WARN, f"some joints have not been named for {timeout:g} s", values
        return OK, "all joints are known", values

    def _effort_commands(self) -> Report:
        state, reason, commanding = self._node.commands.told
        values = {"state": state, "reason": reason, "commanding": commanding}
        commander = self._node.commands.commander
        if commander is not None and commander.tripped and commander.enabled:
            return ERROR, f"tripped: {reason}", values
        return OK, "commanded" if self._node.commands.enabled else "not enabled", values

    def _faults(self) -> Report:
        faults = self._node.faults
        values = {cause: str(count) for cause, count in sorted(faults.counts.items())}
        if faults.latest is None:
            return OK, "none", values
        values["latest"] = faults.latest.sentence
        fresh = faults.total > self._faults_before
        return WARN if fresh else OK, f"{faults.total} since the start", values


def model_values(node: DynamicsNode) -> dict[str, str]:
    """What is served, how much work it is, and how long it takes."""
    assert node.model is not None
    dynamics = node.model.dynamics
    values = {
        "robot": dynamics.robot.name,
        "joints": ", ".join(node.model.joint_names),
        "backend": node.model.backend,
    }
    if node.model.constraints:
        values["actuated joints"] = ", ".join(np.array(node.model.joint_names)[node.model.actuated])
        values["constraints"] = ", ".join(node.model.constraints)
        values["active constraints"] = ", ".join(node.model.active)
    for name, operations in node.model.operations.items():
        values[f"{name} operations"] = str(operations.total)
    for name, timing in (
        ("gravity_torques", node.gravity.timing),
        ("torque_trajectory", node.following.timing),
    ):
        mean, longest = timing.read()
        values[f"{name} served"] = str(timing.total)
        values[f"{name} mean compute time [us]"] = f"{1e6 * mean:.1f}"
        values[f"{name} longest compute time [us]"] = f"{1e6 * longest:.1f}"
    return values


class Timing:
    """Collects durations in s of computations."""

    def __init__(self) -> None:
        self.total = 0
        self._count, self._sum, self._longest = 0, 0.0, 0.0
        self._before = (0.0, 0.0)

    def add(self, seconds: float) -> None:
        """Take one duration."""
        self.total += 1
        self._count += 1
        self._sum += seconds
        if seconds > self._longest:
            self._longest = seconds

    def read(self) -> tuple[float, float]:
        """Mean and longest in s since the last reading; if there was none, those from before."""
        if self._count:
            self._before = (self._sum / self._count, self._longest)
            self._count, self._sum, self._longest = 0, 0.0, 0.0
        return self._before
