"""Joints that nothing resists, found by Featherstone's articulated inertia."""

from __future__ import annotations

from math import cos, sin

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.robot.model import Joint
from kane_dynamics.robot.survey import Survey

_SINGULAR = 1e-10  # of the inertia that everything outboard would have if it were rigid
_NOTHING = 1e-100  # kg m² or kg


def unresisted_joints(survey: Survey) -> dict[int, str]:
    """Return bodies, and the joints that carry them, that can be accelerated without effort.

    Featherstone's articulated inertia, swept from the tips inward at one configuration without
    symmetry: what resists joint i when all joints outboard are free. Where it is nothing, compared
    with what resists the joint when those outboard are locked, the mass matrix is singular.
    """
    bodies = survey.bodies
    moments, axes = np.linalg.eigh(bodies.spread)
    spread = (axes * np.abs(moments)[:, None]) @ axes.transpose(0, 2, 1)  # signs have other rules
    inertia = np.repeat(_spatial_inertia(bodies.mass, bodies.center, spread)[:, None], 2, axis=1)
    singular: dict[int, str] = {}
    for i in range(len(bodies.mass) - 1, 0, -1):
        joint = bodies.joint[i]
        if joint is None:  # a floating base, inboard of which there is nothing
            continue
        subspace = _motion_subspace(joint)
        momentum = inertia[i] @ subspace
        free, locked = subspace.T @ momentum
        if _resists(free, np.diag(locked), _largest(inertia[i, 1], subspace)):
            inertia[i, 0] -= momentum[0] @ np.linalg.solve(free, momentum[0].T)
        else:
            singular[i] = joint.name
        to_child = _displacement(joint, i, bodies.rotation[i], bodies.translation[i])
        inertia[bodies.parent[i]] += to_child.T @ inertia[i] @ to_child
    return singular


def _resists(free: Array, locked: Array, largest: Array) -> bool:
    """Tell whether inertia is left in every direction, in which `locked` may be rounded zeros."""
    if not np.all(locked > np.maximum(_SINGULAR * largest, _NOTHING)):
        return False
    size = np.sqrt(locked)
    return bool(np.linalg.eigvalsh(free / size / size[:, None])[0] > _SINGULAR)


def _largest(inertia: Array, subspace: Array) -> Array:
    """Return the inertia that no axis through the origin, whatever its direction, exceeds."""
    turning, sliding = (subspace[:3] ** 2).sum(axis=0), (subspace[3:] ** 2).sum(axis=0)
    return np.asarray(turning * np.trace(inertia[:3, :3]) + sliding * inertia[3, 3])


def _spatial_inertia(mass: Array, center: Array, spread: Array) -> Array:
    """Return inertias (b, 6, 6) about the origins of the bodies, rotation before translation."""
    identity = np.eye(3)
    about_origin = spread + mass[:, None, None] * center[:, :, None] * center[:, None, :]
    lever = mass[:, None, None] * np.array([_cross(c) for c in center])
    spatial = np.zeros((len(mass), 6, 6))
    spatial[:, :3, :3] = (
        np.trace(about_origin, axis1=1, axis2=2)[:, None, None] * identity - about_origin
    )
    spatial[:, :3, 3:] = lever
    spatial[:, 3:, :3] = -lever
    spatial[:, 3:, 3:] = mass[:, None, None] * identity
    return spatial


def _motion_subspace(joint: Joint) -> Array:
    """Return the motions (6, k) that the joint lets its child make, in the frame of the child."""
    axis = np.array(joint.axis)
    if joint.kind in ("floating", "ball"):
        return np.eye(6)[:, : 6 if joint.kind == "floating" else 3]
    if joint.kind == "prismatic":
        return np.concatenate([np.zeros(3), axis])[:, None]
    turn = np.concatenate([axis, joint.pitch * axis])[:, None]
    if joint.kind != "planar":
        return turn
    in_plane = np.linalg.svd(axis[None])[2][1:]
    return np.hstack([turn, np.vstack([np.zeros((3, 2)), in_plane.T])])


def _displacement(joint: Joint, index: int, rotation: Array, translation: Array) -> Array:
    """Return the motion transform (6, 6) from parent to child, the joint at some odd position."""
    position = 0.4 + 0.7 * (index * 0.6180339887498949 % 1.0)
    axis = np.array(joint.axis)
    if joint.kind == "prismatic":
        turn = rotation
        translation = translation + rotation @ (position * axis)
    else:
        turn = rotation @ (
            cos(position) * np.eye(3)
            + sin(position) * _cross(axis)
            + (1.0 - cos(position)) * np.outer(axis, axis)
        )
        translation = translation + rotation @ (joint.pitch * position * axis)
    transform = np.zeros((6, 6))
    transform[:3, :3] = transform[3:, 3:] = turn.T
    transform[3:, :3] = -turn.T @ _cross(translation)
    return transform


def _cross(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
