"""Rows about forward simulation, a step of the Runge-Kutta method; and its accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import mujoco
import numpy as np
import pinocchio as pin

import kane_dynamics as kd
from benchmarks.report import Table, wanted
from benchmarks.robots import BUNDLED, PANDA, UR5, Arm
from benchmarks.rows import Row
from benchmarks.timing import Pair, Run, now

STEPS = 100_000
STEP = 1e-3  # s
CHECKED_STEPS = 200
TURNS = 3
FRICTION = 0.5  # N m

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


def _against(peer: Simulate, arm: Arm) -> Pair:
    """A step of ours and one of a peer's, once it is seen that both simulate the same motion."""
    start = _start(arm)
    ours, theirs = (simulate(arm, start, CHECKED_STEPS) for simulate in (_ours, peer))
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-7)
    return Pair(*(_step(partial(simulate, arm, start, STEPS)) for simulate in (_ours, peer)))


def _recording(arm: Arm) -> Pair:
    """A step that is kept, and one that is not."""
    kept = partial(arm.kane.simulate, STEPS * STEP, *_start(arm), step=STEP)
    return Pair(_step(kept), _step(partial(kept, output_step=STEPS * STEP)))


def _friction(arm: Arm) -> Pair:
    """A step of joints that slide, and now and then stick; and one without friction."""
    dry = [replace(joint, friction=FRICTION, damping=0.0) for joint in arm.kane.robot.joints]
    rubbing = kd.load(replace(arm.kane.robot, joints=tuple(dry)), joints=arm.joints)

    def simulate(kane: kd.Dynamics) -> kd.Motion:
        return kane.simulate(STEPS * STEP, *_start(arm), step=STEP, output_step=STEPS * STEP)

    return Pair(*(_step(partial(simulate, each)) for each in (rubbing, arm.kane)))


def _start(arm: Arm) -> State:
    (q,), (u,), *_ = arm.states(1)
    return q, u


def _step(simulate: Callable[[], object]) -> Run:
    """Seconds of a step of many."""

    def run() -> float:
        begin = now()
        simulate()
        return (now() - begin) / STEPS

    return run


_KINDS: tuple[tuple[str, str, str, dict[str, float], Callable[[Arm], Pair]], ...] = (
    ("mujoco", "", "mj_step, RK4", {"UR5": 0.05, "Panda": 0.15}, partial(_against, _mujoco)),
    (
        "pinocchio",
        "",
        "RK4 loop over pin.aba",
        {"UR5": 0.05, "Panda": 0.05},
        partial(_against, _pinocchio),
    ),
    ("recording", ", every step kept", "ours, none kept", {"UR5": 1.3, "Panda": 1.3}, _recording),
    ("friction", f", dry friction of {FRICTION:g} N m", "ours without friction", {}, _friction),
)

ROWS = tuple(
    Row(
        f"simulate-{arm.name.lower()}-{name}",
        f"{arm.name}: a step of {STEPS}, RK4{what}",
        peer,
        goals.get(arm.name),
        partial(pair, arm),
        TURNS,
    )
    for arm in (UR5, PANDA)
    for name, what, peer, goals, pair in _KINDS
)


# ------------------------------------------------------------------------------------- accuracy


def accuracy() -> Table:
    """Order of the Runge-Kutta method, and drift of the energy of a free arm in 10 s."""
    start = np.array([1.0, 0.4, 0.8, -0.5, 0.7, 0.3]), np.array([0.4, 0.3, -0.5, 0.6, -0.3, 0.8])
    drift = "UR5, free motion of 10 s: relative energy drift"
    fixed = UR5.kane.simulate(10.0, *start)
    adaptive = UR5.kane.simulate(10.0, *start, method="dop853", tolerance=1e-12)
    figures = [
        ("order of RK4, double pendulum", _order(), 4.1, 3.9),
        (f"{drift}, RK4 at 1 ms", fixed.checks.relative_energy_error, 2e-8),
        (f"{drift}, DOP853, tolerance 1e-12", adaptive.checks.relative_energy_error, 1e-9),
    ]
    rows = [(what, f"{value:.3g}", wanted(value, *goal)) for what, value, *goal in figures]
    return Table("accuracy", ("accuracy", "value", "goal"), rows)


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
