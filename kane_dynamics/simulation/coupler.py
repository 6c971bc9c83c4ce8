"""The virtual coupler: a spring and a damper between a commanded pose and a frame of a mechanism.

It joins a user's hand, or the image of a haptic device, to a simulated mechanism (Colgate, Brown):
what moves is commanded, and what is felt is the opposite of what acts on the mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.equations import Equations, Given, expressions
from kane_dynamics.simulation.history import Table, checked_array
from kane_dynamics.simulation.inputs import polynomials, with_rates
from kane_dynamics.simulation.trajectory import Trajectory
from kane_dynamics.symbolic.graph import Expr

WIDTH = 19
"""Values at an instant: pose and its rates, six each, four gains, and where it is on the link."""


class Linked(Protocol):
    """What has links whose pose and Jacobian are known, such as a `Dynamics`."""

    def pose(self, link: str, q: ArrayLike) -> Array: ...

    def jacobian(self, link: str, q: ArrayLike) -> Array: ...


class Passivity(NamedTuple):
    """Whether a sampled coupler gives no energy, and what that takes.

    Attributes
    ----------
    passive : bool
        Whether all that follows is there.
    least_damping : (float, float)
        K T / 2 of the coupler itself, N s/m and N m s/rad.
    least_device_damping : (float, float)
        K T / 2 + B of the device that the user holds, N s/m and N m s/rad.
    """

    passive: bool
    least_damping: tuple[float, float]
    least_device_damping: tuple[float, float]


@dataclass(frozen=True, eq=False)
class VirtualCoupler:
    """A spring and a damper that pull a frame of a link to a commanded pose.

    With d from the frame to the commanded origin and the vector s = n sin θ of the rotation by θ
    about n from the frame to the commanded axes, the force on the link, at the frame, is K d + B ḋ,
    and the torque on it is K' s + B' (ω_c − ω). The spring stores ½ K d² + K' (1 − cos θ): it is
    weaker where the frame is turned by more than a right angle.

    Parameters
    ----------
    link : str
        The link that is pulled.
    pose : array (6,) or Trajectory
        Where to: x y z (m) and roll pitch yaw (rad) in the world, fixed or over time. A trajectory
        of three numbers leaves the axes those of the world.
    stiffness, damping : float or (float, float)
        K and K', N/m and N m/rad; B and B', N s/m and N m s/rad. One number leaves out rotations.
    at : array (3,)
        Origin of the frame, in that of the link, m. Its axes are those of the link.

    Examples
    --------
    Give it to a simulation as the wrench on its link, ``wrenches={"hand": coupler}``, or as
    ``torque=coupler`` where nothing else drives the joints:

    >>> coupler = VirtualCoupler("hand", (0.3, 0, 0.2, 0, 0, 0), stiffness=400.0, damping=8.0)
    >>> coupler.passivity(step=1e-3).least_damping
    (0.2, 0.0)
    """

    link: str
    pose: ArrayLike | Trajectory
    stiffness: float | Sequence[float] = 0.0
    damping: float | Sequence[float] = 0.0
    at: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if not isinstance(self.link, str) or not self.link:
            raise ArgumentError(f"VirtualCoupler: link is {self.link!r}, expected a name")
        for name in ("stiffness", "damping"):
            object.__setattr__(self, name, _pair(name, getattr(self, name)))
        object.__setattr__(self, "at", _sized("at", self.at, (3,)))
        if isinstance(self.pose, Trajectory):
            count = self.pose.positions.shape[1]
        else:
            object.__setattr__(self, "pose", _sized("pose", self.pose, (3, 6)))
            count = len(np.asarray(self.pose))
        if count not in (3, 6):
            raise ArgumentError(
                f"VirtualCoupler: pose is a trajectory of {count} numbers, expected x y z, or "
                "x y z roll pitch yaw"
            )

    # ------------------------------------------------------------------------ in a simulation
    def table(self) -> Table:
        """What the expressions of its wrench need, over time."""
        begins, own = polynomials(self.pose)
        coefficients = np.zeros((len(begins), 6, 6))
        coefficients[:, : own.shape[1]] = own
        whole = with_rates(coefficients)
        fixed = np.zeros((len(begins), WIDTH - 12, 6))
        fixed[..., 0] = [*np.ravel([self.stiffness, self.damping]), *np.asarray(self.at)]
        whole = np.concatenate([whole, fixed], axis=1)
        return Table(begins, whole if len(begins) > 1 else whole[..., :1])

    # ----------------------------------------------------------------------------- what is felt
    def hand_wrench(self, robot: Linked, t: ArrayLike, q: ArrayLike, u: ArrayLike) -> Array:
        """Force and torque on the user's hand, at the commanded pose, along the axes of the world.

        The opposite of what acts on the link, as a wrench about the origin of the coupler's frame.

        Parameters
        ----------
        robot : Dynamics
        t, q, u : float or (N,), (nq,) or (N, nq), (dof,) or (N, dof)
            Time in s and state, such as those of a `Motion`.

        Returns
        -------
        array (6,) or (N, 6)
            N and N m.
        """
        pose, rates = self._commanded(np.asarray(t, np.float64))
        frame, jacobian = robot.pose(self.link, q), robot.jacobian(self.link, q)
        twist = (jacobian @ np.asarray(u, np.float64)[..., None])[..., 0]
        arm = (frame[..., :3, :3] @ np.asarray(self.at)[:, None])[..., 0]
        velocity = twist[..., :3] + np.cross(twist[..., 3:], arm)
        off = pose[..., :3] - frame[..., :3, 3] - arm
        axes, turning = _turned(pose[..., 3:], rates[..., 3:])
        sines = 0.5 * np.cross(frame[..., :3, :3], axes, axis=-2).sum(axis=-1)
        (k, k_turn), (b, b_turn) = np.reshape([self.stiffness, self.damping], (2, 2))
        force = k * off + b * (rates[..., :3] - velocity)
        torque = k_turn * sines + b_turn * (turning - twist[..., 3:])
        return -np.concatenate([force, torque], axis=-1)

    def energy(self, robot: Linked, t: ArrayLike, q: ArrayLike) -> Array:
        """What its springs store, J: ½ K d² + K' (1 − cos θ)."""
        pose, rates = self._commanded(np.asarray(t, np.float64))
        frame = robot.pose(self.link, q)
        arm = (frame[..., :3, :3] @ np.asarray(self.at)[:, None])[..., 0]
        off = pose[..., :3] - frame[..., :3, 3] - arm
        axes, _ = _turned(pose[..., 3:], rates[..., 3:])
        cosine = 0.5 * ((frame[..., :3, :3] * axes).sum(axis=(-1, -2)) - 1.0)
        k, k_turn = np.reshape(self.stiffness, 2)
        return np.asarray(0.5 * k * (off**2).sum(axis=-1) + k_turn * (1.0 - cosine))

    def _commanded(self, t: Array) -> tuple[Array, Array]:
        """Pose and its rates, six each."""
        if isinstance(self.pose, Trajectory):
            state = self.pose.sample(t)
            pose, rates = np.zeros((2, *t.shape, 6))
            pose[..., : state.positions.shape[-1]] = state.positions
            rates[..., : state.positions.shape[-1]] = state.velocities
            return pose, rates
        pose = np.zeros((*t.shape, 6))
        pose[..., : len(np.asarray(self.pose))] = self.pose
        return pose, np.zeros_like(pose)

    # -------------------------------------------------------------------------------- passivity
    def passivity(
        self, step: float, device_damping: float | Sequence[float] | None = None
    ) -> Passivity:
        """Whether the coupler gives no energy where it is computed once in a step of T seconds.

        Two conditions, each for translations and for rotations:

        - towards the mechanism, which goes on by one step with the force of its beginning, the
          coupler is the impedance Z(z) = B + K T / (z − 1), whose real part on |z| = 1 is
          B − K T / 2 throughout: it is passive if and only if **B ≥ K T / 2**;
        - towards a user, whose device is sampled and is given a force that is held for a step, it
          is passive with whatever passive mechanism behind it if the device itself has the damping
          **b > K T / 2 + B** (Colgate and Schenkel 1997; Brown and Colgate 1997).

        Simulations of this package evaluate the coupler within a step, which is better than that.

        Parameters
        ----------
        step : float
            T, s.
        device_damping : float or (float, float), optional
            b, N s/m and N m s/rad; without it the second condition is not judged.
        """
        if not (isinstance(step, (int, float)) and np.isfinite(step) and step > 0.0):
            raise ArgumentError(f"passivity: step is {step!r}, expected a positive number")
        K, B = np.reshape([self.stiffness, self.damping], (2, 2))
        own, device = 0.5 * K * step, 0.5 * K * step + B
        passive = bool((own <= B).all())
        if device_damping is not None:
            there = np.array(_pair("device_damping", device_damping))
            passive = passive and bool(((device < there) | (device == 0.0)).all())
        return Passivity(passive, _two(own), _two(device))


