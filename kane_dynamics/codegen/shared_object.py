"""Loading compiled code from bytes, so that what is loaded is exactly what was checked."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import importlib.util
import itertools
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from kane_dynamics.codegen.private import replaceable
from kane_dynamics.errors import CompileError

Loaded = TypeVar("Loaded")

_handles: dict[int, int] = {}  # of the loader, by id of an Address
_numbers = itertools.count(1)
_STATE_SIZE = 1024  # bytes, more than fenv_t has anywhere

# A fork waits for other threads to finish loading: the loader's own data must be whole in a child.
# Unloading keeps Python's lock, without which nobody forks.
_loading = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_loading.acquire,
        after_in_parent=_loading.release,
        after_in_child=_loading.release,
    )


class Address(int):
    """Address of a compiled function, whose code is unloaded when nobody keeps this object.

    Being a number it is nothing that the garbage collector looks at: it ends with the last
    reference, and not before others of its cycle, which may call the function as they end.
    """

    __slots__ = ()

    def __del__(self, _ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if not _ends():  # else a thread may be left in there
            handle = _handles.pop(id(self), None)
            if handle is not None:
                _unload(handle)


def load_function(code: bytes, symbol: str) -> Address:
    """The address of a function in a shared object.

    Raises
    ------
    CompileError
        If this machine cannot load the shared object, or it has no such function.
    """
    try:
        with _loading, _rounding_kept():
            library = _load(code, ctypes.CDLL)
        try:
            function = ctypes.cast(getattr(library, symbol), ctypes.c_void_p)
        except AttributeError:
            _unload(library._handle)
            raise
    except (OSError, AttributeError) as error:
        raise CompileError(f"the compiled function {symbol} cannot be loaded: {error}") from error
    assert function.value is not None
    address = Address(function.value)
    _handles[id(address)] = library._handle
    return address


def _unload(handle: int) -> None:
    ctypes.pythonapi.dlclose(ctypes.c_void_p(handle))


def load_extension(code: bytes, name: str) -> ModuleType:
    """The Python extension module in a shared object, which stays as long as the process lives.

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
        with _loading, _rounding_kept():
            return _load(code, load)
    except (OSError, ImportError) as error:
        raise CompileError(f"the extension {name} cannot be loaded: {error}") from error


@contextlib.contextmanager
def _rounding_kept() -> Iterator[None]:
    """Keep the thread's way to compute: what -ffast-math has linked would drop small numbers."""
    libm = ctypes.CDLL(None)
    state = ctypes.create_string_buffer(_STATE_SIZE)
    known = hasattr(libm, "fegetenv") and libm.fegetenv(state) == 0
    try:
        yield
    finally:
        if known:
            libm.fesetenv(state)


def _load(code: bytes, load: Callable[[str], Loaded]) -> Loaded:
    """Load code from memory, which nobody else can write; where that is not possible, from a file.

    The mapping outlives the file: no later change can reach the code that is loaded.
    """
    if hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError, ImportError):
            return _load_from_memory(code, load)
    descriptor, path = tempfile.mkstemp(prefix="kane_dynamics-", suffix=".so")
    try:
        with open(descriptor, "wb") as file:
            file.write(code)
        fault = replaceable(Path(path))
        if fault is not None:
            raise OSError(f"the temporary file {path} {fault}")
        return load(path)
    finally:
        os.unlink(path)


def _load_from_memory(code: bytes, load: Callable[[str], Loaded]) -> Loaded:
    # The loader takes code of a name that it knows for the code that it has, and descriptors are
    # used again: so a number, written in binary with / and /. for digits, makes each name new.
    number = f"{next(_numbers):b}".replace("0", "/").replace("1", "/.")
    with open(os.memfd_create("kane_dynamics"), "wb") as file:
        file.write(code)
        file.flush()
        return load(f"/proc/self{number}/fd/{file.fileno()}")
