"""The expression graph: it simplifies as it is built, counts exactly, differentiates, prints."""

import itertools
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import sympy

from kane_dynamics.symbolic.c import c_source
from kane_dynamics.symbolic.derivative import derivatives
from kane_dynamics.symbolic.evaluate import evaluate
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.latex import latex_source
from kane_dynamics.symbolic.numpy import python_source
from kane_dynamics.symbolic.operations import FUNCTIONS, RULES
from kane_dynamics.symbolic.program import Input, Program, Signature
from kane_dynamics.symbolic.schedule import LONGEST_LINE, schedule
from kane_dynamics.symbolic.sympy import sympy_equations


@pytest.fixture
def graph():
    return Graph()


def a_program(graph, *outputs, size=3):
    signature = Signature("f", (Input("x", size),), (len(outputs),))
    return Program(signature, tuple(outputs))


def random_expressions(graph, inputs, seed, count=60) -> list[Expr]:
    """Expressions grown at random from all operations, the way a derivation grows them."""
    choose = random.Random(seed)
    pool = [*inputs, graph.one, graph.constant(2.5), graph.constant(-0.5)]
    for _ in range(count):
        grown = choose.choice(
            [
                lambda a, b: a + b,
                lambda a, b: a - b,
                lambda a, b: a * b,
                lambda a, b: -a,
                lambda a, b: graph.sin(a),
                lambda a, b: graph.cos(b),
                lambda a, b: a / (2.0 + b * b),
                lambda a, b: graph.sqrt(1.0 + a * a),
                lambda a, b: graph.select(a - 0.1, graph.sin(b), a * b),
            ]
        )
        pool.append(grown(choose.choice(pool), choose.choice(pool)))
    return pool[-12:]


def test_equal_expressions_are_one_node(graph):
    x, y = graph.inputs("x", 2)
    assert (x + y) * graph.sin(x) is graph.sin(x) * (y + x)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (lambda g, x, y: x + 0, lambda g, x, y: x),
        (lambda g, x, y: 1 * x, lambda g, x, y: x),
        (lambda g, x, y: 0 * x, lambda g, x, y: g.zero),
        (lambda g, x, y: x - x, lambda g, x, y: g.zero),
        (lambda g, x, y: x + x, lambda g, x, y: 2 * x),
        (lambda g, x, y: 2 * x + 3 * x, lambda g, x, y: 5 * x),
        (lambda g, x, y: 2 * (3 * x), lambda g, x, y: 6 * x),
        (lambda g, x, y: -g.make("neg", x), lambda g, x, y: x),
        (lambda g, x, y: (-x) * (-y), lambda g, x, y: x * y),
        (lambda g, x, y: (-x) * y, lambda g, x, y: -(x * y)),
        (lambda g, x, y: -2.0 * x, lambda g, x, y: -(2 * x)),
        (lambda g, x, y: y - x, lambda g, x, y: -(x - y)),
        (lambda g, x, y: (x - y) + y, lambda g, x, y: x),
        (lambda g, x, y: x + (y - x), lambda g, x, y: y),
        (lambda g, x, y: x - (x + y), lambda g, x, y: -y),
        (lambda g, x, y: x - (y + x), lambda g, x, y: -y),
        (lambda g, x, y: -x + (x - y), lambda g, x, y: -y),
        (lambda g, x, y: -x - y, lambda g, x, y: -(x + y)),
        (lambda g, x, y: x / 4.0, lambda g, x, y: 0.25 * x),
        (lambda g, x, y: (-x) / y, lambda g, x, y: -(x / y)),
        (lambda g, x, y: 0 / y, lambda g, x, y: g.zero),
        (lambda g, x, y: g.sin(-x), lambda g, x, y: -g.sin(x)),
        (lambda g, x, y: g.cos(-x), lambda g, x, y: g.cos(x)),
        (lambda g, x, y: g.sign(-x), lambda g, x, y: -g.sign(x)),
        (
            lambda g, x, y: (y * g.sin(x)) * (y * g.sin(x)) + (y * g.cos(x)) * (y * g.cos(x)),
            lambda g, x, y: y * y,
        ),
        (lambda g, x, y: g.cos(g.constant(0)), lambda g, x, y: g.one),
        (lambda g, x, y: g.select(g.zero, x, y), lambda g, x, y: x),
        (lambda g, x, y: g.select(g.constant(-1.0), x, y), lambda g, x, y: y),
        (lambda g, x, y: g.select(x, y, y), lambda g, x, y: y),
        (lambda g, x, y: g.select(y, -x, -y), lambda g, x, y: -g.select(y, x, y)),
        (lambda g, x, y: g.constant(-0.0), lambda g, x, y: g.zero),
    ],
)
def test_expressions_simplify_as_they_are_built(graph, left, right):
    x, y = graph.inputs("x", 2)
    assert left(graph, x, y) is right(graph, x, y)


