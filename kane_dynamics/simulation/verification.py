"""A motion computed again with other steps, and how far the two are apart."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from kane_dynamics.simulation.loop import GOLDEN
from kane_dynamics.simulation.motion import Motion
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.recording import Outcome
from kane_dynamics.simulation.status import Status

FINER = 1e-2
"""Share of its tolerance that an adaptive method is given the second time."""

LEAST = 1e-13
"""Tolerance below which rounding takes over; from there the second one is coarser instead."""


def with_other_steps(problem: Problem) -> Problem:
    """The same problem, stops included, in steps that share no instants with those of the first."""
    request = problem.request
    if request.fixed:
        other = replace(request, step=GOLDEN * request.step, max_steps=2 * request.most_steps)
    else:
        finer = FINER * request.tolerance
        tolerance = finer if finer >= LEAST else request.tolerance / FINER
        other = replace(request, tolerance=tolerance, max_steps=10 * request.most_steps)
    return replace(problem, request=other)


def difference(
    motion: Motion, outcome: Outcome, other: Motion, again: Outcome, problem: Problem
) -> float:
    """The largest of all coordinates and speeds, at the times that both motions have recorded.

    Infinite if they do not end alike, nan if the second was cancelled.
    """
    count = min(len(motion), len(other))
    same = np.abs(motion.t[:count] - other.t[:count]) <= 2.0 * problem.same_time
    apart = abs(motion.t[-1] - other.t[-1])
    if again.status == Status.CANCELLED:
        return math.nan
    if again.status != outcome.status or apart > problem.request.step or not same.any():
        return math.inf
    pairs = ((motion.q, other.q), (motion.u, other.u))
    return max(float(np.abs(a[:count] - b[:count])[same].max(initial=0.0)) for a, b in pairs)
