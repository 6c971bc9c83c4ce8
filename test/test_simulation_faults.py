"""Simulations that go wrong or are stopped: what is said, and what is kept."""

import itertools
import os
import pty
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from oracle import BUNDLED

import kane_dynamics as kd

ROOT = Path(__file__).parent.parent
PENDULUM = BUNDLED / "two_link_arm.urdf"
START = np.array([0.3, -1.1]), np.array([0.5, 1.5])
METHODS = ("rk4", "euler", "dop853", "radau")


@pytest.fixture(scope="module", params=["c", "numpy"])
def arm(request: pytest.FixtureRequest) -> kd.Dynamics:
    return kd.load(PENDULUM, backend=request.param)


@pytest.fixture(scope="module")
def fast() -> kd.Dynamics:
    return kd.load(PENDULUM)


def is_good(motion: kd.Motion) -> bool:
    """Whether it holds at least the start, numbers only, and times that increase."""
    arrays = [value for value in vars(motion).values() if isinstance(value, np.ndarray)]
    return (
        len(motion) > 0
        and motion.t[0] == 0.0
        and all(np.isfinite(array).all() for array in arrays)
        and bool((np.diff(motion.t) > 0.0).all())
    )


# ----------------------------------------------------------------------------- a torque function


def fault(kind: str) -> object:
    if kind == "raises":
        raise ValueError("no more battery")
    return {"nan": [0.0, np.nan], "shape": [0.0] * 3, "text": "fast", "none": None}[kind]


