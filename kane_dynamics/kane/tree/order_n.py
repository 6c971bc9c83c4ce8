"""Forward dynamics of order n: every speed is eliminated as soon as its joint is met.

From the tips inward, the forces on a body and on what it carries are linear in its acceleration
and in the udot of the joints outboard of it. Kane's equation of a joint, their projection on the
joint's partial velocity, is solved for its udot at once; so nothing is handed on but an inertia,
six by six, and a remainder (Rosenthal 1990, An order n formulation for robotic systems;
Featherstone's articulated bodies are its twin). Then the accelerations follow outward. The cost
grows with the number of joints and not faster. Where joints mimic each other, the speed that they
share is eliminated at the first body that carries all of them.

Accelerations are reckoned from a steady motion at the given speeds. So no velocity is met during
the elimination: the remainders begin as the inertia forces and torques of that motion (Kane and
Levinson, eq. 79), weights included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kane_dynamics.kane.linear import sound
from kane_dynamics.kane.tree.elimination import REMAINDER, Coefficients, rigid, row
from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.inverse import inertia_force, inertia_torque
from kane_dynamics.kane.tree.joints import Joint
from kane_dynamics.kane.tree.motion import Movement
from kane_dynamics.kane.tree.steady import Steady
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector

Solved = list[tuple[int, dict[int, Expr]]]
"""Speeds in the order of their elimination, and minus their udot as coefficients of the others."""


def accelerations(
    steady: Steady, tau: Sequence[Expr], doubtful: Mapping[int, Expr]
) -> tuple[list[Expr], list[Expr]]:
    """udot, and the pivots: the inertia felt at each speed when the speeds outboard are free.

    Parameters
    ----------
    tau : sequence of Expr
        Torques and forces of the joints, less friction.
    doubtful : mapping of int to Expr
        Speeds whose pivots may vanish, with the inertia felt when the speeds outboard do not
        change; these pivots become zero where rounding is all that is left of them.
    """
    graph, bodies, joints = steady.graph, steady.bodies, steady.joints
    homes = _homes(bodies)
    totals = [_own(graph, body, state) for body, state in zip(bodies, steady.motions)]
    totals.append(Coefficients(graph, {}))  # the ground, which bodies find at -1 as their parent
    solved: list[Solved] = [[] for _ in totals]
    pivots = [graph.zero] * len(tau)
    for i in (*reversed(range(len(bodies))), -1):
        total = totals[i]
        if i >= 0:
            for speed, partial in _partial_velocities(joints[i]):
                total = total.with_joint(speed, partial)
        for speed in homes.get(i, ()):
            equation = row(speed), REMAINDER
            total = total.changed({equation: total[equation] - tau[speed]})
            pivots[speed] = total[row(speed), row(speed)]
            if speed in doubtful:
                pivots[speed] = sound(pivots[speed], doubtful[speed])
            total, parts = total.solved(speed, pivots[speed])
            solved[i].append((speed, parts))
        if i >= 0:
            parent = bodies[i].parent
            handed = joints[i].inertia_inward(total) if parent >= 0 else total.of_speeds()
            totals[parent] = totals[parent] + handed
    return _outward(steady, solved), pivots


def _own(graph: Graph, body: FramedBody, state: Movement) -> Coefficients:
    """Of a body by itself; the remainder is what its steady motion takes."""
    forces = (*inertia_force(graph, body, state), *inertia_torque(graph, body, state))
    return rigid(graph, body).changed({(k, REMAINDER): part for k, part in enumerate(forces)})


def _homes(bodies: Sequence[FramedBody]) -> dict[int, list[int]]:
    """The speeds to be eliminated at each body, outermost first.

    That is at the first body inboard of which no joint has the speed; at -1, the ground, where
    joints on different branches share it.
    """
    home: dict[int, int] = {}
    for i, body in enumerate(bodies):
        for speed in body.speeds:
            at, other = i, home.setdefault(speed, i)
            while at != other:
                at, other = (bodies[max(at, other)].parent, min(at, other))
            home[speed] = at
    result: dict[int, list[int]] = {}
    for speed in reversed(home):
        result.setdefault(home[speed], []).append(speed)
    return result


def _partial_velocities(joint: Joint) -> list[tuple[int, dict[int, Expr]]]:
    """Of the body that a joint carries, for its own speeds: numbered as rows of `Coefficients`."""
    zero = joint.position.x.graph.zero
    result = []
    for k, (v, omega) in enumerate(joint.partial_velocities):
        numbered = enumerate((*v, *omega))
        parts = {n: joint.multiplier * part for n, part in numbered if part is not zero}
        result.append((joint.speed + k, parts))
    return result


def _outward(steady: Steady, solved: Sequence[Solved]) -> list[Expr]:
    """udot of the joints from the ground outward, with the accelerations that they give."""
    graph = steady.graph
    none = [graph.zero] * 6
    udot = [graph.zero] * len(steady.udot)
    _put_in(udot, solved[-1], none)
    found: list[list[Expr]] = []  # accelerations beyond those of the steady motion
    for i, (body, joint) in enumerate(zip(steady.bodies, steady.joints)):
        inboard = found[body.parent] if body.parent >= 0 else none
        a, alpha = Vector(*inboard[:3]), Vector(*inboard[3:])
        a = joint.outward(a + alpha.cross(joint.position))
        carried = [*a, *joint.outward(alpha)]
        partials = _partial_velocities(joint)
        for speed, partial in partials:
            for n, part in partial.items():
                carried[n] = carried[n] - part * steady.udot[speed]
        _put_in(udot, solved[i], carried)
        for speed, partial in partials:
            for n, part in partial.items():
                carried[n] = carried[n] + part * udot[speed]
        found.append(carried)
    return udot


def _put_in(udot: list[Expr], solved: Solved, carried: Sequence[Expr]) -> None:
    """Find the udot that were solved for at a body, whose acceleration is known without them."""
    graph = udot[0].graph
    known = {REMAINDER: graph.one, **dict(enumerate(carried))}
    for speed, parts in reversed(solved):
        # The acceleration along the joint comes last, for it cancels when the two are added.
        ordered = sorted(parts.items(), key=lambda part: part[1] in (graph.one, -graph.one))
        terms = [part * (known[n] if n in known else udot[n - row(0)]) for n, part in ordered]
        udot[speed] = -graph.sum(terms)
