"""What can drive a simulated robot, as a user says it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.simulation.history import (
    History,
    checked_array,
    checked_hold,
    checked_times,
    checked_values,
)
from kane_dynamics.simulation.trajectory import Trajectory

Hold = Literal["zero", "linear"]


@dataclass(frozen=True, eq=False)
class TorqueHistory:
    """Torques over time.

    Parameters
    ----------
    times : array (K,)
        Increasing, in s; the simulation begins at 0.
    torques : array (K, dof)
        N m, or N for sliding joints. Before the first time its torques act, and after the last
        time the last ones, which `Motion.message` then mentions.
    hold : {"zero", "linear"}
        Zero-order hold: torques stay until the next time; or linear from one time to the next.

    Examples
    --------
    >>> step = TorqueHistory([0.0, 1.0], [[0.0, 0.0], [5.0, 0.0]])
    """

    times: ArrayLike
    torques: ArrayLike
    hold: Hold = "zero"

    def __post_init__(self) -> None:
        times = checked_times(self.times, "TorqueHistory")
        torques = checked_values("TorqueHistory", "torques", self.torques, len(times), "dof")
        checked_hold("TorqueHistory", self.hold)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "torques", torques)


@dataclass(frozen=True, eq=False)
class WrenchHistory:
    """A wrench on a link over time.

    Parameters
    ----------
    times : array (K,)
        Increasing, in s.
    wrenches : array (K, 6)
        Force (N), then torque (N m), world-aligned, at the link's origin. Before the first time
        there is none; the last one holds to the end.
    hold : {"zero", "linear"}
        As in `TorqueHistory`.

    Examples
    --------
    A push of 0.1 s, one second after the start:

    >>> push = WrenchHistory([1.0, 1.1], [[50.0, 0, 0, 0, 0, 0], [0.0, 0, 0, 0, 0, 0]])
    """

    times: ArrayLike
    wrenches: ArrayLike
    hold: Hold = "zero"

    def __post_init__(self) -> None:
        times = checked_times(self.times, "WrenchHistory")
        wrenches = checked_values("WrenchHistory", "wrenches", self.wrenches, len(times), "6")
        if wrenches.shape[1] != 6:
            raise ArgumentError(
                f"WrenchHistory: wrenches must have shape ({len(times)}, 6), got {wrenches.shape}"
            )
        checked_hold("WrenchHistory", self.hold)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "wrenches", wrenches)

    def at(self, t: ArrayLike) -> Array:
        """The wrench at a time, (6,), or at each of several, (N, 6).

        >>> push = WrenchHistory([1.0, 1.1], [[50.0, 0, 0, 0, 0, 0], [0.0, 0, 0, 0, 0, 0]])
        >>> push.at([0.0, 1.0, 1.1])[:, 0]
        array([ 0., 50.,  0.])
        """
        times, wrenches = np.asarray(self.times), np.asarray(self.wrenches)
        history = History(times, wrenches, linear=self.hold == "linear", early=False)
        rows = [history.at(float(time), float(time)) for time in np.ravel(t)]
        return np.reshape(rows, (*np.shape(t), 6))


@dataclass(frozen=True, eq=False)
class PDControl:
    """Joint PD control with gravity compensation: kp (q_ref - q) + kd (u_ref - u) + gravity(q).

    Parameters
    ----------
    reference : array or Trajectory
        A set point, an entry for each joint; or positions over time. Joints of a floating base
        and free joints are not driven and have no entry.
    kp, kd : float or array
        Gains in N m/rad and N m s/rad (N/m and N s/m for sliding joints), one for each joint, or
        one for all.

    Examples
    --------
    >>> hold_still = PDControl([0.5, 1.0], kp=[100.0, 40.0], kd=[20.0, 8.0])
    """

    reference: ArrayLike | Trajectory
    kp: ArrayLike
    kd: ArrayLike

    def __post_init__(self) -> None:
        _check_control(self)


@dataclass(frozen=True, eq=False)
class ComputedTorque:
    """Inverse dynamics of udot_ref + kp (q_ref - q) + kd (u_ref - u), friction included.

    Errors of position die out like those of an oscillator with frequency √kp; by default with
    10 rad/s, critically damped.

    Parameters
    ----------
    reference : array or Trajectory
        As in `PDControl`; all joints must be driven.
    kp, kd : float or array
        Gains in 1/s² and 1/s, one for each joint, or one for all.
    """

    reference: ArrayLike | Trajectory
    kp: ArrayLike = 100.0
    kd: ArrayLike = 20.0

    def __post_init__(self) -> None:
        _check_control(self)


TorqueFunction = Callable[[float, Array, Array], Any]
Torque = ArrayLike | TorqueHistory | TorqueFunction | PDControl | ComputedTorque | None


def _check_control(control: PDControl | ComputedTorque) -> None:
    owner = type(control).__name__
    for name in ("kp", "kd"):
        gains = checked_array(owner, name, getattr(control, name))
        if gains.ndim > 1 or (gains < 0.0).any():
            raise ArgumentError(
                f"{owner}: {name} must be a number or one number for each joint, none negative"
            )
        object.__setattr__(control, name, gains)
    if not isinstance(control.reference, Trajectory):
        reference = checked_array(owner, "reference", control.reference)
        if reference.ndim != 1:
            raise ArgumentError(
                f"{owner}: reference must be a Trajectory or one position for each joint, "
                f"got shape {reference.shape}"
            )
        object.__setattr__(control, "reference", reference)
