"""What drives a robot, at any time and state: the inputs of a user made to fit a robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.simulation.bounds import refuse_unreasonable
from kane_dynamics.simulation.history import History, checked_array
from kane_dynamics.simulation.inputs import (
    ComputedTorque,
    PDControl,
    Torque,
    TorqueFunction,
    TorqueHistory,
)
from kane_dynamics.simulation.plant import Plant
from kane_dynamics.simulation.reference import Reference, along, set_point
from kane_dynamics.simulation.status import InputFault
from kane_dynamics.simulation.trajectory import Trajectory

Modes = NDArray[np.int64]

LONGEST_SAID = 200
"""Letters of an error of the user's function that are repeated."""

STUCK = 2
"""Mode of a joint that dry friction holds; other modes are the sign of the speed."""


class Drive(Protocol):
    """Torques (n,) at a time and state, in the time span in which `middle` lies.

    `modes` tell which way joints with dry friction slide, or that they are `STUCK`.
    """

    @property
    def knots(self) -> Array:
        """Times at which the torques are not smooth."""

    def torque(self, t: float, middle: float, q: Array, u: Array, modes: Modes) -> Array: ...


@dataclass(frozen=True, eq=False)
class NoDrive:
    """No torque."""

    count: int

    @property
    def knots(self) -> Array:
        return np.empty(0)

    def torque(self, t: float, middle: float, q: Array, u: Array, modes: Modes) -> Array:
        return np.zeros(self.count)


@dataclass(frozen=True, eq=False)
class HistoryDrive:
    """Torques that are known beforehand."""

    history: History

    @property
    def knots(self) -> Array:
        return self.history.times

    def torque(self, t: float, middle: float, q: Array, u: Array, modes: Modes) -> Array:
        return self.history.at(t, middle)


@dataclass(frozen=True, eq=False)
class FunctionDrive:
    """Torques from a function of the user."""

    function: TorqueFunction
    names: Sequence[str]

    @property
    def knots(self) -> Array:
        return np.empty(0)

    def torque(self, t: float, middle: float, q: Array, u: Array, modes: Modes) -> Array:
        try:
            return self._checked(self._given(t, q, u))
        except InputFault:
            refuse_unreasonable(q, u)  # for which no function is to blame
            raise

    def _given(self, t: float, q: Array, u: Array) -> Any:
        try:
            return self.function(t, q.copy(), u.copy())
        except Exception as error:
            said = shorten(str(error), LONGEST_SAID, placeholder="…")  # in one line
            said = f": {said}" if said else ""
            raise InputFault(f"torque(t, q, u) raised {type(error).__name__}{said}") from error

    def _checked(self, given: Any) -> Array:
        try:
            tau = np.asarray(given)
            shape = tau.shape
            tau = tau.astype(np.float64, casting="safe")
        except (TypeError, ValueError):
            raise InputFault(
                f"torque(t, q, u) returned {type(given).__name__} "
                f"{shorten(repr(given), 60, placeholder='…')}, expected "
                f"{len(self.names)} real numbers"
            ) from None
        if shape != (len(self.names),):
            raise InputFault(
                f"torque(t, q, u) returned shape {shape}, expected ({len(self.names)},)"
            )
        wrong = np.flatnonzero(~np.isfinite(tau))
        if len(wrong):
            raise InputFault(
                f"torque(t, q, u) returned {tau[wrong[0]]} for '{self.names[wrong[0]]}', "
                "expected a finite number"
            )
        return tau


@dataclass(frozen=True, eq=False)
class ControlDrive:
    """PD control with gravity compensation, or computed torque; see `PDControl`, `ComputedTorque`.

    Attributes
    ----------
    plant : Plant
    computed : bool
        Whether the torques are computed from the whole acceleration.
    kp, kd : array (n,)
    reference : Reference
        With a column for each speed.
    """

    plant: Plant
    computed: bool
    kp: Array
    kd: Array
    reference: Reference

    @property
    def knots(self) -> Array:
        return self.reference.begins[1:]

    def torque(self, t: float, middle: float, q: Array, u: Array, modes: Modes) -> Array:
        x, v, a = self.reference.at(t, middle)
        error = self.kp * (x - q[self.plant.coordinate]) + self.kd * (v - u)
        dynamics = self.plant.dynamics
        if self.computed:
            udot = a + error
            slip = np.where(modes == STUCK, np.sign(udot), modes)
            return dynamics.inverse_dynamics(q, u, udot) + self.plant.friction * slip
        return np.where(self.plant.coordinate >= 0, dynamics.gravity(q) + error, 0.0)


def drive_of(torque: Torque, plant: Plant) -> Drive:
    """What a user gave as torque, made to fit the robot."""
    count = plant.dynamics.dof
    if torque is None:
        return NoDrive(count)
    if isinstance(torque, (PDControl, ComputedTorque)):
        return _control(torque, plant)
    if isinstance(torque, TorqueHistory):
        times, torques = np.asarray(torque.times), np.asarray(torque.torques)
        if torques.shape[1] != count:
            raise ArgumentError(
                f"torque: the history has {torques.shape[1]} torques at each time, the robot has "
                f"{count} speeds"
            )
        return HistoryDrive(History(times, torques, torque.hold == "linear", early=True))
    if callable(torque):
        return FunctionDrive(torque, plant.dynamics.speed_names)
    constant = checked_array("simulate", "torque", torque)
    if constant.shape != (count,):
        raise ArgumentError(
            f"torque must be None, {count} numbers, a TorqueHistory, a function of (t, q, u), a "
            f"PDControl or a ComputedTorque, got shape {constant.shape}"
        )
    return HistoryDrive(History(np.zeros(1), constant[None, :], linear=False, early=True))


def _control(control: PDControl | ComputedTorque, plant: Plant) -> ControlDrive:
    owner = type(control).__name__
    driven, count = plant.driven, plant.dynamics.dof
    computed = isinstance(control, ComputedTorque)
    if computed and len(driven) < count:
        raise ArgumentError(
            f"{owner}: every speed must be driven, but '{_undriven(plant)}' is one of a free joint"
        )
    gains = []
    for name in ("kp", "kd"):
        given = np.asarray(getattr(control, name))
        if given.shape not in ((), (len(driven),)):
            raise ArgumentError(
                f"{owner}: {name} must be one number or {len(driven)}, got {len(given)}"
            )
        gains.append(np.zeros(count))
        gains[-1][driven] = given
    reference = _reference(owner, control.reference, driven, count)
    return ControlDrive(plant, computed, gains[0], gains[1], reference)


def _undriven(plant: Plant) -> str:
    return plant.dynamics.speed_names[int(np.flatnonzero(plant.coordinate < 0)[0])]


def _reference(owner: str, given: Any, driven: NDArray[np.int64], count: int) -> Reference:
    narrow = along(given) if isinstance(given, Trajectory) else set_point(np.asarray(given))
    width = narrow.coefficients.shape[1]
    if width != len(driven):
        raise ArgumentError(
            f"{owner}: the reference has positions of {width} joints, the robot drives "
            f"{len(driven)}"
        )
    coefficients = np.zeros((len(narrow.begins), count, 6))
    coefficients[:, driven] = narrow.coefficients
    return Reference(narrow.begins, coefficients)
