"""Two arms under a fake clock: what is commanded moves them as the model says, and no other way."""

import re
from functools import cache
from pathlib import Path

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model, load_model

URDF = Path(__file__).parents[2] / "urdf"

ON_A_WALL = (0.0, -9.81, 0.0)
"""Gravity in the plane of the arm that slides, which feels none on the floor."""

_STEP = 0.001  # s
_STOPS = 0.1  # rad or m beyond the limits, where no joint can go farther


@cache
def arm(name: str, velocity: float = 3.0) -> Model:
    """The two-link arm ("turns"), or the one with a prismatic joint ("slides"), with limits."""
    if name == "turns":
        text = (URDF / "two_link_arm.urdf").read_text()
        first = f'<joint name="joint1" type="continuous"><limit effort="40" velocity="{velocity}"/>'
        second = (
            '<joint name="joint2" type="revolute">'
            f'<limit lower="-2.5" upper="2.5" effort="15" velocity="{velocity}"/>'
        )
        text = re.sub('<joint name="joint1" type="continuous">', first, text)
        text = re.sub('<joint name="joint2" type="continuous">', second, text)
        return load_model(text, Settings())
    text = (URDF / "revolute_prismatic_arm.urdf").read_text()
    first = f'<joint name="joint1" type="continuous"><limit effort="80" velocity="{velocity}"/>'
    text = re.sub('<joint name="joint1" type="continuous">', first, text)
    return load_model(text, Settings(gravity=ON_A_WALL))


class Arm:
    """An arm of two joints that keeps its last command, and has brakes and stops.

    Parameters
    ----------
    model : Model
    positions : array (2,)
    """

    def __init__(self, model: Model, positions: Array) -> None:
        self._model = model
        limits = model.dynamics.limits
        self._lower, self._upper = limits.lower - _STOPS, limits.upper + _STOPS
        self.positions, self.velocities = positions.copy(), np.zeros(2)
        self.command = np.zeros(2)
        self.fastest = np.zeros(2)
        """Of each joint since it was last set."""

    def move(self, nanoseconds: int) -> None:
        """Let time pass, in steps of Runge and Kutta's method of second order."""
        seconds = nanoseconds / SECOND
        count = max(1, int(np.ceil(seconds / _STEP)))
        h, q, u = seconds / count, self.positions, self.velocities
        for _ in range(count):
            middle = u + 0.5 * h * self._accelerations(q, u)
            half = q + 0.5 * h * u
            q, u = q + h * middle, u + h * self._accelerations(half, middle)
            if (q > self._upper).any() or (q < self._lower).any():
                u = np.where((q > self._upper) & (u > 0.0) | (q < self._lower) & (u < 0.0), 0.0, u)
                q = np.clip(q, self._lower, self._upper)
            self.fastest = np.maximum(self.fastest, np.abs(u))
        self.positions, self.velocities = q, u

    def brake(self) -> None:
        """Stand still at once."""
        self.velocities = np.zeros(2)

    @property
    def kinetic_energy(self) -> float:
        u = self.velocities
        return float(0.5 * u @ self._model.dynamics.mass_matrix(self.positions) @ u)

    def _accelerations(self, q: Array, u: Array) -> Array:
        (a, b), (_, d) = self._model.dynamics.mass_matrix(q).tolist()
        x, y = (self.command - self._model.dynamics.bias(q, u)).tolist()
        det = a * d - b * b
        return np.array([(d * x - b * y) / det, (a * y - b * x) / det])
