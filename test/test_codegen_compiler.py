"""The machine's C compiler: missing, failing, hanging, interrupted."""

import ctypes
import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from random_programs import random_program

from kane_dynamics.codegen import (
    begin,
    caller,
    compile_program,
    compiler,
    identity,
    notice,
    shared_object,
)
from kane_dynamics.codegen.compiler import Compiler, find_compiler
from kane_dynamics.errors import CompileError

PROGRAM = random_program(0)
ARGUMENTS = [np.linspace(0.1, 0.9, entry.size) for entry in PROGRAM.inputs]

SCRIPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job ignores
import logging, sys
import numpy as np
sys.path.insert(0, {tests!r})
from random_programs import random_program
from kane_dynamics.codegen import compile_program
logging.basicConfig(format="%(levelname)s %(name)s %(message)s", stream=sys.stdout)
program = random_program(0)
for key in ("first", "second"):
    function = compile_program(key, lambda: program, program.signature, {backend!r}, {cache!r})
    print(function(*(np.linspace(0.1, 0.9, entry.size) for entry in program.inputs)).tolist())
"""


def script(backend, cache=False) -> list[str]:
    tests = str(Path(__file__).parent)
    return [sys.executable, "-c", SCRIPT.format(tests=tests, backend=backend, cache=cache)]


def run(backend, **environment):
    root = str(Path(__file__).parents[1])
    changed = {**os.environ, "PYTHONPATH": root, **environment}
    return subprocess.run(script(backend), env=changed, capture_output=True, text=True)


def compiled(backend, key=""):
    return compile_program(key, lambda: PROGRAM, PROGRAM.signature, backend, False)


def expected():
    return compiled("numpy")(*ARGUMENTS)


@pytest.fixture
def fresh(monkeypatch):
    """As in a process that has not compiled or warned yet."""
    monkeypatch.setattr(caller, "_loaded", [])
    monkeypatch.setattr(notice, "_given", set())


def compiler_that(tmp_path: Path, does: str) -> str:
    path = tmp_path / "compiler"
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return str(path)


def test_without_a_compiler_numpy_takes_over_with_one_warning(tmp_path):
    done = run("auto", PATH=str(tmp_path), CC="")
    warning, *results = done.stdout.splitlines()
    assert warning.startswith("WARNING kane_dynamics no C compiler")
    assert "install" in warning
    assert results == [str(expected().tolist())] * 2


def test_without_a_compiler_c_cannot_be_had(tmp_path):
    done = run("c", PATH=str(tmp_path), CC="")
    assert "CompileError: no C compiler (cc, gcc or clang) was found" in done.stderr


def test_numpy_needs_no_compiler_and_gives_no_warning(tmp_path):
    done = run("numpy", PATH=str(tmp_path), CC="")
    assert done.stdout.splitlines() == [str(expected().tolist())] * 2


@pytest.mark.parametrize("name", ["no-such-compiler -O", "gcc 'unfinished"])
def test_the_compiler_that_cc_names_is_the_only_one_tried(name, monkeypatch):
    monkeypatch.setenv("CC", name)
    assert find_compiler() is None
    with pytest.raises(CompileError, match=r"\$CC names"):
        compiled("c")


def test_the_first_complaint_of_the_compiler_is_told(monkeypatch):
    monkeypatch.setenv("CC", f"{find_compiler().command[0]} -include no-such-file.h")
    with pytest.raises(CompileError, match=r"could not compile.*no-such-file\.h"):
        compiled("c")(*ARGUMENTS)


def test_a_compiler_that_fails_at_the_first_call_leaves_numpy(fresh, monkeypatch, caplog):
    compiled("c")(*ARGUMENTS)  # the caller is there
    monkeypatch.setenv("CC", f"{find_compiler().command[0]} -include no-such-file.h")
    functions = [compiled("auto", key) for key in ("first", "second")]
    with caplog.at_level(logging.WARNING, "kane_dynamics"):
        for function in functions * 2:
            assert (function(*ARGUMENTS) == expected()).all()
            (row,) = function(*(x[None] for x in ARGUMENTS))
            np.testing.assert_allclose(row, expected(), rtol=1e-13)  # NumPy's own vectors differ
    (record,) = caplog.records
    assert "no-such-file.h" in record.message
    assert "NumPy is used instead" in record.message


def test_without_python_headers_numpy_takes_over(fresh, monkeypatch, caplog):
    monkeypatch.setattr(caller, "python_headers", lambda: None)
    with caplog.at_level(logging.WARNING, "kane_dynamics"):
        assert (compiled("auto")(*ARGUMENTS) == expected()).all()
    assert "Python.h was not found" in caplog.text
    with pytest.raises(CompileError, match=r"Python\.h"):
        compiled("c")


@pytest.mark.parametrize(
    "complaint",
    [
        "cc1: error: bad value ('native') for '-march=' switch",
        "clang: error: the clang compiler does not support '-march=native'",
    ],
)
def test_a_compiler_without_native_target_is_asked_again(complaint, tmp_path, monkeypatch):
    refuse = f'for x; do [ "$x" = -march=native ] && echo "{complaint}" >&2 && exit 1; done'
    real = find_compiler().command[0]
    monkeypatch.setenv("CC", compiler_that(tmp_path, f'{refuse}\nexec {real} "$@"'))
    np.testing.assert_allclose(compiled("c")(*ARGUMENTS), expected(), rtol=1e-12)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition) -> bool:
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.05)
    return False


HANGS = "sleep 600 & echo $! > {0}.new && mv {0}.new {0}; wait"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_a_compiler_that_hangs_is_stopped_with_its_children(tmp_path, monkeypatch):
    child = tmp_path / "child"
    monkeypatch.setattr(compiler, "TIME_LIMIT", 1.0)
    hanging = Compiler((compiler_that(tmp_path, HANGS.format(child)),))
    with pytest.raises(CompileError, match="took longer than 1 s"):
        hanging.compile("", [], "nothing")
    assert wait_until(lambda: not is_running(int(child.read_text())))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_an_interrupt_stops_the_compiler_and_leaves_nothing_behind(tmp_path):
    child, scratch = tmp_path / "child", tmp_path / "scratch"
    scratch.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "CC": compiler_that(tmp_path, HANGS.format(child)),
        "TMPDIR": str(scratch),
    }
    process = subprocess.Popen(script("auto"), env=environment, stderr=subprocess.PIPE, text=True)
    assert wait_until(child.exists)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in messages
    assert wait_until(lambda: not is_running(int(child.read_text())))
    assert list(scratch.iterdir()) == []


def test_nothing_is_left_in_the_temporary_directory(tmp_path):
    done = run("c", TMPDIR=str(tmp_path), HOME=str(tmp_path / "home"))
    assert len(done.stdout.splitlines()) == 2
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_has_left_is_removed_by_the_next(tmp_path):
    place, pids = tmp_path / "tmp", tmp_path / "pids"
    (place / "somebody else's").mkdir(parents=True)
    environment = {"TMPDIR": str(place), "HOME": str(tmp_path / "home")}
    waiting = compiler_that(tmp_path, f"echo $$ >> {pids}\nexec sleep 600")
    process = subprocess.Popen(script("c"), env={**os.environ, **environment, "CC": waiting})
    try:
        assert wait_until(pids.exists)
        used = set(place.glob("kane_dynamics-*"))
        run("c", **environment)
        assert used
        assert used <= set(place.iterdir())  # their owner lives
    finally:
        process.kill()
        process.wait()
        for pid in pids.read_text().split():
            os.kill(int(pid), signal.SIGKILL)
    assert used <= set(place.iterdir())
    run("c", **environment)
    assert [each.name for each in place.iterdir()] == ["somebody else's"]


def test_another_compiler_has_another_identity(tmp_path):
    first = Compiler((compiler_that(tmp_path, "exit 1"),))
    before = first.identity
    assert first.identity == before
    assert Compiler((*first.command, "-g")).identity != before
    compiler_that(tmp_path, "exit 10")
    assert first.identity != before


@pytest.mark.parametrize(
    "name",
    [
        "__init__.py",
        "functions.py",
        "kane/tree/inverse.py",
        "codegen/call.c",
        *(f"{room}/new.py" for room in ("kane", "symbolic", "codegen", "robot")),
        "kane/tree/new.py",
        "symbolic/new.h",
        "another_room/new.py",
    ],
)
def test_a_changed_package_has_another_identity(name, tmp_path, monkeypatch):
    copy = shutil.copytree(identity._PACKAGE, tmp_path / "kane_dynamics")
    monkeypatch.setattr(identity, "_PACKAGE", copy)
    assert identity.package_identity.__wrapped__() == identity.package_identity()
    (copy / name).parent.mkdir(exist_ok=True)
    with open(copy / name, "a") as file:
        file.write("\n")
    assert identity.package_identity.__wrapped__() != identity.package_identity()


def test_what_only_uses_equations_does_not_change_the_identity(tmp_path, monkeypatch):
    copy = shutil.copytree(identity._PACKAGE, tmp_path / "kane_dynamics")
    monkeypatch.setattr(identity, "_PACKAGE", copy)
    (copy / "ros" / "new.py").touch()
    (copy / "kane" / "__pycache__" / "new.pyc").parent.mkdir(exist_ok=True)
    (copy / "kane" / "__pycache__" / "new.pyc").touch()
    assert identity.package_identity.__wrapped__() == identity.package_identity()


@pytest.mark.parametrize("absent", ["memory", "file"])
def test_code_is_loaded_from_memory_or_else_from_a_file(absent, monkeypatch):
    def refused(*_args, **_kwargs):
        raise PermissionError(f"no {absent} here")

    text = '__attribute__((visibility("default"))) int one(void) { return 1; }'
    code = find_compiler().compile(text, [], "one")
    if absent == "file":
        monkeypatch.setattr(shared_object.tempfile, "mkstemp", refused)
    else:
        monkeypatch.setattr(shared_object.os, "memfd_create", refused, raising=False)
    address = shared_object.load_function(code, "one")
    assert ctypes.CFUNCTYPE(ctypes.c_int)(address)() == 1


def test_what_is_no_code_cannot_be_loaded():
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    with pytest.raises(CompileError, match="cannot be loaded"):
        shared_object.load_function(b"no code", "kane_state")
    with pytest.raises(CompileError, match="cannot be loaded"):
        shared_object.load_extension(b"no code", "kane_dynamics_call")
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads /proc")
def test_where_nothing_can_be_written_no_file_is_left_open():
    before = len(os.listdir("/proc/self/fd"))
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, usual[1]))
    try:
        for _ in range(3):
            with pytest.raises(CompileError, match="File too large"):
                shared_object.load_function(b"code", "kane_state")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert len(os.listdir("/proc/self/fd")) == before


def test_where_no_thread_can_be_started_the_first_call_compiles(fresh, monkeypatch):
    def refused(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    begin("c", False)
    np.testing.assert_allclose(compiled("c")(*ARGUMENTS), expected(), rtol=1e-12)


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_nothing_is_compiled_where_others_could_exchange_it(mode, fresh, tmp_path, monkeypatch):
    """A directory that all may write in, without and with the sticky bit."""
    place = tmp_path / "temporary"
    place.mkdir()
    place.chmod(mode)
    monkeypatch.setattr(compiler.tempfile, "tempdir", str(place))
    if mode == 0o1777:
        np.testing.assert_allclose(compiled("c")(*ARGUMENTS), expected(), rtol=1e-12)
    else:
        with pytest.raises(CompileError, match=r"who may write in .*temporary: make that sticky"):
            compiled("c")(*ARGUMENTS)
        assert (compiled("auto")(*ARGUMENTS) == expected()).all()
    assert not list(place.iterdir())


@pytest.mark.parametrize("name", ["kernel.h", "call.c"])
def test_a_c_file_that_cannot_be_read_leaves_numpy(name, fresh, monkeypatch):
    """As when a process has no more file descriptors."""
    real = Path.open

    def full(path, *rest, **more):
        if path.name == name:
            raise OSError(24, "Too many open files")
        return real(path, *rest, **more)

    monkeypatch.setattr(Path, "open", full)
    assert (compiled("auto", name)(*ARGUMENTS) == expected()).all()
    with pytest.raises(CompileError, match="cannot be read: Too many open files"):
        compiled("c", name)(*ARGUMENTS)
