"""Evaluates what `stanford_paper` prints: an oracle for the dynamics of the Stanford Arm.

Functions take one state (6,) or a batch (N, 6). Generalized speeds u are the paper's, and torques
are (τ1 … τ5, σ) with the signs of the paper.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from types import CodeType

import numpy as np
import stanford_paper as paper
from stanford_paper import Misprint

from kane_dynamics.arrays import Array

Values = dict[str, Array]

EFFORT_SIGNS = np.array([1.0, -1.0, -1.0, -1.0, -1.0, -1.0])
"""What (τ1 … τ5, σ) is multiplied by to be the efforts of the URDF, and the other way round."""

APPENDICES = (
    paper.PARAMETERS,
    paper.COSINES,
    paper.APPENDIX_1,
    paper.APPENDIX_2,
    paper.APPENDIX_4,
)
TORQUE_NAMES = ("tau1", "tau2", "tau3", "tau4", "tau5", "sigma")


def definitions(*texts: str) -> Iterator[tuple[str, str]]:
    """Symbols, and what they are equal to."""
    for text in texts:
        for line in re.split(r"[;\n]\s*(?=\w+ = )", text.strip()):
            symbol, value = line.split(" = ")
            yield symbol, re.sub(r"\s+", " ", value)


@cache
def code(*texts: str, misprint: Misprint | None = None) -> CodeType:
    """Definitions as a program, one of them perhaps as it is misprinted."""
    lines = dict(definitions(*texts))
    if misprint is not None:
        line = lines[misprint.symbol]
        assert line.count(misprint.correct) == 1, f"{misprint.correct} in {line}"
        lines[misprint.symbol] = line.replace(misprint.correct, misprint.printed)
    return compile("\n".join(f"{k} = {v}" for k, v in lines.items()), "paper", "exec")


def named(letter: str, columns: Array) -> Values:
    return {f"{letter}{k + 1}": columns[..., k] for k in range(columns.shape[-1])}


def configuration(q: Array) -> Values:
    return named("q", q) | named("s", np.sin(q)) | named("c", np.cos(q))


def stacked(values: Values, *names: str) -> Array:
    columns = np.empty((*values["c1"].shape, len(names)))
    for k, name in enumerate(names):
        columns[..., k] = values[name]
    return columns


def numbered(letter: str) -> tuple[str, ...]:
    return tuple(f"{letter}{k}" for k in range(1, 7))


def quantities(q: Array, u: Array, misprint: Misprint | None = None) -> Values:
    """Every symbol of the appendices."""
    values = configuration(q) | named("u", u)
    exec(code(*APPENDICES, misprint=misprint), {}, values)
    return values


def speeds(q: Array, qdot: Array) -> Array:
    values = configuration(q) | named("v", qdot)
    exec(code(paper.SPEEDS), {}, values)
    return stacked(values, *numbered("u"))


def speed_derivatives(q: Array, qdot: Array, qddot: Array) -> Array:
    """Derivatives of u."""
    values = configuration(q) | named("v", qdot)
    exec(code(paper.SPEED_RATES), {}, values)
    return speeds(q, qddot) + stacked(values, *numbered("U"))


def rates(q: Array, u: Array) -> Array:
    """Derivatives of q, by equations 8 to 12."""
    return stacked(quantities(q, u), "Z1", "Z2", "Z3", "u4", "u5", "u6")


def accelerations(q: Array, u: Array, tau: Array, misprint: Misprint | None = None) -> Array:
    """Derivatives of u, by equations 118 to 123."""
    values = quantities(q, u, misprint) | dict(zip(TORQUE_NAMES, np.moveaxis(tau, -1, 0)))
    exec(code(paper.RIGHT_HAND_SIDES), {}, values)
    entries = [f"X{min(r, s)}{max(r, s)}" for r in range(1, 7) for s in range(1, 7)]
    inertia = stacked(values, *entries).reshape(*q.shape, 6)
    return np.linalg.solve(inertia, stacked(values, *numbered("R"))[..., None])[..., 0]


def torques(q: Array, u: Array, udot: Array) -> Array:
    """Torques that produce a motion."""
    values = quantities(q, u) | named("udot", udot)
    exec(code(paper.TORQUES), {}, values)
    return stacked(values, *TORQUE_NAMES)


def feedback(q: Array, qdot: Array) -> Array:
    """Torques of the controller of equations 128 to 133."""
    values = configuration(q) | named("v", qdot) | named("k", paper.GAINS) | named("Q", paper.GOAL)
    exec(code(paper.PARAMETERS, paper.FEEDBACK), {}, values)
    return stacked(values, *TORQUE_NAMES)


def momentum(q: Array, u: Array) -> Array:
    """Angular momentum about the vertical through A*: W31 of appendix 4."""
    return quantities(q, u)["W31"]


def written_operations() -> tuple[int, int]:
    """Multiplications, divisions and squares among them, and additions that `torques` performs."""
    texts = (paper.COSINES, paper.APPENDIX_1, paper.APPENDIX_2, paper.TORQUES)
    operators = [
        type(node.op)
        for _, value in definitions(*texts)
        for node in ast.walk(ast.parse(value, mode="eval"))
        if isinstance(node, ast.BinOp)
    ]
    additions = sum(operator in (ast.Add, ast.Sub) for operator in operators)
    return len(operators) - additions, additions
