"""Programs as LaTeX, with the intermediate quantities Z1, Z2, … of the papers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from kane_dynamics.symbolic.operations import OPERATIONS
from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import schedule
from kane_dynamics.symbolic.text import Language, write


def _number(value: float) -> str:
    text = f"{value:.10g}"
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


_LATEX = Language(
    operators={name: row.latex for name, row in OPERATIONS.items()},
    constant=_number,
    input=lambda name, position: f"{name}_{{{position + 1}}}",
)


def latex_source(program: Program, output: str, symbols: Mapping[str, str]) -> str:
    """The assignments of a program as an ``align*`` environment; entries count from one.

    Sine and cosine of the k-th angle are written s_k and c_k.

    Parameters
    ----------
    program : Program
    output : str
        LaTeX of the symbol for the output.
    symbols : mapping from str to str
        LaTeX of the symbols for inputs that are not written by their name.
    """
    language = replace(
        _LATEX,
        input=lambda name, position: f"{symbols.get(name, name)}_{{{position + 1}}}",
    )
    plan = schedule(program)
    names = {node: _subscripted(name) for node, name in plan.names.items()}
    lines = []
    for node in plan.order:
        lines.append(rf"{names[node]} &= {write(node, names, language)} \\")
    for position, node in enumerate(program.outputs):
        index = _index(position, program.signature.shape)
        text = names.get(node) or write(node, names, language)
        lines.append(rf"{output}_{{{index}}} &= {text} \\")
    return "\n".join([r"\begin{align*}", *lines, r"\end{align*}", ""])


def _subscripted(name: str) -> str:
    return re.sub(r"([A-Za-z]+)(\d+)", r"\1_{\2}", name)


def _index(position: int, shape: tuple[int, ...]) -> str:
    if len(shape) < 2:
        return str(position + 1)
    row, column = divmod(position, shape[1])
    return f"{row + 1},{column + 1}"
