"""Long programs in pieces: a compiler's time grows faster than the function it reads."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import TURNS, Schedule

PIECE = 300
"""Steps in one piece at most."""

SHORTEST = 200
"""Steps in one piece at least, but for the last one."""


@dataclass(frozen=True)
class Step:
    """What is computed at once: a named expression, sine and cosine of one angle, or an output.

    Attributes
    ----------
    nodes : tuple of Expr
        The expressions that get their values.
    output : int or None
        Position of the output.
    """

    nodes: tuple[Expr, ...]
    output: int | None = None

    @property
    def turns(self) -> bool:
        """Whether it is about an angle."""
        return self.output is None and self.nodes[0].op in TURNS

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


@dataclass(frozen=True)
class Pieces:
    """A program as functions that are called one after the other.

    Attributes
    ----------
    pieces : list of list of Step
    places : mapping from Expr to int
        Where values are kept that later pieces need. A place is used again after the last piece
        that needs what is kept there.
    size : int
        Number of places.
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
    steps = _with_outputs(steps, outputs, plan.names)
    made, needed = _lifetimes(steps, plan.names)
    cuts = _cuts(_living(made, needed, len(steps)))
    pieces = [steps[begin:end] for begin, end in itertools.pairwise(cuts)]
    number = [k for k, piece in enumerate(pieces) for _ in piece]
    return Pieces(
        pieces, *_places({node: (number[made[node]], number[needed[node]]) for node in made})
    )


def _steps(plan: Schedule) -> list[Step]:
    """Named expressions in their order; sine and cosine of an angle are one step."""
    steps: list[Step] = []
    for turns, nodes in itertools.groupby(plan.order, lambda node: node.op in TURNS):
        if turns:
            by_angle: dict[Expr, list[Expr]] = {}
            for node in nodes:
                by_angle.setdefault(node.args[0], []).append(node)
            steps += [Step(tuple(both)) for both in by_angle.values()]
        else:
            steps += [Step((node,)) for node in nodes]
    return steps


def _with_outputs(
    steps: Sequence[Step], outputs: Sequence[Step], names: Mapping[Expr, str]
) -> list[Step]:
    """All steps, an output as soon as it can be had: then nothing needs to be kept for it."""
    position = {node: k for k, step in enumerate(steps) for node in step.nodes}
    ready: dict[int, list[Step]] = {}
    for step in outputs:
        last = max((position[node] for node in step.needs(names)), default=0)
        ready.setdefault(last, []).append(step)
    return [each for k, step in enumerate(steps) for each in (step, *ready.get(k, ()))]


def _lifetimes(
    steps: Sequence[Step], names: Mapping[Expr, str]
) -> tuple[dict[Expr, int], dict[Expr, int]]:
    """The step that makes each named expression, and the last that needs it."""
    made = {node: k for k, step in enumerate(steps) if step.output is None for node in step.nodes}
    needed = dict(made)
    for k, step in enumerate(steps):
        needed.update(dict.fromkeys(step.needs(names), k))
    return made, needed


def _living(made: Mapping[Expr, int], needed: Mapping[Expr, int], count: int) -> list[int]:
    """How many values are made before each step and needed in it or later."""
    change = [0] * (count + 1)
    for node, step in made.items():
        if needed[node] > step:
            change[step + 1] += 1
            change[needed[node] + 1] -= 1
    return list(itertools.accumulate(change))


def _cuts(living: Sequence[int]) -> list[int]:
    """Where pieces begin and end: in reach, the place with fewest living values, the farthest."""
    end = len(living) - 1
    cuts = [0]
    while end - cuts[-1] > PIECE:
        reach = range(cuts[-1] + PIECE, cuts[-1] + SHORTEST - 1, -1)
        cuts.append(min(reach, key=living.__getitem__))
    return [*cuts, end]


def _places(lives: Mapping[Expr, tuple[int, int]]) -> tuple[dict[Expr, int], int]:
    """A place for every value that is made in one piece and needed in a later one, and how many."""
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
