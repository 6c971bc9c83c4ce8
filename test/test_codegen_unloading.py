"""Compiled code stays in memory as long as somebody can call it, and no longer."""

import ctypes
import gc
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
from random_programs import random_program

import kane_dynamics as kd
from kane_dynamics.codegen import compile_program, shared_object
from kane_dynamics.codegen.compiler import find_compiler

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")

ARM = Path(__file__).parent.parent / "urdf" / "two_link_arm.urdf"
REST = np.zeros(2)


def loaded() -> set[str]:
    """Compiled objects in the memory of this process, by inode."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.split()[4] for line in lines if "/memfd:kane_dynamics" in line}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def moon_arm(number: int) -> kd.Dynamics:
    """An arm that no other has the code of."""
    return kd.load(ARM, gravity=(0.0, 0.0, -1.62 - 0.01 * number), cache=False, backend="c")


def use(arm: kd.Dynamics) -> None:
    arm.gravity(REST)
    arm.gravity(np.zeros((3, 2)))
    arm.forward_dynamics(REST, REST, REST)
    arm.simulate(0.01, REST, REST)


@pytest.fixture
def before() -> set[str]:
    """What is loaded already, with what all robots share."""
    use(moon_arm(0))
    gc.collect()
    return loaded()


def answering(number: int) -> bytes:
    """Code of a function that answers with a number."""
    text = f'__attribute__((visibility("default"))) int answer(void) {{ return {number}; }}'
    return find_compiler().compile(text, [], "answer")


def call(address: int) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


def test_robots_that_come_and_go_leave_no_code_and_no_open_files(before):
    files = descriptors()
    gc.disable()  # nothing waits for it
    try:
        for number in range(1, 6):
            arm = moon_arm(number)
            use(arm)
            assert len(loaded()) > len(before)
            del arm
            assert loaded() == before
            assert descriptors() == files
    finally:
        gc.enable()


def test_a_function_stays_as_long_as_somebody_holds_it(before):
    arm = moon_arm(0)
    gravity, expected = arm._functions.function("gravity"), arm.gravity([0.1, 0.2])
    del arm
    assert len(loaded()) == len(before) + 1
    np.testing.assert_array_equal(gravity(np.array([0.1, 0.2])), expected)
    del gravity
    assert loaded() == before


def test_code_is_gone_when_nobody_keeps_its_address_any_more():
    before = loaded()
    first, second = (shared_object.load_function(answering(n), "answer") for n in (1, 2))
    assert len(loaded()) == len(before) + 2
    assert (call(first), call(second)) == (1, 2)
    del first
    assert len(loaded()) == len(before) + 1
    assert call(second) == 2
    del second
    assert loaded() == before


def test_no_code_is_taken_for_another_whose_descriptor_it_has():
    codes = [answering(n) for n in range(3)]
    kept = [shared_object.load_function(code, "answer") for code in codes]  # 0 1 2
    kept[1] = shared_object.load_function(codes[0], "answer")
    kept.append(shared_object.load_function(codes[1], "answer"))
    assert [call(each) for each in kept] == [0, 0, 2, 1]


def test_code_without_the_function_asked_for_does_not_stay():
    before, code = loaded(), answering(1)
    with pytest.raises(kd.CompileError, match="no_answer"):
        shared_object.load_function(code, "no_answer")
    assert loaded() == before


def test_a_thread_inside_a_function_keeps_it(before):
    program = random_program(4)
    functions = [compile_program("inside", lambda: program, program.signature, "c", False)]
    states = [np.full((1_000_000, entry.size), 0.1) for entry in program.inputs]
    expected = functions[0](*[each[:1] for each in states])
    results = []
    thread = threading.Thread(target=lambda: results.append(functions.pop()(*states)))
    thread.start()
    while functions:
        pass
    thread.join()
    assert loaded() == before
    np.testing.assert_array_equal(results[0][-1:], expected)


def run(script: str) -> list[str]:
    """The words that a script prints, in a process whose crash is no end of these tests."""
    beginning = f"""
        import gc, os, sys, threading
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import numpy as np
        from test_codegen_unloading import *
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(beginning) + textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": str(ARM.parent.parent)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_whoever_ends_with_a_function_may_still_call_it():
    words = run(
        """
        class Logger:
            def __del__(self):
                print(*self.arm.gravity([0.1, 0.2]).tolist())

        logger = Logger()
        logger.arm, logger.itself = moon_arm(1), logger
        logger.arm.itself = logger.arm
        print(*logger.arm.gravity([0.1, 0.2]).tolist())
        del logger
        gc.collect()
        print(len(loaded()))
        """
    )
    assert words[:2] == words[2:4]
    assert words[4] == "1"  # what calls all of them


def test_a_child_unloads_for_itself_alone():
    words = run(
        """
        arm = moon_arm(1)
        expected = arm.gravity([0.1, 0.2])
        count = len(loaded())
        child = os.fork()
        if child == 0:
            assert (arm.gravity([0.1, 0.2]) == expected).all()
            del arm
            assert len(loaded()) == count - 1
            moon_arm(2).gravity([0.1, 0.2])
            sys.exit()
        assert os.waitpid(child, 0)[1] == 0
        assert len(loaded()) == count
        assert (arm.gravity([0.1, 0.2]) == expected).all()
        print("well")
        """
    )
    assert words == ["well"]


def test_python_ends_while_a_thread_is_inside_a_function():
    words = run(
        """
        arm, states = moon_arm(1), np.zeros((2_000_000, 2))
        arm.gravity(states[:2])

        def compute():
            while True:
                arm.gravity(states)

        threading.Thread(target=compute, daemon=True).start()
        print("well")
        """
    )
    assert words == ["well"]
