"""Source text of a program, from the cache or derived."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kane_dynamics.codegen.body_c import body
from kane_dynamics.codegen.cache import Cache, CacheChoice, open_cache
from kane_dynamics.codegen.identity import digest, package_identity
from kane_dynamics.codegen.trial import with_trial
from kane_dynamics.errors import ArgumentError
from kane_dynamics.symbolic.numpy import python_source
from kane_dynamics.symbolic.program import Program, Signature

Made = TypeVar("Made")
Write = Callable[[bool], str]


def first_that_works(write: Write, use: Callable[[str], Made], failure: type[Exception]) -> Made:
    """What is made from a text; when it fails, from the text derived anew.

    Parameters
    ----------
    write : callable
        Returns the text; given True, does not take it from the cache.
    use : callable
        Makes something from the text.
    failure : type
        What `use` raises for a text that cannot be used; raised when the text derived anew is the
        same, or fails too.
    """
    text = write(False)
    try:
        return use(text)
    except failure:
        derived = write(True)
        if derived == text:
            raise
    return use(derived)


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

    @classmethod
    def of(
        cls, key: str, make: Callable[[], Program], signature: Signature, cache: CacheChoice
    ) -> Texts:
        """The texts of a program, under a key that covers this package too."""
        whole_key = digest(key, repr(signature), package_identity())
        return cls(whole_key, make, signature, open_cache(cache))

    def python(self, anew: bool) -> str:
        """A Python function; `anew`, whatever the cache has."""
        return self._kept("python", python_source, anew)

    def c(self, anew: bool) -> str:
        """What it computes in C, as `body`, with its trial; `anew`, whatever the cache has."""
        return self._kept("c", lambda program: with_trial(body(program), program), anew)

    def _kept(self, language: str, write: Callable[[Program], str], anew: bool) -> str:
        entry = digest(language, self.key)
        content = None if anew else self.cache.read(entry)
        if content is not None:
            with contextlib.suppress(UnicodeDecodeError):
                return content.decode()
        text = write(self._derived())
        self.cache.write(entry, text.encode())
        return text

    def _derived(self) -> Program:
        program, expected = self.make(), self.signature
        if program.signature != expected or len(program.outputs) != expected.size:
            raise ArgumentError(f"{expected.name}: the program made has not the signature given")
        return program
