"""Requests for simulations into arguments of the engine: how long, how fine, and from where on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.model import Array, Model
from kane_dynamics.ros.requested_states import (
    base_coordinates,
    base_speeds,
    joint_state_asked_for,
)
from kane_dynamics.ros.settings import Settings
from kane_dynamics.ros.simulate.inputs import (
    CAUSE,
    chosen,
    drive_asked_for,
    wrenches_asked_for,
)
from kane_dynamics.simulation.inputs import Torque
from kane_dynamics.simulation.motion import Motion
from kane_dynamics.simulation.problem import FIXED_STEP, Wrenches
from kane_dynamics.simulation.process import SimulationProcess
from kane_dynamics.simulation.watch import Progress

OUTPUT_STEP, STEP, TOLERANCE = 0.01, 0.001, 1e-8
"""What zero stands for: s, s, and the error allowed in one step."""

METHODS = {
    "": "rk4",
    "rk4": "rk4",
    "semi_implicit_euler": "euler",
    "dop853": "dop853",
    "radau": "radau",
}
LIMITS = {"": "ignore", "ignore": "ignore", "stop": "stop", "compliant": "compliant"}


@dataclass(frozen=True, eq=False)
class Situation:
    """What a request is read against, as it was when the request came.

    Attributes
    ----------
    model : Model
    settings : Settings
    positions, velocities : array (n,)
        Of the joints; positions are NaN where they are not known.
    """

    model: Model
    settings: Settings
    positions: Array
    velocities: Array


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulation that was asked for: a model, and the arguments of `Dynamics.simulate`."""

    model: Model
    duration: float
    q0: Array
    u0: Array
    torque: Torque
    step: float
    method: Any
    output_step: float
    wrenches: Wrenches
    limits: Any
    tolerance: float
    max_steps: int

    def run(
        self,
        elsewhere: SimulationProcess,
        progress: Callable[[Progress], None],
        cancel: Callable[[], bool],
    ) -> Motion:
        """Simulate; elsewhere what would run in Python, for other threads could hardly do so."""
        dynamics = self.model.dynamics
        in_python = self.method not in FIXED_STEP or not dynamics.compiled
        run = partial(elsewhere.simulate, dynamics) if in_python else dynamics.simulate
        options = {each.name: getattr(self, each.name) for each in fields(self)}
        del options["model"]
        return run(progress=progress, cancel=cancel, **options)


def read_simulation(request: Any, situation: Situation) -> Simulation:
    """The simulation that a request of the service, or a goal of the action, asks for.

    Raises
    ------
    Fault, ArgumentError
        If something in the request is wrong.
    """
    model, settings = situation.model, situation.settings
    positions, velocities = joint_state_asked_for(
        "initial_state", request.initial_state, model, situation.positions, situation.velocities
    )
    method = chosen("method", request.method, METHODS)
    limits = chosen("joint_limits", request.joint_limits, LIMITS)
    drive = drive_asked_for(
        request, model, positions, velocities, most=settings.max_trajectory_points
    )
    wrenches = wrenches_asked_for(
        request.external_wrenches, model, most=settings.max_trajectory_points
    )
    duration = _duration(request.duration, drive.end)
    step = _seconds("step", request.step, STEP)
    output_step = _seconds("output_step", request.output_step, OUTPUT_STEP)
    if method in FIXED_STEP:
        _refuse_many_steps(duration, step, settings.max_simulation_steps)
    _refuse_many_points(duration, output_step, settings.max_simulation_points)
    return Simulation(
        model=model,
        duration=duration,
        q0=model.coordinates(positions, base_coordinates(request.base_pose)),
        u0=model.speeds(velocities, base_speeds(request.base_twist)),
        torque=drive.torque,
        step=step,
        method=method,
        output_step=output_step,
        wrenches=wrenches,
        limits=limits,
        tolerance=_number("tolerance", request.tolerance, TOLERANCE),
        max_steps=settings.max_simulation_steps,
    )


# ------------------------------------------------------------------------------- how long, how fine
def _number(field: str, given: float, default: float, unit: str = "") -> float:
    if not (math.isfinite(given) and given >= 0.0):
        raise Fault(
            CAUSE, f"{field} is {given:g}{unit}, expected a positive number, or 0 for {default:g}"
        )
    return given or default


def _seconds(field: str, given: float, default: float) -> float:
    return _number(field, given, default, " s")


def _duration(given: float, end: float) -> float:
    if not (math.isfinite(given) and given >= 0.0):
        raise Fault(CAUSE, f"duration is {given:g} s, expected a positive number")
    if not given and not end:
        raise Fault(CAUSE, "duration is 0 and no trajectory says when to end: give a duration in s")
    return given or end


def _refuse_many_steps(duration: float, step: float, most: int) -> None:
    """Methods with adaptive step choose how many they take: they are stopped on the way."""
    if duration / step > most:
        raise Fault(
            CAUSE,
            f"{duration:g} s in steps of {step:g} s are {duration / step:.10g} steps, more than "
            f"the {most} of the parameter max_simulation_steps: give a longer step, or a shorter "
            "duration",
        )


def _refuse_many_points(duration: float, output_step: float, most: int) -> None:
    if duration / output_step > most:
        raise Fault(
            CAUSE,
            f"{duration:g} s with a point every {output_step:g} s are "
            f"{duration / output_step:.10g} points, more than the {most} of the parameter "
            "max_simulation_points: give a longer output_step",
        )
