"""Arguments of compiled functions: conversion to float64 arrays, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from kane_dynamics.arrays import Array, check_finite, real_array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.symbolic.program import Signature

QUATERNION_TOLERANCE = 1e-6
"""Largest accepted distance of a unit quaternion's norm from one: float32, or six digits."""

QUATERNION_ROUNDING = 1e-14
"""Distance up to which it is not worth the while to normalize one."""

Refuse = Callable[[Sequence[Array], Any], NoReturn]


def prepare(
    signature: Signature, given: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Array, ...]:
    """Checked arguments as float64 arrays in C order, each ``(size,)`` or ``(N, size)``.

    Quaternions are of unit length, but for rounding, whatever rounding they come from.

    Parameters
    ----------
    signature : Signature
        The function that is called.
    given : sequence
        Positional arguments.
    named : mapping
        Keyword arguments.

    Raises
    ------
    ArgumentError
        If an argument is missing, has the wrong type or shape, is not finite, or holds a
        quaternion that is not of unit length; or if batches differ in their number of states.
    """
    arrays = [
        _sized_array(signature, position, value)
        for position, value in enumerate(_in_order(signature, given, named))
    ]
    _check_counts(signature, arrays)
    for position, array in enumerate(arrays):
        check_finite(f"{signature.name}: {signature.inputs[position].name}", array)
    for position, offset in quaternion_positions(signature):
        arrays[position] = _normalized(signature, position, offset, arrays[position])
    return tuple(arrays)


def refuse_overflow(
    signature: Signature, arrays: Sequence[Array], result: Array | float
) -> NoReturn:
    """Raise the error for a result that is not finite although every argument is."""
    largest = max((float(np.abs(array).max(initial=0.0)) for array in arrays), default=0.0)
    raise ArgumentError(
        f"{signature.name}: the result is not finite; the arguments are too large, up to "
        f"{largest:g}"
    )


def input_names(signature: Signature) -> tuple[str, ...]:
    """Names of the inputs, in order."""
    return tuple(entry.name for entry in signature.inputs)


def quaternion_positions(signature: Signature) -> tuple[tuple[int, int], ...]:
    """Index of the input and offset in it, for each unit quaternion."""
    names = input_names(signature)
    return tuple((names.index(name), offset) for name, offset in signature.quaternions)


def count_of(arrays: Sequence[Array]) -> int | None:
    """Number of states of prepared arguments, ``None`` for a single state."""
    return next((len(array) for array in arrays if array.ndim == 2), None)


def _in_order(
    signature: Signature, given: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    names = input_names(signature)
    call = f"{signature.name}({', '.join(names)})"
    if len(given) > len(names):
        raise ArgumentError(f"{call} takes {len(names)} arguments, got {len(given)}")
    values = dict(zip(names, given, strict=False))
    for name, value in named.items():
        if name not in names:
            raise ArgumentError(f"{call} has no argument named {name}")
        if name in values:
            raise ArgumentError(f"{call} got {name} twice")
        values[name] = value
    missing = [name for name in names if name not in values]
    if missing:
        raise ArgumentError(f"{call} misses {' and '.join(missing)}")
    return tuple(values[name] for name in names)


def _sized_array(signature: Signature, position: int, value: Any) -> Array:
    entry = signature.inputs[position]
    name = f"{signature.name}: {entry.name}"
    array = real_array(name, value)
    if array.ndim not in (1, 2) or array.shape[-1] != entry.size:
        raise ArgumentError(
            f"{name} must have shape ({entry.size},) or (N, {entry.size}), got {array.shape}"
        )
    return array


def _check_counts(signature: Signature, arrays: Sequence[Array]) -> None:
    batches = [
        (name, len(array))
        for name, array in zip(input_names(signature), arrays, strict=True)
        if array.ndim == 2
    ]
    for name, count in batches[1:]:
        first, expected = batches[0]
        if count != expected:
            raise ArgumentError(
                f"{signature.name}: {first} and {name} have {expected} and {count} states"
            )


def _normalized(signature: Signature, position: int, offset: int, array: Array) -> Array:
    """An array with a quaternion of unit length; the same one if that was so."""
    place = (..., slice(offset, offset + 4))
    norms = np.linalg.norm(array[place], axis=-1, keepdims=True)
    off = np.abs(norms - 1.0)
    wrong = np.flatnonzero(~(off <= QUATERNION_TOLERANCE))
    if len(wrong):
        row = f"{wrong[0]}, " if array.ndim == 2 else ""
        raise ArgumentError(
            f"{signature.name}: {signature.inputs[position].name}[{row}{offset}:{offset + 4}] "
            f"must be a unit quaternion, its norm is {norms.flat[wrong[0]]}"
        )
    if off.max(initial=0.0) > QUATERNION_ROUNDING:
        array = array.copy()
        array[place] /= norms
    return array
