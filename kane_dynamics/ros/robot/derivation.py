"""Models derived and compiled in a process of their own, and fetched from there through the cache.

Derivation and compilation are Python that runs for seconds, for minutes where a robot has hundreds
of joints: joint states would have to wait for their share of it, and a newer description for all of
it. A process can be ended. What is left to do here is to load compiled functions: some
milliseconds.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from kane_dynamics.codegen.compiler import remove_abandoned
from kane_dynamics.codegen.notice import given, suppose_given
from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.python_process import PythonProcess, end_tidily
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.derived_before import cache_of, remember
from kane_dynamics.ros.robot.model import Model, load_model, warm_up

NICENESS = 10
"""How much the process stands back behind others: torques are waited for, a new model is not."""

ATTEMPTS = 2

LONG = 5.0
"""s after which the log says that a model is not there yet; again after twice the time."""

DIED = "the process that derives the equations died"

TOO_LONG = (
    "deriving and compiling the equations of {}, which can move, took longer than "
    "derivation_timeout, {:g} s: name those that have to move in the parameter joints, and the "
    "others are locked; or raise derivation_timeout, and send the description again"
)

STILL = "still deriving and compiling the equations of {}, which can move, after {:.0f} s"

_MOVING = re.compile(r"""<joint\b[^>]*\stype\s*=\s*["'](?!fixed)""")

_logger = logging.getLogger("kane_dynamics")

Record = tuple[int, str]
Arguments = tuple[str, Settings, Mapping[str, float]]


class Overtaken(Exception):
    """The model is no longer wanted."""


class DerivationProcess(PythonProcess):
    """Derives models elsewhere, one at a time, for one thread; another may say that one is enough.

    What is logged there is logged here.
    """

    def __init__(self) -> None:
        super().__init__("kane_dynamics.ros.robot.derivation:serve")
        self._overtaken = False

    def begin(self) -> None:
        """From now on until `overtake` is called, a model is wanted."""
        self._overtaken = False

    def overtake(self) -> None:
        """Give up the model that is being derived, if there is one."""
        self._overtaken = True
        self.interrupt()

    def close(self) -> None:
        """End the process, and leave nothing of it: it may have had to be killed."""
        super().close()
        remove_abandoned()

    def model(self, description: str, settings: Settings, silent: Mapping[str, float]) -> Model:
        """What `load_model` gives.

        Raises KaneDynamicsError as `load_model` does, or if the process dies, or takes longer than
        `derivation_timeout`. Raises Overtaken if `overtake` was called meanwhile.
        """
        if not cache_of(settings).writable:
            # what is compiled elsewhere would not come here
            return load_model(description, settings, silent)
        answer = self._ask((description, settings, silent))
        if isinstance(answer, Exception):
            raise answer
        warm_up(answer)
        remember(answer, description, settings, silent)
        return answer

    def _ask(self, arguments: Arguments) -> Model | Exception:
        description, settings, _ = arguments
        end = time.monotonic() + settings.derivation_timeout
        for _ in range(ATTEMPTS):
            try:
                connection = self.connected()
            except OSError as error:
                _logger.warning("no process can be started that derives the equations: %s", error)
                return load_model(*arguments)
            if self._overtaken:  # perhaps before there was a process to be ended
                raise Overtaken
            try:
                connection.send((arguments, given()))
                return _answer(connection, end, description)
            except TimeoutError:
                self.close()
                return KaneDynamicsError(
                    TOO_LONG.format(_moving(description), settings.derivation_timeout)
                )
            except (EOFError, OSError):
                self.close()
            if self._overtaken:
                raise Overtaken
        return KaneDynamicsError(DIED)


def _answer(connection: Connection[Any, Any], end: float, description: str) -> Model | Exception:
    """What the process says at last; TimeoutError if that is after the end, on the steady clock."""
    began = time.monotonic()
    due = began + LONG
    while True:
        if not connection.poll(max(min(due, end) - time.monotonic(), 0.0)):
            if due >= end:
                raise TimeoutError
            taken = due - began
            _logger.warning(STILL.format(_moving(description), taken))
            due += taken
            continue
        said: Record | tuple[Model | Exception, frozenset[str]] = connection.recv()
        first, second = said
        if isinstance(first, int):
            _logger.log(first, "%s", second)
        else:
            suppose_given(second)
            return first


def _moving(description: str) -> str:
    count = len(_MOVING.findall(description))
    return "1 joint" if count == 1 else f"{count} joints"


class _Sender(logging.Handler):
    """Sends what is logged to the process that asked."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        super().__init__()
        self._connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        self._connection.send((record.levelno, record.getMessage()))


def serve(descriptor: int) -> None:
    """Derive whatever comes, until nobody is there at the other end."""
    end_tidily()
    os.nice(NICENESS)
    connection: Connection[Any, Any] = Connection(descriptor)
    _logger.addHandler(_Sender(connection))
    _logger.propagate = False
    try:
        while True:
            arguments, subjects = connection.recv()
            suppose_given(subjects)
            connection.send((_derived(arguments), given()))
    except (EOFError, OSError):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends already


def _derived(arguments: Arguments) -> Model | Exception:
    try:
        return load_model(*arguments)
    except KaneDynamicsError as error:
        return error
    except Exception as error:
        return KaneDynamicsError(
            f"the description could not be used: {type(error).__name__}: {error}"
        )
