"""Joints by the way they move: which go round and round, which slide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array

_ROUND = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class Axes:
    """Some joints of a robot: their names, and which are continuous, and prismatic (n,)."""

    names: tuple[str, ...]
    continuous: NDArray[np.bool_]
    prismatic: NDArray[np.bool_]

    @cached_property
    def _all_end(self) -> bool:
        return not self.continuous.any()

    def some(self, joints: NDArray[np.intp]) -> Axes:
        """Those of them at some places, in their order."""
        names = tuple(self.names[k] for k in joints)
        return Axes(names, self.continuous[joints], self.prismatic[joints])

    def off(self, wanted: Array, positions: Array) -> Array:
        """What positions lack to the wanted ones; whole turns of continuous joints do not count."""
        lacking = wanted - positions
        if self._all_end:
            return lacking
        turns = np.round(lacking / _ROUND) * _ROUND
        return lacking - np.where(self.continuous, turns, 0.0)

    def unit(self, joint: Any) -> str:
        """In which positions of a joint are given."""
        return "m" if self.prismatic[joint] else "rad"
