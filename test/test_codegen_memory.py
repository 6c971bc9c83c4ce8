"""Calling compiled functions forever: nothing is lost and nothing is kept."""

import ctypes
import functools
import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from random_programs import random_program

from kane_dynamics.codegen import caller, compile_program
from kane_dynamics.codegen.cache import open_cache
from kane_dynamics.codegen.compiler import find_compiler
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


def test_a_function_keeps_its_last_two_results_at_most():
    function, given = compiled(), arguments()
    results = [function(*given) for _ in range(5)]
    alone = sys.getrefcount(np.zeros(2))
    assert sorted(sys.getrefcount(results.pop()) - alone for _ in range(5)) == [0, 0, 0, 1, 1]
    result, other = function(*given), np.zeros(2)
    del function
    gc.collect()
    assert sys.getrefcount(result) == sys.getrefcount(other)


def _shape_lost(result):
    result.shape = (4,)


def _read_only(result):
    result.flags.writeable = False


def _other_type(result):
    result.dtype = np.int64


HELD = {
    "by itself": lambda result: result,
    "a view": lambda result: result[1:],
    "its transpose": lambda result: result.T,
    "memory": memoryview,
    "weakly": weakref.ref,
    "in another shape": _shape_lost,
    "read only": _read_only,
    "as integers": _other_type,
}


@pytest.mark.parametrize("hold", HELD.values(), ids=HELD)
def test_no_result_that_somebody_has_is_written_again(function, hold):
    rng = np.random.default_rng(1)
    for _ in range(10):
        given = [rng.uniform(-1.0, 1.0, entry.size) for entry in PROGRAM.inputs]
        expected = function(*(each[None] for each in given))[0]
        held = [hold(function(*given)) for _ in range(3)]
        others = [function(*arguments()) for _ in range(5)]
        assert all(other.shape == (2, 2) and other.flags.writeable for other in others)
        assert all(other.dtype == float and (other == others[0]).all() for other in others)
        assert len({other.ctypes.data for other in others}) == 5
        for each in held:
            if isinstance(each, np.ndarray | memoryview):
                assert np.isin(np.asarray(each), expected).all()


def test_a_function_goes_with_what_it_was_made_from():
    class Model:
        def make(self):
            return PROGRAM

    model = Model()
    # The model holds the function, which holds the model.
    model.function = compile_program("model", model.make, PROGRAM.signature, "c", False)
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


STACK = """
import sys, threading
import numpy as np
sys.path.insert(0, {tests!r})
from random_programs import program_of
from kane_dynamics.codegen import compile_program
from kane_dynamics.symbolic.graph import Graph

# Side by side, the results take more than the stack.
count, stack = 2500, 2**17
graph = Graph()
(q,) = graph.inputs("q", 1)
Z = [q + float(k) for k in range(count)]
pairs = [(k, count - 1 - k) for k in range(count // 2)] + [(k, k + 1) for k in range(count - 1)]
program = program_of("f", [("q", 1)], (len(pairs),), [Z[i] * Z[j] for i, j in pairs])
function = compile_program("", lambda: program, program.signature, "c", False)
i, j = np.array(pairs).T

def work(given, results):
    results.append(function(given))

for q in (np.array([0.5]), np.linspace(0.0, 1.0, 9)[:, None]):
    work(q, [])  # the compiler and the loader may take what they want
    threading.stack_size(stack)
    results = []
    threads = [threading.Thread(target=work, args=(q + k, results)) for k in range(3)]
    for thread in threads:
        thread.start()
    threading.stack_size(0)
    for thread in threads:
        thread.join()
    for result in results:
        exact = [(q + k + i) * (q + k + j) for k in range(3)]
        assert any(np.allclose(result, each, rtol=1e-15) for each in exact)
    print(len(results))
"""


def test_a_large_function_runs_on_a_small_stack():
    tests = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", STACK.format(tests=str(tests))],
        env={**os.environ, "PYTHONPATH": str(tests.parent)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["3", "3"]), done.stderr


def kernel(load, prepare=None):
    """A callable of one input of one entry, as the extension makes it."""
    make = caller.kernel_type(find_compiler(), open_cache(False))
    return make("f", (1,), (), (), prepare=prepare, load=load, refuse=None)


def test_a_substitute_lives_until_it_returns():
    entered, replaced = threading.Event(), threading.Event()

    def load(_form):
        if threading.current_thread() is late:
            entered.set()
            assert replaced.wait(60)
            return lambda q: "second"
        first = functools.partial(answer)
        alive.append(weakref.ref(first))
        return first

    def answer(_q):
        replaced.set()
        late.join()  # which has put another in its place
        return alive[0]() is not None

    alive: list[weakref.ref] = []
    function = kernel(load)
    late = threading.Thread(target=lambda: function(np.zeros(1)))
    late.start()
    assert entered.wait(60)
    assert function(np.zeros(1)) is True
    assert function(np.zeros(1)) == "second"


def test_a_function_called_while_it_is_deleted_raises():
    function = kernel(load=lambda form: None, prepare=lambda given, named: None)
    get_slot = ctypes.pythonapi.PyType_GetSlot
    get_slot.restype, get_slot.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    Py_tp_clear = 51  # as in typeslots.h; what the garbage collector calls
    ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(get_slot(type(function), Py_tp_clear))(
        function
    )
    for argument in (np.zeros(1), [0.0]):
        with pytest.raises(RuntimeError, match="the function is being deleted"):
            function(argument)
