"""How expressions simplify as they are built: one small rule a function, listed in `operations`.

A rule gets the graph and the arguments of a node about to be made. It returns what to use
instead, or None when it does not apply. Rules of one operation are tried in the order of its row.

Two conventions make equal expressions look equal. Signs are carried outside: a product or a sum
never starts with a minus, the minus stands around it. Arguments of sums and products are in the
order in which they were made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kane_dynamics.symbolic.graph import Expr, Graph

Rule = Callable[..., "Expr | None"]


def _negated(x: Expr) -> Expr | None:
    """What x is the negative of, if x is written as a negative."""
    return x.args[0] if x.op == "neg" else None


def _magnitude(x: Expr) -> Expr:
    return x.args[0] if x.op == "neg" else x


def _coefficient(x: Expr) -> tuple[float, Expr]:
    """x as number times rest."""
    if x.op == "neg":
        number, rest = _coefficient(x.args[0])
        return -number, rest
    if x.op == "mul" and x.args[0].op == "const":
        return x.args[0].value, x.args[1]
    return 1.0, x


# ------------------------------------------------------------------------------------- negation
def negate_a_constant(graph: Graph, x: Expr) -> Expr | None:
    return graph.constant(-x.value) if x.op == "const" else None


def negate_twice(graph: Graph, x: Expr) -> Expr | None:
    return _negated(x)


# ------------------------------------------------------------------------------------------ sums
def add_constants(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    if a.op == "const" and b.op == "const":
        return graph.constant(a.value + b.value)
    return None


def add_zero(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    if a is graph.zero:
        return b
    return a if b is graph.zero else None


def add_like_terms(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    """2x + 3x = 5x, x - x = 0."""
    m, x = _coefficient(a)
    n, y = _coefficient(b)
    return (m + n) * x if x is y else None


def add_what_was_taken_away(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    """(x - y) + y = x."""
    for whole, part in ((a, b), (b, a)):
        total = _magnitude(whole)
        if total.op == "add":
            y = _magnitude(part)
            for taken, x in (total.args, total.args[::-1]):
                if _magnitude(taken) is y and (taken is part) == (whole is not total):
                    return x if whole is total else -x
    return None


def add_squares_of_sine_and_cosine(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    """(x sin)² + (x cos)² = x²."""
    if a.op == b.op == "mul" and a.args[0] is a.args[1] and b.args[0] is b.args[1]:
        f, g = a.args[0], b.args[0]
        for trig, other in (("sin", "cos"), ("cos", "sin")):
            for s, x in _factorings(f, trig, graph):
                for c, y in _factorings(g, other, graph):
                    if x is y and s.args[0] is c.args[0]:
                        return x * x
    return None


def _factorings(f: Expr, trig: str, graph: Graph) -> list[tuple[Expr, Expr]]:
    if f.op == trig:
        return [(f, graph.one)]
    if f.op == "mul":
        return [(f.args[i], f.args[1 - i]) for i in (0, 1) if f.args[i].op == trig]
    return []


def add_order(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    """The term made first comes first."""
    return graph.make("add", b, a) if _magnitude(b).index < _magnitude(a).index else None


def add_with_leading_minus(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    """-x + y = -(x - y): a sum and its negative share one node."""
    x = _negated(a)
    return -graph.make("add", x, -b) if x is not None else None


def subtract_by_adding(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    return a + -b


# -------------------------------------------------------------------------------------- products
def multiply_constants(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    if a.op == "const" and b.op == "const":
        return graph.constant(a.value * b.value)
    return None


def multiply_order(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    """Constants first, then the factor made first."""
    if a.op == "const":
        return None
    if b.op == "const" or _magnitude(b).index < _magnitude(a).index:
        return graph.make("mul", b, a)
    return None


def multiply_by_zero_or_one(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    if a is graph.zero:
        return graph.zero
    return b if a is graph.one else None


def multiply_signs(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    """(-x) y = x (-y) = -(x y)."""
    x, y = _negated(a), _negated(b)
    if a.op == "const" and a.value < 0:
        x = graph.constant(-a.value)
    if x is None and y is None:
        return None
    product = graph.make("mul", a if x is None else x, b if y is None else y)
    return product if x is not None and y is not None else -product


def multiply_nested_constants(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    """2 (3 x) = 6 x."""
    if a.op == "const" and b.op == "mul" and b.args[0].op == "const":
        return graph.constant(a.value * b.args[0].value) * b.args[1]
    return None


# ------------------------------------------------------------------------- quotients, functions
def divide_by_constant(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    return (1.0 / b.value) * a if b.op == "const" and b.value else None


def divide_zero(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    return graph.zero if a is graph.zero else None


def divide_signs(graph: Graph, a: Expr, b: Expr) -> Expr | None:
    x, y = _negated(a), _negated(b)
    if x is None and y is None:
        return None
    quotient = graph.make("div", a if x is None else x, b if y is None else y)
    return quotient if x is not None and y is not None else -quotient


def of_constant(function: Callable[[float], float]) -> Rule:
    """Where the function is defined."""

    def function_of_a_constant(graph: Graph, x: Expr) -> Expr | None:
        value = function(x.value) if x.op == "const" else math.nan
        return None if math.isnan(value) else graph.constant(value)

    return function_of_a_constant


def of_constants(function: Callable[[float, float], float]) -> Rule:
    """The same for two arguments."""

    def function_of_two_constants(graph: Graph, x: Expr, y: Expr) -> Expr | None:
        value = function(x.value, y.value) if x.op == y.op == "const" else math.nan
        return None if math.isnan(value) else graph.constant(value)

    return function_of_two_constants


def odd(name: str) -> Rule:
    """f(-x) = -f(x)."""

    def minus_outside(graph: Graph, x: Expr) -> Expr | None:
        y = _negated(x)
        return -graph.make(name, y) if y is not None else None

    return minus_outside


def even(name: str) -> Rule:
    """f(-x) = f(x)."""

    def minus_dropped(graph: Graph, x: Expr) -> Expr | None:
        y = _negated(x)
        return graph.make(name, y) if y is not None else None

    return minus_dropped


def select_by_constant(graph: Graph, condition: Expr, a: Expr, b: Expr) -> Expr | None:
    return (a if condition.value >= 0 else b) if condition.op == "const" else None


def select_between_equals(graph: Graph, condition: Expr, a: Expr, b: Expr) -> Expr | None:
    return a if a is b else None


def select_signs(graph: Graph, condition: Expr, a: Expr, b: Expr) -> Expr | None:
    x, y = _negated(a), _negated(b)
    return None if x is None or y is None else -graph.make("select", condition, x, y)
