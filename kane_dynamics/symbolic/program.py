"""A program: named inputs, the expressions of one output array, and nothing else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from kane_dynamics.symbolic.graph import Expr, reachable
from kane_dynamics.symbolic.operations import OPERATIONS


@dataclass(frozen=True)
class Input:
    """A vector that a program is given."""

    name: str
    size: int


@dataclass(frozen=True)
class Signature:
    """What a program takes and gives, known before its expressions are derived.

    Attributes
    ----------
    name : str
    inputs : tuple of Input
    shape : tuple of int
        Shape of the output array; ``()`` for a single number.
    quaternions : tuple of (str, int)
        Input name and first position of every unit quaternion among the inputs.
    """

    name: str
    inputs: tuple[Input, ...]
    shape: tuple[int, ...]
    quaternions: tuple[tuple[str, int], ...] = ()

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Operations:
    """Exact number of arithmetic operations; each shared expression is counted once.

    A change of sign is not an operation: it is part of the sum or product around it.
    """

    multiplications: int
    additions: int
    divisions: int
    functions: int

    @property
    def total(self) -> int:
        """Multiplications, additions and divisions; functions (sines, selections…) are apart."""
        return self.multiplications + self.additions + self.divisions

    def __str__(self) -> str:
        return (
            f"{self.multiplications} multiplications, {self.additions} additions, "
            f"{self.divisions} divisions, {self.functions} functions"
        )


@dataclass(frozen=True)
class Program:
    """Expressions of an output array, row by row."""

    signature: Signature
    outputs: tuple[Expr, ...]
    nodes: tuple[Expr, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(reachable(self.outputs)))

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self.signature.inputs

    @property
    def operations(self) -> Operations:
        return operations(self.outputs)


def operations(outputs: Sequence[Expr]) -> Operations:
    """How many operations the outputs take."""
    nodes = reachable(outputs)
    counts = Counter(OPERATIONS[node.op].counted for node in nodes if node.args)
    return Operations(*(counts[each.name] for each in fields(Operations)))
