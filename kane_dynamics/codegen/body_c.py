"""What a program computes as C, in the macros of kernel.h: the same text for one state and many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kane_dynamics.symbolic.c import MACROS
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.interleaving import interleaved
from kane_dynamics.symbolic.pieces import Step, in_pieces
from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import Schedule, schedule
from kane_dynamics.symbolic.text import write

SIDE_BY_SIDE = 4
"""Angles whose sines and cosines are computed together."""


def body(program: Program) -> str:
    """C text of ``BODY``, in pieces where it is long; ``KEPT`` values pass between the pieces.

    ``in_<name>(i)`` reads an input, ``out(i)`` is an output, ``SINCOS2(x, s, c, y, t, d)`` assigns
    sines and cosines of two angles, ``SIGN(x)`` and the like are functions, and ``REAL(x)`` makes
    a number a value of type ``real``. Where an order suits one state better than many, both stand
    there: of many states, side by side, there is always one to go on with.
    """
    plan = schedule(program)
    interwoven = interleaved(plan)
    if interwoven is plan:
        return _in_order(program, plan)
    of_one, of_many = _in_order(program, interwoven), _in_order(program, plan)
    return "\n".join(["#if defined(ONE_STATE)", of_one, "#else", of_many, "#endif"])


def _in_order(program: Program, plan: Schedule) -> str:
    cut = in_pieces(program, plan)
    names = {**plan.names, **{node: f"kept[{place}]" for node, place in cut.places.items()}}
    bodies = [_statements(piece, plan.names, names) for piece in cut.pieces]
    if len(bodies) == 1:
        return "\n".join(["#define KEPT 0", *_function("BODY", bodies[0])])
    functions = [line for k, each in enumerate(bodies) for line in _function(f"PIECE({k})", each)]
    calls = [f"CALL({k});" for k in range(len(bodies))]
    return "\n".join([f"#define KEPT {cut.size}", *functions, *_function("BODY", calls)])


def _function(head: str, lines: Sequence[str]) -> list[str]:
    return [head, "{", *lines, "}"]


def _statements(
    steps: Sequence[Step], plain: Mapping[Expr, str], names: Mapping[Expr, str]
) -> list[str]:
    """Statements of one piece; values that it keeps need no declaration."""
    lines: list[str] = []
    together: list[Step] = []
    for step in steps:
        if together and not (step.circular and _fits(step, together, names)):
            lines += _sines_cosines(together, plain, names)
            together = []
        if step.circular:
            together.append(step)
            continue
        (node,) = step.nodes
        if step.output is None:
            declared = "const real " if names[node] is plain[node] else ""
            lines.append(f"{declared}{names[node]} = {write(node, names, MACROS)};")
        else:
            text = names.get(node) or write(node, names, MACROS)
            text = f"REAL({text})" if node.op == "const" else text
            lines.append(f"out({step.output}) = {text};")
    return lines + (_sines_cosines(together, plain, names) if together else [])


def _fits(step: Step, together: Sequence[Step], names: Mapping[Expr, str]) -> bool:
    """Whether one more angle can be treated at the same time, as it does not depend on others."""
    made = {node for each in together for node in each.nodes}
    return len(together) < SIDE_BY_SIDE and made.isdisjoint(step.needs(names))


def _sines_cosines(
    together: Sequence[Step], plain: Mapping[Expr, str], names: Mapping[Expr, str]
) -> list[str]:
    words, local = [], []
    for step in together:
        angle, number = step.nodes[0].args[0], plain[step.nodes[0]][1:]
        both = {"s": f"s{number}", "c": f"c{number}"}
        kept = {node.op[0]: names[node] for node in step.nodes if names[node] is not plain[node]}
        local += [name for letter, name in both.items() if letter not in kept]
        words += [names.get(angle) or write(angle, names, MACROS), *(both | kept).values()]
    declaration = [f"real {', '.join(local)};"] if local else []
    return [*declaration, f"SINCOS{len(together)}({', '.join(words)});"]
