"""Rows about the time until there is a first torque."""

from __future__ import annotations

import gc
import tempfile
import time
from functools import partial

import numpy as np

import kane_dynamics as kd
from benchmarks.robots import PANDA
from benchmarks.rows import Row
from benchmarks.timing import Pair, of_import, of_process

_FIRST_TORQUE = """
import sys
import kane_dynamics as kd
path, cache, *joints = sys.argv[1:]
state = [0.1] * len(joints)
print(kd.load(path, joints=joints, cache=cache).inverse_dynamics(state, state, state))
"""


def _first_torque_alone() -> float:
    """Seconds of a process that knows nothing but the URDF."""
    with tempfile.TemporaryDirectory() as empty:
        return of_process(["-c", _FIRST_TORQUE, str(PANDA.path), empty, *PANDA.joints])


def _sympy(shape: str, sharing: str) -> Pair:
    peer = partial(of_process, ["-m", "benchmarks.sympy_chain", shape, sharing])
    return Pair(_first_torque_alone, peer)


def _first_torque(robot: kd.Robot, cache: str) -> float:
    gc.collect()  # what is compiled is kept only as long as a robot uses it
    state = np.full(len(PANDA.joints), 0.1)
    begin = time.perf_counter()
    kd.load(robot, joints=PANDA.joints, cache=cache).inverse_dynamics(state, state, state)
    return time.perf_counter() - begin


def _from_cache() -> Pair:
    robot = kd.read_urdf(PANDA.path)
    filled = tempfile.TemporaryDirectory()
    _first_torque(robot, filled.name)

    def found() -> float:
        return _first_torque(robot, filled.name)

    def derived() -> float:
        with tempfile.TemporaryDirectory() as empty:
            return _first_torque(robot, empty)

    return Pair(found, derived)


def _import() -> Pair:
    return Pair(partial(of_import, "kane_dynamics"), partial(of_import, "sympy"))


def _node() -> Pair:
    from benchmarks.ros_start import of_bare_node, of_our_node  # which need ROS

    return Pair(of_our_node, of_bare_node)


_FIRST = "Panda: new process to first torques, nothing cached"
_SPATIAL = "SymPy KanesMethod and lambdify, arm of 6 links"
_PLANAR = "SymPy KanesMethod and lambdify, planar chain of 6 particles"
_CACHED = "Panda: first torques, equations from the cache"
_NODE = "Panda: new process of the node to first torques, equations from the cache"

ROWS = (
    Row("first-torque", _FIRST, _SPATIAL, 0.10, partial(_sympy, "spatial", "plain"), 3),
    Row(
        "first-torque-cse",
        _FIRST,
        f"{_SPATIAL}, cse=True",
        None,
        partial(_sympy, "spatial", "cse"),
        3,
    ),
    Row("first-torque-planar", _FIRST, _PLANAR, None, partial(_sympy, "planar", "plain"), 3),
    Row("cache", _CACHED, "derived and compiled anew", 0.10, _from_cache, 10),
    Row("import", "import kane_dynamics", "import sympy", 0.5, _import, 7),
    Row("node-start", _NODE, "bare rclpy node that copies", None, _node, 5),
)
