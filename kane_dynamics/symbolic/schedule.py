"""Which expressions of a program get a name of their own, and in which order.

As in Kane and Levinson's paper an intermediate quantity Z1, Z2, … is introduced for every small
expression that is used again; one that is used once stands where it is used, as long as the line
stays short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kane_dynamics.symbolic.graph import Expr, reachable
from kane_dynamics.symbolic.program import Program

LONGEST_LINE = 6
"""Operations in one line at most."""

LEAVES = frozenset({"const", "input"})
CIRCULAR = frozenset({"sin", "cos"})


@dataclass(frozen=True)
class Schedule:
    """Named expressions in order of evaluation.

    Attributes
    ----------
    order : tuple of Expr
        Expressions to be assigned, arguments before users. Sines and cosines stand together,
        right after the angles they are of.
    names : mapping from Expr to str
        ``Z1``, ``Z2``, …; sine and cosine of the k-th angle are ``s<k>`` and ``c<k>``.
    """

    order: tuple[Expr, ...]
    names: Mapping[Expr, str]


def schedule(program: Program) -> Schedule:
    """Names for the shared expressions of a program; angles, their sines and cosines come first."""
    circular = [node for node in program.nodes if node.op in CIRCULAR]
    angles = list(dict.fromkeys(node.args[0] for node in circular))
    needed = set(reachable(angles))
    depth = _depths(program)
    named = _named(program)
    order: list[Expr] = []
    for level in range(max((depth[angle] + 1 for angle in angles), default=0)):
        order += [node for node in named if node in needed and depth[node] == level]
        order += [node for node in circular if depth[node.args[0]] == level]
    order += [node for node in named if node not in needed]
    number = {angle: k for k, angle in enumerate(angles, 1)}
    names = {node: f"{node.op[0]}{number[node.args[0]]}" for node in circular}
    quantities = [node for node in order if node.op not in CIRCULAR]
    names.update({node: f"Z{k}" for k, node in enumerate(quantities, 1)})
    return Schedule(tuple(order), names)


def _depths(program: Program) -> dict[Expr, int]:
    """How many sines or cosines are nested in each expression."""
    depth: dict[Expr, int] = {}
    for node in program.nodes:
        depth[node] = max((depth[arg] for arg in node.args), default=0) + (node.op in CIRCULAR)
    return depth


def _named(program: Program) -> list[Expr]:
    """Expressions used more than once, and parts of those that would make a line too long."""
    uses = Counter(arg for node in program.nodes for arg in node.args)
    uses.update(program.outputs)
    # A sign is not worth a name: whoever uses -x uses x.
    for node in program.nodes:
        if node.op == "neg" and uses[node] > 1:
            uses[node.args[0]] += uses[node] - 1
    named: set[Expr] = set()
    length: dict[Expr, int] = {}
    for node in program.nodes:
        if node.op in LEAVES or node.op in CIRCULAR:
            length[node] = 0
            continue
        own = int(node.op != "neg")
        while own + sum(length[arg] for arg in node.args) > LONGEST_LINE:
            _name(max(node.args, key=lambda arg: length[arg]), named, length)
        length[node] = own + sum(length[arg] for arg in node.args)
        if node.op != "neg" and uses[node] > 1:
            _name(node, named, length)
    return sorted(named, key=lambda node: node.index)


def _name(node: Expr, named: set[Expr], length: dict[Expr, int]) -> None:
    named.add(node.args[0] if node.op == "neg" else node)
    length[node] = 0
