"""Equations of motion as text: C, Python or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

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


def listing(derived: Program, name: str, language: str, head: str) -> str:
    """The text of a program.

    Parameters
    ----------
    derived : Program
    name : str
        What it computes.
    language : {"c", "python", "latex"}
    head : str
        What stands above it as a comment.
    """
    if language == "c":
        return c_source(derived, head)
    if language == "python":
        return python_module(derived, head)
    symbol = _SYMBOLS.get(name, rf"\mathrm{{{name}}}")
    return latex_source(derived, symbol, _SYMBOLS)


def heading(robot: str, coordinates: Sequence[str], gravity: Sequence[float]) -> str:
    """What stands above the equations of a robot."""
    return (
        f"Equations of motion of {_printable(robot)} by Kane's method (kane_dynamics).\n"
        f"q: {' '.join(map(_printable, coordinates))}; SI units; gravity "
        f"{' '.join(f'{g:g}' for g in gravity)}."
    )


def _printable(name: str) -> str:
    """A name without anything that could end the comment it is put in."""
    return "".join(c if c.isalnum() or c in "_-. " else "_" for c in name)
