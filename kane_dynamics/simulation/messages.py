"""What is said about a simulation that ended early, or that has something to be known about it."""

from __future__ import annotations

import numpy as np

from kane_dynamics.errors import ArgumentError, KaneDynamicsError, SingularError
from kane_dynamics.simulation.constraints import Stop
from kane_dynamics.simulation.inputs import TorqueHistory
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.rates import evaluated
from kane_dynamics.simulation.recording import Outcome
from kane_dynamics.simulation.status import Status


def message(problem: Problem, outcome: Outcome) -> str:
    """One sentence about how a simulation ended; empty if there is nothing to be said."""
    t, request = float(outcome.recording.column("t")[-1]), problem.request
    if outcome.status == Status.DIVERGED:
        return f"the motion diverged after t = {t:g} s, {_culprit(problem, outcome)}"
    if outcome.status == Status.UNBALANCED:
        return (
            f"the motion diverged after t = {t:g} s, where its energy no longer comes from the "
            f"work done; a step shorter than {request.step:g} s may help"
        )
    if outcome.status == Status.SINGULAR:
        return f"the mass matrix cannot be inverted after t = {t:g} s"
    if outcome.status == Status.NO_CHOICE:
        return (
            f"the motion comes to a singular configuration after t = {t:g} s: constraints depend "
            "on each other there, and no choice of independent speeds says how it goes on"
        )
    if outcome.status == Status.INPUT_FAULT:
        return f"{outcome.fault}, after t = {t:g} s"
    if outcome.status == Status.LIMIT_REACHED:
        return f"{_limit(problem, outcome)} at t = {t:.6g} s"
    if outcome.status == Status.EXHAUSTED:
        return (
            f"{request.max_steps} steps, as many as are allowed, led to t = {t:g} s of "
            f"{request.duration:g} s; a larger tolerance than {request.tolerance:g} takes fewer, "
            f"and so may {_other_method(problem)}"
        )
    if outcome.status == Status.UNSOLVABLE:
        return (
            f"after t = {t:.9g} s there are no forces of contacts that obey Coulomb's friction, "
            "whatever slides (Painlevé); the last good state is kept"
        )
    if outcome.status == Status.VIOLATED:
        return outcome.fault
    if outcome.status == Status.STORM:
        return f"changes of constraints follow each other without end at t = {t:.9g} s"
    if outcome.status == Status.CANCELLED:
        return f"cancelled at t = {t:g} s of {request.duration:g} s"
    return "; ".join(filter(None, (_note(problem), _undecided(outcome))))


def error_at_start(problem: Problem, outcome: Outcome) -> KaneDynamicsError:
    """The error for a simulation that fails at its initial state."""
    if outcome.status == Status.INPUT_FAULT:
        return ArgumentError(f"{outcome.fault}, at t = 0 s")
    if outcome.status == Status.VIOLATED:
        return ArgumentError(outcome.fault)
    if outcome.status == Status.UNSOLVABLE:
        return ArgumentError(
            "in the initial state there are no forces of contacts that obey Coulomb's friction, "
            "whatever slides (Painlevé)"
        )
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
    at, rates, x = problem.rates.layout, problem.rates, problem.start
    given = rates.named(t=np.zeros(1), q=x[at.qdot], u=x[at.udot], tau=np.zeros(at.n))
    try:
        udot = evaluated(rates.functions, "forward_dynamics", **given)
    except KaneDynamicsError:
        return False
    return bool(np.isfinite(udot).all())


def _culprit(problem: Problem, outcome: Outcome) -> str:
    names, request = problem.equations, problem.request
    count = len(names.speed_names)
    if not request.fixed:
        return "where no step is short enough for the tolerance"
    if outcome.culprit < count:
        what = f"the speed of '{names.speed_names[outcome.culprit]}'"
    else:
        what = f"coordinate '{names.coordinate_names[outcome.culprit - count]}'"
    return f"{what} grew beyond bounds; a step shorter than {request.step:g} s may help"


def _other_method(problem: Problem) -> str:
    if problem.request.method == "radau":
        return "method 'dop853' if nothing is stiff"
    return "method 'radau' if something is stiff"


def _limit(problem: Problem, outcome: Outcome) -> str:
    stop = problem.rates.side.constraints[outcome.culprit]
    assert isinstance(stop, Stop)
    side = "upper" if stop.side > 0 else "lower"
    return f"'{stop.name}' reached its {side} limit {stop.limit:g}"


def _note(problem: Problem) -> str:
    """What is to be known about a motion that was completed."""
    request = problem.request
    if not isinstance(request.torque, TorqueHistory) or len(np.asarray(request.torque.times)) < 2:
        return ""
    end = float(np.asarray(request.torque.times)[-1])
    if end >= request.duration:
        return ""
    return (
        f"the torque history ends at t = {end:g} s; its last torques act from then to "
        f"{request.duration:g} s"
    )


def _undecided(outcome: Outcome) -> str:
    """Where contacts stand as no forces agree with."""
    found = [event for event in outcome.events if event.kind == "undecided"]
    if not found:
        return ""
    return (
        "no way of touching, sticking and sliding that agrees with forces was found for "
        f"constraint {found[0].constraint!r} at t = {found[0].t:.6g} s ({len(found)} such events); "
        "a shorter step may help"
    )
