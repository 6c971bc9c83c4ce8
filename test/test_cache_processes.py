"""The cache between processes: started at once, one after the other, after an accident."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from random_programs import random_program

from kane_dynamics.codegen import compile_program
from kane_dynamics.codegen.cache import FORMAT
from kane_dynamics.errors import CompileError

SCRIPT = """
import logging, sys, threading
import numpy as np
sys.path.insert(0, {tests!r})
from random_programs import random_program
from kane_dynamics.codegen import compile_program
logging.basicConfig(stream=sys.stderr)
program = random_program(0)
derived = []
def make():
    derived.append(1)
    return program
arguments = [np.linspace(0.1, 0.9, entry.size) for entry in program.inputs]
print("ready", flush=True)
sys.stdin.readline()
function = compile_program("key", make, program.signature, "c", {cache!r})
one = function(*arguments)
many = function(*(np.stack([x] * 9) for x in arguments))
assert np.allclose(many, one, rtol=1e-12)
print(one.tolist(), len(derived))
"""


def start(cache: Path) -> subprocess.Popen[str]:
    tests = Path(__file__).parent
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(tests=str(tests), cache=str(cache))],
        env={**os.environ, "PYTHONPATH": str(tests.parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, int]:
    """The result, and how often the program was derived."""
    out, err = process.communicate("go\n", timeout=120)
    assert process.returncode == 0, err
    assert err == ""
    result, _, derived = out.strip().rpartition("\n")[2].rpartition(" ")
    return result, int(derived)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """What the first process to use a cache gives, and the cache that it leaves."""
    cache = tmp_path_factory.mktemp("first")
    return finish(start(cache)), cache


@pytest.fixture
def expected(first):
    return first[0][0]


@pytest.fixture
def filled(first, tmp_path):
    return shutil.copytree(first[1], tmp_path / "filled")


def files(cache: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in cache.iterdir()}


def test_processes_that_start_at_once_all_succeed(tmp_path, expected):
    processes = [start(tmp_path) for _ in range(4)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert {finish(process)[0] for process in processes} == {expected}
    assert len(files(tmp_path)) == 4  # the caller, the statements, one state, many states
    assert all(name.endswith(".entry") for name in files(tmp_path))
    assert finish(start(tmp_path)) == (expected, 0)


def test_the_next_process_derives_and_compiles_nothing(first):
    (expected, derived), cache = first
    assert derived == 1
    before = files(cache)
    assert finish(start(cache)) == (expected, 0)
    assert files(cache) == before


def spoil_every_byte(content: bytes) -> bytes:
    return bytes(byte ^ 0x55 for byte in content)


def with_content(entry: bytes, content: bytes) -> bytes:
    """An entry in perfect order with another content."""
    header = json.loads(entry.partition(b"\n")[0])
    header["sha256"] = hashlib.sha256(content).hexdigest()
    assert header["format"] == FORMAT
    return json.dumps(header).encode() + b"\n" + content


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        spoil_every_byte,
    ],
    ids=["emptied", "truncated", "altered", "overwritten"],
)
def test_damaged_entries_are_rebuilt(filled, expected, damage):
    before = files(filled)
    for name, content in before.items():
        (filled / name).write_bytes(damage(content))
    assert finish(start(filled)) == (expected, 1)
    assert files(filled).keys() == before.keys()
    assert finish(start(filled)) == (expected, 0)


def test_entries_without_loadable_code_are_rebuilt(filled, expected):
    for name, content in files(filled).items():
        if b"\x7fELF" in content:
            (filled / name).write_bytes(with_content(content, b"\x7fELF and nothing else"))
    assert finish(start(filled)) == (expected, 0)
    assert finish(start(filled)) == (expected, 0)
    assert not any(content.endswith(b"nothing else") for content in files(filled).values())


def test_a_running_function_does_not_depend_on_the_cache(tmp_path):
    script = SCRIPT.format(tests=str(Path(__file__).parent), cache=str(tmp_path / "cache"))
    script += """
import pathlib
for path in pathlib.Path({!r}).iterdir():
    with open(path, "r+b") as file:
        file.truncate(10)
    path.write_bytes(b"x" * 100000)
again = function(*arguments)
assert (again == one).all() and np.allclose(function(*(np.stack([x] * 9) for x in arguments)), one)
print("still there")
""".format(str(tmp_path / "cache"))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        input="go\n",
        capture_output=True,
        text=True,
    )
    assert done.stdout.endswith("still there\n"), done.stderr


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe no text",
        b"no statement;",
        b"#define KEPT 0\nBODY { out(0) = REAL(no_such_function(1.0)); }",
    ],
    ids=["not UTF-8", "no C", "not loadable"],
)
def test_statements_that_cannot_be_compiled_are_derived_again(filled, expected, text):
    for name, content in files(filled).items():
        if b"ELF" in content:
            (filled / name).unlink()
        else:
            (filled / name).write_bytes(with_content(content, text))
    assert finish(start(filled)) == (expected, 1)
    assert not any(content.endswith(b"\n" + text) for content in files(filled).values())
    assert finish(start(filled)) == (expected, 0)


@pytest.mark.parametrize("text", [b"\xff", b"no python", b"\0", b"raise KeyError", b"x = 1"])
def test_a_python_text_that_cannot_be_used_is_derived_again(tmp_path, text):
    program = random_program(0)
    derived = []

    def result():
        function = compile_program(
            "key", lambda: derived.append(1) or program, program.signature, "numpy", tmp_path
        )
        return function(*(np.linspace(0.1, 0.9, entry.size) for entry in program.inputs)).tolist()

    first = result()
    ((name, content),) = files(tmp_path).items()
    (tmp_path / name).write_bytes(with_content(content, text))
    assert result() == first
    assert files(tmp_path) == {name: content}
    assert result() == first
    assert len(derived) == 2


def test_what_the_compiler_refuses_twice_is_compiled_once(tmp_path, monkeypatch):
    program, runs = random_program(0), tmp_path / "runs"
    broken = tmp_path / "cc"
    broken.write_text(f"#!/bin/sh\necho >> {runs}\nexit 1\n")
    broken.chmod(0o755)
    compile_program("", lambda: program, program.signature, "c", False)  # the caller is there
    monkeypatch.setenv("CC", str(broken))
    function = compile_program("", lambda: program, program.signature, "c", tmp_path / "cache")
    with pytest.raises(CompileError):
        function(*(np.zeros(entry.size) for entry in program.inputs))
    assert runs.read_text() == "\n"
