"""One row an operation: its value, slope and rules, and how every language writes it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kane_dynamics.symbolic import rules
from kane_dynamics.symbolic.rules import Rule

if TYPE_CHECKING:
    from kane_dynamics.symbolic.graph import Expr, Graph

TIGHTEST = 9

Slope = Callable[["Graph", "Expr", Sequence["Expr"]], "Expr"]


@dataclass(frozen=True)
class Operation:
    """What is known of an operation. In texts ``{0}``, ``{1}``, … stand for the arguments.

    Attributes
    ----------
    value : callable
        Of numbers; nan where it is undefined.
    slope : callable
        Its derivative: given graph, node, and the derivatives of the arguments.
    rules : tuple of Rule
        How it simplifies; the first that applies does.
    c, numpy, latex : str
        As C99 for doubles, for NumPy columns, as LaTeX.
    sympy : callable
        Given the module, what makes it of SymPy's expressions.
    counted : str or None
        Among which `Operations` it is counted.
    binding : int
        How tightly it binds; an argument that binds less is put in parentheses.
    c_function : str
        Definition of what `c` calls, if that is not in ``libm``.
    """

    value: Callable[..., float]
    slope: Slope
    rules: tuple[Rule, ...]
    c: str
    numpy: str
    latex: str
    sympy: Callable[[Any], Callable[..., Any]]
    counted: str | None = "functions"
    binding: int = TIGHTEST
    c_function: str = ""

    @property
    def arity(self) -> int:
        return self.c.count("{")


def _chain(*partials: Callable[..., Expr]) -> Slope:
    """The chain rule: partial derivatives as functions of graph, node and its arguments."""

    def slope(graph: Graph, node: Expr, slopes: Sequence[Expr]) -> Expr:
        pairs = [pair for pair in zip(partials, slopes) if pair[1] is not graph.zero]
        return graph.sum([partial(graph, node, *node.args) * each for partial, each in pairs])

    return slope


def _operator(
    value: Callable[..., Any], slope: Slope, text: str, counted: str | None, **more: Any
) -> Operation:
    """What is written between its arguments, the same in most languages."""
    row = {"c": text, "numpy": text, "latex": text, "sympy": lambda _: value, **more}
    return Operation(value, slope, counted=counted, **row)


def _function(
    name: str, value: Callable[[float], float], partial: Callable[..., Expr], **more: Any
) -> Operation:
    """A function of one argument, of the same name in most languages."""
    row: dict[str, Any] = {"c": name + "({0})", "numpy": f"np.{name}({{0}})"}
    row = {**row, "latex": rf"\{name}({{0}})", "sympy": operator.attrgetter(name), **more}
    row["rules"] = (rules.of_constant(value), *more.get("rules", ()))
    return Operation(value, _chain(partial), **row)


def _defined(function: Callable[..., float]) -> Callable[..., float]:
    """A function that gives nan where `math` raises an error."""

    def value(*x: float) -> float:
        try:
            result = function(*x)
        except (ValueError, ArithmeticError):
            return math.nan
        return result if isinstance(result, float) else math.nan

    return value


def _quotient(a: Any, b: Any) -> Any:
    return a / b if b else math.nan


def _root(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


OPERATIONS: dict[str, Operation] = {
    "neg": _operator(
        operator.neg,
        _chain(lambda g, y, a: -g.one),
        "-{0}",
        None,
        binding=2,
        rules=(rules.negate_a_constant, rules.negate_twice),
    ),
    "add": _operator(
        operator.add,
        _chain(lambda g, y, a, b: g.one, lambda g, y, a, b: g.one),
        "{0} + {1}",
        "additions",
        binding=1,
        rules=(
            rules.add_constants,
            rules.add_zero,
            rules.add_order,
            rules.add_like_terms,
            rules.add_what_was_taken_away,
            rules.add_with_leading_minus,
            rules.add_squares_of_sine_and_cosine,
        ),
    ),
    # never a node, but how a sum with a negative second term is written
    "sub": _operator(
        operator.sub,
        _chain(lambda g, y, a, b: g.one, lambda g, y, a, b: -g.one),
        "{0} - {1}",
        "additions",
        binding=1,
        rules=(rules.subtract_by_adding,),
    ),
    "mul": _operator(
        operator.mul,
        _chain(lambda g, y, a, b: b, lambda g, y, a, b: a),
        "{0}*{1}",
        "multiplications",
        latex=r"{0} \, {1}",
        binding=3,
        rules=(
            rules.multiply_constants,
            rules.multiply_order,
            rules.multiply_by_zero_or_one,
            rules.multiply_signs,
            rules.multiply_nested_constants,
        ),
    ),
    "div": _operator(
        _quotient,
        _chain(lambda g, y, a, b: 1.0 / b, lambda g, y, a, b: -(y / b)),
        "{0}/{1}",
        "divisions",
        latex=r"\frac{{{0}}}{{{1}}}",
        sympy=lambda _: operator.truediv,
        binding=3,
        rules=(rules.divide_zero, rules.divide_by_constant, rules.divide_signs),
    ),
    "sin": _function("sin", math.sin, lambda g, y, a: g.cos(a), rules=(rules.odd("sin"),)),
    "cos": _function("cos", math.cos, lambda g, y, a: -g.sin(a), rules=(rules.even("cos"),)),
    "sqrt": _function("sqrt", _root, lambda g, y, a: 0.5 / y, latex=r"\sqrt{{{0}}}"),
    "sign": _function(
        "sign",
        _sign,
        lambda g, y, a: g.zero,
        latex=r"\operatorname{{sgn}}({0})",
        c="sign_of({0})",
        c_function="static double sign_of(double x) { return (double)((x > 0) - (x < 0)); }",
        rules=(rules.odd("sign"),),
    ),
    "abs": _function(
        "abs",
        abs,
        lambda g, y, a: g.sign(a),
        c="fabs({0})",
        latex=r"\left|{0}\right|",
        sympy=operator.attrgetter("Abs"),
        rules=(rules.even("abs"),),
    ),
    "tan": _function("tan", math.tan, lambda g, y, a: 1.0 + y * y, rules=(rules.odd("tan"),)),
    "asin": _function(
        "asin",
        _defined(math.asin),
        lambda g, y, a: 1.0 / g.sqrt(1.0 - a * a),
        numpy="np.arcsin({0})",
        latex=r"\arcsin({0})",
        rules=(rules.odd("asin"),),
    ),
    "acos": _function(
        "acos",
        _defined(math.acos),
        lambda g, y, a: -(1.0 / g.sqrt(1.0 - a * a)),
        numpy="np.arccos({0})",
        latex=r"\arccos({0})",
    ),
    "atan": _function(
        "atan",
        math.atan,
        lambda g, y, a: 1.0 / (1.0 + a * a),
        numpy="np.arctan({0})",
        latex=r"\arctan({0})",
        rules=(rules.odd("atan"),),
    ),
    "atan2": Operation(
        math.atan2,
        _chain(lambda g, y, a, b: b / (a * a + b * b), lambda g, y, a, b: -(a / (a * a + b * b))),
        rules=(rules.of_constants(math.atan2),),
        c="atan2({0}, {1})",
        numpy="np.arctan2({0}, {1})",
        latex=r"\operatorname{{atan2}}({0}, {1})",
        sympy=operator.attrgetter("atan2"),
    ),
    "exp": _function("exp", _defined(math.exp), lambda g, y, a: y),
    "log": _function("log", _defined(math.log), lambda g, y, a: 1.0 / a, latex=r"\ln({0})"),
    "pow": Operation(
        _defined(math.pow),
        _chain(lambda g, y, a, b: b * g.power(a, b - 1.0), lambda g, y, a, b: y * g.make("log", a)),
        rules=(rules.of_constants(_defined(math.pow)),),
        c="pow({0}, {1})",
        numpy="np.power(np.asarray({0}, float), {1})",
        latex=r"({0})^{{{1}}}",
        sympy=operator.attrgetter("Pow"),
    ),
    "sinh": _function(
        "sinh", _defined(math.sinh), lambda g, y, a: g.make("cosh", a), rules=(rules.odd("sinh"),)
    ),
    "cosh": _function(
        "cosh", _defined(math.cosh), lambda g, y, a: g.make("sinh", a), rules=(rules.even("cosh"),)
    ),
    "tanh": _function("tanh", math.tanh, lambda g, y, a: 1.0 - y * y, rules=(rules.odd("tanh"),)),
    "select": Operation(
        lambda condition, a, b: a if condition >= 0 else b,
        # not a sum of products: zero times what is undefined is undefined
        slope=lambda g, y, slopes: g.select(y.args[0], slopes[1], slopes[2]),
        rules=(rules.select_by_constant, rules.select_between_equals, rules.select_signs),
        c="({0} >= 0.0 ? {1} : {2})",
        numpy="np.where({0} >= 0.0, {1}, {2})",
        latex=r"\begin{{cases}} {1} & {0} \ge 0 \\ {2} & \text{{else}} \end{{cases}}",
        sympy=lambda sympy: lambda c, a, b: sympy.Piecewise((a, c >= 0), (b, True)),
    ),
}

FUNCTIONS = {name: row for name, row in OPERATIONS.items() if row.counted == "functions"}
RULES = {name: row.rules for name, row in OPERATIONS.items()}


def call(name: str, arity: int) -> str:
    """Text of a function of so many arguments."""
    return f"{name}({', '.join(f'{{{k}}}' for k in range(arity))})"
