"""A motion as a table with named columns."""

from __future__ import annotations

import csv
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kane_dynamics.simulation.motion import Motion

Array = NDArray[np.float64]


def columns(motion: Motion) -> list[tuple[str, Array]]:
    """Names and values (K,) of all columns."""
    groups = [("q", motion.coordinate_names, motion.q)]
    for name in ("u", "udot", "tau"):
        groups.append((name, motion.speed_names, getattr(motion, name)))
    named = [
        (f"{symbol}_{name}", values[:, k])
        for symbol, names, values in groups
        for k, name in enumerate(names)
    ]
    return [("t", motion.t), *named, ("kinetic", motion.kinetic), ("potential", motion.potential)]


def structured(motion: Motion) -> NDArray[Any]:
    """The motion as a structured array (K,)."""
    named = columns(motion)
    table = np.empty(len(motion.t), [(name, np.float64) for name, _ in named])
    for name, values in named:
        table[name] = values
    return table


def write_csv(motion: Motion, path: str | os.PathLike[str]) -> None:
    """Write the motion as CSV; numbers are as short as they can be without losing a digit."""
    named = columns(motion)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([name for name, _ in named])
        writer.writerows(np.column_stack([values for _, values in named]).tolist())
