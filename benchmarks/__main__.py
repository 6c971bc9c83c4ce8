"""The command ``python -m benchmarks``, run in the checkout."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    os.environ.update(dict.fromkeys(THREADS, "1"))  # heard by libraries when they are imported
    if sys.argv[1:2] == ["ros"]:
        from benchmarks import ros

        ros.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["endurance"]:
        from benchmarks import ros_endurance

        ros_endurance.main(sys.argv[2:])
        return
    from benchmarks import calls, operations, readme, report, simulate, startup

    rows = [*calls.ROWS, *startup.ROWS, *simulate.ROWS]
    arguments = _arguments([row.name for row in rows])
    chosen = [row for row in rows if row.name.startswith(tuple(arguments.row or [""]))]
    measured = []
    for row in chosen:
        print(f"measuring {row.name}", file=sys.stderr)
        measured.append((row, row.time()))
    figures = simulate.figures() if any(row in simulate.ROWS for row in chosen) else []
    counted = operations.counts()

    print(f"{report.machine()}\n")
    print("Times on one thread, ours and the peer's taken in turns, the best of each:\n")
    print(report.table(report.TIMES_HEAD, [report.times_row(*each) for each in measured]))
    if figures:
        print("\nAccuracy of the simulation:\n")
        print(report.table(simulate.FIGURES_HEAD, [figure.row() for figure in figures]))
    print("\nOperations:\n")
    print(report.table(report.OPERATIONS_HEAD, map(report.operations_row, counted)))
    if arguments.json:
        arguments.json.write_text(json.dumps(report.as_json(measured, counted), indent=2) + "\n")
    if arguments.readme:
        text = arguments.readme.read_text(encoding="utf-8")
        text = readme.with_figures(text, "times", [report.times_row(*each) for each in measured])
        if figures:
            text = readme.with_figures(text, "accuracy", [figure.row() for figure in figures])
        text = readme.with_figures(text, "operations", map(report.operations_row, counted), keys=2)
        arguments.readme.write_text(text, encoding="utf-8")
    missed = [row.name for row, times in measured if row.goal and times.ratio > row.goal]
    missed += [figure.measured for figure in figures if not figure.reached]
    if missed:
        print(f"\nGoal missed: {', '.join(missed)}")


def _arguments(names: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Times kane_dynamics against its peers."
    )
    parser.add_argument("row", nargs="*", help=f"measure only rows so named: {', '.join(names)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--readme", type=Path, metavar="FILE", help="write them into the marked tables of FILE too"
    )
    arguments = parser.parse_args()
    for start in arguments.row:
        if not any(name.startswith(start) for name in names):
            parser.error(f"no row is named {start}; there are {', '.join(names)}")
    return arguments


if __name__ == "__main__":
    main()
