"""One step of a method with fixed step; stepping.h in Python."""

from __future__ import annotations

import numpy as np

from kane_dynamics.simulation.bounds import refuse_unreasonable
from kane_dynamics.simulation.rates import Rates, Run, State, rates_at


def advance(run: Run, t: float, h: float, x: State, k1: Rates) -> State:
    """The state at t + h, from x at t, in the present modes."""
    with np.errstate(all="ignore"):
        method = _semi_implicit_euler if run.problem.method == "euler" else _runge_kutta_4
        y = method(run, t, h, x, k1)
    refuse_unreasonable(y.q, y.u)
    return y


def _semi_implicit_euler(run: Run, t: float, h: float, x: State, k1: Rates) -> State:
    """Speeds first, then coordinates with the new speeds."""
    plant = run.plant
    u = x.u + h * k1.udot
    q = x.q + h * plant.coordinate_rates(x.q, u)
    power = 0.5 * (x.u + u) @ (k1.force - plant.damping * x.u)
    return State(plant.normalized(q), u, float(x.work + h * power))


def _runge_kutta_4(run: Run, t: float, h: float, x: State, k1: Rates) -> State:
    plant = run.plant
    rates, qdots = [k1], [plant.coordinate_rates(x.q, x.u)]
    for node in (0.5, 0.5, 1.0):
        q = plant.normalized(x.q + h * node * qdots[-1])
        stage = State(q, x.u + h * node * rates[-1].udot, 0.0)
        rates.append(rates_at(run, t + h * node, stage))
        qdots.append(plant.coordinate_rates(stage.q, stage.u))
    run.last_stage = rates[-1].udot
    weights = np.array([1.0, 2.0, 2.0, 1.0]) * (h / 6)
    return State(
        plant.normalized(x.q + weights @ np.stack(qdots)),
        x.u + weights @ np.stack([k.udot for k in rates]),
        float(x.work + weights @ np.array([k.power for k in rates])),
    )


def roughness(run: Run, h: float, x: State, k1: Rates, y: State) -> float:
    """How far the step from x to y, just computed by Runge-Kutta, is from the trapezoid rule."""
    if run.problem.method == "euler":
        return 0.0
    return float(np.abs(y.u - x.u - h / 2 * (k1.udot + run.last_stage)).max())


def step_error(run: Run, t: float, h: float, x: State, k1: Rates, y: State) -> float:
    """Estimated error of the step from x to y, from two steps of half the length."""
    factor = 2.0 if run.problem.method == "euler" else 16.0 / 15.0
    half = advance(run, t, h / 2, x, k1)
    twice = advance(run, t + h / 2, h / 2, half, rates_at(run, t + h / 2, half))
    error = max(np.abs(twice.q - y.q).max(), np.abs(twice.u - y.u).max())
    return factor * float(error)
