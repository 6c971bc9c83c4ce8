"""Arguments of compiled functions: what is taken, and what is said of the rest."""

import numpy as np
import pytest
from random_programs import program_of

from kane_dynamics.codegen import compile_program
from kane_dynamics.errors import ArgumentError
from kane_dynamics.symbolic.graph import Graph

Q = np.array([0.5, -0.5, 0.5, -0.5, 2.0])
U = np.array([1.0, 2.0, 3.0])


def _function(backend):
    graph = Graph()
    q, u = graph.inputs("q", 5), graph.inputs("u", 3)
    outputs = [q[0] + u[0], q[4] * u[2]]
    program = program_of("torques", [("q", 5), ("u", 3)], (2,), outputs, (("q", 0),))
    return compile_program("", lambda: program, program.signature, backend, False)


FUNCTIONS = {backend: _function(backend) for backend in ("c", "numpy")}
EXPECTED = np.array([1.5, 6.0])


@pytest.fixture(params=["c", "numpy"])
def function(request):
    return FUNCTIONS[request.param]


def batch(*rows):
    return np.array(rows)


def changed(array, index, value):
    result = array.copy()
    result[index] = value
    return result


TAKEN = {
    "lists": Q.tolist(),
    "tuples": tuple(Q.tolist()),
    "float32": Q.astype(np.float32),
    "big-endian": Q.astype(">f8"),
    "long double": Q.astype(np.longdouble),
    "every second": np.repeat(Q, 2)[::2],
    "backwards": Q[::-1].copy()[::-1],
    "unaligned": np.frombuffer(b"x" + Q.tobytes(), np.uint8)[1:].view(np.float64),
}


@pytest.mark.parametrize("q", TAKEN.values(), ids=TAKEN.keys())
def test_real_numbers_in_any_form_are_taken(function, q):
    np.testing.assert_allclose(function(q, U), EXPECTED)
    np.testing.assert_allclose(function(q, [1, 2, 3]), EXPECTED)
    np.testing.assert_allclose(function(q=q, u=U), EXPECTED)
    np.testing.assert_allclose(function([list(q)] * 3, U), [EXPECTED] * 3)


def test_arrays_that_cannot_be_written_are_taken(function):
    q = Q.copy()
    q.flags.writeable = False
    np.testing.assert_allclose(function(q, U), EXPECTED)


def test_batches_in_any_order_of_memory_are_taken(function):
    rows = np.stack([Q, Q, Q])
    for q in (rows, np.asfortranarray(rows), np.hstack([rows, rows])[:, :5], rows[::-1]):
        np.testing.assert_allclose(function(q, U), [EXPECTED] * 3)


def test_subclasses_of_arrays_are_taken(function):
    class Labelled(np.ndarray):
        pass

    result = function(Q.view(Labelled), U)
    assert type(result) is np.ndarray
    np.testing.assert_allclose(result, EXPECTED)


def test_keywords_may_follow_positional_arguments(function):
    np.testing.assert_allclose(function(Q, u=U), EXPECTED)


NAN, INF = float("nan"), float("inf")
REFUSED = [
    (([0.0] * 4, U), "torques: q must have shape (5,) or (N, 5), got (4,)"),
    ((Q, 1.0), "torques: u must have shape (3,) or (N, 3), got ()"),
    ((Q[None, None], U), "torques: q must have shape (5,) or (N, 5), got (1, 1, 5)"),
    ((Q, np.zeros((3, 4))), "torques: u must have shape (3,) or (N, 3), got (3, 4)"),
    ((Q, changed(U, 2, NAN)), "torques: u[2] is nan; every entry must be finite"),
    ((changed(Q, 4, -INF), U), "torques: q[4] is -inf; every entry must be finite"),
    ((Q, batch(U, changed(U, 1, INF))), "torques: u[1, 1] is inf; every entry must be finite"),
    ((Q, np.array([1, 2, 1e400], np.longdouble)), "torques: u[2] is inf; every entry must be"),
    ((Q > 0, U), "torques: q must hold real numbers, got bool"),
    ((Q * 1j, U), "torques: q must hold real numbers, got complex128"),
    ((Q, ["1", "2", "3"]), "torques: u must hold real numbers, got <U1"),
    ((Q, [1.0, None, 2.0]), "torques: u must hold real numbers, got object"),
    ((Q, np.zeros(3, "M8[s]")), "torques: u must hold real numbers, got datetime64[s]"),
    ((Q, [[1.0, 2.0], [3.0]]), "torques: u must be an array of real numbers"),
    ((0.0 * Q, U), "torques: q[0:4] must be a unit quaternion, its norm is 0.0"),
    ((batch(Q, 2.0 * Q), U), "torques: q[1, 0:4] must be a unit quaternion, its norm is 2.0"),
    ((batch(Q, Q), batch(U, U, U)), "torques: q and u have 2 and 3 states"),
    ((batch(Q), batch(U, U)), "torques: q and u have 1 and 2 states"),
    ((Q,), "torques(q, u) misses u"),
    ((), "torques(q, u) misses q and u"),
    ((Q, U, U), "torques(q, u) takes 2 arguments, got 3"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[each[1] for each in REFUSED])
def test_what_is_wrong_is_said(function, arguments, message):
    with np.errstate(all="ignore"), pytest.raises(ArgumentError) as caught:
        function(*arguments)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ((Q,), {"v": U}, "torques(q, u) has no argument named v"),
        ((Q, U), {"u": U}, "torques(q, u) got u twice"),
        ((), {"u": U}, "torques(q, u) misses q"),
    ],
)
def test_wrong_keywords_are_named(function, given, named, message):
    with pytest.raises(ArgumentError) as caught:
        function(*given, **named)
    assert str(caught.value) == message


