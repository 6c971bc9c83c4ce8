"""Constraints by name in the memory of compiled code, and the state there as excursions see it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.excursions import Excursions
from kane_dynamics.simulation.named import Modes, Named
from kane_dynamics.simulation.present import Present
from kane_dynamics.simulation.status import Ended, Status

if TYPE_CHECKING:
    from kane_dynamics.simulation.compiled import CompiledSteps

INTEGER, POINTER = ctypes.c_int64, ctypes.c_void_p

LOOK, GO_BACK, TRY, TAKE, CORRECT, IMPOSE = 0, -1, -2, -3, -4, -5
"""What compiled code is asked for instead of steps; the same numbers stand in steps.c."""

INTEGERS = (
    *("dependent", "independent", "pivot_row", "acting", "used", "spare", "there"),
    "known_acting",
)
"""Scratch of compiled code for places of rows and speeds."""

Pointer = Callable[..., int]


def _fields(kind: Any, names: str) -> tuple[tuple[str, Any], ...]:
    return tuple((name, kind) for name in names.split())


class NamedStruct(ctypes.Structure):
    """``Named`` of elimination.c."""

    _fields_ = (
        *_fields(INTEGER, "n nq count state"),
        *_fields(POINTER, "rows rows_in drifts drifts_in positions holds watched"),
        ("limit_count", INTEGER),
        *_fields(POINTER, "first size of grip statics kinetics direction aimed slack inertia"),
        ("halt", ctypes.c_double),
        *_fields(INTEGER, "looking rank chosen choices redundant"),
        *_fields(POINTER, "dependent independent pivot_row acting used spare there"),
        *_fields(POINTER, "said tableau scale lengths mass block reduced motions forces nulls"),
        *_fields(POINTER, "couple particular right friction push wanted rates applied"),
        *_fields(POINTER, "follow factors inverse known_scale known_length known_acting"),
        *_fields(INTEGER, "in_order has_order within"),
        *_fields(POINTER, "metric said_of"),
        ("said_at", ctypes.c_double),
        *_fields(POINTER, "drift still"),
    )


def named_struct(
    named: Named, modes: Modes, inertia: Array, nq: int, now: int, pointer: Pointer
) -> NamedStruct:
    """Describe constraints to compiled code.

    Parameters
    ----------
    now : int
        Address of the present time.
    pointer : callable
        Keeps an array of a type as long as a run lasts, and gives its address.
    """
    n, count, limits = len(inertia), named.constraints.count, named.limits
    struct = NamedStruct(n=n, nq=nq, count=count, limit_count=len(limits), rank=0, chosen=-1)
    struct.rows, struct.halt = named.address("constraint_rows"), np.inf
    places = {"t": now, "anchors": modes.anchors.ctypes.data}
    places.update({name: pointer(values) for name, values in named.given.items()})
    struct.state = int(named.constraints.equations.timed)
    taken = named.constraints.asked("constraint_rows")[0].inputs
    struct.rows_in = pointer([places.get(each.name, 0) for each in taken], np.uint64)
    if named.constraints.drifts:
        struct.drifts = named.address("constraint_drifts")
        taken = named.constraints.asked("constraint_drifts")[0].inputs
        struct.drifts_in = pointer([places.get(each.name, 0) for each in taken], np.uint64)
    if named.constraints.equations.flows:
        struct.still = pointer(np.zeros(n))
    struct.positions = pointer(named.positions, np.int64)
    for name in ("holds", "watched", "grip", "direction", "aimed", "slack"):
        setattr(struct, name, getattr(modes, name).ctypes.data)
    for name in ("first", "size", "of"):
        setattr(struct, name, pointer([getattr(each, name) for each in limits], np.int64))
    struct.statics = pointer([each.static for each in limits])
    struct.kinetics = modes.factors.ctypes.data
    struct.inertia = pointer(inertia)
    most, some = count + n, len(limits) + 1
    for name in INTEGERS:
        setattr(struct, name, pointer(np.zeros(most + some), np.int64))
    sizes = {
        "said": count * (n + 2),
        "drift": count,
        "tableau": most * (n + 1 + most),
        "scale": n,
        "lengths": most,
        "mass": n * n,
        "block": n * n,
        "reduced": most * most,
        "motions": some * n,
        "forces": some * most,
        "nulls": most * most,
        "couple": some * (some + 2),
        "particular": most,
        "right": 4 * n + most,
        "friction": some,
        "push": n,
        "wanted": most,
        "rates": 2 * nq,
        "applied": n,
        "follow": n * n,
        "factors": n * (n + 1),
        "inverse": n,
        "known_scale": n,
        "known_length": most,
    }
    for name, size in sizes.items():
        setattr(struct, name, pointer(np.zeros(size)))
    return struct


class CompiledState(Present):
    """The state of a run in compiled code."""

    imposes = True

    def __init__(self, steps: CompiledSteps, named: NamedStruct) -> None:
        self._steps, self._named = steps, named
        self._size = named.count + named.limit_count

    @property
    def t(self) -> float:  # type: ignore[override]
        return float(self._steps.run.t)

    @property
    def last_t(self) -> float:  # type: ignore[override]
        return float(self._steps.run.last_t)

    @property
    def step(self) -> int:  # type: ignore[override]
        return int(self._steps.run.steps_done)

    @property
    def x(self) -> Array:  # type: ignore[override]
        return self._steps.state(self._steps.run.x)

    def look(self) -> Status:
        steps, named, at = self._steps, self._named, self._steps.layout
        named.looking = 1
        try:
            status = steps.ask(LOOK)
        finally:
            named.looking = 0
        k = steps.array(steps.run.k, at.mass.stop + at.m + 2 * self._size + named.count)
        own = k[at.mass.stop + at.m :]
        self.M = k[at.mass].reshape(at.n, at.n)
        self.applied = steps.array(named.applied, at.n)
        self.said = steps.array(named.said, named.count * (at.n + 2)).reshape(-1, at.n + 2)
        self.g, self.forces = own[: self._size], own[2 * self._size :]
        self.held = steps.held()
        steps.run.known = 0
        return status

    def correct(self) -> None:
        self._steps.ask(CORRECT)

    def slide(self, row: int, direction: float) -> None:
        self._steps.slide(row, direction)

    def forget(self) -> None:
        self._steps.run.known = 0

    def impose(self) -> tuple[Array, Array]:
        steps, at, count = self._steps, self._steps.layout, self._named.count
        status = steps.ask(IMPOSE)
        steps.run.known = 0
        if status != Status.RUNNING:
            raise Ended(status)
        found = steps.array(steps.run.k2, at.mass.stop + at.m + 2 * self._size + count)
        own = found[at.mass.stop + at.m :]
        return own[2 * self._size :].copy(), own[:count].copy()

    def go_back(self) -> None:
        steps = self._steps
        steps.ask(GO_BACK)
        for name, value in steps.before.items():
            setattr(steps.run, name, value)

    def state_at(self, t: float) -> Array:
        self._steps.run.until = t
        self._steps.ask(TRY)
        return self._steps.state(self._steps.run.y)

    def take(self, t: float) -> None:
        steps = self._steps
        steps.ask(TAKE)
        steps.recording.done = steps.run.rows_done
        steps.recording.forget_after(t)
        steps.run.rows_done = steps.recording.done


def excursions_of(
    steps: CompiledSteps, named: Named, modes: Modes, struct: NamedStruct, same_time: float
) -> Excursions:
    """What changes constraints of a run in compiled code."""
    return Excursions(named, modes, CompiledState(steps, struct), struct.nq, same_time)
