"""One step of a method with fixed step; stepping.h in Python."""

from __future__ import annotations

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.bounds import refuse_unreasonable
from kane_dynamics.simulation.plant import Plant
from kane_dynamics.simulation.rates import Rates, Run, State, rates_at


def coordinate_rates(plant: Plant, q: Array, u: Array) -> Array:
    """Rates of the coordinates: speeds, and those of a free joint's position and quaternion."""
    qdot = np.zeros(len(q))
    driven = plant.driven
    qdot[plant.coordinate[driven]] = u[driven]
    for coordinate, speed in plant.free:
        e, e4 = q[coordinate + 3 : coordinate + 6], q[coordinate + 6]
        v, w = u[speed : speed + 3], u[speed + 3 : speed + 6]
        qdot[coordinate : coordinate + 3] = v + 2.0 * np.cross(e, np.cross(e, v) + e4 * v)
        qdot[coordinate + 3 : coordinate + 6] = 0.5 * (e4 * w + np.cross(e, w))
        qdot[coordinate + 6] = -0.5 * (e @ w)
    return qdot


def normalized(plant: Plant, q: Array) -> Array:
    """The coordinates with quaternions of unit length."""
    if len(plant.free):
        q = q.copy()
    for coordinate, _ in plant.free:
        quaternion = q[coordinate + 3 : coordinate + 7]
        quaternion /= np.linalg.norm(quaternion)
    return q


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
    q = x.q + h * coordinate_rates(plant, x.q, u)
    power = 0.5 * (x.u + u) @ (k1.force - plant.damping * x.u)
    return State(normalized(plant, q), u, float(x.work + h * power))


def _runge_kutta_4(run: Run, t: float, h: float, x: State, k1: Rates) -> State:
    plant = run.plant
    rates, qdots = [k1], [coordinate_rates(plant, x.q, x.u)]
    for node in (0.5, 0.5, 1.0):
        q = normalized(plant, x.q + h * node * qdots[-1])
        stage = State(q, x.u + h * node * rates[-1].udot, 0.0)
        rates.append(rates_at(run, t + h * node, stage))
        qdots.append(coordinate_rates(plant, stage.q, stage.u))
    run.last_stage = rates[-1].udot
    weights = np.array([1.0, 2.0, 2.0, 1.0]) * (h / 6)
    return State(
        normalized(plant, x.q + weights @ np.stack(qdots)),
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
