"""The extension module that calls compiled functions, compiled once on each machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kane_dynamics.codegen.arguments import QUATERNION_ROUNDING
from kane_dynamics.codegen.cache import Cache
from kane_dynamics.codegen.compiler import Compiler, python_headers, source_text
from kane_dynamics.codegen.identity import (
    digest,
    interpreter_identity,
    machine_identity,
    package_identity,
)
from kane_dynamics.codegen.process_lock import ProcessLock
from kane_dynamics.codegen.shared_object import load_extension
from kane_dynamics.errors import CompileError

KernelType = Callable[..., Callable[..., Any]]

_SOURCE = Path(__file__).with_name("call.c")
_NAME = "kane_dynamics_call"

_lock = ProcessLock()
_loaded: list[KernelType] = []


def kernel_type(compiler: Compiler, cache: Cache) -> KernelType:
    """The type of callables around compiled functions, loaded once in a process.

    Raises
    ------
    CompileError
        If Python's headers are not installed, or the extension cannot be compiled or loaded.
    """
    with _lock.held():
        if not _loaded:
            _loaded.append(_load(compiler, cache))
        return _loaded[0]


def is_loaded() -> bool:
    """Whether `kernel_type` returns at once."""
    return bool(_loaded)


def begin_loading(compiler: Compiler, cache: Cache) -> None:
    """Load, or compile, `kernel_type` in the background; errors wait for the next call."""

    def load() -> None:
        with contextlib.suppress(CompileError):
            kernel_type(compiler, cache)

    if not _loaded:
        # Where no more threads can be started, the next call does the work.
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=load, name="kane_dynamics caller").start()


def _load(compiler: Compiler, cache: Cache) -> KernelType:
    key = digest(
        "caller", package_identity(), machine_identity(), interpreter_identity(), compiler.identity
    )
    code = cache.read(key)
    if code is not None:
        with contextlib.suppress(CompileError):
            return _kernel_in(code)
    code = _compile(compiler)
    kernel = _kernel_in(code)
    cache.write(key, code)
    return kernel


def _kernel_in(code: bytes) -> KernelType:
    kernel: KernelType = load_extension(code, _NAME).Kernel
    return kernel


def _compile(compiler: Compiler) -> bytes:
    headers = python_headers()
    if headers is None:
        raise CompileError(
            "Python.h was not found; install the headers of Python (on Ubuntu, python3-dev)"
        )
    places = (headers, np.get_include(), _SOURCE.parent)
    # Somebody waits for this once; only the loop over entries gains from more.
    flags = ["-O1", "-ftree-vectorize", f"-DQUATERNION_ROUNDING={QUATERNION_ROUNDING!r}"]
    flags += [f"-I{place}" for place in places]
    return compiler.compile(source_text(_SOURCE), flags, _SOURCE.name)
