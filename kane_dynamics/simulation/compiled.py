"""Simulation with fixed step in compiled code, in turns that leave room for Ctrl-C and progress."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.address import source_address
from kane_dynamics.codegen.compiler import source_text
from kane_dynamics.kane import recombination
from kane_dynamics.kane.embedded import order_of
from kane_dynamics.simulation import constraints, holding, impacts, loop, problem, run
from kane_dynamics.simulation.balance import Judge
from kane_dynamics.simulation.compiled_constraints import (
    LOOK,
    NamedStruct,
    excursions_of,
    named_struct,
)
from kane_dynamics.simulation.excursions import Excursions
from kane_dynamics.simulation.history import Table
from kane_dynamics.simulation.inputs import AskedTorque
from kane_dynamics.simulation.named import Modes, Named
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.recording import COLUMNS, Outcome, Recording
from kane_dynamics.simulation.status import Ended, InputFault, Status
from kane_dynamics.simulation.watch import PERIOD, Watch

INTEGER, REAL, POINTER = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p

KEEPS_LAST = (
    Status.CANCELLED,
    Status.UNBALANCED,
    Status.UNSOLVABLE,
    Status.VIOLATED,
    Status.STORM,
)
"""Ends after which what was last good is written here."""

CALL = ctypes.cast(ctypes.pythonapi.PyObject_CallNoArgs, POINTER).value
RELEASE = ctypes.cast(ctypes.pythonapi.Py_DecRef, POINTER).value

LONG = 5000
"""Steps of a run for which constraints that hold at first are written out, which takes a while."""

FILES = ("elimination.c", "constraints.c", "steps.c", "loop.c")
"""Of one text, one after the other."""

FLAGS = ("-O3", "-fno-tree-vectorize")
"""Of the compiler: what kernels write number by number is read so, too, which is faster."""

CONSTANTS = {
    run: ("HALVINGS", "AT_ONCE", "CHATTERS"),
    loop: ("WORSE", "DOUBT", "SLOW", "GOLDEN"),
    problem: ("SAME_TIME", "LARGEST_SPEED", "LARGEST_COORDINATE"),
    constraints: ("PARTS_AT_STOPS",),
    impacts: ("GAINED",),
    recombination: ("REDUNDANT", "VANISHED", "LEFT_OVER", "STAYS_BELOW", "STEADY"),
    holding: (
        "CHOSEN_BELOW",
        "UNDECIDED",
        "RELEASE",
        "BARELY",
        "FAR_FROM",
        "MOST_PARTS",
        "CLOSED",
        "STILL",
        "CORRECTIONS",
        "PATIENCE",
    ),
}
"""Numbers that these get when they are compiled, and where they stand."""


def _fields(kind: Any, names: str) -> tuple[tuple[str, Any], ...]:
    return tuple((name, kind) for name in names.split())


class TableStruct(ctypes.Structure):
    """``Table`` of steps.c."""

    _fields_ = (
        *_fields(INTEGER, "count width terms span"),
        *_fields(POINTER, "begins coefficients values"),
    )


class RunStruct(ctypes.Structure):
    """``Run`` of steps.c."""

    _fields_ = (
        *_fields(INTEGER, "n nq m state quaternion_count table_count"),
        *_fields(POINTER, "rates held coordinate_rates rates_in short_in"),
        *_fields(POINTER, "quaternions kinds rows limits modes at_once is_held free named"),
        *_fields(POINTER, "embedded embedded_rows tables"),
        *_fields(POINTER, "call release"),
        ("callable", ctypes.py_object),
        ("asked", POINTER),
        *_fields(INTEGER, "euler break_count row_count error_stride"),
        *_fields(REAL, "step same_time"),
        *_fields(POINTER, "breaks row_times"),
        *_fields(POINTER, " ".join(f"{name}_column" for name in COLUMNS)),
        *_fields(POINTER, "force_column mark_column marks"),
        ("rows_done", INTEGER),
        *_fields(REAL, "local_error roughest"),
        *_fields(INTEGER, "embeds patience unseen sees corrected"),
        *_fields(REAL, "growth least_growth"),
        *_fields(
            INTEGER,
            "status culprit span step_in_span steps_done stuck acts known changes estimates",
        ),
        *_fields(REAL, "t last_t now middle until"),
        *_fields(POINTER, "x k y ky stage half finer k2 k3 k4 trial factor right"),
    )


def source() -> str:
    """The text of `FILES`, with the constants of Python."""
    names = [(name, getattr(home, name)) for home, names in CONSTANTS.items() for name in names]
    files = (Path(__file__).with_name(name) for name in FILES)
    text = "".join(map(source_text, files))
    return "".join(f"#define {name} {value!r}\n" for name, value in names) + text


@lru_cache(maxsize=4)
def _loop_function(cache: bool | str, locked: bool) -> Callable[..., int]:
    """``kane_loop`` of loop.c.

    Parameters
    ----------
    cache : bool or str
        As in `kane_dynamics.load`.
    locked : bool
        Whether it keeps Python's lock, as it must to call Python; it then raises what that raises.

    Raises
    ------
    CompileError
        If there is no compiler that works.
    """
    address = source_address(source(), "kane_loop", FLAGS, "loop.c", cache)
    kind = ctypes.PYFUNCTYPE if locked else ctypes.CFUNCTYPE
    function = kind(INTEGER, ctypes.POINTER(RunStruct), INTEGER)(address)
    if function(None, 0) != ctypes.sizeof(RunStruct):
        raise AssertionError("steps.c and compiled.py describe different runs")
    return function


class CompiledSteps:
    """A run in the memory of compiled code, which must not move while it lasts.

    Raises
    ------
    CompileError
        If there is no compiler that works.
    """

    def __init__(self, problem: Problem, watch: Watch, judge: Judge) -> None:
        self._problem, self._watch, self._judge = problem, watch, judge
        self._kept: list[Any] = []
        self._fault = ""
        asks = isinstance(problem.rates.input, AskedTorque)
        cache = problem.rates.functions.cache
        self._loop = _loop_function(cache if isinstance(cache, bool) else os.fspath(cache), asks)
        self.layout, self.run = problem.rates.layout, RunStruct()
        self.before: dict[str, int] = {}
        self._modes = None if problem.named is None else Modes(problem.named)
        self.recording = Recording(problem, None if self._modes is None else self._modes.marks)
        self._describe_mechanism()
        self._describe_inputs()
        self._describe_time()
        self._lay_out()
        self._struct = NamedStruct()
        self._excursions: Excursions | None = None
        if problem.named is not None and self._modes is not None:
            self._describe_constraints(problem.named, self._modes)

    def outcome(self) -> Outcome:
        """Simulate."""
        try:
            with np.errstate(all="ignore"):
                status = self._status_at_end()
        except Ended as end:
            status, self.run.culprit, self._fault = end.status, end.culprit, end.fault
            if status == Status.VIOLATED:  # which is before anything has changed
                self.run.known = self.ask(LOOK) == Status.RUNNING
        except InputFault as fault:
            status, self._fault = Status.INPUT_FAULT, str(fault)
        recording, run = self.recording, self.run
        recording.done = run.rows_done
        if status in KEEPS_LAST and (run.known or run.last_t >= 0.0):
            recording.write_last(*self._good())
        events = () if self._excursions is None else tuple(self._excursions.events)
        return Outcome(recording, status, run.culprit, self._fault, run.local_error, events)

    def _status_at_end(self) -> Status:
        excursions = self._excursions
        if excursions is not None:
            excursions.begin()
            self._embed_constraints()
            self._struct.halt = excursions.halt
        status, steps = self._advance(1), 100
        while status in (Status.RUNNING, Status.EVENT):
            if excursions is not None:
                if status == Status.EVENT:
                    excursions.at_event()
                elif excursions.conditional:
                    excursions.after_step()
                self._struct.halt = excursions.halt
                if excursions.conditional:
                    status = self._one_step()
                    continue
            begin, before = time.perf_counter(), self.run.steps_done
            status = self._advance(steps)
            rate = (self.run.steps_done - before) / max(time.perf_counter() - begin, 1e-6)
            steps = max(1, min(4 * steps, int(rate * PERIOD)))
            if status == Status.RUNNING and self._watch.due() and self._watch.stops(*self._shown()):
                status = Status.CANCELLED
        return status

    def _one_step(self) -> Status:
        """One step, which conditions may take back."""
        names = ("span", "step_in_span", "steps_done", "status")
        self.before = {name: getattr(self.run, name) for name in names}
        if self._watch.due() and self._watch.stops(*self._shown()):
            return Status.CANCELLED
        return self._advance(1)

    def ask(self, what: int) -> Status:
        """Let compiled code do something else than steps, as `compiled_constraints` says."""
        return Status(self._loop(ctypes.byref(self.run), what))

    def held(self) -> NDArray[np.intp]:
        """Speeds that dry friction of joints holds."""
        at = self.layout
        is_held = np.ctypeslib.as_array((INTEGER * at.n).from_address(self.run.is_held))
        return np.flatnonzero(is_held)

    def slide(self, row: int, direction: float) -> None:
        """Let dry friction of a joint slide."""
        for c, each in enumerate(self._problem.rates.side.constraints):
            if each.kind == constraints.Kind.LIMITED and each.row == row:
                self.array(self.run.modes, c + 1)[c] = direction

    def _advance(self, steps: int) -> Status:
        """Do at most so many steps; KeyboardInterrupt comes between two calls."""
        try:
            status = Status(self._loop(ctypes.byref(self.run), steps))
            if status != Status.DOUBTFUL:
                return status
            run, recording = self.run, self.recording
            recording.done = run.rows_done
            x, y, finer = map(self.state, (run.y, run.x, run.finer))
            self._judge.check(run.last_t, x, y, finer, recording)
            return Status.RUNNING
        except InputFault as fault:
            self._fault = str(fault)
            return Status.INPUT_FAULT
        except Ended as end:
            self.run.culprit = end.culprit
            return end.status

    # ------------------------------------------------------------------------ reading the struct
    def state(self, place: int) -> Array:
        return self.array(place, self._problem.rates.layout.state)

    def array(self, place: int, size: int) -> Array:
        return np.ctypeslib.as_array((REAL * size).from_address(place))

    def _good(self) -> tuple[float, Array, Array]:
        """The last state of which everything is known, with its time and what follows."""
        run, at, named = self.run, self.layout, self._problem.named
        more = 0 if named is None else 3 * named.constraints.count + 2 * len(named.limits)
        size = at.mass.stop + at.m + more if more else at.gdot.stop
        t, x, k = (run.t, run.x, run.k) if run.known else (run.last_t, run.y, run.ky)
        return t, self.state(x), self.array(k, size)

    def _shown(self) -> tuple[float, Array, Array, Array]:
        at, (t, x, k) = self._problem.rates.layout, self._good()
        return t, x[at.qdot], x[at.udot], k[at.tau]

    # ------------------------------------------------------------------------ filling the struct
    def _pointer(self, values: Any, kind: type = np.float64) -> int:
        array: NDArray[Any] = np.array(values, kind, order="C")
        self._kept.append(array)
        return int(array.ctypes.data)

    def _describe_mechanism(self) -> None:
        run, rates, at = self.run, self._problem.rates, self._problem.rates.layout
        equations, each = rates.side.equations, rates.side.constraints
        run.n, run.nq, run.m, run.state = at.n, at.nq, at.m, int(equations.timed)
        run.rates = rates.address(held=False)
        limited = [constraint.kind == constraints.Kind.LIMITED for constraint in each]
        if any(limited) or self._problem.named is not None:
            run.held = rates.address(held=True)
        run.quaternion_count = len(equations.quaternions)
        run.quaternions = self._pointer(equations.quaternions, np.int64)
        run.kinds = self._pointer([constraint.kind for constraint in each], np.int64)
        run.rows = self._pointer([constraint.row for constraint in each], np.int64)
        run.limits = self._pointer([run_limit(constraint) for constraint in each])
        run.modes = self._pointer(self._problem.modes)
        for name in ("at_once", "is_held", "free"):
            setattr(run, name, self._pointer(np.zeros(at.n + at.m), np.int64))

    def _describe_inputs(self) -> None:
        run, rates, at = self.run, self._problem.rates, self._problem.rates.layout
        values = self._pointer(np.zeros(rates.side.values))
        now = ctypes.addressof(run) + RunStruct.now.offset
        places = {"t": now, "values": values, "modes": run.modes}
        places["numbers"] = self._pointer(rates.numbers)
        for each, given in zip(rates.side.equations.parameters, rates.parameters):
            places[each.name] = self._pointer(given)
        anchors = 0 if self._modes is None else self._modes.anchors.ctypes.data
        taken = [places.get(each.name, 0) for each in rates.side.inputs]
        run.rates_in = self._pointer([*taken, anchors], np.uint64)
        if self._problem.request.method == "euler" or self._problem.named is not None:
            functions = rates.functions
            run.coordinate_rates = functions.address("coordinate_rates")
            moved = functions.signature("coordinate_rates").inputs
            run.short_in = self._pointer([places.get(each.name, 0) for each in moved], np.uint64)
        tables = [self._table(table, values + 8 * k) for k, table in self._problem.tables]
        structs = (TableStruct * len(tables))(*tables)
        self._kept.append(structs)
        run.table_count, run.tables = len(tables), ctypes.addressof(structs)
        if isinstance(rates.input, AskedTorque):
            run.call, run.release = CALL, RELEASE
            asked = np.zeros(1 + at.nq + at.n)
            self._kept.append(asked)
            run.asked = asked.ctypes.data
            run.callable = self._asker(rates.input, asked, self.array(values, rates.side.width))

    def _asker(self, asks: AskedTorque, asked: Array, tau: Array) -> Callable[[], None]:
        """Calls the function of the user with what compiled code has put down."""
        q, u = np.split(asked[1:], [self.run.nq])
        problem = self._problem  # the run keeps what is returned, and is not to keep itself

        def ask() -> None:
            tau[:] = run.asked(asks, problem, float(asked[0]), q, u)

        return ask

    def _table(self, table: Table, values: int) -> TableStruct:
        count, width, terms = table.coefficients.shape
        places = self._pointer(table.begins), self._pointer(table.coefficients), values
        return TableStruct(count, width, terms, -1, *places)

    def _describe_time(self) -> None:
        run, problem, request = self.run, self._problem, self._problem.request
        run.euler, run.step = request.method == "euler", request.step
        run.same_time, run.error_stride = problem.same_time, problem.error_stride
        run.break_count, run.breaks = len(problem.breaks), self._pointer(problem.breaks)
        run.row_count, run.row_times = len(problem.row_times), self._pointer(problem.row_times)
        run.last_t = -1.0
        for name, column in self.recording.columns.items():
            place = None if name in self.recording.zeros else column.ctypes.data
            setattr(run, f"{name}_column", place)

    def _describe_constraints(self, named: Named, modes: Modes) -> None:
        run, at, recording = self.run, self.layout, self.recording
        now = ctypes.addressof(run) + RunStruct.now.offset
        inertia = self._problem.inertia
        self._struct = named_struct(named, modes, inertia, at.nq, now, self._pointer)
        run.named = ctypes.addressof(self._struct)
        run.force_column, run.mark_column = (
            recording.forces.ctypes.data,
            recording.marks.ctypes.data,
        )
        run.marks = modes.marks.ctypes.data
        same = self._problem.same_time
        self._excursions = excursions_of(self, named, modes, self._struct, same)

    def _embed_constraints(self) -> None:
        """Let those that hold now be written out, where nothing else can and it is worth while."""
        problem, modes, request = self._problem, self._modes, self._problem.request
        named = problem.named
        if named is None or modes is None or request.duration < LONG * request.step:
            return
        if named.constraints.drifts:  # what is driven takes work, which is not written out
            return
        rows = np.flatnonzero(modes.holds)
        if not len(rows) or request.method == "euler" or modes.grip.any() or modes.watched.any():
            return
        x, at = self.state(self.run.x), self.layout
        said = named.rows(0.0, x[at.qdot], x[at.udot], modes.anchors)
        order = order_of(said[:, :-2], problem.inertia, rows.tolist())
        if order.is_large:
            return
        self.run.embedded = problem.rates.address_under(named.constraints, order)
        self.run.embedded_rows, self.run.patience = self._pointer(modes.holds, np.int64), 1

    def _lay_out(self) -> None:
        """Memory for states, what follows from them, and the equations of independent speeds."""
        run, at, named = self.run, self._problem.rates.layout, self._problem.named
        more = 0 if named is None else 3 * named.constraints.count + 2 * len(named.limits)
        for name in ("x", "y", "stage", "half", "finer"):
            setattr(run, name, self._pointer(self._problem.start))
        for name in ("k", "ky", "k2", "k3", "k4", "trial"):
            setattr(run, name, self._pointer(np.zeros(at.mass.stop + at.m + more)))
        run.factor, run.right = self._pointer(np.zeros(at.n**2)), self._pointer(np.zeros(at.n))


def run_limit(constraint: constraints.Constraint) -> float:
    """What must push a constraint for it to let go."""
    return holding.RELEASE * constraint.limit
