"""The face of `Dynamics`: which arrays it takes, what it gives back, and what it refuses."""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracle import random_states, robot_path

import kane_dynamics as kd

LINK = "wrist_3_link"

FUNCTIONS: dict[str, tuple[str, ...]] = {
    "inverse_dynamics": ("q", "u", "udot"),
    "gravity": ("q",),
    "bias": ("q", "u"),
    "mass_matrix": ("q",),
    "forward_dynamics": ("q", "u", "tau"),
    "energy": ("q", "u"),
    "momentum": ("q", "u"),
    "pose": ("q",),
    "jacobian": ("q",),
}
SHAPES = {
    "inverse_dynamics": [(6,)],
    "gravity": [(6,)],
    "bias": [(6,)],
    "mass_matrix": [(6, 6)],
    "forward_dynamics": [(6,)],
    "energy": [(), ()],
    "momentum": [(3,), (3,)],
    "pose": [(4, 4)],
    "jacobian": [(6, 6)],
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)


@pytest.fixture(scope="module", params=["c", "numpy"])
def arm(request: pytest.FixtureRequest) -> kd.Dynamics:
    return kd.load(robot_path("ur5_robot"), backend=request.param)


@pytest.fixture(scope="module", params=["c", "numpy"])
def quadruped(request: pytest.FixtureRequest) -> kd.Dynamics:
    return kd.load(robot_path("solo12"), base="floating", backend=request.param)


def function(arm: kd.Dynamics, name: str) -> Callable[..., Any]:
    bound = getattr(arm, name)
    return (lambda q: bound(LINK, q)) if name in ("pose", "jacobian") else bound


def states(count: int = 9) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    q, u, udot, tau = random.uniform(-3.0, 3.0, (4, count, 6))
    return {"q": q, "u": u, "udot": udot, "tau": tau}


def given(name: str, count: int = 9) -> list[np.ndarray]:
    batch = states(count)
    return [batch[each] for each in FUNCTIONS[name]]


def arrays(value: Any) -> list[np.ndarray]:
    """The parts of a result."""
    return [np.asarray(part) for part in value] if isinstance(value, tuple) else [value]


def assert_same(found: Any, expected: Any, tolerance: float = 0.0) -> None:
    for one, other in zip(arrays(found), arrays(expected), strict=True):
        assert one.shape == other.shape
        scale = np.abs(other).max(initial=0.0)
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * scale)


# ------------------------------------------------------------------------------ what it gives
@every_function
def test_one_state_gives_one_result_and_a_batch_gives_many(arm: kd.Dynamics, name: str) -> None:
    batch = given(name)
    one = function(arm, name)(*(each[0] for each in batch))
    many = function(arm, name)(*batch)
    assert [part.shape for part in arrays(one)] == SHAPES[name]
    assert [part.shape for part in arrays(many)] == [(9, *shape) for shape in SHAPES[name]]
    assert all(part.dtype == np.float64 for part in arrays(one) + arrays(many))


@every_function
def test_a_batch_is_its_states_one_by_one(arm: kd.Dynamics, name: str) -> None:
    batch = given(name)
    many = arrays(function(arm, name)(*batch))
    for n in range(len(batch[0])):
        one = arrays(function(arm, name)(*(each[n] for each in batch)))
        for part, whole in zip(one, many, strict=True):
            scale = np.abs(whole).max()
            np.testing.assert_allclose(part, whole[n], rtol=0, atol=4e-15 * scale)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 1000])
def test_a_batch_may_have_any_length(arm: kd.Dynamics, count: int) -> None:
    batch = given("inverse_dynamics", 1000)
    whole = arm.inverse_dynamics(*batch)
    np.testing.assert_array_equal(
        arm.inverse_dynamics(*(each[:count] for each in batch)), whole[:count]
    )


@every_function
def test_an_empty_batch_gives_an_empty_result(arm: kd.Dynamics, name: str) -> None:
    nothing = function(arm, name)(*(np.zeros((0, 6)) for _ in FUNCTIONS[name]))
    assert [part.shape for part in arrays(nothing)] == [(0, *shape) for shape in SHAPES[name]]


@pytest.mark.parametrize("name", [name for name, inputs in FUNCTIONS.items() if len(inputs) > 1])
def test_a_single_state_holds_for_a_whole_batch(arm: kd.Dynamics, name: str) -> None:
    batch = given(name)
    for single in range(len(batch)):
        mixed = [each[0] if k == single else each for k, each in enumerate(batch)]
        full = [np.broadcast_to(each, (9, 6)).copy() for each in mixed]
        assert_same(function(arm, name)(*mixed), function(arm, name)(*full))


def test_energy_of_one_state_is_two_numbers(arm: kd.Dynamics) -> None:
    energy = arm.energy(np.zeros(6), np.ones(6))
    assert isinstance(energy.kinetic, float)
    assert isinstance(energy.potential, float)
    assert energy.kinetic > 0.0


