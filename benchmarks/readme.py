"""Figures into tables of the README: only between marks that name the table, and into its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.report import table


def with_figures(text: str, name: str, rows: Iterable[Sequence[str]], keys: int = 1) -> str:
    """Return the text with the figures of `rows` in the table `name`.

    The table stands between ``<!-- benchmark NAME -->`` and ``<!-- end of benchmark NAME -->``.
    Rows are found by their first `keys` cells; those that the table does not have are left out,
    and what stands outside the marks is never touched.

    Raises
    ------
    ValueError
        If the text has not just one such table.
    """
    start, end = f"<!-- benchmark {name} -->\n", f"<!-- end of benchmark {name} -->\n"
    if text.count(start) != 1 or text.count(end) != 1:
        raise ValueError(f"expected {start.strip()} and {end.strip()}, each once, around a table")
    before, rest = text.split(start)
    if end not in rest:
        raise ValueError(f"expected {start.strip()} before {end.strip()}")
    old, after = rest.split(end)
    head, _, *lines = (_cells(line) for line in old.splitlines() if line)
    new = {tuple(row[:keys]): list(row) for row in rows}
    lines = [new.get(tuple(line[:keys]), line) for line in lines]
    return f"{before}{start}\n{table(head, lines)}\n\n{end}{after}"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
