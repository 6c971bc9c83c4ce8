"""The order of statements for one state: the same statements, none before what it needs."""

import itertools

import numpy as np
import pytest
from random_programs import program_of, random_program

from kane_dynamics.codegen import compile_program
from kane_dynamics.codegen.body_c import body
from kane_dynamics.symbolic import interleaving
from kane_dynamics.symbolic.graph import Expr, Graph
from kane_dynamics.symbolic.interleaving import interleaved
from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import Schedule, schedule


def chain(graph: Graph, x: Expr, length: int) -> Expr:
    """Something of which each part waits for the one before."""
    total = x
    for _ in range(length):
        total = graph.one / (total * total + x)
    return total


def two_chains(length: int = 40) -> Program:
    graph = Graph()
    x, y, *_ = graph.inputs("x", 9)
    return program_of("f", [("x", 9)], (1,), [chain(graph, x, length) * chain(graph, y, length)])


def needed(node: Expr, plan: Schedule) -> set[Expr]:
    found, stack = set(), list(node.args)
    while stack:
        arg = stack.pop()
        if arg in plan.names:
            found.add(arg)
        else:
            stack += arg.args
    return found


@pytest.mark.parametrize("seed", range(8))
def test_statements_stay_and_none_comes_before_what_it_needs(seed):
    plan = schedule(random_program(seed, operations=700, shape=(20,)))
    other = interleaved(plan)
    assert sorted(other.order, key=id) == sorted(plan.order, key=id)
    assert other.names is plan.names
    known: set[Expr] = set()
    for node in other.order:
        assert needed(node, other) <= known
        known.add(node)


def test_what_waits_for_nothing_that_the_other_makes_is_computed_beside_it():
    plan = schedule(two_chains())
    depends = {}  # which of the two inputs
    for node in plan.order:
        stack, inputs = list(node.args), set()
        while stack:
            arg = stack.pop()
            inputs |= {arg.entry[1]} if arg.op == "input" else depends.get(arg, set())
            stack += [] if arg in depends else arg.args
        depends[node] = inputs

    def turns(order):
        kinds = [min(depends[node]) for node in order]
        return sum(a != b for a, b in itertools.pairwise(kinds))

    assert turns(plan.order) == 1
    assert turns(interleaved(plan).order) > len(plan.order) / 2


def test_not_too_many_values_wait(monkeypatch):
    graph = Graph()
    xs = graph.inputs("x", 200)
    total = graph.zero
    for x in xs:
        each = chain(graph, x, 3)
        total = (total + each) * each
    program = program_of("f", [("x", 200)], (1,), [total])
    plan = schedule(program)
    monkeypatch.setattr(interleaving, "ENOUGH", float("inf"))
    monkeypatch.setattr(interleaving, "LONGEST", 5000)
    waiting = {}
    for more in (5, 1000):
        monkeypatch.setattr(interleaving, "MORE_ALIVE", more)
        order = interleaved(plan).order
        statements = {node: interleaving._statement(node, plan.names) for node in order}
        waiting[more] = max(interleaving._alive(order, statements))
    given = max(interleaving._alive(plan.order, statements))
    assert waiting[5] <= given + 6 < waiting[1000]


def test_programs_with_enough_side_by_side_and_long_ones_stay_as_they_are():
    graph = Graph()
    xs = graph.inputs("x", 200)
    wide = program_of("f", [("x", 200)], (200,), [chain(graph, x, 1) for x in xs])
    assert interleaved(schedule(wide)).order == schedule(wide).order
    long = two_chains(interleaving.LONGEST)
    assert interleaved(schedule(long)).order == schedule(long).order


def test_one_state_and_many_agree_where_their_orders_differ():
    program = two_chains()
    assert "#if defined(ONE_STATE)" in body(program)
    compiled = compile_program("two chains", lambda: program, program.signature, cache=False)
    x = np.random.default_rng(1).uniform(0.5, 1.5, (5, 9))
    each = [compiled(state) for state in x]
    np.testing.assert_allclose(compiled(x), each, rtol=1e-13)
