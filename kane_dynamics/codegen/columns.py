"""The mass matrix of a large mechanism, column by column.

Written out, its elements take operations that grow with the square of the number of speeds, and a
compiler minutes for hundreds of them. The momentum M u of a unit of one speed is a column: one
function, whose length grows with the number, is called for all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.arguments import count_of, input_names, prepare
from kane_dynamics.symbolic.program import Signature

LARGE = 80
"""Speeds beyond which elements are not written out."""

Function = Callable[..., Array]


def by_columns(
    declared: Signature, momentum: Function, momentum_declared: Signature, speeds: str = "u"
) -> Function:
    """A function of the same arguments as the mass matrix, which calls that of the momentum.

    Parameters
    ----------
    declared : Signature
        Of the mass matrix.
    momentum : callable
        M u, of the inputs of the mass matrix and the speeds.
    momentum_declared : Signature
        Of the momentum.
    speeds : str
        Name of the input u.
    """
    names, units = input_names(declared), np.eye(declared.shape[0])

    def of_state(values: dict[str, Array]) -> Array:
        given = {**values, speeds: units}
        columns = momentum(*(given[name] for name in input_names(momentum_declared)))
        symmetric: Array = 0.5 * (columns + columns.T)
        return symmetric

    def mass_matrix(*given: Any, **named: Any) -> Array:
        arrays = prepare(declared, given, named)
        count = count_of(arrays)
        if count is None:
            return of_state(dict(zip(names, arrays)))
        states = [
            {name: a[k] if a.ndim == 2 else a for name, a in zip(names, arrays)}
            for k in range(count)
        ]
        return np.array([of_state(state) for state in states]).reshape(count, *declared.shape)

    return mass_matrix