def test_an_error_leaves_the_function_usable(function):
    for _ in range(3):
        with pytest.raises(ArgumentError):
            function(Q, U[:2])
        np.testing.assert_allclose(function(Q, U), EXPECTED)


@pytest.mark.parametrize("norm", [1.0 - 0.99e-6, 1.0 - 1e-9, 1.0 + 1e-13, 1.0 + 0.99e-6])
def test_quaternions_that_were_rounded_are_normalized(function, norm):
    q = changed(Q, slice(0, 4), norm * Q[:4])
    given = q.copy()
    for result in (function(q, U), *function(batch(Q, q), U)):
        np.testing.assert_allclose(result, EXPECTED, rtol=1e-15)
    np.testing.assert_array_equal(q, given)


def test_quaternions_of_single_precision_and_six_digits_are_taken(function):
    axis = np.array([0.1, -0.7, 0.3, 0.4]) / np.linalg.norm([0.1, -0.7, 0.3, 0.4])
    for rounded in (axis.astype(np.float32), np.round(axis, 6)):
        result = function([*rounded, 2.0], U)
        np.testing.assert_allclose(result, [axis[0] + 1.0, 6.0], rtol=1e-6)


@pytest.mark.parametrize("norm", [1.0 - 1.01e-6, 1.0 + 1.01e-6, 1.0 + 0.99e-3])
def test_other_quaternions_are_refused(function, norm):
    with pytest.raises(ArgumentError, match="unit quaternion"):
        function(changed(Q, slice(0, 4), norm * Q[:4]), U)


def test_at_the_limit_of_rounding_both_outcomes_are_right_but_no_other(function):
    for norm in 1.0 + 1e-6 + np.arange(-20, 20) * 1e-16:
        try:
            assert function(changed(Q, slice(0, 4), norm * Q[:4]), U).shape == (2,)
        except ArgumentError as error:
            assert "unit quaternion" in str(error)  # noqa: PT017


def test_every_entry_of_a_batch_is_looked_at(function):
    q, u = np.tile(Q, (19, 1)), np.tile(U, (19, 1))
    for row in range(19):
        with pytest.raises(ArgumentError, match=rf"u\[{row}, 2\] is nan"):
            function(q, changed(u, (row, 2), NAN))
        with pytest.raises(ArgumentError, match=rf"q\[{row}, 0:4\] must be a unit"):
            function(changed(q, (row, 1), 9.0), u)


def test_the_largest_and_smallest_numbers_are_finite(function):
    for value in (1.7976931348623157e308, 5e-324, -2.2250738585072014e-308, 0.0, -0.0):
        assert function(changed(Q, 4, value), np.ones(3))[1] == value


def test_an_empty_batch_gives_an_empty_result(function):
    assert function(np.zeros((0, 5)), U).shape == (0, 2)
    assert function(np.zeros((0, 5)), np.zeros((0, 3))).shape == (0, 2)
    assert function(Q, np.zeros((0, 3))).shape == (0, 2)


def test_backends_take_and_refuse_the_same():
    rng = np.random.default_rng(0)
    shapes = [(5,), (3,), (2, 5), (2, 3), (0, 5), (1, 3), (4,), (5, 1), ()]
    for _ in range(300):
        arguments = []
        for shape in rng.choice(len(shapes), 2):
            values = np.broadcast_to(0.5, shapes[shape]).astype(rng.choice(["f8", "f4", "i8", "?"]))
            arguments.append(
                values * np.float64(rng.choice([1.0, np.nan])) if rng.random() < 0.2 else values
            )
        outcomes = []
        for each in FUNCTIONS.values():
            try:
                outcomes.append(np.asarray(each(*arguments)).tolist())
            except ArgumentError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


MASKED = np.ma.masked_array(Q, [False, False, False, False, True])


@pytest.mark.parametrize("q", [MASKED, MASKED[None], [MASKED, MASKED], np.ma.masked_array(Q)])
def test_a_masked_array_is_refused(function, q):
    with pytest.raises(ArgumentError, match="torques: q is a masked array"):
        function(q, U)


@pytest.mark.parametrize("error", [RuntimeError, KeyError, OSError])
def test_what_fails_to_become_an_array_is_refused(function, error):
    class Unwilling:
        def __array__(self, *args, **kwargs):
            raise error("not now")

    with pytest.raises(ArgumentError, match="torques: u must be an array of real numbers") as told:
        function(Q, Unwilling())
    assert isinstance(told.value.__cause__, error)


def test_memory_that_runs_out_is_not_blamed_on_the_argument(function):
    class Large:
        def __array__(self, *args, **kwargs):
            raise MemoryError

    with pytest.raises(MemoryError):
        function(Q, Large())


def test_any_number_of_quaternions_is_looked_at():
    graph = Graph()
    q = graph.inputs("q", 40)
    places = tuple(("q", 4 * k) for k in range(10))
    program = program_of("sum", [("q", 40)], (), [sum(q[1:], q[0])], places)
    values = np.tile(Q[:4], 10) + 0.0
    values[::4] = 0.5
    expected = values.sum()
    for backend in ("c", "numpy"):
        function = compile_program("ten", lambda: program, program.signature, backend, False)
        assert function(values) == pytest.approx(expected)
        for k in range(10):
            with pytest.raises(ArgumentError, match=rf"q\[{4 * k}:{4 * k + 4}\] must be a unit"):
                function(changed(values, slice(4 * k, 4 * k + 4), 0.6))
