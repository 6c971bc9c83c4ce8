"""Functions of one mechanism: derived, compiled and cached when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen import Backend, CacheChoice, compile_program
from kane_dynamics.codegen.address import program_code
from kane_dynamics.codegen.arguments import Refuse, refuse_overflow
from kane_dynamics.codegen.backend_c import MachineCode
from kane_dynamics.codegen.columns import LARGE, by_columns
from kane_dynamics.codegen.identity import digest
from kane_dynamics.codegen.listing import listing
from kane_dynamics.kane.equations import Equations, program, signature
from kane_dynamics.symbolic.program import Operations, Program, Signature
from kane_dynamics.symbolic.sympy import sympy_equations

ACCELERATING = frozenset({"forward_dynamics", "forward_dynamics_derivatives"})
"""Programs that divide by inertia."""

Function = Callable[..., Array]
Asked = tuple[str, ...]
"""Name of a program, and what it is about."""


class Functions:
    """Functions of the equations of a mechanism by name, some of them about links.

    Parameters
    ----------
    equations : Equations
    backend, cache
        As in `kane_dynamics.load`.
    """

    def __init__(
        self, equations: Equations, backend: Backend = "auto", cache: CacheChoice = True
    ) -> None:
        self.equations, self.backend, self.cache = equations, backend, cache
        self._functions: dict[Asked, Function] = {}
        self._made: dict[Any, Function] = {}
        self._codes: dict[Any, MachineCode] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made anew, and find what is compiled in the cache."""
        return Functions, (self.equations, self.backend, self.cache)

    @property
    def smooth(self) -> Functions:
        """Functions of the same mechanism without dry friction."""
        return self if self.equations.smooth is self.equations else self._smooth

    @cached_property
    def _smooth(self) -> Functions:
        return Functions(self.equations.smooth, self.backend, self.cache)

    def function(self, name: str, *about: str) -> Function:
        """A function that takes and gives arrays."""
        for each in about:
            if not isinstance(each, str):
                self.equations.check_about(each)
        asked = (name, *about)
        if asked not in self._functions:
            if name == "mass_matrix" and len(self.equations.speed_names) > LARGE:
                self._functions[asked] = self._mass_by_columns()
            else:
                refuse = self._refuse_singular(name) if name in ACCELERATING else None
                self._functions[asked] = self.made(*self._asked(name, about), refuse=refuse)
        return self._functions[asked]

    def _mass_by_columns(self) -> Function:
        name = "generalized_momentum"
        return by_columns(self.signature("mass_matrix"), self.function(name), self.signature(name))

    def signature(self, name: str, *about: str) -> Signature:
        """What a function takes and gives."""
        return signature(self.equations, name, *about)

    def address(self, name: str, *about: str) -> int:
        """Address of a function of one state, valid as long as this object lives.

        CompileError is raised if there is no compiler that works.
        """
        return self.code(*self._asked(name, about)).address("state")

    # --------------------------------------------------------- programs made of these equations
    def made(
        self,
        declared: Signature,
        make: Callable[[], Program],
        *key: Any,
        refuse: Any = None,
        prompt: bool = False,
    ) -> Function:
        """A function of a program that is made of these equations, and of what the key says."""
        asked = (declared, key)
        if asked not in self._made:
            self._made[asked] = compile_program(
                self._key(*key), make, declared, self.backend, self.cache, refuse, prompt
            )
        return self._made[asked]

    def code(self, declared: Signature, make: Callable[[], Program], *key: Any) -> MachineCode:
        """The machine code of such a program; CompileError if there is no compiler that works."""
        asked = (declared, key)
        if asked not in self._codes:
            self._codes[asked] = program_code(self._key(*key), make, declared, self.cache)
        return self._codes[asked]

    # ----------------------------------------------------------------- equations to be looked at
    def program(self, name: str, *about: str) -> Program:
        """The expressions of a program."""
        return program(self.equations, name, *about)

    def operations(self, name: str, *about: str) -> Operations:
        """Exact count of arithmetic operations of a function."""
        return self.program(name, *about).operations

    def source(self, name: str, language: str, *about: str) -> str:
        """Equations as C, Python or LaTeX."""
        return listing(self.program(name, *about), language, self.equations.heading)

    def sympy(self, name: str, *about: str) -> tuple[list[tuple[Any, Any]], list[Any]]:
        """Equations as SymPy expressions, in the form of `sympy.cse`."""
        return sympy_equations(self.program(name, *about))

    def _asked(self, name: str, about: Asked) -> tuple[Signature, Callable[[], Program], Asked]:
        declared = signature(self.equations, name, *about)
        return declared, partial(program, self.equations, name, *about), about

    def _key(self, *key: Any) -> str:
        return digest(self._digest, repr(key))

    @cached_property
    def _digest(self) -> str:
        return digest(self.equations.key)

    def _refuse_singular(self, name: str) -> Refuse:
        # With functions of its own: what refers to itself would wait for the garbage collector.
        return partial(_refuse_singular, Functions(self.equations, self.backend, self.cache), name)


def _refuse_singular(
    functions: Functions, name: str, arrays: Sequence[Array], result: Array
) -> NoReturn:
    """Say what is in the way of a solution in the state that has none."""
    equations = functions.equations
    declared = signature(equations, name)
    states = np.reshape(result, (-1, declared.size))
    bad = int(np.flatnonzero(~np.isfinite(states).all(axis=1))[0])
    given = {each.name: a[bad] if a.ndim == 2 else a for each, a in zip(declared.inputs, arrays)}
    needed = signature(equations, "mass_matrix").inputs
    M = functions.function("mass_matrix")(*(given[each.name] for each in needed))
    error = equations.singular_error(M)
    if error is None:
        refuse_overflow(declared, arrays, result)
    raise error
