"""Fields of constraints: what is checked when one is made, and what is said where it is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import isfinite
from typing import Any

from kane_dynamics.errors import ArgumentError
from kane_dynamics.robot.magnitude import LARGEST
from kane_dynamics.robot.rotation import unit

Numbers = tuple[float, ...]


def check_fields(constraint: Any) -> None:
    """Refuse what is no name of a constraint, a link or a joint, and what is not yes or no."""
    kind = type(constraint).__name__
    if not isinstance(constraint.name, str) or not constraint.name:
        raise ArgumentError(f"{kind}: name is {constraint.name!r}, expected a word")
    for field in fields(constraint):
        value = getattr(constraint, field.name)
        if field.type == "str" and (not isinstance(value, str) or not value):
            raise is_wrong(constraint, field.name, "a name")
        if field.type == "bool" and not isinstance(value, bool):
            raise is_wrong(constraint, field.name, "True or False")


def put(constraint: Any, field: str, value: Any) -> None:
    object.__setattr__(constraint, field, value)


def is_wrong(constraint: Any, field: str, expected: str) -> ArgumentError:
    value = getattr(constraint, field)
    return ArgumentError(
        f"constraint {constraint.name!r}: {field} is {value!r}, expected {expected}"
    )


def number_of(constraint: Any, what: str, value: Any) -> float:
    number = as_float(value)
    if not abs(number) <= LARGEST:  # nor for what is no number
        raise ArgumentError(
            f"constraint {constraint.name!r}: {what} is {value!r}, expected a finite number"
        )
    return number


def numbers_of(constraint: Any, field: str, sizes: Sequence[int]) -> Numbers:
    value = getattr(constraint, field)
    several = None if isinstance(value, (str, bytes, Mapping)) else value
    try:
        numbers = tuple(as_float(each) for each in several)  # type: ignore[union-attr]
    except TypeError:
        numbers = ()
    if len(numbers) not in sizes or not all(abs(each) <= LARGEST for each in numbers):
        raise is_wrong(constraint, field, f"{' or '.join(map(str, sizes))} finite numbers")
    return numbers


def frame_of(constraint: Any, field: str) -> Numbers:
    """Return x y z, roll pitch yaw."""
    numbers = numbers_of(constraint, field, (3, 6))
    return numbers if len(numbers) == 6 else (*numbers, 0.0, 0.0, 0.0)


def pair_of(constraint: Any, field: str) -> Numbers | None:
    """Return the static and the kinetic number of what is one number, or two."""
    value = getattr(constraint, field)
    if value is None:
        return None
    several = (value, value) if isfinite(as_float(value)) else value
    put(constraint, field, several)
    try:
        static, kinetic = numbers_of(constraint, field, (2,))
    except ArgumentError:
        static, kinetic = -1.0, 0.0
    if not static >= kinetic >= 0.0:
        put(constraint, field, value)
        expected = "a number that is not negative, or two, (static, kinetic), the second not larger"
        raise is_wrong(constraint, field, expected)
    return static, kinetic


def check_limit(constraint: Any) -> None:
    """Check a limit, and of what it is a share."""
    put(constraint, "limit", pair_of(constraint, "limit"))
    of = constraint.of
    if of is None:
        return
    if not isinstance(of, str) or not of:
        raise is_wrong(constraint, "of", "the name of another constraint")
    if constraint.limit is None:
        raise ArgumentError(
            f"constraint {constraint.name!r}: of is given without a limit, expected both"
        )


def check_share(constraint: Any, field: str) -> None:
    put(constraint, field, number_of(constraint, field, getattr(constraint, field)))
    if not 0.0 <= getattr(constraint, field) <= 1.0:
        raise is_wrong(constraint, field, "a number from 0 to 1")


def direction_of(constraint: Any, field: str) -> Numbers:
    """Return a vector of length one."""
    x, y, z = numbers_of(constraint, field, (3,))
    if x == y == z == 0.0:
        raise is_wrong(constraint, field, "a vector that is not zero")
    return unit((x, y, z))


def as_float(value: Any) -> float:
    """Return a number, or one that is none: neither texts nor truth values are numbers."""
    if isinstance(value, (bool, str, bytes)):
        return float("nan")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
    return number if isfinite(number) else float("nan")
