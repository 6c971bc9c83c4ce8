"""What can drive a simulated mechanism, a class a kind: its values over time, and its torques.

At every instant the loop puts `values` down, from a table over time or from a function of the user;
the torques are expressions of these, of the state, and of `numbers` that are constant in a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.equations import Equations, Given, expressions, rated_coordinates
from kane_dynamics.simulation.history import (
    Table,
    checked_array,
    checked_hold,
    checked_times,
    checked_values,
    constant,
    history,
)
from kane_dynamics.simulation.status import InputFault
from kane_dynamics.simulation.trajectory import Trajectory
from kane_dynamics.symbolic.graph import Expr

Hold = Literal["zero", "linear"]
TorqueFunction = Callable[[float, Array, Array], Any]

LONGEST_SAID = 200
"""Letters of an error of the user's function that are repeated."""


class Instant(NamedTuple):
    """What torques can be expressions of.

    `friction` gives the dry friction that a speed meets, or would meet if it began to change as
    wanted.
    """

    given: Given
    values: Sequence[Expr]
    numbers: Sequence[Expr]
    friction: Callable[[int, Expr], Expr]


class Input(ABC):
    """A kind of input.

    Attributes
    ----------
    feeds : str
        Of the parameters of the equations the one that its values are, instead of torques.
    """

    feeds: ClassVar[str] = ""

    @abstractmethod
    def table(self, equations: Equations) -> Table | None:
        """Its values over time, made to fit a mechanism; none for a function of the state."""

    def names(self, equations: Equations) -> tuple[str, ...]:
        """What its values belong to, if it has no table."""
        return equations.speed_names

    def numbers(self, equations: Equations) -> Array:
        """What is constant in a run, such as gains."""
        return np.empty(0)

    @classmethod
    def forces(cls, equations: Equations, at: Instant) -> list[Expr]:
        """Generalized forces of the input; its values are those, if it says nothing else."""
        return list(at.values)


class NoTorque(Input):
    """Nothing drives the mechanism."""

    def table(self, equations: Equations) -> Table | None:
        return constant([])

    @classmethod
    def forces(cls, equations: Equations, at: Instant) -> list[Expr]:
        return [at.given.graph.zero] * len(equations.speed_names)


@dataclass(frozen=True, eq=False)
class ConstantTorque(Input):
    """Torques that do not change."""

    given: ArrayLike

    def table(self, equations: Equations) -> Table | None:
        torques = checked_array("simulate", "torque", self.given)
        count = len(equations.speed_names)
        if torques.shape != (count,):
            raise ArgumentError(
                f"torque must be None, {count} numbers, a TorqueHistory, a function of (t, q, u), "
                f"a PDControl or a ComputedTorque, got shape {torques.shape}"
            )
        return constant(torques)


@dataclass(frozen=True, eq=False)
class AskedTorque(Input):
    """Torques from a function of the user."""

    function: TorqueFunction

    def table(self, equations: Equations) -> Table | None:
        return None

    def ask(self, t: float, q: Array, u: Array, names: Sequence[str]) -> Array:
        """What the function says, checked; InputFault if it fails."""
        try:
            given = self.function(t, q.copy(), u.copy())
        except Exception as error:
            said = shorten(str(error), LONGEST_SAID, placeholder="…")  # in one line
            said = f": {said}" if said else ""
            raise InputFault(f"torque(t, q, u) raised {type(error).__name__}{said}") from error
        try:
            tau = np.asarray(given)
            shape = tau.shape
            tau = tau.astype(np.float64, casting="safe")
        except (TypeError, ValueError):
            raise InputFault(
                f"torque(t, q, u) returned {type(given).__name__} "
                f"{shorten(repr(given), 60, placeholder='…')}, expected {len(names)} real numbers"
            ) from None
        if shape != (len(names),):
            raise InputFault(f"torque(t, q, u) returned shape {shape}, expected ({len(names)},)")
        finite = np.isfinite(tau)
        if not finite.all():
            k = int(finite.argmin())
            raise InputFault(
                f"torque(t, q, u) returned {tau[k]} for '{names[k]}', expected a finite number"
            )
        return tau


@dataclass(frozen=True, eq=False)
class TorqueHistory(Input):
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

    def table(self, equations: Equations) -> Table | None:
        """The torques."""
        torques, count = np.asarray(self.torques), len(equations.speed_names)
        if torques.shape[1] != count:
            raise ArgumentError(
                f"torque: the history has {torques.shape[1]} torques at each time, the robot has "
                f"{count} speeds"
            )
        return history(np.asarray(self.times), torques, self.hold == "linear", early=True)


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
        table = self.table()
        rows = [table.at(float(time), float(time)) for time in np.ravel(t)]
        return np.reshape(rows, (*np.shape(t), 6))

    def table(self) -> Table:
        """The wrench over time."""
        times, wrenches = np.asarray(self.times), np.asarray(self.wrenches)
        return history(times, wrenches, self.hold == "linear", early=False)


