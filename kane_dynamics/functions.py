"""Functions of one robot: derived, compiled and cached when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NoReturn

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen import Backend, CacheChoice, compile_program
from kane_dynamics.codegen.address import program_code
from kane_dynamics.codegen.arguments import refuse_overflow
from kane_dynamics.codegen.backend_c import MachineCode
from kane_dynamics.codegen.identity import digest
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.programs import PROGRAMS, Equations, program, signature
from kane_dynamics.kane.singular import singular_error, singular_speed
from kane_dynamics.robot.names import unknown_name
from kane_dynamics.symbolic.program import Program, Signature

Function = Callable[..., Array]
Links = tuple[str, ...]


class Functions:
    """Functions of the equations of a robot by name, some of them about links.

    Parameters
    ----------
    equations : Equations
    backend, cache
        As in `kane_dynamics.load`.
    """

    def __init__(self, equations: Equations, backend: Backend, cache: CacheChoice) -> None:
        self._equations, self._backend, self._cache = equations, backend, cache
        self._made: dict[tuple[str, Links], Function] = {}
        self._codes: dict[tuple[str, Links], MachineCode] = {}

    def function(self, name: str, *links: str) -> Function:
        """A function that takes and gives arrays."""
        for link in links:
            if not isinstance(link, str):
                raise unknown_name("link", link, [name for name, _ in self._equations.tree.frames])
        function = self._made.get((name, links))
        if function is None:
            refuse = self._refuse_singular if name == "forward_dynamics" else None
            asked = self._asked(name, links)
            function = compile_program(*asked, self._backend, self._cache, refuse)
            self._made[name, links] = function
        return function

    def address(self, name: str, *links: str) -> int:
        """Address of a function of one state; CompileError if there is no compiler that works."""
        if (name, links) not in self._codes:
            if name not in PROGRAMS:
                raise unknown_name("function", name, list(PROGRAMS))
            self._codes[name, links] = program_code(*self._asked(name, links), self._cache)
        return self._codes[name, links].address("state")

    def program(self, name: str, link: str | None) -> Program:
        """The equations that a user asks for by name, and by the link that they are about."""
        public = [each for each in PROGRAMS if each != "wrench_forces"]
        if name not in public:
            raise unknown_name("function", name, public)
        if (link is not None) != (name in ("pose", "jacobian")):
            raise ArgumentError(
                f"{name} is about one link: name it" if link is None else f"{name} takes no link"
            )
        return program(self._equations, name, () if link is None else (link,))

    def _asked(self, name: str, links: Links) -> tuple[str, Callable[[], Program], Signature]:
        """Key, derivation and signature of a program."""
        tree = self._equations.tree
        for link in links:
            tree.frame(link)  # which refuses unknown ones
        key = digest(self._model_digest, repr(links))
        return key, lambda: program(self._equations, name, links), signature(tree, name, links)

    def _refuse_singular(self, arrays: Sequence[Array], result: Array) -> NoReturn:
        """Name the link without which forward dynamics would have a solution in this state."""
        tree, q = self._equations.tree, arrays[0]
        bad = int(np.flatnonzero(~np.isfinite(np.atleast_2d(result)).all(axis=1))[0])
        M = self.function("mass_matrix")(q[bad] if q.ndim == 2 else q)
        speed = singular_speed(M)
        if speed is None:
            refuse_overflow(signature(tree, "forward_dynamics"), arrays, result)
        raise singular_error(tree, speed, "in this configuration")

    @cached_property
    def _model_digest(self) -> str:
        return digest(repr((self._equations.tree, self._equations.gravity)))
