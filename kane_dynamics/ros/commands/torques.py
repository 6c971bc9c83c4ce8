"""Torques of a robot that floats or is held on a motion, as the parameters say, and commands."""

from __future__ import annotations

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.ros.commands.bounds import Bounds
from kane_dynamics.ros.commands.law import ControlLaw, Gains, per_joint
from kane_dynamics.ros.commands.output import Output
from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.limits import as_commanded
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.simulation.trajectory import Sample

_GAINS_LAST = SECOND // 50  # ns, for the inertia changes with the pose


class Torques:
    """Torques at joint states that can be trusted.

    Attributes
    ----------
    law : ControlLaw
    output : Output
        What all commands go through.
    saturation : str
        The sentence about a joint whose effort limit was less than the last command needed.
    """

    def __init__(self, model: Model, settings: Settings) -> None:
        self._model = model
        self.law, self.output = ControlLaw(model), Output(model)
        self.saturation = ""
        self._gains: Gains | None = None
        self._gained = 0
        self.configure(settings)

    def configure(self, settings: Settings) -> None:
        """Take other parameters over; ArgumentError if one does not fit, then none is."""
        model = self._model
        kp, kd, ki = (per_joint(k, getattr(settings, k), model) for k in ("kp", "kd", "ki"))
        damping = per_joint("float_damping", settings.float_damping, model)
        rates = per_joint("effort_rate", settings.effort_rate, model)
        self._settings, self._given = settings, (kp, kd, ki)
        self._damping = 0.0 if damping is None else damping
        self.output.limit_rates(rates)
        self.renew_gains()

    def renew_gains(self) -> None:
        """Choose other gains from the next state on, for what is done has changed."""
        self._gains = None

    def floating(self, seen: Seen, bounds: Bounds, period: float) -> Array:
        """Torques of a robot that can be led by hand, where states come every `period` s."""
        self.law.forget()
        damped = -self._damping * seen.velocities
        accelerations = bounds.walled(damped, seen.positions, seen.velocities, period)
        return self.law.driven(seen.positions, accelerations)

    def tracking(
        self, seen: Seen, wanted: Sample, now: int, seconds: float, delay: float, usual: bool
    ) -> Array:
        """Torques that bring a robot to where it is wanted.

        Parameters
        ----------
        seconds : float
            Since the last state.
        delay : float
            Time in s after which torques act.
        usual : bool
            Whether gains are the usual ones, for those that were given may have made it trip.
        """
        positions, velocities, _ = seen
        computed = self._settings.control != "pd"
        if self._gains is None or now - self._gained > _GAINS_LAST:
            self._gained = now
            given = (None, None, None) if usual else self._given
            self._gains = self.law.gains(computed, delay, positions, given)
        self.law.integrate(wanted, positions, self._gains, seconds, self.output.lacking)
        law = self.law.computed if computed else self.law.pd
        return law(wanted, positions, velocities, self._gains)

    def still(self, positions: Array) -> Array:
        """The command that holds the robot still."""
        return as_commanded(self.law.still(positions), positions, self._model, self._settings)

    def command(self, torques: Array, positions: Array, now: int, urgent: bool) -> Array:
        """A command: within the effort limits, and not too far from the one before."""
        limits = self._model.effort_limits
        lacking = np.abs(torques) - limits
        worst = int(lacking.argmax())
        self.saturation = ""
        if lacking[worst] > 0.0:
            self.saturation = (
                f"joint {self._model.joint_names[worst]!r} is commanded its limit of "
                f"{limits[worst]:g}, where {torques[worst]:.4g} is needed"
            )
        if self._settings.robot_compensates_gravity:
            torques = as_commanded(torques, positions, self._model, self._settings)
        return self.output.shaped(torques, now, urgent)

    def acting(self, command: Array, positions: Array) -> Array:
        """Torques that act on the robot: what is commanded, and what it adds by itself."""
        if not self._settings.robot_compensates_gravity:
            return command
        acting: Array = command + self._model.gravity(positions)
        return acting
