"""Bodies that stand still in others, and rotors, taken together with what carries them.

A wheel moves the mass of a cart as if it did not turn: of what it turns by itself only the moment
of inertia about its axle can be seen. So its mass, and all of its inertia but that, may be given to
the body that carries it, which then has its mass centre elsewhere. Of the wheel a moment about one
axis is left; of a body that does not move in the other, nothing. Whether a body is of that kind is
judged in numbers at a few configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.kane.general.nodes import Columns, Node, between, is_still
from kane_dynamics.symbolic.evaluate import evaluations
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.program import operations
from kane_dynamics.symbolic.vector import Matrix, Vector

if TYPE_CHECKING:
    from kane_dynamics.kane.general.reading import Reading

SAME = 1e-12
"""What differs by this share of the whole is the same."""


def regrouped(reading: Reading, nodes: Sequence[Node]) -> list[Node]:
    """The same bodies and loads, with less inertia in those that others carry."""
    found = list(nodes)
    for i in reversed(range(len(found))):
        for j in range(len(found)):
            pair = _merged(reading, found[j], found[i]) if i != j else None
            if pair is not None:
                found[j], found[i] = pair
                break
    return [each for each in found if each.inertia or each.mass or each.forces or each.torques]


def _merged(reading: Reading, carrier: Node, carried: Node) -> tuple[Node, Node] | None:
    """The two with inertia given from one to the other; None if they do not move like that."""
    if carrier.inertia is None or carrier.mass is None or carried.mass is None:
        return None
    if carrier.omega is None or carrier.basis != carrier.frame or carried.velocity is None:
        return None
    if not reading.kinematics.is_fixed(carrier.body, carrier.frame):
        return None
    if carried.inertia is not None and carried.frame != carrier.frame:
        return None
    lever = _fixed_lever(reading, carrier, carried)
    if lever is None or not (is_still(carrier.mass) and is_still(carried.mass)):
        return None
    left = _left(reading, carrier, carried)
    if left is None:
        return None
    graph, mass = reading.graph, carrier.mass + carried.mass
    if mass is graph.zero:
        return None
    shift = (carried.mass / mass) * lever
    inertia = _sum(carrier.inertia, _of_particle(carrier.mass * carried.mass / mass, lever))
    if carried.inertia is not None:
        inertia = _sum(inertia, carried.inertia)
        inertia = _sum(inertia, Matrix(*(-row for row in left)))
    forces, torques = _loads_about(reading, carrier, carried, lever, shift)
    velocity, moves = _simplest_velocity(reading, carrier, carried, lever, shift)
    whole = replace(
        carrier,
        velocity=velocity,
        offset=shift if carrier.offset is None else carrier.offset + shift,
        mass=mass,
        inertia=inertia,
        forces=forces,
        torques=torques,
        moves=moves,
    )
    still = all(e is graph.zero for row in left for e in row)
    rest = replace(carried, mass=None, inertia=None if still else left, forces=())
    return whole, rest


def _fixed_lever(reading: Reading, carrier: Node, carried: Node) -> Vector | None:
    """From mass centre to mass centre, if it stands still in the carrier."""
    parts = between(reading.kinematics, carrier, carried)
    if parts is None:
        return None
    if not all(reading.kinematics.is_fixed(frame, carrier.frame) for _, frame in parts):
        return None
    kinematics, omega, velocity = reading.kinematics, carrier.omega, carrier.velocity
    lever = kinematics.gathered(parts, carrier.frame)
    if not all(is_still(each) for each in lever):
        return None
    if omega is None or velocity is None or carried.velocity is None:
        return None
    # velocities may be stated otherwise than positions say
    pairs = [(carried.velocity, velocity, omega)]
    for k in range(len(reading.u), len(reading.u) + len(reading.aux)):
        columns = (carried.moves, carrier.moves, carrier.turns)
        moves, before, turns = (each.get(k, kinematics.zero) for each in columns)
        pairs.append((moves, before, turns))
    for own, before, turning in pairs:
        stated = kinematics.turned(own, carried.basis, carrier.frame)
        apart = _largest(reading, stated - before - turning.cross(lever)).max()
        if not apart <= SAME * (_largest(reading, stated) + _largest(reading, before)).max():
            return None
    return lever


def _simplest_velocity(
    reading: Reading, carrier: Node, carried: Node, lever: Vector, shift: Vector
) -> tuple[Vector, Columns]:
    """Of the common mass centre, with its partial velocities, from one of the others."""
    kinematics, found = reading.kinematics, []
    assert carrier.omega is not None
    for node, arm in ((carrier, shift), (carried, shift - lever)):
        assert node.velocity is not None
        turned = kinematics.turned(node.velocity, node.basis, carrier.frame)
        moves = {
            k: kinematics.turned(each, node.basis, carrier.frame) for k, each in node.moves.items()
        }
        for k, column in carrier.turns.items():
            moves[k] = moves.get(k, kinematics.zero) + column.cross(arm)
        found.append((turned + carrier.omega.cross(arm), moves))
    costs = [operations([*v, *(e for each in moves.values() for e in each)]) for v, moves in found]
    return found[0] if costs[0].total <= costs[1].total else found[1]


def _left(reading: Reading, carrier: Node, carried: Node) -> Matrix | None:
    """The inertia that the carried body keeps: none, or about the axis that it turns about."""
    zero = reading.kinematics.zero
    if carried.inertia is None:
        return Matrix(zero, zero, zero)
    speeds = sorted({*carrier.turns, *carried.turns})
    turning = [carried.turns.get(k, zero) - carrier.turns.get(k, zero) for k in speeds]
    flat = [*(e for v in turning for e in v), *(e for row in carried.inertia for e in row)]
    values = np.array(list(evaluations(flat, reading.trials)))
    turns, inertia = values[:, :-9].reshape(-1, 3), values[:, -9:].reshape(-1, 3, 3)
    size = np.abs(turns).max(initial=0.0)
    if not np.isfinite(values).all() or not all(
        is_still(e) for row in carried.inertia for e in row
    ):
        return None
    if size <= SAME:
        return Matrix(zero, zero, zero)
    axes = [k for k in range(3) if np.abs(turns[:, k]).max() > SAME * size]
    if len(axes) != 1:
        return None  # it turns about no single axis of the frame
    (axis,) = axes
    others = [k for k in range(3) if k != axis]
    if np.abs(inertia[:, axis, others]).max() > SAME * np.abs(inertia).max():
        return None
    rows = [list(zero) for _ in range(3)]
    rows[axis][axis] = carried.inertia[axis][axis]
    return Matrix(*(Vector(*row) for row in rows))


def _sum(a: Matrix, b: Matrix) -> Matrix:
    return Matrix(*(x + y for x, y in zip(a, b)))


def _of_particle(mass: Expr, r: Vector) -> Matrix:
    """Inertia about a point that a particle is r away from."""
    square, zero = r.dot(r), mass.graph.zero
    rows = []
    for k in range(3):
        unit = [zero, zero, zero]
        unit[k] = square
        rows.append(mass * (Vector(*unit) - r[k] * r))
    return Matrix(*rows)


def _loads_about(
    reading: Reading, carrier: Node, carried: Node, lever: Vector, shift: Vector
) -> tuple[tuple[Vector, ...], tuple[Vector, ...]]:
    """Forces of both at the common mass centre, and torques of the carrier with their moments."""
    kinematics = reading.kinematics
    others = [kinematics.turned(each, carried.basis, carrier.frame) for each in carried.forces]
    arms = [(-shift, each) for each in carrier.forces]
    arms += [(lever - shift, each) for each in others]
    moment, sizes = kinematics.zero, np.zeros(3)
    for arm, force in arms:
        each = arm.cross(force)
        moment = moment + each
        sizes = sizes + _largest(reading, each)
    # weight has no moment about the common mass centre, but for rounding
    sums = _largest(reading, moment)
    zero = reading.graph.zero
    cleaned = [zero if a <= SAME * b else e for e, a, b in zip(moment, sums, sizes)]
    torques = (
        *carrier.torques,
        *([Vector(*cleaned)] if any(e is not zero for e in cleaned) else []),
    )
    return (*carrier.forces, *others), torques


def _largest(reading: Reading, v: Vector) -> Array:
    found: Array = np.abs(np.array(list(evaluations(v, reading.trials)))).max(axis=0)
    return found
