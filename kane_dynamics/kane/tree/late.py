"""Inertial numbers that come late: given at run time, not when equations are derived.

Frames are chosen and inertia is regrouped without knowing them, by geometry alone. That leaves
every moment of mass of every body a constant plus a sum of late numbers times constants. Those that
do depend on late numbers are the *parameters*: inputs of the equations, found by one product with a
matrix whenever late numbers change. So the equations themselves have hardly more to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.robot.late import ELEMENTS, NUMBERS, late_numbers
from kane_dynamics.robot.model import Inertia
from kane_dynamics.robot.tree import Tree
from kane_dynamics.symbolic.graph import Expr


def with_late_numbers(tree: Tree, bodies: Sequence[FramedBody]) -> tuple[FramedBody, ...]:
    """The framed bodies of a tree, with what units of its late numbers add to them."""
    links = (*tree.late, *tree.payload)
    if not links:
        return tuple(bodies)
    late = np.zeros((len(bodies), NUMBERS * len(links), 4, 4))
    units = np.zeros((NUMBERS, 4, 4))
    units[np.arange(NUMBERS), ELEMENTS[0], ELEMENTS[1]] = 1.0
    units[np.arange(NUMBERS), ELEMENTS[1], ELEMENTS[0]] = 1.0
    for k, link in enumerate(links):
        frame = tree.frame(link)
        body = bodies[frame.body]
        displacement = np.eye(4)  # of the link in the frame of the body
        displacement[:3, :3] = body.orientation.T @ np.array(frame.rotation)
        displacement[:3, 3] = body.orientation.T @ (np.array(frame.translation) - body.origin)
        own = slice(NUMBERS * k, NUMBERS * (k + 1))
        late[frame.body, own] = displacement @ units @ displacement.T
    return tuple(replace(body, late=part) for body, part in zip(bodies, late))


class Parameters:
    """The moments of mass that depend on late numbers, one entry for all that are equal.

    They are linear in late numbers, for so are all steps of the regrouping.

    Parameters
    ----------
    bodies : iterable of FramedBody
        In all groupings that equations are derived from.
    """

    def __init__(self, bodies: Iterable[FramedBody]) -> None:
        rows = {row.tobytes(): row for body in bodies for row in _rows(body) if row[1:].any()}
        self._entries = {key: k for k, key in enumerate(rows)}
        self._matrix = np.array(list(rows.values()))

    def __len__(self) -> int:
        return len(self._entries)

    def values(self, late: Array) -> Array:
        """For given late numbers, ten a link, in the order of `with_late_numbers`."""
        return np.asarray(self._matrix[:, 0] + self._matrix[:, 1:] @ late)

    def trials(self) -> list[list[float]]:
        """For bodies without any symmetry, and for none."""
        spread = ((0.02, 0.0, 0.0), (0.0, 0.03, 0.0), (0.0, 0.0, 0.04))
        numbers = late_numbers(Inertia(1.0, (0.03, 0.05, 0.07), spread))
        late = np.tile(numbers, self._matrix.shape[1] // NUMBERS)
        return [self.values(each).tolist() for each in (late, 0.0 * late)]

    def settled(self, bodies: Sequence[FramedBody], inputs: Sequence[Expr]) -> list[FramedBody]:
        """Bodies whose moments are constants, or the entries of the input that stand for them."""
        return [self._settled(body, inputs) if body.late.any() else body for body in bodies]

    def _settled(self, body: FramedBody, inputs: Sequence[Expr]) -> FramedBody:
        whole = np.empty((4, 4), dtype=object)
        for i, j, row in zip(*ELEMENTS, _rows(body)):
            late = row[1:].any()
            number = inputs[self._entries[row.tobytes()]] if late else float(row[0])
            whole[i, j] = whole[j, i] = number
        first, second = whole[:3, 3], whole[:3, :3]
        return replace(body, mass=whole[3, 3], first_moment=first, second_moment=second)


def _rows(body: FramedBody) -> Array:
    """Moments of a body, each as the number that is known and the coefficients of late ones."""
    known = np.empty((1, 4, 4))
    known[0, :3, :3], known[0, 3, 3] = body.second_moment, body.mass
    known[0, :3, 3] = body.first_moment
    elements = np.concatenate([known, body.late])[:, ELEMENTS[0], ELEMENTS[1]]
    return np.asarray(elements.T + 0.0)  # minus zero is zero
