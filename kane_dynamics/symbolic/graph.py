"""Expressions as a graph of shared nodes that simplifies while it is built.

There is one node type, `Expr`. A `Graph` makes nodes and keeps exactly one of each kind: equal
expressions are the same object, so writing an expression twice costs nothing. Before a node is
made, the rules of `kane_dynamics.symbolic.rules` may replace it by something smaller.

>>> graph = Graph()
>>> x, y = graph.inputs("x", 2)
>>> x * y + 0 is y * x
True
>>> x - x
Expr(0.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from kane_dynamics.symbolic.operations import RULES

MOST_FACTORS = 16
"""Whole powers up to this one are written as products."""

Number = int | float
Key = tuple[str, tuple["Expr", ...], float, tuple[str, int]]


class Expr:
    """A node: an operation, its arguments, and for leaves a value.

    Attributes
    ----------
    op : str
        ``const``, ``input``, or a name in `operations.OPERATIONS`.
    args : tuple of Expr
        Arguments; every argument was made before the node, so its `index` is smaller.
    value : float
        The number of a constant.
    entry : (str, int)
        Name and position of an input.
    index : int
        Order of creation in the graph.
    """

    __slots__ = ("args", "entry", "graph", "index", "op", "value")
    __array_ufunc__ = None  # NumPy numbers leave products with expressions to us

    graph: Graph
    op: str
    args: tuple[Expr, ...]
    value: float
    entry: tuple[str, int]
    index: int

    def __add__(self, other: Expr | Number) -> Expr:
        return self.graph.make("add", self, self.graph.expr(other))

    def __radd__(self, other: Number) -> Expr:
        return self.graph.make("add", self.graph.expr(other), self)

    def __sub__(self, other: Expr | Number) -> Expr:
        return self.graph.make("add", self, self.graph.make("neg", self.graph.expr(other)))

    def __rsub__(self, other: Number) -> Expr:
        return self.graph.make("add", self.graph.expr(other), self.graph.make("neg", self))

    def __mul__(self, other: Expr | Number) -> Expr:
        if not isinstance(other, (Expr, int, float)):
            return NotImplemented  # such as a vector, which knows what to do
        return self.graph.make("mul", self, self.graph.expr(other))

    def __rmul__(self, other: Number) -> Expr:
        return self.graph.make("mul", self.graph.expr(other), self)

    def __truediv__(self, other: Expr | Number) -> Expr:
        return self.graph.make("div", self, self.graph.expr(other))

    def __rtruediv__(self, other: Number) -> Expr:
        return self.graph.make("div", self.graph.expr(other), self)

    def __neg__(self) -> Expr:
        return self.graph.make("neg", self)

    def __repr__(self) -> str:
        if self.op == "const":
            return f"Expr({self.value})"
        if self.op == "input":
            return f"Expr({self.entry[0]}[{self.entry[1]}])"
        return f"Expr({self.op}, {', '.join(f'#{a.index}' for a in self.args)})"


class Graph:
    """Makes expressions, one node for each."""

    def __init__(self) -> None:
        self._nodes: dict[Key, Expr] = {}
        self.zero = self.constant(0.0)
        self.one = self.constant(1.0)

    def constant(self, value: Number) -> Expr:
        """A number. Minus zero is zero; OverflowError if it is not finite."""
        number = float(value) + 0.0
        if not isfinite(number):
            raise OverflowError(f"{number} is no number that code can be made of")
        return self.intern("const", value=number)

    def inputs(self, name: str, size: int) -> tuple[Expr, ...]:
        """The entries of an input vector."""
        return tuple(self.intern("input", entry=(name, i)) for i in range(size))

    def expr(self, value: Expr | Number) -> Expr:
        return value if isinstance(value, Expr) else self.constant(value)

    def sin(self, x: Expr) -> Expr:
        return self.make("sin", x)

    def cos(self, x: Expr) -> Expr:
        return self.make("cos", x)

    def sqrt(self, x: Expr) -> Expr:
        return self.make("sqrt", x)

    def sign(self, x: Expr) -> Expr:
        """-1, 0 or 1, as the argument is negative, zero or positive."""
        return self.make("sign", x)

    def power(self, x: Expr, exponent: Expr | Number) -> Expr:
        """x to a power: products and roots where the exponent is a number that allows it."""
        exponent = self.expr(exponent)
        if exponent.op != "const":
            return self.make("pow", x, exponent)
        number = exponent.value
        if number < 0.0:
            return self.one / self.power(x, -number)
        whole, rest = divmod(number, 1.0)
        if rest not in (0.0, 0.5) or whole > MOST_FACTORS:
            return self.make("pow", x, exponent)
        result = self.sqrt(x) if rest else self.one
        square = x
        for bit in reversed(bin(int(whole))[2:]):
            result = result * square if bit == "1" else result
            square = square * square
        return result

    def select(self, condition: Expr, a: Expr, b: Expr) -> Expr:
        """a where the condition is at least zero, else b; the other one may be undefined."""
        return self.make("select", condition, a, b)

    def sum(self, terms: Sequence[Expr]) -> Expr:
        total = self.zero
        for term in terms:
            total = total + term
        return total

    def make(self, op: str, *args: Expr) -> Expr:
        """The simplest known node for an operation: the first rule that applies, or a new node."""
        for rule in RULES[op]:
            result = rule(self, *args)
            if result is not None:
                return result
        return self.intern(op, args)

    def intern(
        self,
        op: str,
        args: tuple[Expr, ...] = (),
        value: float = 0.0,
        entry: tuple[str, int] = ("", 0),
    ) -> Expr:
        """The node of exactly this form, made when it does not exist yet."""
        key = (op, args, value, entry)
        node = self._nodes.get(key)
        if node is None:
            node = Expr()
            node.graph, node.op, node.args = self, op, args
            node.value, node.entry, node.index = value, entry, len(self._nodes)
            self._nodes[key] = node
        return node


def reachable(outputs: Sequence[Expr]) -> list[Expr]:
    """Nodes that the outputs need, arguments before their users."""
    seen: set[Expr] = set()
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(node.args)
    return sorted(seen, key=lambda node: node.index)
