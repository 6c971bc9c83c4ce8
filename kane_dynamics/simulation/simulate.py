"""Forward simulation: what a robot does under given torques, or under a controller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from kane_dynamics.simulation.status import Outcome, Status
from kane_dynamics.simulation.watch import Cancel, ProgressChoice, Watch

Array = NDArray[np.float64]


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
    return _motion(problem, outcome)


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


def _good_states(problem: Problem, outcome: Outcome, balance: Balance) -> tuple[int, Status]:
    """How many of the states that were computed are good, and how the motion ended."""
    if outcome.status == Status.DIVERGED:
        return count_before_imbalance(balance), Status.DIVERGED
    if problem.method not in FIXED_STEP or outcome.status in (Status.CANCELLED, Status.UNBALANCED):
        return len(outcome.rows), outcome.status
    return (
        count_before_divergence(problem, outcome.rows, balance, _integrated_unseen),
        Status.UNBALANCED,
    )


def _integrated_unseen(problem: Problem) -> Outcome:
    return _integrated(problem, Watch(problem, False, None))


def _columns(problem: Problem, rows: Array) -> list[Array]:
    nq, n = len(problem.q), len(problem.u)
    parts = np.split(rows, np.cumsum([1, nq, n, n, n, n]), axis=1)
    return [np.ascontiguousarray(part) for part in parts]


def _motion(problem: Problem, outcome: Outcome) -> Motion:
    dynamics = problem.plant.dynamics
    t, q, u, udot, tau, force, work = _columns(problem, outcome.rows)
    kinetic, potential = dynamics.energy(q, u)
    at_rest = energy_at_rest(problem.plant, problem.q, potential)
    balance = Balance(kinetic, potential, work[:, 0], at_rest)
    good, status = _good_states(problem, outcome, balance)
    if good < len(t):
        return _motion(problem, replace(outcome, rows=outcome.rows[:good], status=status))
    return Motion(
        t=t[:, 0],
        q=q,
        u=u,
        udot=udot,
        tau=tau,
        other_forces=force - tau,
        work=work[:, 0],
        kinetic=kinetic,
        potential=potential,
        completed=outcome.status == Status.FINISHED,
        message=message(problem, outcome),
        coordinate_names=dynamics.coordinate_names,
        speed_names=dynamics.speed_names,
        _plant=problem.plant,
        _local_error=outcome.local_error,
    )
