"""A function that is there at once: in Python, until its machine code has been compiled.

Deriving a small mechanism takes less time than compiling it. The first calls for one state are
answered by Python, to rounding the same, while the compiler runs in the background.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from kane_dynamics.codegen.arguments import count_of, prepare
from kane_dynamics.codegen.backend_c import MachineCode
from kane_dynamics.codegen.backend_numpy import PythonFunction
from kane_dynamics.errors import CompileError
from kane_dynamics.symbolic.program import Signature


class PromptFunction:
    """A function of the state, first in Python, then compiled.

    Parameters
    ----------
    signature : Signature
    slow : PythonFunction
    code : MachineCode
    compiled : callable
        Makes the compiled function of the code.
    """

    def __init__(
        self,
        signature: Signature,
        slow: PythonFunction,
        code: MachineCode,
        compiled: Callable[[], Callable[..., Any]],
    ) -> None:
        self.__name__ = signature.name
        self._signature, self._slow = signature, slow
        self._code, self._make = code, compiled
        self._compiled: Callable[..., Any] | None = None
        self._waiting: threading.Thread | None = None

    def __call__(self, *given: Any, **named: Any) -> Any:
        if self._compiled is not None:
            return self._compiled(*given, **named)
        arrays = prepare(self._signature, given, named)
        if count_of(arrays) is None:
            if self._waiting is None and not self._code.is_made:
                result = self._slow(*arrays)
                self._begin()
                return result
            if self._waiting is not None and self._waiting.is_alive():
                return self._slow(*arrays)
        self._compiled = self._make()
        return self._compiled(*arrays)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"

    def _begin(self) -> None:
        """Compile in the background; errors wait for the next call."""

        def load() -> None:
            with contextlib.suppress(CompileError):
                self._code.address("state")

        thread = threading.Thread(target=load, name="kane_dynamics compiler")
        with contextlib.suppress(RuntimeError):  # no more threads: the next call does the work
            thread.start()
        self._waiting = thread
