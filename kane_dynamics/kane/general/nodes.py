"""Bodies and loaded points as nodes, each of which moves with another one but for a few speeds.

The velocity of a link of a chain is that of the link before, carried to another point, plus what
the speeds of the joint between them add. In any model, whatever its speeds, such relations are
looked for: those that leave a node the fewest speeds of its own. Whether they hold is judged in
numbers at a few configurations; a node that follows from no other stands on the ground.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.kane.general.kinematics import Kinematics
from kane_dynamics.symbolic.derivative import derivatives
from kane_dynamics.symbolic.evaluate import evaluations
from kane_dynamics.symbolic.graph import Expr, reachable
from kane_dynamics.symbolic.substitution import substituted
from kane_dynamics.symbolic.vector import Matrix, Vector

VANISHED = 1e-9
"""What is this much smaller than the largest partial velocity of its kind is zero."""

NOISE = 1e-14
"""A measure number this much smaller than the largest of its vector is rounding."""

Columns = dict[int, Vector]
"""Partial velocities that are not zero, by the positions of their speeds."""


@dataclass(frozen=True, eq=False)
class Node:
    """A body, a particle, or a point or frame that something acts on.

    Attributes
    ----------
    name : str
    point, body : Point, ReferenceFrame, or None
        What moves and what turns, as far as it matters.
    frame : ReferenceFrame
        In which the angular velocity is given: that of the body, or one in which its inertia is
        simpler, such as that of the axle of a wheel.
    basis : ReferenceFrame
        In which the velocity of the point is given.
    omega, velocity : Vector, optional
        While the auxiliary speeds are zero.
    mass : Expr, optional
    inertia : Matrix, optional
        Central, in `frame`.
    forces, torques : tuple of Vector
        Loads, in `basis` and in `frame`.
    turns, moves : dict
        Partial angular velocities and partial velocities, of auxiliary speeds too; where there is
        a parent, what remains of them.
    parent : int
        The node it moves with, -1 for the ground.
    turned : bool
        Whether the angular velocity contains that of the parent.
    lever : Vector, optional
        In the frame of the parent: how far its turning carries the point.
    held : bool
        Whether it is no more than a point that constraints hold.
    """

    name: str
    point: Any
    body: Any
    frame: Any
    basis: Any
    omega: Vector | None
    velocity: Vector | None
    mass: Expr | None = None
    inertia: Matrix | None = None
    forces: tuple[Vector, ...] = ()
    torques: tuple[Vector, ...] = ()
    turns: Columns = field(default_factory=dict)
    moves: Columns = field(default_factory=dict)
    parent: int = -1
    turned: bool = False
    lever: Vector | None = None
    held: bool = False
    offset: Vector | None = None

    @property
    def own(self) -> tuple[int, ...]:
        """Speeds that it does not get from its parent."""
        return tuple(sorted({*self.turns, *self.moves}))


class Tie(NamedTuple):
    """A way in which a node may move with another one; the simplest comes first."""

    own: int
    complexity: int
    parent: int
    turned: bool
    lever: str


def is_still(x: Expr) -> bool:
    """Whether an expression depends on nothing that changes."""
    return all(node.op != "input" or node.entry[0] == "constants" for node in reachable([x]))


def between(kinematics: Kinematics, start: Node, end: Node) -> list[tuple[Vector, Any]] | None:
    """From the place of one node to that of another, in parts by frame."""
    parts = kinematics.position(start.point, end.point)
    if parts is None:
        return None
    if start.offset is not None:
        parts = [*parts, (-start.offset, start.frame)]
    return parts if end.offset is None else [*parts, (end.offset, end.frame)]


def columns(v: Vector | None, speeds: Sequence[Expr]) -> Columns:
    """Partial velocities of a vector that is linear in the speeds."""
    if v is None or not speeds:
        return {}
    graph = v.x.graph
    rows = derivatives(graph, v, speeds)
    found = {k: Vector(*(row[k] for row in rows)) for k in range(len(speeds))}
    return {k: each for k, each in found.items() if any(e is not graph.zero for e in each)}


def tied(
    nodes: Sequence[Node],
    kinematics: Kinematics,
    points: Sequence[Mapping[str, Sequence[float]]],
    speeds: int,
) -> list[Node]:
    """The same nodes, with parents where these leave them fewer speeds."""
    numbers = _Numbers(nodes, kinematics, points, speeds)
    order = sorted(range(len(nodes)), key=lambda k: (nodes[k].held, len(nodes[k].own), k))
    place = {old: new for new, old in enumerate(order)}
    found: list[Node] = []
    for new, old in enumerate(order):
        node = nodes[old]
        ties = [Tie(len(node.own), 0, -1, False, "")]
        for other in order[:new]:
            if set(nodes[other].own) & set(node.own):
                ties += numbers.ties(old, other)
        best = min(ties)
        if best.parent < 0:
            found.append(node)
        else:
            tie = best._replace(parent=place[best.parent])
            found.append(_hung(node, nodes[best.parent], tie, numbers, (old, best), kinematics))
    return found


def _hung(
    node: Node,
    parent: Node,
    tie: Tie,
    numbers: _Numbers,
    which: tuple[int, Tie],
    kinematics: Kinematics,
) -> Node:
    """A node with a parent: what remains of its partial velocities."""
    lever = None
    if tie.lever:
        parts = between(kinematics, parent, node) or []
        if tie.lever == "rigid":
            parts = _rigid(kinematics, parts, parent)
        lever = numbers.cleaned(kinematics.gathered(parts, parent.frame))
    remains = numbers.remains(*which)
    turns: Columns = {}
    moves: Columns = {}
    for k in range(remains.turns.shape[-1]):
        if remains.turns_left[k]:
            before = parent.turns.get(k) if tie.turned else None
            turns[k] = _less(node.turns.get(k), before, parent.frame, node.frame, kinematics)
        if remains.moves_left[k]:
            carried = parent.moves.get(k)
            if lever is not None and k in parent.turns:
                arm = kinematics.turned(parent.turns[k].cross(lever), parent.frame, parent.basis)
                carried = arm if carried is None else carried + arm
            moves[k] = _less(node.moves.get(k), carried, parent.basis, node.basis, kinematics)
    return replace(
        node, turns=turns, moves=moves, parent=tie.parent, turned=tie.turned, lever=lever
    )


def _rigid(
    kinematics: Kinematics, parts: Sequence[tuple[Vector, Any]], parent: Node
) -> list[tuple[Vector, Any]]:
    """What stands still in the parent."""
    fixed = [parent.body]
    if kinematics.is_fixed(parent.body, parent.frame):
        fixed.append(parent.frame)
    return [part for part in parts if part[1] in fixed]


def _less(
    own: Vector | None, before: Vector | None, basis: Any, frame: Any, kinematics: Kinematics
) -> Vector:
    own = kinematics.zero if own is None else own
    return own if before is None else own - kinematics.turned(before, basis, frame)


class _Remains(NamedTuple):
    """What is left of partial velocities, (points, 3, speeds), and of which there is something."""

    turns: Array
    moves: Array
    turns_left: NDArray[np.bool_]
    moves_left: NDArray[np.bool_]


class _Numbers:
    """Partial velocities and positions of all nodes as numbers, in the inertial frame."""

    def __init__(
        self,
        nodes: Sequence[Node],
        kinematics: Kinematics,
        points: Sequence[Mapping[str, Sequence[float]]],
        speeds: int,
    ) -> None:
        self._nodes, self._kinematics, self._points = nodes, kinematics, points
        graph = kinematics.graph
        zero = [graph.zero] * 3
        frames: list[Any] = []
        for node in nodes:
            frames += [each for each in (node.frame, node.basis) if each not in frames]
        rotations = [kinematics.rotation(each, kinematics.inertial) for each in frames]
        flat = [element for matrix in rotations for row in matrix for element in row]
        for node in nodes:
            for found in (node.turns, node.moves):
                flat += [e for k in range(speeds) for e in found.get(k, zero)]
        values = np.array(list(evaluations(flat, points)))
        values = np.where(np.isfinite(values), values, 0.0)
        count = 9 * len(frames)
        matrices = values[:, :count].reshape(len(points), -1, 3, 3)
        turned = {each: matrices[:, k] for k, each in enumerate(frames)}
        rest = values[:, count:].reshape(len(points), len(nodes), 2, speeds, 3)
        self._turned = turned
        self.turns = [
            np.einsum("pij,psj->pis", turned[node.frame], rest[:, k, 0])
            for k, node in enumerate(nodes)
        ]
        self.moves = [
            np.einsum("pij,psj->pis", turned[node.basis], rest[:, k, 1])
            for k, node in enumerate(nodes)
        ]
        self._smallest = [
            VANISHED * max((np.abs(each).max(initial=0.0) for each in kind), default=0.0)
            for kind in (self.turns, self.moves)
        ]
        self._levers: dict[tuple[int, int], dict[str, Array]] = {}

    def ties(self, which: int, other: int) -> list[Tie]:
        """All ways in which a node may move with another one."""
        node, parent = self._nodes[which], self._nodes[other]
        levers = [""]
        if node.velocity is not None and parent.omega is not None and parent.point is not None:
            levers += list(self._lever(which, other))
        turnings = [False]
        if node.omega is not None and parent.omega is not None:
            turnings.append(True)
        found = []
        for turned in turnings:
            for lever in levers:
                tie = Tie(0, 2 * turned + len(lever), other, turned, lever)
                remains = self.remains(which, tie)
                own = int((remains.turns_left | remains.moves_left).sum())
                found.append(tie._replace(own=own))
        return found

    def remains(self, which: int, tie: Tie) -> _Remains:
        turns, moves = self.turns[which], self.moves[which]
        if tie.turned:
            turns = turns - self.turns[tie.parent]
        if self._nodes[which].velocity is not None:
            if self._nodes[tie.parent].velocity is not None:
                moves = moves - self.moves[tie.parent]
            if tie.lever:
                lever = self._lever(which, tie.parent)[tie.lever]
                moves = moves - np.cross(
                    self.turns[tie.parent], lever[:, :, None], axisa=1, axisb=1, axisc=1
                )
        left = [
            (np.abs(each) > smallest).any(axis=(0, 1))
            for each, smallest in zip((turns, moves), self._smallest)
        ]
        return _Remains(turns, moves, *left)

    def _lever(self, which: int, other: int) -> dict[str, Array]:
        """From another node to this one, in the inertial frame: whole, and what turns with it."""
        if (which, other) not in self._levers:
            node, parent = self._nodes[which], self._nodes[other]
            parts = between(self._kinematics, parent, node) or []
            found = {}
            if parts:
                found["whole"] = self._sum(parts)
                rigid = _rigid(self._kinematics, parts, parent)
                if rigid and len(rigid) < len(parts):
                    found["rigid"] = self._sum(rigid)
            self._levers[which, other] = found
        return self._levers[which, other]

    def cleaned(self, v: Vector) -> Vector:
        """A vector without measure numbers that are zero, though they are not written so."""
        values = np.abs(np.array(list(evaluations(v, self._points)))).max(axis=0)
        if not np.isfinite(values).all():
            return v
        zero = v.x.graph.zero
        return Vector(*(zero if size <= NOISE * values.max() else e for e, size in zip(v, values)))

    def _sum(self, parts: Sequence[tuple[Vector, Any]]) -> Array:
        total = np.zeros((len(self._points), 3))
        for measures, frame in parts:
            numbers = np.array(list(evaluations(measures, self._points)))
            if frame not in self._turned:
                matrix = self._kinematics.rotation(frame, self._kinematics.inertial)
                flat = [element for row in matrix for element in row]
                values = np.array(list(evaluations(flat, self._points)))
                self._turned[frame] = values.reshape(-1, 3, 3)
            total += np.einsum("pij,pj->pi", self._turned[frame], numbers)
        return total


def at_rest(v: Vector, speeds: int, auxiliary: int) -> Vector:
    """What a velocity is while all speeds are zero."""
    graph = v.x.graph
    zeros = {"u": [graph.zero] * speeds, "aux": [graph.zero] * auxiliary}
    return Vector(*substituted(graph, v, zeros))
