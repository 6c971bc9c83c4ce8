"""Forks while other threads compile: the child has none of these threads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")

# The compiler waits until the child is done, so that the fork is sure to find it at work.
BEGINNING = """
import os, pathlib, sys, threading, time
import numpy as np
sys.path.insert(0, {tests!r})
from random_programs import random_program
from kane_dynamics.codegen import begin, compile_program, texts
here = pathlib.Path({here!r})
program = random_program(0)
arguments = [np.linspace(0.1, 0.9, entry.size) for entry in program.inputs]

def function(backend, make=lambda: program):
    return compile_program("", make, program.signature, backend, False)

expected = function("numpy")(*arguments)

def wait_for(name):
    while not (here / name).exists():
        time.sleep(0.01)

def child_computes(function):
    child = os.fork()
    if child == 0:
        os.environ["IN_CHILD"] = "1"
        assert np.allclose(function(*arguments), expected)
        print("child", flush=True)
        sys.exit()
    deadline = time.monotonic() + 60
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, 9)
        time.sleep(0.01)
    (here / "child done").touch()
"""

COMPILER = """#!/bin/sh
if [ -z "$IN_CHILD" ] && [ -e "{here}/slow" ]; then
    touch "{here}/compiling"
    while [ ! -e "{here}/child done" ]; do sleep 0.01; done
fi
exec cc "$@"
"""


def output(here: Path, script: str) -> list[str]:
    compiler = here / "compiler"
    compiler.write_text(COMPILER.format(here=here))
    compiler.chmod(0o755)
    tests = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING.format(tests=str(tests), here=str(here)) + script],
        env={**os.environ, "PYTHONPATH": str(tests.parent), "CC": str(compiler)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_child_compiles_while_the_caller_is_compiled_in_the_background(tmp_path):
    script = """
(here / "slow").touch()
begin("c", False)
wait_for("compiling")
child_computes(lambda *arguments: function("c")(*arguments))
assert np.allclose(function("c")(*arguments), expected)
print("parent")
"""
    assert output(tmp_path, script) == ["child", "parent"]


def test_a_child_compiles_what_another_thread_is_compiling(tmp_path):
    script = """
shared = function("c")
shared(*arguments)  # the caller is there
shared = compile_program("other", lambda: program, program.signature, "c", False)
(here / "slow").touch()
results = []
thread = threading.Thread(target=lambda: results.append(shared(*arguments)))
thread.start()
wait_for("compiling")
child_computes(shared)
thread.join()
assert np.allclose(results, expected)
print("parent")
"""
    assert output(tmp_path, script) == ["child", "parent"]


def test_a_child_derives_what_another_thread_is_deriving(tmp_path):
    script = """
def slowly():
    if "IN_CHILD" not in os.environ:
        (here / "deriving").touch()
        wait_for("child done")
    return program

shared = function("numpy", slowly)
results = []
thread = threading.Thread(target=lambda: results.append(shared(*arguments)))
thread.start()
wait_for("deriving")
child_computes(shared)
thread.join()
assert np.allclose(results, expected)
print("parent")
"""
    assert output(tmp_path, script) == ["child", "parent"]
