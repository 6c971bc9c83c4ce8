"""Rows about functions called from Python, once or for many states."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

from benchmarks.robots import PANDA, UR5, Arm
from benchmarks.rows import Row
from benchmarks.timing import Pair, burst

TURNS = 150
BATCH = 10_000
LOOP = 1_000
"""States of the batch that a loop goes through: few enough for some turns to be undisturbed."""
CORES = os.cpu_count() or 1


def _compare(ours: Any, peer: Any) -> None:
    np.testing.assert_allclose(ours, peer, rtol=1e-8, atol=1e-8)


# ----------------------------------------------------------------------------------- single calls


def _pair(
    ours: Sequence[Any], peer: Sequence[Any], result: Callable[..., Any] = np.asarray
) -> Pair:
    """Two calls, each a function and its arguments, once it is seen that they agree."""
    _compare(ours[0](*ours[1:]), result(peer[0](*peer[1:])))
    return Pair(burst(*ours), burst(*peer))


def _inverse_dynamics(arm: Arm) -> Pair:
    (q,), (u,), (udot,), _ = arm.states(1)
    return _pair((arm.kane.inverse_dynamics, q, u, udot), (pin.rnea, *arm.pinocchio, q, u, udot))


def _inverse_dynamics_mujoco(arm: Arm) -> Pair:
    (q,), (u,), (udot,), _ = arm.states(1)
    model, data = arm.mujoco
    data.qpos[:], data.qvel[:], data.qacc[:] = q, u, udot
    ours, peer = (arm.kane.inverse_dynamics, q, u, udot), (mujoco.mj_inverse, model, data)
    return _pair(ours, peer, lambda _: data.qfrc_inverse)


def _gravity(arm: Arm) -> Pair:
    (q,), *_ = arm.states(1)
    return _pair((arm.kane.gravity, q), (pin.computeGeneralizedGravity, *arm.pinocchio, q))


def _mass_matrix(arm: Arm) -> Pair:
    (q,), *_ = arm.states(1)
    return _pair((arm.kane.mass_matrix, q), (pin.crba, *arm.pinocchio, q), _symmetric)


def _symmetric(upper: np.ndarray) -> np.ndarray:
    return np.triu(upper) + np.triu(upper, 1).T


def _forward_dynamics(arm: Arm) -> Pair:
    (q,), (u,), _, (tau,) = arm.states(1)
    return _pair((arm.kane.forward_dynamics, q, u, tau), (pin.aba, *arm.pinocchio, q, u, tau))


def _inverse_derivatives(arm: Arm) -> Pair:
    (q,), (u,), (udot,), _ = arm.states(1)
    ours = arm.kane.inverse_dynamics_derivatives, q, u, udot
    return _pair(ours, (pin.computeRNEADerivatives, *arm.pinocchio, q, u, udot), _three)


def _forward_derivatives(arm: Arm) -> Pair:
    (q,), (u,), _, (tau,) = arm.states(1)
    ours = arm.kane.forward_dynamics_derivatives, q, u, tau
    return _pair(ours, (pin.computeABADerivatives, *arm.pinocchio, q, u, tau), _three)


def _three(found: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [*found[:2], _symmetric(found[2])]


# ---------------------------------------------------------------------------------------- batches


def _batch(arm: Arm, peer: Callable[..., tuple[Callable[[], Any], int]]) -> Pair:
    """Our call for many states, and a peer with the number of states that it goes through."""
    q, u, udot, _ = arm.states(BATCH)
    run, states = peer(arm, q, u, udot)
    _compare(arm.kane.inverse_dynamics(q, u, udot)[:states], run())
    return Pair(
        burst(arm.kane.inverse_dynamics, q, u, udot, states=BATCH), burst(run, states=states)
    )


def _loop(arm: Arm, *states: np.ndarray) -> tuple[Callable[[], Any], int]:
    (model, data), some = arm.pinocchio, [each[:LOOP] for each in states]

    def run() -> list[np.ndarray]:
        rnea = pin.rnea
        return [rnea(model, data, *state) for state in zip(*some)]

    return run, LOOP


def _parallel(arm: Arm, *states: np.ndarray, threads: int) -> tuple[Callable[[], Any], int]:
    """Pinocchio's own batches: a column a state, as its matrices lie in memory."""
    pool = pin.ModelPool(arm.pinocchio[0], threads)
    columns = [np.asfortranarray(each.T) for each in states]
    torques = np.empty_like(columns[1])

    def run() -> np.ndarray:
        pin.rneaInParallel(threads, pool, *columns, torques)
        return torques.T

    return run, BATCH


_ONE, _ALL = (partial(_batch, peer=partial(_parallel, threads=n)) for n in (1, CORES))
_STATE = f"inverse dynamics, a state of {BATCH}, one core"

_KINDS: tuple[tuple[str, str, str, float | None, Callable[[Arm], Pair]], ...] = (
    ("inverse-dynamics", "inverse dynamics", "pin.rnea", 0.40, _inverse_dynamics),
    ("inverse-dynamics-mujoco", "inverse dynamics", "mj_inverse", None, _inverse_dynamics_mujoco),
    ("gravity", "gravity torques", "pin.computeGeneralizedGravity", 0.45, _gravity),
    ("mass-matrix", "mass matrix", "pin.crba", None, _mass_matrix),
    ("forward-dynamics", "forward dynamics", "pin.aba", 0.35, _forward_dynamics),
    (
        "inverse-derivatives",
        "derivatives of inverse dynamics",
        "pin.computeRNEADerivatives",
        0.50,
        _inverse_derivatives,
    ),
    (
        "forward-derivatives",
        "derivatives of forward dynamics",
        "pin.computeABADerivatives",
        0.50,
        _forward_derivatives,
    ),
    ("batch-loop", _STATE, "loop over pin.rnea", 0.05, partial(_batch, peer=_loop)),
    ("batch-one-thread", _STATE, "pin.rneaInParallel, one thread", None, _ONE),
    ("batch-all-cores", _STATE, f"pin.rneaInParallel, {CORES} threads", None, _ALL),
)

ROWS = tuple(
    Row(
        f"{arm.name.lower()}-{name}",
        f"{arm.name}: {measured}",
        peer,
        goal,
        partial(pair, arm),
        TURNS,
    )
    for arm in (UR5, PANDA)
    for name, measured, peer, goal, pair in _KINDS
)