def test_every_rule_of_the_table_is_at_work():
    applied = set()

    def watched(rule):
        def wrapper(graph, *args):
            result = rule(graph, *args)
            if result is not None:
                applied.add(rule)
            return result

        return wrapper

    everything = {rule for rules in RULES.values() for rule in rules}
    original = dict(RULES)
    try:
        for op, rules in original.items():
            RULES[op] = tuple(watched(rule) for rule in rules)
        graph = Graph()
        x, y = graph.inputs("x", 2)
        for name, row in FUNCTIONS.items():
            if row.arity == 1:
                graph.make(name, graph.constant(0.5)), graph.make(name, -x)
        graph.make("atan2", graph.one, graph.one), graph.make("pow", graph.one, graph.one)
        s, c = graph.sin(x), graph.cos(x)
        _ = (x + y, y + x, 0 + x, 1 * x, x + x, y - x, 2 * (3 * x), (-x) * y, x * 2, x / 2)
        _ = (
            graph.one + 2,
            graph.one * 2,
            -graph.one,
            -graph.make("neg", x),
            0 / x,
            (-x) / y,
            s * s + c * c,
            graph.select(graph.one, x, y),
            graph.select(x, y, y),
            graph.select(x, -x, -y),
            graph.make("sub", x, y),
            (x - y) + y,
        )
    finally:
        RULES.update(original)
    assert applied == everything


@pytest.mark.parametrize("seed", range(20))
def test_simplification_does_not_change_values(seed):
    """The same random construction, in the graph and in SymPy's exact arithmetic."""
    graph = Graph()
    x = graph.inputs("x", 3)
    point = {"x": [0.7, -1.3, 0.4]}
    outputs = random_expressions(graph, x, seed)
    plain = random_expressions(_Floats(), [_Float(v) for v in point["x"]], seed)
    expected = [value.value for value in plain]
    assert evaluate(outputs, point) == pytest.approx(expected, rel=1e-12, abs=1e-12)


class _Float:
    """A number with the operators of an expression and no simplification."""

    def __init__(self, value):
        self.value = float(value)

    def _of(self, other):
        return other.value if isinstance(other, _Float) else other

    def __add__(self, other):
        return _Float(self.value + self._of(other))

    def __mul__(self, other):
        return _Float(self.value * self._of(other))

    def __sub__(self, other):
        return _Float(self.value - self._of(other))

    def __truediv__(self, other):
        return _Float(self.value / self._of(other))

    def __neg__(self):
        return _Float(-self.value)

    __radd__, __rmul__ = __add__, __mul__


class _Floats:
    one = _Float(1.0)
    constant = staticmethod(_Float)
    sin = staticmethod(lambda x: _Float(math.sin(x.value)))
    cos = staticmethod(lambda x: _Float(math.cos(x.value)))
    sqrt = staticmethod(lambda x: _Float(math.sqrt(x.value)))
    select = staticmethod(lambda x, a, b: a if x.value >= 0 else b)


def test_shared_operations_are_counted_once(graph):
    x, y, z = graph.inputs("x", 3)
    shared = x * y
    count = a_program(graph, shared + z, shared - z, shared / z, graph.sin(shared)).operations
    assert (count.multiplications, count.additions, count.divisions, count.functions) == (
        1,
        2,
        1,
        1,
    )
    assert count.total == 4


