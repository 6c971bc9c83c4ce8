"""Equations of motion as text: C, Python or LaTeX."""

from __future__ import annotations

from kane_dynamics.errors import ArgumentError
from kane_dynamics.symbolic.c import c_source
from kane_dynamics.symbolic.latex import latex_source
from kane_dynamics.symbolic.numpy import python_module
from kane_dynamics.symbolic.program import Program

_SYMBOLS = {
    "udot": r"\dot{u}",
    "tau": r"\tau",
    "inverse_dynamics": r"\tau",
    "bias": r"\tau",
    "gravity": r"\tau",
    "forward_dynamics": r"\dot{u}",
    "mass_matrix": "M",
    "jacobian": "J",
    "pose": "T",
}
"""LaTeX for inputs and outputs."""


def listing(derived: Program, language: str, head: str) -> str:
    """The text of a program.

    Parameters
    ----------
    derived : Program
    language : {"c", "python", "latex"}
    head : str
        What stands above it as a comment.

    Raises
    ------
    ArgumentError
        If there is no such language.
    """
    if language not in ("c", "python", "latex"):
        raise ArgumentError(f"language must be 'c', 'python' or 'latex', got {language!r}")
    if language == "c":
        return c_source(derived, head)
    if language == "python":
        return python_module(derived, head)
    symbol = _SYMBOLS.get(derived.name, rf"\mathrm{{{derived.name}}}")
    return latex_source(derived, symbol, _SYMBOLS)
