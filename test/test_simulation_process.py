"""Simulations in a process of their own: the same motion, and nothing is left running."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from oracle import BUNDLED

import kane_dynamics as kd
from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.simulation.process import SimulationProcess
from kane_dynamics.simulation.watch import Progress

ROOT = Path(__file__).parent.parent
PENDULUM = BUNDLED / "two_link_arm.urdf"
START = {"q0": [0.3, -1.1], "u0": [0.5, 1.5]}
FREE = {**START, "duration": 1.0, "method": "dop853"}
ENDLESS = {**START, "duration": 1e6, "output_step": 1e3, "method": "dop853"}


@pytest.fixture
def elsewhere() -> Iterator[SimulationProcess]:
    process = SimulationProcess()
    yield process
    process.close()


@pytest.fixture(scope="module")
def arm() -> kd.Dynamics:
    return kd.load(PENDULUM)


def ignore(_progress: Progress) -> None:
    pass


def never() -> bool:
    return False


def pid_of(process: SimulationProcess) -> int:
    assert process._process is not None
    return process._process.pid


def test_the_motion_is_that_of_this_process(elsewhere: SimulationProcess, arm: kd.Dynamics) -> None:
    motion, here = elsewhere.simulate(arm, ignore, never, **FREE), arm.simulate(**FREE)
    for name in ("t", "q", "u", "udot", "tau", "work", "kinetic", "potential"):
        np.testing.assert_array_equal(getattr(motion, name), getattr(here, name))
    assert (motion.completed, motion.checks) == (True, here.checks)


def test_the_process_is_kept_for_the_next_simulation(
    elsewhere: SimulationProcess, arm: kd.Dynamics
) -> None:
    elsewhere.simulate(arm, ignore, never, **FREE)
    pid = pid_of(elsewhere)
    elsewhere.simulate(arm, ignore, never, **FREE)
    assert pid_of(elsewhere) == pid


def test_progress_is_told_and_cancelling_keeps_what_was_computed(
    elsewhere: SimulationProcess, arm: kd.Dynamics
) -> None:
    told: list[Progress] = []
    motion = elsewhere.simulate(arm, told.append, lambda: len(told) > 2, **ENDLESS)
    assert motion.message.startswith("cancelled at t = ")
    assert 0.0 < told[0].t < told[-1].t <= motion.t[-1]
    assert elsewhere.simulate(arm, ignore, never, **FREE).completed


def test_cancelling_before_the_start_and_after_the_end_is_no_fault(
    elsewhere: SimulationProcess, arm: kd.Dynamics
) -> None:
    assert not elsewhere.simulate(arm, ignore, lambda: True, **ENDLESS).completed
    brief = {**START, "duration": 1e-3, "method": "dop853"}
    for _ in range(20):  # it has often ended before it hears of that
        elsewhere.simulate(arm, ignore, lambda: True, **brief)
    assert elsewhere.simulate(arm, ignore, never, **FREE).completed


def test_errors_are_those_of_this_process(elsewhere: SimulationProcess, arm: kd.Dynamics) -> None:
    with pytest.raises(kd.ArgumentError, match="duration must be a positive, finite number"):
        elsewhere.simulate(arm, ignore, never, **{**FREE, "duration": -1.0})
    with pytest.raises(KaneDynamicsError, match=r"TypeError: .*'colour'"):
        elsewhere.simulate(arm, ignore, never, colour="red", **FREE)
    assert elsewhere.simulate(arm, ignore, never, **FREE).completed


def test_a_process_that_dies_is_replaced(elsewhere: SimulationProcess, arm: kd.Dynamics) -> None:
    def kill(_progress: Progress) -> None:
        os.kill(pid_of(elsewhere), signal.SIGKILL)

    with pytest.raises(KaneDynamicsError, match="the process of the simulation died"):
        elsewhere.simulate(arm, kill, never, **ENDLESS)
    assert elsewhere.simulate(arm, ignore, never, **FREE).completed


def test_an_interrupted_question_is_not_answered_later(
    elsewhere: SimulationProcess, arm: kd.Dynamics
) -> None:
    def fail(_progress: Progress) -> None:
        raise ValueError("nobody listens")

    with pytest.raises(ValueError, match="nobody listens"):
        elsewhere.simulate(arm, fail, never, **{**ENDLESS, "q0": [1.0, 0.0]})
    motion = elsewhere.simulate(arm, ignore, never, **FREE)
    np.testing.assert_array_equal(motion.q[0], FREE["q0"])


def test_modules_are_found_where_this_process_finds_them(
    elsewhere: SimulationProcess, arm: kd.Dynamics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong module')")
    monkeypatch.chdir(tmp_path)
    assert elsewhere.simulate(arm, ignore, never, **FREE).completed


def test_what_this_process_has_said_is_not_said_again(
    elsewhere: SimulationProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    bare = kd.load(PENDULUM, cache=str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "")
    assert elsewhere.simulate(bare, ignore, never, **{**FREE, "method": "rk4"}).completed
    assert not capfd.readouterr().err


def test_nothing_is_left_running_when_the_one_who_asked_is_killed() -> None:
    asking = f"""
        import kane_dynamics as kd
        from kane_dynamics.simulation.process import SimulationProcess

        elsewhere = SimulationProcess()
        def tell(progress):
            print(elsewhere._process.pid, flush=True)
        elsewhere.simulate(kd.load({str(PENDULUM)!r}), tell, lambda: False, **{ENDLESS!r})
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(asking)], stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    for _ in range(1000):
        if not runs(pid):
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} still runs")


def runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