def coupler_wrench(equations: Equations, given: Given, link: str, at: Sequence[Expr]) -> list[Expr]:
    """Force and torque of a coupler at the origin of its link, along the axes of the world.

    Parameters
    ----------
    at : sequence of Expr
        Its values at the instant.
    """
    graph, one = given.graph, Given(given.graph, given.inputs, (link,))
    entries = expressions(equations, "pose", one)
    R = [entries[4 * k : 4 * k + 3] for k in range(3)]
    origin = [entries[4 * k + 3] for k in range(3)]
    rows, u = expressions(equations, "jacobian", one), given["u"]
    twist = [
        graph.sum([a * b for a, b in zip(rows[k * len(u) : (k + 1) * len(u)], u)]) for k in range(6)
    ]
    pose, rates, (k, k_turn, b, b_turn), place = at[:6], at[6:12], at[12:16], at[16:19]
    arm = [graph.sum([a * b for a, b in zip(row, place)]) for row in R]
    swept = _cross(twist[3:], arm)
    force = [
        k * (pose[i] - origin[i] - arm[i]) + b * (rates[i] - twist[i] - swept[i]) for i in range(3)
    ]
    axes, turning = _commanded_axes(pose[3:], rates[3:])
    sines = [graph.zero] * 3
    for j in range(3):
        column = _cross([row[j] for row in R], [row[j] for row in axes])
        sines = [a + c for a, c in zip(sines, column)]
    lever = _cross(arm, force)
    torque = [
        k_turn * (0.5 * sines[i]) + b_turn * (turning[i] - twist[3 + i]) + lever[i]
        for i in range(3)
    ]
    return [*force, *torque]


