"""Torques that make a robot float, or follow a motion: of the model alone, or under feedback."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.simulation.trajectory import Sample

FASTEST, SLOWEST = 40.0, 2.0
"""Rad/s, between which the default bandwidth is."""

_LAG, _LONGEST_LAG = 0.1, 0.25
"""Radians by which what is commanded may lag behind at the bandwidth: usually, of light joints."""

_STIFF_ENOUGH = 0.1
"""Rad or m of error that call for the whole effort limit of a joint, however light it is."""

_INTEGRAL_SHARE = 0.3  # of the bandwidth is that of the integral
_MOST_INTEGRAL = 0.5  # of the effort limits
_SMALL_INTEGRAL = 0.002  # of the effort limits
_RESTED = 0.1  # s, over which it is averaged what holds a robot at rest
_DRY_FROM = 1e-3  # rad/s or m/s: slower motions are given less of the dry friction


@dataclass(frozen=True, eq=False)
class Gains:
    """Feedback of each joint, arrays (n,).

    For computed torque in 1/s^2, 1/s and 1/s^3; for pd in N m/rad, N m s/rad and N m/(rad s), or
    with m and N for joints that slide.

    Attributes
    ----------
    kp, kd, ki
    accelerate : bool
        Whether they give accelerations, for which the mass matrix tells the torques: those of
        computed torque do, and default gains of pd.
    more : tuple of array (n,)
        Stiffness, damping and gain of the integral in the units of pd, that default gains of
        computed torque have for joints so light that friction would stop them.
    """

    kp: Array
    kd: Array
    ki: Array
    accelerate: bool
    more: tuple[Array, Array, Array]


def per_joint(name: str, values: tuple[float, ...], model: Model) -> Array | None:
    """A parameter with a number for each joint, or one for all; None where it is empty.

    Raises ArgumentError if there are neither one nor as many numbers as joints.
    """
    count = len(model.joint_names)
    if not values:
        return None
    if len(values) not in (1, count):
        raise ArgumentError(
            f"{name} has {len(values)} numbers, expected one, or one for each of the {count} joints"
        )
    return np.broadcast_to(np.array(values), (count,)).astype(np.float64)


def bandwidth(delay: float) -> float:
    """Default bandwidth in rad/s where torques act so many seconds after what they answer to."""
    return float(np.clip(_LAG / delay, SLOWEST, FASTEST))


class ControlLaw:
    """Torques of a robot under feedback."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._any_dry = bool(model.friction[1].any())
        self._most_integral = _MOST_INTEGRAL * model.effort_limits
        self.integral = np.zeros(len(model.joint_names))
        """Torques that a lasting error has led to."""
        self.holding = np.zeros(len(model.joint_names))
        """Torques that, besides those against gravity, have held the robot when it was at rest."""

    def forget(self) -> None:
        """Begin anew: no error has lasted."""
        self.integral = np.zeros_like(self.integral)
        self.holding = np.zeros_like(self.integral)

    def recall(self) -> None:
        """Keep of the integral what held the robot at rest: friction in motion is another."""
        self.integral = self.holding.copy()

    def rested(self, torques: Array, positions: Array, seconds: float) -> None:
        """Take note of torques that have held the robot at rest for so many seconds."""
        besides = torques - self._model.gravity(positions)
        self.holding = self.holding + min(seconds / _RESTED, 1.0) * (besides - self.holding)

    def gains(
        self,
        computed_torque: bool,
        delay: float,
        positions: Array,
        given: tuple[Array | None, Array | None, Array | None],
    ) -> Gains:
        """Gains that are given, those of the default bandwidth where they are not.

        Parameters
        ----------
        delay : float
            Time in s after which torques act on average.
        positions : array (n,)
            Where the inertia is taken that default gains have to move.
        given : kp, kd, ki
        """
        omega = bandwidth(delay)
        matrix = self._model.mass_matrix(positions)
        kp, kd, ki = given
        none = np.zeros_like(positions)
        more = none, none, none
        accelerate = computed_torque or (kp is None and kd is None and ki is None)
        if kp is None and kd is None and accelerate:
            stiffness, damping = self._stiffened(omega, delay, matrix)
            growth = 0.0 if ki is not None else _INTEGRAL_SHARE * _LONGEST_LAG / delay
            more = stiffness, damping, growth * stiffness
        # of a joint while the others give way, which is the least that it has to move
        inertia = none + 1.0 if accelerate else 1.0 / np.diagonal(np.linalg.inv(matrix))
        kp = omega**2 * inertia if kp is None else kp
        kd = 2.0 * np.sqrt(kp * inertia) if kd is None else kd
        # gains that are given may be slower than the bandwidth: the integral is slower still
        ki = _INTEGRAL_SHARE * np.minimum(omega, 0.5 * kd / inertia) * kp if ki is None else ki
        return Gains(kp, kd, ki, accelerate, more)

    def _stiffened(self, omega: float, delay: float, matrix: Array) -> tuple[Array, Array]:
        """Stiffness and damping that light joints have besides those of the bandwidth.

        No motion of the joints, in whatever direction, is made faster by them than light joints
        may be.
        """
        fastest = _LONGEST_LAG / delay
        if fastest <= omega:
            return np.zeros(len(matrix)), np.zeros(len(matrix))
        inverse = np.linalg.inv(matrix)
        given_way = 1.0 / np.diagonal(inverse)  # inertia of a joint while the others give way
        enough = np.minimum(self._model.effort_limits / _STIFF_ENOUGH, fastest**2 * given_way)
        more = np.maximum(enough - omega**2 * np.diagonal(matrix), 0.0)
        root = np.sqrt(more)
        together = float(np.linalg.eigvalsh(root[:, None] * inverse * root).max())
        most = fastest**2 - omega**2
        stiffness = more if together <= most else more * (most / together)
        return stiffness, stiffness * (2.0 / (fastest + omega))

    # ----------------------------------------------------------------------------------- torques
    def still(self, positions: Array) -> Array:
        """Torques that hold the robot still: as the integral is in motion, it may not."""
        torques: Array = self._model.gravity(positions) + self.holding
        return torques

    def driven(self, positions: Array, accelerations: Array) -> Array:
        """Torques of a robot that is accelerated from rest."""
        return self._model.efforts(positions, np.zeros_like(positions), accelerations)

    def unseen(self, friction: Array) -> Array:
        """Torques that are needed besides those of the model where there is no feedback.

        Friction is what the joints have shown. Where it is none, a small integral counts, which
        comes of the times at which commands act.
        """
        unknown, small = self.holding + friction, _SMALL_INTEGRAL * self._model.effort_limits
        torques: Array = np.where(
            np.abs(unknown) > small, unknown, np.minimum(np.maximum(self.integral, -small), small)
        )
        return torques

    def feedforward(self, wanted: Sample) -> Array:
        """Torques of the model alone."""
        return self._model.rigid_efforts(*wanted) + self._friction(wanted)

    def pd(self, wanted: Sample, positions: Array, velocities: Array, gains: Gains) -> Array:
        """Torques of the model, and gains times errors."""
        e, edot = self._model.off(wanted.positions, positions), wanted.velocities - velocities
        feedback = np.where(self._model.actuated, gains.kp * e + gains.kd * edot, 0.0)
        if gains.accelerate:
            stiffness, damping, _ = gains.more
            pushed = self.driven(positions, feedback) - self._model.gravity(positions)
            feedback = pushed + stiffness * e + damping * edot
        torques: Array = self.feedforward(wanted) + feedback + self.integral
        return torques

    def computed(self, wanted: Sample, positions: Array, velocities: Array, gains: Gains) -> Array:
        """M (udot + kd edot + kp e) + bias, at the measured state.

        Only friction is that of the wanted motion: to make up for what a joint loses by the speed
        that it had a moment ago drives it, and the sign of a velocity that should be zero is noise.
        """
        e, edot = self._model.off(wanted.positions, positions), wanted.velocities - velocities
        accelerations = wanted.accelerations + gains.kp * e + gains.kd * edot
        rigid = self._model.rigid_efforts(positions, velocities, accelerations)
        stiffness, damping, _ = gains.more
        more = stiffness * e + damping * edot + self.integral
        torques: Array = rigid + self._friction(wanted) + more
        return torques

    def _friction(self, wanted: Sample) -> Array:
        damping, dry = self._model.friction
        torques: Array = damping * wanted.velocities
        if self._any_dry:
            shares = np.clip(wanted.velocities / _DRY_FROM, -1.0, 1.0)
            torques = torques + dry * shares
        return self._model.borne(wanted.positions, torques)

    # ---------------------------------------------------------------------------------- integral
    def integrate(
        self,
        wanted: Sample,
        positions: Array,
        gains: Gains,
        seconds: float,
        saturation: Array,
    ) -> None:
        """Take a lasting error into account.

        Parameters
        ----------
        saturation : array (n,)
            By how much the torques exceeded what could be commanded: where they did, the integral
            does not grow in their direction, nor anywhere beyond half the effort limit.
        """
        if not gains.ki.any():
            return
        e = self._model.off(wanted.positions, positions)
        growth = np.where(self._model.actuated, gains.ki * e, 0.0)
        if gains.accelerate:
            at_rest = self._model.gravity(positions)
            growth = self.driven(positions, growth) - at_rest + gains.more[2] * e
        growth = np.where(growth * saturation > 0.0, 0.0, growth)
        most = self._most_integral
        self.integral = np.minimum(np.maximum(self.integral + seconds * growth, -most), most)
