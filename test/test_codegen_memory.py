"""Calling compiled functions forever: nothing is lost and nothing is kept."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from random_programs import random_program

from kane_dynamics.codegen import compile_program
from kane_dynamics.errors import ArgumentError

PROGRAM = random_program(0, shape=(2, 2))


def compiled():
    return compile_program("", lambda: PROGRAM, PROGRAM.signature, "c", False)


@pytest.fixture(scope="module")
def function():
    return compiled()


def arguments(*count):
    rng = np.random.default_rng(0)
    return [rng.uniform(-1.0, 1.0, (*count, entry.size)) for entry in PROGRAM.inputs]


def resident() -> int:
    """Bytes of memory this process occupies."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_million_calls_take_no_memory(function):
    q, u, t = arguments()
    many = arguments(10)

    def call(times):
        for _ in range(times):
            function(q, u, t)
        for _ in range(times // 20):
            function(*many)
            function(q, u, [0.0])
            function(q, u=u, t=t)
            with pytest.raises(ArgumentError):
                function(q, u, None)

    call(20_000)
    gc.collect()
    before = resident()
    call(1_000_000)
    gc.collect()
    # A leak of one small object in each twentieth call would be at least 800 kB.
    assert resident() - before < 600_000


def test_references_are_given_back(function):
    q, u, t = arguments()
    wrong = np.full(3, np.nan)
    counted = [q, u, t, wrong, function, None]
    function(q, u, t)
    before = [sys.getrefcount(each) for each in counted]
    for _ in range(100):
        function(q, u, t)
        function(q, u=u, t=t)
        with pytest.raises(ArgumentError):
            function(q, wrong, t)
        with pytest.raises(ArgumentError):
            function(q, u)
    after = [sys.getrefcount(each) for each in counted]
    assert np.abs(np.subtract(after, before)[:-1]).max() == 0
    assert sys.getrefcount(function(q, u, t)) == sys.getrefcount(np.zeros(2))


def test_a_function_goes_with_what_it_was_made_from():
    class Model:
        def make(self):
            return PROGRAM

    model = Model()
    # The model holds the function, which holds the model.
    model.function = compile_program("", model.make, PROGRAM.signature, "c", False)
    model.function(*arguments())
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_result_outlives_its_function():
    function = compiled()
    results = [function(*arguments()), function(*arguments(5))]
    copies = [result.copy() for result in results]
    del function
    gc.collect()
    for result, copy in zip(results, copies):
        assert (result == copy).all()


GUARDED = """
import ctypes, mmap, sys
import numpy as np
sys.path.insert(0, {tests!r})
from random_programs import random_program
from kane_dynamics.codegen import compile_program

def at_the_end_of_memory(array):
    # Copied so that it ends where a page begins that must not be touched.
    page = mmap.PAGESIZE
    pages = -(-array.nbytes // page)
    memory = mmap.mmap(-1, (pages + 1) * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + pages * page), page, 0) == 0
    guarded = np.frombuffer(memory, float, array.size, pages * page - array.nbytes)
    guarded[:] = array.ravel()
    return guarded.reshape(array.shape)

program = random_program(0)
function = compile_program("", lambda: program, program.signature, "c", False)
rng = np.random.default_rng(0)
for count in ((), *((n,) for n in range(1, 20))):
    arrays = [rng.uniform(-1.0, 1.0, (*count, entry.size)) for entry in program.inputs]
    assert (function(*map(at_the_end_of_memory, arrays)) == function(*arrays)).all()
print("untouched")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="protects pages of memory")
def test_nothing_behind_the_last_state_is_read():
    tests = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", GUARDED.format(tests=str(tests))],
        env={**os.environ, "PYTHONPATH": str(tests.parent)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "untouched\n", done.stderr


def test_a_batch_longer_than_one_turn_is_whole(function):
    few = arguments(7)
    count = 2 * 65536 + 5
    many = [np.resize(array, (count, array.shape[1])) for array in few]
    expected = np.resize(function(*few), (count, 2, 2))
    assert (function(*many) == expected).all()
