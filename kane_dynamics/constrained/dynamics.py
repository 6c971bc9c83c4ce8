"""`ConstrainedDynamics`: the equations of a robot whose constraints a URDF cannot say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array, real_array
from kane_dynamics.codegen import Backend, CacheChoice
from kane_dynamics.constrained.active import ActiveConstraints, Rows, joint_speeds
from kane_dynamics.constrained.assembly import assembled
from kane_dynamics.constrained.motors import refuse_stuck
from kane_dynamics.dynamics import Dynamics, Wrenches, checked
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.recombination import (
    SATISFIED,
    Recombination,
    ranks_of,
    recombination,
    unsatisfied,
)
from kane_dynamics.kane.tree.constraints import TreeConstraints
from kane_dynamics.kane.tree.equations import TreeEquations
from kane_dynamics.robot.constraints import Constraint, Lock
from kane_dynamics.robot.model import Inertia, Robot
from kane_dynamics.robot.tree import Tree
from kane_dynamics.simulation.named import Named
from kane_dynamics.simulation.request import Request
from kane_dynamics.simulation.switches import checked_switches

PRODUCED = 1e-8
"""Share of generalized forces that actuated joints may fail to produce by rounding."""

FOLLOWED = 1e-6
"""How far a commanded motion may be from its constraints, relative to the terms of each."""


class ConstrainedDynamics(Dynamics):
    """Equations of motion of a robot under constraints that are switched on and off.

    Made by `kane_dynamics.load` with ``constraints=``. Vectors have the entries that they have
    without constraints: all coordinates, all speeds. Equations of the free robot are formed and
    compiled once, those of the constrained one follow by recombination (Kane's method for
    constraints of motion), whatever holds at the moment. What is not said below is that of the
    free robot: `bias`, `energy`, `momentum`, `pose`, `jacobian`, `operations` and `source`.

    Parameters
    ----------
    robot, tree, gravity, backend, cache, given
        As in `Dynamics`.
    constraints : sequence of Constraint
    actuated : sequence of str, optional
        Joints that have motors; by default all but a floating base.

    Raises
    ------
    ArgumentError
        If a constraint names a link or joint that is not there, or `actuated` does; or if
        constraints leave an actuated joint no motion.
    """

    def __init__(
        self,
        robot: Robot,
        tree: Tree,
        gravity: tuple[float, float, float],
        backend: Backend = "auto",
        cache: CacheChoice = True,
        given: Sequence[Inertia | None] = (),
        constraints: Sequence[Constraint] = (),
        actuated: Sequence[str] | None = None,
        switched: tuple[dict[str, bool], dict[str, Array]] | None = None,
    ) -> None:
        super().__init__(robot, tree, gravity, backend, cache, given)
        equations = self._functions.equations
        assert isinstance(equations, TreeEquations)
        expected = {each.name: each.active for each in constraints}
        active, begun = switched or (expected, {})
        rows = TreeConstraints(equations, constraints)
        self._definitions = tuple(constraints)
        self._constraints = ActiveConstraints(self._functions, rows, active, begun, expected)
        self._named_motors = actuated is not None
        self._actuated = tuple(self.joint_names if actuated is None else actuated)
        speeds = joint_speeds("actuated", self._actuated, self.joint_names, self.speed_names)
        self._motors = np.array(speeds, np.intp)
        self._refuse_locked_motors()
        if switched is None:
            self._refuse_stuck_motors()

    def __reduce__(self) -> tuple[Any, ...]:
        _, made_of = super().__reduce__()
        switched = (self._constraints.active, self._constraints.begun)
        motors = self._actuated if self._named_motors else None
        return ConstrainedDynamics, (*made_of, self._definitions, motors, switched)

    # ------------------------------------------------------------------------------ what it is
    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """All constraints, whether they hold or not."""
        return self._definitions

    @property
    def active(self) -> tuple[str, ...]:
        """Names of the constraints that hold."""
        return self._constraints.names

    @property
    def actuated(self) -> tuple[str, ...]:
        """Joints that have motors."""
        return self._actuated

    def set_active(self, name: str, active: bool, q: ArrayLike | None = None) -> None:
        """Let a constraint hold from now on, or no longer.

        Parameters
        ----------
        name : str
        active : bool
        q : array (nq,), optional
            Where it begins. A `Lock`, a `Coupling` and a `Weld` without frames keep what they find
            there; without it they keep what they find wherever a function is asked.

        Raises
        ------
        ArgumentError
            If there is no such constraint, or it is violated at q.
        """
        before = self._constraints.active, self._constraints.begun
        self._constraints.switch(name, active, q)
        try:
            self._refuse_locked_motors()
        except ArgumentError:
            self._constraints.active, self._constraints.begun = before
            raise

    def switched(
        self, active: Mapping[str, bool], q: ArrayLike | None = None
    ) -> ConstrainedDynamics:
        """The same robot with some constraints switched: this one stays as it is.

        What is compiled is shared. Parameters and errors are those of `set_active`.
        """
        other: ConstrainedDynamics = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        before = self._constraints
        other._constraints = ActiveConstraints(
            self._functions, before.definitions, before.active, before.begun, before.expected
        )
        for name, holds in active.items():
            other.set_active(name, holds, q)
        return other

    def begun_at(self, q: ArrayLike) -> ConstrainedDynamics:
        """The same robot, where what keeps what it finds has begun at q, if not elsewhere."""
        other, own = self.switched({}), self._constraints
        anchors, slices = own.anchors(q), own.definitions.anchor_slices
        kept = {name: anchors[slices[name]] for name in self.active}
        other._constraints.begun = {name: each for name, each in kept.items() if len(each)}
        return other

    def constraint_rows(self, q: ArrayLike, u: ArrayLike) -> Rows:
        """What the constraints that hold say about states: A u = 0, A u̇ + bias = 0, no errors."""
        return self._constraints.rows(q, u)

    def independent_speeds(self, q: ArrayLike) -> tuple[str, ...]:
        """Names of the speeds from which all others follow, at one configuration."""
        _, found = self._recombined_at(q)
        return tuple(self.speed_names[k] for k in np.atleast_2d(found.independent)[0])

    # ------------------------------------------------------------------------------- functions
    def forward_dynamics(
        self, q: ArrayLike, u: ArrayLike, tau: ArrayLike, wrenches: Wrenches | None = None
    ) -> Array:
        """Accelerations that torques tau produce while the constraints hold.

        Constraints need not be satisfied by q and u, but are by the accelerations.

        Raises
        ------
        SingularError
            If a motion that constraints leave has no inertia to be accelerated.
        ArgumentError
            If constraints contradict each other; the message names one.
        """
        if wrenches is None:
            found = self._constraints.accelerations(q, u, tau)
            if found is not None:
                return found
        return self._moved(q, u, tau, wrenches)[0]

    def constraint_forces(
        self, q: ArrayLike, u: ArrayLike, tau: ArrayLike, wrenches: Wrenches | None = None
    ) -> dict[str, Array]:
        """What each constraint exerts while torques tau act, by name: (rows,) or (N, rows) each.

        Of a `Loop` and a `Weld` force (N), then torque (N m), on the first link, along the axes
        of the world (about x and y of the first frame for ``keeps="axis"``); of `Rolling` the
        forces on the wheel along the normal, along its path, and across; of a `Lock` and a
        `Coupling` torques or forces. Where constraints are redundant, those of least norm.
        """
        udot, rows, M, Q = self._moved(q, u, tau, wrenches)
        generalized = (M @ udot[..., None])[..., 0] - Q
        found = np.zeros(rows.bias.shape)
        for where, own in self._groups(rows.A, _diagonal(M)):
            found[where] = own.forces(generalized[where])
        return {
            name: found[..., [k for k, owner in enumerate(rows.names) if owner == name]]
            for name in self.active
        }

    def inverse_dynamics(
        self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, wrenches: Wrenches | None = None
    ) -> Array:
        """Torques of the actuated joints that produce a motion, zero at all other speeds.

        Where they are not unique, those of least norm.

        Raises
        ------
        ArgumentError
            If the motion violates a constraint, or actuated joints cannot produce it.
        """
        generalized = super().inverse_dynamics(q, u, udot, wrenches)
        rows = self._constraints.rows(q, u)
        speeds, rates = (np.asarray(each, np.float64) for each in (u, udot))
        self._refuse_violation("u", rows, unsatisfied(rows.A, 0.0 * rows.bias, speeds))
        self._refuse_violation("udot", rows, unsatisfied(rows.A, rows.bias, rates))
        return self._torques(q, rows, generalized, "this motion")

    def gravity(self, q: ArrayLike) -> Array:
        """Torques of the actuated joints that hold the robot still, constraints doing their part.

        Raises
        ------
        ArgumentError
            If they cannot hold it.
        """
        weights = super().gravity(q)
        rows = self._constraints.rows(q, np.zeros(self.dof))
        return self._torques(q, rows, weights, "rest under gravity")

    def mass_matrix(self, q: ArrayLike) -> Array:
        """The symmetric mass matrix of the independent speeds, (p, p) or (N, p, p).

        `independent_speeds` names them; for many configurations they are those of the first.
        """
        M, found = self._recombined_at(q)
        return np.asarray(np.swapaxes(found.T, -1, -2) @ M @ found.T)

    def admissible_speeds(self, q: ArrayLike, u: ArrayLike) -> Array:
        """The speeds that constraints allow and that are reached from u by their impulse.

        They differ from u by as little kinetic energy of the difference as possible: it is what is
        lost when constraints are imposed on the speeds u without restitution.
        """
        M = super().mass_matrix(q)
        rows = self._constraints.rows(q, u)
        momentum = (M @ np.asarray(u, np.float64)[..., None])[..., 0]
        M, A, momentum = _together((M, 2), (rows.A, 2), (momentum, 1))
        found = np.zeros(momentum.shape)
        for where, own in self._groups(A, _diagonal(M)):
            bias = np.zeros(A[where].shape[:-1])
            found[where] = own.accelerations(M[where], momentum[where], bias)
        return found

    def assemble(self, q: ArrayLike, fixed: Sequence[str] = ()) -> Array:
        """Coordinates near q that satisfy the constraints that hold: loops are closed.

        Parameters
        ----------
        q : array (nq,)
            Where to begin.
        fixed : sequence of str
            Joints that stay as they are.

        Raises
        ------
        ArgumentError
            If there are none near; the message names the constraint that cannot be assembled.
        """
        begin = self._one_state(q)
        held = joint_speeds("fixed", fixed, self.joint_names, self.speed_names)
        free = [k for k in range(self.dof) if k not in held]
        anchors, still = self._constraints.anchors(begin), np.zeros(self.dof)
        rows = self._constraints.rows
        return assembled(begin, lambda q: rows(q, still, anchors), self._displaced, free)

    # ------------------------------------------------------------------------ what these need
    def _moved(
        self, q: ArrayLike, u: ArrayLike, tau: ArrayLike, wrenches: Wrenches | None
    ) -> tuple[Array, Rows, Array, Array]:
        """Accelerations, rows, the mass matrix and generalized forces less the bias."""
        zeros = np.zeros(self.dof)
        against = super().inverse_dynamics(q, u, zeros, wrenches)
        torques = checked("forward_dynamics", "tau", tau, self.dof)
        if torques.ndim == against.ndim == 2 and len(torques) != len(against):
            raise ArgumentError(
                f"forward_dynamics: tau has {len(torques)} states, other arguments have "
                f"{len(against)}"
            )
        rows = self._constraints.rows(q, u)
        M, A, bias, errors, Q = _together(
            (super().mass_matrix(q), 2),
            (rows.A, 2),
            (rows.bias, 1),
            (rows.errors, 1),
            (torques - against, 1),
        )
        rows = Rows(A, bias, errors, rows.names, rows.positions)
        udot = np.zeros(Q.shape)
        for where, own in self._groups(A, _diagonal(M)):
            udot[where] = own.accelerations(M[where], Q[where], bias[where])
        off = unsatisfied(A, bias, udot)
        if rows.names and not off.max(initial=0.0) <= SATISFIED:
            name, _ = rows.worst(off)
            raise ArgumentError(
                f"constraint {name!r} contradicts others in this state: no accelerations satisfy "
                "them all"
            )
        return udot, rows, M, Q

    def _groups(self, A: Array, inertia: Array) -> list[tuple[Any, Recombination]]:
        """States with as many independent speeds, and how their equations are recombined."""
        if A.ndim == 2:
            return [((), recombination(A, inertia))]
        ranks = ranks_of(A, inertia)
        groups = [np.flatnonzero(ranks == rank) for rank in np.unique(ranks)]
        return [(where, recombination(A[where], inertia[where])) for where in groups]

    def _recombined_at(self, q: ArrayLike) -> tuple[Array, Recombination]:
        """The mass matrix, and one choice of dependent speeds for all configurations."""
        M = super().mass_matrix(q)
        rows = self._constraints.rows(q, np.zeros(self.dof))
        M, A = _together((M, 2), (rows.A, 2))
        if A.ndim == 2:
            return M, recombination(A, _diagonal(M))
        first = recombination(A[0], _diagonal(M[0]))
        ranks = ranks_of(A, _diagonal(M))
        if (ranks != first.rank).any():
            k = int(np.flatnonzero(ranks != first.rank)[0])
            raise ArgumentError(
                f"mass_matrix: constraints leave {self.dof - first.rank} independent speeds at "
                f"q[0] and {self.dof - ranks[k]} at q[{k}], expected as many"
            )
        return M, recombination(A, _diagonal(M), first.dependent)

    def _torques(self, q: ArrayLike, rows: Rows, generalized: Array, what: str) -> Array:
        A, M, generalized = _together((rows.A, 2), (super().mass_matrix(q), 2), (generalized, 1))
        found = np.zeros(generalized.shape)
        for where, own in self._groups(A, _diagonal(M)):
            found[where], missing = own.torques(generalized[where], self._motors)
            if not missing.size:  # no motion is left
                continue
            worst = np.abs(missing).reshape(-1, missing.shape[-1]).max(axis=0)
            if not worst.max(initial=0.0) <= PRODUCED:
                free = np.atleast_2d(own.independent)[0]
                speed = self.speed_names[int(free[worst.argmax()])]
                raise ArgumentError(
                    f"the actuated joints ({', '.join(self._actuated)}) cannot produce {what}: "
                    f"nothing drives '{speed}'"
                )
        return found

    def _refuse_violation(self, argument: str, rows: Rows, off: Array) -> None:
        if rows.names and not off.max(initial=0.0) <= FOLLOWED:
            name, _ = rows.worst(off)
            raise ArgumentError(
                f"inverse_dynamics: {argument} violates constraint {name!r}, expected a motion "
                "that satisfies it"
            )

    def _refuse_locked_motors(self) -> None:
        """A motor that is asked for by name must be able to move its joint."""
        active = self._constraints.active
        locks = [e for e in self._definitions if isinstance(e, Lock) and active[e.name]]
        for lock in locks:
            gives = lock.stops or lock.limit is not None
            if not gives and self._named_motors and lock.joint in self._actuated:
                raise ArgumentError(
                    f"actuated: constraint {lock.name!r} leaves joint {lock.joint!r} no motion"
                )

    def _refuse_stuck_motors(self) -> None:
        """The same where constraints stop it together; said of those that hold at the start."""
        own, names = self._constraints, (self.joint_names, self.speed_names)
        if not self._named_motors or not own.firm:
            return
        neutral = np.zeros(self.nq)
        neutral[[first + 3 for first in self._functions.equations.quaternions]] = 1.0
        motors = {joint: joint_speeds("actuated", [joint], *names) for joint in self._actuated}
        begin, inertia = (neutral, self.dof), lambda q: _diagonal(Dynamics.mass_matrix(self, q))
        refuse_stuck(motors, begin, own.firm_rows, self._displaced, inertia)

    def _one_state(self, q: ArrayLike) -> Array:
        begin: Array = real_array("q", q).copy()
        if begin.shape != (self.nq,):
            raise ArgumentError(f"q must have shape ({self.nq},), got {begin.shape}")
        return begin

    def _displaced(self, q: Array, motion: Array) -> Array:
        """Coordinates after a small motion."""
        q = q + self._function("coordinate_rates")(q, motion)
        for first in self._functions.equations.quaternions:
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        return q

    def _named(self, request: Request) -> Named | None:
        own = self._constraints
        switches = checked_switches(request.switches, request.machine, list(own.active))
        if not (self.active or switches or request.machine):
            return None
        self._one_state(request.q0)
        active, begun = dict(own.active), dict(own.begun)
        return Named(own.definitions, self._functions, active, begun, switches, request.machine)


def _diagonal(M: Array) -> Array:
    return np.diagonal(M, axis1=-2, axis2=-1)


def _together(*arrays: tuple[Array, int]) -> list[Array]:
    """Arrays for as many states each, given how many axes of each belong to one state."""
    states = np.broadcast_shapes(*(a.shape[: a.ndim - own] for a, own in arrays))
    return [np.broadcast_to(a, (*states, *a.shape[a.ndim - own :])) for a, own in arrays]
