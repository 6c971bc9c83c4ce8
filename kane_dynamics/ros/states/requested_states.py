"""States that requests name: of the joints, of a floating base, and the pose of a link."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose, Twist
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from kane_dynamics.arrays import Array
from kane_dynamics.ros.faults import Fault, blamed_on
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.ros.robot.names import shown

CAUSE = "requests"

UNIT = 1e-3
"""How far the length of a quaternion may be from one; it is then normalized."""


def is_current(asked: JointState) -> bool:
    """Whether a request leaves the state empty, which stands for the current one."""
    return not (asked.name or asked.position or asked.velocity)


def joint_state_asked_for(
    field: str, asked: JointState, model: Model, positions: Array, velocities: Array
) -> tuple[Array, Array]:
    """Positions and velocities (n,) of all moving joints in the state that a request asks for.

    Raises Fault if something in the state is wrong, or the position of a joint is not known.

    Parameters
    ----------
    field : str
        Field of the request that holds the state.
    asked : JointState
        Joints that it does not name are where they are now, at rest.
    positions, velocities : array (n,)
        The current ones; positions are NaN where they are not known.
    """
    if is_current(asked):
        _refuse_unknown(field, model, positions)
        return positions.copy(), velocities.copy()
    with blamed_on(CAUSE, field):
        joints = model.places(asked.name or model.joint_names)
    where, speeds = positions.copy(), np.zeros_like(velocities)
    where[joints] = _entries(field, "positions", asked.position, joints)
    if asked.velocity:
        speeds[joints] = _entries(field, "velocities", asked.velocity, joints)
    _refuse_unknown(field, model, where)
    return where, speeds


def _entries(field: str, what: str, values: Any, joints: NDArray[np.intp]) -> Array:
    array = np.array(values, dtype=np.float64)
    if len(array) != len(joints):
        raise Fault(CAUSE, f"{field} has {len(array)} {what} for {len(joints)} joints")
    if not np.isfinite(array).all():
        raise Fault(CAUSE, f"{field} has {what} that are not finite: {list(values)}")
    return array


def _refuse_unknown(field: str, model: Model, positions: Array) -> None:
    unknown = np.flatnonzero(np.isnan(positions))
    if len(unknown):
        names = ", ".join(repr(model.joint_names[k]) for k in unknown)
        raise Fault(
            CAUSE,
            f"the position of {names} is not known: name it in {field}, or publish joint states",
        )


# ------------------------------------------------------------------------------------ floating base
def base_coordinates(pose: Pose) -> Array:
    """Position and unit quaternion (7,) of the base."""
    p, e = pose.position, pose.orientation
    base = np.array((p.x, p.y, p.z, e.x, e.y, e.z, e.w))
    _refuse_not_finite("base_pose", base)
    length = float(np.linalg.norm(base[3:]))
    if not abs(length - 1.0) <= UNIT:
        raise Fault(
            CAUSE, f"the orientation of base_pose has length {length:g}, expected a unit quaternion"
        )
    base[3:] /= length
    return base


def base_speeds(twist: Twist) -> Array:
    """Linear and angular velocity (6,) of the base."""
    v, w = twist.linear, twist.angular
    base = np.array((v.x, v.y, v.z, w.x, w.y, w.z))
    _refuse_not_finite("base_twist", base)
    return base


def _refuse_not_finite(field: str, values: Array) -> None:
    if not np.isfinite(values).all():
        raise Fault(CAUSE, f"{field} has numbers that are not finite: {values.tolist()}")


# -------------------------------------------------------------------------------------------- links
def link_asked_for(field: str, name: str, model: Model) -> str:
    """The name of a link, if the robot has it.

    Raises Fault if it has not; the sentence names those that are spelled alike.
    """
    links = model.dynamics.link_names
    if name in links:
        return name
    alike = get_close_matches(name, links, n=3)
    which = f"did you mean {' or '.join(map(repr, alike))}?" if alike else f"it has {shown(links)}"
    raise Fault(CAUSE, f"{field}: the robot has no link {name!r}: {which}")


def pose_message(matrix: Array) -> Pose:
    """A pose from its homogeneous matrix (4, 4); of the two quaternions that with w >= 0."""
    (a, b, c), (d, e, f), (g, h, i) = matrix[:3, :3].tolist()
    # Of this symmetric matrix the quaternion is the eigenvector to the largest value (Bar-Itzhack).
    votes = (
        (a - e - i, b + d, c + g, h - f),
        (b + d, e - a - i, f + h, c - g),
        (c + g, f + h, i - a - e, d - b),
        (h - f, c - g, d - b, a + e + i),
    )
    x, y, z, w = np.linalg.eigh(np.array(votes))[1][:, -1].tolist()
    sign = -1.0 if w < 0.0 else 1.0
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = matrix[:3, 3].tolist()
    orientation = pose.orientation
    orientation.x, orientation.y, orientation.z, orientation.w = (sign * k for k in (x, y, z, w))
    return pose
