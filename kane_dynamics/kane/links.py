"""Where links are, how they move with the speeds, and what forces on them do at the joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics.kane.frames import FramedBody
from kane_dynamics.kane.passage import Float, Passage, Slide, Turn, passage
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
) -> tuple[Placement, list[Placement], list[Passage]]:
    """Of the ground and of every body; and the passages from body to body."""
    zero, one = graph.zero, graph.one
    units = (Vector(one, zero, zero), Vector(zero, one, zero), Vector(zero, zero, one))
    ground = Placement(Vector(zero, zero, zero), units)
    ways = [passage(graph, body, q) for body in bodies]
    result: list[Placement] = []
    for body, way in zip(bodies, ways):
        inboard = result[body.parent] if body.parent >= 0 else ground
        position = inboard.point(way.position)
        if isinstance(way, Slide):
            axes = inboard.axes
        elif isinstance(way, Float):
            x, y, z = (inboard.direction(column) for column in way.rotation.transposed)
            axes = (x, y, z)
        else:
            axes = _turned(way, inboard)
        result.append(Placement(position, axes))
    return ground, result, ways


def _turned(way: Turn, inboard: Placement) -> tuple[Vector, Vector, Vector]:
    """Axes after a turning joint; x and y only turn in the plane across the joint axis."""
    zero, one = way.position.x.graph.zero, way.position.x.graph.one
    x = inboard.direction(way.from_axis(Vector(one, zero, zero)))
    y = inboard.direction(way.from_axis(Vector(zero, one, zero)))
    cos, sin = way.angle.cos, way.angle.sin
    return (cos * x + sin * y, cos * y - sin * x, inboard.direction(way.axis))


def _link_placement(
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
    link = _link_placement(graph, frame, bodies, ground, placed)
    rows = Matrix(*link.axes).transposed
    top = [entry for row, p in zip(rows, link.position) for entry in (*row, p)]
    return [*top, graph.zero, graph.zero, graph.zero, graph.one]


def jacobian(
    graph: Graph, bodies: Sequence[FramedBody], frame: Frame, q: Sequence[Expr], count: int
) -> list[Expr]:
    """Partial velocities of a link's origin above its partial angular velocities, row by row."""
    ground, placed, ways = placements(graph, bodies, q)
    point = _link_placement(graph, frame, bodies, ground, placed).position
    none = Vector(graph.zero, graph.zero, graph.zero)
    columns = [(none, none)] * count
    at = frame.body
    while at >= 0:
        for speed, velocity, omega in _partial_velocities(
            bodies[at], ways[at], placed[at], ground, placed, point
        ):
            before = columns[speed]
            columns[speed] = (before[0] + velocity, before[1] + omega)
        at = bodies[at].parent
    return [column[part][k] for part in (0, 1) for k in range(3) for column in columns]


def _partial_velocities(
    body: FramedBody,
    way: Passage,
    own: Placement,
    ground: Placement,
    placed: Sequence[Placement],
    point: Vector,
) -> list[tuple[int, Vector, Vector]]:
    """Of a point carried by a body, for the speeds of the body's own joint, in the world."""
    none = ground.position
    arm = point - own.position
    if isinstance(way, Slide):
        inboard = placed[body.parent] if body.parent >= 0 else ground
        return [(body.speed, body.multiplier * inboard.direction(way.axis), none)]
    if isinstance(way, Float):
        linear = [(axis, none) for axis in own.axes]
        turning = [(axis.cross(arm), axis) for axis in own.axes]
        return [(body.speed + k, v, w) for k, (v, w) in enumerate(linear + turning)]
    axis = body.multiplier * own.axes[2]
    return [(body.speed, axis.cross(arm), axis)]


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
    ground, placed, ways = placements(graph, bodies, q)
    none = ground.position
    force, moment = [none] * len(bodies), [none] * len(bodies)
    for frame, wrench in zip(frames, wrenches):
        if frame.body < 0:
            continue
        point = _link_placement(graph, frame, bodies, ground, placed).position
        applied = Vector(*wrench[:3])
        force[frame.body] = force[frame.body] + applied
        moment[frame.body] = moment[frame.body] + Vector(*wrench[3:]) + point.cross(applied)
    result = [graph.zero] * count
    for i in reversed(range(len(bodies))):
        body, way = bodies[i], ways[i]
        about_origin = moment[i] - placed[i].position.cross(force[i])
        if isinstance(way, Slide):
            inboard = placed[body.parent] if body.parent >= 0 else ground
            parts = [body.multiplier * inboard.direction(way.axis).dot(force[i])]
        elif isinstance(way, Float):
            parts = [axis.dot(force[i]) for axis in placed[i].axes]
            parts += [axis.dot(about_origin) for axis in placed[i].axes]
        else:
            parts = [body.multiplier * placed[i].axes[2].dot(about_origin)]
        for k, part in enumerate(parts):
            result[body.speed + k] = result[body.speed + k] + part
        if body.parent >= 0:
            force[body.parent] = force[body.parent] + force[i]
            moment[body.parent] = moment[body.parent] + moment[i]
    return result
