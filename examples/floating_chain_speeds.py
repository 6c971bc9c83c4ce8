"""The floating chain of Maher and Samak (2000) as a SymPy model, in both sets of speeds.

The same chain as in `floating_chain.py`. Speeds are velocity and angular velocity of the first body
in its own basis, s1 and s2 of the paper, and the rates of the joints, s3 to s6.
"""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

import kane_dynamics as kd

CHAIN = run_path(str(Path(__file__).with_name("floating_chain.py")))["chain"]()

q, u = me.dynamicsymbols("q1:11"), me.dynamicsymbols("u1:11")


def model() -> tuple[me.KanesMethod, list, list]:
    """Speeds and bodies; nothing acts on them."""
    N = me.ReferenceFrame("N")
    frame = N.orientnew("body1", "Body", q[3:6], "123")
    O, point = me.Point("O"), me.Point("body1")
    O.set_vel(N, 0)
    point.set_pos(O, q[0] * N.x + q[1] * N.y + q[2] * N.z)
    omega, velocity = frame.ang_vel_in(N), point.pos_from(O).dt(N)
    definitions = [u[k] - velocity.dot(axis) for k, axis in enumerate(frame)]
    definitions += [u[3 + k] - omega.dot(axis) for k, axis in enumerate(frame)]
    definitions += [u[k] - q[k].diff() for k in range(6, 10)]
    point.set_vel(N, along(frame, u[:3]))
    frame.set_ang_vel(N, along(frame, u[3:6]))

    bodies = [body(CHAIN.links[0], frame, point)]
    for joint, link, angle, rate in zip(CHAIN.joints, CHAIN.links[1:], q[6:], u[6:]):
        inboard, origin = frame, point
        offset = along(inboard, joint.translation)
        place = origin.locatenew(f"{link.name} place", offset)
        place.v2pt_theory(origin, N, inboard)
        if joint.kind == "prismatic":
            frame = inboard.orientnew(link.name, "Axis", [0, inboard.z])
            point = place.locatenew(link.name, angle * inboard.z)
            point.set_vel(inboard, rate * inboard.z)
            point.v1pt_theory(place, N, inboard)
        else:
            frame = inboard.orientnew(link.name, "Axis", [angle, inboard.z])
            frame.set_ang_vel(inboard, rate * inboard.z)
            point = place
        bodies.append(body(link, frame, point))
    return me.KanesMethod(N, q, u, kd_eqs=definitions), bodies, []


def along(frame: me.ReferenceFrame, numbers: list) -> me.Vector:
    return sum((number * axis for number, axis in zip(numbers, frame)), me.Vector(0))


def body(link: kd.Link, frame: me.ReferenceFrame, origin: me.Point) -> me.RigidBody:
    """With the numbers of a link, whose frame has its origin there."""
    center = origin.locatenew(f"{link.name}*", along(frame, link.inertia.center))
    N = next(each for each in origin._vel_dict if each.name == "N")
    center.v2pt_theory(origin, N, frame)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = link.inertia.tensor
    tensor = me.inertia(frame, xx, yy, zz, xy, yz, xz)
    return me.RigidBody(link.name, center, frame, link.inertia.mass, (tensor, center))


def quaternion(angles: np.ndarray) -> np.ndarray:
    """(x, y, z, w) of the first body's orientation."""
    half = [
        sm.Quaternion.from_axis_angle(axis, a) for axis, a in zip(np.eye(3).astype(int), angles)
    ]
    product = half[0] * half[1] * half[2]
    return np.array([product.b, product.c, product.d, product.a], dtype=float)


def system() -> kd.System:
    return kd.System(*model(), constants={})


def main() -> None:
    chain = system()
    print(chain.reduced_speeds())


if __name__ == "__main__":
    main()
