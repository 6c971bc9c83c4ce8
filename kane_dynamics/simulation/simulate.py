"""Forward simulation: what a robot does under given torques, or under a controller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.notice import warn_once
from kane_dynamics.dynamics import Dynamics
from kane_dynamics.errors import CompileError
from kane_dynamics.simulation import compiled, fixed
from kane_dynamics.simulation.checks import energy_at_rest
from kane_dynamics.simulation.divergence import (
    Balance,
    count_before_divergence,
    count_before_imbalance,
)
from kane_dynamics.simulation.messages import error_at_start, message
from kane_dynamics.simulation.motion import Motion
from kane_dynamics.simulation.plant import plant_of
from kane_dynamics.simulation.problem import FIXED_STEP, Problem, problem_of
from kane_dynamics.simulation.status import Ended, Outcome, Status
from kane_dynamics.simulation.watch import Cancel, ProgressChoice, Watch


def simulate(
    dynamics: Dynamics, progress: ProgressChoice, cancel: Cancel | None, **asked: Any
) -> Motion:
    """The motion of a robot: `Dynamics.simulate`, which says what can be asked for."""
    problem = problem_of(plant_of(dynamics), **asked)
    watch = Watch(problem, progress, cancel)
    try:
        outcome = _integrated(problem, watch)
    finally:
        watch.close()
    if not len(outcome.rows):
        raise error_at_start(problem, outcome)
    return _motion(problem, outcome, Watch(problem, False, cancel))


def _integrated(problem: Problem, watch: Watch) -> Outcome:
    if problem.method not in FIXED_STEP:
        from kane_dynamics.simulation import adaptive  # imports SciPy, which takes long

        return adaptive.integrate(problem, watch)
    backend = problem.plant.dynamics.backend
    if backend != "numpy":
        try:
            return compiled.integrate(problem, watch)
        except CompileError as error:
            if backend == "c":
                raise
            warn_once("backend", f"{error}; NumPy is used instead, which is much slower")
    return fixed.integrate(problem, watch)


def _judged(problem: Problem, outcome: Outcome, balance: Balance, watch: Watch) -> Outcome:
    """What came out, without states that are not good.

    When this is cancelled, all states are kept, in a motion that was cancelled.
    """
    if outcome.status == Status.DIVERGED:
        return replace(outcome, rows=outcome.rows[: count_before_imbalance(balance)])
    if problem.method not in FIXED_STEP or outcome.status == Status.CANCELLED:
        return outcome
    try:
        good = count_before_divergence(
            problem, outcome.rows, balance, lambda stretch: _integrated(stretch, watch)
        )
    except Ended as end:
        return replace(outcome, status=end.status)
    if good == len(outcome.rows):
        return outcome
    return replace(outcome, rows=outcome.rows[:good], status=Status.UNBALANCED)


def _columns(problem: Problem, rows: Array) -> list[Array]:
    nq, n = len(problem.q), len(problem.u)
    parts = np.split(rows, np.cumsum([1, nq, n, n, n, n]), axis=1)
    return [np.ascontiguousarray(part) for part in parts]


def _motion(problem: Problem, outcome: Outcome, watch: Watch) -> Motion:
    dynamics = problem.plant.dynamics
    _, q, u, *_, work = _columns(problem, outcome.rows)
    kinetic, potential = dynamics.energy(q, u)
    at_rest = energy_at_rest(problem.plant, problem.q, potential)
    balance = Balance(kinetic, potential, work[:, 0], at_rest)
    outcome = _judged(problem, outcome, balance, watch)
    t, q, u, udot, tau, force, work = _columns(problem, outcome.rows)
    return Motion(
        t=t[:, 0],
        q=q,
        u=u,
        udot=udot,
        tau=tau,
        other_forces=force - tau,
        work=work[:, 0],
        kinetic=kinetic[: len(t)].copy(),
        potential=potential[: len(t)].copy(),
        completed=outcome.status == Status.FINISHED,
        message=message(problem, outcome),
        coordinate_names=dynamics.coordinate_names,
        speed_names=dynamics.speed_names,
        _plant=problem.plant,
        _local_error=outcome.local_error,
    )
