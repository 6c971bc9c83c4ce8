"""Partial velocities of the bodies of a tree as one matrix, and Kane's equations formed from it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.kane.speeds import ReducedSpeeds, Rows, Vanished, column_reduction
from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.inverse import inertia_force, inertia_torque
from kane_dynamics.kane.tree.joints import coordinate_rates, joints_of
from kane_dynamics.kane.tree.momentum import velocities
from kane_dynamics.kane.tree.motion import Movement, acceleration_matrix
from kane_dynamics.kane.tree.singular import generic_configurations
from kane_dynamics.robot.tree import Tree
from kane_dynamics.symbolic.derivative import derivatives
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.program import operations
from kane_dynamics.symbolic.vector import Vector, vector

KINDS = ("velocity", "angular velocity")


def velocity_matrix(graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr]) -> Rows:
    """Three rows for the velocity of a body's origin, three for its angular velocity, and so on.

    Measure numbers are in the frames of the bodies; a column a speed.
    """
    joints = joints_of(graph, bodies, q)
    count = 1 + max(speed for body in bodies for speed in body.speeds)
    columns = []
    for r in range(count):
        unit = [graph.one if s == r else graph.zero for s in range(count)]
        found = velocities(graph, bodies, joints, unit)
        columns.append([part for each in found for part in (*each.v, *each.omega)])
    return [list(row) for row in zip(*columns)]


def torques_body_by_body(
    graph: Graph,
    bodies: Sequence[FramedBody],
    gravity: Sequence[float],
    q: Sequence[Expr],
    matrix: Sequence[Sequence[Expr]],
    T: Array,
    speeds: Sequence[Expr],
    rates: Sequence[Expr],
) -> list[Expr]:
    """Generalized forces that go with any speeds, by Kane's equations without economies.

    Parameters
    ----------
    matrix : sequence of sequence of Expr
        As `velocity_matrix`, for these speeds.
    T : array
        The speeds are T times those of the joints.
    speeds, rates : sequence of Expr
        And their rates.
    """
    inverse = np.linalg.inv(T)
    inverse = np.where(np.abs(inverse - np.round(inverse)) < 1e-12, np.round(inverse), inverse)
    of_joints = [_combined(graph, row, speeds) for row in inverse]
    q_rates = coordinate_rates(graph, bodies, q, of_joints)
    flat = [element for row in matrix for element in row]
    changing = [_along(graph, row, q_rates) for row in derivatives(graph, flat, q)]
    count = len(speeds)
    moved, accelerated = [], []
    for k, row in enumerate(matrix):
        change = changing[count * k : count * (k + 1)]
        moved.append(_along(graph, row, speeds))
        accelerated.append(_along(graph, row, rates) + _along(graph, change, speeds))
    ups = _ups(graph, bodies, gravity, q)
    result = [graph.zero] * count
    for i, body in enumerate(bodies):
        v, omega = Vector(*moved[6 * i : 6 * i + 3]), Vector(*moved[6 * i + 3 : 6 * i + 6])
        vdot, alpha = (Vector(*accelerated[6 * i + m : 6 * i + m + 3]) for m in (0, 3))
        a = vdot + omega.cross(v) + ups[i]
        state = Movement(omega, alpha, acceleration_matrix(omega, alpha), a)
        parts = (*inertia_force(graph, body, state), *inertia_torque(graph, body, state))
        for r in range(count):
            column = [matrix[6 * i + m][r] for m in range(6)]
            result[r] = result[r] + _along(graph, column, parts)
    return result


def reduced_speeds(
    tree: Tree, bodies: Sequence[FramedBody], gravity: Sequence[float], names: Sequence[str]
) -> ReducedSpeeds:
    """Speeds that make partial velocities vanish, found by column reduction."""
    graph = Graph()
    q, u, udot = (graph.inputs(*each) for each in (("q", tree.nq), ("u", tree.nu), ("a", tree.nu)))
    A = velocity_matrix(graph, bodies, q)
    rows = [range(3 * k, 3 * k + 3) for k in range(2 * len(bodies))]
    columns = _groups(bodies)
    points = [{"q": q} for q in itertools.islice(generic_configurations(tree), 3)]
    found = column_reduction(graph, A, rows, columns, points)
    counts = [
        operations(torques_body_by_body(graph, bodies, gravity, q, matrix, T, u, udot))
        for matrix, T in ((A, np.eye(tree.nu)), (found.B, found.T))
    ]
    vanished = [
        Vanished(bodies[b // 2].name, KINDS[b % 2], names[speed])
        for b, c in found.vanished
        for speed in columns[c]
    ]
    return ReducedSpeeds(tuple(names), found.T, tuple(vanished), *counts)


def _groups(bodies: Sequence[FramedBody]) -> list[list[int]]:
    """Speeds from the ground outward; those of one vector together."""
    groups: dict[tuple[int, ...], None] = {}
    for body in bodies:
        speeds = list(body.speeds)
        size = 3 if len(speeds) > 1 else 1
        for first in range(0, len(speeds), size):
            groups[tuple(speeds[first : first + size])] = None
    return [list(group) for group in groups]


def _ups(
    graph: Graph, bodies: Sequence[FramedBody], gravity: Sequence[float], q: Sequence[Expr]
) -> list[Vector]:
    """Minus gravity in the frames of the bodies."""
    result: list[Vector] = []
    for body, joint in zip(bodies, joints_of(graph, bodies, q)):
        inboard = result[body.parent] if body.parent >= 0 else -vector(graph, gravity)
        result.append(joint.outward(inboard))
    return result


def _along(graph: Graph, a: Sequence[Expr], b: Sequence[Expr]) -> Expr:
    return graph.sum([x * y for x, y in zip(a, b)])


def _combined(graph: Graph, numbers: Sequence[float], x: Sequence[Expr]) -> Expr:
    return graph.sum([float(number) * each for number, each in zip(numbers, x)])
