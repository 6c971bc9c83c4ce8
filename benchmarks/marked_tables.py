"""Tables printed, and written into a page: only between marks that name the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import MISSED, Table


def show(tables: Sequence[Table], page: Path | None) -> None:
    """Print tables, and which goals are missed; write those that have a name into a page."""
    print("\n\n".join(map(str, tables)))
    missed = [row[0] for table in tables for row in table.rows if row[-1].endswith(MISSED)]
    if missed:
        print(f"\nGoal missed: {', '.join(missed)}")
    if page:
        text = page.read_text(encoding="utf-8")
        for table in tables:
            text = with_figures(text, table) if table.name else text
        page.write_text(text, encoding="utf-8")


def with_figures(text: str, measured: Table) -> str:
    """The text with what was measured in the table of that name.

    It stands between ``<!-- benchmark NAME -->`` and ``<!-- end of benchmark NAME -->``. Its rows
    are found by their first `keys` cells, and stay as they are if nothing was measured for them;
    rows that it does not have come at its end. What stands outside the marks is never touched.

    Raises
    ------
    ValueError
        If the text has not just one such table, with just these columns.
    """
    start = f"<!-- benchmark {measured.name} -->\n"
    end = f"<!-- end of benchmark {measured.name} -->\n"
    if text.count(start) != 1 or text.count(end) != 1:
        raise ValueError(f"expected {start.strip()} and {end.strip()}, each once, around a table")
    before, rest = text.split(start)
    if end not in rest:
        raise ValueError(f"expected {start.strip()} before {end.strip()}")
    old, after = rest.split(end)
    lines = [line for line in old.splitlines() if line]
    if not all(line.startswith("|") for line in lines):
        raise ValueError(f"expected nothing but a table between {start.strip()} and its end")
    head, _, *rows = map(_cells, lines)
    if head != measured.head:
        raise ValueError(f"the table {measured.name} has columns {head}, expected {measured.head}")
    figures = {row[: measured.keys]: row for row in [*rows, *measured.rows]}
    return f"{before}{start}\n{measured._replace(rows=list(figures.values()))}\n\n{end}{after}"


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
