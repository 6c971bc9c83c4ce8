"""Functions compiled by the machine's C compiler, each form when it is first called."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kane_dynamics.codegen.arguments import Refuse, prepare, quaternion_positions
from kane_dynamics.codegen.cache import Cache
from kane_dynamics.codegen.caller import is_loaded, kernel_type
from kane_dynamics.codegen.compiler import Compiler
from kane_dynamics.codegen.identity import digest, machine_identity, package_identity
from kane_dynamics.codegen.kernel_c import BATCH_SYMBOL, STATE_SYMBOL, batch_source, state_source
from kane_dynamics.codegen.process_lock import ProcessLock
from kane_dynamics.codegen.shared_object import load_function
from kane_dynamics.codegen.texts import Write, first_that_works
from kane_dynamics.errors import CompileError
from kane_dynamics.symbolic.program import Signature

_logger = logging.getLogger("kane_dynamics")

_FORMS = {"state": (STATE_SYMBOL, state_source), "batch": (BATCH_SYMBOL, batch_source)}

# Functions come in pieces short enough that the highest level costs little more than lower ones.
_FLAGS = ("-O3",)

Substitute = Callable[[CompileError], Callable[..., Any]]


def compiled_function(
    key: str,
    body: Write,
    signature: Signature,
    compiler: Compiler,
    cache: Cache,
    substitute: Substitute,
    refuse: Refuse,
) -> Callable[..., Any]:
    """A callable around a function that is compiled when it is first called.

    Parameters
    ----------
    key : str
        Digest of everything the body depends on.
    body : callable
        Returns what is computed in C, as `Texts.c`; called only when it has to be compiled.
    signature : Signature
        Name, inputs and result.
    compiler : Compiler
        The compiler to use.
    cache : Cache
        Where compiled functions are kept.
    substitute : callable
        Told why the body could not be compiled, returns what is called instead from then
        on, or raises an error.
    refuse : callable
        Given the arguments and a result that is not finite, raises an error.

    Raises
    ------
    CompileError
        If the extension that calls compiled functions cannot be made.
    """
    forms = Forms(key, body, signature, compiler, cache)

    def load(form: str) -> int | Callable[..., Any]:
        try:
            return forms.address(form)
        except CompileError as error:
            return substitute(error)

    if not is_loaded():
        # The extension is being compiled in the background: use the time.
        with contextlib.suppress(CompileError):
            forms.address("state")
    return kernel_type(compiler, cache)(
        name=signature.name,
        sizes=tuple(entry.size for entry in signature.inputs),
        shape=tuple(signature.shape),
        quaternions=quaternion_positions(signature),
        prepare=functools.partial(prepare, signature),
        load=load,
        refuse=refuse,
    )


@dataclass
class Forms:
    """The compiled forms of a function: of one state, and of many."""

    key: str
    body: Write
    signature: Signature
    compiler: Compiler
    cache: Cache
    _addresses: dict[str, int] = field(default_factory=dict)
    _lock: ProcessLock = field(default_factory=ProcessLock)

    def address(self, form: str) -> int:
        with self._lock.held():
            if form not in self._addresses:
                self._addresses[form] = self._load(form)
            return self._addresses[form]

    def _load(self, form: str) -> int:
        symbol, source = _FORMS[form]

        def compiled(body: str) -> tuple[int, bytes]:
            name = self.signature.name
            _logger.info("compiling %s, %d statements", name, body.count(";"))
            code = self.compiler.compile(source(self.signature, body), _FLAGS, name)
            return load_function(code, symbol), code

        entry = digest(
            form, self.key, package_identity(), machine_identity(), self.compiler.identity
        )
        code = self.cache.read(entry)
        if code is not None:
            with contextlib.suppress(CompileError):
                return load_function(code, symbol)
        address, code = first_that_works(self.body, compiled, CompileError)
        self.cache.write(entry, code)
        return address
