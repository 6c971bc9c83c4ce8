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
from kane_dynamics.kane.tree.frames import NEARLY_PARALLEL, FramedBody
from kane_dynamics.kane.tree.inverse import inertia_force, inertia_torque
from kane_dynamics.kane.tree.joints import Float, Joint, Slide, Turn
from kane_dynamics.kane.tree.motion import Motion
from kane_dynamics.kane.tree.steady import Steady
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Vector

NOISE = 1e-10
"""Shares of a position below this are what is left of noise that was taken from the position."""

KINDS = frozenset({"revolute", "prismatic", "floating"})
"""Kinds of joints over which inertias are passed here."""

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
            handed = _inward(joints[i], total) if parent >= 0 else total.of_speeds()
            totals[parent] = totals[parent] + handed
    return _outward(steady, solved), pivots


def _own(graph: Graph, body: FramedBody, state: Motion) -> Coefficients:
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


def _inward(joint: Joint, total: Coefficients) -> Coefficients:
    """About the origin of the parent's frame, in that frame.

    A turning joint is passed in three screws, about its axis, the x-axis after the swing and the
    parent's z-axis: a screw costs less than any other displacement.
    """
    if isinstance(joint, Slide):
        return (
            total.moved(0, joint.position.x).moved(1, joint.position.y).moved(2, joint.position.z)
        )
    if isinstance(joint, Float):
        return _torques_inward(joint, total)
    assert isinstance(joint, Turn)
    along, x, y, z = (total.graph.constant(length) for length in _screws(joint))
    total = total.turned(2, joint.angle.cos, joint.angle.sin).moved(2, along)
    total = total.turned(0, *joint.twist).moved(0, x).moved(1, y)
    return total.turned(2, *joint.swing).moved(2, z)


def _screws(joint: Turn) -> tuple[float, float, float, float]:
    """The position of a turning body: along its axis, along x and y after the swing, along z."""
    (cos, sin), (cosine, sine) = (
        [part.value for part in turn] for turn in (joint.swing, joint.twist)
    )
    x, y, z = (part.value for part in joint.position)
    x, y, along = cos * x + sin * y, cos * y - sin * x, 0.0
    if abs(sine) > NEARLY_PARALLEL:
        along = -y / sine
        y, z = 0.0, z - along * cosine
    smallest = NOISE * (abs(along) + abs(x) + abs(y) + abs(z))
    along, x, y, z = (0.0 if abs(length) <= smallest else length for length in (along, x, y, z))
    return along, x, y, z


def _torques_inward(joint: Float, total: Coefficients) -> Coefficients:
    """All that a free body hands on are the force and the torque of its joint."""
    force, moment = (Vector(*(total[m + k, REMAINDER] for k in range(3))) for m in (0, 3))
    force = joint.inward(force)
    moment = joint.inward(moment) + joint.position.cross(force)
    entries = {(k, REMAINDER): part for k, part in enumerate((*force, *moment))}
    return total.of_speeds().changed(entries)


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
