"""Random programs with every operation there is, whose values stay of order one."""

import random
from collections.abc import Sequence

from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.program import Input, Program, Signature

COMMON = ["mul", "mul", "add", "add", "sub", "div", "sqrt", "sign", "select"]
SMOOTH = ["tan", "asin", "acos", "atan", "exp", "log", "sinh", "cosh", "tanh"]
KINDS = [*3 * COMMON, *SMOOTH, "abs", "atan2", "pow"]


def program_of(
    name: str,
    inputs: Sequence[tuple[str, int]],
    shape: tuple[int, ...],
    outputs: Sequence[Expr],
    quaternions: tuple[tuple[str, int], ...] = (),
) -> Program:
    signature = Signature(name, tuple(Input(*each) for each in inputs), shape, quaternions)
    return Program(signature, tuple(outputs))


def random_program(seed: int, operations: int = 60, shape: tuple[int, ...] = (3,)) -> Program:
    """A program of q (4), u (3) and t (1)."""
    choose = random.Random(seed)
    graph = Graph()
    inputs = (("q", 4), ("u", 3), ("t", 1))
    entries = [entry for name, size in inputs for entry in graph.inputs(name, size)]
    values = entries + [function(x) for x in entries[:4] for function in (graph.sin, graph.cos)]
    values.append(graph.sin(entries[0] + entries[1] * 2.0))
    for _ in range(operations):
        x, y = choose.choice(values[-30:]), choose.choice(values)
        kind = choose.choice(KINDS)
        values.append(_combined(graph, kind, x, y, choose.uniform(0.1, 0.9)))
    size = 1
    for extent in shape:
        size *= extent
    outputs = [graph.sum(values[-5 * size :][k::size]) for k in range(size)]
    outputs[0] = graph.constant(choose.uniform(-1.0, 1.0)) if size > 2 else outputs[0]
    return program_of("random_program", inputs, shape, outputs)


def _combined(graph: Graph, kind: str, x: Expr, y: Expr, a: float) -> Expr:
    if kind == "mul":
        return x * y * a
    if kind == "add":
        return a * x + (1.0 - a) * y
    if kind == "sub":
        return a * x - y
    if kind == "div":
        return x / (1.0 + y * y)
    if kind == "sqrt":
        return graph.sqrt(a + x * x) - 1.0
    if kind in SMOOTH:
        bounded = graph.make("tanh", x)
        return graph.make(kind, 1.0 + a * bounded if kind == "log" else a * bounded)
    if kind == "atan2":
        return graph.make("atan2", x, 1.0 + y * y)
    if kind == "pow":
        return graph.power(1.0 + a * graph.make("tanh", x), graph.make("tanh", y))
    if kind == "abs":
        return a * graph.make("abs", x)
    if kind == "select":
        return graph.select(y, graph.sqrt(y), a * x)
    return x - a * graph.sign(y)
