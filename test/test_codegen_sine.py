"""Our own sine and cosine against exact values: less than one unit in the last place off."""

import platform
import shutil

import mpmath
import numpy as np
import pytest
from random_programs import program_of

from kane_dynamics.codegen import compile_program
from kane_dynamics.symbolic.graph import Graph

rng = np.random.default_rng(0)
quarters = np.arange(-3000, 3000) * (np.pi / 2)

RANGES = {
    "a turn": rng.uniform(-np.pi, np.pi, 4000),
    "many turns": rng.uniform(-1e3, 1e3, 4000),
    "as far as the reduction goes": rng.uniform(-1e5, 1e5, 4000),
    "multiples of a quarter turn": quarters,
    "next to multiples of a quarter turn": np.nextafter(quarters, np.inf),
    "odd multiples of an eighth": (2 * np.arange(-2000, 2000) + 1) * (np.pi / 4),
    "tiny": 10.0 ** rng.uniform(-300, -3, 1000) * rng.choice([-1, 1], 1000),
    "around the end of the reduction": 1e5 + rng.uniform(-1.0, 1.0, 1000),
    "huge": 10.0 ** rng.uniform(5, 300, 1000) * rng.choice([-1, 1], 1000),
}
FLAGS = ["", "-mno-avx512f", "-mno-avx", "-mno-fma", "-DNO_VECTORS"]
if platform.machine() != "x86_64" or shutil.which("gcc") is None:
    FLAGS = [""]


def compiled():
    graph = Graph()
    (x,) = graph.inputs("x", 1)
    program = program_of("sine_cosine", [("x", 1)], (2,), [graph.sin(x), graph.cos(x)])
    return compile_program("", lambda: program, program.signature, "c", False)


@pytest.fixture(scope="module", params=FLAGS, ids=lambda flags: flags or "native")
def function(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param:
            patch.setenv("CC", f"gcc {request.param}")
        function = compiled()
        function(np.zeros(1))
        function(np.zeros((1, 1)))
        return function


@pytest.fixture(scope="module")
def exact():
    """Sine and cosine of each range, to 40 digits at least."""
    result = {}
    for name, angles in RANGES.items():
        with mpmath.workdps(360 if name in ("huge", "tiny") else 60):
            result[name] = [mpmath.cos_sin(mpmath.mpf(x))[::-1] for x in angles.tolist()]
    return result


def worst(values, expected) -> float:
    """Largest error in units in the last place of the exact value."""
    errors = [
        abs(mpmath.mpf(value) - true) / mpmath.mpf(float(np.spacing(abs(float(true)))))
        for row, pair in zip(values.tolist(), expected)
        for value, true in zip(row, pair)
    ]
    return float(max(errors))


@pytest.mark.parametrize("name", RANGES)
def test_sine_and_cosine_are_off_by_less_than_one_unit_in_the_last_place(function, exact, name):
    angles = RANGES[name]
    with mpmath.workdps(60):
        assert worst(function(angles[:, None]), exact[name]) < 1.0


@pytest.mark.parametrize("name", RANGES)
def test_one_state_and_many_have_the_same_sines(function, name):
    angles = RANGES[name][:200]
    one = np.array([function(np.array([angle])) for angle in angles])
    many = function(angles[:, None])
    np.testing.assert_array_max_ulp(one, many, maxulp=1)


def test_one_huge_angle_does_not_spoil_its_neighbours(function):
    angles = np.linspace(-3.0, 3.0, 24)
    angles[5], angles[17] = 1e200, -7e9
    result = function(angles[:, None])
    np.testing.assert_array_max_ulp(result, np.stack([np.sin(angles), np.cos(angles)], 1), 2)


def test_symmetry_and_zero_are_exact(function):
    angles = np.concatenate([RANGES["a turn"], RANGES["many turns"]])[:, None]
    assert (function(-angles) == function(angles) * [-1.0, 1.0]).all()
    assert function(np.zeros(1)).tolist() == [0.0, 1.0]
    assert np.signbit(function(np.array([-0.0]))[0])
