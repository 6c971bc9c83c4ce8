"""NumPy arrays as the arrays that messages hold."""

from __future__ import annotations

from array import array
from typing import Any

from kane_dynamics.arrays import Array


def message_array(values: Array) -> Any:
    """All entries, row after row."""
    return array("d", values.tobytes())


def message_arrays(values: Array) -> list[Any]:
    """Each row for itself."""
    data = values.tobytes()
    width = 8 * values.shape[1]
    return [array("d", data[k : k + width]) for k in range(0, len(data), width)]
