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


@dataclass(frozen=True)
class Schedule:
    """Named expressions in order of evaluation.

    Attributes
    ----------
    angles : tuple of Expr
        Arguments of sines and cosines; sine and cosine of the k-th are named ``s<k>``, ``c<k>``.
    early, late : tuple of Expr
        Expressions to be assigned before and after the sines and cosines, arguments before users.
    names : mapping from Expr to str
    """

    angles: tuple[Expr, ...]
    early: tuple[Expr, ...]
    late: tuple[Expr, ...]
    names: Mapping[Expr, str]


def schedule(program: Program) -> Schedule:
    """Names for the shared expressions of a program; angles, their sines and cosines come first."""
    named = _named(program)
    angles = list(dict.fromkeys(n.args[0] for n in program.nodes if n.op in ("sin", "cos")))
    needed = set(reachable(angles))
    early = [node for node in named if node in needed]
    late = [node for node in named if node not in needed]
    names: dict[Expr, str] = {}
    for number, angle in enumerate(angles, 1):
        for node in program.nodes:
            if node.op in ("sin", "cos") and node.args[0] is angle:
                names[node] = f"{node.op[0]}{number}"
    for number, node in enumerate([*early, *late], 1):
        names[node] = f"Z{number}"
    return Schedule(tuple(angles), tuple(early), tuple(late), names)


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
        if node.op in LEAVES or node.op in ("sin", "cos"):
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
