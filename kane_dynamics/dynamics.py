"""`Dynamics`: the equations of one robot as functions, arrays in and arrays out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.analysis import Analysis, on_demand
from kane_dynamics.arrays import Array
from kane_dynamics.codegen import Backend, CacheChoice
from kane_dynamics.codegen.arguments import prepare
from kane_dynamics.codegen.functions import Function, Functions
from kane_dynamics.errors import ArgumentError, CompileError
from kane_dynamics.kane.tree.equations import TreeEquations
from kane_dynamics.late import LateInertia
from kane_dynamics.quantities import Energy, JointLimits, Momentum
from kane_dynamics.robot.late import NOTHING
from kane_dynamics.robot.model import ZERO, Inertia, Robot
from kane_dynamics.robot.tree import Tree
from kane_dynamics.simulation.request import Request, spelled_out
from kane_dynamics.symbolic.program import Input, Operations, Signature

if TYPE_CHECKING:
    from kane_dynamics.simulation.motion import Motion
    from kane_dynamics.simulation.named import Named
    from kane_dynamics.simulation.watch import Cancel, ProgressChoice

Wrenches = Mapping[str, ArrayLike]


class Dynamics(Analysis):
    """Equations of motion of a robot.

    Made by `kane_dynamics.load`. Every function takes one state ``(n,)`` or a batch ``(N, n)`` for
    each argument and returns the same rank; a single state given with a batch holds for all of it.
    Equations are derived, compiled and cached when they are first needed. Units are SI; the world
    is the frame of the robot's root link.

    Parameters
    ----------
    robot : Robot
    tree : Tree
        The bodies of the robot that move.
    gravity : (float, float, float)
        Acceleration of gravity in the world, m/s².
    backend, cache
        As in `kane_dynamics.load`.
    given : sequence of (Inertia or None)
        Of ``tree.late`` and ``tree.payload``, those that are known already.
    """

    def __init__(
        self,
        robot: Robot,
        tree: Tree,
        gravity: tuple[float, float, float],
        backend: Backend = "auto",
        cache: CacheChoice = True,
        given: Sequence[Inertia | None] = (),
    ) -> None:
        self._robot = robot
        self._tree = tree
        equations = TreeEquations(robot.name, tree, gravity)
        self._functions = Functions(equations, backend, cache)
        self._late = LateInertia(equations, given)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made anew, and find what is compiled in the cache."""
        functions = self._functions
        made_of = (self._robot, self._tree, self.gravity_vector)
        return Dynamics, (*made_of, functions.backend, functions.cache, self._late.given)

    def __repr__(self) -> str:
        return f"<Dynamics of {self._robot.name}: {self.dof} speeds, joints {self.joint_names}>"

    # ------------------------------------------------------------------------------ what it is
    @property
    def robot(self) -> Robot:
        """The robot as it was read."""
        return self._robot

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that move by themselves, in the order of the URDF and of every vector."""
        return self._tree.joint_names

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """A name for every entry of q."""
        return self._tree.coordinate_names

    @property
    def speed_names(self) -> tuple[str, ...]:
        """A name for every entry of u, udot and tau."""
        return self._tree.speed_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """The links whose pose and Jacobian can be asked for."""
        return tuple(name for name, _ in self._tree.frames)

    @property
    def dof(self) -> int:
        """Number of generalized speeds."""
        return self._tree.nu

    @property
    def nq(self) -> int:
        """Number of generalized coordinates."""
        return self._tree.nq

    @property
    def tree(self) -> Tree:
        """The bodies that move, with the inertias and frames the equations are written in."""
        return self._tree

    @property
    def gravity_vector(self) -> tuple[float, float, float]:
        """Acceleration of gravity in the world, m/s²."""
        equations = self._functions.equations
        assert isinstance(equations, TreeEquations)
        return equations.gravity_vector

    @property
    def backend(self) -> Backend:
        """The backend that was asked for; `compiled` says what came of it."""
        return self._functions.backend

    @property
    def cache(self) -> bool | str:
        """Where compiled code is kept, as in `kane_dynamics.load`."""
        cache = self._functions.cache
        return cache if isinstance(cache, bool) else os.fspath(cache)

    @cached_property
    def compiled(self) -> bool:
        """Whether compiled C computes, rather than NumPy."""
        try:
            return self.backend != "numpy" and self._functions.address("gravity") != 0
        except CompileError:
            return False

    @cached_property
    def limits(self) -> JointLimits:
        """Limits of `joint_names`, as the robot gives them."""
        given = [self._robot.joint(name).limits for name in self.joint_names]
        lower = [-np.inf if each is None else each.lower for each in given]
        others = [
            [np.inf if each is None else getattr(each, which) for each in given]
            for which in ("upper", "velocity", "effort")
        ]
        return JointLimits(*(np.array(column) for column in (lower, *others)))

    # ------------------------------------------------------------------------------- functions
    def inverse_dynamics(
        self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, wrenches: Wrenches | None = None
    ) -> Array:
        """Torques (N m) and forces (N) that produce the accelerations udot.

        Parameters
        ----------
        q : array (nq,) or (N, nq)
            Coordinates, rad and m.
        u, udot : array (dof,) or (N, dof)
            Speeds and accelerations.
        wrenches : dict from link name to array (6,) or (N, 6), optional
            Force (N), then torque (N m), that the surroundings exert on a link; world-aligned,
            at the link's origin.

        Examples
        --------
        >>> import kane_dynamics as kd
        >>> arm = kd.load('''<robot name="r"><link name="base"/><link name="rod"><inertial>
        ... <origin xyz="1 0 0"/><mass value="2"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0"
        ... izz="0.5"/></inertial></link><joint name="j" type="continuous"><parent link="base"/>
        ... <child link="rod"/><axis xyz="0 0 1"/></joint></robot>''')
        >>> arm.inverse_dynamics([0.0], [0.0], [1.0])
        array([2.5])
        """
        tau = self._inverse_dynamics(q, u, udot)
        if wrenches is None:
            return tau
        return _sum("inverse_dynamics", tau, -self.wrench_forces(q, wrenches))

    def gravity(self, q: ArrayLike) -> Array:
        """Torques that hold the robot still against its weight, (dof,) or (N, dof)."""
        return self._gravity(q)

    def bias(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Torques that produce no acceleration: inverse dynamics with udot = 0."""
        return self._bias(q, u)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """The symmetric mass matrix, (dof, dof) or (N, dof, dof)."""
        return self._mass_matrix(q)

    def forward_dynamics(
        self, q: ArrayLike, u: ArrayLike, tau: ArrayLike, wrenches: Wrenches | None = None
    ) -> Array:
        """Accelerations that torques tau produce; `wrenches` as in `inverse_dynamics`.

        Raises
        ------
        SingularError
            If a link that moves has no inertia to be accelerated; the message names it.
        """
        if wrenches is not None:
            tau = checked("forward_dynamics", "tau", tau, self.dof)
            tau = _sum("forward_dynamics", tau, self.wrench_forces(q, wrenches))
        return self._forward_dynamics(q, u, tau)

    def energy(self, q: ArrayLike, u: ArrayLike) -> Energy:
        """Kinetic energy, and potential energy, which is zero at the height of the world's origin.

        Bodies fixed to the ground are not counted.
        """
        both = self._energy(q, u)
        return Energy(both[..., 0][()], both[..., 1][()])

    def momentum(self, q: ArrayLike, u: ArrayLike) -> Momentum:
        """Linear momentum, and angular momentum about the world's origin, in the world."""
        both = self._momentum(q, u)
        return Momentum(both[..., :3], both[..., 3:])

    def pose(self, link: str, q: ArrayLike) -> Array:
        """Pose of a link's frame in the world: homogeneous matrix (4, 4) or (N, 4, 4)."""
        return self._function("pose", link)(q)

    def jacobian(self, link: str, q: ArrayLike) -> Array:
        """Partial velocities of a link, (6, dof) or (N, 6, dof).

        Rows are velocity of the link's origin, then angular velocity, world-aligned; column r is
        what a unit of speed r gives.
        """
        return self._function("jacobian", link)(q)

    def wrench_forces(self, q: ArrayLike, wrenches: Wrenches) -> Array:
        """Generalized active forces of wrenches on links, (dof,) or (N, dof).

        Parameters
        ----------
        q, wrenches
            As in `inverse_dynamics`.
        """
        if not isinstance(wrenches, Mapping):
            raise ArgumentError(
                f"wrenches must be a dict from link name to (6,), got {type(wrenches).__name__}"
            )
        for link in wrenches:
            self._tree.frame(link)
        if not wrenches:
            return np.zeros(self.dof)
        inputs = tuple(Input(f"['{link}']", 6) for link in wrenches)
        arrays = prepare(Signature("wrenches", inputs, ()), list(wrenches.values()), {})
        # Sorted, so that the order in which links are named does not make another program.
        links, arrays = zip(*sorted(zip(wrenches, arrays), key=lambda pair: pair[0]))
        states = np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
        flat = np.concatenate([np.broadcast_to(a, (*states, 6)) for a in arrays], axis=-1)
        return self._function("wrench_forces", *links)(q, flat)

    @spelled_out
    def simulate(
        self,
        *asked: Any,
        progress: ProgressChoice = None,
        cancel: Cancel | None = None,
        **options: Any,
    ) -> Motion:
        """The motion from an initial state on, under torques or a controller.

        Damping and dry friction of the joints act if the robot was loaded with ``joint_friction``.
        Joints with dry friction stick: at rest they stay exactly where they are until they are
        pushed harder than friction can hold.

        Parameters
        ----------
        {options}
        progress : callable, optional
            Told the `Progress` every few hundredths of a second. By default a bar is shown while a
            long simulation runs in a terminal; False shows none.
        cancel : callable, optional
            Asked as often whether to stop; what was computed until then is returned.

        Returns
        -------
        Motion
            If something goes wrong on the way, the motion ends at the last good state, is not
            `completed` and has a `message`.

        Raises
        ------
        ArgumentError
            If an argument is wrong.
        SingularError
            If a link that moves has no inertia to be accelerated.

        Examples
        --------
        >>> import kane_dynamics as kd
        >>> arm = kd.load('''<robot name="r"><link name="base"/><link name="rod"><inertial>
        ... <origin xyz="1 0 0"/><mass value="2"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0"
        ... izz="0.5"/></inertial></link><joint name="j" type="continuous"><parent link="base"/>
        ... <child link="rod"/><axis xyz="0 0 1"/></joint></robot>''')
        >>> motion = arm.simulate(2.0, [0.0], [0.0], torque=[5.0])
        >>> round(float(motion.u[-1, 0]), 9)
        4.0
        """
        # Imported here: what only computes torques does without.
        from kane_dynamics.simulation.simulate import simulate

        limits = zip(self.limits.lower.tolist(), self.limits.upper.tolist())
        bounds = dict(zip(self.joint_names, limits))
        request, late = Request(*asked, **options), self.parameters
        named = self._named(request)
        return simulate(self._functions, request, bounds, late, progress, cancel, named)

    def _named(self, request: Request) -> Named | None:
        """Constraints by name in a simulation."""
        return None

    # ------------------------------------------------------------- numbers given at run time
    def set_inertia(
        self, link: str, mass: float, com: ArrayLike = ZERO, inertia: ArrayLike = NOTHING.tensor
    ) -> None:
        """Give the inertia of a link that was named as `late` when the robot was loaded.

        From then on all functions use it; nothing is derived or compiled again.

        Parameters
        ----------
        link : str
        mass : float
            In kg.
        com : array (3,)
            Centre of mass in the frame of the link, m.
        inertia : array (3, 3)
            About the centre of mass, along the axes of the link's frame, kg m².

        Raises
        ------
        ArgumentError
            If the link was not named as `late`, or a number is negative or not finite.
        """
        self._late.set("late", link, mass, com, inertia)

    def set_payload(
        self, link: str, mass: float, com: ArrayLike = ZERO, inertia: ArrayLike = NOTHING.tensor
    ) -> None:
        """Give the inertia of what a link carries that was named as `payload`; at first, nothing.

        Parameters and errors are those of `set_inertia`.

        Examples
        --------
        >>> import kane_dynamics as kd
        >>> arm = kd.load('''<robot name="r"><link name="base"/><link name="rod"/>
        ... <joint name="j" type="prismatic"><parent link="base"/><child link="rod"/>
        ... <axis xyz="0 0 1"/><limit effort="1" velocity="1"/></joint></robot>''', payload="rod")
        >>> arm.set_payload("rod", mass=2.0)
        >>> arm.gravity([0.0])
        array([19.62])
        """
        self._late.set("payload", link, mass, com, inertia)

    @property
    def parameters(self) -> tuple[Array, ...]:
        """What programs take after their own inputs: none without late numbers.

        Raises
        ------
        ArgumentError
            If the inertia of a link was never given.
        """
        return self._late.inputs

    # ----------------------------------------------------------------- equations to be looked at
    def operations(self, name: str, link: str | None = None) -> Operations:
        """Exact count of arithmetic operations of a function.

        Parameters
        ----------
        name : str
            A function of this class: ``"inverse_dynamics"``, ``"gravity"``, …
        link : str, optional
            The link, for ``"pose"`` and ``"jacobian"``.
        """
        return self._functions.operations(name, *_named(link))

    def source(
        self, name: str, language: Literal["c", "python", "latex"] = "c", link: str | None = None
    ) -> str:
        """Equations as text.

        Parameters
        ----------
        name, link
            As in `operations`.
        language : {"c", "python", "latex"}
            A C99 file that depends on nothing but ``libm``, a Python module that depends on
            NumPy, or LaTeX with intermediate quantities Z1, Z2, … as in Kane's papers.
        """
        return self._functions.source(name, language, *_named(link))

    def equations(
        self, name: str, link: str | None = None
    ) -> tuple[list[tuple[Any, Any]], list[Any]]:
        """Equations as SymPy expressions: definitions of Z1, Z2, …, and the outputs in their terms.

        The form is that of `sympy.cse`.
        """
        return self._functions.sympy(name, *_named(link))

    # -------------------------------------------------------------------------- compiled on demand
    def _function(self, name: str, *links: str) -> Function:
        """A function of what users give: late numbers, if there are any, are added to it."""
        return self._late.added_to(self._functions.function(name, *links), name, links)

    _inverse_dynamics = on_demand("inverse_dynamics")
    _gravity = on_demand("gravity")
    _bias = on_demand("bias")
    _mass_matrix = on_demand("mass_matrix")
    _forward_dynamics = on_demand("forward_dynamics")
    _energy = on_demand("energy")
    _momentum = on_demand("momentum")


def _named(link: str | None) -> tuple[str, ...]:
    return () if link is None else (link,)


def _sum(function: str, a: Array, b: Array) -> Array:
    """Sum of generalized forces, each of one state or of many."""
    if a.ndim == b.ndim == 2 and len(a) != len(b):
        raise ArgumentError(
            f"{function}: wrenches have {len(b)} states, other arguments have {len(a)}"
        )
    return a + b


def checked(function: str, name: str, value: ArrayLike, size: int) -> Array:
    """One argument as array of shape (size,) or (N, size), checked as compiled functions do."""
    (array,) = prepare(Signature(function, (Input(name, size),), ()), [value], {})
    return array
