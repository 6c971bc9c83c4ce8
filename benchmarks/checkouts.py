"""Two checkouts side by side: ``python -m benchmarks compare`` and ``… operations``.

The benchmarks are those of this checkout; the package that they measure is the one or the other.
Every measurement is a process of its own, and both take turns, so that whatever else the machine
does hits them alike.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import environ
from pathlib import Path
from typing import Any

from benchmarks.report import Table, duration

HERE = Path(__file__).resolve().parent.parent
SLOWER = 1.03
"""A ratio from which on a row is named as slower."""

_IN_CHECKOUT = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import benchmarks
sys.path.pop(0)
from benchmarks.checkouts import measure
measure(*sys.argv[1:])
"""


def measure(what: str, *words: str) -> None:
    """In a checkout's own process: print our seconds for a row, or all numbers of operations."""
    from benchmarks import operations, tables, timing

    if what == "operations":
        result: Any = operations.totals(*words)
    else:
        if words[2:]:
            timing.count_own_time()
        (row,) = (row for row in tables.ROWS if row.name == words[0])
        result = row.ours(float(words[1]))
    print(json.dumps(result))


def compare(words: Sequence[str]) -> None:
    """Print the times of both, and the rows that are slower here than there."""
    from benchmarks import tables

    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    parser.add_argument("other", type=_checkout, help="the checkout to compare this one with")
    parser.add_argument("row", nargs="*", help="compare only rows so named")
    parser.add_argument("--turns", type=int, default=5, help="processes of each, a row (5)")
    parser.add_argument("--share", type=float, default=0.2, help="of the turns in each (0.2)")
    parser.add_argument("--own-time", action="store_true", help="as when rows are measured")
    arguments = parser.parse_args(words)
    own = ["own time"] * arguments.own_time
    rows, slower = [], []
    for row in tables.chosen(arguments.row, parser.error):
        print(f"measuring {row.name}", file=sys.stderr)
        best = [float("inf")] * 2
        for turn in range(arguments.turns):
            for k in (0, 1) if turn % 2 else (1, 0):
                checkout = (HERE, arguments.other)[k]
                seconds = _in(checkout, "time", [row.name, str(arguments.share), *own])
                best[k] = min(best[k], seconds)
        ratio = best[0] / best[1]
        rows.append((row.name, row.measured, *map(duration, best), f"{ratio:.3f}"))
        if ratio > SLOWER:
            slower.append(row.name)
    head = ("row", "what is measured", "here", "there", "ratio")
    print(Table("", head, rows))
    print(f"\nSlower by more than {SLOWER - 1:.0%}: {', '.join(slower) or 'none'}")


def operations(words: Sequence[str]) -> None:
    """Print how many operations every function of every robot takes; of two, where they differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks operations", description=__doc__)
    parser.add_argument("other", type=_checkout, nargs="?", help="a checkout to compare with")
    parser.add_argument("--robot", default="", help="only of robots with this in their names")
    arguments = parser.parse_args(words)
    with ThreadPoolExecutor() as processes:  # side by side, for nothing is timed
        checkouts = [HERE, arguments.other] if arguments.other else [HERE]
        count = partial(_in, what="operations", words=[arguments.robot])
        here, *there = processes.map(count, checkouts)
    if not there:
        rows = [(*name.split(": "), str(count)) for name, count in here.items()]
        print(Table("", ("robot", "function", "operations"), rows))
        print(f"\nSum of {len(here)}: {sum(here.values())}")
        return
    both = {name: (here[name], there[0][name]) for name in here if name in there[0]}
    rows = [
        (*name.split(": "), *map(str, counts))
        for name, counts in both.items()
        if len({*counts}) > 1
    ]
    print(Table("", ("robot", "function", "here", "there"), rows))
    sums = [sum(counts) for counts in zip(*both.values())]
    larger = [name for name, counts in both.items() if counts[0] > counts[1]]
    print(f"\nSum of {len(both)}: {sums[0]} here, {sums[1]} there, ratio {sums[0] / sums[1]:.4f}")
    print(f"Larger here: {', '.join(larger) or 'none'}")


def _checkout(path: str) -> Path:
    found = Path(path).resolve()
    if not (found / "kane_dynamics" / "__init__.py").is_file():
        raise argparse.ArgumentTypeError(f"{path} is no checkout: it has no kane_dynamics")
    return found


def _in(checkout: Path, what: str, words: Sequence[str]) -> Any:
    """What is measured in a process that finds the package in a checkout."""
    command = [sys.executable, "-c", _IN_CHECKOUT, what, *words]
    environment = {**environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        command, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)
