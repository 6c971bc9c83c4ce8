"""The compiled loop of a simulation: run.h as Python sees it, compiled once on each machine."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from kane_dynamics.codegen.address import source_address
from kane_dynamics.simulation.constants import definitions

INTEGER, REAL, POINTER = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p

CALL = ctypes.cast(ctypes.pythonapi.PyObject_CallNoArgs, POINTER).value
RELEASE = ctypes.cast(ctypes.pythonapi.Py_DecRef, POINTER).value

_HERE = Path(__file__).parent
_INCLUDE = re.compile(r'^#include "(\w+\.h)"$', re.MULTILINE)

METHODS = {"euler": 0, "rk4": 1}
LIMITS = {"ignore": 0, "stop": 1, "compliant": 2}
NO_TORQUE, TORQUE_HISTORY, TORQUE_FUNCTION, PD_CONTROL, COMPUTED_TORQUE = range(5)


class HistoryStruct(ctypes.Structure):
    """``History`` of run.h."""

    _fields_ = (
        ("count", INTEGER),
        ("width", INTEGER),
        ("linear", INTEGER),
        ("early", INTEGER),
        ("times", POINTER),
        ("values", POINTER),
    )


class ReferenceStruct(ctypes.Structure):
    """``Reference`` of run.h."""

    _fields_ = (("count", INTEGER), ("begins", POINTER), ("coefficients", POINTER))


class RunStruct(ctypes.Structure):
    """``Run`` of run.h."""

    _fields_ = (
        *((name, INTEGER) for name in ("n", "nq", "turning_count", "moving_count")),
        *((name, POINTER) for name in ("coordinate", "turning", "moving")),
        *((name, POINTER) for name in ("forward", "mass", "bias", "gravity", "inverse", "wrench")),
        *((name, POINTER) for name in ("damping", "friction")),
        ("dry", INTEGER),
        ("limits", INTEGER),
        *((name, POINTER) for name in ("lower", "upper", "stiffness", "absorption")),
        ("input", INTEGER),
        ("torque", HistoryStruct),
        *((name, POINTER) for name in ("call", "release")),
        ("callable", ctypes.py_object),
        *((name, POINTER) for name in ("asked", "kp", "kd")),
        ("reference", ReferenceStruct),
        ("wrench_count", INTEGER),
        ("wrenches", POINTER),
        *((name, INTEGER) for name in ("method", "break_count", "row_count", "error_stride")),
        *((name, REAL) for name in ("step", "same_time")),
        *((name, POINTER) for name in ("breaks", "row_times", "rows")),
        *((name, INTEGER) for name in ("rows_done", "row_waiting")),
        *((name, REAL) for name in ("local_error", "roughest")),
        *((name, INTEGER) for name in ("status", "culprit", "span", "step_in_span", "steps_done")),
        *((name, REAL) for name in ("t", "middle")),
        *((name, POINTER) for name in ("modes", "stops", "pinned", "workspace")),
    )


def workspace_size(n: int, nq: int, wrenches: int) -> int:
    """Numbers that ``arrays_of`` of run.h lays out."""
    states, rates = 5 * (nq + n + 1), 3 * (4 * n + 1)
    return states + rates + nq + n + 2 * n * n + 6 * wrenches


@lru_cache(maxsize=4)
def integrate_function(cache: bool | str, locked: bool) -> Callable[..., int]:
    """``kane_integrate`` of integrator.c.

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
    address = source_address(_source(), "kane_integrate", ("-O3",), "integrator.c", cache)
    kind = ctypes.PYFUNCTYPE if locked else ctypes.CFUNCTYPE
    function = kind(INTEGER, ctypes.POINTER(RunStruct), INTEGER)(address)
    if function(None, 0) != ctypes.sizeof(RunStruct):
        raise AssertionError("run.h and integrator.py describe different runs")
    return function


def _source() -> str:
    """The text of integrator.c with the files it includes, and the constants of Python."""
    text = (_HERE / "integrator.c").read_text(encoding="utf-8")
    whole = _INCLUDE.sub(lambda found: (_HERE / found[1]).read_text(encoding="utf-8"), text)
    return definitions() + whole
