"""Kane's equations of a robot as they stand in a textbook: body by body, without any shortcut.

Partial velocities of the mass centres in the world's frame, accelerations for udot = 0, and sums
over bodies. They share nothing with the package, and know all kinds of joints that a URDF has.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from oracle import Answers, Array, States
from random_robots import Part, RandomRobot, rotation, turn_about

COORDINATES = {"planar": 3, "floating": 7}
SPEEDS = {"planar": 3, "floating": 6}


class Carried(NamedTuple):
    """A body in the world: orientation, origin, partial velocities, and motion for udot = 0."""

    R: Array  # (N, 3, 3)
    p: Array  # (N, 3)
    Jv: Array  # (N, 3, dof) of the origin
    Jw: Array
    omega: Array  # (N, 3)
    alpha: Array
    a: Array


def _displaced(inboard: Carried, d: Array) -> Carried:
    """The same body, about the point at d from the origin."""
    omega, alpha = inboard.omega, inboard.alpha
    return inboard._replace(
        p=inboard.p + d,
        Jv=inboard.Jv + np.cross(inboard.Jw, d[:, :, None], axis=1),
        a=inboard.a + np.cross(alpha, d) + np.cross(omega, np.cross(omega, d)),
    )


def _turning(at: Carried, axis: Array, speed: int, angle: Array, rate: Array, m: float) -> Carried:
    k = at.R @ axis
    Jw = at.Jw.copy()
    Jw[:, :, speed] += m * k
    spin = k * rate[:, None]
    return at._replace(
        R=at.R @ turn_about(axis, angle),
        Jw=Jw,
        omega=at.omega + spin,
        alpha=at.alpha + np.cross(at.omega, spin),
    )


def _sliding(at: Carried, axis: Array, speed: int, shift: Array, rate: Array, m: float) -> Carried:
    k = at.R @ axis
    at = _displaced(at, k * shift[:, None])
    Jv = at.Jv.copy()
    Jv[:, :, speed] += m * k
    return at._replace(Jv=Jv, a=at.a + 2.0 * np.cross(at.omega, k * rate[:, None]))


def _floating(at: Carried, speed: int, q: Array, u: Array) -> Carried:
    at = _displaced(at, np.einsum("nij,nj->ni", at.R, q[:, :3]))
    vector, w = q[:, 3:6], q[:, 6]
    K = np.cross(np.eye(3)[None], vector[:, None, :])
    R = at.R @ (np.eye(3) + 2.0 * w[:, None, None] * K + 2.0 * K @ K)
    Jv, Jw = at.Jv.copy(), at.Jw.copy()
    Jv[:, :, speed : speed + 3] += R
    Jw[:, :, speed + 3 : speed + 6] += R
    velocity = np.einsum("nij,nj->ni", R, u[:, :3])
    spin = np.einsum("nij,nj->ni", R, u[:, 3:])
    return Carried(
        R,
        at.p,
        Jv,
        Jw,
        at.omega + spin,
        at.alpha + np.cross(at.omega, spin),
        at.a + 2.0 * np.cross(at.omega, velocity) + np.cross(spin, velocity),
    )


def numbering(robot: RandomRobot, base: str) -> dict[int, tuple[int, int]]:
    """First coordinate and first speed of every joint that moves by itself, in file order."""
    coordinate, speed = (7, 6) if base == "floating" else (0, 0)
    result = {}
    for k in robot.order:
        part = robot.parts[k]
        if part.kind == "fixed" or part.follows is not None:
            continue
        result[k] = (coordinate, speed)
        coordinate += COORDINATES.get(part.kind, 1)
        speed += SPEEDS.get(part.kind, 1)
    return result


def bodies(
    robot: RandomRobot, states: States, base: str, planes: dict[int, Array]
) -> tuple[Carried, list[Carried]]:
    """The root link and every other one."""
    q, u = states.q, states.u
    count, dof = u.shape
    none = np.zeros((count, 3))
    jacobian = np.zeros((count, 3, dof))
    R = np.broadcast_to(np.eye(3), (count, 3, 3))
    root = Carried(R, none, jacobian, jacobian, none, none, none)
    if base == "floating":
        root = _floating(root, 0, q[:, :7], u[:, :6])
    first = numbering(robot, base)
    result: list[Carried] = []
    for k, part in enumerate(robot.parts):
        at = result[part.parent] if part.parent >= 0 else root
        at = _displaced(at, at.R @ part.xyz)
        at = at._replace(R=at.R @ rotation(part.rpy))
        master, m, offset = _master(robot, k)
        axis = part.axis / np.linalg.norm(part.axis)
        if part.kind == "floating":
            i, s = first[k]
            at = _floating(at, s, q[:, i : i + 7], u[:, s : s + 6])
        elif part.kind == "planar":
            i, s = first[k]
            for j in range(2):
                at = _sliding(at, planes[k][j], s + j, q[:, i + j], u[:, s + j], 1.0)
            at = _turning(at, axis, s + 2, q[:, i + 2], u[:, s + 2], 1.0)
        elif part.kind != "fixed":
            i, s = first[master]
            moved = _sliding if part.kind == "prismatic" else _turning
            at = moved(at, axis, s, m * q[:, i] + offset, m * u[:, s], m)
        result.append(at)
    return root, result


def _master(robot: RandomRobot, k: int) -> tuple[int, float, float]:
    multiplier, offset = 1.0, 0.0
    while (follows := robot.parts[k].follows) is not None:
        offset += multiplier * follows[2]
        multiplier *= follows[1]
        k = follows[0]
    return k, multiplier, offset


def textbook_answers(
    robot: RandomRobot,
    states: States,
    gravity: Sequence[float],
    base: str,
    planes: dict[int, Array],
    links: Sequence[str],
) -> Answers:
    """Everything at a batch of states.

    Parameters
    ----------
    planes : dict from int to array (2, 3)
        For every planar joint the directions of its x and y.
    links : sequence of str
        Those whose poses and Jacobians are wanted.
    """
    g = np.array(gravity)
    root, carried = bodies(robot, states, base, planes)
    count, dof = states.u.shape
    M, bias = np.zeros((count, dof, dof)), np.zeros((count, dof))
    weights, inertia_size, torque_size = np.zeros((3, count, dof))
    kinetic, potential = np.zeros((2, count))
    linear, angular = np.zeros((2, count, 3))
    grounded = {-1} if base == "fixed" else set()
    for k, (part, body) in enumerate(
        zip([robot.root, *robot.parts], [root, *carried], strict=True)
    ):
        if k and part.kind == "fixed" and part.parent in grounded:
            grounded.add(k - 1)
        if k - 1 in grounded:
            continue
        c = _displaced(body, body.R @ part.center)
        turned = body.R @ rotation(part.inertial_rpy)
        inertia = turned @ part.inertia @ turned.transpose(0, 2, 1)
        v, h = c.Jv @ states.u[..., None], inertia @ c.omega[..., None]
        v, h = v[..., 0], h[..., 0]
        force = part.mass * (c.a - g)
        torque = np.einsum("nij,nj->ni", inertia, c.alpha) + np.cross(c.omega, h)
        M += part.mass * c.Jv.transpose(0, 2, 1) @ c.Jv + c.Jw.transpose(0, 2, 1) @ inertia @ c.Jw
        bias += np.einsum("nir,ni->nr", c.Jv, force) + np.einsum("nir,ni->nr", c.Jw, torque)
        weights -= np.einsum("nir,i->nr", c.Jv, part.mass * g)
        inertia_size += _inertia_size(part, c)
        torque_size += _torque_size(part, c, states, g)
        kinetic += 0.5 * (part.mass * (v * v).sum(1) + (h * c.omega).sum(1))
        potential -= part.mass * c.p @ g
        linear += part.mass * v
        angular += part.mass * np.cross(c.p, v) + h
    torques = bias + np.einsum("nrs,ns->nr", M, states.udot)
    return Answers(
        *(torques, weights, bias, M, kinetic, potential, linear, angular),
        *_links(root, carried, links),
        inertia_size=inertia_size.max(axis=0),
        torque_size=torque_size.max(axis=0),
    )


def _inertia_size(part: Part, c: Carried) -> Array:
    """Magnitude of a body's part in each diagonal element of the mass matrix."""
    turning = np.abs(part.inertia).max() * (c.Jw**2).sum(axis=1)
    return part.mass * (c.Jv**2).sum(axis=1) + turning


