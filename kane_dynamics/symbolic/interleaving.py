"""An order of evaluation in which a processor always finds something to begin.

A processor begins several operations at once, but looks only some hundred ahead for such as do not
wait for others. In the order in which equations are derived all velocities come first, each of
which waits for the one inboard, then all inertias, each of which waits for the one outboard: there
is nothing to do beside waiting, though both could be computed side by side. So statements are
ordered as a processor would that sees all of them: of those whose arguments are there, the one on
which the longest way to an output depends is begun first.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.schedule import CIRCULAR, Schedule

AT_ONCE = 3
"""Operations that are begun in one cycle."""

DELAY = {"neg": 0, "div": 13, "sqrt": 20}
"""Cycles until a result is there; those of operations that are not named are four."""

MORE_ALIVE = 32
"""Values that may wait in addition to those that wait in the given order: each is to be stored."""

LONGEST = 520
"""Statements beyond which instructions themselves are waited for: the order makes more of them."""

ENOUGH = 5
"""Operations for each cycle of the longest way: with so many, there is always one to begin."""


class _Statement(NamedTuple):
    needs: Set[Expr]
    operations: int
    delay: int


def interleaved(plan: Schedule) -> Schedule:
    """The same statements in another order, sines and cosines and what they are of still first.

    The plan itself where its order is as good.
    """
    begin = max((k for k, node in enumerate(plan.order, 1) if node.op in CIRCULAR), default=0)
    nodes = plan.order[begin:]
    if len(plan.order) > LONGEST:
        return plan
    statements = {node: _statement(node, plan.names) for node in nodes}
    ways = _ways(nodes, statements)
    operations = sum(each.operations for each in statements.values())
    if operations > ENOUGH * max(ways.values(), default=0):
        return plan
    order = (*plan.order[:begin], *_ordered(nodes, statements, ways))
    return plan if order == plan.order else Schedule(order, plan.names)


def _statement(node: Expr, names: Mapping[Expr, str]) -> _Statement:
    """What stands on the right of an expression's name."""
    needs = {arg for arg in node.args if arg in names}
    inner = [_statement(arg, names) for arg in node.args if arg not in names and arg.args]
    return _Statement(
        needs.union(*(each.needs for each in inner)),
        (node.op != "neg") + sum(each.operations for each in inner),
        DELAY.get(node.op, 4) + max((each.delay for each in inner), default=0),
    )


def _ways(nodes: Sequence[Expr], statements: Mapping[Expr, _Statement]) -> dict[Expr, int]:
    """Cycles from the beginning of each statement to the end of the last that depends on it."""
    after: dict[Expr, int] = {}
    ways = {}
    for node in reversed(nodes):
        statement = statements[node]
        ways[node] = statement.delay + after.get(node, 0)
        for need in statement.needs:
            after[need] = max(after.get(need, 0), ways[node])
    return ways


def _ordered(
    nodes: Sequence[Expr], statements: Mapping[Expr, _Statement], ways: Mapping[Expr, int]
) -> list[Expr]:
    """Statements in the order in which they are begun, as long as not too many values wait."""
    allowed = [count + MORE_ALIVE for count in _alive(nodes, statements)]
    missing = {node: len(statements[node].needs & statements.keys()) for node in nodes}
    users: dict[Expr, list[Expr]] = {}
    for node in nodes:
        for need in statements[node].needs:
            users.setdefault(need, []).append(node)
    place = {node: k for k, node in enumerate(nodes)}
    there = dict.fromkeys(nodes, 0.0)  # when the arguments are
    ready = [(-ways[node], place[node]) for node in nodes if not missing[node]]
    heapq.heapify(ready)
    waiting: list[tuple[float, int]] = []
    uses, alive, time, first = _uses(nodes, statements), 0, 0.0, 0
    order: dict[Expr, None] = {}
    while len(order) < len(nodes):
        while nodes[first] in order:
            first += 1
        while waiting and waiting[0][0] <= time:
            _, k = heapq.heappop(waiting)
            heapq.heappush(ready, (-ways[nodes[k]], k))
        if order and alive > allowed[len(order) - 1]:
            node = nodes[first]
        elif ready:
            node = nodes[heapq.heappop(ready)[1]]
        else:
            time = waiting[0][0]
            continue
        if node in order:
            continue
        order[node] = None
        statement = statements[node]
        time = max(time, there[node]) + statement.operations / AT_ONCE
        alive += _change(statement, uses)
        for user in users.get(node, ()):
            there[user] = max(there[user], time + statement.delay)
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(waiting, (there[user], place[user]))
    return list(order)


def _uses(nodes: Sequence[Expr], statements: Mapping[Expr, _Statement]) -> Counter[Expr]:
    return Counter(need for node in nodes for need in statements[node].needs)


def _alive(nodes: Sequence[Expr], statements: Mapping[Expr, _Statement]) -> list[int]:
    """After each statement, how many more values are still needed than before the first."""
    uses, alive, counts = _uses(nodes, statements), 0, []
    for node in nodes:
        alive += _change(statements[node], uses)
        counts.append(alive)
    return counts


def _change(statement: _Statement, uses: Counter[Expr]) -> int:
    """By how much a statement changes the number of values still needed; `uses` is left behind."""
    for need in statement.needs:
        uses[need] -= 1
    return 1 - sum(not uses[need] for need in statement.needs)
