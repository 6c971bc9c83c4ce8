"""Partial velocities of the bodies of a SymPy model as one matrix, and its column reduction."""

from __future__ import annotations

from kane_dynamics.arrays import Array
from kane_dynamics.kane.general.equations import Formulation, symbol_name
from kane_dynamics.kane.general.reading import Reading
from kane_dynamics.kane.speeds import Vanished, column_reduction
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.program import Operations, operations


def reduced(reading: Reading) -> tuple[Array, tuple[Vanished, ...]]:
    """The matrix T of the new speeds, and partial velocities that are zero for them."""
    zero, count = reading.graph.zero, len(reading.u)
    matrix: list[list[Expr]] = []
    owners: list[tuple[str, str]] = []
    for node in reading.nodes("moving"):
        if node.mass is None and node.inertia is None:
            continue
        for kind, columns in (("velocity", node.moves), ("angular velocity", node.turns)):
            if kind == "velocity" or node.omega is not None:
                owners.append((node.name, kind))
                matrix += [
                    [columns[k][i] if k in columns else zero for k in range(count)]
                    for i in range(3)
                ]
    rows = [range(3 * k, 3 * k + 3) for k in range(len(owners))]
    found = column_reduction(
        reading.graph, matrix, rows, [[k] for k in range(count)], reading.trials
    )
    names = tuple(map(symbol_name, reading.model.u))
    vanished = tuple(Vanished(*owners[b], names[c]) for b, c in found.vanished)
    return found.T, vanished


def body_by_body(reading: Reading) -> Operations:
    """What Kane's equations take, formed from partial velocities with all zeros left out."""
    return operations(Formulation(reading, "moving", False).resisting(True)[: len(reading.u)])
