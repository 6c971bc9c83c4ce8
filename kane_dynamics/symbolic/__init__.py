"""Expressions: a graph of shared nodes that simplifies as it is built.

Begin with `graph`, where equal expressions are one node, and `rules`, by which it simplifies them.
`vector` has vectors of expressions, `derivative` their derivatives, `collect` gathers like
products; a `program` is the expressions of one output with their inputs, put in order by `schedule`
and printed by `c`, `numpy`, `sympy` and `latex`. Nothing here knows of robots.
"""
