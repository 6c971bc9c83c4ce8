"""Joints that stick, slide, and meet their stops: when a mode ends; modes.h in Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.constants import HALVINGS, RELEASE
from kane_dynamics.simulation.drive import STUCK
from kane_dynamics.simulation.rates import Rates, Run, State, rates_at


def outlived(run: Run, t: float, x: State) -> bool:
    """Whether a state was reached in modes that no longer hold there."""
    limits = run.problem.stops
    if limits.policy != "ignore":
        q = _positions(run, x)
        above, below = q > limits.upper, q < limits.lower
        free = run.stops == 0
        if (free & (above | below)).any():
            return True
        if ((run.stops > 0) & (q < limits.upper) | (run.stops < 0) & (q > limits.lower)).any():
            return True
    if not run.dry:
        return False
    stuck = run.modes == STUCK
    if (~stuck & (run.modes * x.u < 0.0)).any():
        return True
    waiting = stuck & ~run.pinned
    if not waiting.any():
        return False
    hold = rates_at(run, t, x).hold
    return bool((waiting & (np.abs(hold) > _release(run))).any())


def joint_beyond(run: Run, x: State) -> int:
    """The joint that lies beyond a limit, -1 if none does."""
    limits, q = run.problem.stops, _positions(run, x)
    beyond = np.flatnonzero((q < limits.lower) | (q > limits.upper))
    return int(beyond[0]) if len(beyond) else -1


def find_excursion(
    run: Run, t: float, h: float, x: State, y: State, state_after: Callable[[float], State]
) -> float | None:
    """When within the step from x to y a joint turned that was beyond a limit there and came back.

    Parameters
    ----------
    run : Run
    t, h : float
        When the step begins, and how long it is; its modes hold at its end.
    x, y : State
        Where it begins and ends.
    state_after : callable
        The state at a time since the step began.
    """
    limits = run.problem.stops
    if limits.policy == "ignore":
        return None
    for joint in np.flatnonzero((run.plant.coordinate >= 0) & (x.u * y.u < 0.0)):
        turn = float(h * x.u[joint] / (x.u[joint] - y.u[joint]))
        # twice as far as it goes at a constant acceleration, to be sure
        furthest = x.q[run.plant.coordinate[joint]] + turn * x.u[joint]
        inside = limits.lower[joint] <= furthest <= limits.upper[joint]
        if not inside and outlived(run, t + turn, state_after(turn)):
            return turn
    return None


def find_end(
    run: Run, t: float, h: float, state_after: Callable[[float], State]
) -> tuple[float, State, int]:
    """The end of a mode within a step, by bisection.

    Parameters
    ----------
    run : Run
    t, h : float
        When the step begins, and how long it is; its modes have ended at its end.
    state_after : callable
        The state at a time since the step began.

    Returns
    -------
    h, state, forbidden
        The first state in which the mode no longer holds; if that one is forbidden, because the
        joint `forbidden` lies beyond a limit, the last before. Else `forbidden` is -1.
    """
    low, high = 0.0, h
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        if outlived(run, t + middle, state_after(middle)):
            high = middle
        else:
            low = middle
    y = state_after(high)
    forbidden = joint_beyond(run, y) if run.problem.stops.policy == "stop" else -1
    return (high, y, -1) if forbidden < 0 else (low, state_after(low), forbidden)


def change_modes(run: Run, x: State, pin: bool) -> State:
    """Modes after a state where some have ended; a joint that has come to rest sticks at first."""
    limits, q = run.problem.stops, _positions(run, x)
    if limits.policy != "ignore":
        run.stops = (q > limits.upper).astype(np.int64) - (q < limits.lower)
    at_rest = (run.modes != STUCK) & (run.modes * x.u < 0.0)
    run.modes = np.where(at_rest, STUCK, run.modes)
    run.pinned = np.where(at_rest, pin, run.pinned)
    return x._replace(u=np.where(at_rest, 0.0, x.u))


def settle(run: Run, t: float, x: State) -> Rates:
    """Rates of a state, once its modes agree with them."""
    k = rates_at(run, t, x)
    for _ in range(8 * len(x.u) if run.dry else 0):
        joint = _to_release(run, k)
        if joint >= 0:
            run.modes[joint] = 1 if k.hold[joint] > 0.0 else -1
        else:
            backward = (run.plant.friction > 0.0) & (run.modes != STUCK) & (x.u == 0.0)
            backward &= run.modes * k.udot < 0.0
            if not backward.any():
                break
            run.modes[np.flatnonzero(backward)[0]] = STUCK
        k = rates_at(run, t, x)
    return k


def _to_release(run: Run, k: Rates) -> int:
    """The stuck joint that is pushed hardest beyond its friction, -1 if none is."""
    waiting = np.flatnonzero((run.modes == STUCK) & ~run.pinned)
    if not len(waiting):
        return -1
    share = np.abs(k.hold[waiting]) / _release(run)[waiting]
    hardest = int(np.argmax(share))
    return int(waiting[hardest]) if share[hardest] > 1.0 else -1


def _release(run: Run) -> Array:
    """What must push a stuck joint for it to slide."""
    return RELEASE * run.plant.friction + run.margin


def _positions(run: Run, x: State) -> Array:
    """The coordinate of each speed; zero for those of free joints."""
    coordinate = run.plant.coordinate
    return np.where(coordinate < 0, 0.0, x.q[coordinate])
