"""What was measured, as Markdown tables."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import NamedTuple

from benchmarks.rows import Row
from benchmarks.timing import Times

PEERS = ("pin", "mujoco", "sympy", "numpy")
TIMES = ("row", "what is measured", "ours", "peer", "peer's", "ratio", "goal")

MISSED = ", missed"
SPACE = "\u00a0"  # at which a line does not break

Cells = tuple[str, ...]


class Table(NamedTuple):
    """A table that can be read as it stands.

    Attributes
    ----------
    name : str
        By which a page marks it; empty if no page has it.
    head, rows : cells
    keys : int
        How many cells name a row.
    """

    name: str
    head: Cells
    rows: Sequence[Cells]
    keys: int = 1

    def __str__(self) -> str:
        lines = [self.head, *self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.head))]
        lines.insert(1, tuple("-" * width for width in widths))
        padded = ([cell.ljust(width) for cell, width in zip(line, widths)] for line in lines)
        return "\n".join(f"| {' | '.join(cells)} |" for cells in padded)


def machine() -> Table:
    """Processor, interpreter and peers."""
    rows = [("processor", _processor()), ("Python", platform.python_version())]
    return Table(
        "machine", ("measured with", ""), [*rows, *((name, version(name)) for name in PEERS)]
    )


def times(name: str, measured: Iterable[tuple[Row, Times]]) -> Table:
    """Ours and the peer's, with their ratio."""
    return Table(name, TIMES, [_times_row(*each) for each in measured])


def _times_row(row: Row, times: Times) -> Cells:
    goal = "" if row.goal is None else wanted(times.ratio, row.goal)
    ours, peer = duration(times.ours), duration(times.peer)
    return row.name, row.measured, ours, row.peer, peer, f"{times.ratio:.3f}", goal


def wanted(value: float, highest: float, lowest: float = 0.0) -> str:
    """The goal of a figure, and whether it is missed."""
    goal = f"{lowest:g} to {highest:g}" if lowest else f"≤{SPACE}{highest:g}"
    return goal if lowest <= value <= highest else f"{goal}{MISSED}"


def duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g}{SPACE}{unit}"
    return f"{seconds * 1e9:.3g}{SPACE}ns"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
