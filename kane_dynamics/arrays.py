"""What is meant by an array, in every room, and what is not taken for one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.errors import ArgumentError

Array = NDArray[np.float64]

_REAL_KINDS = "fiu"


def real_array(name: str, values: Any) -> Array:
    """Real numbers as an array of float64: the one that was given, if it is such an array.

    Raises
    ------
    ArgumentError
        If they are anything else: strings are no numbers, whatever they spell, nor are masked ones.
    """
    if _is_masked(values):
        raise ArgumentError(f"{name} is a masked array; every entry must be given")
    try:
        array = np.asarray(values)
    except MemoryError:
        raise
    except Exception as error:  # whatever the conversion of a foreign type raises
        raise ArgumentError(f"{name} must be an array of real numbers") from error
    if array.dtype.kind not in _REAL_KINDS and array.size:
        raise ArgumentError(f"{name} must hold real numbers, got {array.dtype}")
    with np.errstate(over="ignore"):
        return np.require(array, np.float64, ("C", "A", "E"))


def check_finite(name: str, array: Array) -> None:
    """ArgumentError that names the first entry that is not finite."""
    finite = np.isfinite(array)
    if finite.all():
        return
    where = tuple(int(index) for index in np.argwhere(~finite)[0])
    entry = f"[{', '.join(map(str, where))}]" if where else ""
    raise ArgumentError(f"{name}{entry} is {array[where]}; every entry must be finite")


def _is_masked(values: Any) -> bool:
    if isinstance(values, (list, tuple)):
        return any(isinstance(row, np.ma.MaskedArray) for row in values)
    return isinstance(values, np.ma.MaskedArray)
