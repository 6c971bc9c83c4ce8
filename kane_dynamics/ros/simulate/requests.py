"""Requests for simulations into those of the engine: how long, how fine, and from where on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.faults import Fault, blamed_on
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.simulate.inputs import CAUSE, chosen, torque_asked_for, wrenches_asked_for
from kane_dynamics.ros.states.joint_states import JointStates
from kane_dynamics.ros.states.requested_states import (
    base_coordinates,
    base_speeds,
    joint_state_asked_for,
)
from kane_dynamics.simulation.request import FIXED_STEP, Limits, Method, Request

OUTPUT_STEP, STEP, TOLERANCE = 0.01, 0.001, 1e-8
"""What zero stands for: s, s, and the error allowed in one step."""

LONGEST = 2.0**31 - 1.0
"""s, that the time of a point of a trajectory can hold."""

METHODS: dict[str, Method] = {
    "": "rk4",
    "rk4": "rk4",
    "semi_implicit_euler": "euler",
    "dop853": "dop853",
    "radau": "radau",
}
LIMITS: dict[str, Limits] = {
    "": "ignore",
    "ignore": "ignore",
    "stop": "stop",
    "compliant": "compliant",
}


def request_for(request: Any, model: Model, settings: Settings, states: JointStates) -> Request:
    """The simulation that a request of the service, or a goal of the action, asks for.

    Raises Fault or ArgumentError if something in the request is wrong.
    """
    positions, velocities = joint_state_asked_for(
        "initial_state", request.initial_state, model, states.positions, states.velocities
    )
    positions, velocities = _on_constraints(request, model, positions, velocities, states)
    method = chosen("method", request.method, METHODS)
    limits = chosen("joint_limits", request.joint_limits, LIMITS)
    most = settings.max_trajectory_points
    torque, end = torque_asked_for(request, model, positions, velocities, most)
    wrenches = wrenches_asked_for(request.external_wrenches, model, most)
    duration = _duration(request.duration, end)
    step = _number("step", request.step, STEP, " s")
    output_step = _number("output_step", request.output_step, OUTPUT_STEP, " s")
    if method in FIXED_STEP:  # the others choose how many they take, and are stopped on the way
        remedy = "give a longer step, or a shorter duration"
        most_steps = settings.max_simulation_steps
        _refuse_many(duration, step, most_steps, "in steps of", "steps", remedy)
    most_points, remedy = settings.max_simulation_points, "give a longer output_step"
    _refuse_many(duration, output_step, most_points, "with a point every", "points", remedy)
    _refuse_long(duration)
    return Request(
        duration=duration,
        q0=model.coordinates(positions, base_coordinates(request.base_pose)),
        u0=model.speeds(velocities, base_speeds(request.base_twist)),
        torque=torque,
        step=step,
        method=method,
        output_step=output_step,
        wrenches=wrenches,
        limits=limits,
        tolerance=_number("tolerance", request.tolerance, TOLERANCE),
        max_steps=settings.max_simulation_steps,
    )


def _on_constraints(
    request: Any, model: Model, positions: Array, velocities: Array, states: JointStates
) -> tuple[Array, Array]:
    """The start, moved onto constraints that hold; joints that are not named follow.

    Of a robot with a floating base it is taken as it is.
    """
    if not model.active or model.floating:
        return positions, velocities
    joints = model.places(request.initial_state.name or model.joint_names)
    held = np.where(np.isnan(states.positions), positions, states.positions)
    with blamed_on(CAUSE, "initial_state"):
        start = model.moving(positions[None, joints], velocities[None, joints], joints, held)
    return start[0][0], start[1][0]


# ------------------------------------------------------------------------------- how long, how fine
def _number(field: str, given: float, default: float, unit: str = "") -> float:
    if not (math.isfinite(given) and given >= 0.0):
        raise Fault(
            CAUSE, f"{field} is {given:g}{unit}, expected a positive number, or 0 for {default:g}"
        )
    return given or default


def _duration(given: float, end: float) -> float:
    if not (math.isfinite(given) and given >= 0.0):
        raise Fault(CAUSE, f"duration is {given:g} s, expected a positive number")
    if not given and not end:
        raise Fault(CAUSE, "duration is 0 and no trajectory says when to end: give a duration in s")
    return given or end


def _refuse_long(duration: float) -> None:
    if duration > LONGEST:
        raise Fault(
            CAUSE,
            f"duration is {duration:g} s, expected at most {LONGEST:.0f} s, which is all that "
            "times in messages can hold",
        )


def _refuse_many(duration: float, step: float, most: int, how: str, what: str, remedy: str) -> None:
    count = duration / step
    if count > most:
        raise Fault(
            CAUSE,
            f"{duration:g} s {how} {step:g} s are {count:.10g} {what}, more than the {most} of the "
            f"parameter max_simulation_{what}: {remedy}",
        )
