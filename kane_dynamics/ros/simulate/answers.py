"""Simulated motions into messages."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Pose, Quaternion, Twist, Vector3
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.ros.messages.arrays import message_array
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.trajectories.points import points_of
from kane_dynamics.simulation.checks import Checks
from kane_dynamics.simulation.motion import Motion
from kane_dynamics.simulation.watch import Progress
from kane_dynamics_interfaces.msg import SimulationChecks


def fill_answer(answer: Any, motion: Motion, model: Model) -> None:
    """Write a motion into a response of the service, or a result of the action."""
    answer.success, answer.message = motion.completed, model.outside.said(motion.message)
    answer.motion = trajectory_of(motion, model)
    if model.floating:
        answer.base_poses = [_pose(row) for row in motion.q[:, :7].tolist()]
        answer.base_twists = [_twist(row) for row in motion.u[:, :6].tolist()]
    answer.kinetic_energy = message_array(motion.kinetic)
    answer.potential_energy = message_array(motion.potential)
    answer.checks = _checks(motion.checks, model)


def trajectory_of(motion: Motion, model: Model) -> JointTrajectory:
    """The joints of a motion: positions, velocities, accelerations, and as effort the input."""
    count = len(model.joint_names)
    columns = (motion.q, motion.u, motion.udot, motion.tau)
    nanoseconds = np.round(motion.t * SECOND).astype(np.int64)
    points = points_of(nanoseconds, [values[:, -count:] for values in columns])
    return JointTrajectory(joint_names=list(model.joint_names), points=points)


def state_of(progress: Progress, model: Model) -> JointState:
    """The joints at a moment of a simulation under way."""
    count = len(model.joint_names)
    position, velocity, effort = (
        message_array(values[-count:]) for values in (progress.q, progress.u, progress.tau)
    )
    names = list(model.joint_names)
    return JointState(name=names, position=position, velocity=velocity, effort=effort)


def _pose(row: list[float]) -> Pose:
    x, y, z, ex, ey, ez, ew = row
    return Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=ex, y=ey, z=ez, w=ew))


def _twist(row: list[float]) -> Twist:
    vx, vy, vz, wx, wy, wz = row
    return Twist(linear=Vector3(x=vx, y=vy, z=vz), angular=Vector3(x=wx, y=wy, z=wz))


def _checks(checks: Checks, model: Model) -> SimulationChecks:
    return SimulationChecks(
        energy_error=checks.energy_error,
        relative_energy_error=checks.relative_energy_error,
        local_error=checks.local_error,
        round_trip_error=checks.round_trip_error,
        conserved_momenta=[model.outside.said(what) for what in checks.momentum_errors],
        momentum_errors=list(checks.momentum_errors.values()),
    )
