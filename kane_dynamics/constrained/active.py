"""Which constraints of a robot hold now, where they began, and what they say about a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.functions import Function, Functions
from kane_dynamics.constrained.one_state import OneState
from kane_dynamics.constrained.written_out import InDoubt, written_out
from kane_dynamics.errors import ArgumentError, CompileError
from kane_dynamics.kane.constraints import Constraints
from kane_dynamics.names import unknown_name

VIOLATED = 1e-6
"""Error in m or rad, beyond which a constraint cannot be switched on."""


@dataclass(frozen=True)
class Rows:
    """What the constraints that hold say about states.

    Attributes
    ----------
    A : array (..., m, n)
    bias, errors : array (..., m)
    names : tuple of str
        Of the constraint that each row belongs to.
    positions : array (m,)
        Which rows are about positions.
    """

    A: Array
    bias: Array
    errors: Array
    names: tuple[str, ...]
    positions: NDArray[np.bool_]

    def worst(self, of_rows: Array) -> tuple[str, float]:
        """The constraint with the largest of some numbers, an entry a row, and that number."""
        flat = np.abs(of_rows).reshape(-1, of_rows.shape[-1]).max(axis=0, initial=0.0)
        flat = np.where(np.isfinite(flat), flat, np.inf)
        k = int(flat.argmax())
        return self.names[k], float(flat[k])


class ActiveConstraints:
    """The constraints of a robot, some of which hold.

    Parameters
    ----------
    functions : Functions
        Of the robot without them.
    constraints : Constraints
    active : dict from str to bool
        Whether each holds.
    begun : dict from str to array
        Anchors of those that have begun somewhere.
    expected : dict from str to bool
        Whether each holds most of the time: accelerations are then written out.
    """

    def __init__(
        self,
        functions: Functions,
        constraints: Constraints,
        active: dict[str, bool],
        begun: dict[str, Array],
        expected: dict[str, bool],
    ) -> None:
        self._functions, self.definitions, self.expected = functions, constraints, expected
        self._compiled: OneState | None = None
        self._written: Callable[..., Array | None] = self._write
        self.active, self.begun = dict(active), dict(begun)
        self._made: dict[str, tuple[list[str], Function]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Those that hold."""
        return tuple(name for name in self.definitions.names if self.active[name])

    def switch(self, name: str, active: bool, q: ArrayLike | None = None) -> None:
        """Let a constraint hold, or no longer.

        Parameters
        ----------
        q : array, optional
            Where it begins; without it, one that keeps what it finds begins wherever it is asked.
        """
        if name not in self.active:
            raise unknown_name("constraint", name, self.active)
        if not isinstance(active, bool):
            raise ArgumentError(f"active must be True or False, got {active!r}")
        begun = {key: value for key, value in self.begun.items() if key != name}
        if active and q is not None:
            own = self.definitions.anchor_slices[name]
            anchors = self._anchors(q, begun)
            if anchors.ndim > 1:
                raise ArgumentError("q must be one state, where the constraint begins")
            errors = self._call("constraint_errors", q=q, anchors=anchors)
            errors = errors[self.definitions.row_slices[name]]
            shape = self.definitions.shapes[self.definitions.names.index(name)]
            worst = np.abs(np.minimum(errors, 0.0) if shape.one_sided else errors).max()
            if not worst <= VIOLATED:
                raise ArgumentError(
                    f"constraint {name!r} is violated by {worst:.3g} where it is switched on, "
                    "expected a configuration that satisfies it: assemble finds one"
                )
            if own.stop > own.start:
                begun[name] = anchors[own]
        self.begun, self.active = begun, {**self.active, name: active}

    def rows(self, q: ArrayLike, u: ArrayLike, anchors: Array | None = None) -> Rows:
        """The rows of constraints that hold, for one state or many."""
        anchors = self._anchors(q, self.begun) if anchors is None else anchors
        whole = self._call("constraint_rows", q=q, u=u, anchors=anchors)
        return self._rows_of(whole, self._chosen, self._are_positions)

    def firm_rows(self, q: ArrayLike) -> Rows:
        """Rows of what holds and neither slips nor comes apart, if it begins at q.

        What keeps what it finds has no errors then: its rows are about motion alone.
        """
        anchors, still = self._anchors(q, {}), np.zeros(len(self.definitions.equations.speed_names))
        whole = self._call("constraint_rows", q=q, u=still, anchors=anchors)
        shapes = self.definitions.shapes
        given = np.array([not each.anchors for each in shapes for _ in range(each.rows)], bool)
        return self._rows_of(whole, self.firm, self._are_positions & given)

    @property
    def firm(self) -> list[int]:
        """Which rows hold that neither slip, at a limit, nor come apart."""
        begin, found = 0, []
        for shape in self.definitions.shapes:
            loose = {row for limit in shape.limits for row in limit.rows}
            if self.active[shape.name] and not shape.one_sided:
                found += [begin + k for k in range(shape.rows) if k not in loose]
            begin += shape.rows
        return found

    def accelerations(self, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> Array | None:
        """Those of compiled code; None where that cannot be, or is in doubt."""
        try:
            return self._written(q, u, tau)
        except InDoubt:
            return self._of_one_state(q, u, tau)

    def _of_one_state(self, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> Array | None:
        if self._compiled is None:
            with suppress(CompileError):
                self._compiled = OneState(self._functions, self.definitions, self._chosen)
        if self._compiled is None or np.ndim(q) != 1:
            return None
        return self._compiled.accelerations(q, u, tau, self._anchors(q, self.begun))

    def _write(self, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> Array | None:
        """As `_written` does, which is decided in the state that is asked for first."""
        first = [np.reshape(each, (-1, np.shape(each)[-1]))[0] for each in (q, u)]
        whole = self._call(
            "constraint_rows", q=first[0], u=first[1], anchors=self.anchors(first[0])
        )
        M = self._functions.function("mass_matrix")(first[0])
        function = None
        if self._active == self.expected:
            asked = self._functions, self.definitions, self._chosen, bool(self.begun)
            function = written_out(*asked, whole[:, :-2], M)
        if function is None:
            self._written = self._of_one_state
        elif self.begun:
            self._written = lambda q, u, tau: function(q, u, tau, self._anchors(q, self.begun))
        else:
            self._written = function
        return self._written(q, u, tau)

    def anchors(self, q: ArrayLike) -> Array:
        """What constraints keep that begin at q, or have begun elsewhere."""
        return self._anchors(q, self.begun)

    @property
    def active(self) -> dict[str, bool]:
        """Whether each holds."""
        return self._active

    @active.setter
    def active(self, active: dict[str, bool]) -> None:
        self._active = active
        self._chosen = [k for k, name in enumerate(self._owners) if active[name]]
        self._compiled = None
        self._written = self._write

    def _rows_of(self, whole: Array, chosen: list[int], positions: NDArray[np.bool_]) -> Rows:
        own, names = whole[..., chosen, :], tuple(self._owners[k] for k in chosen)
        return Rows(own[..., :-2], own[..., -2], own[..., -1], names, positions[chosen])

    @cached_property
    def _owners(self) -> list[str]:
        return [each.name for each in self.definitions.shapes for _ in range(each.rows)]

    @cached_property
    def _are_positions(self) -> NDArray[np.bool_]:
        shapes = self.definitions.shapes
        return np.array([k < each.positions for each in shapes for k in range(each.rows)], bool)

    def _anchors(self, q: ArrayLike, begun: dict[str, Array]) -> Array:
        if not self.definitions.anchors:
            return np.zeros(0)
        found = np.array(self._call("constraint_anchors", q=q))
        for name, values in begun.items():
            found[..., self.definitions.anchor_slices[name]] = values
        return found

    def _call(self, program: str, **given: ArrayLike) -> Array:
        if program not in self._made:
            declared, make, key = self.definitions.asked(program)
            names = [each.name for each in declared.inputs]
            self._made[program] = names, self._functions.made(declared, make, key)
        names, function = self._made[program]
        return function(*(given[name] for name in names))


def joint_speeds(
    argument: str, given: Sequence[str], joints: Sequence[str], speed_names: Sequence[str]
) -> list[int]:
    """Entries of u that belong to joints, or are named themselves."""
    if isinstance(given, (str, bytes)):
        raise ArgumentError(f"{argument} is {given!r}, expected a list of joint names")
    found: list[int] = []
    for name in given:
        own = [
            k for k, speed in enumerate(speed_names) if name in (speed, speed.rpartition(".")[0])
        ]
        if not own:
            raise ArgumentError(f"{argument}: {unknown_name('joint that moves', name, joints)}")
        found += own
    return sorted(set(found))
