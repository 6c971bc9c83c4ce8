"""Functions compiled by the machine's C compiler, each form when it is first called."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from kane_dynamics.codegen.arguments import Refuse, prepare, quaternion_positions
from kane_dynamics.codegen.caller import is_loaded, kernel_type
from kane_dynamics.codegen.compiler import Compiler
from kane_dynamics.codegen.identity import digest, machine_identity
from kane_dynamics.codegen.kernel_c import BATCH_SYMBOL, STATE_SYMBOL, batch_source, state_source
from kane_dynamics.codegen.process_lock import ProcessLock
from kane_dynamics.codegen.shared_object import Address, load_function
from kane_dynamics.codegen.texts import Texts, first_that_works
from kane_dynamics.codegen.trial import try_out
from kane_dynamics.errors import CompileError

_logger = logging.getLogger("kane_dynamics")

_FORMS = {"state": (STATE_SYMBOL, state_source), "batch": (BATCH_SYMBOL, batch_source)}

# Functions come in pieces short enough that the highest level costs little more than lower ones.
# Where a state is by itself, results that are packed into vectors only come later.
_FLAGS = {"state": ("-O3", "-fno-tree-slp-vectorize"), "batch": ("-O3",)}

Substitute = Callable[[CompileError], Callable[..., Any]]


@dataclass(eq=False)
class MachineCode:
    """A program compiled in two forms: of one state, and of many.

    Attributes
    ----------
    key : str
        Digest of everything the code depends on.
    texts : Texts
    compiler : Compiler
    """

    key: str
    texts: Texts
    compiler: Compiler
    _addresses: dict[str, Address] = field(default_factory=dict)
    _lock: ProcessLock = field(default_factory=ProcessLock)

    @property
    def is_made(self) -> bool:
        """Whether the form for one state need not be compiled any more."""
        if "state" in self._addresses:
            return True
        return self.texts.cache.read(digest("state", self.key)) is not None

    def address(self, form: str) -> Address:
        """Address of a form, ``"state"`` or ``"batch"``, as in `kernel_c`.

        It is valid as long as somebody keeps it, or this object.

        Raises
        ------
        CompileError
            If it cannot be compiled.
        """
        with self._lock.held():
            if form not in self._addresses:
                self._addresses[form] = self._load(form)
            return self._addresses[form]

    def function(self, substitute: Substitute, refuse: Refuse) -> Callable[..., Any]:
        """A callable for Python, which compiles each form when it is first called.

        Parameters
        ----------
        substitute : callable
            Told why the program could not be compiled, returns what is called instead from then
            on, or raises an error.
        refuse : callable
            Given the arguments and a result that is not finite, raises an error.

        Raises
        ------
        CompileError
            If the extension that calls compiled functions cannot be made.
        """

        def load(form: str) -> int | Callable[..., Any]:
            try:
                return self.address(form)
            except CompileError as error:
                return substitute(error)

        signature = self.texts.signature
        if not is_loaded():
            # The extension is being compiled in the background: use the time.
            with contextlib.suppress(CompileError):
                self.address("state")
        return kernel_type(self.compiler, self.texts.cache)(
            name=signature.name,
            sizes=tuple(entry.size for entry in signature.inputs),
            shape=tuple(signature.shape),
            quaternions=quaternion_positions(signature),
            prepare=functools.partial(prepare, signature),
            load=load,
            refuse=refuse,
        )

    def _load(self, form: str) -> Address:
        symbol, source = _FORMS[form]
        signature, cache = self.texts.signature, self.texts.cache

        def compiled(body: str) -> tuple[Address, bytes]:
            _logger.info("compiling %s, %d statements", signature.name, body.count(";"))
            code = self.compiler.compile(source(signature, body), _FLAGS[form], signature.name)
            address = load_function(code, symbol)
            try_out(body, signature, form, address)
            return address, code

        entry = digest(form, self.key)
        code = cache.read(entry)
        if code is not None:
            with contextlib.suppress(CompileError):
                return load_function(code, symbol)
        address, code = first_that_works(self.texts.c, compiled, CompileError)
        cache.write(entry, code)
        return address


_alive: WeakValueDictionary[tuple[str, Path | None], MachineCode] = WeakValueDictionary()
_lock = ProcessLock()


def machine_code(texts: Texts, compiler: Compiler) -> MachineCode:
    """The code of a program: the same object for all who ask, as long as one of them keeps it."""
    key = digest(texts.key, machine_identity(), compiler.identity)
    with _lock.held():
        return _alive.setdefault((key, texts.cache.directory), MachineCode(key, texts, compiler))
