"""Models derived in a process of their own: the same models and sentences, and nothing is left."""

import contextlib
import logging
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from robot_graph import PATIENCE, ROOT, STANFORD, TWO_LINK, arm_of, chain, panda

from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.ros.parameters.declaration import Settings
from kane_dynamics.ros.robot.derivation import ATTEMPTS, DIED, DerivationProcess, Overtaken
from kane_dynamics.ros.robot.derived_before import remembered
from kane_dynamics.ros.robot.model import Model, load_model


@pytest.fixture
def elsewhere() -> Iterator[DerivationProcess]:
    process = DerivationProcess()
    yield process
    process.close()


def asked(place: Path, text: str = "", **settings: Any) -> Any:
    return text or TWO_LINK.read_text(), Settings(cache_dir=str(place), **settings), {}


def pid_of(process: DerivationProcess) -> int:
    assert process._process is not None
    return process._process.pid


def another(process: DerivationProcess, pid: int) -> int:
    """The process that has taken the place of one that was killed."""
    until(lambda: process._process is not None and process._process.pid != pid)
    return pid_of(process)


def runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def until(condition: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_the_model_is_that_of_this_process_and_comes_through_the_cache(
    elsewhere: DerivationProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = asked(tmp_path, STANFORD.read_text())
    caplog.set_level(logging.INFO, "kane_dynamics")
    model = elsewhere.model(*arguments)
    assert not [record for record in caplog.records if "compiling" in record.getMessage()]
    here = load_model(STANFORD.read_text(), Settings())
    q = np.full(6, 0.3)
    np.testing.assert_array_equal(model.gravity(q), here.gravity(q))
    np.testing.assert_array_equal(model.efforts(q, q, q), here.efforts(q, q, q))
    assert (model.operations, model.backend) == (here.operations, here.backend)


def test_the_process_is_kept_for_the_next_model(
    elsewhere: DerivationProcess, tmp_path: Path
) -> None:
    elsewhere.model(*asked(tmp_path))
    pid = pid_of(elsewhere)
    floating = elsewhere.model(*asked(tmp_path, base="floating"))
    assert pid_of(elsewhere) == pid
    assert floating.gravity(np.zeros(2)).shape == (2,)


def test_errors_are_those_of_this_process(elsewhere: DerivationProcess, tmp_path: Path) -> None:
    for wrong in (
        asked(tmp_path, "<robot"),
        asked(tmp_path, joints=("elbow",)),
        asked(tmp_path, locked_joints=("nobody:1.0",)),
    ):
        with pytest.raises(KaneDynamicsError) as there:
            elsewhere.model(*wrong)
        with pytest.raises(KaneDynamicsError) as here:
            load_model(*wrong)
        assert str(there.value) == str(here.value)
        assert type(there.value) is type(here.value)
    assert isinstance(elsewhere.model(*asked(tmp_path)), Model)


def test_what_is_logged_there_is_logged_here_and_once(
    elsewhere: DerivationProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from kane_dynamics.codegen import notice

    monkeypatch.setattr(notice, "_given", set())
    monkeypatch.setenv("CC", "no-such-compiler")
    for scale in (1.0, 2.0):
        text = TWO_LINK.read_text().replace('<mass value="1"/>', f'<mass value="{scale}"/>')
        assert elsewhere.model(*asked(tmp_path, text)).backend == "numpy"
    said = [record for record in caplog.records if "NumPy is used instead" in record.getMessage()]
    assert len(said) == 1
    assert said[0].levelno == logging.WARNING


def test_a_process_that_is_killed_is_replaced_at_once(
    elsewhere: DerivationProcess, tmp_path: Path
) -> None:
    elsewhere.model(*asked(tmp_path))
    pid = pid_of(elsewhere)
    os.kill(pid, signal.SIGKILL)
    assert isinstance(elsewhere.model(*asked(tmp_path, base="floating")), Model)
    assert pid_of(elsewhere) != pid


def test_a_process_that_always_dies_is_an_error_and_no_endless_loop(tmp_path: Path) -> None:
    process = DerivationProcess()
    process._serve = "os:_exit"  # which takes the descriptor for a status
    with pytest.raises(KaneDynamicsError, match=DIED):
        process.model(*asked(tmp_path))
    process.close()


class Endless(NamedTuple):
    """A compiler that never ends, the file where it says who it is, and its temporary files."""

    pid: Path
    places: Path


@pytest.fixture
def endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Endless:
    compiler, made = tmp_path / "slow-cc", Endless(tmp_path / "pid", tmp_path / "temporary")
    compiler.write_text(f"#!/bin/sh\necho $$ > {made.pid}\nexec sleep 1000\n")
    compiler.chmod(stat.S_IRWXU)
    made.places.mkdir()
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("TMPDIR", str(made.places))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return made


@contextlib.contextmanager
def derivation(process: DerivationProcess, place: Path) -> Iterator[list[Exception]]:
    """What a derivation raises that goes on meanwhile, and has ended afterwards."""
    outcome: list[Exception] = []

    def derive() -> None:
        try:
            process.model(*asked(place))
        except Exception as error:
            outcome.append(error)

    process.begin()
    thread = threading.Thread(target=derive)
    thread.start()
    yield outcome
    thread.join(PATIENCE)


def compiling(endless: Endless) -> int:
    """The compiler that runs, once one does; the next will say anew who it is."""
    until(lambda: endless.pid.exists() and endless.pid.read_text())
    pid = int(endless.pid.read_text())
    endless.pid.unlink()
    return pid


def test_a_model_that_is_no_longer_wanted_is_given_up_and_leaves_no_files(
    elsewhere: DerivationProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    endless: Endless,
) -> None:
    with derivation(elsewhere, tmp_path / "cache") as outcome:
        compiler = compiling(endless)
        elsewhere.overtake()
    assert [type(error) for error in outcome] == [Overtaken]
    until(lambda: not runs(compiler))
    assert not list(endless.places.iterdir())
    monkeypatch.undo()
    elsewhere.begin()
    assert isinstance(elsewhere.model(*asked(tmp_path / "cache")), Model)


def test_a_process_that_is_killed_while_it_compiles_leaves_no_files(
    elsewhere: DerivationProcess, tmp_path: Path, endless: Endless
) -> None:
    killed = 0
    with derivation(elsewhere, tmp_path / "cache") as outcome:
        for _ in range(ATTEMPTS):
            compiler = compiling(endless)  # perhaps one more of the process that was killed
            killed = another(elsewhere, killed)
            os.kill(killed, signal.SIGKILL)
            os.kill(compiler, signal.SIGKILL)
    assert [str(error) for error in outcome] == [DIED]
    elsewhere.close()
    assert not list(endless.places.iterdir())


def test_who_waits_long_for_a_model_is_told_that_it_is_being_derived(
    elsewhere: DerivationProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("kane_dynamics.ros.robot.derivation.LONG", 0.05)
    elsewhere.model(*asked(tmp_path))
    assert caplog.messages[0] == (
        "still deriving and compiling the equations of 2 joints, which can move, after 0 s"
    )
    assert len(caplog.messages) < 12  # each time after twice the time


def test_a_model_that_takes_too_long_is_given_up_with_a_sentence_and_the_next_is_derived(
    elsewhere: DerivationProcess, tmp_path: Path
) -> None:
    elsewhere.connected()
    pid = pid_of(elsewhere)
    with pytest.raises(KaneDynamicsError) as failed:
        elsewhere.model(*asked(tmp_path, chain(400), derivation_timeout=0.5))
    assert "equations of 400 joints" in str(failed.value)
    assert "longer than derivation_timeout, 0.5 s: name those" in str(failed.value)
    assert not runs(pid)
    assert isinstance(elsewhere.model(*asked(tmp_path)), Model)


def test_a_model_is_remembered_with_its_operations_when_all_of_it_is_compiled(
    elsewhere: DerivationProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = asked(tmp_path, STANFORD.read_text())
    assert remembered(*arguments) is None
    model = elsewhere.model(*arguments)
    operations = remembered(*arguments)
    assert operations == model.operations
    assert operations == {name: arm_of(STANFORD).operations(name) for name in operations}
    assert remembered(*asked(tmp_path, STANFORD.read_text(), base="floating")) is None
    assert remembered(*arguments[:2], {"joint1": 0.5}) is None
    monkeypatch.setattr(
        "kane_dynamics.codegen.functions.program", lambda *asked: pytest.fail(f"derives {asked[1]}")
    )
    again = load_model(*arguments, operations)
    assert again.operations == operations
    np.testing.assert_array_equal(again.gravity(np.ones(6)), model.gravity(np.ones(6)))


def test_where_the_cache_cannot_be_used_this_process_derives(
    elsewhere: DerivationProcess, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no directory")
    model = elsewhere.model(*asked(tmp_path / "file"))
    assert elsewhere._process is None
    arm = arm_of(TWO_LINK)
    np.testing.assert_allclose(model.gravity(np.array([0.3, 0.4])), arm.gravity([0.3, 0.4]))


def test_nothing_is_left_running_when_the_one_who_asked_is_killed(tmp_path: Path) -> None:
    asking = f"""
        from kane_dynamics.ros.robot.derivation import DerivationProcess
        from kane_dynamics.ros.parameters.declaration import Settings

        elsewhere, text = DerivationProcess(), open({str(panda()[0])!r}).read()
        settings = Settings(cache_dir={str(tmp_path)!r})
        elsewhere.connected()
        print(elsewhere._process.pid, flush=True)
        elsewhere.model(text, settings, {{}})
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(asking)], stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        time.sleep(0.7)
        process.kill()
    until(lambda: not runs(pid))
