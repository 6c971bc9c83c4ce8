"""Where links are, how they move with the speeds, and what forces on them do at the joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics.kane.tree.frames import FramedBody
from kane_dynamics.kane.tree.joints import Joint, joints_of, units
from kane_dynamics.kane.tree.motion import Movement
from kane_dynamics.kane.tree.motion import ground as ground_under
from kane_dynamics.robot.tree import Frame
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.vector import Matrix, Vector, vector


@dataclass(frozen=True)
class Placement:
    """Origin and axes of a frame in the world, the frame of the root link."""

    position: Vector
    axes: tuple[Vector, Vector, Vector]

    def point(self, r: Vector) -> Vector:
        """Position of a point given in the frame."""
        return self.position + self.direction(r)

    def direction(self, v: Vector) -> Vector:
        x, y, z = self.axes
        return v.x * x + v.y * y + v.z * z


def placements(
    graph: Graph, bodies: Sequence[FramedBody], q: Sequence[Expr]
) -> tuple[Placement, list[Placement], list[Joint]]:
    """Of the ground and of every body; and the joints that carry them."""
    ground = Placement(Vector(graph.zero, graph.zero, graph.zero), units(graph))
    joints = joints_of(graph, bodies, q)
    result: list[Placement] = []
    for body, joint in zip(bodies, joints):
        inboard = result[body.parent] if body.parent >= 0 else ground
        result.append(Placement(inboard.point(joint.position), joint.axes(*inboard.axes)))
    return ground, result, joints


def link_placement(
    graph: Graph,
    frame: Frame,
    bodies: Sequence[FramedBody],
    ground: Placement,
    placed: Sequence[Placement],
) -> Placement:
    """Of a link, from that of its body; link frame and body frame differ by constants."""
    rotation, translation = np.array(frame.rotation), np.array(frame.translation)
    carrier = ground
    if frame.body >= 0:
        body = bodies[frame.body]
        carrier = placed[frame.body]
        rotation = body.orientation.T @ rotation
        translation = body.orientation.T @ (translation - body.origin)
    rotation = np.where(np.abs(rotation) < 1e-15, 0.0, rotation)
    axes = [carrier.direction(vector(graph, column)) for column in rotation.T]
    position = carrier.point(vector(graph, translation))
    return Placement(position, (axes[0], axes[1], axes[2]))


def pose(graph: Graph, bodies: Sequence[FramedBody], frame: Frame, q: Sequence[Expr]) -> list[Expr]:
    """Homogeneous matrix of a link in the world, row by row."""
    ground, placed, _ = placements(graph, bodies, q)
    link = link_placement(graph, frame, bodies, ground, placed)
    rows = Matrix(*link.axes).transposed
    top = [entry for row, p in zip(rows, link.position) for entry in (*row, p)]
    return [*top, graph.zero, graph.zero, graph.zero, graph.one]


def jacobian(
    graph: Graph, bodies: Sequence[FramedBody], frame: Frame, q: Sequence[Expr], count: int
) -> list[Expr]:
    """Partial velocities of a link's origin above its partial angular velocities, row by row."""
    ground, placed, joints = placements(graph, bodies, q)
    point = link_placement(graph, frame, bodies, ground, placed).position
    none = Vector(graph.zero, graph.zero, graph.zero)
    columns = [(none, none)] * count
    at = frame.body
    while at >= 0:
        joint, own = joints[at], placed[at]
        for k, (v, omega) in enumerate(joint.partial_velocities):
            before, turning = columns[joint.speed + k], joint.multiplier * own.direction(omega)
            velocity = joint.multiplier * own.direction(v) + turning.cross(point - own.position)
            columns[joint.speed + k] = (before[0] + velocity, before[1] + turning)
        at = bodies[at].parent
    return [column[part][k] for part in (0, 1) for k in range(3) for column in columns]


def drift(
    graph: Graph, bodies: Sequence[FramedBody], frame: Frame, q: Sequence[Expr], u: Sequence[Expr]
) -> list[Expr]:
    """Acceleration of a link's origin and its angular acceleration while no speed changes."""
    none = Vector(graph.zero, graph.zero, graph.zero)
    if frame.body < 0:
        return [*none, *none]
    _, placed, joints = placements(graph, bodies, q)
    resting = [graph.zero] * len(u)
    motions: list[Movement] = []
    for i, (body, joint) in enumerate(zip(bodies, joints)):
        inboard = motions[body.parent] if body.parent >= 0 else ground_under(graph, none)
        motions.append(joint.motion(i, inboard, u, resting, passes_alpha=True))
    body, own, motion = bodies[frame.body], placed[frame.body], motions[frame.body]
    r = vector(graph, body.orientation.T @ (np.array(frame.translation) - body.origin))
    return [*own.direction(motion.a + motion.U @ r), *own.direction(motion.alpha)]


def wrench_forces(
    graph: Graph,
    bodies: Sequence[FramedBody],
    frames: Sequence[Frame],
    wrenches: Sequence[Sequence[Expr]],
    q: Sequence[Expr],
    count: int,
) -> list[Expr]:
    """Generalized active forces of wrenches (force, torque; world-aligned, at link origins).

    Moments are taken about the world's origin, where they add, and summed from the tips inward.
    """
    ground, placed, joints = placements(graph, bodies, q)
    none = ground.position
    force, moment = [none] * len(bodies), [none] * len(bodies)
    for frame, wrench in zip(frames, wrenches):
        if frame.body < 0:
            continue
        point = link_placement(graph, frame, bodies, ground, placed).position
        applied = Vector(*wrench[:3])
        force[frame.body] = force[frame.body] + applied
        moment[frame.body] = moment[frame.body] + Vector(*wrench[3:]) + point.cross(applied)
    result = [graph.zero] * count
    for i in reversed(range(len(bodies))):
        body, joint, own = bodies[i], joints[i], placed[i]
        about_origin = moment[i] - own.position.cross(force[i])
        for k, (v, omega) in enumerate(joint.partial_velocities):
            pushed = own.direction(v).dot(force[i]) + own.direction(omega).dot(about_origin)
            result[joint.speed + k] = result[joint.speed + k] + joint.multiplier * pushed
        if body.parent >= 0:
            force[body.parent] = force[body.parent] + force[i]
            moment[body.parent] = moment[body.parent] + moment[i]
    return result
