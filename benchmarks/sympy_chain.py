"""A chain of links derived and made callable by SymPy, to be run as a process of its own.

The first argument is ``planar``, the pendulum of particles in SymPy's documentation with angles
counted from one fixed line, or ``spatial``, an arm of rigid links whose joints turn about z and y
by turns. The second is ``plain``, lambdify as it comes, or ``cse``, which shares subexpressions.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

LINKS = 6


def chain(spatial: bool) -> tuple[me.KanesMethod, list[Any]]:
    """Kane's equations of a chain, formed, and the symbols that stand for constants."""
    q, u = me.dynamicsymbols(f"q:{LINKS}"), me.dynamicsymbols(f"u:{LINKS}")
    g = sm.Symbol("g")
    constants = [g]
    ground, point = me.ReferenceFrame("N"), me.Point("O")
    point.set_vel(ground, 0)
    bodies, loads, inboard = [], [], ground
    for k in range(LINKS):
        mass, length = sm.symbols(f"m{k} l{k}")
        axis = inboard.y if spatial and k % 2 else inboard.z
        frame = inboard.orientnew(f"B{k}", "Axis", [q[k], axis])
        frame.set_ang_vel(inboard, u[k] * axis)
        end = point.locatenew(f"P{k}", length * frame.x)
        end.v2pt_theory(point, ground, frame)
        if spatial:
            moments = sm.symbols(f"Ix{k} Iy{k} Iz{k}")
            center = point.locatenew(f"C{k}", length / 2 * frame.x)
            center.v2pt_theory(point, ground, frame)
            tensor = (me.inertia(frame, *moments), center)
            bodies.append(me.RigidBody(f"link{k}", center, frame, mass, tensor))
            constants += moments
            inboard = frame
        else:
            center = end
            bodies.append(me.Particle(f"link{k}", end, mass))
        loads.append((center, -mass * g * ground.x))
        constants += [mass, length]
        point = end
    rates = [q[k].diff(me.dynamicsymbols._t) - u[k] for k in range(LINKS)]
    kane = me.KanesMethod(ground, q_ind=q, u_ind=u, kd_eqs=rates)
    kane.kanes_equations(bodies, loads)
    return kane, constants


def main(shape: str, sharing: str) -> None:
    kane, constants = chain(spatial=shape == "spatial")
    arguments = [*kane.q, *kane.u, *constants]
    outputs = [kane.mass_matrix_full, kane.forcing_full]
    evaluate = sm.lambdify(arguments, outputs, cse=sharing == "cse")
    matrix, forcing = evaluate(*np.linspace(0.1, 1.0, len(arguments)))
    print(np.linalg.solve(matrix, forcing).ravel())


if __name__ == "__main__":
    main(*sys.argv[1:])
