"""Forward simulation: what a robot does under given torques, or under a controller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from kane_dynamics.simulation.inputs import Torque
from kane_dynamics.simulation.messages import error_at_start, message
from kane_dynamics.simulation.motion import Motion
from kane_dynamics.simulation.plant import plant_of
from kane_dynamics.simulation.problem import FIXED_STEP, Method, Problem, Wrenches, problem_of
from kane_dynamics.simulation.status import Outcome, Status
from kane_dynamics.simulation.stops import LimitPolicy
from kane_dynamics.simulation.watch import Cancel, ProgressChoice, Watch

Array = NDArray[np.float64]


def simulate(
    dynamics: Dynamics,
    duration: float,
    q0: ArrayLike,
    u0: ArrayLike,
    torque: Torque = None,
    step: float = 1e-3,
    method: Method = "rk4",
    *,
    output_step: float | None = None,
    wrenches: Wrenches | None = None,
    limits: LimitPolicy = "ignore",
    tolerance: float = 1e-8,
    max_steps: int | None = None,
    progress: ProgressChoice = None,
    cancel: Cancel | None = None,
) -> Motion:
    """The motion of a robot from an initial state on.

    Damping and dry friction of the joints act if the robot was loaded with ``joint_friction``.
    Joints with dry friction stick: at rest they stay exactly where they are until they are pushed
    harder than friction can hold.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    duration : float
        Simulated time, s.
    q0, u0 : array (nq,), array (dof,)
        Coordinates and speeds at t = 0.
    torque : None, array (dof,), TorqueHistory, callable, PDControl or ComputedTorque
        What drives the joints: nothing, constant torques, torques over time, a function
        ``(t, q, u) -> torques``, or a controller that runs in compiled code. A function must depend
        on its arguments only: it is called several times a step, not always in the order of time.
    step : float
        Length of the steps of ``"euler"`` and ``"rk4"``, s; steps also end wherever a history has
        an entry. For all methods it is the time constant of compliant stops, and by default the
        time between two states of the result.
    method : {"rk4", "euler", "dop853", "radau"}
        Classical Runge-Kutta or semi-implicit Euler with fixed step; or with adaptive step an
        explicit method of order 8, or an implicit one for stiff systems.
    output_step : float, optional
        Time between two states of the result, s; by default `step`. The end is always there.
    wrenches : dict from link name to array (6,) or WrenchHistory, optional
        Force (N), then torque (N m), that the surroundings exert on a link; world-aligned, at the
        link's origin.
    limits : {"ignore", "stop", "compliant"}
        At the limits of its position a joint moves on; or the simulation ends; or it meets a
        critically damped stop with the time constant `step`: the shorter, the stiffer. A motion can
        be continued from where it rests at such a stop.
    tolerance : float
        Error that ``"dop853"`` and ``"radau"`` allow in one step, in each coordinate and speed,
        relative to it if it is larger than one.
    max_steps : int, optional
        Steps beyond which a simulation with fixed step is refused, by default 10⁹, and one with
        adaptive step ends, by default after 10⁶: those run in Python, and take about a thousand
        times as long.
    progress : callable, optional
        Told the `Progress` every few hundredths of a second. By default a bar is shown while a long
        simulation runs in a terminal; False shows none.
    cancel : callable, optional
        Asked as often whether to stop; what was computed until then is returned.

    Returns
    -------
    Motion
        If something goes wrong on the way, the motion ends at the last good state, is not
        `completed` and has a `message`.

    Raises
    ------
    ArgumentError
        If an argument is wrong.
    SingularError
        If a link that moves has no inertia to be accelerated.
    """
    problem = problem_of(
        plant_of(dynamics),
        duration=duration,
        q0=q0,
        u0=u0,
        torque=torque,
        step=step,
        method=method,
        output_step=output_step,
        wrenches=wrenches,
        limits=limits,
        tolerance=tolerance,
        max_steps=max_steps,
    )
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
