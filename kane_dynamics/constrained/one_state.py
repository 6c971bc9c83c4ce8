"""Forward dynamics of one state in compiled code, where nothing about it is in doubt."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.address import source_address
from kane_dynamics.codegen.cache import CacheChoice
from kane_dynamics.codegen.columns import LARGE
from kane_dynamics.codegen.functions import Functions
from kane_dynamics.errors import CompileError
from kane_dynamics.kane.constraints import Constraints

NOTHING, SOMETHING = 1e-13, 1e-5
"""What is left of the square of a row of length one that is rounding, and that surely is not."""

SATISFIED = 1e-10
"""How far rows may be from satisfied, relative to their terms."""

SINGULAR = 1e-12
"""Share of a diagonal entry of the mass matrix that must be left when others have been taken."""

INTEGER, POINTER = ctypes.c_int64, ctypes.c_void_p
FLAGS = ("-O3",)
_FLOAT = np.dtype(np.float64)


def _fields(kind: Any, names: str) -> tuple[tuple[str, Any], ...]:
    return tuple((name, kind) for name in names.split())


class RobotStruct(ctypes.Structure):
    """``Robot`` of one_state.c."""

    _fields_ = (
        *_fields(INTEGER, "n nq all m anchor_count quaternion_count"),
        *_fields(POINTER, "chosen quaternions mass bias rows given M c said A S a left x order"),
    )


@lru_cache(maxsize=4)
def _accelerate(cache: CacheChoice) -> Callable[..., int]:
    constants = {"NOTHING": NOTHING, "SOMETHING": SOMETHING}
    constants.update(SATISFIED=SATISFIED, SINGULAR=SINGULAR)
    text = Path(__file__).with_name("one_state.c").read_text(encoding="utf-8")
    text = "".join(f"#define {name} {value!r}\n" for name, value in constants.items()) + text
    address = source_address(text, "accelerate", FLAGS, "one_state.c", cache)
    # Python's lock is kept: it takes longer to let it go
    function = ctypes.PYFUNCTYPE(INTEGER, POINTER)(address)
    if function(None) != ctypes.sizeof(RobotStruct):
        raise AssertionError("one_state.c and one_state.py describe different robots")
    return function


class OneState:
    """Accelerations of a robot while some rows of its constraints hold.

    Raises CompileError if there is no compiler that works, or the robot is not for it.
    """

    def __init__(self, functions: Functions, constraints: Constraints, chosen: list[int]) -> None:
        equations = functions.equations
        n, nq = len(equations.speed_names), len(equations.coordinate_names)
        if functions.backend == "numpy" or equations.parameters or equations.timed or n > LARGE:
            raise CompileError("not for one state in compiled code")
        cache = functions.cache
        self._function = _accelerate(cache if isinstance(cache, bool) else str(cache))
        m, every = len(chosen), constraints.count
        names = ("M", "c", "said", "A", "S", "a", "left", "x", "given")
        counts = n * n, n, every * (n + 2), m * n, m * m, n, m, m, nq + 3 * n + constraints.anchors
        sizes = dict(zip(names, counts))
        self._kept = {name: np.zeros(max(size, 1)) for name, size in sizes.items()}
        indices = {"chosen": chosen, "order": [0] * m, "quaternions": list(equations.quaternions)}
        for name, values in indices.items():
            self._kept[name] = np.array(values or [0], np.int64)
        rows = functions.code(*constraints.asked("constraint_rows"))
        self._code: list[Any] = [functions, rows]
        self._robot = RobotStruct(
            *(n, nq, every, m, constraints.anchors, len(equations.quaternions)),
            mass=functions.address("mass_matrix"),
            bias=functions.address("bias"),
            rows=rows.address("state"),
            **{name: array.ctypes.data for name, array in self._kept.items()},
        )
        self._lock = threading.Lock()  # one state at a time is in this memory
        self._at = ctypes.addressof(self._robot)
        ends = np.cumsum([nq, n, n, constraints.anchors, n])
        parts = np.split(self._kept["given"], ends[:-1])
        self._given, self._anchors, self._udot = parts[:3], parts[3], parts[4]

    def accelerations(self, q: Any, u: Any, tau: Any, anchors: Array) -> Array | None:
        """Those of one state; None where that is in doubt, or arguments are no plain arrays."""
        with self._lock:
            for own, given in zip(self._given, (q, u, tau)):
                if (
                    type(given) is not np.ndarray
                    or given.shape != own.shape
                    or given.dtype != _FLOAT
                ):
                    return None
                own[:] = given
            if len(self._anchors):
                self._anchors[:] = anchors
            return self._udot.copy() if self._function(self._at) else None
