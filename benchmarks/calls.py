"""Rows about functions called from Python, once or for many states."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

from benchmarks.robots import PANDA, UR5, Arm
from benchmarks.rows import Row
from benchmarks.timing import Call, Times, of_calls

BATCH = 10_000
LOOP = 1_000
"""States of the batch that a loop goes through: few enough for some turns to be undisturbed."""


def _timed(ours: Call, peer: Call, peer_result: Callable[[Any], Any] = np.asarray) -> Times:
    """Times of two calls, once it is seen that they agree."""
    _compare(ours.function(*ours.arguments), peer_result(peer.function(*peer.arguments)))
    return of_calls(ours, peer)


def _compare(ours: Any, peer: Any) -> None:
    np.testing.assert_allclose(ours, peer, rtol=1e-8, atol=1e-8)


def _inverse_dynamics(arm: Arm) -> Times:
    (q,), (u,), (udot,), _ = arm.states(1)
    ours = Call(arm.kane.inverse_dynamics, (q, u, udot))
    return _timed(ours, Call(pin.rnea, (*arm.pinocchio, q, u, udot)))


def _inverse_dynamics_mujoco(arm: Arm) -> Times:
    (q,), (u,), (udot,), _ = arm.states(1)
    model, data = arm.mujoco
    data.qpos[:], data.qvel[:], data.qacc[:] = q, u, udot
    ours = Call(arm.kane.inverse_dynamics, (q, u, udot))
    return _timed(ours, Call(mujoco.mj_inverse, (model, data)), lambda _: data.qfrc_inverse)


def _gravity(arm: Arm) -> Times:
    (q,), *_ = arm.states(1)
    peer = Call(pin.computeGeneralizedGravity, (*arm.pinocchio, q))
    return _timed(Call(arm.kane.gravity, (q,)), peer)


def _mass_matrix(arm: Arm) -> Times:
    (q,), *_ = arm.states(1)
    return _timed(Call(arm.kane.mass_matrix, (q,)), Call(pin.crba, (*arm.pinocchio, q)), _symmetric)


def _symmetric(upper: np.ndarray) -> np.ndarray:
    return np.triu(upper) + np.triu(upper, 1).T


def _forward_dynamics(arm: Arm) -> Times:
    (q,), (u,), _, (tau,) = arm.states(1)
    ours = Call(arm.kane.forward_dynamics, (q, u, tau))
    return _timed(ours, Call(pin.aba, (*arm.pinocchio, q, u, tau)))


def _batch(arm: Arm) -> Times:
    q, u, udot, _ = arm.states(BATCH)
    model, data = arm.pinocchio

    def loop() -> list[np.ndarray]:
        rnea, some = pin.rnea, slice(LOOP)
        return [rnea(model, data, *state) for state in zip(q[some], u[some], udot[some])]

    ours = Call(arm.kane.inverse_dynamics, (q, u, udot))
    _compare(ours.function(q, u, udot)[:LOOP], loop())
    times = of_calls(ours, Call(loop, ()))
    return Times(times.ours / BATCH, times.peer / LOOP)


_KINDS: tuple[tuple[str, str, str, float | None, Callable[[Arm], Times]], ...] = (
    ("inverse-dynamics", "inverse dynamics", "pin.rnea", 0.40, _inverse_dynamics),
    ("inverse-dynamics-mujoco", "inverse dynamics", "mj_inverse", None, _inverse_dynamics_mujoco),
    ("gravity", "gravity torques", "pin.computeGeneralizedGravity", 0.45, _gravity),
    ("mass-matrix", "mass matrix", "pin.crba", None, _mass_matrix),
    ("forward-dynamics", "forward dynamics", "pin.aba", 0.35, _forward_dynamics),
    ("batch", f"inverse dynamics, a state of {BATCH}", "loop over pin.rnea", 0.05, _batch),
)

ROWS = tuple(
    Row(f"{arm.name.lower()}-{name}", f"{arm.name}: {measured}", peer, goal, partial(time, arm))
    for arm in (UR5, PANDA)
    for name, measured, peer, goal, time in _KINDS
)
