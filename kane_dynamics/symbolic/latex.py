"""Programs as LaTeX, with the intermediate quantities Z1, Z2, … of the papers."""

from __future__ import annotations

import re

from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import schedule
from kane_dynamics.symbolic.text import Language, write

_INPUT_NAMES = {"udot": r"\dot{u}", "tau": r"\tau", "wrenches": "w"}
_OUTPUT_NAMES = {
    "inverse_dynamics": r"\tau",
    "bias": r"\tau",
    "gravity": r"\tau",
    "forward_dynamics": r"\dot{u}",
    "mass_matrix": "M",
    "jacobian": "J",
}


def _number(value: float) -> str:
    text = f"{value:.10g}"
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


_LATEX = Language(
    operators={
        "add": "{0} + {1}",
        "sub": "{0} - {1}",
        "mul": r"{0} \, {1}",
        "div": r"\frac{{{0}}}{{{1}}}",
        "neg": "-{0}",
        "sin": r"\sin({0})",
        "cos": r"\cos({0})",
        "sqrt": r"\sqrt{{{0}}}",
        "sign": r"\operatorname{{sgn}}({0})",
    },
    constant=_number,
    input=lambda name, position: f"{_INPUT_NAMES.get(name, name)}_{{{position + 1}}}",
)


def latex_source(program: Program) -> str:
    """The assignments of a program as an ``align*`` environment; entries count from one.

    Sine and cosine of the k-th angle are written s_k and c_k.
    """
    plan = schedule(program)
    names = {node: _subscripted(name) for node, name in plan.names.items()}
    lines = []
    for node in plan.order:
        lines.append(rf"{names[node]} &= {write(node, names, _LATEX)} \\")
    symbol = _OUTPUT_NAMES.get(program.name, rf"\mathrm{{{program.name.replace('_', ' ')}}}")
    for position, output in enumerate(program.outputs):
        index = _index(position, program.signature.shape)
        text = names.get(output) or write(output, names, _LATEX)
        lines.append(rf"{symbol}_{{{index}}} &= {text} \\")
    return "\n".join([r"\begin{align*}", *lines, r"\end{align*}", ""])


def _subscripted(name: str) -> str:
    return re.sub(r"([A-Za-z]+)(\d+)", r"\1_{\2}", name)


def _index(position: int, shape: tuple[int, ...]) -> str:
    if len(shape) < 2:
        return str(position + 1)
    row, column = divmod(position, shape[1])
    return f"{row + 1},{column + 1}"
