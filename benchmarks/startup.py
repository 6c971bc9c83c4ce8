"""Rows about the time until there is a first torque."""

from __future__ import annotations

import tempfile
import time
from functools import partial

import numpy as np

import kane_dynamics as kd
from benchmarks.robots import PANDA
from benchmarks.rows import Row
from benchmarks.timing import Times, of_import, of_process, of_runs

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


def _against_sympy(shape: str, sharing: str) -> Times:
    peer = partial(of_process, ["-m", "benchmarks.sympy_chain", shape, sharing])
    return of_runs(_first_torque_alone, peer, rounds=3)


def _first_torque(robot: kd.Robot, cache: str) -> float:
    state = np.full(len(PANDA.joints), 0.1)
    begin = time.perf_counter()
    kd.load(robot, joints=PANDA.joints, cache=cache).inverse_dynamics(state, state, state)
    return time.perf_counter() - begin


def _from_cache() -> Times:
    robot = kd.read_urdf(PANDA.path)

    def derived() -> float:
        with tempfile.TemporaryDirectory() as empty:
            return _first_torque(robot, empty)

    with tempfile.TemporaryDirectory() as filled:
        _first_torque(robot, filled)
        return of_runs(partial(_first_torque, robot, filled), derived, rounds=10)


def _import() -> Times:
    return of_runs(partial(of_import, "kane_dynamics"), partial(of_import, "sympy"), rounds=7)


_FIRST = "Panda: new process to first torques, nothing cached"
_SYMPY = "SymPy KanesMethod and lambdify,"

ROWS = (
    Row(
        "first-torque",
        _FIRST,
        f"{_SYMPY} arm of 6 links",
        0.10,
        partial(_against_sympy, "spatial", "plain"),
    ),
    Row(
        "first-torque-cse",
        _FIRST,
        f"{_SYMPY} arm of 6 links, cse=True",
        None,
        partial(_against_sympy, "spatial", "cse"),
    ),
    Row(
        "first-torque-planar",
        _FIRST,
        f"{_SYMPY} planar chain of 6 particles",
        None,
        partial(_against_sympy, "planar", "plain"),
    ),
    Row(
        "cache",
        "Panda: first torques, equations from the cache",
        "derived and compiled anew",
        0.10,
        _from_cache,
    ),
    Row("import", "import kane_dynamics", "import sympy", 0.5, _import),
)
