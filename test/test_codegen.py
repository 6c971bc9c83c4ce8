"""Programs as callables: both backends give the same numbers, in every shape."""

import os
import platform
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from oracle import robot_path
from random_programs import program_of, random_program

import kane_dynamics as kd
from kane_dynamics.codegen import compile_program
from kane_dynamics.symbolic.graph import Graph
from kane_dynamics.symbolic.numpy import python_source
from kane_dynamics.symbolic.pieces import in_pieces
from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import schedule

INPUTS = (("q", 4), ("u", 3), ("t", 1))


def compiled(program: Program, backend="c", cache=False):
    return compile_program(key(program), lambda: program, program.signature, backend, cache)


def key(program: Program) -> str:
    return python_source(program)


def states(program: Program, *count: int, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-3.0, 3.0, (*count, entry.size)) for entry in program.inputs]


def assert_same(one, other):
    assert np.shape(one) == np.shape(other)
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_both_backends_agree_on_random_programs(seed):
    program = random_program(seed, shape=[(3,), (2, 2), (4, 4), (5,)][seed % 4])
    c, numpy = compiled(program, "c"), compiled(program, "numpy")
    for count in ((), (0,), (1,), (3,), (4,), (5,), (8,), (9,), (23,)):
        arguments = states(program, *count, seed=seed)
        assert_same(c(*arguments), numpy(*arguments))


def test_rows_of_a_batch_are_the_single_states():
    program = random_program(1)
    for backend in ("c", "numpy"):
        function = compiled(program, backend)
        arguments = states(program, 11)
        rows = [function(*(array[i] for array in arguments)) for i in range(11)]
        assert_same(function(*arguments), np.array(rows))


def test_both_backends_agree_on_a_real_robot():
    arms = [kd.load(robot_path("ur5_robot"), backend=each, cache=False) for each in ("c", "numpy")]
    rng = np.random.default_rng(0)
    for count in ((), (7,)):
        q, u, udot = (rng.uniform(-3.0, 3.0, (*count, 6)) for _ in range(3))
        c, numpy = ((a.inverse_dynamics(q, u, udot), a.mass_matrix(q), a.gravity(q)) for a in arms)
        for one, other in zip(c, numpy):
            scale = np.abs(other).max()
            assert_same(one / scale, other / scale)


def test_a_program_in_many_pieces_is_still_one_program():
    program = random_program(3, operations=3000, shape=(40,))
    assert len(in_pieces(program, schedule(program)).pieces) > 3
    c, numpy = compiled(program, "c"), compiled(program, "numpy")
    for count in ((), (10,)):
        arguments = states(program, *count)
        assert_same(c(*arguments), numpy(*arguments))


def test_a_sine_of_a_sine_is_taken_after_it():
    graph = Graph()
    (x,) = graph.inputs("x", 1)
    nested = graph.sin(graph.sin(graph.cos(x)))
    function = compiled(program_of("nested", [("x", 1)], (1,), [nested]))
    values = np.linspace(-3.0, 3.0, 9)[:, None]
    for given in (values, values[2]):
        assert_same(function(given), np.sin(np.sin(np.cos(given))))


def test_many_angles_in_many_pieces():
    graph = Graph()
    x = graph.inputs("x", 700)
    sines = [graph.sin(2.0 * each + 1.0) * graph.cos(each) for each in x]
    program = program_of("sines", [("x", 700)], (2,), [graph.sum(sines), graph.sum(sines[::2])])
    values = np.random.default_rng(0).uniform(-9, 9, (9, 700))
    expected = np.sin(2 * values + 1) * np.cos(values)
    expected = np.stack([expected.sum(1), expected[:, ::2].sum(1)], axis=1)
    function = compiled(program)
    assert_same(function(values), expected)
    assert_same(function(values[0]), expected[0])


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_one_state_is_shared_by_a_batch(backend):
    program = random_program(2)
    function = compiled(program, backend)
    q, u, t = states(program, 6)
    repeated = np.repeat(u[:1], 6, axis=0)
    assert_same(function(q, u[0], t), function(q, repeated, t))


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_result_without_shape_is_a_float(backend):
    graph = Graph()
    (x,) = graph.inputs("x", 1)
    function = compiled(program_of("square", [("x", 1)], (), [x * x]), backend)
    assert type(function(np.array([3.0]))) is float
    assert function(np.array([3.0])) == 9.0
    assert_same(function(np.array([[3.0], [4.0]])), np.array([9.0, 16.0]))


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_function_may_have_nothing_to_return_or_to_take(backend):
    nothing = compiled(program_of("nothing", [("x", 0)], (0,), []), backend)
    assert nothing(np.zeros(0)).shape == (0,)
    assert nothing(np.zeros((3, 0))).shape == (3, 0)
    constant = compiled(program_of("constant", [], (2,), [Graph().constant(c) for c in (1, 2)]))
    assert_same(constant(), np.array([1.0, 2.0]))


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_result_that_is_not_finite_is_refused(backend):
    graph = Graph()
    x, y = graph.inputs("x", 2)
    for output, bad in (
        (y / x, [0.0, 2.0]),
        (graph.sqrt(x - 1.0), [0.0, 2.0]),
        (x * y * 1e300, [1e9, 1e9]),
    ):
        function = compiled(program_of("odd", [("x", 2)], (1,), [output]), backend)
        assert np.isfinite(function(np.array([2.0, 3.0]))).all()
        for values in (np.array(bad), np.array([[2.0, 3.0], bad])):
            with pytest.raises(kd.ArgumentError, match="odd: the result is not finite"):
                function(values)


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.filterwarnings("error")
def test_what_is_not_selected_may_be_undefined(backend):
    graph = Graph()
    (x,) = graph.inputs("x", 1)
    roots = [graph.select(x, graph.sqrt(x), graph.constant(-1.0)), graph.select(x, x, 1.0 / x)]
    function = compiled(program_of("roots", [("x", 1)], (2,), roots), backend)
    values = np.array([[4.0], [-2.0], [0.0], [-0.0], [9.0]])
    expected = np.array([[2.0, 4.0], [-1.0, -0.5], [0.0, 0.0], [0.0, 0.0], [3.0, 9.0]])
    assert_same(function(values), expected)
    for one, result in zip(values, expected):
        assert_same(function(one), result)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_results_are_new_arrays(backend):
    graph = Graph()
    program = program_of("same", [("x", 2)], (2,), graph.inputs("x", 2))
    function = compiled(program, backend)
    for x in (np.array([1.0, 2.0]), np.array([[1.0, 2.0]])):
        before = x.copy()
        first, second = function(x), function(x)
        first[...] = 7.0
        assert (x == before).all()
        assert (second == before).all()
        assert second.flags.writeable


