"""`Dynamics`: the equations of one robot as functions, arrays in and arrays out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from kane_dynamics.arrays import Array
from kane_dynamics.codegen import Backend, CacheChoice
from kane_dynamics.codegen.arguments import prepare
from kane_dynamics.codegen.backend_numpy import PythonFunction
from kane_dynamics.errors import ArgumentError
from kane_dynamics.functions import Function, Functions
from kane_dynamics.kane.listing import heading, listing
from kane_dynamics.kane.programs import Equations
from kane_dynamics.quantities import Energy, JointLimits, Momentum
from kane_dynamics.robot.model import Robot
from kane_dynamics.robot.tree import Tree
from kane_dynamics.symbolic.program import Input, Operations, Signature
from kane_dynamics.symbolic.sympy import sympy_equations

if TYPE_CHECKING:
    from kane_dynamics.simulation.inputs import Torque
    from kane_dynamics.simulation.motion import Motion
    from kane_dynamics.simulation.problem import Method
    from kane_dynamics.simulation.problem import Wrenches as WrenchesOverTime
    from kane_dynamics.simulation.stops import LimitPolicy
    from kane_dynamics.simulation.watch import Cancel, ProgressChoice

Wrenches = Mapping[str, ArrayLike]


def _compiled(name: str) -> cached_property[Function]:
    """A function of the robot, made when it is first used."""
    return cached_property(lambda dynamics: dynamics._functions.function(name))


class Dynamics:
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
    """

    def __init__(
        self,
        robot: Robot,
        tree: Tree,
        gravity: tuple[float, float, float],
        backend: Backend = "auto",
        cache: CacheChoice = True,
    ) -> None:
        self._robot = robot
        self._tree = tree
        self._equations = Equations(tree, gravity)
        self._backend: Backend = backend
        self._cache = cache
        self._functions = Functions(self._equations, backend, cache)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made anew, and find what is compiled in the cache."""
        gravity = self._equations.gravity
        return Dynamics, (self._robot, self._tree, gravity, self._backend, self._cache)

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
        return self._equations.gravity

    @property
    def backend(self) -> Backend:
        """The backend that was asked for; `compiled` says what came of it."""
        return self._backend

    @property
    def cache(self) -> bool | str:
        """Where compiled code is kept, as in `kane_dynamics.load`."""
        return self._cache if isinstance(self._cache, bool) else os.fspath(self._cache)

    @cached_property
    def compiled(self) -> bool:
        """Whether compiled C computes, rather than NumPy."""
        return not isinstance(self._gravity, PythonFunction)

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
            tau = _checked("forward_dynamics", "tau", tau, self.dof)
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
        return self._functions.function("pose", link)(q)

    def jacobian(self, link: str, q: ArrayLike) -> Array:
        """Partial velocities of a link, (6, dof) or (N, 6, dof).

        Rows are velocity of the link's origin, then angular velocity, world-aligned; column r is
        what a unit of speed r gives.
        """
        return self._functions.function("jacobian", link)(q)

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
        return self._functions.function("wrench_forces", *links)(q, flat)

    def simulate(
        self,
        duration: float,
        q0: ArrayLike,
        u0: ArrayLike,
        torque: Torque = None,
        step: float = 1e-3,
        method: Method = "rk4",
        *,
        output_step: float | None = None,
        wrenches: WrenchesOverTime | None = None,
        limits: LimitPolicy = "ignore",
        tolerance: float = 1e-8,
        max_steps: int | None = None,
        progress: ProgressChoice = None,
        cancel: Cancel | None = None,
    ) -> Motion:
        """The motion from an initial state on, under torques or a controller.

        Damping and dry friction of the joints act if the robot was loaded with ``joint_friction``.
        Joints with dry friction stick: at rest they stay exactly where they are until they are
        pushed harder than friction can hold.

        Parameters
        ----------
        duration : float
            Simulated time, s.
        q0, u0 : array (nq,), array (dof,)
            Coordinates and speeds at t = 0.
        torque : None, array (dof,), TorqueHistory, callable, PDControl or ComputedTorque
            What drives the joints: nothing, constant torques, torques over time, a function
            ``(t, q, u) -> torques``, or a controller that runs in compiled code. A function must
            depend on its arguments only: it is called several times a step, not always in the
            order of time, and again at the end where the motion is doubtful.
        step : float
            Length of the steps of ``"euler"`` and ``"rk4"``, s; steps also end wherever a history
            has an entry. For all methods it is the time constant of compliant stops.
        method : {"rk4", "euler", "dop853", "radau"}
            Classical Runge-Kutta or semi-implicit Euler with fixed step; or with adaptive step an
            explicit method of order 8, or an implicit one for stiff systems.
        output_step : float, optional
            Time between two states of the result, s; by default `step`. The end is always there.
        wrenches : dict from link name to array (6,) or WrenchHistory, optional
            Force (N), then torque (N m), that the surroundings exert on a link; world-aligned, at
            the link's origin.
        limits : {"ignore", "stop", "compliant"}
            At the limits of its position a joint moves on; or the simulation ends; or it meets a
            critically damped stop with the time constant `step`: the shorter, the stiffer. A motion
            can be continued from where it rests at such a stop. Semi-implicit Euler does not see
            a joint that goes beyond a limit and comes back within one step.
        tolerance : float
            Error that ``"dop853"`` and ``"radau"`` allow in one step, in each coordinate and speed,
            relative to it if it is larger than one.
        max_steps : int, optional
            Steps beyond which a simulation with fixed step is refused, by default 10⁹, and one with
            adaptive step ends, by default after 10⁶: those run in Python, and take about a thousand
            times as long.
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
        # Imported here: the simulation is built on this class, and SciPy takes long to import.
        from kane_dynamics.simulation.simulate import simulate

        return simulate(
            self,
            progress,
            cancel,
            duration=duration,
            q0=q0,
            u0=u0,
            torque=torque,
            step=step,
            method=method,
            output_step=output_step,
            wrenches=wrenches,
            limits=limits,
            tolerance=tolerance,
            max_steps=max_steps,
        )

    # ------------------------------------------------------------------- for programs built on it
    def with_tree(self, tree: Tree) -> Dynamics:
        """The same robot with other numbers for its moving bodies."""
        return Dynamics(self._robot, tree, self.gravity_vector, self._backend, self._cache)

    def address(self, name: str, *links: str) -> int:
        """Address of a compiled function of one state, for compiled code that calls it.

        In C it is ``void f(const double *const *in, double *result)``, with a pointer for each
        argument; for ``"wrench_forces"`` these are q and the wrenches on `links` one after the
        other.

        Raises
        ------
        CompileError
            If there is no compiler that works.
        """
        return self._functions.address(name, *links)

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
        return self._functions.program(name, link).operations

    def source(
        self,
        name: str,
        language: Literal["c", "python", "latex"] = "c",
        link: str | None = None,
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
        if language not in ("c", "python", "latex"):
            raise ArgumentError(f"language must be 'c', 'python' or 'latex', got {language!r}")
        derived = self._functions.program(name, link)
        names = (self._robot.name, self.coordinate_names, self.gravity_vector)
        return listing(derived, name, language, heading(*names))

    def equations(
        self, name: str, link: str | None = None
    ) -> tuple[list[tuple[Any, Any]], list[Any]]:
        """Equations as SymPy expressions: definitions of Z1, Z2, …, and the outputs in their terms.

        The form is that of `sympy.cse`.
        """
        return sympy_equations(self._functions.program(name, link))

    # -------------------------------------------------------------------------- compiled on demand
    _inverse_dynamics = _compiled("inverse_dynamics")
    _gravity = _compiled("gravity")
    _bias = _compiled("bias")
    _mass_matrix = _compiled("mass_matrix")
    _forward_dynamics = _compiled("forward_dynamics")
    _energy = _compiled("energy")
    _momentum = _compiled("momentum")


def _sum(function: str, a: Array, b: Array) -> Array:
    """Sum of generalized forces, each of one state or of many."""
    if a.ndim == b.ndim == 2 and len(a) != len(b):
        raise ArgumentError(
            f"{function}: wrenches have {len(b)} states, other arguments have {len(a)}"
        )
    return a + b


def _checked(function: str, name: str, value: ArrayLike, size: int) -> Array:
    """One argument as array of shape (size,) or (N, size), checked as compiled functions do."""
    (array,) = prepare(Signature(function, (Input(name, size),), ()), [value], {})
    return array
