"""Programs into fast callables, compiled once and kept on disk.

Begin with `compile_program` below, which makes a callable of a program: by `backend_c`, which
prints C (`kernel_c`), compiles it (`compiler`) and loads it (`shared_object`), or by
`backend_numpy`, where there is no compiler. `arguments` checks and shapes what is passed in;
`cache` keeps what was compiled, under a key that `identity` completes. Nothing here knows of robots
or of ROS.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

from kane_dynamics.codegen.arguments import Refuse, refuse_overflow
from kane_dynamics.codegen.backend_c import machine_code
from kane_dynamics.codegen.backend_numpy import PythonFunction
from kane_dynamics.codegen.cache import CacheChoice, check_choice, open_cache
from kane_dynamics.codegen.caller import begin_loading
from kane_dynamics.codegen.compiler import find_compiler, missing_compiler
from kane_dynamics.codegen.notice import warn_once
from kane_dynamics.codegen.prompt import PromptFunction
from kane_dynamics.codegen.texts import Texts
from kane_dynamics.errors import ArgumentError, CompileError
from kane_dynamics.symbolic.program import Program, Signature

__all__ = ["Backend", "CacheChoice", "begin", "compile_program"]

Backend = Literal["auto", "c", "numpy"]


def compile_program(
    key: str,
    make: Callable[[], Program],
    signature: Signature,
    backend: Backend = "auto",
    cache: CacheChoice = True,
    refuse: Refuse | None = None,
    prompt: bool = False,
) -> Callable[..., Any]:
    """A callable that evaluates a program: arrays in, array out.

    It takes one array for each input, ``(size,)`` for one state or ``(N, size)`` for many; an
    input with one state among others with many holds for all of them. It returns a new float64
    array of the program's shape, with ``N`` in front for many states; for one state of a program
    of shape ``()``, a float. Compilation waits for the first call, separately for one state and
    for many.

    Parameters
    ----------
    key : str
        Digest of everything the program depends on, besides this package. Programs of one key
        and signature share their machine code.
    make : callable
        Derives the program; called only when the cache holds nothing under the key.
    signature : Signature
        Name, inputs and shape of the program.
    backend : {"auto", "c", "numpy"}
        ``"c"`` compiles with the machine's C compiler, ``"numpy"`` never does, ``"auto"``
        compiles where it can and says so once where it cannot.
    cache : bool or path
        True for the user's cache directory, False for none, or a directory.
    refuse : callable, optional
        Given the arguments, as arrays, and a result that is not finite, raises an error that says
        why; by default one that says that the arguments are too large.
    prompt : bool
        Whether, with ``"auto"``, Python answers for single states while the compiler runs.

    Raises
    ------
    ArgumentError
        If there is no such backend, or `cache` is not of the types above; at the first call, if
        the program made does not have the signature given.
    CompileError
        If ``"c"`` is asked for and there is no compiler that works.
    """
    _check_choices(backend, cache)
    # derived once, where it is asked for: threads would share graphs that equations are derived in
    make = functools.cache(make) if prompt else make
    texts = Texts.of(key, make, signature, cache)
    refuse = refuse or functools.partial(refuse_overflow, signature)
    slow = PythonFunction(signature, texts.python, refuse)

    def substitute(error: CompileError) -> Callable[..., Any]:
        if backend == "c":
            raise error
        warn_once("backend", f"{error}; NumPy is used instead, which is much slower")
        return slow

    if backend == "numpy":
        return slow
    compiler = find_compiler()
    if compiler is None:
        return substitute(CompileError(missing_compiler()))
    code = machine_code(texts, compiler)

    def compiled() -> Callable[..., Any]:
        try:
            return code.function(substitute, refuse)
        except CompileError as error:
            return substitute(error)

    if prompt and backend == "auto":
        return PromptFunction(signature, slow, code, compiled)
    return compiled()


def begin(backend: Backend, cache: CacheChoice) -> None:
    """Get ready what all compiled functions share, in the background.

    Raises
    ------
    ArgumentError
        If there is no such backend, or `cache` is neither a bool nor a path.
    """
    _check_choices(backend, cache)
    compiler = None if backend == "numpy" else find_compiler()
    if compiler is not None:
        begin_loading(compiler, open_cache(cache))


def _check_choices(backend: Backend, cache: CacheChoice) -> None:
    if backend not in ("auto", "c", "numpy"):
        raise ArgumentError(f'backend must be "auto", "c" or "numpy", got {backend!r}')
    check_choice(cache)
