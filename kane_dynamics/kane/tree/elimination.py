"""Forces on a body and what it carries, linear in accelerations, from which speeds are eliminated.

A *subsystem* is a body and all that it carries. The measure numbers of the force and the moment it
must be given, and Kane's equations of those of its joints that are not solved yet, are linear in
the acceleration of the body and in the udot of these joints. Their coefficients are symmetric, for
they come from the kinetic energy, and stay so when a speed is eliminated.

Rows and columns have numbers: 0, 1, 2 for force and acceleration of the origin, 3, 4, 5 for moment
and angular acceleration, in the body's frame; `row(r)` for Kane's equation and udot of speed r; and
the column `REMAINDER` for what does not depend on accelerations.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kane_dynamics.kane.tree.frames import NEARLY_PARALLEL, FramedBody
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector

REMAINDER = -1

NOISE = 1e-10
"""Shares of a position below this are what is left of noise that was taken from the position."""

Entries = dict[tuple[int, int], Expr]


def row(speed: int) -> int:
    """The number of Kane's equation for a speed."""
    return 6 + speed


@dataclass(frozen=True)
class Coefficients:
    """Of accelerations in the forces on a subsystem; those not named in `entries` are zero."""

    graph: Graph
    entries: Entries  # row >= column

    def __getitem__(self, at: tuple[int, int]) -> Expr:
        return self.entries.get((max(at), min(at)), self.graph.zero)

    def __add__(self, other: Coefficients) -> Coefficients:
        return self.changed({at: self[at] + entry for at, entry in other.entries.items()})

    def changed(self, entries: Entries) -> Coefficients:
        ordered = {(max(at), min(at)): entry for at, entry in entries.items()}
        merged = {**self.entries, **ordered}
        zero = self.graph.zero
        return Coefficients(self.graph, {at: e for at, e in merged.items() if e is not zero})

    @cached_property
    def numbers(self) -> set[int]:
        return {number for at in self.entries for number in at}

    def of_speeds(self) -> Coefficients:
        """Kane's equations alone, for a body that does not move."""
        kept = {at: e for at, e in self.entries.items() if not {0, 1, 2, 3, 4, 5}.intersection(at)}
        return Coefficients(self.graph, kept)

    def turned(self, axis: int, cos: Expr, sin: Expr) -> Coefficients:
        """Seen from a frame that the own one is turned against about x, y or z (0, 1, 2).

        The trace and the skew part of a two by two block do not change; what does takes four
        products.
        """
        j, k = (axis + 1) % 3, (axis + 2) % 3
        new: Entries = {}
        for m, n in ((0, 0), (3, 0), (3, 3)):
            jj, jk = self[m + j, n + j], self[m + j, n + k]
            kj, kk = self[m + k, n + j], self[m + k, n + k]
            mixed = sin * (jj - kk) + cos * (jk + kj)
            shift = sin * mixed
            new[m + j, n + j], new[m + k, n + k] = jj - shift, kk + shift
            new[m + j, n + k], new[m + k, n + j] = cos * mixed - kj, cos * mixed - jk
        for n in self.numbers - {j, k, 3 + j, 3 + k}:
            for m in (0, 3):
                x, y = self[m + j, n], self[m + k, n]
                new[m + j, n], new[m + k, n] = cos * x - sin * y, sin * x + cos * y
        return self.changed(new)

    def moved(self, axis: int, r: Expr) -> Coefficients:
        """About a point from which the own origin is at r along x, y or z (0, 1, 2)."""
        if r is self.graph.zero:
            return self
        j, k = (axis + 1) % 3, (axis + 2) % 3
        new: Entries = {}
        for n in self.numbers - {3, 4, 5}:  # the moment of the forces: r x force
            new[3 + j, n] = self[3 + j, n] - r * self[k, n]
            new[3 + k, n] = self[3 + k, n] + r * self[j, n]
        moment = self.changed(new)  # the origin's acceleration is that of the point, + alpha x r
        new = {
            (3 + j, 3 + j): self[3 + j, 3 + j] - r * (self[3 + j, k] + moment[3 + j, k]),
            (3 + k, 3 + k): self[3 + k, 3 + k] + r * (self[3 + k, j] + moment[3 + k, j]),
            (3 + k, 3 + j): self[3 + k, 3 + j] + r * (moment[3 + j, j] - self[3 + k, k]),
            (3 + axis, 3 + j): self[3 + axis, 3 + j] - r * self[3 + axis, k],
            (3 + axis, 3 + k): self[3 + axis, 3 + k] + r * self[3 + axis, j],
        }
        return moment.changed(new)

    def with_joint(self, speed: int, partial: Mapping[int, Expr]) -> Coefficients:
        """With Kane's equation of a joint, whose udot now adds to the acceleration of the body.

        Parameters
        ----------
        partial : mapping of int to Expr
            Partial velocity (0, 1, 2) and partial angular velocity (3, 4, 5) of the body.
        """
        r = row(speed)
        new = {
            (r, n): self[r, n] + self.graph.sum([part * self[m, n] for m, part in partial.items()])
            for n in self.numbers - {r}
        }
        own = [part * (self[r, m] + new[r, m]) for m, part in partial.items() if (r, m) in new]
        new[r, r] = self[r, r] + self.graph.sum(own)
        return self.changed(new)

    def solved(self, speed: int, pivot: Expr) -> tuple[Coefficients, dict[int, Expr]]:
        """Without a speed, and minus its udot as coefficients of what is left.

        Parameters
        ----------
        pivot : Expr
            Of the speed in its own equation: `self[row(speed), row(speed)]`, or zero.
        """
        r, graph = row(speed), self.graph
        inverse = graph.one / pivot if pivot is not graph.zero else graph.zero
        # A joint along one axis feels just what the body feels along it: the part is one.
        whole = {self[r, r]: graph.one, -self[r, r]: -graph.one}
        others = [n for n in sorted(self.numbers) if n != r and self[r, n] is not graph.zero]
        parts = {n: whole.get(self[r, n], self[r, n] * inverse) for n in others}
        new: Entries = {}
        for m, n in itertools.combinations_with_replacement(others, 2):
            if n != REMAINDER:
                scaled, other = (m, n) if self[r, m] in whole else (n, m)
                new[m, n] = self[m, n] - parts[scaled] * self[r, other]
        kept = {at: entry for at, entry in self.entries.items() if r not in at}
        return Coefficients(graph, kept).changed(new), parts