# ------------------------------------------------------------------------------ what it takes
def strided(x: np.ndarray) -> np.ndarray:
    wide = np.full((*x.shape[:-1], 2 * x.shape[-1]), np.nan)
    wide[..., ::2] = x
    return wide[..., ::2]


def unaligned(x: np.ndarray) -> np.ndarray:
    memory = np.empty(x.nbytes + 1, np.uint8)[1:]
    result = memory.view(x.dtype).reshape(x.shape)
    result[...] = x
    return result


def frozen(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "lists": lambda x: x.tolist(),
    "tuples": lambda x: tuple(map(tuple, x)) if x.ndim == 2 else tuple(x),
    "strides": strided,
    "Fortran order": np.asfortranarray,
    "reversed twice": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "big endian": lambda x: x.astype(">f8"),
    "not aligned": unaligned,
    "read only": frozen,
    "matrix subclass": lambda x: x.view(type("Mine", (np.ndarray,), {})),
    "long double": lambda x: x.astype(np.longdouble),
}


@every_function
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [slice(None), 0], ids=["batch", "one"])
def test_numbers_may_come_in_any_array(arm: kd.Dynamics, name: str, kind: str, rows: Any) -> None:
    plain = [each[rows] for each in given(name)]
    assert_same(
        function(arm, name)(*(KINDS[kind](each) for each in plain)), function(arm, name)(*plain)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint16])
def test_numbers_may_be_of_any_real_type(arm: kd.Dynamics, dtype: type) -> None:
    q, u, udot = ((10 * each).astype(dtype) for each in given("inverse_dynamics"))
    expected = arm.inverse_dynamics(*(each.astype(float) for each in (q, u, udot)))
    np.testing.assert_array_equal(arm.inverse_dynamics(q, u, udot), expected)
    one = [each[0] for each in (q, u, udot)]
    expected = arm.inverse_dynamics(*(each.astype(float) for each in one))
    np.testing.assert_array_equal(arm.inverse_dynamics(*one), expected)


def test_arguments_may_be_named(arm: kd.Dynamics) -> None:
    q, u, udot = (each[0] for each in given("inverse_dynamics"))
    expected = arm.inverse_dynamics(q, u, udot)
    np.testing.assert_array_equal(arm.inverse_dynamics(udot=udot, q=q, u=u), expected)


# -------------------------------------------------------------------------- what it refuses
ZEROS = [0.0] * 6
BAD: dict[str, Any] = {
    "too short": np.zeros(5),
    "too long": np.zeros(7),
    "a batch too narrow": np.zeros((3, 5)),
    "a number": 1.0,
    "three axes": np.zeros((2, 3, 6)),
    "empty list": [],
    "empty array": np.zeros(0),
    "strings": ["0"] * 6,
    "a string": "000000",
    "nothing": None,
    "nothings": [None] * 6,
    "objects": np.array([0.0] * 6, object),
    "complex": np.zeros(6, complex),
    "booleans": np.zeros(6, bool),
    "times": np.zeros(6, "timedelta64[s]"),
    "ragged": [[0.0], [0.0, 1.0]],
    "a dict": {"joint": 0.0},
    "a set": {0.0},
    "nan": [*ZEROS[:3], np.nan, 0.0, 0.0],
    "inf": [*ZEROS[:3], np.inf, 0.0, 0.0],
    "minus inf": [*ZEROS[:3], -np.inf, 0.0, 0.0],
    "nan in a batch": [ZEROS, [*ZEROS[:5], np.nan]],
    "beyond float64": [10**400] * 6,
    "inf of long double": np.full(6, np.finfo(np.longdouble).max),
}


@every_function
@pytest.mark.parametrize("fault", BAD)
def test_a_bad_argument_is_refused_by_name(arm: kd.Dynamics, name: str, fault: str) -> None:
    for position, argument in enumerate(FUNCTIONS[name]):
        values: list[Any] = [np.zeros(6)] * len(FUNCTIONS[name])
        values[position] = BAD[fault]
        with pytest.raises(kd.ArgumentError, match=rf"{name}: {argument}\b"):
            function(arm, name)(*values)


def test_the_entry_that_is_not_finite_is_named(arm: kd.Dynamics) -> None:
    with pytest.raises(kd.ArgumentError, match=r"q\[3\] is nan"):
        arm.gravity(BAD["nan"])
    with pytest.raises(kd.ArgumentError, match=r"q\[1, 5\] is nan"):
        arm.gravity(np.array(BAD["nan in a batch"]))


def test_batches_of_different_length_are_refused(arm: kd.Dynamics) -> None:
    with pytest.raises(kd.ArgumentError, match="q and u have 3 and 4 states"):
        arm.bias(np.zeros((3, 6)), np.zeros((4, 6)))
    with pytest.raises(kd.ArgumentError, match="q and udot have 3 and 1 states"):
        arm.inverse_dynamics(np.zeros((3, 6)), np.zeros(6), np.zeros((1, 6)))