SAID = {
    "raises": "raised ValueError: no more battery",
    "nan": "returned nan for 'joint2'",
    "shape": r"returned shape (3,), expected (2,)",
    "text": "returned str 'fast', expected 2 real numbers",
    "none": "returned NoneType None, expected 2 real numbers",
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", SAID)
def test_a_torque_that_fails_on_the_way_ends_the_motion(
    arm: kd.Dynamics, kind: str, method: str
) -> None:
    motion = arm.simulate(
        0.2, *START, lambda t, q, u: fault(kind) if t > 0.1 else [0.0, 0.0], method=method
    )
    assert is_good(motion)
    assert not motion.completed
    assert SAID[kind] in motion.message
    assert (0.1 - 1.1e-3 if method in ("rk4", "euler") else 0.03) < motion.t[-1] <= 0.1
    whole = arm.simulate(0.2, *START, method=method)
    np.testing.assert_allclose(motion.q[:-1], whole.q[: len(motion) - 1], atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", SAID)
def test_a_torque_that_fails_at_once_is_an_error(arm: kd.Dynamics, kind: str, method: str) -> None:
    with pytest.raises(kd.ArgumentError) as caught:
        arm.simulate(1.0, *START, lambda t, q, u: fault(kind), method=method)
    assert SAID[kind] in str(caught.value)
    assert "at t = 0 s" in str(caught.value)


def test_an_interrupt_inside_a_torque_function_is_not_swallowed(arm: kd.Dynamics) -> None:
    def interrupted(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
        if t > 0.05:
            raise KeyboardInterrupt
        return [0.0, 0.0]

    with pytest.raises(KeyboardInterrupt):
        arm.simulate(1.0, *START, interrupted)


def test_an_error_of_several_lines_is_said_in_one(arm: kd.Dynamics) -> None:
    def fails(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
        if t > 0.05:
            raise RuntimeError("first line\n  second line\n" + "and so on " * 100)
        return [0.0, 0.0]

    message = arm.simulate(0.1, *START, fails).message
    assert "raised RuntimeError: first line second line and so on" in message
    assert "\n" not in message
    assert len(message) < 300


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_function_that_overflows_at_any_call_ends_the_motion_in_a_sentence(
    fast: kd.Dynamics, method: str
) -> None:
    for last in range(2, 80, 3):
        calls = itertools.count()

        def overflows(
            t: float, q: np.ndarray, u: np.ndarray, calls: itertools.count = calls, last: int = last
        ) -> list[float]:
            return [1e308, 1e308] if next(calls) >= last else [0.0, 0.0]

        motion = fast.simulate(1.0, *START, overflows, method=method, max_steps=100)
        assert is_good(motion)
        assert not motion.completed
        assert motion.message


# ---------------------------------------------------------------------------- cancel, and progress


@pytest.mark.parametrize("method", METHODS)
def test_a_simulation_can_be_cancelled(arm: kd.Dynamics, method: str) -> None:
    cancelled = threading.Event()
    threading.Timer(0.1, cancelled.set).start()
    motion = arm.simulate(
        1e5, *START, method=method, tolerance=1e-12, output_step=0.5, cancel=cancelled.is_set
    )
    assert is_good(motion)
    assert not motion.completed
    assert motion.message == f"cancelled at t = {motion.t[-1]:g} s of 100000 s"


def test_a_simulation_cancelled_before_it_starts_holds_the_start(arm: kd.Dynamics) -> None:
    motion = arm.simulate(1e5, *START, output_step=1.0, cancel=lambda: True)
    assert is_good(motion)
    assert not motion.completed
    np.testing.assert_array_equal(motion.q[0], START[0])


@pytest.mark.parametrize("method", METHODS)
def test_progress_is_told(arm: kd.Dynamics, method: str) -> None:
    told: list[kd.Progress] = []
    arm.simulate(
        1e5,
        *START,
        kd.PDControl([0.5, 0.5], kp=1.0, kd=0.01),
        method=method,
        output_step=1.0,
        progress=told.append,
        cancel=lambda: len(told) == 5,
    )
    assert len(told) == 5
    times = [each.t for each in told]
    assert times == sorted(times)
    for each in told:
        assert each.share == each.t / 1e5
        assert each.q.shape == each.u.shape == (2,)
        expected = 1.0 * (0.5 - each.q) - 0.01 * each.u + arm.gravity(each.q)
        np.testing.assert_allclose(each.tau, expected, rtol=1e-12, atol=1e-12)


def test_an_error_of_the_one_who_is_told_is_not_swallowed(arm: kd.Dynamics) -> None:
    with pytest.raises(ZeroDivisionError):
        arm.simulate(1e5, *START, output_step=1.0, progress=lambda progress: 1 / 0)


def test_other_threads_run_while_a_simulation_does(fast: kd.Dynamics) -> None:
    told: list[kd.Progress] = []
    thread = threading.Thread(
        target=lambda: fast.simulate(
            1e5, *START, output_step=1.0, progress=told.append, cancel=lambda: len(told) == 20
        )
    )
    thread.start()
    turns = 0
    while thread.is_alive():
        time.sleep(0.001)
        turns += 1
    # with Python's lock held, this thread would have its turn once between two looks
    assert turns > 3 * len(told) == 60


SCRIPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job ignores
import kane_dynamics as kd
arm = kd.load({path!r}, backend={backend!r})
arm.simulate(1e-2, {q}, {u}, method={method!r})
print("ready", flush=True)
try:
    arm.simulate(1e5, {q}, {u}, {torque}, method={method!r}, output_step=1.0)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@contextmanager
def process(
    backend: str, method: str, torque: str = "None", **options: object
) -> Iterator[subprocess.Popen[str]]:
    """One that simulates for ever; it ends with the test, whatever comes of that."""
    text = SCRIPT.format(
        path=str(PENDULUM),
        backend=backend,
        method=method,
        torque=torque,
        q=START[0].tolist(),
        u=START[1].tolist(),
    )
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[call-overload]
    ) as running:
        try:
            yield running
        finally:
            running.kill()


@pytest.mark.parametrize(("backend", "method"), [("c", "rk4"), ("numpy", "rk4"), ("c", "dop853")])
@pytest.mark.parametrize("torque", ["None", "lambda t, q, u: -0.01 * u"])
def test_control_c_interrupts_a_simulation(backend: str, method: str, torque: str) -> None:
    with process(backend, method, torque, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=10.0) == ("interrupted\n", "")


def test_a_bar_is_shown_in_a_terminal_only() -> None:
    ours, theirs = pty.openpty()
    with process("c", "rk4", stderr=theirs) as running:
        os.close(theirs)
        shown = b""
        while b"%" not in shown:
            shown += os.read(ours, 1024)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=10.0)
    os.close(ours)
    assert b"simulating" in shown
    with process("c", "rk4", stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        time.sleep(2.0)
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=10.0)[1] == ""


# --------------------------------------------------------------------------------- too much work


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_adaptive_steps_end_when_there_have_been_enough(arm: kd.Dynamics, method: str) -> None:
    motion = arm.simulate(100.0, *START, method=method, max_steps=30)
    assert is_good(motion)
    assert not motion.completed
    assert 0.0 < motion.t[-1] < 100.0
    assert motion.message.startswith("30 steps, as many as are allowed, led to t = ")


def test_as_many_fixed_steps_as_allowed_are_done(arm: kd.Dynamics) -> None:
    assert arm.simulate(0.1, *START, step=1e-3, max_steps=100).completed
    with pytest.raises(kd.ArgumentError, match="are 101 steps, more than the 100 of max_steps"):
        arm.simulate(0.101, *START, step=1e-3, max_steps=100)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_stiff_or_noisy_function_can_be_cancelled_within_a_step(
    fast: kd.Dynamics, method: str
) -> None:
    calls, random = itertools.count(), np.random.default_rng(0)
    seen = [0]

    def noisy(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        seen[0] = next(calls)
        time.sleep(0.002)
        return random.normal(size=2)

    motion = fast.simulate(1.0, *START, noisy, method=method, cancel=lambda: seen[0] >= 30)
    assert is_good(motion)
    assert motion.message.startswith("cancelled at t = ")
    assert seen[0] < 60


def test_a_stiff_function_ends_in_a_sentence(fast: kd.Dynamics) -> None:
    motion = fast.simulate(
        2.0, *START, lambda t, q, u: -1e9 * u - 1e12 * q, method="dop853", max_steps=200
    )
    assert is_good(motion)
    assert "200 steps, as many as are allowed, led to t = " in motion.message
    assert "and so may method 'radau' if something is stiff" in motion.message