def test_a_change_of_sign_is_not_an_operation(graph):
    x, y, _ = graph.inputs("x", 3)
    assert a_program(graph, -(x * y)).operations.total == 1


def test_what_no_output_needs_is_not_counted(graph):
    x, y, z = graph.inputs("x", 3)
    _ = x * y * z
    assert a_program(graph, x + y).operations.total == 1


@pytest.mark.parametrize("seed", range(10))
def test_derivatives_agree_with_sympy(seed):
    graph = Graph()
    inputs = graph.inputs("x", 3)
    outputs = random_expressions(graph, inputs, seed, count=25)
    rows = derivatives(graph, outputs, inputs)
    replacements, expressions = sympy_equations(a_program(graph, *outputs))
    symbols = sympy.symbols("x1 x2 x3", real=True)
    point = dict(zip(symbols, (0.3, -0.8, 1.1)))
    for row, expression in zip(rows, expressions):
        for symbol, definition in reversed(replacements):
            expression = expression.subs(symbol, definition)
        expected = [float(expression.diff(s).subs(point)) for s in symbols]
        values = evaluate(row, {"x": list(point.values())})
        assert values == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_a_selection_and_its_slope_ignore_what_is_not_selected(graph):
    """The root of x above zero, twice x below, where the root and its slope are undefined."""
    (x,) = graph.inputs("x", 1)
    y = graph.select(x, graph.sqrt(x), 2.0 * x)
    [[slope]] = derivatives(graph, [y], [x])
    assert evaluate([y, slope], {"x": [4.0]}) == [2.0, 0.25]
    assert evaluate([y, slope], {"x": [-4.0]}) == [-8.0, 2.0]


def test_a_selection_is_counted_as_a_function(graph):
    x, y, z = graph.inputs("x", 3)
    count = a_program(graph, graph.select(x, y, z)).operations
    assert (count.functions, count.total) == (1, 0)


def test_a_selection_is_written_in_every_language(graph):
    x, y, z = graph.inputs("x", 3)
    program = a_program(graph, graph.select(x - y, y, z * z))
    assert "out[0] = (x[0] - x[1] >= 0.0 ? x[1] : x[2]*x[2]);" in c_source(program)
    assert "select(x[0] - x[1], x[1], x[2]*x[2])" in python_source(program)
    cases = r"\begin{cases} x_{2} & x_{1} - x_{2} \ge 0 \\ x_{3} \, x_{3} & \text{else} \end{cases}"
    assert cases in latex_source(program, "y", {})
    a, b, c = sympy.symbols("x1 x2 x3", real=True)
    (expression,) = sympy_equations(program)[1]
    assert expression == sympy.Piecewise((b, a - b >= 0), (c * c, True))


def test_derivatives_share_what_the_function_shares(graph):
    """Differentiating a deep composition costs a multiple of it, not an exponential of it."""
    (x,) = graph.inputs("x", 1)
    y = x
    for _ in range(60):
        y = y * graph.sin(y) + y
    [[slope]] = derivatives(graph, [y], [x])
    assert a_program(graph, slope).operations.total < 10 * a_program(graph, y).operations.total


@pytest.mark.parametrize("seed", range(10))
def test_printed_python_evaluates_to_the_same(seed):
    graph = Graph()
    outputs = random_expressions(graph, graph.inputs("x", 3), seed)
    names: dict = {}
    exec(python_source(a_program(graph, *outputs)), names)
    point = [0.9, -0.2, 0.5]
    printed = names["f"](point, *(row.value for row in FUNCTIONS.values()))
    assert printed == pytest.approx(evaluate(outputs, {"x": point}), rel=1e-14, abs=1e-14)


def test_intermediate_quantities_are_numbered_as_in_the_papers(graph):
    x, y, z = graph.inputs("x", 3)
    shared = x * y
    program = a_program(graph, shared + z, shared - graph.sin(z), shared * shared)
    assert set(schedule(program).names.values()) == {"Z1", "s1"}
    assert "const double Z1 = x[0]*x[1];" in c_source(program)
    assert r"Z_{1} &= x_{1} \, x_{2} \\" in latex_source(program, "y", {})


