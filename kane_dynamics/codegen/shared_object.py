"""Loading compiled code from bytes, so that what is loaded is exactly what was checked."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import importlib.util
import os
import tempfile
import threading
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

from kane_dynamics.errors import CompileError

Loaded = TypeVar("Loaded")

_kept: list[ctypes.CDLL] = []

# A fork waits for other threads to finish loading: the loader's own data must be whole in a child.
_loading = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_loading.acquire,
        after_in_parent=_loading.release,
        after_in_child=_loading.release,
    )


def load_function(code: bytes, symbol: str) -> int:
    """The address of a function in a shared object, valid as long as the process lives.

    Raises
    ------
    CompileError
        If this machine cannot load the shared object, or it has no such function.
    """
    try:
        with _loading:
            library = _load(code, ctypes.CDLL)
        address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
    except (OSError, AttributeError) as error:
        raise CompileError(f"the compiled function {symbol} cannot be loaded: {error}") from error
    assert address is not None
    _kept.append(library)
    return address


def load_extension(code: bytes, name: str) -> ModuleType:
    """The Python extension module in a shared object.

    Raises
    ------
    CompileError
        If this interpreter cannot load it.
    """

    def load(path: str) -> ModuleType:
        loader = importlib.machinery.ExtensionFileLoader(name, path)
        spec = importlib.util.spec_from_loader(name, loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        return module

    try:
        with _loading:
            return _load(code, load)
    except (OSError, ImportError) as error:
        raise CompileError(f"the extension {name} cannot be loaded: {error}") from error


def _load(code: bytes, load: Callable[[str], Loaded]) -> Loaded:
    """Load code from a file that nobody else can write and that is gone afterwards.

    The mapping outlives the file: no later change on disk can reach the code in memory.
    """
    try:
        descriptor, path = tempfile.mkstemp(prefix="kane_dynamics-", suffix=".so")
        try:
            try:
                _write(descriptor, code)
            finally:
                os.close(descriptor)
            return load(path)
        finally:
            os.unlink(path)
    except (OSError, ImportError):
        # Where programs cannot be run from temporary files, memory may still do.
        if not hasattr(os, "memfd_create"):
            raise
        return _load_from_memory(code, load)


def _load_from_memory(code: bytes, load: Callable[[str], Loaded]) -> Loaded:
    descriptor = os.memfd_create("kane_dynamics")
    try:
        _write(descriptor, code)
        # It stays open: the loader takes code of the same name for the same code.
        return load(f"/proc/self/fd/{descriptor}")
    except BaseException:
        os.close(descriptor)
        raise


def _write(descriptor: int, code: bytes) -> None:
    with contextlib.closing(os.fdopen(descriptor, "wb", closefd=False)) as file:
        file.write(code)
