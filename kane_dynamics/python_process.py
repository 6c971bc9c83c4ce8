"""Another Python process that answers questions, one at a time, through a pipe."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_LOOK = 0.5  # s between two looks whether the one who asks is still there
_MOMENT = 1.0  # s for tidying up


class PythonProcess:
    """A process that starts with the first question and stays for the next.

    So the next need not wait for Python to import what it needs. It ends when it is closed, or when
    this process ends.

    Parameters
    ----------
    serve : str
        What it executes: module and name of a function that takes the descriptor of its end of the
        pipe, as in ``"package.module:function"``.
    """

    def __init__(self, serve: str) -> None:
        self._serve = serve
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any] | None = None

    def interrupt(self) -> None:
        """Ask the process to end; whoever waits for its answer learns that it died."""
        process = self._process
        if process is not None:
            process.terminate()

    def close(self) -> None:
        """End the process, which has a moment for tidying up."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_MOMENT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._connection is not None:
            self._connection.close()
        self._connection = self._process = None

    def connected(self) -> Connection[Any, Any]:
        """The near end of a pipe to a process that lives."""
        if self._connection is None or self._process is None or self._process.poll() is not None:
            self.close()
            self._connection, theirs = Pipe()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", self._program(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C is for this process, which then ends that one
                )
        return self._connection

    def _program(self, descriptor: int) -> str:
        """What the other process executes; it finds modules where this one does."""
        module, _, function = self._serve.partition(":")
        return (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from {module} import {function}; {function}({descriptor})"
        )


def end_tidily() -> None:
    """Let SIGTERM, or the end of the process that started this one, leave nothing behind.

    Compilers are ended, and SystemExit is raised in the main thread, wherever that is: whoever has
    made a temporary file removes it.
    """

    def end(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is heard once, and not while Python ends
        for child in _children():
            with contextlib.suppress(OSError):
                os.killpg(child, signal.SIGKILL)
        sys.exit()

    signal.signal(signal.SIGTERM, end)
    parent, me = os.getppid(), os.getpid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os.kill(me, signal.SIGTERM)
        time.sleep(_MOMENT)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _children() -> list[int]:
    """Processes that this one has started, those that lead a group of their own, where it is known.

    Threads other than the main one hear of no signal: so what they wait for has to end.
    """
    with contextlib.suppress(OSError):
        found = [file.read_text() for file in Path("/proc/self/task").glob("*/children")]
        return [int(number) for text in found for number in text.split()]
    return []
