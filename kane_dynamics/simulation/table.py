"""A motion as a table with named columns."""

from __future__ import annotations

import csv
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array

if TYPE_CHECKING:
    from kane_dynamics.simulation.motion import Motion


BLOCK = 4096
"""Rows that are written at once."""


def columns(motion: Motion) -> list[tuple[str, Array]]:
    """Names and values (K,) of all columns."""
    groups = [("q", motion.coordinate_names, motion.q)]
    for name in ("u", "udot", "tau"):
        groups.append((name, motion.speed_names, getattr(motion, name)))
    named = [
        (f"{symbol}_{name}", values[:, k])
        for symbol, names, values in groups
        for k, name in enumerate(_different(names))
    ]
    return [("t", motion.t), *named, ("kinetic", motion.kinetic), ("potential", motion.potential)]


def _different(names: tuple[str, ...]) -> list[str]:
    """The names, with a number where a joint is named like a coordinate of the base."""
    taken: list[str] = []
    for name in names:
        number, different = 1, name
        while different in taken:
            number += 1
            different = f"{name}_{number}"
        taken.append(different)
    return taken


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
        csv.writer(file, lineterminator="\n").writerow([name for name, _ in named])
        for begin in range(0, len(motion), BLOCK):
            rows = np.column_stack([values[begin : begin + BLOCK] for _, values in named])
            # a list says itself much faster than csv writes its numbers one by one
            file.write(repr(rows.tolist())[2:-2].replace("], [", "\n").replace(", ", ","))
            file.write("\n")
