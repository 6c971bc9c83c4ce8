"""Functions evaluated in Python: numbers for one state, NumPy columns for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.arguments import Refuse, count_of, prepare
from kane_dynamics.codegen.process_lock import ProcessLock
from kane_dynamics.codegen.texts import Write, first_that_works
from kane_dynamics.symbolic.operations import FUNCTIONS, Operation
from kane_dynamics.symbolic.program import Signature


def _of_columns(row: Operation) -> Callable[..., Any]:
    names = [f"x{k}" for k in range(row.arity)]
    function = eval(f"lambda {', '.join(names)}: {row.numpy.format(*names)}", {"np": np})
    return cast("Callable[..., Any]", function)


_NUMBER_FUNCTIONS = tuple(row.value for row in FUNCTIONS.values())
_COLUMN_FUNCTIONS = tuple(map(_of_columns, FUNCTIONS.values()))

Evaluate = Callable[..., list[Any]]


class PythonFunction:
    """A function of the robot's state, from the text of a Python function.

    Parameters
    ----------
    signature : Signature
        Its name, inputs and result.
    source : callable
        Returns the text, as `Texts.python`; called at the first evaluation.
    refuse : callable
        Given the arguments and a result that is not finite, raises an error.
    """

    def __init__(self, signature: Signature, source: Write, refuse: Refuse) -> None:
        self.__name__ = signature.name
        self._signature = signature
        self._source = source
        self._refuse = refuse
        self._evaluate: Evaluate | None = None
        self._lock = ProcessLock()

    def __call__(self, *given: Any, **named: Any) -> Array | float:
        arrays = prepare(self._signature, given, named)
        evaluate = self._evaluate or self._define()
        count = count_of(arrays)
        if count is None:
            result = self._one(evaluate, arrays)
        else:
            result = self._many(evaluate, arrays, count)
        if not np.isfinite(result).all():
            self._refuse(arrays, result)
        return result

    def __repr__(self) -> str:
        return f"<Python function {self.__name__}>"

    def _define(self) -> Evaluate:
        with self._lock.held():
            if self._evaluate is None:
                self._evaluate = first_that_works(self._source, self._defined, Exception)
            return self._evaluate

    def _defined(self, text: str) -> Evaluate:
        names: dict[str, Any] = {}
        exec(compile(text, f"<{self.__name__}>", "exec"), names)
        evaluate: Evaluate = names[self.__name__]
        return evaluate

    def _one(self, evaluate: Evaluate, arrays: Sequence[Array]) -> Array | float:
        try:
            values = evaluate(*(array.tolist() for array in arrays), *_NUMBER_FUNCTIONS)
        except (ArithmeticError, ValueError):
            # Python refuses to divide by zero, where NumPy and C give inf or nan.
            values = self._many(evaluate, arrays, 1).ravel().tolist()
        shape = self._signature.shape
        return np.array(values, np.float64).reshape(shape) if shape else float(values[0])

    def _many(self, evaluate: Evaluate, arrays: Sequence[Array], count: int) -> Array:
        # Entries of a single state stay NumPy's numbers, which may be divided by zero.
        columns = [np.ascontiguousarray(array.T) for array in arrays]
        result = np.empty((count, self._signature.size))
        with np.errstate(all="ignore"):
            for position, value in enumerate(evaluate(*columns, *_COLUMN_FUNCTIONS)):
                result[:, position] = value
        return result.reshape((count, *self._signature.shape))
