"""What is known of a mechanism, as objects of SymPy: read from a `KanesMethod`, or a `System`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kane_dynamics.errors import ArgumentError, ModelError


@dataclass(frozen=True, eq=False)
class Model:
    """A mechanism modelled in `sympy.physics.mechanics`.

    Attributes
    ----------
    frame : ReferenceFrame
        The inertial one.
    q, u : tuple
        Coordinates, and speeds: independent ones first.
    dependent : int
        How many of the speeds, the last ones, depend on the others.
    auxiliary : tuple
        Auxiliary speeds.
    rates, speeds : tuple of tuple
        Coefficients of q̇ and of u in the kinematical equations, row by row.
    offsets : tuple
        The other terms of these.
    bodies : tuple
    loads : tuple of (Point or ReferenceFrame, Vector)
    configuration : tuple
        What is zero in all configurations that are possible.
    motion : tuple
        What is zero in all motions that are possible.
    named : dict from str to tuple
        Further expressions that are zero, by the names of constraints.
    solved : dict
        The q̇ as SymPy has solved for them.
    dependent_coordinates : int
        How many of the coordinates, the last ones, are named dependent.
    stated, chosen : tuple
        Speeds in which the model is stated, if `u` are others, and these in terms of them.
    """

    frame: Any
    q: tuple[Any, ...]
    u: tuple[Any, ...]
    dependent: int
    auxiliary: tuple[Any, ...]
    rates: tuple[tuple[Any, ...], ...]
    speeds: tuple[tuple[Any, ...], ...]
    offsets: tuple[Any, ...]
    bodies: tuple[Any, ...]
    loads: tuple[tuple[Any, Any], ...]
    configuration: tuple[Any, ...] = ()
    motion: tuple[Any, ...] = ()
    named: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    solved: Mapping[Any, Any] = field(default_factory=dict)
    dependent_coordinates: int = 0
    stated: tuple[Any, ...] = ()
    chosen: tuple[Any, ...] = ()


def model_of_kane(
    kane: Any, bodies: Any, loads: Any, constraints: Mapping[str, Any] | None
) -> Model:
    """Read a configured `KanesMethod`, whose equations need not be formed.

    Parameters
    ----------
    kane : KanesMethod
    bodies, loads : iterable, optional
        As for its `kanes_equations`; by default those that it has been given.
    constraints : mapping, optional
        Expressions that are zero, one or several to each name.
    """
    bodies = kane._bodylist if bodies is None else bodies
    loads = kane._forcelist if loads is None else loads
    if not bodies or not isinstance(bodies, Iterable):
        raise ArgumentError("bodies must be a list of RigidBody and Particle, got none")
    if not len(kane.q) or not len(kane._k_kqdot):
        raise ModelError("the KanesMethod has no kinematical differential equations")
    q = tuple(kane.q)
    rates, speeds, offsets = _kinematical(kane)
    return Model(
        frame=kane._inertial,
        q=q,
        u=tuple(kane.u),
        dependent=len(kane._udep),
        auxiliary=tuple(kane._uaux),
        rates=tuple(tuple(rates[i, :]) for i in range(len(q))),
        speeds=tuple(tuple(speeds[i, :]) for i in range(len(q))),
        offsets=tuple(offsets),
        bodies=tuple(bodies),
        loads=tuple(_pair(each) for each in loads or ()),
        configuration=tuple(kane._f_h),
        motion=_motion(kane),
        named=_named(constraints),
        solved=dict(kane._qdot_u_map),
        dependent_coordinates=len(kane._qdep),
    )


def model_of_system(system: Any, constraints: Mapping[str, Any] | None) -> Model:
    """Read a `sympy.physics.mechanics.System` with its joints, loads and actuators."""
    from sympy.physics.mechanics import KanesMethod

    loads = [*system.loads, *(load for each in system.actuators for load in each.to_loads())]
    try:
        kane = KanesMethod(
            system.frame,
            system.q_ind,
            system.u_ind,
            kd_eqs=system.kdes,
            q_dependent=system.q_dep,
            u_dependent=system.u_dep,
            configuration_constraints=system.holonomic_constraints,
            velocity_constraints=system.velocity_constraints,
            u_auxiliary=system.u_aux,
            explicit_kinematics=False,
        )
    except ValueError as error:
        raise ModelError(f"the System cannot be configured: {error}") from error
    return model_of_kane(kane, system.bodies, loads, constraints)


def _kinematical(kane: Any) -> tuple[Any, Any, Any]:
    """As given, before SymPy has solved them for q̇."""
    names = ("_k_kqdot", "_k_ku", "_f_k")
    implicit = [getattr(kane, f"{name}_implicit", None) for name in names]
    if any(each is None for each in implicit):
        implicit = [getattr(kane, name) for name in names]
    return implicit[0], implicit[1], implicit[2]


def _motion(kane: Any) -> tuple[Any, ...]:
    if not len(kane._k_nh):
        return ()
    return tuple(kane._k_nh * kane.u + kane._f_nh)


def _named(constraints: Mapping[str, Any] | None) -> dict[str, tuple[Any, ...]]:
    if constraints is None:
        return {}
    if not isinstance(constraints, Mapping):
        raise ArgumentError(
            "constraints must be a dict from names to expressions that are zero, got "
            f"{type(constraints).__name__}"
        )
    found = {}
    for name, given in constraints.items():
        several = isinstance(given, Iterable) and not isinstance(given, str)
        # matrices of SymPy are not iterable by name, but have their elements one after the other
        rows = tuple(given) if several or hasattr(given, "tolist") else (given,)
        if not isinstance(name, str) or not rows:
            raise ArgumentError(
                f"constraints: {name!r} must be a name with one or several expressions"
            )
        for each in rows:
            if not is_scalar(each):
                raise ArgumentError(
                    f"constraint {name!r} is {each!r}, expected an expression that is zero"
                )
        found[name] = rows
    return found


def is_scalar(given: Any) -> bool:
    """Whether it is a number, or an expression of SymPy that has a number as its value."""
    from sympy import Expr

    return isinstance(given, (int, float, Expr)) and not isinstance(given, bool)


def _pair(load: Any) -> tuple[Any, Any]:
    try:
        where, what = load
    except (TypeError, ValueError):
        raise ArgumentError(
            f"loads has {load!r}, expected pairs of a point and a force, or a frame and a torque"
        ) from None
    return where, what
