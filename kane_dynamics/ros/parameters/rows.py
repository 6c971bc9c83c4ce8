"""A row of the table of parameters: what a user may set, and what becomes of what is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, get_type_hints

from kane_dynamics.errors import ArgumentError

T = TypeVar("T")

STRINGS, NUMBERS = tuple[str, ...], tuple[float, ...]

_KINDS = {str: "string", float: "number", int: "whole number", bool: "boolean"}


@dataclass(frozen=True)
class Row:
    """What is known of a parameter.

    Attributes
    ----------
    name : str
    kind : type
        Of its values: a string, a number, a whole number, a boolean, or a tuple of strings or
        numbers.
    default : object
    description : str
    unit : str
        In which numbers are given.
    range : pair of numbers, optional
        The least and the largest one allowed, of each entry if there are many.
    choices : dict from str to str
        The words allowed, and what each means.
    read_only : bool
        Whether it is read at the start only.
    per_joint : bool
        Whether numbers may be given as a single one that stands for all joints.
    check : callable, optional
        Raises an ArgumentError about values that are wrong for yet another reason.
    heading : str
        Of the group that begins with this parameter.
    filed : bool
        Whether it stands in the parameter file.
    """

    name: str
    kind: Any
    default: Any
    description: str
    unit: str = ""
    range: tuple[float, float] | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    read_only: bool = False
    per_joint: bool = False
    check: Callable[[Any], object] | None = None
    heading: str = ""
    filed: bool = True

    def sentences(self) -> list[str]:
        """What it means, then what each choice means, in which unit, and in which range."""
        lines = [self.description, *(f"{word}: {what}." for word, what in self.choices.items())]
        many = " One for all joints, or a list with one for each." if self.per_joint else ""
        unit = f"In {self.unit}" if self.unit else ""
        bounds = "from {:.12g} to {:.12g}".format(*self.range) if self.range else ""
        facts = ", ".join(filter(None, (unit, bounds)))
        lines[-1] += many + (f" {facts[0].upper()}{facts[1:]}." if facts else "")
        return lines

    def written(self) -> Any:
        """The default as it is written in a parameter file.

        A list of no names has one that is empty, for a list without entries has no type.
        """
        if not isinstance(self.default, tuple):
            return self.default
        if self.per_joint and len(self.default) == 1:
            return self.default[0]
        return list(self.default) or ([""] if self.kind == STRINGS else [])

    def checked(self, given: Any) -> Any:
        """A value in the type of the parameter; ArgumentError if it cannot be one."""
        value = self._typed(given)
        for name, each in self._entries(value):
            self._check_entry(name, each)
        if self.check is not None:
            self.check(value)
        return value

    def _entries(self, value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, tuple):
            return [(self.name, value)]
        if self.per_joint and len(value) == 1:
            return [(self.name, value[0])]
        return [(f"{self.name}[{k}]", each) for k, each in enumerate(value)]

    def _check_entry(self, name: str, value: Any) -> None:
        if self.range is not None and not self.range[0] <= value <= self.range[1]:
            low, high = self.range
            raise ArgumentError(f"{name} is {value:g}, expected a number from {low:g} to {high:g}")
        if self.per_joint and not math.isfinite(value):
            raise ArgumentError(f"{name} is {value:g}, expected a finite number")
        if self.choices and value not in self.choices:
            raise ArgumentError(f"{name} is {value!r}, expected one of {', '.join(self.choices)}")

    def _typed(self, given: Any) -> Any:
        """A value in its type: whole numbers are numbers, empty lists have no type."""
        if self.kind not in (STRINGS, NUMBERS):
            return self._single(given, self.kind)
        kind = str if self.kind == STRINGS else float
        if self.per_joint and isinstance(given, (int, float)):
            return (self._single(given, kind),)
        listed = [] if given is None else given
        if isinstance(listed, (str, bytes)) or not hasattr(listed, "__iter__"):
            one = "a number, or " if self.per_joint else ""
            raise self._wrong_type(given, f"{one}a list of {_KINDS[kind]}s")
        return tuple(self._single(each, kind) for each in listed if each != "")

    def _single(self, given: Any, kind: type) -> Any:
        if kind is float and isinstance(given, int) and not isinstance(given, bool):
            return float(given)
        if type(given) is not kind:
            raise self._wrong_type(given, f"a {_KINDS[kind]}")
        return given

    def _wrong_type(self, given: Any, expected: str) -> ArgumentError:
        return ArgumentError(f"{self.name} is {given!r}, expected {expected}")


def parameter(default: T, description: str, **more: Any) -> T:
    """A field of a dataclass that is a parameter; further arguments are those of `Row`."""
    return field(default=default, metadata={"description": description, **more})


def rows_of(settings: type) -> dict[str, Row]:
    """The rows of a dataclass whose fields are parameters, by their names."""
    kinds = get_type_hints(settings)
    return {
        each.name: Row(each.name, kinds[each.name], each.default, **each.metadata)
        for each in fields(settings)
    }
