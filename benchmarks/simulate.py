"""Rows about forward simulation: 100 000 steps of the Runge-Kutta method; and its accuracy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import NamedTuple

import mujoco
import numpy as np
import pinocchio as pin

import kane_dynamics as kd
from benchmarks.robots import BUNDLED, PANDA, UR5, Arm
from benchmarks.rows import Row
from benchmarks.timing import Times, of_runs

STEPS = 100_000
STEP = 1e-3  # s
CHECKED_STEPS = 200
ROUNDS = 3

State = tuple[np.ndarray, np.ndarray]


# ---------------------------------------------------------------------------------------- times


def _ours(arm: Arm, start: State, steps: int) -> State:
    duration = steps * STEP
    motion = arm.kane.simulate(duration, *start, step=STEP, output_step=duration)
    return motion.q[-1], motion.u[-1]


def _mujoco(arm: Arm, start: State, steps: int) -> State:
    model, data = arm.mujoco
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:] = start
    mujoco.mj_step(model, data, nstep=steps)
    return data.qpos.copy(), data.qvel.copy()


def _pinocchio(arm: Arm, start: State, steps: int) -> State:
    model, data = arm.pinocchio
    aba, h, (q, u), tau = pin.aba, STEP, start, np.zeros(model.nv)
    for _ in range(steps):
        a1 = aba(model, data, q, u, tau)
        u2 = u + (h / 2) * a1
        a2 = aba(model, data, q + (h / 2) * u, u2, tau)
        u3 = u + (h / 2) * a2
        a3 = aba(model, data, q + (h / 2) * u2, u3, tau)
        u4 = u + h * a3
        a4 = aba(model, data, q + h * u3, u4, tau)
        q = q + (h / 6) * (u + 2 * (u2 + u3) + u4)
        u = u + (h / 6) * (a1 + 2 * (a2 + a3) + a4)
    return q, u


Simulate = Callable[[Arm, State, int], State]


def _time(arm: Arm, peer: Simulate) -> Times:
    """Seconds for a step, once it is seen that both simulate the same motion."""
    (q,), (u,), *_ = arm.states(1)
    ours, theirs = (simulate(arm, (q, u), CHECKED_STEPS) for simulate in (_ours, peer))
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-7)

    def seconds(simulate: Simulate) -> float:
        begin = perf_counter()
        simulate(arm, (q, u), STEPS)
        return (perf_counter() - begin) / STEPS

    return of_runs(partial(seconds, _ours), partial(seconds, peer), ROUNDS)


_PEERS: tuple[tuple[str, str, float, Simulate], ...] = (
    ("mujoco", "mj_step, RK4", 0.15, _mujoco),
    ("pinocchio", "RK4 loop over pin.aba", 0.05, _pinocchio),
)

ROWS = tuple(
    Row(
        f"simulate-{arm.name.lower()}-{name}",
        f"{arm.name}: a step of {STEPS}, RK4",
        peer,
        goal,
        partial(_time, arm, simulate),
    )
    for arm in (UR5, PANDA)
    for name, peer, goal, simulate in _PEERS
)


# ------------------------------------------------------------------------------------- accuracy


class Figure(NamedTuple):
    """Something that tells how accurate simulations are."""

    measured: str
    value: float
    lowest: float
    highest: float

    @property
    def reached(self) -> bool:
        return self.lowest <= self.value <= self.highest

    def row(self) -> tuple[str, str, str]:
        """Its row in a table."""
        goal = f"≤ {self.highest:g}"
        if self.lowest > 0.0:
            goal = f"{self.lowest:g} to {self.highest:g}"
        return self.measured, f"{self.value:.3g}", goal


FIGURES_HEAD = ("accuracy", "value", "goal")


def figures() -> list[Figure]:
    """Order of the Runge-Kutta method, and drift of the energy of a free arm in 10 s."""
    start = np.array([1.0, 0.4, 0.8, -0.5, 0.7, 0.3]), np.array([0.4, 0.3, -0.5, 0.6, -0.3, 0.8])
    fixed = UR5.kane.simulate(10.0, *start)
    adaptive = UR5.kane.simulate(10.0, *start, method="dop853", tolerance=1e-12)
    return [
        Figure("order of RK4, double pendulum", _order(), 3.9, 4.1),
        Figure("UR5: energy drift, RK4 at 1 ms", fixed.checks.relative_energy_error, 0.0, 2e-8),
        Figure("UR5: energy drift, DOP853", adaptive.checks.relative_energy_error, 0.0, 1e-9),
    ]


def _order() -> float:
    """Slope of the error over the step, both as logarithms."""
    pendulum = kd.load(BUNDLED / "two_link_arm.urdf")
    start, every = (np.array([0.3, -1.1]), np.array([0.5, 1.5])), 1 / 64
    exact = pendulum.simulate(1.0, *start, method="dop853", tolerance=1e-13, output_step=every)
    steps = 2.0 ** -np.arange(8, 12)
    errors = []
    for step in steps:
        motion = pendulum.simulate(1.0, *start, step=step, output_step=every)
        errors.append(np.sqrt(np.mean((motion.q - exact.q) ** 2)))
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])
