"""Rows about accelerations of every robot of example-robot-data, on a fixed base and floating."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pinocchio as pin

import kane_dynamics as kd
from benchmarks.report import Table, duration, wanted
from benchmarks.robots import ROBOTS
from benchmarks.rows import Row
from benchmarks.timing import Pair, Times, burst

logging.getLogger("kane_dynamics").setLevel(logging.ERROR)  # some of them cannot be right

TURNS = 50
GOAL = 0.15
BASES = ("fixed", "floating")

UNNAMED = {"ur3"}
"""Of a robot without a name, which neither we nor Pinocchio read."""
MASSLESS = {"romeo", "romeo_laas_small"}
"""With fingers that have neither mass nor inertia, so that nothing says how they accelerate."""
RIGID = {"quadrotor_base", "iris_simple"}
"""Without joints: they move only if they float."""


def robots(left_out: set[str] = UNNAMED) -> list[tuple[str, Path, str]]:
    """Name, file and base of every robot that moves."""
    return [
        (f"{path.relative_to(ROBOTS / 'robots').parts[0]}/{path.stem} {base}", path, base)
        for path in sorted(ROBOTS.rglob("*.urdf"))
        for base in BASES
        if path.stem not in left_out and not (base == "fixed" and path.stem in RIGID)
    ]


def _accelerations(path: Path, base: str) -> Pair:
    """Of the same mechanism: joints that mimic others move by themselves."""
    robot = kd.read_urdf(path)
    joints = tuple(replace(joint, mimic=None) for joint in robot.joints)
    arm = kd.load(replace(robot, joints=joints), base=base, joint_friction=False)
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] * (base == "floating")))
    random = np.random.default_rng(7)
    q, (u, tau) = random.uniform(-1.0, 1.0, arm.nq), random.uniform(-1.0, 1.0, (2, arm.dof))
    if base == "floating":
        q[3:7] /= np.linalg.norm(q[3:7])
    order = _order(model, arm)
    x, v, force = _coordinates(model, arm, q), np.empty(model.nv), np.empty(model.nv)
    v[order], force[order] = u, tau
    data = model.createData()
    ours, peer = arm.forward_dynamics(q, u, tau), pin.aba(model, data, x, v, force)[order]
    np.testing.assert_allclose(ours, peer, rtol=1e-6, atol=1e-6 * np.abs(peer).max())
    return Pair(burst(arm.forward_dynamics, q, u, tau), burst(pin.aba, model, data, x, v, force))


def _order(model: pin.Model, arm: kd.Dynamics) -> list[int]:
    """Where Pinocchio has our speeds."""
    joints = [model.joints[model.getJointId(name)].idx_v for name in arm.joint_names]
    return [*range(arm.dof - len(joints)), *joints]


def _coordinates(model: pin.Model, arm: kd.Dynamics, q: np.ndarray) -> np.ndarray:
    """Pinocchio's coordinates: those of an angle without limits are its cosine and sine."""
    x, first = pin.neutral(model), arm.nq - len(arm.joint_names)
    x[:first] = q[:first]
    for name, position in zip(arm.joint_names, q[first:]):
        joint = model.joints[model.getJointId(name)]
        at = slice(joint.idx_q, joint.idx_q + joint.nq)
        x[at] = position if joint.nq == 1 else (np.cos(position), np.sin(position))
    return x


ROWS = tuple(
    Row(
        f"robots-{name.replace(' ', '-')}",
        f"accelerations, {name}",
        "pin.aba",
        GOAL,
        partial(_accelerations, path, base),
        TURNS,
    )
    for name, path, base in robots(UNNAMED | MASSLESS)
)


def extremes(measured: Sequence[tuple[Row, Times]]) -> Table:
    """The robots whose ratios are the largest, the middle one and the smallest."""
    ordered = sorted(measured, key=lambda each: each[1].ratio)
    places = {"largest": -1, "middle": len(ordered) // 2, "smallest": 0}
    rows = []
    for place, at in places.items():
        row, times = ordered[at]
        robot = row.name.removeprefix("robots-")
        both = duration(times.ours), duration(times.peer)
        rows.append((place, robot, *both, f"{times.ratio:.3f}", wanted(times.ratio, GOAL)))
    head = ("which", "robot", "ours", "pin.aba", "ratio", "goal")
    return Table("robots", head, rows)
