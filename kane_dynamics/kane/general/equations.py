"""`GeneralEquations`: Kane's equations of a SymPy model, on the contract that trees use.

All programs are derived in the graph of the model, over formal inputs, and put into the graphs in
which they are asked for. There are several ways to write them: velocities of points in the inertial
frame or in frames that move along, bodies that hang on each other or stand alone. The one with the
fewest operations is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kane_dynamics.errors import ArgumentError
from kane_dynamics.kane.equations import Equations, Given
from kane_dynamics.kane.general import forward, inverse, mass
from kane_dynamics.kane.general.embedding import Embedding
from kane_dynamics.kane.general.held import coefficients
from kane_dynamics.kane.general.model import is_scalar
from kane_dynamics.kane.general.motion import Moving, MovingNodes
from kane_dynamics.kane.general.nodes import Node, tied
from kane_dynamics.kane.general.reading import Bases, Reading
from kane_dynamics.kane.general.regrouping import regrouped
from kane_dynamics.kane.general.solving import solved_columns
from kane_dynamics.kane.recombination import normalized, pivoted
from kane_dynamics.symbolic.derivative import derivatives, rates
from kane_dynamics.symbolic.evaluate import evaluations
from kane_dynamics.symbolic.graph import Expr, reachable
from kane_dynamics.symbolic.numpy import python_source
from kane_dynamics.symbolic.program import Input, Program, Signature, operations
from kane_dynamics.symbolic.substitution import substituted
from kane_dynamics.symbolic.vector import Vector

FEW = 6
"""Speeds up to which it may be cheaper to let every body stand alone."""

UNFIT = 1e8
"""Condition of the dependent block beyond which named dependent speeds are not taken."""

PREFERRED = 1e3
"""By how much dependent speeds that are named go before others."""


class Formulation:
    """One way to write the equations of a model.

    Parameters
    ----------
    reading : Reading
    bases : str
        In which velocities are given, as `Reading.nodes` has it.
    hung : bool
        Whether nodes hang on others.
    """

    def __init__(self, reading: Reading, bases: Bases, hung: bool) -> None:
        self.reading = reading
        nodes = reading.nodes(bases)
        self.stated = nodes
        if hung and bases != "inertial":
            nodes = regrouped(reading, nodes)
        if reading.closure is not None:
            nodes = [*nodes, reading.held_point(reading.closure.point, bases)]
        if hung:
            nodes = tied(
                nodes, reading.kinematics, reading.trials, len(reading.u) + len(reading.aux)
            )
        self.nodes: list[Node] = nodes
        self.hangs = any(node.parent >= 0 for node in nodes)
        self._motions: dict[bool, MovingNodes] = {}

    @property
    def closing(self) -> Moving | None:
        """The point that constraints hold, while no speed changes."""
        moving = self.motion(False).moving
        held = [k for k, node in enumerate(self.nodes) if node.held]
        return moving[held[0]] if held else None

    def motion(self, accelerated: bool) -> MovingNodes:
        """Of all nodes, with udot or without."""
        if accelerated not in self._motions:
            graph, u = self.reading.graph, self.reading.u
            zeros = (graph.zero,) * len(u)
            udot = graph.inputs("udot", len(u)) if accelerated else zeros
            kinematics, auxiliary = self.reading.kinematics, len(self.reading.aux)
            self._motions[accelerated] = MovingNodes(self.nodes, kinematics, u, udot, auxiliary)
        return self._motions[accelerated]

    def inertia(self, accelerated: bool) -> list[Expr]:
        """Generalized inertia forces with the opposite sign, of auxiliary speeds too."""
        motion = self.motion(accelerated)
        wrenches = inverse.inertia_forces(self.nodes, self.reading.kinematics, motion)
        return self._generalized(motion, wrenches)

    def resisting(self, accelerated: bool) -> list[Expr]:
        """The same less generalized active forces."""
        motion = self.motion(accelerated)
        inertia = inverse.inertia_forces(self.nodes, self.reading.kinematics, motion)
        acting = inverse.loads(self.nodes, self.reading.kinematics)
        pairs = zip(inertia, acting)
        return self._generalized(motion, [(a - c, b - d) for (a, b), (c, d) in pairs])

    @cached_property
    def active(self) -> list[Expr]:
        """Generalized active forces, of auxiliary speeds too."""
        acting = inverse.loads(self.nodes, self.reading.kinematics)
        return self._generalized(self.motion(False), acting)

    def _generalized(self, motion: MovingNodes, wrenches: Sequence[inverse.Wrench]) -> list[Expr]:
        count = len(self.reading.u) + len(self.reading.aux)
        return inverse.generalized(self.nodes, self.reading.kinematics, motion, wrenches, count)

    @cached_property
    def mass(self) -> list[list[Expr]]:
        """A row a speed, auxiliary ones included."""
        count = len(self.reading.u) + len(self.reading.aux)
        edges = self.motion(False).edges
        return mass.mass_rows(self.reading.graph, self.nodes, edges, count)

    def accelerations(self, right: Sequence[Expr]) -> list[Expr]:
        """The udot of M udot = right."""
        edges = self.motion(False).edges
        return forward.accelerations(self.reading.graph, self.nodes, edges, right)

    @cached_property
    def led(self) -> Expr:
        """Power of inertia forces, with the opposite sign, at what moves without any speeds."""
        graph, rest = self.reading.graph, self.motion(False).rest
        if all(each is graph.zero for pair in rest for vector in pair for each in vector):
            return graph.zero
        motion = self.motion(True)
        wrenches = inverse.inertia_forces(self.nodes, self.reading.kinematics, motion)
        pairs = zip(rest, wrenches)
        return graph.sum([a.dot(torque) + b.dot(force) for (a, b), (torque, force) in pairs])

    @cached_property
    def kinetic(self) -> Expr:
        """Kinetic energy."""
        graph, total = self.reading.graph, self.reading.graph.zero
        for node, moving in zip(self.nodes, self.motion(False).moving):
            if node.mass is not None:
                total = total + node.mass * moving.velocity.dot(moving.velocity)
            if node.inertia is not None:
                total = total + moving.omega.dot(node.inertia @ moving.omega)
        return graph.constant(0.5) * total


class GeneralEquations(Equations):
    """Equations of motion of a SymPy model, with all its speeds, as if there were no constraints.

    Parameters
    ----------
    name : str
    reading : Reading
    potential : expression of SymPy, optional
        Potential energy of loads, for `energy`.
    """

    def __init__(self, name: str, reading: Reading, potential: Any = None) -> None:
        self.name, self.reading = name, reading
        model = reading.model
        self.coordinate_names = tuple(map(symbol_name, model.q))
        self.speed_names = tuple(map(symbol_name, model.u))
        sizes = {"constants": len(reading.adjustable), "inputs": len(reading.fed)}
        self.parameters = tuple(Input(key, size) for key, size in sizes.items() if size)
        self._potential = reading.graph.zero
        if potential is not None:
            if not is_scalar(potential):
                raise ArgumentError(f"potential is {potential!r}, expected an expression of SymPy")
            self._potential = reading.convert(potential, "the potential")
        self._formal: dict[str, list[Expr]] = {}

    # ------------------------------------------------------------------------- how it is written
    @cached_property
    def formulations(self) -> tuple[Formulation, ...]:
        """All that come into question."""
        found = []
        ways: tuple[Bases, Bases] = ("inertial", "moving")
        if self.reading.has_aligned:
            ways = ("inertial", "aligned")
        for bases in ways:
            found.append(Formulation(self.reading, bases, True))
            if found[-1].hangs and len(self.speed_names) <= FEW:
                found.append(Formulation(self.reading, bases, False))
        return tuple(found)

    def formal(self, name: str) -> list[Expr]:
        """The expressions of a program over formal inputs."""
        if name not in self._formal:
            write: Callable[[Formulation], list[Expr]] = getattr(self, f"_{name}")
            written = [write(each) for each in self.formulations]
            self._formal[name] = min(written, key=lambda found: sum(_cost(found)))
        return self._formal[name]

    @cached_property
    def embedding(self) -> Embedding:
        """The equations of independent speeds: those that the model names as far as they do."""
        return Embedding(self, self._dependent())

    def _dependent(self) -> list[int]:
        reading, count = self.reading, len(self.reading.u)
        rows = [row for each in reading.constraints for row in each.rows]
        if not rows:
            return []
        matrix, _ = coefficients(reading, rows)
        masses = [row[k] for k, row in enumerate(self.formulations[0].mass[:count])]
        flat = [e for row in matrix for e in row[:count]]
        values = np.array(list(evaluations([*flat, *masses], reading.trials)))
        scale = 1.0 / np.sqrt(np.maximum(values[:, len(flat) :], 1e-12)).mean(axis=0)
        A = normalized(values[:, : len(flat)].reshape(-1, len(rows), count) * scale)[0]
        named = list(range(count - reading.model.dependent, count))
        block = A[:, :, named]
        if len(named) == len(rows) and (np.linalg.cond(block) < UNFIT).any():
            return named
        # those that are named come first, as far as rows are left for them
        weights = np.ones(count)
        weights[named] = PREFERRED
        order, _ = pivoted((A * weights)[:1])
        return sorted(int(k) for k in order[0, : len(rows)])

    def _put(self, name: str, given: Given) -> list[Expr]:
        return substituted(given.graph, self.formal(name), given.inputs)

    @cached_property
    def timed(self) -> bool:  # type: ignore[override]
        """Whether anything depends on time."""
        return any(node.entry[0] == "t" for node in reachable(self._stated) if node.op == "input")

    @cached_property
    def flows(self) -> bool:  # type: ignore[override]
        still = substituted(self.reading.graph, self.reading.qdot, {"u": self._still})
        return any(each is not self.reading.graph.zero for each in still)

    @cached_property
    def _stated(self) -> list[Expr]:
        """All that the equations follow from."""
        stated = self.formulations[-1].stated
        found = [*self.reading.qdot, self._potential]
        for each in self.reading.constraints:
            for row in each.rows:
                found += [row.velocity] if row.error is None else [row.velocity, row.error]
        for node in stated:
            vectors: list[Vector | None] = [node.omega, node.velocity, *node.forces, *node.torques]
            vectors += [*(node.inertia or ()), *node.turns.values(), *node.moves.values()]
            found += [e for v in vectors if v is not None for e in v]
            found += [node.mass] if node.mass is not None else []
        return found

    @cached_property
    def key(self) -> str:
        entries = {node.entry[0] for node in reachable(self._stated) if node.op == "input"}
        inputs = tuple(Input(name, 0) for name in sorted(entries))
        shape = (len(self._stated),)
        stated = Program(Signature("stated", inputs, shape), tuple(self._stated))
        nodes = [(n.name, sorted(n.turns), sorted(n.moves)) for n in self.formulations[-1].stated]
        held = [(each.name, len(each.rows)) for each in self.reading.constraints]
        sizes = (len(self.reading.aux), self.reading.model.dependent, len(self.reading.unknown))
        names = (self.coordinate_names, self.speed_names, self.parameters, nodes, held, sizes)
        return f"{names!r}\n{python_source(stated)}"

    # ---------------------------------------------------------------------------------- programs
    def coordinate_rates(self, given: Given) -> list[Expr]:
        return substituted(given.graph, self.reading.qdot, given.inputs)

    def mass_matrix(self, given: Given) -> list[Expr]:
        return self._put("mass_matrix", given)

    def bias(self, given: Given) -> list[Expr]:
        return self._put("bias", given)

    def inverse_dynamics(self, given: Given) -> list[Expr]:
        return self._put("inverse_dynamics", given)

    def forward_dynamics(self, given: Given) -> list[Expr]:
        return self._put("forward_dynamics", given)

    def energy(self, given: Given) -> list[Expr]:
        return self._put("energy", given)

    def losses(self, given: Given) -> list[Expr]:
        return self._put("losses", given)

    def further_power(self, given: Given) -> Expr:
        """Of what moves the mechanism as prescribed in time, and of friction by unknown forces."""
        return substituted(given.graph, [self._further_power], given.inputs)[0]

    @cached_property
    def powered(self) -> bool:  # type: ignore[override]
        return self._further_power is not self.reading.graph.zero

    @cached_property
    def _further_power(self) -> Expr:
        graph, reading, way = self.reading.graph, self.reading, self.formulations[0]
        rates_of = reading.changing([], "the potential")
        own = dict(zip(reading.q, substituted(graph, reading.qdot, {"u": self._still})))
        terms = [way.led, *rates(graph, [self._potential], {**rates_of, **own})]
        if reading.unknown and self.embedding.couples(way):
            free = substituted(graph, way.resisting(True), self.embedding.nothing)
            pairs = zip(reading.u, free, self._inverse_dynamics(way))
            terms += [u * (a - b) for u, a, b in pairs]
        return graph.sum(terms)

    @cached_property
    def _still(self) -> list[Expr]:
        return [self.reading.graph.zero] * len(self.speed_names)

    # ------------------------------------------------------------- how each formulation has them
    def _mass_matrix(self, way: Formulation) -> list[Expr]:
        count, graph = len(self.speed_names), self.reading.graph
        if self.embedding.couples(way):
            rates = graph.inputs("udot", count)
            rows = derivatives(graph, self._inverse_dynamics(way), rates)
            return [element for row in rows for element in row]
        return [element for row in way.mass[:count] for element in row[:count]]

    def _bias(self, way: Formulation) -> list[Expr]:
        return self.embedding.without_unknown(way, False)

    def _inverse_dynamics(self, way: Formulation) -> list[Expr]:
        return self.embedding.without_unknown(way, True)

    def _forward_dynamics(self, way: Formulation) -> list[Expr]:
        count, graph = len(self.speed_names), self.reading.graph
        tau = graph.inputs("tau", count)
        right = [a - b for a, b in zip(tau, self._bias(way))]
        if not self.embedding.couples(way):
            return way.accelerations(right)
        flat = self._mass_matrix(way)
        rows = [flat[count * k : count * (k + 1)] for k in range(count)]
        numbers = self.embedding.numbers(rows)
        return [row[0] for row in solved_columns(graph, rows, [[e] for e in right], numbers)]

    def _energy(self, way: Formulation) -> list[Expr]:
        return [way.kinetic, self._potential]

    def _losses(self, way: Formulation) -> list[Expr]:
        """Generalized active forces but for those of the potential."""
        graph, reading = self.reading.graph, self.reading
        count = len(self.speed_names)
        (by_q,) = derivatives(graph, [self._potential], reading.q)
        by_u = derivatives(graph, reading.qdot, reading.u)
        of_potential = [graph.sum([a * row[k] for a, row in zip(by_q, by_u)]) for k in range(count)]
        nothing = {"unknown": [graph.zero] * len(reading.unknown)}
        active = substituted(graph, way.active[:count], nothing)
        return [a + b for a, b in zip(active, of_potential)]


def symbol_name(symbol: Any) -> str:
    """Of a symbol or of a function of time."""
    return str(getattr(symbol, "name", None) or symbol.func.__name__)


def _cost(outputs: Sequence[Expr]) -> tuple[int, int]:
    counted = operations(outputs)
    return counted.total, 4 * counted.functions
