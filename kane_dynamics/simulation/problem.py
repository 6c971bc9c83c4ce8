"""A simulation that has been asked for, checked and ready to be computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.arguments import prepare
from kane_dynamics.errors import ArgumentError
from kane_dynamics.simulation.constants import LARGEST_COORDINATE, LARGEST_SPEED, SAME_TIME
from kane_dynamics.simulation.drive import Drive, drive_of
from kane_dynamics.simulation.history import History, checked_array
from kane_dynamics.simulation.inputs import Torque, WrenchHistory
from kane_dynamics.simulation.plant import Plant
from kane_dynamics.simulation.stops import LimitPolicy, Stops, stops_of, within
from kane_dynamics.symbolic.program import Input, Signature

Method = Literal["euler", "rk4", "dop853", "radau"]
Wrenches = Mapping[str, ArrayLike | WrenchHistory]

METHODS = ("euler", "rk4", "dop853", "radau")
FIXED_STEP = ("euler", "rk4")

LARGEST_RESULT = 10**9
"""Bytes of result beyond which a simulation is refused."""

MOST_STEPS = {"fixed": 10**9, "adaptive": 10**6}
"""Steps that are allowed by default; those of adaptive methods run in Python."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be simulated.

    Attributes
    ----------
    plant : Plant
    drive : Drive
    links : tuple of str
        Links with wrenches, and in `wrenches` the wrench on each.
    wrenches : tuple of History
    stops : Stops
    q, u : array
        Where it begins.
    method : str
    step, duration, tolerance : float
    max_steps : int
    same_time : float
        Within which times are the same, s.
    breaks : array
        From 0 to the duration, times that no step may cross because something is not smooth there.
    row_times : array
        When the motion is recorded.
    """

    plant: Plant
    drive: Drive
    links: tuple[str, ...]
    wrenches: tuple[History, ...]
    stops: Stops
    q: Array
    u: Array
    method: Method
    step: float
    duration: float
    tolerance: float
    max_steps: int
    same_time: float
    breaks: Array
    row_times: Array

    @property
    def row_width(self) -> int:
        """Entries of a row: t, q, u, udot, tau, force, work."""
        return 2 + len(self.q) + 4 * len(self.u)


def problem_of(
    plant: Plant,
    *,
    duration: float,
    q0: ArrayLike,
    u0: ArrayLike,
    torque: Torque = None,
    step: float = 1e-3,
    method: Method = "rk4",
    output_step: float | None = None,
    wrenches: Wrenches | None = None,
    limits: LimitPolicy = "ignore",
    tolerance: float = 1e-8,
    max_steps: int | None = None,
) -> Problem:
    """Check what a user asks for; ArgumentError says what is wrong with it."""
    if method not in METHODS:
        raise ArgumentError(
            f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}"
        )
    duration, step = _positive("duration", duration), _positive("step", step)
    apart = step if output_step is None else _positive("output_step", output_step)
    tolerance = _positive("tolerance", tolerance)
    if not 1e-13 <= tolerance <= 1e-2:
        raise ArgumentError(f"tolerance must lie between 1e-13 and 0.01, got {tolerance:g}")
    if max_steps is None:
        max_steps = MOST_STEPS["fixed" if method in FIXED_STEP else "adaptive"]
    most = _positive("max_steps", max_steps)
    if duration / step > most and method in FIXED_STEP:
        raise ArgumentError(
            f"{duration:g} s in steps of {step:g} s are {duration / step:.10g} steps, more than "
            f"the {most:.10g} of max_steps; simulate a shorter duration, or with longer steps"
        )
    _refuse_large_result(plant, duration, apart)
    q, u = _initial_state(plant, q0, u0)
    drive = drive_of(torque, plant)
    links, histories = _wrenches(plant, wrenches)
    knots = [drive.knots, *(history.times for history in histories)]
    same_time = SAME_TIME * min(step, apart, duration)
    stops = stops_of(plant, limits, q, step)
    return Problem(
        plant=plant,
        drive=drive,
        links=links,
        wrenches=histories,
        stops=stops,
        q=within(stops, plant, q),
        u=u,
        method=method,
        step=step,
        duration=duration,
        tolerance=tolerance,
        max_steps=math.ceil(most),
        same_time=same_time,
        breaks=_breaks(np.concatenate(knots), duration, same_time),
        row_times=_row_times(duration, apart),
    )


def _positive(name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number > 0.0):
        raise ArgumentError(f"{name} must be a positive, finite number, got {value!r}")
    return number


def _refuse_large_result(plant: Plant, duration: float, apart: float) -> None:
    dynamics = plant.dynamics
    size = 8 * (duration / apart + 2) * (6 + dynamics.nq + 4 * dynamics.dof)
    if size > LARGEST_RESULT:
        raise ArgumentError(
            f"{duration:g} s recorded every {apart:g} s would take {size / 1e9:.3g} GB, more than "
            f"{LARGEST_RESULT / 1e9:g}; give a longer output_step"
        )


def _initial_state(plant: Plant, q0: ArrayLike, u0: ArrayLike) -> tuple[Array, Array]:
    dynamics = plant.dynamics
    quaternions = tuple(("q0", int(first)) for first, _ in plant.turning)
    inputs = (Input("q0", dynamics.nq), Input("u0", dynamics.dof))
    q, u = prepare(Signature("simulate", inputs, (), quaternions), (q0, u0), {})
    for entry, array in zip(inputs, (q, u)):
        if array.ndim != 1:
            raise ArgumentError(
                f"simulate: {entry.name} must have shape ({entry.size},), got {array.shape}"
            )
    _refuse_huge("q0", q, LARGEST_COORDINATE, "rad or m")
    _refuse_huge("u0", u, LARGEST_SPEED, "rad/s or m/s")
    return plant.normalized(q.copy()), u.copy()


def _refuse_huge(name: str, values: Array, largest: float, unit: str) -> None:
    wrong = np.flatnonzero(np.abs(values) >= largest)
    if len(wrong):
        k = int(wrong[0])
        raise ArgumentError(
            f"simulate: {name}[{k}] is {values[k]:g}, expected less than {largest:g} {unit}"
        )


def _wrenches(
    plant: Plant, wrenches: Wrenches | None
) -> tuple[tuple[str, ...], tuple[History, ...]]:
    if wrenches is None:
        return (), ()
    if not isinstance(wrenches, Mapping):
        raise ArgumentError(
            "wrenches must be a dict from link name to six numbers or a WrenchHistory, got "
            f"{type(wrenches).__name__}"
        )
    for link in wrenches:
        plant.dynamics.tree.frame(link)
    links = tuple(sorted(wrenches))
    return links, tuple(_wrench(link, wrenches[link]) for link in links)


def _wrench(link: str, given: ArrayLike | WrenchHistory) -> History:
    if isinstance(given, WrenchHistory):
        times, values = np.asarray(given.times), np.asarray(given.wrenches)
        return History(times, values, given.hold == "linear", early=False)
    constant = checked_array("simulate", f"wrenches['{link}']", given)
    if constant.shape != (6,):
        raise ArgumentError(
            f"wrenches['{link}'] must be six numbers or a WrenchHistory, got shape {constant.shape}"
        )
    return History(np.zeros(1), constant[None, :], linear=False, early=True)


def _breaks(knots: Array, duration: float, same_time: float) -> Array:
    inside = np.unique(knots[(knots > 0.0) & (knots < duration)])
    breaks = [0.0]
    for knot in inside.tolist():
        if knot - breaks[-1] > same_time and duration - knot > same_time:
            breaks.append(knot)
    return np.array([*breaks, duration])


def _row_times(duration: float, apart: float) -> Array:
    count = math.floor(duration / apart * (1 + 1e-12)) + 1
    times = apart * np.arange(count, dtype=np.float64)
    if duration - times[-1] > SAME_TIME * apart or len(times) == 1:
        times = np.append(times, duration)
    times[-1] = duration
    return times
