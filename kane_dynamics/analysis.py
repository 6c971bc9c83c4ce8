"""How the equations of a robot change from state to state: derivatives and what follows of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array
from kane_dynamics.codegen.arguments import prepare
from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.linearize import Linearization, equilibrium, second_order
from kane_dynamics.kane.speeds import ReducedSpeeds
from kane_dynamics.kane.tree.equations import TreeEquations
from kane_dynamics.operational import OperationalSpace, checked_rows, operational_space
from kane_dynamics.quantities import ForwardDynamicsDerivatives, InverseDynamicsDerivatives
from kane_dynamics.symbolic.program import Input, Signature

if TYPE_CHECKING:
    from kane_dynamics.codegen.functions import Function, Functions
    from kane_dynamics.simulation.motion import Motion


def on_demand(name: str) -> cached_property[Function]:
    """A function of the robot, made when it is first used."""
    return cached_property(lambda dynamics: dynamics._function(name))


class Analysis:
    """What `kane_dynamics.dynamics.Dynamics` can say of its equations besides their values."""

    if TYPE_CHECKING:
        _functions: Functions

        @property
        def dof(self) -> int: ...

        @property
        def nq(self) -> int: ...

        @property
        def parameters(self) -> tuple[Array, ...]: ...

        def _function(self, name: str, *links: str) -> Function: ...

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, u: ArrayLike, udot: ArrayLike
    ) -> InverseDynamicsDerivatives:
        """Derivatives of `inverse_dynamics`, each (dof, dof) or (N, dof, dof), a row a torque.

        Those by q are by displacements: a unit of displacement r is what a unit of speed r gives
        in a unit of time. For joints that turn or slide these are the coordinates; for floating
        and ball joints they are along the axes of the body, as in Pinocchio. Viscous friction is
        part of the derivatives; dry friction, which jumps where it changes, is not.

        Parameters
        ----------
        q, u, udot
            As in `inverse_dynamics`.

        Examples
        --------
        >>> import kane_dynamics as kd
        >>> arm = kd.load('''<robot name="r"><link name="base"/><link name="rod"><inertial>
        ... <origin xyz="1 0 0"/><mass value="2"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0"
        ... izz="0.5"/></inertial></link><joint name="j" type="continuous"><parent link="base"/>
        ... <child link="rod"/><axis xyz="0 0 1"/></joint></robot>''', gravity=(-10, 0, 0))
        >>> derivatives = arm.inverse_dynamics_derivatives([0.0], [0.0], [1.0])
        >>> derivatives.dtau_dq, derivatives.dtau_dudot
        (array([[-20.]]), array([[2.5]]))
        """
        found = self._inverse_dynamics_derivatives(q, u, udot)
        return InverseDynamicsDerivatives._make(_three(found))

    def forward_dynamics_derivatives(
        self, q: ArrayLike, u: ArrayLike, tau: ArrayLike
    ) -> ForwardDynamicsDerivatives:
        """Derivatives of `forward_dynamics`, each (dof, dof) or (N, dof, dof), a row a speed.

        Displacements and friction are those of `inverse_dynamics_derivatives`; the derivative by
        tau is the inverse of the mass matrix.

        Parameters
        ----------
        q, u, tau
            As in `forward_dynamics`.

        Raises
        ------
        SingularError
            If a link that moves has no inertia to be accelerated; the message names it.
        """
        found = self._forward_dynamics_derivatives(q, u, tau)
        return ForwardDynamicsDerivatives._make(_three(found))

    def linearize(
        self, q: ArrayLike | Motion, u: ArrayLike | None = None, tau: ArrayLike | None = None
    ) -> Linearization:
        """Linear equations of the neighbourhood of a state, or of each state of a batch.

        States are the displacements of `inverse_dynamics_derivatives`, named as the speeds, then
        the deviations of the speeds, with ``.speed`` after their names; inputs are those of the
        torques. About a motion they are taken along with it.

        Parameters
        ----------
        q : array (nq,) or (N, nq), or Motion
            Coordinates; or a simulated motion, without more, for all its states.
        u, tau : array (dof,) or (N, dof)
            Speeds and torques.

        Raises
        ------
        SingularError
            If a link that moves has no inertia to be accelerated.

        Examples
        --------
        >>> import kane_dynamics as kd
        >>> arm = kd.load('''<robot name="r"><link name="base"/><link name="rod"><inertial>
        ... <origin xyz="0 0 -2"/><mass value="2"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0"
        ... izz="0"/></inertial></link><joint name="j" type="continuous"><parent link="base"/>
        ... <child link="rod"/><axis xyz="0 1 0"/></joint></robot>''', gravity=(0, 0, -8))
        >>> pendulum = arm.linearize([0.0], [0.0], [0.0])
        >>> pendulum.states, pendulum.A
        (('j', 'j.speed'), array([[ 0.,  1.],
               [-4.,  0.]]))
        """
        # Imported here: what only computes torques does without.
        from kane_dynamics.simulation.motion import Motion

        functions, late = self._functions, self.parameters
        if isinstance(q, Motion):
            functions, motion = functions.smooth, q
            q, u, tau = motion.q, motion.u, motion.tau + motion.other_forces
        if u is None or tau is None:
            missing = "u" if u is None else "tau"
            raise ArgumentError(f"linearize misses {missing}: a state is q, u and tau")
        found = _three(functions.function("forward_dynamics_derivatives")(q, u, tau, *late))
        rates = functions.function("displacement_rates")(q, u, *late)
        rates = np.broadcast_to(rates, found[0].shape)
        return second_order(rates, found, functions.equations.speed_names)

    def equilibrium(self, guess: ArrayLike, tau: ArrayLike | None = None) -> Array:
        """Coordinates (nq,) near a guess at which the robot stays at rest.

        Dry friction is left out; what no torque depends on stays where it was guessed.

        Parameters
        ----------
        guess : array (nq,)
            Where to begin.
        tau : array (dof,), optional
            Torques that act all the time; none by default.

        Raises
        ------
        ArgumentError
            If none is found.
        """
        functions, late = self._functions.smooth, self.parameters
        equations = functions.equations
        rest = np.zeros(self.dof)
        start = one_state("equilibrium", "guess", guess, self.nq)
        held = rest if tau is None else one_state("equilibrium", "tau", tau, self.dof)
        bias, rates = functions.function("bias"), functions.function("coordinate_rates")
        slopes = functions.function("inverse_dynamics_derivatives")

        def moved(q: Array, step: Array) -> Array:
            result = q + rates(q, step, *late)
            for first in equations.quaternions:
                result[first : first + 4] /= np.linalg.norm(result[first : first + 4])
            return result

        return equilibrium(
            lambda q: bias(q, rest, *late) - held,
            lambda q: slopes(q, rest, rest, *late)[0],
            moved,
            start,
            equations.speed_names,
        )

    def operational_space(
        self, link: str, q: ArrayLike, u: ArrayLike, rows: Sequence[int] = (0, 1, 2)
    ) -> OperationalSpace:
        """Inertia, bias and gravity seen at a link, and torques for what it is to do.

        Parameters
        ----------
        link : str
        q, u : array (nq,) and (dof,), or (N, nq) and (N, dof)
            Coordinates and speeds.
        rows : sequence of int
            Of the link's `jacobian`: 0, 1, 2 velocity of its origin along x, y, z of the world, 3,
            4, 5 angular velocity.

        Raises
        ------
        ArgumentError
            If there is no such link, or such rows.
        SingularError
            If a link that moves has no inertia to be accelerated.

        Examples
        --------
        >>> import kane_dynamics as kd
        >>> arm = kd.load('''<robot name="r"><link name="base"/><link name="cart"><inertial>
        ... <mass value="2"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>
        ... </link><joint name="j" type="prismatic"><parent link="base"/><child link="cart"/>
        ... <axis xyz="0 0 1"/><limit effort="1" velocity="1"/></joint></robot>''')
        >>> hand = arm.operational_space("cart", [0.0], [0.0], rows=[2])
        >>> hand.inertia, hand.gravity, hand.torques([1.0])
        (array([[2.]]), array([19.62]), array([21.62]))
        """
        chosen = checked_rows(rows)
        jacobian = self._function("jacobian", link)(q)[..., chosen, :]
        drift = self._function("drift", link)(q, u)[..., chosen]
        bias, gravity = self._function("bias")(q, u), self._function("gravity")(q)
        M = self._function("mass_matrix")(q)
        for each in M.reshape(-1, self.dof, self.dof):
            error = self._functions.equations.singular_error(each)
            if error is not None:
                raise error
        return operational_space(jacobian, M, bias, gravity, drift)

    def reduced_speeds(self) -> ReducedSpeeds:
        """Combinations of the speeds for which more partial velocities are zero.

        By the column reduction of Maher and Samak. Inertia that is given at run time counts as
        none in the operations; partial velocities do not depend on it.

        Examples
        --------
        >>> import kane_dynamics as kd
        >>> arm = kd.load('''<robot name="r"><link name="base"/><link name="a"/><link name="b"/>
        ... <joint name="one" type="continuous"><parent link="base"/><child link="a"/>
        ... <axis xyz="0 0 1"/></joint><joint name="two" type="continuous"><parent link="a"/>
        ... <child link="b"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/></joint></robot>''')
        >>> found = arm.reduced_speeds()
        >>> found.speeds
        {'one*': {'one': 1.0}, 'two*': {'one': 1.0, 'two': 1.0}}
        >>> found.vanished
        (Vanished(body='b', kind='angular velocity', speed='one'),)
        """
        equations = self._functions.equations
        assert isinstance(equations, TreeEquations)
        return equations.reduced_speeds()

    _inverse_dynamics_derivatives = on_demand("inverse_dynamics_derivatives")
    _forward_dynamics_derivatives = on_demand("forward_dynamics_derivatives")


def _three(found: Array) -> tuple[Array, Array, Array]:
    """The three matrices of one state or of a batch; going through an array takes twice as long."""
    if found.ndim == 3:
        return found[0], found[1], found[2]
    return found[:, 0], found[:, 1], found[:, 2]


def one_state(function: str, name: str, value: ArrayLike, size: int) -> Array:
    """An argument (size,), checked as compiled functions do."""
    (array,) = prepare(Signature(function, (Input(name, size),), ()), [value], {})
    if array.ndim != 1:
        raise ArgumentError(f"{function}: {name} must have shape ({size},), got {array.shape}")
    return array
