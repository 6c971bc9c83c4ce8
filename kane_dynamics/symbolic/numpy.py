"""Programs as Python, for numbers and for NumPy columns alike."""

from __future__ import annotations

from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import schedule
from kane_dynamics.symbolic.text import Language, write

FUNCTION_NAMES = ("sin", "cos", "sign", "sqrt")

_PYTHON = Language(
    operators={
        "add": "{0} + {1}",
        "sub": "{0} - {1}",
        "mul": "{0}*{1}",
        "div": "{0}/{1}",
        "neg": "-{0}",
        **{name: f"{name}({{0}})" for name in FUNCTION_NAMES},
    },
    constant=repr,
    input=lambda name, position: f"{name}[{position}]",
)


def python_source(program: Program) -> str:
    """A Python function of the inputs and of ``sin, cos, sign, sqrt`` that lists the outputs.

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
    outputs = _{name}({parameters}, np.sin, np.cos, np.sign, np.sqrt)
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
        function=python_source(program).replace("def ", "def _", 1),
    )
