"""Forward simulation: what a mechanism does under given torques, or under a controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.codegen.notice import warn_once
from kane_dynamics.errors import CompileError
from kane_dynamics.simulation.balance import Judge
from kane_dynamics.simulation.compiled import CompiledSteps
from kane_dynamics.simulation.constraints import Bounds
from kane_dynamics.simulation.events import History
from kane_dynamics.simulation.loop import FixedSteps
from kane_dynamics.simulation.messages import error_at_start, message
from kane_dynamics.simulation.motion import Motion
from kane_dynamics.simulation.named import Named
from kane_dynamics.simulation.problem import Problem, problem_of
from kane_dynamics.simulation.rates import evaluated
from kane_dynamics.simulation.recording import COLUMNS, Outcome
from kane_dynamics.simulation.request import Request
from kane_dynamics.simulation.singular import ended_where_singular
from kane_dynamics.simulation.status import Status
from kane_dynamics.simulation.verification import difference, with_other_steps
from kane_dynamics.simulation.watch import Cancel, ProgressChoice, Watch


def simulate(
    functions: Functions,
    request: Request,
    bounds: Bounds,
    parameters: Sequence[Array] = (),
    progress: ProgressChoice = None,
    cancel: Cancel | None = None,
    named: Named | None = None,
) -> Motion:
    """The motion of a mechanism.

    Parameters
    ----------
    functions : Functions
        Of the mechanism.
    request : Request
        What is asked for.
    bounds : dict from str to (float, float)
        Limits of positions, by the names of their speeds.
    parameters : sequence of array
        Values of the late numbers of the equations.
    progress, cancel
        As in `Watch`.
    named : Named, optional
        Constraints by name.
    """
    problem = problem_of(functions, request, bounds, parameters, named)
    outcome, motion = _simulated(problem, progress, cancel)
    if not request.verify or outcome.status == Status.CANCELLED:
        return motion
    again, other = _simulated(with_other_steps(problem), False, cancel)
    return replace(motion, _global_error=difference(motion, outcome, other, again, problem))


def _simulated(
    problem: Problem, progress: ProgressChoice, cancel: Cancel | None
) -> tuple[Outcome, Motion]:
    watch, judge = Watch(problem.request.duration, progress, cancel), Judge(problem)
    try:
        outcome = ended_where_singular(problem, _integrated(problem, watch, judge))
    finally:
        watch.close()
    if not outcome.recording.done:
        raise error_at_start(problem, outcome)
    return outcome, _motion(problem, outcome, judge)


def _integrated(problem: Problem, watch: Watch, judge: Judge) -> Outcome:
    if not problem.request.fixed:
        from kane_dynamics.simulation.adaptive import AdaptiveSteps  # SciPy takes long to import

        return AdaptiveSteps(problem, watch).outcome()
    backend = problem.rates.functions.backend
    if backend != "numpy":
        try:
            return CompiledSteps(problem, watch, judge).outcome()
        except CompileError as error:
            if backend == "c":
                raise
            warn_once("backend", f"{error}; NumPy is used instead, which is much slower")
    return FixedSteps(problem, watch, judge).outcome()


def _leaves_out_power(problem: Problem) -> bool:
    """Whether steps know no further power: accelerations are found after it, or come too late."""
    return problem.named is not None or problem.request.method == "euler"


def _motion(problem: Problem, outcome: Outcome, judge: Judge) -> Motion:
    rates, recording = problem.rates, outcome.recording
    given = {"t": recording.column("t")[:, None]}
    given.update(q=recording.column("q"), u=recording.column("u"))
    kinetic, potential = evaluated(rates.functions, "energy", **rates.named(**given)).T.copy()
    if outcome.status in (Status.DIVERGED, Status.UNBALANCED):
        energies = kinetic, potential, recording.column("work")
        recording.done = judge.count_good(recording.column("t"), *energies)
    columns: dict[str, Any] = {name: recording.column(name) for name in COLUMNS}
    history = None
    if problem.named is not None:
        done = recording.done
        history = History(
            named=problem.named,
            events=outcome.events,
            forces=recording.forces[:done],
            marks=recording.marks[:done],
            t=columns["t"],
        )
    return Motion(
        **columns,
        kinetic=kinetic[: recording.done],
        potential=potential[: recording.done],
        completed=outcome.status == Status.FINISHED,
        message=message(problem, outcome),
        coordinate_names=problem.equations.coordinate_names,
        speed_names=problem.equations.speed_names,
        _functions=rates.functions,
        _parameters=rates.parameters,
        _local_error=outcome.local_error,
        _balanced=not (rates.side.equations.powered and _leaves_out_power(problem)),
        _history=history,
    )
