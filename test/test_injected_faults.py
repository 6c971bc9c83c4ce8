"""Calls of the system that fail, and kills between them: a right result, or one clean sentence.

scripts/faults lets every one fail; here it is some of each kind.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIBRARY = HERE / "faults" / "failing_calls.c"
MOST = int(os.environ.get("FAULTS", "2"))
"""Calls of each kind that fail; a scenario has up to some thousands of them."""

FILES = ("open", "read", "write", "rename", "unlink", "mkdir", "close", "stat", "lock", "utime")
CALLS = (*FILES, "scan", "memfd", "malloc", "dlopen", "fork")
FAILS, KILLED_BEFORE, KILLED_AFTER = range(3)

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None,
    reason="preloads a library into processes of Linux",
)

REMEMBERING = """#!/bin/sh
# The compiler, which compiles the same only once.
unset LD_PRELOAD
for word; do case $word in *.so) to=$word ;; *.c) from=$word ;; esac; done
kept={store}/$(cat "$from" | cksum | tr ' ' -)
[ -e "$kept" ] || {{ {real} "$@" || exit; cp "$to" "$kept.$$" && mv "$kept.$$" "$kept"; }}
cp "$kept" "$to"
"""


class Process:
    """Scenarios, in a process that has failing_calls.c preloaded."""

    def __init__(self, place: Path) -> None:
        library, compiler, store = place / "failing.so", place / "cc", place / "store"
        store.mkdir()
        real = str(shutil.which("cc"))
        command = [real, "-O1", "-shared", "-fPIC", "-o", str(library), str(LIBRARY), "-ldl"]
        subprocess.run(command, check=True)
        compiler.write_text(REMEMBERING.format(store=store, real=real))
        compiler.chmod(0o700)
        folder = place / "folder"
        folder.mkdir()
        paths = os.pathsep.join([str(HERE), str(HERE.parent)])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "faults.scenarios", str(library), str(folder), str(MOST)],
            env={
                **os.environ,
                "LD_PRELOAD": str(library),
                "PYTHONPATH": paths,
                "CC": str(compiler),
                "OPENBLAS_NUM_THREADS": "1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, scenario: str, call: str, ending: int) -> tuple[int, list[str]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([scenario, call, ending]) + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        logging.getLogger("faults").info(
            "%s: %d calls, %d wrong", found["asked"], found["count"], len(found["wrong"])
        )
        return found["count"], found["wrong"]

    def end(self) -> None:
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory):
    process = Process(tmp_path_factory.mktemp("faults"))
    yield process
    process.end()


@pytest.mark.parametrize("scenario", ["compile", "read", "write", "source"])
def test_a_call_that_fails_leaves_a_right_result_or_a_sentence(
    process: Process, scenario: str
) -> None:
    wrong, count = [], 0
    for call in CALLS:
        done, found = process.run(scenario, call, FAILS)
        count, wrong = count + done, wrong + found
    assert not wrong, "\n".join(wrong[:20])
    assert count >= 4


@pytest.mark.parametrize("scenario", ["compile", "read", "write", "source"])
@pytest.mark.parametrize("ending", [KILLED_BEFORE, KILLED_AFTER])
def test_a_process_that_is_killed_leaves_nothing_that_is_not_removed_or_used_by_the_next(
    process: Process, scenario: str, ending: int
) -> None:
    count, wrong = process.run(scenario, "any", ending)
    assert not wrong, "\n".join(wrong[:20])
    assert count >= 2