def test_no_line_grows_long(graph):
    x = graph.inputs("x", 40)
    program = a_program(graph, graph.sum([a * b for a, b in itertools.pairwise(x)]), size=40)
    lines = [line for line in c_source(program).splitlines() if "=" in line]
    assert len(lines) > 5
    assert max(line.count("*") + line.count("+") for line in lines) <= LONGEST_LINE


def test_parentheses_stand_only_where_needed(graph):
    x, y, z = graph.inputs("x", 3)
    text = c_source(a_program(graph, x - (y - z), x * (y + z), x / (y / z), -(x + y)))
    assert "out[0] = x[0] - (x[1] - x[2]);" in text
    assert "out[1] = x[0]*(x[1] + x[2]);" in text
    assert "out[2] = x[0]/(x[1]/x[2]);" in text
    assert "out[3] = -(x[0] + x[1]);" in text


def test_a_sine_of_a_sine_is_taken_after_it(graph):
    x, _, _ = graph.inputs("x", 3)
    inner = graph.sin(x)
    text = c_source(a_program(graph, graph.cos(inner + x) * inner))
    assert text.index("s1 = sin(x[0])") < text.index("c2 = cos(x[0] + s1)")


def test_numbers_are_printed_exactly(graph):
    x, _, _ = graph.inputs("x", 3)
    for number in (0.1, 1e-300, 123456789.123456789, 5e22, 3.0):
        text = c_source(a_program(graph, number * x))
        literal = text.split("out[0] = ")[1].split("*")[0]
        assert float(literal) == number
        assert "." in literal or "e" in literal


ONE_MORE = """
import math, sys
import numpy as np
import sympy
sys.path.insert(0, {tests!r})
from kane_dynamics.symbolic import operations, rules

odd = rules.odd("tanh")
row = operations._function("tanh", math.tanh, lambda g, y, a: 1.0 - y * y, rules=(odd,))
for table in (operations.OPERATIONS, operations.FUNCTIONS):
    table["tanh"] = row
operations.RULES["tanh"] = row.rules

from random_programs import program_of
from kane_dynamics.codegen import compile_program
from kane_dynamics.symbolic.c import c_source
from kane_dynamics.symbolic.derivative import derivatives
from kane_dynamics.symbolic.evaluate import evaluate
from kane_dynamics.symbolic.graph import Graph
from kane_dynamics.symbolic.latex import latex_source
from kane_dynamics.symbolic.numpy import python_module
from kane_dynamics.symbolic.sympy import sympy_equations

graph = Graph()
(x,) = graph.inputs("x", 1)
y = -graph.make("tanh", -x)
[[slope]] = derivatives(graph, [y], [x])
program = program_of("f", [("x", 1)], (2,), [y, slope])
values = np.linspace(-2.0, 2.0, 11)[:, None]
exact = np.hstack([np.tanh(values), 1.0 - np.tanh(values) ** 2])
names = {{}}
exec(python_module(program, ""), names)
results = [names["f"](values), [evaluate(program.outputs, {{"x": v}}) for v in values.tolist()]]
for backend in ("c", "numpy"):
    function = compile_program("", lambda: program, program.signature, backend, False)
    results += [function(values), [function(v) for v in values]]
for result in results:
    np.testing.assert_allclose(result, exact, rtol=1e-14, atol=1e-15)
assert program.operations.functions == 1
assert "tanh(x[0])" in c_source(program) and r"\\tanh(x_{{1}})" in latex_source(program, "y", {{}})
assert sympy_equations(program)[0][0][1] == sympy.tanh(sympy.Symbol("x1", real=True))
print("one row")
"""


def test_an_operation_is_one_row():
    tests = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", ONE_MORE.format(tests=str(tests))],
        env={**os.environ, "PYTHONPATH": str(tests.parent)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "one row\n", done.stderr
