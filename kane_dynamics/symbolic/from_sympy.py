"""SymPy expressions as expressions of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from kane_dynamics.errors import ModelError
from kane_dynamics.symbolic.graph import Expr, Graph

SAME_NAME = ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "sinh", "cosh", "tanh")
"""Functions of one argument that have the same name in SymPy and here."""

KNOWN = (*SAME_NAME, "atan2", "sqrt", "Abs", "sign", "Heaviside", "Piecewise", "Min", "Max")


class Conversion:
    """Makes expressions of a graph from those of SymPy; equal ones are looked at once.

    Parameters
    ----------
    graph : Graph
    known : mapping
        Expressions for symbols, functions of time, and their derivatives.
    unknown : callable
        The error for a symbol that is not among them, and for what it stands in.
    """

    def __init__(
        self,
        graph: Graph,
        known: Mapping[Any, Expr],
        unknown: Callable[[Any, str], Exception],
    ) -> None:
        self.graph, self._unknown = graph, unknown
        self._known: dict[Any, Expr] = dict(known)

    def __call__(self, expression: Any, where: str) -> Expr:
        """The same in the graph; `where` says in messages what it stands in."""
        try:
            return self._converted(expression, where)
        except RecursionError:
            raise ModelError(f"{where} is nested too deeply to be read") from None
        except OverflowError:
            raise ModelError(f"{where} has a number that is not finite") from None

    def knows(self, expression: Any) -> bool:
        return expression in self._known

    def learn(self, expression: Any, meaning: Expr) -> None:
        """From now on an expression of SymPy means this."""
        self._known[expression] = meaning

    def _converted(self, x: Any, where: str) -> Expr:
        found = self._known.get(x)
        if found is None:
            found = self._known[x] = self._made(x, where)
        return found

    def _made(self, x: Any, where: str) -> Expr:
        import sympy

        if isinstance(x, (int, float)):
            return self.graph.constant(x)
        if getattr(x, "is_number", False):
            return self._number(x, where)
        if x.is_Symbol or isinstance(x, sympy.Derivative) or _is_function_of_time(x):
            raise self._unknown(x, where)
        convert = _CONVERSIONS.get(type(x).__name__)
        if convert is not None:
            return convert(self, x, where)
        if type(x).__name__ in SAME_NAME and len(x.args) == 1:
            return self.graph.make(type(x).__name__, self._converted(x.args[0], where))
        if x.args and all(isinstance(each, sympy.Expr) for each in x.args):
            given = [self._converted(each, where) for each in x.args]
            if all(each.op == "const" for each in given):  # SymPy knows more functions
                return self._number(x.func(*(each.value for each in given)).evalf(), where)
        raise ModelError(
            f"{where} has {type(x).__name__}(…), which is no function known here, expected "
            f"{', '.join(KNOWN)} and arithmetic"
        )

    def _number(self, x: Any, where: str) -> Expr:
        value = complex(x)
        if value.imag:
            raise ModelError(f"{where} has the complex number {x}, expected real ones")
        return self.graph.constant(value.real)

    # ----------------------------------------------------------------------- how each is made
    def _sum(self, x: Any, where: str) -> Expr:
        return self.graph.sum([self._converted(each, where) for each in x.args])

    def _product(self, x: Any, where: str) -> Expr:
        """Numbers first, and one division by all denominators together."""
        numerator, denominator = self.graph.one, self.graph.one
        for each in x.args:
            if each.is_Pow and each.exp.is_number and each.exp.is_negative:
                base = self._converted(each.base, where)
                denominator = denominator * self.graph.power(base, float(-each.exp))
            else:
                numerator = numerator * self._converted(each, where)
        return numerator if denominator is self.graph.one else numerator / denominator

    def _power(self, x: Any, where: str) -> Expr:
        import sympy

        if x.base is sympy.E:
            return self.graph.make("exp", self._converted(x.exp, where))
        base, exponent = self._converted(x.base, where), self._converted(x.exp, where)
        return self.graph.power(base, exponent)

    def _exponential(self, x: Any, where: str) -> Expr:
        return self.graph.make("exp", self._converted(x.args[0], where))

    def _logarithm(self, x: Any, where: str) -> Expr:
        parts = [self.graph.make("log", self._converted(each, where)) for each in x.args]
        return parts[0] if len(parts) == 1 else parts[0] / parts[1]

    def _magnitude(self, x: Any, where: str) -> Expr:
        return self.graph.make("abs", self._converted(x.args[0], where))

    def _arctangent(self, x: Any, where: str) -> Expr:
        return self.graph.make("atan2", *(self._converted(each, where) for each in x.args))

    def _sign(self, x: Any, where: str) -> Expr:
        return self.graph.sign(self._converted(x.args[0], where))

    def _step(self, x: Any, where: str) -> Expr:
        graph = self.graph
        return graph.select(self._converted(x.args[0], where), graph.one, graph.zero)

    def _largest(self, x: Any, where: str) -> Expr:
        select = self.graph.select
        return reduce(lambda a, b: select(a - b, a, b), self._all(x, where))

    def _smallest(self, x: Any, where: str) -> Expr:
        select = self.graph.select
        return reduce(lambda a, b: select(b - a, a, b), self._all(x, where))

    def _all(self, x: Any, where: str) -> list[Expr]:
        return [self._converted(each, where) for each in x.args]

    def _cases(self, x: Any, where: str) -> Expr:
        """The first case whose condition holds; where none does, the last one."""
        *cases, (last, _) = x.args
        result = self._converted(last, where)
        for value, condition in reversed(cases):
            result = self._chosen(condition, self._converted(value, where), result, where)
        return result

    def _chosen(self, condition: Any, a: Expr, b: Expr, where: str) -> Expr:
        """The value a where a condition holds, else b."""
        import sympy

        select = self.graph.select
        if condition in (sympy.true, sympy.false):
            return a if condition == sympy.true else b
        if isinstance(condition, sympy.And):
            for each in condition.args:
                a = self._chosen(each, a, b, where)
            return a
        if isinstance(condition, sympy.Or):
            for each in condition.args:
                b = self._chosen(each, a, b, where)
            return b
        if isinstance(condition, sympy.Not):
            return self._chosen(condition.args[0], b, a, where)
        if not isinstance(condition, sympy.core.relational.Relational):
            raise ModelError(f"{where} has the condition {condition}, expected a comparison")
        left, right = (self._converted(each, where) for each in condition.args)
        return {
            "GreaterThan": lambda: select(left - right, a, b),
            "StrictLessThan": lambda: select(left - right, b, a),
            "LessThan": lambda: select(right - left, a, b),
            "StrictGreaterThan": lambda: select(right - left, b, a),
            "Equality": lambda: select(left - right, select(right - left, a, b), b),
            "Unequality": lambda: select(left - right, select(right - left, b, a), a),
        }[type(condition).__name__]()


_CONVERSIONS: dict[str, Callable[[Conversion, Any, str], Expr]] = {
    "Add": Conversion._sum,
    "Mul": Conversion._product,
    "Pow": Conversion._power,
    "exp": Conversion._exponential,
    "log": Conversion._logarithm,
    "Abs": Conversion._magnitude,
    "atan2": Conversion._arctangent,
    "sign": Conversion._sign,
    "Heaviside": Conversion._step,
    "Max": Conversion._largest,
    "Min": Conversion._smallest,
    "Piecewise": Conversion._cases,
}


def _is_function_of_time(x: Any) -> bool:
    """Whether it is a function without a formula, as `dynamicsymbols` makes them."""
    from sympy.core.function import AppliedUndef

    return isinstance(x, AppliedUndef)
