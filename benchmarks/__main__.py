"""The command ``python -m benchmarks``, run in the checkout."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
COMMANDS = {
    "compare": ("checkouts", "compare"),
    "operations": ("checkouts", "operations"),
    "ros": ("ros", "main"),
    "endurance": ("ros_endurance", "main"),
    "systems": ("systems", "main"),
}
"""Commands besides the measuring of rows: the function that is called with what follows."""


def main() -> None:
    os.environ.update(dict.fromkeys(THREADS, "1"))  # heard by libraries when they are imported
    command, *words = [*sys.argv[1:], ""]
    if command in COMMANDS:
        module, function = COMMANDS[command]
        getattr(import_module(f"benchmarks.{module}"), function)(words[:-1])
    else:
        measure(sys.argv[1:])


def measure(words: list[str]) -> None:
    """Measure rows, print them, and write them into a page if one is named."""
    from benchmarks import marked_tables, tables, timing

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Times kane_dynamics against its peers.",
        epilog=f"Other commands, with a --help of their own: {', '.join(COMMANDS)}.",
    )
    parser.add_argument("row", nargs="*", help="measure only rows whose names begin so")
    parser.add_argument("--quick", action="store_true", help="with a tenth of the turns")
    parser.add_argument(
        "--own-time",
        action="store_true",
        help="on a machine that does other work too: time in which the process ran; of rows that "
        "start processes or threads that is no measure",
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write into its marked tables")
    arguments = parser.parse_args(words)
    if arguments.own_time:
        timing.count_own_time()
    measured = {}
    for row in tables.chosen(arguments.row, parser.error):
        print(f"measuring {row.name}", file=sys.stderr)
        measured[row] = row.times(0.1 if arguments.quick else 1.0)
    print("Times on one thread, ours and the peer's taken in turns, the best of each:\n")
    marked_tables.show(tables.of(measured), arguments.write)


if __name__ == "__main__":
    main()
