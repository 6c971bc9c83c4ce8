"""Symbols that a user names: constants with their values, those that are adjustable, and inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.general.model import Model, is_scalar


class Constants(MutableMapping[Any, float]):
    """Constants of a system by their symbols; those that are adjustable can be given new values.

    Threads may read while another one sets: they get the values before or after.

    Parameters
    ----------
    values : mapping
    adjustable : sequence of symbol
    """

    def __init__(self, values: Mapping[Any, float], adjustable: Sequence[Any]) -> None:
        self._values, self._adjustable = dict(values), tuple(adjustable)
        self.array: Array = np.array([self._values[each] for each in adjustable], np.float64)

    def __getitem__(self, symbol: Any) -> float:
        value: float = self._values[symbol]
        return value

    def __setitem__(self, symbol: Any, value: Any) -> None:
        if symbol not in self._adjustable:
            known = ", ".join(map(str, self._adjustable)) or "none"
            raise ArgumentError(
                f"constant {symbol} is not adjustable ({known}): name it in adjustable="
            )
        self._values[symbol] = number(symbol, value)
        self.array = np.array([self._values[each] for each in self._adjustable], np.float64)

    def __delitem__(self, symbol: Any) -> None:
        raise ArgumentError(f"constant {symbol} cannot be taken away")

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


def number(symbol: Any, value: Any) -> float:
    """The value of a constant."""
    found = math.nan
    try:
        found = math.nan if isinstance(value, (str, bytes, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise ArgumentError(f"constants: {symbol} is {value!r}, expected a finite number")
    return found


def checked_constants(given: Any) -> dict[Any, float]:
    """Constants with their values."""
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"constants must be a dict from symbols to numbers, got {type(given).__name__}"
        )
    for symbol in given:
        if not hasattr(symbol, "free_symbols"):
            raise ArgumentError(f"constants: {symbol!r} is no symbol of SymPy")
    return {symbol: number(symbol, value) for symbol, value in given.items()}


def checked_symbols(argument: str, given: Any) -> tuple[Any, ...]:
    """Symbols of a list, or the only one."""
    if hasattr(given, "free_symbols") and not isinstance(given, Iterable):
        given = (given,)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ArgumentError(f"{argument} is {given!r}, expected a list of symbols")
    found = tuple(given)
    for each in found:
        if not hasattr(each, "free_symbols"):
            raise ArgumentError(f"{argument}: {each!r} is no symbol of SymPy")
        if found.count(each) > 1:
            raise ArgumentError(f"{argument}: {each} is named twice")
    return found


def refuse_doubles(groups: Mapping[str, Sequence[Any]]) -> None:
    """A symbol is one thing only."""
    seen: dict[Any, str] = {}
    for what, symbols in groups.items():
        for each in symbols:
            if each in seen:
                raise ArgumentError(f"{each} is {seen[each]} and {what}, expected one of them")
            seen[each] = what


def checked_speeds(speeds: Any, model: Model, taken: Sequence[Any]) -> None:
    """Refuse other speeds whose symbols mean something else already."""
    if not isinstance(speeds, Mapping):
        raise ArgumentError(
            f"with_speeds: speeds are {type(speeds).__name__}, expected a dict from symbols to "
            "expressions, or what reduced_speeds has found"
        )
    for speed, expression in speeds.items():
        if not hasattr(speed, "free_symbols"):
            raise ArgumentError(f"with_speeds: {speed!r} is no symbol of SymPy")
        if not is_scalar(expression):
            raise ArgumentError(
                f"with_speeds: {speed} is {expression!r}, expected an expression of SymPy"
            )
        known = (*model.q, *model.auxiliary, *taken)
        if speed in known or (speed in model.u and speed != expression):
            raise ArgumentError(
                f"with_speeds: {speed} means something else in the model, expected another symbol"
            )
