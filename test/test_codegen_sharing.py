"""One machine code a program, whoever asks: how often the compiler runs."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest
from random_programs import random_program

import kane_dynamics as kd
from kane_dynamics.codegen import compile_program
from kane_dynamics.codegen.address import program_code
from kane_dynamics.codegen.backend_c import _alive
from kane_dynamics.codegen.compiler import find_compiler

ARM = Path(__file__).parent.parent / "urdf" / "two_link_arm.urdf"
REST = [0.0, 0.0]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """What the compiler has been given: the inputs of functions of one state."""
    log = tmp_path / "log"
    log.touch()
    wrapper = tmp_path / "cc"
    real = find_compiler().command[0]
    wrapper.write_text(
        f"""#!/bin/sh
if grep -q "EXPORT void kane_state" source.c; then
    echo $(grep -o "define in_[a-z]*" source.c) >> {log}
fi
exec {real} "$@"
"""
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", str(wrapper))
    return lambda: [line.replace("define in_", "") for line in log.read_text().splitlines()]


@pytest.mark.parametrize("first", ["forward_dynamics", "address", "simulate"])
def test_forward_dynamics_is_compiled_once_for_calls_and_for_simulations(runs, first):
    arm = kd.load(ARM, cache=False, joint_friction=False, backend="c")
    asked = {
        "forward_dynamics": lambda: arm.forward_dynamics(REST, REST, REST),
        "address": lambda: arm._functions.address("forward_dynamics"),
        "simulate": lambda: arm.simulate(0.01, REST, REST),
    }
    asked.pop(first)()
    for ask in asked.values():
        ask()
        ask()
    assert runs().count("q u tau") == 1
    for method in ("rk4", "dop853"):
        arm.simulate(0.01, REST, REST, method=method)
    assert runs().count("q u") == 1  # the right-hand side of all of them


def test_robots_loaded_twice_share_what_is_compiled(runs):
    arms = [kd.load(ARM, cache=False, backend="c") for _ in range(3)]
    results = [arm.gravity([0.1, 0.2]) for arm in arms]
    assert runs().count("q") == 1
    np.testing.assert_array_equal(results[0], results[2])
    assert len({arm._functions.address("gravity") for arm in arms}) == 1


def test_other_numbers_are_another_program(runs):
    for gravity in ((0.0, 0.0, -9.81), (0.0, 0.0, -1.62)):
        kd.load(ARM, cache=False, backend="c", gravity=gravity).gravity([0.1, 0.2])
    assert runs().count("q") == 2


def test_code_in_different_caches_is_kept_in_both(tmp_path, runs):
    program = random_program(4)
    arguments = [np.zeros(entry.size) for entry in program.inputs]
    functions = [
        compile_program("shared", lambda: program, program.signature, "c", tmp_path / name)
        for name in ("one", "other")
    ]
    for function in functions:
        function(*arguments)
    kept = [set(os.listdir(tmp_path / name)) for name in ("one", "other")]
    assert kept[0] == kept[1]
    assert len(kept[0]) >= 2


def test_nobody_keeps_the_code_of_a_program_that_nobody_uses():
    program = random_program(4)
    code = program_code("unused", lambda: program, program.signature, False)
    key = next(key for key, each in _alive.items() if each is code)
    del code
    gc.collect()
    assert key not in _alive
