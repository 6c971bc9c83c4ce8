"""How the equations of a robot change from state to state: derivatives and what follows of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array
from kane_dynamics.quantities import ForwardDynamicsDerivatives, InverseDynamicsDerivatives

if TYPE_CHECKING:
    from kane_dynamics.codegen.functions import Function


def on_demand(name: str) -> cached_property[Function]:
    """A function of the robot, made when it is first used."""
    return cached_property(lambda dynamics: dynamics._function(name))


class Analysis:
    """What `kane_dynamics.dynamics.Dynamics` can say of its equations besides their values."""

    if TYPE_CHECKING:

        @property
        def dof(self) -> int: ...

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
        return InverseDynamicsDerivatives(*_three(found))

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
        return ForwardDynamicsDerivatives(*_three(found))

    _inverse_dynamics_derivatives = on_demand("inverse_dynamics_derivatives")
    _forward_dynamics_derivatives = on_demand("forward_dynamics_derivatives")


def _three(found: Array) -> Array:
    """The three matrices of one state or of a batch."""
    return found if found.ndim == 3 else found.swapaxes(0, 1)
