"""All rows that can be measured, and the tables that they come to stand in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from benchmarks import calls, constraints, every_robot, operations, report, simulate, startup
from benchmarks.report import Table
from benchmarks.rows import Row
from benchmarks.timing import Times

USUAL = {
    "calls": calls.ROWS,
    "startup": startup.ROWS,
    "simulation": simulate.ROWS,
    "constraints": constraints.ROWS,
}
ROWS = (*(row for rows in USUAL.values() for row in rows), *every_robot.ROWS)


def chosen(starts: Sequence[str], refuse: Callable[[str], NoReturn]) -> list[Row]:
    """Rows whose names begin so; without a word, all but those of every robot."""
    usual = [row for rows in USUAL.values() for row in rows]
    for start in starts:
        if not any(row.name.startswith(start) for row in ROWS):
            names = ", ".join(row.name for row in usual)
            refuse(f"no row is named {start}; there are {names}, and robots-… for every robot")
    return [row for row in ROWS if row.name.startswith(tuple(starts))] if starts else usual


def of(measured: Mapping[Row, Times]) -> list[Table]:
    """What was measured, with the machine and with numbers of operations."""
    shown = [report.machine()]
    for name, rows in USUAL.items():
        if found := [(row, measured[row]) for row in rows if row in measured]:
            shown.append(report.times(name, found))
    if any(row in measured for row in simulate.ROWS):
        shown.append(simulate.accuracy())
    if found := [(row, measured[row]) for row in every_robot.ROWS if row in measured]:
        shown += [report.times("", found), every_robot.extremes(found)]
    return [*shown, operations.table()]
