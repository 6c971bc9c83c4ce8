"""The present values of inertia that is given at run time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.tree.equations import TreeEquations
from kane_dynamics.robot.late import NUMBERS, checked_inertia, late_numbers
from kane_dynamics.robot.model import Inertia

Function = Callable[..., Array]


class LateInertia:
    """Inertia of links and of what they carry, and the parameters of equations that follow.

    Threads may read while another one sets: they get the parameters before or after.

    Parameters
    ----------
    equations : TreeEquations
    given : sequence of (Inertia or None)
        Of ``tree.late`` and ``tree.payload``, those that are known already.

    Attributes
    ----------
    given : tuple of (Inertia or None)
        The same now.
    parameters : array
        The input of programs; ArgumentError as long as something was never given.
    any_parameters : array
        The same for programs that do not depend on inertia.
    """

    parameters: Array
    any_parameters: Array

    def __init__(self, equations: TreeEquations, given: Sequence[Inertia | None]) -> None:
        self._equations, self._lock = equations, threading.Lock()
        self._slots = [("late", link) for link in equations.tree.late]
        self._slots += [("payload", link) for link in equations.tree.payload]
        self._use(tuple(given) or (None,) * len(self._slots))

    def set(self, how: str, link: str, *numbers: Any) -> None:
        """Replace the inertia of a link (``"late"``), or of what it carries (``"payload"``).

        Parameters
        ----------
        numbers
            Mass, centre of mass and inertia, as in `checked_inertia`.
        """
        if (how, link) not in self._slots:
            self._equations.check_about(link)
            raise ArgumentError(f"link {link!r} has no {how} inertia: load the robot with {how}=")
        slot, inertia = self._slots.index((how, link)), checked_inertia(link, *numbers)
        with self._lock:
            self._use((*self.given[:slot], inertia, *self.given[slot + 1 :]))

    def _use(self, given: tuple[Inertia | None, ...]) -> None:
        self.given = given
        if not given:
            return
        numbers = [np.zeros(NUMBERS) if each is None else late_numbers(each) for each in given]
        values = self._equations.late.values(np.concatenate(numbers))
        values.flags.writeable = False
        self.any_parameters = values
        if None not in given:
            self.parameters = values

    @property
    def inputs(self) -> tuple[Array, ...]:
        """What programs take after their own inputs."""
        return (self.parameters,) if self.given else ()

    def added_to(self, function: Function, name: str, links: Sequence[str]) -> Function:
        """A program as a function of its own inputs; the function itself without late numbers."""
        if not self.given:
            return function
        if links:  # where they are, and how they move, does not depend on inertia
            return lambda *given: function(*given, self.any_parameters)
        written_out = (  # which costs a call a third of what *given would
            lambda a: function(a, self.parameters),
            lambda a, b: function(a, b, self.parameters),
            lambda a, b, c: function(a, b, c, self.parameters),
        )
        return written_out[len(self._equations.forms[name].inputs) - 1]

    def __getattr__(self, name: str) -> NoReturn:
        """What is not there yet: in this way, calls need not ask whether it is."""
        if name != "parameters":
            raise AttributeError(name)
        _, link = self._slots[self.given.index(None)]
        raise ArgumentError(
            f"the inertia of link {link!r} comes late and was never given:"
            f" set_inertia({link!r}, …) gives it"
        )
