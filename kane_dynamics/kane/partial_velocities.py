"""Partial velocities of a joint's own speeds, dotted into forces on what the joint carries."""

from __future__ import annotations

from kane_dynamics.kane.frames import FramedBody
from kane_dynamics.kane.passage import Float, Passage, Slide
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.vector import Vector


def generalized_forces(
    body: FramedBody, way: Passage, force: Vector, moment: Vector
) -> list[tuple[int, Expr]]:
    """Speed by speed: v_r · force + omega_r · moment (Kane and Levinson, eqs. 78 and 90).

    Parameters
    ----------
    force, moment : Vector
        Resultant of all forces outboard of the joint and their moment about the origin of the
        body's frame, in that frame. A turning joint turns about z.
    """
    if isinstance(way, Float):
        return [(body.speed + k, part) for k, part in enumerate((*force, *moment))]
    along = way.axis.dot(force) if isinstance(way, Slide) else moment.z
    return [(body.speed, body.multiplier * along)]