def test_what_is_not_a_quaternion_is_refused(quadruped: kd.Dynamics) -> None:
    q = np.zeros(quadruped.nq)
    with pytest.raises(kd.ArgumentError, match=r"q\[3:7\] must be a unit quaternion"):
        quadruped.gravity(q)
    batch = random_states(quadruped, count=3).q
    batch[1, 3:7] *= 1.1
    with pytest.raises(kd.ArgumentError, match=r"q\[1, 3:7\] must be a unit quaternion"):
        quadruped.mass_matrix(batch)


def test_opposite_quaternions_are_the_same_orientation(quadruped: kd.Dynamics) -> None:
    motion = random_states(quadruped, count=5)
    opposite = motion.q.copy()
    opposite[:, 3:7] *= -1.0
    found = quadruped.inverse_dynamics(opposite, motion.u, motion.udot)
    expected = quadruped.inverse_dynamics(motion.q, motion.u, motion.udot)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# ------------------------------------------------------------------------------------- memory
@every_function
def test_results_share_memory_with_nothing(arm: kd.Dynamics, name: str) -> None:
    for rows in (slice(None), 0):
        values = [each[rows].copy() for each in given(name)]
        first = arrays(function(arm, name)(*values))
        kept = [part.copy() for part in first]
        second = arrays(function(arm, name)(*values))
        for part in first:
            assert not any(np.shares_memory(part, value) for value in values)
            assert not any(np.shares_memory(part, other) for other in second)
        if len(first) > 1:
            assert not np.shares_memory(*first)
        for value in values:
            value[...] = np.nan
        for part, before in zip(first, kept, strict=True):
            np.testing.assert_array_equal(part, before)


def test_a_result_that_is_changed_changes_no_other(arm: kd.Dynamics) -> None:
    q = np.zeros(6)
    matrix = arm.mass_matrix(q)
    expected = matrix.copy()
    matrix[...] = np.nan
    np.testing.assert_array_equal(arm.mass_matrix(q), expected)
    assert matrix.flags.writeable
    assert matrix.flags.c_contiguous


def test_arguments_are_left_as_they_were(arm: kd.Dynamics) -> None:
    values = given("forward_dynamics")
    before = [each.copy() for each in values]
    arm.forward_dynamics(*values, {LINK: np.ones(6)})
    for value, original in zip(values, before, strict=True):
        np.testing.assert_array_equal(value, original)


# ------------------------------------------------------------------------------------ threads
@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_threads_may_share_a_robot_from_the_first_call_on(backend: str) -> None:
    arm = kd.load(robot_path("two_link_arm"), backend=backend, cache=False)
    random = np.random.default_rng(1)
    batches = [random.normal(size=(3, 50, 2)) for _ in range(8)]
    found: list[Any] = [None] * len(batches)
    gate = threading.Barrier(len(batches))

    def work(k: int) -> None:
        q, u, tau = batches[k]
        gate.wait()
        for _ in range(20):
            one = [arm.forward_dynamics(*state) for state in zip(q, u, tau, strict=True)]
            found[k] = (np.array(one), arm.forward_dynamics(q, u, tau), arm.mass_matrix(q))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (q, u, tau), (one, many, matrix) in zip(batches, found, strict=True):
        np.testing.assert_array_equal(many, arm.forward_dynamics(q, u, tau))
        np.testing.assert_allclose(one, many, rtol=1e-12)
        np.testing.assert_array_equal(matrix, arm.mass_matrix(q))


def test_it_says_with_what_it_was_made(arm: kd.Dynamics) -> None:
    assert arm.compiled == (arm.backend == "c")
    assert arm.cache is True
    assert arm.gravity_vector == (0.0, 0.0, -9.81)
    assert arm.tree.joint_names == arm.joint_names


def test_compiled_code_can_call_a_function_by_its_address() -> None:
    arm = kd.load(robot_path("ur5_robot"), backend="c")
    functions, pointer = arm._functions, ctypes.POINTER(ctypes.c_double)
    call = ctypes.CFUNCTYPE(None, ctypes.POINTER(pointer), pointer)(functions.address("bias"))
    q, u, result = states(1)["q"][0], states(1)["u"][0], np.zeros(6)
    call(
        (pointer * 2)(*(x.ctypes.data_as(pointer) for x in (q, u))), result.ctypes.data_as(pointer)
    )
    np.testing.assert_array_equal(result, arm.bias(q, u))
    with pytest.raises(kd.ArgumentError, match=r"no function 'biass'.*'bias'"):
        functions.address("biass")
    with pytest.raises(kd.ArgumentError, match="wrist_3_link"):
        functions.address("wrench_forces", "wrist_3_lnk")
