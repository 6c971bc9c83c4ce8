"""Compiled functions as addresses, for compiled code that calls them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from kane_dynamics.codegen.backend_c import MachineCode, machine_code
from kane_dynamics.codegen.cache import CacheChoice, open_cache
from kane_dynamics.codegen.compiler import Compiler, find_compiler, missing_compiler
from kane_dynamics.codegen.identity import digest, machine_identity
from kane_dynamics.codegen.shared_object import Address, load_function
from kane_dynamics.codegen.texts import Texts
from kane_dynamics.errors import CompileError
from kane_dynamics.symbolic.program import Program, Signature

_kept: dict[tuple[str, str, Path | None], Address] = {}


def program_code(
    key: str, make: Callable[[], Program], signature: Signature, cache: CacheChoice
) -> MachineCode:
    """The machine code of a program, the same that `compile_program` calls.

    Parameters
    ----------
    key, make, signature, cache
        As in `compile_program`.

    Raises
    ------
    CompileError
        If there is no compiler that works.
    """
    return machine_code(Texts.of(key, make, signature, cache), _compiler())


def source_address(
    source: str, symbol: str, flags: Sequence[str], name: str, cache: CacheChoice
) -> Address:
    """Address of a function of a C file, valid as long as the process lives.

    Parameters
    ----------
    source : str
        Complete C text.
    symbol : str
        Name of the function.
    flags : sequence of str
        Flags of the compiler, besides those for a shared object of this machine.
    name : str
        What is compiled, for messages.
    cache
        As in `compile_program`.

    Raises
    ------
    CompileError
        If there is no compiler that works.
    """
    compiler, files = _compiler(), open_cache(cache)
    entry = digest("source", source, *flags, machine_identity(), compiler.identity)
    asked = (entry, symbol, files.directory)
    if asked in _kept:
        return _kept[asked]
    code = files.read(entry)
    if code is not None:
        with contextlib.suppress(CompileError):
            return _kept.setdefault(asked, load_function(code, symbol))
    code = compiler.compile(source, flags, name)
    address = load_function(code, symbol)
    files.write(entry, code)
    return _kept.setdefault(asked, address)


def _compiler() -> Compiler:
    compiler = find_compiler()
    if compiler is None:
        raise CompileError(missing_compiler())
    return compiler
