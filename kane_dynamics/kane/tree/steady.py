"""A motion to reckon accelerations from: the speeds are those given, joints do not accelerate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.inverse import passes_alpha
from kane_dynamics.kane.tree.joints import Joint, joints_of
from kane_dynamics.kane.tree.motion import Movement, acceleration_matrix, ground
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector, vector


@dataclass(frozen=True)
class Steady:
    """Motions of all bodies, with what is needed to go on from there.

    Attributes
    ----------
    graph : Graph
    bodies : sequence of FramedBody
    joints : sequence of Joint
        That carry the bodies.
    motions : sequence of Movement
    udot : sequence of Expr
        Zero, but for free bodies, which move such that they do not accelerate at all: with this,
        the motions outboard of them are simpler.
    """

    graph: Graph
    bodies: Sequence[FramedBody]
    joints: Sequence[Joint]
    motions: Sequence[Movement]
    udot: Sequence[Expr]

    @property
    def order(self) -> list[int]:
        """The speeds, from the ground outward."""
        return list(dict.fromkeys(speed for body in self.bodies for speed in body.speeds))


def steady(
    graph: Graph,
    bodies: Sequence[FramedBody],
    gravity: Sequence[float],
    q: Sequence[Expr],
    u: Sequence[Expr],
) -> Steady:
    """The steady motion at coordinates q and speeds u, with the ground accelerated upwards."""
    joints = joints_of(graph, bodies, q)
    udot = [graph.zero] * len(u)
    motions: list[Movement] = []
    at_rest = ground(graph, vector(graph, gravity))
    passing = passes_alpha(bodies, joints)
    for i, (body, joint) in enumerate(zip(bodies, joints)):
        inboard = motions[body.parent] if body.parent >= 0 else at_rest
        own = joint.motion(i, inboard, u, udot, passing[i])
        if joint.is_free:
            udot[body.speed : body.speed + 6] = [-number for number in (*own.a, *own.alpha)]
            none = Vector(graph.zero, graph.zero, graph.zero)
            own = Movement(own.omega, none, acceleration_matrix(own.omega, none), none)
        motions.append(own)
    return Steady(graph, bodies, joints, motions, udot)
