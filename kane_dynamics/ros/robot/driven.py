"""A robot with constraints as its motors feel it: what effort commands are computed with.

Motors lead, all other joints follow: with A u = 0 and P the projection onto motions that the
constraints allow, all speeds are u = G u_m for those of the motors, where G = (S P)⁺ and S chooses
the motors; torques of the motors that do the same as generalized forces Q are GᵀQ. Nothing here is
refused, for a robot in motion cannot be let alone: at a dead centre motors do what they can.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.dynamics import Dynamics
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.recombination import normalized
from kane_dynamics.ros.robot.constrained import WEAK, ConstrainedModel

FEEBLE = 1e-4
"""Share of the strongest direction below which motors do not drive a motion: at a dead centre."""

ITERATIONS = 10
REMEMBERED = 3


class Drive(NamedTuple):
    """What constraints make of the motors at configurations q (..., n).

    Attributes
    ----------
    lead : array (..., n, m)
        G: all speeds from those of the motors.
    onto : array (..., n, r)
        A⁺, for rows of length one, which have been divided by `lengths` (..., r).
    """

    q: Array
    lead: Array
    onto: Array
    lengths: Array


class DrivenModel(ConstrainedModel):
    """A robot with constraints under effort commands; joints without motors feel no gains."""

    @cached_property
    def effort_limits(self) -> Array:
        """Largest efforts of the motors, zero where there is none."""
        return np.where(self.actuated, super().effort_limits, 0.0)

    @cached_property
    def gravity(self) -> Any:
        """Function from positions to the efforts that hold the robot as far as motors can."""
        return lambda positions: self._weight(self._drive(positions))

    def efforts(self, positions: Array, velocities: Array, accelerations: Array) -> Array:
        """Efforts with which motors get these accelerations; other joints follow."""
        drive, moved = self._moved(positions, velocities, accelerations)
        return self._borne(drive, Dynamics.inverse_dynamics(self.dynamics, *moved))

    def rigid_efforts(self, positions: Array, velocities: Array, accelerations: Array) -> Array:
        """The same where joints have no friction."""
        drive, moved = self._moved(positions, velocities, accelerations)
        damping, dry = self.friction
        free = Dynamics.inverse_dynamics(self.dynamics, *moved)
        if self._any_friction:
            free = free - damping * moved[1] - dry * np.sign(moved[1])
        return self._borne(drive, free)

    def borne(self, positions: Array, efforts: Array) -> Array:
        """Efforts of motors that do the same as efforts at all joints."""
        return self._borne(self._drive(positions), efforts)

    def following(self, positions: Array, velocities: Array) -> Array:
        """Velocities of all joints while motors have theirs."""
        return _times(self._drive(positions).lead, velocities[..., self._motors])

    def mass_matrix(self, positions: Array) -> Array:
        """Mass matrix (n, n) that motors feel, all else being at one; that is not felt by any."""
        drive, motors = self._drive(positions), self._motors
        felt = drive.lead.T @ self.free_mass_matrix(drive.q) @ drive.lead
        # Motors that constraints join are as heavy as they are together, whichever one is asked.
        values, vectors = np.linalg.eigh(felt)
        some = values > FEEBLE * values[-1]
        lightest = values[some][0] if some.any() else 1.0
        matrix = np.eye(len(positions))
        matrix[np.ix_(motors, motors)] = (vectors * np.where(some, values, lightest)) @ vectors.T
        return matrix

    def decelerations(self, positions: Array, velocities: Array, share: float) -> Array:
        """Largest decelerations (n,) with which all joints come to rest together.

        Parameters
        ----------
        share : float
            Of the efforts that gravity leaves.
        """
        spare = self._spare(positions, share)
        none = np.zeros_like(velocities)
        drive, (q, _, udot) = self._moved(positions, none, velocities)
        needed = np.abs(self._borne(drive, _times(self.free_mass_matrix(q), udot)))
        motors = self._motors
        rate = float((spare[motors] / np.maximum(needed[motors], 1e-9)).min(initial=np.inf))
        return np.maximum(np.abs(velocities), 1e-9) * rate

    def check_driven(self, positions: Array) -> None:
        """Raise an ArgumentError if positions violate constraints, or motors cannot command all."""
        joints = np.arange(len(positions))
        self.moving(positions[None], np.zeros((1, len(positions))), joints, positions)
        drive = self._drive(positions)
        allowed = np.eye(drive.lead.shape[0]) - drive.onto @ self._normal(drive.q)[0]
        left = allowed - drive.lead @ allowed[self._motors]
        worst = int(np.abs(left).max(axis=1).argmax())
        if np.abs(left[worst]).max() > FEEBLE:
            raise ArgumentError(
                f"effort commands need motors that move all that constraints leave, and nothing "
                f"drives joint {self.joint_names[worst]!r} here: the actuated joints are "
                f"{', '.join(np.array(self.joint_names)[self.actuated])}"
            )

    # ----------------------------------------------------------------------- what these need
    @cached_property
    def _motors(self) -> Any:
        return np.flatnonzero(self.actuated)

    def _normal(self, q: Array) -> tuple[Array, Array]:
        """Rows of length one, and what they have been divided by."""
        return normalized(self.dynamics.constraint_rows(q, np.zeros_like(q)).A)

    def _drive(self, positions: Array) -> Drive:
        """The last ones are remembered, for where the robot is and is wanted is asked for often."""
        key, known = positions.tobytes(), self._known
        if key not in known:
            if len(known) >= REMEMBERED:
                known.pop(next(iter(known)))
            known[key] = self._made(positions)
        return known[key]

    @cached_property
    def _known(self) -> dict[bytes, Drive]:
        return {}

    def _made(self, positions: Array) -> Drive:
        q = self._near(positions)
        rows, lengths = self._normal(q)
        onto = np.asarray(np.linalg.pinv(rows, rcond=WEAK))
        allowed = np.eye(q.shape[-1]) - onto @ rows
        lead = np.asarray(np.linalg.pinv(allowed[..., self._motors, :], rcond=FEEBLE))
        return Drive(q, lead, onto, lengths)

    def _near(self, positions: Array) -> Array:
        """Positions, moved onto the constraints where they are farther off than states may be."""
        q, free = positions, np.flatnonzero(~self.actuated)
        size = np.inf
        for _ in range(ITERATIONS if len(free) else 0):
            rows = self.dynamics.constraint_rows(q, np.zeros_like(q))
            errors = np.where(rows.positions, rows.errors, 0.0)
            now = float(np.abs(errors).max(initial=0.0))
            if not self.tolerance < now < size:
                break
            size = now
            A = np.where(rows.positions[:, None], rows.A, 0.0)[..., free]
            q = q.copy()
            q[..., free] -= _times(np.linalg.pinv(A, rcond=FEEBLE), errors)
        return q

    def _moved(
        self, positions: Array, velocities: Array, accelerations: Array
    ) -> tuple[Drive, tuple[Array, Array, Array]]:
        """A state in which motors move so, and all else as constraints demand."""
        drive = self._drive(positions)
        motors, lead = self._motors, drive.lead
        u = _times(lead, velocities[..., motors])
        bias = self.dynamics.constraint_rows(drive.q, u).bias / drive.lengths
        begun = -_times(drive.onto, bias)
        udot = begun + _times(lead, accelerations[..., motors] - begun[..., motors])
        return drive, (drive.q, u, udot)

    def _borne(self, drive: Drive, efforts: Array) -> Array:
        found = np.zeros_like(efforts)
        found[..., self._motors] = _times(np.swapaxes(drive.lead, -1, -2), efforts)
        return found

    def _weight(self, drive: Drive) -> Array:
        return self._borne(drive, Dynamics.gravity(self.dynamics, drive.q))


def _times(matrix: Array, vectors: Array) -> Array:
    return np.asarray((matrix @ vectors[..., None])[..., 0])
