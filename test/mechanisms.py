"""Mechanisms modelled in SymPy, and what SymPy's own equations say about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

import kane_dynamics as kd

t = me.dynamicsymbols._t


class Mechanism(NamedTuple):
    """What `kd.System` and `KanesMethod.kanes_equations` are given."""

    kane: Any
    bodies: Sequence[Any]
    loads: Sequence[Any]
    constants: Mapping[Any, float]
    inputs: Sequence[Any] = ()

    def system(self, **options: Any) -> kd.System:
        given = (self.bodies, self.loads, self.constants)
        return kd.System(self.kane, *given, inputs=self.inputs, **options)


def sympy_rates(mechanism: Mechanism, time: float, x: Any, inputs: Sequence[float] = ()) -> Any:
    """The right-hand side by `kanes_equations`: mass matrix and forcing as numbers, then solved."""
    kane = mechanism.kane
    kane.kanes_equations(list(mechanism.bodies), list(mechanism.loads))
    state = [*kane.q, *kane.u]
    auxiliary = {each: 0 for u in kane._uaux for each in (u, u.diff(t))}
    arguments = [t, state, list(mechanism.inputs), list(mechanism.constants)]
    equations = [kane.mass_matrix_full, kane.forcing_full]
    equations = [each.xreplace(auxiliary) for each in equations]
    matrix, right = sm.lambdify(arguments, equations, cse=True)(
        time, x, inputs, list(mechanism.constants.values())
    )
    return np.linalg.solve(np.array(matrix, float), np.array(right, float).ravel())


def pendulum_on_cart(n: int) -> Mechanism:
    """Of SymPy, with angles and speeds that are those of the links in space."""
    kane = n_link_pendulum_on_cart(n)
    masses, lengths = sm.symbols(f"m:{n + 1}"), sm.symbols(f"l:{n}")
    values = np.random.default_rng(n).uniform(0.5, 1.5, 2 * n + 1)
    constants = {**dict(zip((*masses, *lengths), values)), sm.Symbol("g"): 9.81}
    return Mechanism(kane, kane.bodylist, kane.forcelist, constants, [me.dynamicsymbols("F")])


def chain(n: int, skew: float = 0.05) -> Mechanism:
    """Rigid links with hinges along x, y, z in turn, any inertia, damped, in relative angles."""
    q, u = me.dynamicsymbols(f"q:{n}"), me.dynamicsymbols(f"u:{n}")
    m, g, d = sm.symbols("m g d")
    N, last = me.ReferenceFrame("N"), me.Point("O")
    last.set_vel(N, 0)
    frame, bodies, loads = N, [], []
    for k in range(n):
        axis = [frame.x, frame.y, frame.z][k % 3]
        A = frame.orientnew(f"A{k}", "Axis", [q[k], axis])
        A.set_ang_vel(frame, u[k] * axis)
        centre = last.locatenew(f"C{k}", 0.3 * A.x + 0.1 * A.y)
        tip = last.locatenew(f"P{k}", 0.5 * A.x - 0.2 * A.z)
        centre.v2pt_theory(last, N, A)
        tip.v2pt_theory(last, N, A)
        inertia = me.inertia(A, 0.3, 0.4, 0.5, skew, -skew, 2 * skew)
        bodies.append(me.RigidBody(f"B{k}", centre, A, m * (1 + k), (inertia, centre)))
        loads.append((centre, -m * (1 + k) * g * N.z))
        loads.append((A, -d * u[k] * axis))
        if k:
            loads.append((frame, d * u[k] * axis))
        frame, last = A, tip
    loads.append((last, me.dynamicsymbols("F") * N.x))
    kinematical = [a.diff(t) - b for a, b in zip(q, u)]
    kane = me.KanesMethod(N, q, u, kd_eqs=kinematical)
    constants = {m: 0.7, g: 9.81, d: 0.2}
    return Mechanism(kane, bodies, loads, constants, [me.dynamicsymbols("F")])


def gyrostat() -> Mechanism:
    """A free body with a rotor, in body-fixed speeds, about a point off its mass centre."""
    q, u = me.dynamicsymbols("q1:8"), me.dynamicsymbols("u1:8")
    N, origin = me.ReferenceFrame("N"), me.Point("O")
    A = N.orientnew("A", "Body", q[3:6], "ZXY")
    A.set_ang_vel(N, u[3] * A.x + u[4] * A.y + u[5] * A.z)
    P = origin.locatenew("P", q[0] * N.x + q[1] * N.y + q[2] * N.z)
    origin.set_vel(N, 0)
    P.set_vel(N, u[0] * A.x + u[1] * A.y + u[2] * A.z)
    C = P.locatenew("C", 0.2 * A.x - 0.1 * A.y)
    C.v2pt_theory(P, N, A)
    R = A.orientnew("R", "Axis", [q[6], A.y + A.z])
    R.set_ang_vel(A, u[6] * (A.y + A.z) / sm.sqrt(2))
    D = C.locatenew("D", 0.3 * A.z)
    D.v2pt_theory(C, N, A)
    bodies = [
        me.RigidBody("A", C, A, 2.0, (me.inertia(A, 1.0, 1.2, 0.9, 0.1, 0.05, -0.1), C)),
        me.RigidBody("R", D, R, 0.5, (me.inertia(R, 0.2, 0.3, 0.25, 0.01, 0.02, 0.0), D)),
    ]
    turning = q[3].diff(t) * N.z + 0 * N.x
    turning = _angular_velocity_of_body_angles(N, A, q[3:6]) - A.ang_vel_in(N)
    moving = P.pos_from(origin).dt(N) - P.vel(N)
    kinematical = [turning & axis for axis in (A.x, A.y, A.z)]
    kinematical += [moving & axis for axis in (N.x, N.y, N.z)]
    kinematical.append(q[6].diff(t) - u[6])
    kane = me.KanesMethod(N, q, u, kd_eqs=kinematical)
    torque = me.dynamicsymbols("T")
    loads = [(C, -2.0 * 9.81 * N.z), (R, torque * A.y), (A, -torque * A.y), (P, sm.sin(t) * N.x)]
    return Mechanism(kane, bodies, loads, {}, [torque])


def _angular_velocity_of_body_angles(N: Any, A: Any, angles: Any) -> Any:
    """As SymPy states it when a frame is oriented."""
    other = N.orientnew("other", "Body", angles, "ZXY")
    return sum(((other.ang_vel_in(N) & e) * f for e, f in zip(other, A)), me.Vector(0))


def swinging_on_a_driven_pivot() -> Mechanism:
    """A pendulum whose pivot is moved in time, on a spring, with velocities that follow."""
    q, r, u, v = me.dynamicsymbols("q r u v")
    m, k = sm.symbols("m k")
    N, origin = me.ReferenceFrame("N"), me.Point("O")
    A = N.orientnew("A", "Axis", [q, N.z])
    pivot = origin.locatenew("Q", 0.3 * sm.sin(2 * t) * N.x)
    P = pivot.locatenew("P", -r * A.y)
    origin.set_vel(N, 0)
    kane = me.KanesMethod(N, [q, r], [u, v], kd_eqs=[q.diff(t) - u, r.diff(t) - v])
    loads = [(P, -m * 9.81 * N.y + k * (r - 1) * A.y)]
    return Mechanism(kane, [me.Particle("P", P, m)], loads, {m: 1.5, k: 20.0})


def four_bar(dependent: bool = True) -> Mechanism:
    """Three rods in the plane between two fixed points, the loop closed by two constraints."""
    q, u = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4")
    a, b, c, d = 0.3, 0.8, 0.6, 0.7
    N, origin = me.ReferenceFrame("N"), me.Point("origin")
    origin.set_vel(N, 0)
    bodies, loads, last, first = [], [], origin, N
    for k, (length, mass) in enumerate(((a, 1.0), (b, 2.0), (c, 1.5))):
        A = first.orientnew(f"A{k}", "Axis", [q[k], N.z])
        A.set_ang_vel(first, u[k] * N.z)
        centre = last.locatenew(f"C{k}", length / 2 * A.x)
        tip = last.locatenew(f"P{k}", length * A.x)
        centre.v2pt_theory(last, N, A)
        tip.v2pt_theory(last, N, A)
        inertia = me.inertia(A, 0, 0, mass * length**2 / 12)
        bodies.append(me.RigidBody(f"B{k}", centre, A, mass, (inertia, centre)))
        loads.append((centre, -mass * 9.81 * N.y))
        last, first = tip, A
    closing = last.pos_from(origin) - d * N.x
    rows = [closing & N.x, closing & N.y]
    kinematical = [x.diff(t) - y for x, y in zip(q, u)]
    loads.append((bodies[0].frame, me.dynamicsymbols("T") * N.z))
    constraints = {
        "q_dependent": q[1:],
        "u_dependent": u[1:],
        "configuration_constraints": rows,
        "velocity_constraints": [each.diff(t) for each in rows],
    }
    some, first_u = (q[:1], u[:1]) if dependent else (q, u)
    kane = me.KanesMethod(N, some, first_u, kinematical, **(constraints if dependent else {}))
    return Mechanism(kane, bodies, loads, {}, [me.dynamicsymbols("T")])


def rolling_disk(auxiliary: bool = False) -> Mechanism:
    """A thin disk whose contact does not move: by three constraints, or by auxiliary speeds."""
    q, u, f = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:7"), me.dynamicsymbols("f1:4")
    r, m, g = sm.symbols("r m g")
    N = me.ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q[0], N.z])
    L = Y.orientnew("L", "Axis", [q[1], Y.x])
    R = L.orientnew("R", "Axis", [q[2], L.y])
    stated = R.ang_vel_in(N)
    R.set_ang_vel(N, u[0] * L.x + u[1] * L.y + u[2] * L.z)
    contact = me.Point("contact")
    axes = (L.x, Y.z ^ L.x, Y.z)
    contact.set_vel(N, sum((v * e for v, e in zip(u[3:], axes)), me.Vector(0)))
    centre = contact.locatenew("centre", r * L.z)
    centre.v2pt_theory(contact, N, R)
    inertia = me.inertia(L, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
    disk = me.RigidBody("disk", centre, R, m, (inertia, centre))
    kinematical = [(R.ang_vel_in(N) - stated) & each for each in L]
    loads = [(centre, -m * g * N.z), (R, 0.1 * L.y)]
    if auxiliary:
        loads.append((contact, sum((v * e for v, e in zip(f, axes)), me.Vector(0))))
        options = {"u_auxiliary": u[3:]}
    else:
        rows = [contact.vel(N) & each for each in axes]
        options = {"u_dependent": u[3:], "velocity_constraints": rows}
    kane = me.KanesMethod(N, q, u[:3], kinematical, **options)
    return Mechanism(kane, [disk], loads, {r: 0.5, m: 2.0, g: 9.81})


def carrier(tilt: float = 0.0) -> Mechanism:
    """A body about a fixed point, with a wheel, a part that is bolted on askew, and a particle.

    Parameters
    ----------
    tilt : float
        What makes the wheel unbalanced, so that its turning can be seen.
    """
    q, u, torque = me.dynamicsymbols("q1:4"), me.dynamicsymbols("u1:4"), me.dynamicsymbols("T")
    N, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(N, 0)
    Y = N.orientnew("Y", "Axis", [q[0], N.z])
    A = Y.orientnew("A", "Axis", [q[1], Y.x])
    S = A.orientnew("S", "Axis", [0.4, A.x])
    D = S.orientnew("D", "Axis", [0.7, S.y])
    W = S.orientnew("W", "Axis", [q[2], S.y])
    Y.set_ang_vel(N, u[0] * N.z)
    A.set_ang_vel(Y, u[1] * Y.x)
    W.set_ang_vel(S, u[2] * S.y)
    places = {
        "body": origin.locatenew("body", 0.3 * A.x + 0.2 * A.z),
        "wheel": origin.locatenew("wheel", 0.5 * A.x - 0.1 * S.y),
        "bolted": origin.locatenew("bolted", 0.2 * D.x - 0.4 * D.z),
        "lead": origin.locatenew("lead", 0.6 * A.y + 0.1 * S.z),
    }
    for place in places.values():
        place.v2pt_theory(origin, N, A)
    inertias = {
        "body": (A, me.inertia(A, 1.0, 1.4, 1.2, 0.1, 0.2, -0.1)),
        "wheel": (W, me.inertia(W, 0.3, 0.5, 0.3, tilt)),
        "bolted": (D, me.inertia(D, 0.2, 0.3, 0.4, 0.05, 0.0, 0.02)),
    }
    bodies: list[Any] = [
        me.RigidBody(name, places[name], frame, mass, (inertia, places[name]))
        for mass, (name, (frame, inertia)) in enumerate(inertias.items(), 1)
    ]
    bodies.append(me.Particle("lead", places["lead"], 1.5))
    loads = [(body.masscenter, -body.mass * 9.81 * N.z) for body in bodies]
    loads += [(W, torque * S.y), (A, -torque * S.y), (places["lead"], sm.sin(q[0]) * N.x)]
    kane = me.KanesMethod(N, q, u, kd_eqs=[a.diff(t) - b for a, b in zip(q, u)])
    return Mechanism(kane, bodies, loads, {}, [torque])
