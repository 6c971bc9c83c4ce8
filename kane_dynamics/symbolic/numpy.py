"""Programs as Python, for numbers and for NumPy columns alike."""

from __future__ import annotations

from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import schedule
from kane_dynamics.symbolic.text import Language, write

FUNCTION_NAMES = ("sin", "cos", "sign", "sqrt", "select")

_PYTHON = Language(
    operators={
        "add": "{0} + {1}",
        "sub": "{0} - {1}",
        "mul": "{0}*{1}",
        "div": "{0}/{1}",
        "neg": "-{0}",
        **{name: f"{name}({{0}})" for name in FUNCTION_NAMES[:-1]},
        "select": "select({0}, {1}, {2})",
    },
    constant=repr,
    input=lambda name, position: f"{name}[{position}]",
)


def python_source(program: Program) -> str:
    """A Python function that lists the outputs, of the inputs and of `FUNCTION_NAMES`.

    Inputs are sequences: of numbers, with functions of `math`, for one state; of columns, with
    functions of NumPy, for many.
    """
    plan = schedule(program)
    parameters = ", ".join([*(i.name for i in program.inputs), *FUNCTION_NAMES])
    lines = [f"def {program.name}({parameters}):"]
    for node in plan.order:
        lines.append(f"    {plan.names[node]} = {write(node, plan.names, _PYTHON)}")
    lines.append("    return [")
    for output in program.outputs:
        lines.append(f"        {plan.names.get(output) or write(output, plan.names, _PYTHON)},")
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
        outputs = _{name}({parameters}, np.sin, np.cos, np.sign, np.sqrt, _select)
    for k, output in enumerate(outputs):
        result[..., k] = output
    return result.reshape(states + {shape})


def _select(condition, a, b):
    return np.where(condition >= 0.0, a, b)


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
        function=python_source(program).replace("def ", "def _", 1),
    )