def rigid(graph: Graph, body: FramedBody) -> Coefficients:
    """Of one body: m a and m r* x a, and what angular acceleration takes (eq. 79)."""
    m, (x, y, z), E = body.mass, body.first_moment, body.second_moment
    numbers = {(0, 0): m, (1, 1): m, (2, 2): m}
    numbers |= {(4, 0): z, (5, 0): -y, (3, 1): -z, (5, 1): x, (3, 2): y, (4, 2): -x}
    numbers |= {(3, 3): E[1, 1] + E[2, 2], (4, 4): E[0, 0] + E[2, 2], (5, 5): E[0, 0] + E[1, 1]}
    numbers |= {(4, 3): -E[0, 1], (5, 3): -E[0, 2], (5, 4): -E[1, 2]}
    entries = {at: graph.expr(number) for at, number in numbers.items()}
    return Coefficients(graph, {}).changed(entries)


def screws(
    position: Vector, swing: Sequence[Expr], twist: Sequence[Expr]
) -> tuple[float, float, float, float]:
    """The position of a turning body: along its axis, along x and y after the swing, along z.

    Parameters
    ----------
    swing, twist : sequence of Expr
        Cosine and sine of the constant angles about the inboard z, then about x.
    """
    (cos, sin), (cosine, sine) = ([part.value for part in pair] for pair in (swing, twist))
    x, y, z = (part.value for part in position)
    x, y, along = cos * x + sin * y, cos * y - sin * x, 0.0
    if abs(sine) > NEARLY_PARALLEL:
        along = -y / sine
        y, z = 0.0, z - along * cosine
    smallest = NOISE * (abs(along) + abs(x) + abs(y) + abs(z))
    along, x, y, z = (0.0 if abs(length) <= smallest else length for length in (along, x, y, z))
    return along, x, y, z
