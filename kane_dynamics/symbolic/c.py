"""Programs as C: a file for a user to take away, and how C writes expressions."""

from __future__ import annotations

from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.operations import FUNCTIONS, OPERATIONS, call
from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import Schedule, schedule
from kane_dynamics.symbolic.text import Language, write


def _number(value: float) -> str:
    text = repr(value)
    return text if any(mark in text for mark in ".e") else text + ".0"


MACROS = Language(
    operators={
        name: call(name.upper(), row.arity) if name in FUNCTIONS else row.c
        for name, row in OPERATIONS.items()
    },
    constant=_number,
    input=lambda name, position: f"in_{name}({position})",
)
"""In terms of macros for inputs and functions, such as ``in_q(0)`` and ``SQRT(x)``."""

_PLAIN = Language(
    operators={name: row.c for name, row in OPERATIONS.items()},
    constant=_number,
    input=lambda name, position: f"{name}[{position}]",
)


def c_source(program: Program, comment: str = "") -> str:
    """A self-contained C99 file with one function: no allocation, nothing but ``libm``.

    Parameters
    ----------
    program : Program
    comment : str
        Put at the head of the file.
    """
    plan = schedule(program)
    name = program.name
    parameters = [f"const double {i.name}[{i.size}]" for i in program.inputs]
    size = max(program.signature.size, 1)
    lines = ["/*", *(f" * {line}".rstrip() for line in comment.splitlines())]
    lines += [f" * {line}" for line in _usage(program)]
    lines += [" */", ""]
    functions = [row for name, row in FUNCTIONS.items() if any(n.op == name for n in program.nodes)]
    if functions:
        lines += ["#include <math.h>", ""]
    prototype = f"void {name}({', '.join([*parameters, f'double out[{size}]'])})"
    lines += [f"{prototype};", ""]
    lines += [line for row in functions if row.c_function for line in (row.c_function, "")]
    lines += [prototype, "{"]
    body = [
        f"const double {plan.names[node]} = {write(node, plan.names, _PLAIN)};"
        for node in plan.order
    ]
    used = {n.entry[0] for n in program.nodes if n.op == "input"}
    body += [f"(void){i.name};" for i in program.inputs if i.name not in used]
    body += [f"out[{k}] = {_output(o, plan, _PLAIN)};" for k, o in enumerate(program.outputs)]
    return "\n".join([*lines, *(f"    {line}" for line in body), "}", ""])


def _usage(program: Program) -> list[str]:
    shape = "x".join(map(str, program.signature.shape)) or "1"
    inputs = ", ".join(f"{i.name} ({i.size})" for i in program.inputs)
    return [
        f"{program.name}: inputs {inputs}; out ({shape}, row by row).",
        str(program.operations) + ".",
    ]


def _output(output: Expr, plan: Schedule, language: Language) -> str:
    return plan.names.get(output) or write(output, plan.names, language)
