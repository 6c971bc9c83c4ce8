"""Mechanisms as SymPy models: pendulums of n links on a cart, and the bicycle of the examples."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any, NamedTuple

import numpy as np
import sympy as sm
import sympy.physics.mechanics as me

BICYCLE = Path(__file__).parent.parent / "examples" / "whipple_bicycle.py"
NAMES = ("pendulum-2", "pendulum-5", "pendulum-10", "pendulum-20", "bicycle")


class Mechanism(NamedTuple):
    """A model whose equations are not formed, numbers for it, and a state to evaluate it at."""

    kane: me.KanesMethod
    bodies: list[Any]
    loads: list[Any]
    constants: dict[Any, float]
    inputs: list[Any]
    x: Any


def mechanism(name: str) -> Mechanism:
    """The one of that name, with symbols of its own."""
    kind, _, links = name.partition("-")
    return _bicycle() if kind == "bicycle" else _pendulum(int(links))


def _pendulum(links: int) -> Mechanism:
    """Particles on massless links under a cart that a force pushes, angles from one fixed line."""
    q, u = me.dynamicsymbols(f"q:{links + 1}"), me.dynamicsymbols(f"u:{links + 1}")
    m, length = sm.symbols(f"m:{links + 1}"), sm.symbols(f"l:{links}")
    g, force = sm.Symbol("g"), me.dynamicsymbols("F")
    ground, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(ground, 0)
    point = origin.locatenew("P0", q[0] * ground.x)
    point.set_vel(ground, u[0] * ground.x)
    bodies = [me.Particle("cart", point, m[0])]
    loads = [(point, force * ground.x - m[0] * g * ground.y)]
    for k in range(links):
        frame = ground.orientnew(f"B{k}", "Axis", [q[k + 1], ground.z])
        frame.set_ang_vel(ground, u[k + 1] * ground.z)
        end = point.locatenew(f"P{k + 1}", length[k] * frame.x)
        end.v2pt_theory(point, ground, frame)
        bodies.append(me.Particle(f"link{k}", end, m[k + 1]))
        loads.append((end, -m[k + 1] * g * ground.y))
        point = end
    kane = me.KanesMethod(ground, q, u, kd_eqs=[a.diff() - b for a, b in zip(q, u)])
    constants = {g: 9.81, **dict.fromkeys(m, 1.3), **dict.fromkeys(length, 0.7)}
    state = np.linspace(0.1, 1.0, 2 * links + 2)
    return Mechanism(kane, bodies, loads, constants, [force], state)


def _bicycle() -> Mechanism:
    """Straight on at 5 m/s, with names and numbers of the example."""
    example = run_path(str(BICYCLE))
    return Mechanism(*example["model"](), example["CONSTANTS"], [], example["upright"](5.0))
