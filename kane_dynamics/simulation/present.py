"""The state that a loop is in, as what changes constraints sees and changes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.simulation.status import Status


class Present(ABC):
    """The state that a loop is in, as excursions see and change it.

    Attributes
    ----------
    t : float
    x : array
        q, u and the work done; may be changed.
    M, applied, said : array
        As they were at the last look: the mass matrix, generalized forces less the bias, and
        (count, n + 2) what constraints say.
    g, forces : array
        Event functions of rows and limits, and forces of rows.
    held : array of int
        Speeds that dry friction of joints holds.
    step : int
        Steps done.
    last_t : float
        When the last step began.
    imposes : bool
        Whether it can take away speeds by itself.
    """

    imposes: ClassVar[bool] = False

    t: float
    x: Array
    M: Array
    applied: Array
    said: Array
    g: Array
    forces: Array
    held: NDArray[np.intp]
    step: int
    last_t: float

    @abstractmethod
    def look(self) -> Status:
        """Let everything follow from the present state in the present modes."""

    @abstractmethod
    def correct(self) -> None:
        """Take the state back onto the constraints that hold."""

    @abstractmethod
    def slide(self, row: int, direction: float) -> None:
        """Let dry friction of a joint, if it has any, slide; even if it held."""

    def forget(self) -> None:
        """What follows from the state is no longer known."""
        raise NotImplementedError

    def impose(self) -> tuple[Array, Array]:
        """Take away the speeds that rows which hold do not allow.

        Returns
        -------
        impulses, speeds : array (count,)
            Of all rows, and their speeds before.
        """
        raise NotImplementedError

    @abstractmethod
    def go_back(self) -> None:
        """To the state before the last step."""

    @abstractmethod
    def state_at(self, t: float) -> Array:
        """The state at a time within the next step."""

    @abstractmethod
    def take(self, t: float) -> None:
        """Go on from the state that was last asked for."""
