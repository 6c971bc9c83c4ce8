"""``python -m fuzz TARGET COUNT [SEED]``: so many inputs for a target, or for all of them.

What goes wrong is written to failures/TARGET in the working directory, once for each place in the
code; then the status is 1. `fuzz.guided` tries what reaches new code, where Atheris is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import sys
import time
import traceback
from pathlib import Path

from fuzz.mutation import Mutation
from fuzz.targets import CORPUS, Target
from fuzz.targets import TARGETS as OF_FILES

FAILURES = Path("failures")
POOL = 3000
"""Inputs that are kept because something new came of them."""


def targets() -> dict[str, Target]:
    """All that can be fuzzed here; what a node reads only where there is ROS."""
    try:
        from fuzz.ros_targets import TARGETS as OF_NODES
    except ImportError:
        return OF_FILES
    return {**OF_FILES, **OF_NODES}


def corpus(name: str) -> list[bytes]:
    """Inputs that once went wrong."""
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]


def fuzz(name: str, target: Target, count: int, seed: int) -> dict[str, bytes]:
    """Run a target so often; inputs that went wrong, by the place where they did."""
    mutation = Mutation([*target.seeds(), *corpus(name)], target.words, seed, target.longest)
    came: set[str] = set()
    wrong: dict[str, bytes] = {}
    began = told = time.monotonic()
    for number in range(count):
        data = mutation.next()
        try:
            what = target.run(data)
        except Exception as error:
            what = _place(error)
            if what not in wrong:
                wrong[what] = data
                _report(name, what, data)
        if what not in came:
            came.add(what)
            if len(mutation.pool) < POOL:
                mutation.keep(data)
        if time.monotonic() - told > 60.0:
            told = time.monotonic()
            print(
                f"{name}: {number + 1} inputs, {len(came)} outcomes, {len(wrong)} wrong", flush=True
            )
    seconds = time.monotonic() - began
    print(f"{name}: {count} inputs in {seconds:.0f} s, {len(came)} outcomes, {len(wrong)} wrong")
    return wrong


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} in {Path(frames[-1].filename).name}:{frames[-1].lineno}"


def _report(name: str, what: str, data: bytes) -> None:
    folder = FAILURES / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    print(f"{name}: WRONG, {what}: {path}", flush=True)
    traceback.print_exc()


def main() -> int:
    known = targets()
    parser = argparse.ArgumentParser(prog="fuzz", description="Reads mutated inputs.")
    parser.add_argument("target", choices=[*known, "all"])
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=1983)
    given = parser.parse_args()
    name, count, seed = given.target, given.count, given.seed
    logging.disable(logging.CRITICAL)
    wrong = [fuzz(each, known[each], count, seed) for each in (known if name == "all" else [name])]
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
