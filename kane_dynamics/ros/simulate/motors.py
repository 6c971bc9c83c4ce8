"""Controllers of robots with constraints: what their motors do, as a function of the state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.simulation.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class MotorControl:
    """Torques of the actuated joints that follow a reference, zero at all others.

    Attributes
    ----------
    model : Model
    reference : Trajectory
        Of all joints.
    kp, kd : array (n,) or float
    computed : bool
        Whether the gains are those of accelerations, of which the nearest ones are produced that
        constraints allow; or those of torques, besides the ones against gravity.
    """

    model: Model
    reference: Trajectory
    kp: Array | float
    kd: Array | float
    computed: bool

    def __call__(self, t: float, q: Array, u: Array) -> Array:
        wanted = self.reference.sample(t)
        feedback = self.kp * (wanted.positions - q) + self.kd * (wanted.velocities - u)
        if self.computed:
            return self.model.efforts(q, u, wanted.accelerations + feedback)
        held: Array = self.model.gravity(q)
        return held + np.where(self.model.actuated, feedback, 0.0)
