"""What acts in a simulation that was asked for: efforts, a controller, wrenches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.arrays import Array
from kane_dynamics.ros.faults import Fault, blamed_on
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.simulate.motors import MotorControl
from kane_dynamics.ros.trajectories.points import field_rows, joint_places, point_times, read_points
from kane_dynamics.simulation.inputs import (
    ComputedTorque,
    PDControl,
    Torque,
    TorqueHistory,
    WrenchHistory,
)
from kane_dynamics.simulation.trajectory import Sample, Start, Trajectory

CAUSE = "simulation"
Choice = TypeVar("Choice", bound=str)

KP, KD = 100.0, 20.0
"""Gains that stand for none, 1/s² and 1/s: critically damped at 10 rad/s."""

HOLDS = {"": "zero", "zero_order": "zero", "linear": "linear"}
CONTROLLERS = {"": "", "pd_gravity": "pd_gravity", "computed_torque": "computed_torque"}


def torque_asked_for(
    request: Any, model: Model, positions: Array, velocities: Array, most: int
) -> tuple[Torque, float]:
    """What a request wants to drive the joints, and the time of its last point in s, or 0.

    Raises Fault or ArgumentError if something in the request is wrong.

    Parameters
    ----------
    positions, velocities : array (n,)
        Of the joints at the start.
    most : int
        Largest number of points of a trajectory.
    """
    efforts, reference = request.effort_trajectory, request.reference_trajectory
    hold = chosen("hold", request.hold, HOLDS)
    controller = chosen("controller", request.controller, CONTROLLERS)
    for field in ("effort_trajectory", "reference_trajectory"):
        if getattr(request, field).joint_names and not getattr(request, field).points:
            raise Fault(CAUSE, f"{field} names joints, but has no points")
    if reference.points:
        controller = controller or "computed_torque"
    if controller and efforts.points:
        raise Fault(
            CAUSE,
            "effort_trajectory and a controller or its reference_trajectory cannot both drive the "
            "joints: leave one of them empty",
        )
    if controller:
        return _control(request, controller, model, Start(0.0, positions, velocities), most)
    if request.position_gains or request.velocity_gains:
        raise Fault(CAUSE, "there are gains, but no controller: name one in controller")
    if not efforts.points:
        return None, 0.0
    return _efforts(efforts, hold, model, most)


# -------------------------------------------------------------------------------------- efforts
def _efforts(message: JointTrajectory, hold: Any, model: Model, most: int) -> tuple[Torque, float]:
    with blamed_on(CAUSE, "effort_trajectory"):
        names = tuple(message.joint_names) or model.joint_names
        joints = joint_places(names, model)
        if len(message.points) > most:
            raise Fault(CAUSE, _too_many(len(message.points), most))
        times = point_times(message.points)
        rows = field_rows("effort", message.points, names)
        bare = [k for k, point in enumerate(message.points) if not point.effort]
        if bare or rows is None:
            raise Fault(CAUSE, f"point {bare[0]} has no effort")
        idle = rows.any(axis=0) & ~model.actuated[joints]
        if idle.any():
            raise Fault(CAUSE, f"joint {names[int(idle.argmax())]!r} has no motor: give no effort")
        torques = np.zeros((len(times), model.dynamics.dof))
        torques[:, joints + model.dynamics.dof - len(model.joint_names)] = rows
        return TorqueHistory(times, torques, hold), float(times[-1])


# ----------------------------------------------------------------------------------- controllers
def _control(
    request: Any, controller: str, model: Model, start: Start, most: int
) -> tuple[Torque, float]:
    message, count = request.reference_trajectory, len(model.joint_names)
    reference: Array | Trajectory = np.asarray(start.positions)
    end = 0.0
    if message.points:
        with blamed_on(CAUSE, "reference_trajectory"):
            reference = _reference(message, model, start, most)
            end = reference.end
    scale: Array | float = 1.0
    if controller == "pd_gravity":
        scale = np.diagonal(model.mass_matrix(np.asarray(start.positions)))
    kp = _gains("position_gains", request.position_gains, KP * scale, count)
    kd = _gains("velocity_gains", request.velocity_gains, KD * scale, count)
    if model.constraints:
        return _motors(reference, model, kp, kd, controller), end
    kind = PDControl if controller == "pd_gravity" else ComputedTorque
    return kind(reference, kp, kd), end


def _motors(
    reference: Array | Trajectory, model: Model, kp: Array | float, kd: Array | float, law: str
) -> MotorControl:
    if model.floating:
        raise Fault(CAUSE, "controllers do not know the constraints of a robot whose base floats")
    if not isinstance(reference, Trajectory):
        at, still = reference[None], np.zeros((1, len(reference)))
        reference = Trajectory(np.zeros(1), at, still, still)
    return MotorControl(model, reference, kp, kd, law == "computed_torque")


def _reference(message: JointTrajectory, model: Model, start: Start, most: int) -> Trajectory:
    """The reference of all joints; those not named stay where they start."""
    if not message.joint_names:
        message.joint_names = list(model.joint_names)
    points = read_points(message, model, most)
    held = np.asarray(start.positions)
    q, u = (np.asarray(x)[points.joints] for x in (start.positions, start.velocities))
    motion = points.motion(Start(0.0, q, u))
    part = Sample(motion.positions, motion.velocities, motion.accelerations)
    return Trajectory(motion.times, *model.completed(part, points.joints, held, motion.times))


def _gains(field: str, given: Sequence[float], default: Array | float, count: int) -> Array | float:
    if not given:
        return default
    gains = np.array(given)
    if len(gains) not in (1, count):
        raise Fault(CAUSE, f"{field} has {len(gains)} entries, expected 1 or {count}")
    if not (np.isfinite(gains).all() and (gains >= 0.0).all()):
        raise Fault(CAUSE, f"{field} must be finite and not negative, got {gains.tolist()}")
    return gains if len(gains) == count else float(gains[0])


# -------------------------------------------------------------------------------------- wrenches
def wrenches_asked_for(
    messages: Sequence[Any], model: Model, most: int
) -> dict[str, WrenchHistory]:
    """The wrenches on each link over time, those on the same link added up.

    Raises Fault or ArgumentError if something in a message is wrong.
    """
    count = sum(len(message.wrenches) for message in messages)
    if count > most:
        raise Fault(CAUSE, f"external_wrenches: {_too_many(count, most, 'wrenches')}")
    links = [link.name for link in model.dynamics.robot.links]
    histories: dict[str, list[tuple[Array, Array]]] = {}
    for k, message in enumerate(messages):
        if message.link not in links:
            known = ", ".join(links)
            raise Fault(
                CAUSE,
                f"external_wrenches[{k}]: there is no link {message.link!r}, the robot has {known}",
            )
        with blamed_on(CAUSE, f"external_wrenches[{k}] on link {message.link!r}"):
            histories.setdefault(message.link, []).append(_wrench(message))
    return {link: _added_up(some) for link, some in histories.items()}


def _wrench(message: Any) -> tuple[Array, Array]:
    """Times (K,) and wrenches (K, 6)."""
    times = np.array(message.times) if message.times else np.zeros(1)
    if len(times) != len(message.wrenches):
        raise Fault(
            CAUSE,
            f"there are {len(message.wrenches)} wrenches for {len(times)} times"
            if message.times
            else f"there are {len(message.wrenches)} wrenches and no times: expected one wrench",
        )
    values = np.array(
        [
            (w.force.x, w.force.y, w.force.z, w.torque.x, w.torque.y, w.torque.z)
            for w in message.wrenches
        ]
    )
    if times.min(initial=0.0) < 0.0:
        raise Fault(CAUSE, f"time {times.min():g} s lies before the start")
    WrenchHistory(times, values)  # which checks the rest
    return times, values


def _added_up(histories: list[tuple[Array, Array]]) -> WrenchHistory:
    if len(histories) == 1:
        return WrenchHistory(*histories[0])
    begins = np.concatenate([times for times, _ in histories])
    changes = np.vstack(
        [np.diff(values, axis=0, prepend=np.zeros((1, 6))) for _, values in histories]
    )
    order = np.argsort(begins, kind="stable")
    sums = np.cumsum(changes[order], axis=0)
    times, first = np.unique(begins[order], return_index=True)
    last = np.append(first[1:], len(begins)) - 1
    return WrenchHistory(times, sums[last])


# ------------------------------------------------------------------------------------- sentences
def chosen(field: str, given: str, choices: Mapping[str, Choice]) -> Choice:
    """What a word in a request stands for."""
    if given not in choices:
        known = ", ".join(filter(None, choices))
        raise Fault(CAUSE, f"{field} is {given!r}, expected one of {known}")
    return choices[given]


def _too_many(count: int, most: int, what: str = "points") -> str:
    return f"{count} {what} are more than the {most} of the parameter max_trajectory_points"