def test_both_backends_show_their_name():
    for backend in ("c", "numpy"):
        function = compiled(random_program(0), backend)
        assert function.__name__ == "random_program"
        assert "random_program" in repr(function)


@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None, reason="flags of GCC on x86-64"
)
@pytest.mark.parametrize("flags", ["-mno-avx512f", "-mno-avx", "-mno-fma", "-DNO_VECTORS"])
def test_other_instruction_sets_give_the_same_numbers(flags, monkeypatch):
    program = random_program(5)
    expected = compiled(program, "numpy")
    monkeypatch.setenv("CC", f"gcc {flags}")
    function = compiled(program)
    for count in ((), (13,)):
        arguments = states(program, *count)
        assert_same(function(*arguments), expected(*arguments))


def entries(directory: Path) -> int:
    return len([name for name in os.listdir(directory) if name.endswith(".entry")])


def test_only_what_is_called_is_compiled(tmp_path):
    compiled(random_program(5), "c", tmp_path)  # the caller is there: nothing is done meanwhile
    program = random_program(6)
    function = compiled(program, "c", tmp_path)
    before = entries(tmp_path)
    function(*states(program))
    assert entries(tmp_path) == before + 2  # the statements and the function of one state
    function(*states(program, 3))
    assert entries(tmp_path) == before + 3


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_what_is_in_the_cache_is_not_derived_again(backend, tmp_path):
    program = random_program(7)
    arguments = states(program)
    expected = compiled(program, backend, tmp_path)(*arguments)

    def make():
        raise AssertionError("derived again")

    function = compile_program(key(program), make, program.signature, backend, tmp_path)
    assert_same(function(*arguments), expected)
    other = compile_program("another key", make, program.signature, backend, tmp_path)
    with pytest.raises(AssertionError):
        other(*arguments)


def test_threads_may_call_a_function_for_the_first_time_at_once():
    program = random_program(8)
    function = compiled(program)
    one, many = states(program), states(program, 1000)
    ready = threading.Barrier(8)
    results = []

    def work():
        ready.wait()
        results.append((function(*one), function(*many)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for one_result, many_result in results:
        assert (one_result == results[0][0]).all()
        assert (many_result == results[0][1]).all()


def test_an_unknown_backend_is_named():
    with pytest.raises(kd.ArgumentError, match="'fortran'"):
        compiled(random_program(0), "fortran")


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_program_of_another_signature_is_refused(backend):
    announced = random_program(0, shape=(2,)).signature
    for made in (random_program(0, shape=(3,)), Program(announced, random_program(0).outputs)):
        function = compile_program(key(made), lambda made=made: made, announced, backend, False)
        with pytest.raises(kd.ArgumentError, match="signature"):
            function(*states(made))


def test_first_values_come_from_python_while_the_compiler_runs():
    program = random_program(5)
    prompt = compile_program(
        key(program), lambda: program, program.signature, cache=False, prompt=True
    )
    one, many = states(program), states(program, 5)
    first = prompt(*one)
    np.testing.assert_array_equal(first, compiled(program, "numpy")(*one))
    prompt._waiting.join(60.0)
    assert not prompt._waiting.is_alive()
    np.testing.assert_array_equal(prompt(*one), compiled(program, "c")(*one))
    assert_same(prompt(*one), first)
    np.testing.assert_array_equal(prompt(*many), compiled(program, "c")(*many))


def test_what_is_compiled_already_is_not_evaluated_in_python(tmp_path):
    program = random_program(6)
    one = states(program)
    expected = compiled(program, "c", tmp_path)(*one)
    prompt = compile_program(
        key(program), lambda: program, program.signature, cache=tmp_path, prompt=True
    )
    np.testing.assert_array_equal(prompt(*one), expected)
    assert prompt._waiting is None
