"""Simulation with fixed step in compiled code, in turns that leave room for Ctrl-C and progress."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.simulation import integrator
from kane_dynamics.simulation.drive import ControlDrive, Drive, FunctionDrive, HistoryDrive
from kane_dynamics.simulation.fixed import error_stride
from kane_dynamics.simulation.history import History
from kane_dynamics.simulation.integrator import HistoryStruct, ReferenceStruct, RunStruct
from kane_dynamics.simulation.problem import Problem
from kane_dynamics.simulation.rates import initial_modes, initial_stops
from kane_dynamics.simulation.status import Ended, InputFault, Outcome, Status
from kane_dynamics.simulation.watch import TURN, Watch


def integrate(problem: Problem, watch: Watch) -> Outcome:
    """Simulate with fixed step.

    Raises
    ------
    CompileError
        If there is no compiler that works.
    """
    run = _CompiledRun(problem)
    status = run.advance(1)
    steps = 100
    while status == Status.RUNNING:
        begin = time.perf_counter()
        status = run.advance(steps)
        taken = time.perf_counter() - begin
        steps = max(1, min(4 * steps, int(steps * TURN / max(taken, 1e-6))))
        if status == Status.RUNNING and watch.due() and watch.stops(run.latest):
            status = Status.CANCELLED
    return run.outcome(status)


class _CompiledRun:
    """A run in the memory of compiled code, which must not move while it lasts."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._kept: list[Any] = []
        self._fault = ""
        asks = isinstance(problem.drive, FunctionDrive)
        self._integrate = integrator.integrate_function(problem.plant.dynamics.cache, locked=asks)
        self._run = RunStruct()
        self._rows = np.empty((len(problem.row_times) + 1, problem.row_width))
        self._describe_robot()
        self._describe_input(problem.drive)
        self._describe_wrenches()
        self._describe_time()

    def advance(self, steps: int) -> Status:
        """Do at most so many steps; KeyboardInterrupt comes between two calls."""
        try:
            return Status(self._integrate(ctypes.byref(self._run), steps))
        except InputFault as fault:
            self._fault = str(fault)
            return Status.INPUT_FAULT
        except Ended as end:
            self._run.culprit = end.culprit
            return end.status

    @property
    def latest(self) -> Array:
        """The row that was written last."""
        row: Array = self._rows[self._run.rows_done - (0 if self._run.row_waiting else 1)]
        return row

    def outcome(self, status: Status) -> Outcome:
        run = self._run
        done = run.rows_done + (run.row_waiting if status == Status.CANCELLED else 0)
        return Outcome(self._rows[:done], status, run.culprit, self._fault, run.local_error)

    # ----------------------------------------------------------------------- filling the struct
    def _pointer(self, values: Any, kind: type = np.float64) -> int:
        array: NDArray[Any] = np.ascontiguousarray(values, kind)
        self._kept.append(array)
        return int(array.ctypes.data)

    def _history(self, history: History) -> HistoryStruct:
        count, width = history.values.shape
        times, values = self._pointer(history.times), self._pointer(history.values)
        return HistoryStruct(count, width, history.linear, history.early, times, values)

    def _describe_robot(self) -> None:
        run, problem, plant = self._run, self._problem, self._problem.plant
        run.n, run.nq = len(problem.u), len(problem.q)
        run.turning_count, run.moving_count = len(plant.turning), len(plant.moving)
        run.coordinate = self._pointer(plant.coordinate, np.int64)
        run.turning = self._pointer(plant.turning, np.int64)
        run.moving = self._pointer(plant.moving, np.int64)
        run.damping, run.friction = self._pointer(plant.damping), self._pointer(plant.friction)
        run.dry = bool(plant.friction.any())
        address = plant.dynamics.address
        run.forward = address("forward_dynamics")
        if run.dry:
            run.mass, run.bias = address("mass_matrix"), address("bias")
        stops = problem.stops
        run.limits = integrator.LIMITS[stops.policy]
        run.lower, run.upper = self._pointer(stops.lower), self._pointer(stops.upper)
        run.stiffness = self._pointer(stops.stiffness)
        run.absorption = self._pointer(stops.absorption)
        run.modes = self._pointer(initial_modes(problem), np.int64)
        run.stops = self._pointer(initial_stops(problem), np.int64)
        run.pinned = self._pointer(np.zeros(run.n), np.int64)

    def _describe_input(self, drive: Drive) -> None:
        run, plant = self._run, self._problem.plant
        if isinstance(drive, HistoryDrive):
            run.input, run.torque = integrator.TORQUE_HISTORY, self._history(drive.history)
        elif isinstance(drive, FunctionDrive):
            run.input = integrator.TORQUE_FUNCTION
            run.call, run.release = integrator.CALL, integrator.RELEASE
            run.callable = self._asker(drive)
        elif isinstance(drive, ControlDrive):
            reference = drive.reference
            begins = self._pointer(reference.begins)
            coefficients = self._pointer(reference.coefficients)
            run.reference = ReferenceStruct(len(reference.begins), begins, coefficients)
            run.kp, run.kd = self._pointer(drive.kp), self._pointer(drive.kd)
            if drive.computed:
                run.input = integrator.COMPUTED_TORQUE
                run.inverse = plant.dynamics.address("inverse_dynamics")
            else:
                run.input, run.gravity = integrator.PD_CONTROL, plant.dynamics.address("gravity")

    def _asker(self, drive: FunctionDrive) -> Callable[[], None]:
        """Calls the function of the user with what compiled code has put down."""
        n, nq = self._run.n, self._run.nq
        asked = np.zeros(1 + nq + 2 * n)
        self._run.asked = self._pointer(asked)
        q, u, tau = np.split(asked[1:], [nq, nq + n])
        modes = initial_modes(self._problem)  # which a function does not see

        def ask() -> None:
            t = float(asked[0])
            tau[:] = drive.torque(t, t, q, u, modes)

        return ask

    def _describe_wrenches(self) -> None:
        run, problem = self._run, self._problem
        if problem.links:
            histories = (HistoryStruct * len(problem.links))(*map(self._history, problem.wrenches))
            self._kept.append(histories)
            run.wrench_count, run.wrenches = len(histories), ctypes.addressof(histories)
            run.wrench = problem.plant.dynamics.address("wrench_forces", *problem.links)

    def _describe_time(self) -> None:
        run, problem = self._run, self._problem
        run.method, run.step = integrator.METHODS[problem.method], problem.step
        run.same_time = problem.same_time
        run.t = problem.breaks[0]
        run.break_count, run.breaks = len(problem.breaks), self._pointer(problem.breaks)
        run.row_count, run.row_times = len(problem.row_times), self._pointer(problem.row_times)
        run.rows = self._rows.ctypes.data
        run.error_stride = error_stride(problem)
        workspace = np.zeros(integrator.workspace_size(run.n, run.nq, run.wrench_count))
        workspace[: run.nq + run.n] = np.concatenate([problem.q, problem.u])
        run.workspace = self._pointer(workspace)