@dataclass(frozen=True, eq=False)
class _Control(Input):
    """A controller of the joints: of the speeds that are rates of coordinates."""

    reference: ArrayLike | Trajectory
    kp: ArrayLike
    kd: ArrayLike

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name in ("kp", "kd"):
            gains = checked_array(owner, name, getattr(self, name))
            if gains.ndim > 1 or (gains < 0.0).any():
                raise ArgumentError(
                    f"{owner}: {name} must be a number or one number for each joint, none negative"
                )
            object.__setattr__(self, name, gains)
        if not isinstance(self.reference, Trajectory):
            reference = checked_array(owner, "reference", self.reference)
            if reference.ndim != 1:
                raise ArgumentError(
                    f"{owner}: reference must be a Trajectory or one position for each joint, "
                    f"got shape {reference.shape}"
                )
            object.__setattr__(self, "reference", reference)

    def table(self, equations: Equations) -> Table | None:
        """Position, speed and acceleration of every joint that is driven, one after the other."""
        spans, given = polynomials(self.reference)
        count = len(_driven(equations))
        if given.shape[1] != count:
            raise ArgumentError(
                f"{type(self).__name__}: the reference has positions of {given.shape[1]} joints, "
                f"the robot drives {count}"
            )
        whole = with_rates(given, 2)
        return Table(spans, whole if len(spans) > 1 else whole[..., :1])

    def numbers(self, equations: Equations) -> Array:
        """The gains."""
        count, gains = len(_driven(equations)), []
        for name in ("kp", "kd"):
            each = np.asarray(getattr(self, name))
            if each.shape not in ((), (count,)):
                raise ArgumentError(
                    f"{type(self).__name__}: {name} must be one number or {count}, got {len(each)}"
                )
            gains.append(np.broadcast_to(each, count))
        return np.concatenate(gains)

    @classmethod
    def _feedback(cls, equations: Equations, at: Instant) -> dict[int, tuple[Expr, Expr]]:
        """kp (q_ref - q) + kd (u_ref - u) and udot_ref, for every speed that is driven."""
        q, u, driven = at.given["q"], at.given["u"], _driven(equations)
        count, wanted = len(driven), {}
        for j, (k, coordinate) in enumerate(driven.items()):
            x, v, a = at.values[j::count]
            kp, kd = at.numbers[j::count]
            wanted[k] = kp * (x - q[coordinate]) + kd * (v - u[k]), a
        return wanted


@dataclass(frozen=True, eq=False)
class PDControl(_Control):
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

    @classmethod
    def forces(cls, equations: Equations, at: Instant) -> list[Expr]:
        """Nothing drives a free joint; a mechanism without gravity program has none."""
        tau = [at.given.graph.zero] * len(equations.speed_names)
        weights = list(tau)
        if "gravity" in equations.forms:
            weights = expressions(equations, "gravity", at.given)
        for k, (feedback, _) in cls._feedback(equations, at).items():
            tau[k] = weights[k] + feedback
        return tau


@dataclass(frozen=True, eq=False)
class ComputedTorque(_Control):
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

    kp: ArrayLike = 100.0
    kd: ArrayLike = 20.0

    def table(self, equations: Equations) -> Table | None:
        """As in `PDControl`."""
        for name, coordinate in zip(equations.speed_names, rated_coordinates(equations)):
            if coordinate is None:
                raise ArgumentError(
                    f"ComputedTorque: every speed must be driven, but '{name}' is one of a free "
                    "joint"
                )
        return super().table(equations)

    @classmethod
    def forces(cls, equations: Equations, at: Instant) -> list[Expr]:
        """Dry friction is that of the wanted motion."""
        wanted = [a + error for error, a in cls._feedback(equations, at).values()]
        tau = expressions(equations, "inverse_dynamics", at.given.but(udot=wanted))
        return [each + at.friction(k, wanted[k]) for k, each in enumerate(tau)]


Torque = ArrayLike | TorqueHistory | TorqueFunction | PDControl | ComputedTorque | None


def input_of(torque: Torque) -> Input:
    """What a user gave as torque."""
    if torque is None:
        return NoTorque()
    if isinstance(torque, Input):
        return torque
    return AskedTorque(torque) if callable(torque) else ConstantTorque(torque)


class Pull(Protocol):
    """What pulls at a link, and knows what that needs over time."""

    def table(self) -> Table: ...


def wrench_table(link: str, given: ArrayLike | Pull) -> Table:
    """A wrench over time, or a constant one."""
    if hasattr(given, "table"):
        return given.table()
    wrench = checked_array("simulate", f"wrenches['{link}']", given)
    if wrench.shape != (6,):
        raise ArgumentError(
            f"wrenches['{link}'] must be six numbers or a WrenchHistory, got shape {wrench.shape}"
        )
    return constant(wrench)


def _driven(equations: Equations) -> dict[int, int]:
    """The speeds that joints drive, each with the coordinate whose rate it is."""
    rated = rated_coordinates(equations)
    return {k: coordinate for k, coordinate in enumerate(rated) if coordinate is not None}


def with_rates(coefficients: Array, times: int = 1) -> Array:
    """Coefficients (S, n, 6) of values, then those of their rates, so many times."""
    found = [coefficients]
    for _ in range(times):
        rates = np.zeros_like(coefficients)
        rates[..., :-1] = found[-1][..., 1:] * np.arange(1.0, 6.0)
        found.append(rates)
    return np.concatenate(found, axis=1)


def polynomials(reference: Any) -> tuple[Array, Array]:
    """When spans begin, and coefficients (S, n, 6) of positions; at rest before and after."""
    if not isinstance(reference, Trajectory):
        coefficients = np.zeros((1, len(reference), 6))
        coefficients[0, :, 0] = reference
        return np.array([-1.0]), coefficients
    positions = reference.positions
    coefficients = np.zeros((len(positions) + 1, positions.shape[1], 6))
    coefficients[0, :, 0], coefficients[-1, :, 0] = positions[0], positions[-1]
    if len(positions) > 1:
        coefficients[1:-1] = reference.coefficients
    return np.append(reference.begin - 1.0, reference.times), coefficients
