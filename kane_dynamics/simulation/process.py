"""Simulations in a process of their own, for callers whose own Python must not be kept waiting."""

from __future__ import annotations

import logging
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Protocol

from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.python_process import PythonProcess
from kane_dynamics.simulation.motion import Motion
from kane_dynamics.simulation.watch import PERIOD, Cancel, Progress

ENOUGH = None
"""What is sent to a simulation that is no longer wanted."""


class Mechanism(Protocol):
    """Whatever can be simulated, such as a `Dynamics`."""

    def simulate(self, *asked: Any, progress: Any, cancel: Any, **options: Any) -> Motion: ...


class SimulationProcess(PythonProcess):
    """Runs simulations in another process, one at a time."""

    def __init__(self) -> None:
        super().__init__("kane_dynamics.simulation.process:serve")

    def simulate(
        self,
        mechanism: Mechanism,
        progress: Callable[[Progress], None],
        cancel: Cancel,
        **options: Any,
    ) -> Motion:
        """The motion of a mechanism, as its `simulate` gives it; its checks are computed, too.

        Parameters
        ----------
        mechanism : Mechanism
        progress, cancel : callable
            Called in this process, every few hundredths of a second.
        **options
            What else its `simulate` takes. Everything must be picklable.

        Raises
        ------
        KaneDynamicsError
            As its `simulate` does, or if the process dies.
        """
        connection = self.connected()
        try:
            connection.send((mechanism, options))
            answer = _answer(connection, progress, cancel)
        except (EOFError, OSError):
            self.close()
            raise KaneDynamicsError("the process of the simulation died") from None
        except BaseException:
            self.close()  # else its answer would be taken for that to the next question
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer


def _answer(
    connection: Connection[Any, Any], progress: Callable[[Progress], None], cancel: Cancel
) -> Motion | Exception:
    """What becomes of the simulation at the other end."""
    wanted = True
    while True:
        if wanted and cancel():
            connection.send(ENOUGH)
            wanted = False
        if not connection.poll(PERIOD):
            continue
        said: Progress | Motion | Exception = connection.recv()
        if not isinstance(said, Progress):
            return said
        progress(said)


def serve(descriptor: int) -> None:
    """Simulate whatever comes, until nobody is there at the other end."""
    logging.getLogger("kane_dynamics").addHandler(logging.NullHandler())  # the asker has logged it
    connection: Connection[Any, Any] = Connection(descriptor)
    try:
        while True:
            asked = connection.recv()
            if asked is not ENOUGH:  # else it came when the simulation had ended by itself
                connection.send(_simulated(connection, *asked))
    except (EOFError, OSError):
        return


def _simulated(
    connection: Connection[Any, Any], mechanism: Mechanism, options: dict[str, Any]
) -> Motion | Exception:
    try:
        motion = mechanism.simulate(progress=connection.send, cancel=connection.poll, **options)
        assert motion.checks
        return motion
    except KaneDynamicsError as error:
        return error
    except Exception as error:
        return KaneDynamicsError(f"{type(error).__name__}: {error}")
