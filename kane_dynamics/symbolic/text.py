"""Expressions as text: how a language writes operations, one function for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.operations import OPERATIONS, TIGHTEST


@dataclass(frozen=True)
class Language:
    """How a language writes expressions.

    Attributes
    ----------
    operators : mapping from str to str
        Template for each operation, as in `operations`.
    constant : callable
        Text of a number.
    input : callable
        Text of an entry of an input: name and position.
    """

    operators: Mapping[str, str]
    constant: Callable[[float], str]
    input: Callable[[str, int], str]


# Functions put their arguments in parentheses anyway.
BINDING = {name: row.binding for name, row in OPERATIONS.items() if row.binding < TIGHTEST}


def write(node: Expr, names: Mapping[Expr, str], language: Language) -> str:
    """Text of an expression in terms of named ones; its own name is not used."""
    return _write(node, names, language)[0]


def _write(node: Expr, names: Mapping[Expr, str], language: Language) -> tuple[str, int]:
    if node.op == "const":
        text = language.constant(node.value)
        return text, TIGHTEST if not text.startswith("-") else BINDING["neg"]
    if node.op == "input":
        return language.input(*node.entry), TIGHTEST
    op, args = node.op, node.args
    if op == "add" and args[1].op == "neg":
        op, args = "sub", (args[0], args[1].args[0])
    binding = BINDING.get(op, 0)
    texts = []
    for position, arg in enumerate(args):
        text, arg_binding = _argument(arg, names, language)
        tight = arg_binding > binding if op in ("sub", "div") and position else None
        if tight is None:
            tight = arg_binding >= binding
        texts.append(text if tight else f"({text})")
    return language.operators[op].format(*texts), BINDING.get(op, TIGHTEST)


def _argument(node: Expr, names: Mapping[Expr, str], language: Language) -> tuple[str, int]:
    name = names.get(node)
    return (name, TIGHTEST) if name is not None else _write(node, names, language)