def _cross(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3] for i in range(3)]


def _commanded_axes(angles: Sequence[Any], rates: Sequence[Any]) -> tuple[list[list[Any]], Any]:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll), row by row, and its angular velocity."""
    sine = [np.sin(a) if isinstance(a, np.ndarray) else a.graph.sin(a) for a in angles]
    cosine = [np.cos(a) if isinstance(a, np.ndarray) else a.graph.cos(a) for a in angles]
    (sr, sp, sy), (cr, cp, cy) = sine, cosine
    axes = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    roll, pitch, yaw = rates
    turning = [cy * cp * roll - sy * pitch, sy * cp * roll + cy * pitch, yaw - sp * roll]
    return axes, turning


def _turned(angles: Array, rates: Array) -> tuple[Array, Array]:
    """The same for arrays (..., 3): matrices (..., 3, 3) and vectors (..., 3)."""
    axes, turning = _commanded_axes(
        list(np.moveaxis(angles, -1, 0)[..., None]), list(np.moveaxis(rates, -1, 0)[..., None])
    )
    matrix = np.concatenate([np.stack(row, axis=-1) for row in axes], axis=-2)
    return matrix, np.concatenate(turning, axis=-1)


def _pair(name: str, given: Any) -> tuple[float, float]:
    numbers = checked_array("VirtualCoupler", name, given)
    if numbers.shape not in ((), (2,)) or (numbers < 0.0).any():
        raise ArgumentError(
            f"VirtualCoupler: {name} must be a number or two, none negative: for translations and "
            f"rotations, got {given!r}"
        )
    return _two(np.append(np.ravel(numbers), 0.0)[:2])


def _two(numbers: Array) -> tuple[float, float]:
    return float(numbers[0]), float(numbers[1])


def _sized(name: str, given: ArrayLike, sizes: tuple[int, ...]) -> Array:
    numbers = checked_array("VirtualCoupler", name, given)
    if numbers.ndim != 1 or len(numbers) not in sizes:
        raise ArgumentError(
            f"VirtualCoupler: {name} must be {' or '.join(map(str, sizes))} numbers, got shape "
            f"{numbers.shape}"
        )
    return numbers
