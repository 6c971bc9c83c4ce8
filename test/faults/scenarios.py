"""What is done while calls fail: a process with failing_calls.c preloaded.

    python -m faults.scenarios LIBRARY FOLDER MOST     reads JSON lines [scenario, call, ending]

For every k up to the number of calls, or for `MOST` of them evenly spread, a child does the
scenario, in which the k-th call fails or the child is killed. A line of JSON says how many there
were and what was wrong.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from random_programs import random_program

from kane_dynamics.codegen import address, backend_c, caller, compile_program, compiler, notice
from kane_dynamics.codegen.cache import open_cache
from kane_dynamics.errors import KaneDynamicsError

FAILS, KILLED_BEFORE, KILLED_AFTER = range(3)
PATIENCE = 120  # s
ENTRY = re.compile(r"[0-9a-f]{64}\.entry")
KEY = "a" * 64
OLD, NEW = b"old" * 1000, b"new" * 100_000
MANY = 2**40

PROGRAM = random_program(0)
STATE = [np.linspace(0.1, 0.9, each.size) for each in PROGRAM.inputs]
SOURCE = '__attribute__((visibility("default"))) int answer(void) { return 42; }'


STATES = [np.stack([x] * 3) for x in STATE]
EXPECTED = compile_program("", lambda: PROGRAM, PROGRAM.signature, "numpy", False)(*STATE)

Right = Callable[[], bool]


def compiled(cache: Path) -> Right:
    """A function is derived, compiled or read, loaded, and right in both forms."""
    function = compile_program("key", lambda: PROGRAM, PROGRAM.signature, "auto", cache)
    one, many = function(*STATE), function(*STATES)
    return lambda: bool(
        np.allclose(one, EXPECTED, rtol=1e-12) and np.allclose(many, [EXPECTED] * 3, rtol=1e-12)
    )


def written(cache: Path) -> Right:
    """An entry is replaced, and is the old one or the new one."""
    kept = open_cache(cache)
    kept.write(KEY, NEW)
    found = kept.read(KEY)
    return lambda: found in (OLD, NEW, None) and open_cache(cache).read(KEY) in (OLD, NEW)


def sourced(cache: Path) -> Right:
    """The loop of a simulation, or whatever else is C: compiled or read, and loaded."""
    place = address.source_address(SOURCE, "answer", ["-O1"], "answer.c", cache)
    return lambda: bool(ctypes.CFUNCTYPE(ctypes.c_int)(place)() == 42)


def empty(cache: Path) -> None:
    cache.mkdir(mode=0o700)


def filled(cache: Path) -> None:
    shutil.copytree(cache.parent / "filled", cache)


def with_old(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    open_cache(cache).write(KEY, OLD)


SCENARIOS: dict[str, tuple[Callable[[Path], None], Callable[[Path], Right]]] = {
    "compile": (empty, compiled),
    "read": (filled, compiled),
    "write": (with_old, written),
    "source": (empty, sourced),
}


class Campaign:
    """Runs scenarios in children, in a folder of its own."""

    def __init__(self, library: str, folder: Path, most: int) -> None:
        self._calls, self._folder, self._most = ctypes.CDLL(library), folder, most
        self._calls.calls_left.restype = ctypes.c_long
        self._calls.fail_at.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
        for name in ("temporary", "filled"):
            (folder / name).mkdir(mode=0o700)
        os.environ["TMPDIR"] = str(folder / "temporary")
        tempfile.tempdir = None
        filled = folder / "filled"
        self._fresh()
        assert all(each(filled)() for each in (compiled, sourced, written))

    def run(self, name: str, call: str, ending: int) -> dict[str, Any]:
        """Let every call of a kind fail, one after the other; how many, and what was wrong."""
        count = self._count(name, call)
        chosen = range(1, count + 1)
        if self._most < count:
            chosen = sorted({round(k) for k in np.linspace(1, count, self._most)})
        wrong = [
            f"{name}, {call} number {k} of {count}, ending {ending}: {what}"
            for k in chosen
            for what in self._try(name, call, k, ending)
        ]
        return {"asked": [name, call, ending], "count": len(chosen), "wrong": wrong}

    def _fresh(self) -> None:
        """As in a process that has not compiled or loaded anything."""
        caller._loaded.clear()
        address._kept.clear()
        backend_c._alive.clear()
        notice._given.clear()
        compiler._remove_abandoned_once.cache_clear()

    def _prepared(self, name: str) -> Path:
        cache = self._folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        SCENARIOS[name][0](cache)
        return cache

    def _count(self, name: str, call: str) -> int:
        cache, (read, write) = self._prepared(name), os.pipe()
        child = os.fork()
        if child == 0:
            self._fresh()
            self._calls.fail_at(call.encode(), MANY, FAILS)
            SCENARIOS[name][1](cache)
            self._calls.calls_failed()
            os.write(write, str(MANY - self._calls.calls_left()).encode())
            os._exit(0)
        os.waitpid(child, 0)
        count = int(os.read(read, 100))
        os.close(read)
        os.close(write)
        return count

    def _try(self, name: str, call: str, k: int, ending: int) -> list[str]:
        """What is wrong after the k-th call failed, and after the next one that does the same."""
        cache = self._prepared(name)
        wrong = self._child(name, cache, (call, k, ending))
        if ending == FAILS:
            wrong += self._left(cache)
        again = [f"the next one: {each}" for each in self._child(name, cache, None)]
        return wrong + again + [f"after the next one: {each}" for each in self._left(cache)]

    def _left(self, cache: Path) -> list[str]:
        temporary = list((self._folder / "temporary").iterdir())
        strange = [path for path in cache.iterdir() if not ENTRY.fullmatch(path.name)]
        for path in temporary:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return [f"{path.name} is left" for path in [*temporary, *strange]]

    def _child(self, name: str, cache: Path, failing: tuple[str, int, int] | None) -> list[str]:
        """Do a scenario in a child; what was wrong about it."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            signal.alarm(PATIENCE)
            os.write(write, self._outcome(name, cache, failing).encode())
            os._exit(0)
        os.close(write)
        with open(read, "rb") as file:
            said = file.read().decode()
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            killed = failing is not None and failing[2] and os.WTERMSIG(status) == signal.SIGKILL
            return [] if killed else [f"died of signal {os.WTERMSIG(status)}"]
        return [said] if said else []

    def _outcome(self, name: str, cache: Path, failing: tuple[str, int, int] | None) -> str:
        """Empty if it was right, or one clean sentence."""
        self._fresh()
        if failing is not None:
            call, k, ending = failing
            self._calls.fail_at(call.encode(), k, ending)
        try:
            is_right = SCENARIOS[name][1](cache)
            self._calls.calls_failed()
            return "" if is_right() else "a wrong result"
        except KaneDynamicsError as error:
            said = str(error)
            if failing is None or "\n" in said or "Traceback" in said:
                return f"sentence: {said!r}"
        except (MemoryError, RuntimeError, ValueError) as error:
            if failing is None or failing[0] != "malloc" or not _tells_of_memory(error):
                return traceback.format_exc()
        except BaseException:
            return traceback.format_exc()
        finally:
            self._calls.calls_failed()
        return ""


def _tells_of_memory(error: Exception) -> bool:
    """Whether it is what Python, or OpenSSL under it, says when there is none left."""
    words = ("can't allocate", "digital envelope routines", "can't start new thread")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


def main() -> None:
    logging.disable(logging.CRITICAL)
    campaign = Campaign(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    for line in sys.stdin:
        with contextlib.redirect_stderr(None):
            found = campaign.run(*json.loads(line))
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
