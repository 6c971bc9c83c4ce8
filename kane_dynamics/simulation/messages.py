"""What is said about a simulation that ended early, or that has something to be known about it."""

from __future__ import annotations

import numpy as np

from kane_dynamics.errors import ArgumentError, KaneDynamicsError, SingularError
from kane_dynamics.simulation.drive import HistoryDrive
from kane_dynamics.simulation.problem import FIXED_STEP, Problem
from kane_dynamics.simulation.status import Outcome, Status


def message(problem: Problem, outcome: Outcome) -> str:
    """One sentence about how a simulation ended; empty if there is nothing to be said."""
    t = float(outcome.rows[-1, 0])
    if outcome.status == Status.DIVERGED:
        return f"the motion diverged after t = {t:g} s, {_culprit(problem, outcome)}"
    if outcome.status == Status.UNBALANCED:
        return (
            f"the motion diverged after t = {t:g} s, where its energy no longer comes from the "
            f"work done; a step shorter than {problem.step:g} s may help"
        )
    if outcome.status == Status.SINGULAR:
        return f"the mass matrix cannot be inverted after t = {t:g} s"
    if outcome.status == Status.INPUT_FAULT:
        return f"{outcome.fault}, after t = {t:g} s"
    if outcome.status == Status.LIMIT_REACHED:
        return f"{_limit(problem, outcome)} at t = {t:.6g} s"
    if outcome.status == Status.EXHAUSTED:
        return (
            f"{problem.max_steps} steps, as many as are allowed, led to t = {t:g} s of "
            f"{problem.duration:g} s; a larger tolerance than {problem.tolerance:g} takes fewer, "
            f"and so may {_other_method(problem)}"
        )
    if outcome.status == Status.CANCELLED:
        return f"cancelled at t = {t:g} s of {problem.duration:g} s"
    return _note(problem)


def error_at_start(problem: Problem, outcome: Outcome) -> KaneDynamicsError:
    """The error for a simulation that fails at its initial state."""
    if outcome.status == Status.INPUT_FAULT:
        return ArgumentError(f"{outcome.fault}, at t = 0 s")
    if _moves_without_input(problem):
        return ArgumentError(
            "torque and wrenches at t = 0 s are too large: accelerations are beyond all numbers"
        )
    return SingularError(
        "the robot has no finite accelerations in its initial state; its mass matrix may be "
        "singular there"
    )


def _moves_without_input(problem: Problem) -> bool:
    """Whether the robot has accelerations in its initial state when nothing drives it."""
    try:
        udot = problem.plant.dynamics.forward_dynamics(
            problem.q, problem.u, np.zeros(len(problem.u))
        )
    except KaneDynamicsError:
        return False
    return bool(np.isfinite(udot).all())


def _culprit(problem: Problem, outcome: Outcome) -> str:
    dynamics, count = problem.plant.dynamics, len(problem.u)
    if problem.method not in FIXED_STEP:
        return "where no step is short enough for the tolerance"
    if outcome.culprit < count:
        what = f"the speed of '{dynamics.speed_names[outcome.culprit]}'"
    else:
        what = f"coordinate '{dynamics.coordinate_names[outcome.culprit - count]}'"
    return f"{what} grew beyond bounds; a step shorter than {problem.step:g} s may help"


def _other_method(problem: Problem) -> str:
    if problem.method == "radau":
        return "method 'dop853' if nothing is stiff"
    return "method 'radau' if something is stiff"


def _limit(problem: Problem, outcome: Outcome) -> str:
    stops, plant, joint = problem.stops, problem.plant, outcome.culprit
    position = outcome.rows[-1, 1 + plant.coordinate[joint]]
    upper = abs(stops.upper[joint] - position) < abs(position - stops.lower[joint])
    limit = (stops.upper if upper else stops.lower)[joint]
    side = "upper" if upper else "lower"
    return f"'{plant.dynamics.speed_names[joint]}' reached its {side} limit {limit:g}"


def _note(problem: Problem) -> str:
    """What is to be known about a motion that was completed."""
    drive = problem.drive
    if not isinstance(drive, HistoryDrive) or len(drive.history.times) < 2:
        return ""
    end = float(drive.history.times[-1])
    if end >= problem.duration:
        return ""
    return (
        f"the torque history ends at t = {end:g} s; its last torques act from then to "
        f"{problem.duration:g} s"
    )
