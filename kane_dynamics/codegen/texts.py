"""Source text of a program, from the cache or derived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kane_dynamics.codegen.cache import Cache
from kane_dynamics.codegen.identity import digest
from kane_dynamics.codegen.kernel_c import REAL
from kane_dynamics.errors import ArgumentError
from kane_dynamics.symbolic.c import statements
from kane_dynamics.symbolic.numpy import python_source
from kane_dynamics.symbolic.program import Program, Signature


@dataclass(frozen=True)
class Texts:
    """A program in the languages of the backends, each derived only when the cache has it not.

    Attributes
    ----------
    key : str
        Digest of everything the program depends on.
    make : callable
        Derives the program.
    signature : Signature
        What it is expected to take and give.
    cache : Cache
    """

    key: str
    make: Callable[[], Program]
    signature: Signature
    cache: Cache

    def python(self) -> str:
        """A Python function."""
        return self._kept("python", python_source)

    def c(self) -> str:
        """Statements in C, one a line."""
        return self._kept("c", lambda program: "\n".join(statements(program, REAL)))

    def _kept(self, language: str, write: Callable[[Program], str]) -> str:
        entry = digest(language, self.key)
        content = self.cache.read(entry)
        if content is not None:
            return content.decode()
        text = write(self._derived())
        self.cache.write(entry, text.encode())
        return text

    def _derived(self) -> Program:
        program, expected = self.make(), self.signature
        if program.signature != expected or len(program.outputs) != expected.size:
            raise ArgumentError(f"{expected.name}: the program made has not the signature given")
        return program
