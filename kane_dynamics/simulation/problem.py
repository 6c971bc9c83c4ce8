"""A simulation of a mechanism, checked and ready to be computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.arguments import prepare
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.equations import Equations
from kane_dynamics.simulation.constraints import Bounds, constraints_of, within
from kane_dynamics.simulation.coupler import VirtualCoupler
from kane_dynamics.simulation.history import Table
from kane_dynamics.simulation.inputs import input_of, wrench_table
from kane_dynamics.simulation.named import Named
from kane_dynamics.simulation.rates import Rates, RightHandSide, evaluated
from kane_dynamics.simulation.request import Request
from kane_dynamics.symbolic.program import Input, Signature

SAME_TIME = 1e-9
"""Share of the shorter of a step and the time between two rows, within which times are the same."""

LARGEST_SPEED = 1e8
LARGEST_COORDINATE = 1e12
"""Rad/s, m/s, rad and m, beyond which a motion has diverged."""

LARGEST_RESULT = 10**9
"""Bytes of result beyond which a simulation is refused."""

SHORT, ERROR_STRIDE = 1000, 50
"""Steps of a simulation so short that all of them have their error estimated; else one of so many
does, besides those that seem worse than all before."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be simulated.

    Attributes
    ----------
    request : Request
    rates : Rates
    tables : tuple of (int, Table)
        Values over time, and where they begin among the values.
    start : array
        The initial state: q, u, and no work done.
    modes : array (m,)
        Those of the constraints at the start.
    same_time : float
        Within which times are the same, s.
    breaks : array
        From 0 to the duration, times that no step may cross because something is not smooth there.
    row_times : array
        When the motion is recorded.
    named : Named, optional
        Constraints by name, which may change on the way.
    inertia : array (n,)
        With such constraints: what each speed feels alone at the start.
    """

    request: Request
    rates: Rates
    tables: tuple[tuple[int, Table], ...]
    start: Array
    modes: Array
    same_time: float
    breaks: Array
    row_times: Array
    named: Named | None = None
    inertia: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def equations(self) -> Equations:
        return self.rates.side.equations

    @property
    def error_stride(self) -> int:
        """Steps from one estimate of the error to the next."""
        return 1 if self.request.duration / self.request.step <= SHORT else ERROR_STRIDE

    def normalized(self, x: Array) -> Array:
        """A state with quaternions of unit length, in place."""
        for first in self.equations.quaternions:
            x[first : first + 4] /= np.linalg.norm(x[first : first + 4])
        return x


def problem_of(
    functions: Functions,
    request: Request,
    bounds: Bounds,
    parameters: Sequence[Array] = (),
    named: Named | None = None,
) -> Problem:
    """Fit what is asked for to a mechanism; ArgumentError says what does not fit.

    Parameters
    ----------
    functions : Functions
    request : Request
    bounds : dict
        Limits of positions, which the mechanism itself does not know.
    parameters : sequence of array
        Values of the late numbers of the equations.
    named : Named, optional
        Constraints by name.
    """
    equations = functions.equations
    _refuse_large_result(equations, request)
    q, u = _initial_state(equations, request)
    if named is not None:
        if not request.fixed:
            _refuse_changes(request, named)
        named.refuse_violation(q, u)
    elif request.switches or request.machine is not None:
        raise ArgumentError(
            "simulate: switches and machine are for robots with constraints, expected "
            "load(…, constraints=…)"
        )
    torque, pulls = _inputs(request)
    source = input_of(torque)
    table = source.table(equations)
    for link in pulls:
        equations.check_about(link)
    links, coupled = (
        tuple(name for name in sorted(pulls) if isinstance(pulls[name], VirtualCoupler) is there)
        for there in (False, True)
    )
    width = len(source.names(equations)) if table is None else table.width
    tables = [(0, table)] if table is not None and width else []
    place = width
    for link in (*links, *coupled):
        tables.append((place, wrench_table(link, pulls[link])))
        place += tables[-1][1].width
    M = None
    if request.limits == "compliant" or named is not None:
        late = dict(zip((each.name for each in equations.parameters), parameters))
        M = evaluated(functions.smooth, "mass_matrix", t=np.zeros(1), q=q, **late)
    inertia = np.zeros(0) if M is None else np.diagonal(M).copy()
    M = M if request.limits == "compliant" else None
    constraints = constraints_of(functions, request, bounds, q, M)
    q = within(constraints, q)
    own, smooth = source.numbers(equations), functions.smooth
    side = RightHandSide(
        smooth.equations, type(source), width, len(own), links, coupled, constraints
    )
    numbers = np.concatenate([own, *(each.numbers for each in constraints)])
    duration, apart = request.duration, request.apart
    same_time = SAME_TIME * min(request.step, apart, duration)
    switched = [e.at for e in (() if named is None else named.switches) if e.at is not None]
    knots = np.concatenate([np.array(switched, float), *(e.begins[1:] for _, e in tables)])
    return Problem(
        request=request,
        rates=Rates(smooth, side, source, numbers, tuple(parameters)),
        tables=tuple(tables),
        start=np.concatenate([q, u, [0.0]]),
        modes=np.array([each.mode(q, u) for each in constraints], np.float64),
        same_time=same_time,
        breaks=_breaks(knots, duration, same_time),
        row_times=_row_times(duration, apart),
        named=named,
        inertia=inertia,
    )


def _inputs(request: Request) -> tuple[Any, dict[str, Any]]:
    """What drives the joints, and what pulls at links: a coupler may be given as either."""
    torque, pulls = request.torque, dict(request.wrenches or {})
    if isinstance(torque, VirtualCoupler):
        if torque.link in pulls:
            raise ArgumentError(
                f"torque: the coupler pulls at '{torque.link}', and so does wrenches: give one"
            )
        pulls[torque.link] = torque
        torque = None
    for link, given in pulls.items():
        if isinstance(given, VirtualCoupler) and given.link != link:
            raise ArgumentError(
                f"wrenches['{link}'] is a coupler of link '{given.link}', expected one of '{link}'"
            )
    return torque, pulls


def _refuse_changes(request: Request, named: Named) -> None:
    """Adaptive methods hold constraints that stay as they are at the start."""
    changing = [*named.one_sided, *(each.name for each in named.limits)]
    changing += [each.name for each in named.switches]
    if changing or named.machine is not None:
        what = f"constraint {changing[0]!r} does" if changing else "those of a machine do"
        raise ArgumentError(
            f"simulate: method {request.method!r} does not know constraints that come and go, as "
            f"{what}, expected 'rk4' or 'euler'"
        )


def _refuse_large_result(equations: Equations, request: Request) -> None:
    duration, apart = request.duration, request.apart
    nq, n = len(equations.coordinate_names), len(equations.speed_names)
    size = 8 * (duration / apart + 2) * (6 + nq + 4 * n)
    if size > LARGEST_RESULT:
        raise ArgumentError(
            f"{duration:g} s recorded every {apart:g} s would take {size / 1e9:.3g} GB, more than "
            f"{LARGEST_RESULT / 1e9:g}; give a longer output_step"
        )


def _initial_state(equations: Equations, request: Request) -> tuple[Array, Array]:
    quaternions = tuple(("q0", first) for first in equations.quaternions)
    sizes = len(equations.coordinate_names), len(equations.speed_names)
    inputs = (Input("q0", sizes[0]), Input("u0", sizes[1]))
    declared = Signature("simulate", inputs, (), quaternions)
    q, u = prepare(declared, (request.q0, request.u0), {})
    for entry, array in zip(inputs, (q, u)):
        if array.ndim != 1:
            raise ArgumentError(
                f"simulate: {entry.name} must have shape ({entry.size},), got {array.shape}"
            )
    _refuse_huge("q0", q, LARGEST_COORDINATE, "rad or m")
    _refuse_huge("u0", u, LARGEST_SPEED, "rad/s or m/s")
    q = q.copy()
    for first in equations.quaternions:
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
    return q, u


def _refuse_huge(name: str, values: Array, largest: float, unit: str) -> None:
    wrong = np.flatnonzero(np.abs(values) >= largest)
    if len(wrong):
        k = int(wrong[0])
        raise ArgumentError(
            f"simulate: {name}[{k}] is {values[k]:g}, expected less than {largest:g} {unit}"
        )


def _breaks(knots: Array, duration: float, same_time: float) -> Array:
    breaks = [0.0]
    for knot in np.unique(knots[(knots > 0.0) & (knots < duration)]).tolist():
        if knot - breaks[-1] > same_time and duration - knot > same_time:
            breaks.append(knot)
    return np.array([*breaks, duration])


def _row_times(duration: float, apart: float) -> Array:
    count = math.floor(duration / apart * (1 + 1e-12)) + 1
    times = apart * np.arange(count, dtype=np.float64)
    if duration - times[-1] > SAME_TIME * apart or len(times) == 1:
        times = np.append(times, duration)
    times[-1] = duration
    return times
