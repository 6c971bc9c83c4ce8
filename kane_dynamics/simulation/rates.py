"""Accelerations of a state, with joints that stick and joints at their stops; rates.h in Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.simulation.drive import STUCK
from kane_dynamics.simulation.plant import Plant
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.status import Ended, Status

Indices = NDArray[np.int64]


class State(NamedTuple):
    """Coordinates, speeds, and the work done so far by forces that have no potential."""

    q: Array
    u: Array
    work: float


class Rates(NamedTuple):
    """What follows from a state.

    `force` are generalized forces of input, wrenches, stops and dry friction; `hold` is what pushes
    a stuck joint; `power` that of the forces, less what damping takes.
    """

    tau: Array
    force: Array
    hold: Array
    udot: Array
    power: float


@dataclass
class Run:
    """A simulation under way.

    Attributes
    ----------
    problem : Problem
    modes : array (n,)
        Sign of the speed of joints that slide with dry friction, or `STUCK`; zero for others.
    stops : array (n,)
        1 at the upper stop, -1 at the lower one, else zero.
    pinned : array (n,)
        Joints that stay stuck until the present step ends.
    margin : array (n,)
        What must push a stuck joint beyond its friction for it to slide, N m or N.
    middle : float
        A time inside of the present step.
    last_stage : array (n,)
        Accelerations of the last stage of the Runge-Kutta step that was computed last.
    """

    problem: Problem
    modes: Indices = field(init=False)
    stops: Indices = field(init=False)
    pinned: NDArray[np.bool_] = field(init=False)
    margin: Array = field(init=False)
    last_stage: Array = field(init=False)
    middle: float = 0.0

    def __post_init__(self) -> None:
        self.modes = initial_modes(self.problem)
        self.stops = initial_stops(self.problem)
        self.margin = np.zeros(len(self.modes))
        self.last_stage = np.zeros(len(self.modes))
        self.pinned = np.zeros(len(self.modes), bool)
        self.dry = bool(self.plant.friction.any())

    @property
    def plant(self) -> Plant:
        return self.problem.plant

    @property
    def changes(self) -> bool:
        """Whether there are modes that can end."""
        return self.dry or self.problem.stops.policy != "ignore"


def initial_modes(problem: Problem) -> Indices:
    """Joints with dry friction slide if they move, and are stuck at first if they do not."""
    sign = np.sign(problem.u).astype(np.int64)
    return np.where(problem.plant.friction > 0.0, np.where(sign == 0, STUCK, sign), 0)


def initial_stops(problem: Problem) -> Indices:
    """Joints that begin beyond a limit are at its stop, if it is a compliant one."""
    coordinate = problem.plant.coordinate
    if problem.stops.policy != "compliant":
        return np.zeros(len(coordinate), np.int64)
    q = np.where(coordinate < 0, 0.0, problem.q[coordinate])
    return (q > problem.stops.upper).astype(np.int64) - (q < problem.stops.lower)


def rates_at(run: Run, t: float, x: State) -> Rates:
    """Everything that follows from a state in the present modes."""
    try:
        rates = _rates_at(run, t, x)
    except ArgumentError:
        # what is not a number has come into the equations
        raise Ended(Status.DIVERGED) from None
    except np.linalg.LinAlgError:
        raise Ended(Status.SINGULAR) from None
    wrong = np.flatnonzero(~(np.isfinite(rates.udot) & np.isfinite(rates.force)))
    if len(wrong):
        raise Ended(Status.DIVERGED, int(wrong[0]))
    return rates


def _rates_at(run: Run, t: float, x: State) -> Rates:
    problem, plant, (q, u, _) = run.problem, run.plant, x
    tau = problem.drive.torque(t, run.middle, q, u, run.modes)
    force = tau
    if problem.links:
        wrenches = [wrench.at(t, run.middle) for wrench in problem.wrenches]
        force = force + plant.dynamics.wrench_forces(q, dict(zip(problem.links, wrenches)))
    if run.stops.any():
        force = force + stop_forces(run, q, u)
    stuck = run.modes == STUCK
    hold = np.zeros(len(u))
    if run.dry:
        force = force - np.where(stuck, 0, run.modes) * plant.friction
    if stuck.any():
        udot, hold = _held(plant, stuck, q, u, force)
        force = force - hold
    else:
        udot = plant.dynamics.forward_dynamics(q, u, force)
    return Rates(tau, force, hold, udot, float(u @ (force - plant.damping * u)))


def stop_forces(run: Run, q: Array, u: Array) -> Array:
    """What pushes joints back that are beyond a limit: a spring and a damper that never pull."""
    stops, side = run.problem.stops, run.stops
    limit = np.where(side > 0, stops.upper, np.where(side < 0, stops.lower, 0.0))
    depth = side * (q[run.plant.coordinate] - limit)
    push = stops.stiffness * depth + stops.absorption * side * u
    return np.where(side != 0, -side * np.maximum(push, 0.0), 0.0)


def _held(
    plant: Plant, stuck: NDArray[np.bool_], q: Array, u: Array, force: Array
) -> tuple[Array, Array]:
    """Accelerations when some joints stick, and what friction must hold there."""
    mass, bias = plant.dynamics.mass_matrix(q), plant.dynamics.bias(q, u)
    free = ~stuck
    udot = np.zeros(len(u))
    udot[free] = np.linalg.solve(mass[np.ix_(free, free)], (force - bias)[free])
    return udot, np.where(stuck, force - bias - mass @ udot, 0.0)
