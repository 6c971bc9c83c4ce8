"""Long programs in pieces: a compiler's time grows faster than the function it reads."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import CIRCULAR, Schedule

PIECE = 300
"""Steps in one piece at most."""

SHORTEST = 200
"""Steps in one piece at least, but for the last one."""

Life = tuple[int, int]


class Step(NamedTuple):
    """What is computed at once: a named expression, sine and cosine of an angle, or an output."""

    nodes: tuple[Expr, ...]
    output: int | None = None

    @property
    def circular(self) -> bool:
        return self.output is None and self.nodes[0].op in CIRCULAR

    def needs(self, names: Container[Expr]) -> Iterator[Expr]:
        """The named expressions in terms of which it is written."""
        stack = list(self.nodes)
        if self.output is None:
            stack = [arg for node in self.nodes for arg in node.args]
        while stack:
            node = stack.pop()
            if node in names:
                yield node
            else:
                stack.extend(node.args)


class Pieces(NamedTuple):
    """A program as functions that are called one after the other.

    Values that later pieces need are kept in `size` places; a place is used again after the last
    piece that needs what is kept there.
    """

    pieces: Sequence[Sequence[Step]]
    places: Mapping[Expr, int]
    size: int


def in_pieces(program: Program, plan: Schedule) -> Pieces:
    """A program cut where few values live on."""
    steps = _steps(plan)
    outputs = [Step((node,), position) for position, node in enumerate(program.outputs)]
    if len(steps) + len(outputs) <= PIECE:
        return Pieces([[*steps, *outputs]], {}, 0)
    made = {node: k for k, step in enumerate(steps) for node in step.nodes}
    # An output is written as soon as it is known: then nothing is kept for it.
    ready = [max((made[node] for node in step.needs(made)), default=0) for step in outputs]
    order = sorted([*enumerate(steps), *zip(ready, outputs)], key=lambda each: each[0])
    steps = [step for _, step in order]
    lives = _lives(steps, plan.names)
    cuts = _cuts(lives.values(), len(steps))
    pieces = [steps[begin:end] for begin, end in itertools.pairwise(cuts)]
    number = [k for k, piece in enumerate(pieces) for _ in piece]
    return Pieces(pieces, *_places({x: (number[a], number[b]) for x, (a, b) in lives.items()}))


def _steps(plan: Schedule) -> list[Step]:
    """Named expressions in their order; sine and cosine of an angle are one step."""
    angles: dict[Expr, tuple[Expr, ...]] = {}
    for node in plan.order:
        if node.op in CIRCULAR:
            angles[node.args[0]] = (*angles.get(node.args[0], ()), node)
    steps = [angles.pop(n.args[0], ()) if n.op in CIRCULAR else (n,) for n in plan.order]
    return [Step(nodes) for nodes in steps if nodes]


def _lives(steps: Sequence[Step], names: Container[Expr]) -> dict[Expr, Life]:
    """For each named expression the step that makes it, and the last one that needs it."""
    lives: dict[Expr, Life] = {}
    for k, step in enumerate(steps):
        for node in step.needs(names):
            lives[node] = (lives[node][0], k)
        if step.output is None:
            lives.update(dict.fromkeys(step.nodes, (k, k)))
    return lives


def _cuts(lives: Iterable[Life], end: int) -> list[int]:
    """Where pieces begin and end: in reach, the place with fewest living values, the farthest."""
    change = [0] * (end + 2)
    for first, last in lives:
        change[first + 1] += 1
        change[last + 1] -= 1
    living = list(itertools.accumulate(change))
    cuts = [0]
    while end - cuts[-1] > PIECE:
        reach = range(cuts[-1] + PIECE, cuts[-1] + SHORTEST - 1, -1)
        cuts.append(min(reach, key=living.__getitem__))
    return [*cuts, end]


def _places(lives: Mapping[Expr, Life]) -> tuple[dict[Expr, int], int]:
    """A place for every value that is made in one piece and needed in a later one; how many."""
    places: dict[Expr, int] = {}
    free: list[int] = []
    leaving: dict[int, list[int]] = {}
    size = 0
    for node, (first, last) in lives.items():
        if last > first:
            for gone in [piece for piece in leaving if piece < first]:
                free += leaving.pop(gone)
            if not free:
                free.append(size)
                size += 1
            places[node] = free.pop()
            leaving.setdefault(last, []).append(places[node])
    return places, size
