"""Programs as Python, for numbers and for NumPy columns alike."""

from __future__ import annotations

from collections.abc import Iterable

from kane_dynamics.symbolic.operations import FUNCTIONS, OPERATIONS, call
from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import schedule
from kane_dynamics.symbolic.text import Language, write


def _language(operators: dict[str, str]) -> Language:
    return Language(operators, repr, lambda name, position: f"{name}[{position}]")


_COLUMNS = _language({name: row.numpy for name, row in OPERATIONS.items()})
_EITHER = _language(
    {**_COLUMNS.operators, **{name: call(name, row.arity) for name, row in FUNCTIONS.items()}}
)


def python_source(program: Program) -> str:
    """A Python function that lists the outputs, of the inputs and of all `FUNCTIONS`.

    Inputs are sequences: of numbers, with functions of numbers, for one state; of columns, with
    functions of columns, for many.
    """
    return _source(program, program.name, FUNCTIONS, _EITHER)


def _source(program: Program, name: str, functions: Iterable[str], language: Language) -> str:
    plan = schedule(program)
    parameters = ", ".join([*(i.name for i in program.inputs), *functions])
    lines = [f"def {name}({parameters}):"]
    for node in plan.order:
        lines.append(f"    {plan.names[node]} = {write(node, plan.names, language)}")
    lines.append("    return [")
    for output in program.outputs:
        lines.append(f"        {plan.names.get(output) or write(output, plan.names, language)},")
    return "\n".join([*lines, "    ]", ""])


_MODULE = '''"""{heading}

{usage}
"""

import numpy as np


def {name}({parameters}):
    """One state or a batch: arrays (n,) or (N, n) in, array {shape} or (N, …) out."""
    {transposed}
    states = np.broadcast_shapes(*(x.shape[1:] for x in ({parameters},)))
    result = np.empty(states + ({size},))
    with np.errstate(divide="ignore", invalid="ignore"):  # of values that are not selected
        outputs = _{name}({parameters})
    for k, output in enumerate(outputs):
        result[..., k] = output
    return result.reshape(states + {shape})


{function}'''


def python_module(program: Program, heading: str) -> str:
    """A self-contained Python module with the program as function of arrays."""
    names = [i.name for i in program.inputs]
    return _MODULE.format(
        heading=heading,
        usage=str(program.operations) + ".",
        name=program.name,
        parameters=", ".join(names),
        shape=program.signature.shape,
        size=program.signature.size,
        transposed="\n    ".join(f"{name} = np.asarray({name}, float).T" for name in names),
        function=_source(program, f"_{program.name}", (), _COLUMNS),
    )
