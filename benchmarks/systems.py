"""Mechanisms modelled in SymPy: compiled here, and made callable by SymPy alone."""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kane_dynamics as kd
from benchmarks import marked_tables
from benchmarks.mechanisms import NAMES, Mechanism, mechanism
from benchmarks.report import Table, duration, wanted
from benchmarks.timing import burst, in_turns

PATIENCE = 120.0
"""Seconds after which SymPy is given up."""

COUNTING = 300.0
"""Seconds more after which it is given up counting its operations."""

SPEEDUP, EVALUATION, OPERATIONS, GROWTH = 0.033, 0.1, 0.5, 5.0
"""Goals: first value and evaluation against SymPy's, operations of the bicycle, 20 against 10."""

HEAD = (
    *("mechanism", "first value", "SymPy's", "ratio", "a call", "SymPy's", "ratio"),
    *("operations", "SymPy's, cse", "goals"),
)


class Measured(NamedTuple):
    """Seconds to the first right-hand side, seconds of a call, operations; None if given up."""

    first: float
    call: float | None
    operations: int | None


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks systems",
        description="Mechanisms modelled in SymPy: compiled here, and made callable by SymPy.",
    )
    parser.add_argument("name", nargs="*", help=f"some of {', '.join(NAMES)}; all by default")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write into its marked table")
    arguments = parser.parse_args(words)
    if unknown := [name for name in arguments.name if name not in NAMES]:
        parser.error(f"there is no mechanism {unknown[0]}; there are {', '.join(NAMES)}")
    measured = {}
    for name in arguments.name or NAMES:
        print(f"measuring {name}", file=sys.stderr)
        measured[name] = (_ours(name), _sympys(name))
    marked_tables.show([_table(measured)], arguments.write)
    print(
        "operations: ours with solving for accelerations, SymPy's of mass matrix and forcing alone"
    )
    _show_growth({name: ours for name, (ours, _) in measured.items()})


def _system(made: Mechanism) -> kd.System:
    return kd.System(made.kane, made.bodies, made.loads, made.constants, made.inputs, cache=False)


def _ours(name: str) -> Measured:
    """The best of three; a model is made anew each time, and not timed."""
    firsts = []
    for _ in range(3):
        made = mechanism(name)
        fed = [0.5] * len(made.inputs)
        system = None
        gc.collect()  # what is compiled is kept only as long as a system uses it
        begin = time.perf_counter()
        system = _system(made)
        system.rhs(0.0, made.x, fed)
        firsts.append(time.perf_counter() - begin)
    (call,) = in_turns([burst(system.rhs, 0.0, made.x, np.array(fed))], 20)
    return Measured(min(firsts), call, system.operations("rhs").total)


def _sympys(name: str) -> Measured:
    """Of a process that is given up after a while; what it gives is compared with ours."""
    command = [sys.executable, "-m", "benchmarks.sympy_mechanisms", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = ""
        for seconds in (PATIENCE, COUNTING):
            timer = threading.Timer(seconds, process.kill)
            timer.start()
            printed += process.stdout.readline()
            timer.cancel()
    found: dict[str, Any] = {}
    for line in printed.splitlines():
        found |= json.loads(line)
    if "rates" in found:
        made = mechanism(name)
        ours = _system(made).rhs(0.0, made.x, [0.5] * len(made.inputs))
        np.testing.assert_allclose(ours, found["rates"], rtol=1e-6, atol=1e-6)
    return Measured(found.get("first", PATIENCE), found.get("call"), found.get("operations"))


def _table(measured: dict[str, tuple[Measured, Measured]]) -> Table:
    return Table("systems", HEAD, [_row(name, *each) for name, each in measured.items()])


def _row(name: str, ours: Measured, peer: Measured) -> tuple[str, ...]:
    given_up = peer.call is None
    first = ours.first / peer.first
    goals = [f"first {wanted(first, SPEEDUP)}"] if name == "pendulum-10" else []
    cells = [name, duration(ours.first), duration(peer.first), f"{first:.4f}"]
    if given_up:
        cells[2:] = ["given up", f"< {first:.4f}"]
    call = "" if peer.call is None else f"{ours.call / peer.call:.4f}"
    cells += [duration(ours.call), "" if given_up else duration(peer.call), call]
    if not given_up:
        goals.append(f"call {wanted(ours.call / peer.call, EVALUATION)}")
    if name == "bicycle" and peer.operations:
        goals.append(f"operations {wanted(ours.operations / peer.operations, OPERATIONS)}")
    cells += [str(ours.operations), str(peer.operations or ""), "; ".join(goals)]
    return tuple(cells)


def _show_growth(ours: dict[str, Measured]) -> None:
    """How operations and time grow with the links of the pendulum."""
    links = {int(name.split("-")[1]): each for name, each in ours.items() if "-" in name}
    for n, each in links.items():
        print(f"{n:3} links: {each.operations / n:.1f} operations a link")
    if {10, 20} <= set(links):
        ratio = links[20].first / links[10].first
        print(f"20 links take {ratio:.2f} times the time of 10, goal {wanted(ratio, GROWTH)}")


if __name__ == "__main__":
    main(sys.argv[1:])
