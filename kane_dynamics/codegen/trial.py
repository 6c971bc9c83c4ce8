"""A trial of compiled code: whether it computes what the expressions say.

No list of flags names all the ways in which a compiler may relax floating point. So code is tried
at a few states before it is used or kept. The expected values are found when the program is
derived, and stand in the last line of its C text.
"""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Iterator

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import CompileError
from kane_dynamics.symbolic.evaluate import evaluations
from kane_dynamics.symbolic.program import Program, Signature

STATES = 3
DISTURBANCE = 1e-11
"""By which inputs are changed, relatively, to see how much rounding counts."""

ROUNDING = 1e-9
"""Share of the largest output by which any may be wrong."""

_MARK = "\n/* trial "
_POINTER = ctypes.c_void_p
_STATE = ctypes.CFUNCTYPE(None, _POINTER, _POINTER)
_BATCH = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER, _POINTER, ctypes.c_ssize_t)


def with_trial(text: str, program: Program) -> str:
    """C text with what shall come out of it in some states."""
    points = list(_points(program.signature))
    disturbed = [
        {name: [x * (1.0 + DISTURBANCE) for x in v] for name, v in p.items()} for p in points
    ]
    values = list(evaluations(program.outputs, [*points, *disturbed]))
    expected = [
        [value, max(map(_size, value), default=0.0) * ROUNDING + 100.0 * _apart(value, other)]
        for value, other in zip(values, values[STATES:])
    ]
    return f"{text}{_MARK}{json.dumps(expected)} */\n"


def try_out(text: str, signature: Signature, form: str, address: int) -> None:
    """Call compiled code, a form of the text, in the states of its trial.

    Raises
    ------
    CompileError
        If something else comes out.
    """
    _, mark, trial = text.rpartition(_MARK)
    if not mark:
        raise CompileError(f"{signature.name} has no trial")
    expected = json.loads(trial.removesuffix(" */\n"))
    points = list(_points(signature))
    inputs = [np.array([point[each.name] for point in points]) for each in signature.inputs]
    found = _called(signature, form, address, inputs)
    for row, (values, tolerance) in zip(found, expected):
        known = np.isfinite(values) & (tolerance < math.inf)
        wrong = np.flatnonzero(~(np.abs(row - np.array(values)) <= tolerance) & known)
        if len(wrong):  # NumPy's any() forgets to say so where there is no memory
            k = int(wrong[0])
            raise CompileError(
                f"the compiler makes {signature.name} give {row[k]:.12g} where it is "
                f"{values[k]:.12g}; its options may relax floating point, as -ffast-math does"
            )


def _points(signature: Signature) -> Iterator[dict[str, list[float]]]:
    """States without any symmetry, the same every time; angles of the last are many turns."""
    for seed in range(STATES):
        scale = 40.0 if seed == STATES - 1 else 1.0
        point = {
            entry.name: [
                scale * (((37 * seed + 17 * k + 11 * i) % 29) / 9.0 - 1.43)
                for k in range(entry.size)
            ]
            for i, entry in enumerate(signature.inputs)
        }
        for name, first in signature.quaternions:
            length = math.hypot(*point[name][first : first + 4])
            point[name][first : first + 4] = [x / length for x in point[name][first : first + 4]]
        yield point


def _called(signature: Signature, form: str, address: int, inputs: list[Array]) -> Array:
    """What compiled code makes of inputs, a row a state."""
    result = np.empty((STATES, signature.size))
    if form == "batch":
        rows = (_POINTER * (len(inputs) + 1))(*(array.ctypes.data for array in inputs))
        strides = (ctypes.c_ssize_t * (len(inputs) + 1))(*(array.shape[1] for array in inputs))
        _BATCH(address)(rows, strides, result.ctypes.data, STATES)
        return result
    for k in range(STATES):
        places = (_POINTER * (len(inputs) + 1))(*(array[k].ctypes.data for array in inputs))
        _STATE(address)(places, result[k].ctypes.data)
    return result


def _size(x: float) -> float:
    return abs(x) if math.isfinite(x) else 0.0


def _apart(a: list[float], b: list[float]) -> float:
    """Largest difference; infinite where one of two values is not finite."""
    gaps = [abs(x - y) if math.isfinite(x) and math.isfinite(y) else 0.0 for x, y in zip(a, b)]
    return max(gaps, default=0.0)
