"""Programs as SymPy expressions, in the form that `sympy.cse` gives."""

from __future__ import annotations

from typing import Any

from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.operations import OPERATIONS
from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import schedule


def sympy_equations(program: Program) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Intermediate quantities with their definitions, and the outputs in terms of them.

    Inputs become symbols ``q1``, ``u1``, ``udot1``, …, which count from one.
    """
    import sympy

    operations = {name: row.sympy(sympy) for name, row in OPERATIONS.items()}
    plan = schedule(program)
    values: dict[Expr, Any] = {}
    replacements = []
    for node in program.nodes:
        if node.op == "const":
            value = sympy.Float(node.value, 17)
        elif node.op == "input":
            name, position = node.entry
            value = sympy.Symbol(f"{name}{position + 1}", real=True)
        else:
            value = operations[node.op](*(values[arg] for arg in node.args))
        if node in plan.names:
            symbol = sympy.Symbol(plan.names[node], real=True)
            replacements.append((symbol, value))
            value = symbol
        values[node] = value
    return replacements, [values[output] for output in program.outputs]
