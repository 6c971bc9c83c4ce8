"""What was measured, as Markdown tables and as JSON."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

from benchmarks.operations import Count
from benchmarks.rows import Row
from benchmarks.timing import Times

PEERS = ("pin", "mujoco", "sympy", "numpy")

TIMES_HEAD = ("row", "what is measured", "ours", "peer", "peer's", "ratio", "goal")
OPERATIONS_HEAD = (
    "robot",
    "function",
    "multiplications",
    "additions",
    "divisions",
    "sin, cos, …",
)


def machine() -> str:
    """Processor, interpreter and peers, in a line."""
    peers = ", ".join(f"{name} {version(name)}" for name in PEERS)
    return f"{_processor()}; Python {platform.python_version()}; {peers}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table that can be read as it stands."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    lines.insert(1, ["-" * width for width in widths])
    padded = ([cell.ljust(width) for cell, width in zip(line, widths)] for line in lines)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in padded)


def times_row(row: Row, times: Times) -> tuple[str, ...]:
    goal = "" if row.goal is None else f"≤ {row.goal:.2f}"
    ours, peer = duration(times.ours), duration(times.peer)
    return row.name, row.measured, ours, row.peer, peer, f"{times.ratio:.3f}", goal


def operations_row(count: Count) -> tuple[str, ...]:
    return tuple("" if cell is None else str(cell) for cell in count)


def as_json(measured: Sequence[tuple[Row, Times]], counted: Sequence[Count]) -> dict[str, Any]:
    return {
        "machine": machine(),
        "times": [
            {
                "row": row.name,
                "measured": row.measured,
                "ours_seconds": times.ours,
                "peer": row.peer,
                "peer_seconds": times.peer,
                "ratio": times.ratio,
                "goal": row.goal,
            }
            for row, times in measured
        ],
        "operations": [
            dict(zip(("robot", "function", "mul", "add", "div", "functions"), count, strict=True))
            for count in counted
        ],
    }


def duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