def _torque_size(part: Part, c: Carried, states: States, g: Array) -> Array:
    """Magnitude of a body's part in each torque, as if nothing cancelled."""
    accelerations = np.abs(states.udot).max() * np.abs(c.Jv).sum(axis=(1, 2))
    spins = np.abs(states.udot).max() * np.abs(c.Jw).sum(axis=(1, 2))
    push = part.mass * (accelerations + np.linalg.norm(c.a, axis=1) + np.linalg.norm(g))
    spin = spins + np.linalg.norm(c.alpha, axis=1) + (c.omega**2).sum(1)
    twist = np.abs(part.inertia).max() * spin
    lever, turn = np.linalg.norm(c.Jv, axis=1), np.linalg.norm(c.Jw, axis=1)
    return lever * push[:, None] + turn * twist[:, None]


def _links(
    root: Carried, carried: list[Carried], links: Sequence[str]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Poses and Jacobians by name of link."""
    poses, jacobians = {}, {}
    for link in links:
        body = root if link == "root" else carried[int(link.removeprefix("link"))]
        pose = np.zeros((len(body.p), 4, 4))
        pose[:, :3, :3], pose[:, :3, 3], pose[:, 3, 3] = body.R, body.p, 1.0
        poses[link] = pose
        jacobians[link] = np.concatenate([body.Jv, body.Jw], axis=1)
    return poses, jacobians
