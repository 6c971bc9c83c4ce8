"""A model as expressions: rates of coordinates, nodes with their inertia and loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from random import Random
from typing import Any, Literal

import numpy as np

from kane_dynamics.errors import ArgumentError, ModelError
from kane_dynamics.kane.general.closures import Closure, closure
from kane_dynamics.kane.general.held import held_rows
from kane_dynamics.kane.general.kinematics import Kinematics
from kane_dynamics.kane.general.model import Model
from kane_dynamics.kane.general.nodes import Node, columns, is_still
from kane_dynamics.kane.general.solving import solved_exactly
from kane_dynamics.symbolic.derivative import derivatives
from kane_dynamics.symbolic.evaluate import evaluations
from kane_dynamics.symbolic.from_sympy import Conversion
from kane_dynamics.symbolic.graph import Expr, Graph, reachable
from kane_dynamics.symbolic.substitution import substituted
from kane_dynamics.symbolic.vector import Matrix, Vector

Bases = Literal["inertial", "moving", "aligned"]

TRIALS = 4
"""Configurations at which it is judged what is zero."""


class Reading:
    """The expressions of a model, in a graph of their own.

    They are over inputs ``t``, ``q``, ``u`` and ``aux`` (auxiliary speeds), ``unknown`` (forces
    that these bring into evidence), ``constants`` (those that can be adjusted) and ``inputs``.

    Parameters
    ----------
    model : Model
    constants : mapping from symbol to number
    adjustable : sequence of symbol
        Which of these are given at run time.
    inputs : sequence
        Symbols and functions of time that are given at run time.
    """

    def __init__(
        self,
        model: Model,
        constants: Mapping[Any, float],
        adjustable: Sequence[Any] = (),
        inputs: Sequence[Any] = (),
    ) -> None:
        from sympy.physics.mechanics import dynamicsymbols

        self.model, self.graph = model, Graph()
        self.adjustable, self.fed = tuple(adjustable), tuple(inputs)
        graph, self._time = self.graph, dynamicsymbols._t
        self.unknown: list[Any] = []
        self.redundant: list[str] = []
        (self.t,) = graph.inputs("t", 1)
        self.q = graph.inputs("q", len(model.q))
        self.u = graph.inputs("u", len(model.u))
        self.aux = graph.inputs("aux", len(model.auxiliary))
        self.inputs = graph.inputs("inputs", len(self.fed))
        known = {each: graph.constant(value) for each, value in constants.items()}
        known.update(zip(self.adjustable, graph.inputs("constants", len(self.adjustable))))
        known.update(zip(self.fed, self.inputs))
        known.update({**dict(zip(model.q, self.q)), self._time: self.t})
        known.update(zip(model.auxiliary, self.aux))
        self._stated = list(self.u)
        if model.stated:
            self._stated = self._stated_speeds(known)
        known.update(zip(model.stated or model.u, self._stated))
        known.update(zip(model.u, self.u))
        self.convert = Conversion(graph, known, self._refuse_unknown)
        self.qdot = self._coordinate_rates()
        for coordinate, rate in zip(model.q, self.qdot):
            self.convert.learn(coordinate.diff(self._time), rate)
        self.kinematics = Kinematics(model.frame, self.convert, self.changing)
        self.constraints = tuple(held_rows(self))
        if model.auxiliary:  # which bring forces into evidence
            for _, what in model.loads:
                for measures, _ in what.args if hasattr(what, "separate") else ():
                    for each in measures:
                        self._learn_unknown(each)
        if len(self.unknown) not in (0, len(self.aux)):
            raise ModelError(
                f"{len(self.unknown)} unknown forces ({', '.join(map(str, self.unknown))}) "
                f"stand beside {len(self.aux)} auxiliary speeds, expected as many: give "
                "the values of others in constants, or name them in inputs"
            )

    def _stated_speeds(self, known: Mapping[Any, Expr]) -> list[Expr]:
        """The speeds of the model, as they follow from those that were chosen instead."""
        graph, model = self.graph, self.model
        before = graph.inputs("stated", len(model.stated))
        convert = Conversion(
            graph, {**known, **dict(zip(model.stated, before))}, self._refuse_unknown
        )
        given = [convert(each, f"the speed {name}") for each, name in zip(model.chosen, model.u)]
        rows = derivatives(graph, given, before)
        for row, name in zip(rows, model.u):
            if any(node.op == "input" and node.entry[0] == "stated" for node in reachable(row)):
                raise ModelError(f"the speed {name} is not linear in the speeds of the model")
        rest = substituted(graph, given, {"stated": [graph.zero] * len(before)})
        right = [w - each for w, each in zip(self.u, rest)]
        trials = [{**each, "stated": each["u"]} for each in self.trials]
        flat = [e for row in rows for e in row]
        values = np.array(list(evaluations(flat, trials))).reshape(len(trials), len(rows), -1)
        if not np.isfinite(values).all() or (np.linalg.matrix_rank(values) < len(rows)).all():
            raise ModelError(
                f"the speeds {', '.join(map(str, model.u))} do not determine those of the model"
            )
        return solved_exactly(graph, rows, right, values)

    # ------------------------------------------------------------------------------- kinematics
    def _coordinate_rates(self) -> list[Expr]:
        """The q̇ that solve the kinematical equations."""
        graph, model = self.graph, self.model
        name = "the kinematical equation {} (of {})"
        right, rows = [], []
        for k, (rates, speeds, offset) in enumerate(zip(model.rates, model.speeds, model.offsets)):
            where = name.format(k + 1, model.q[k])
            rows.append([self.convert(each, where) for each in rates])
            terms = [self.convert(each, where) * u for each, u in zip(speeds, self._stated)]
            right.append(-(graph.sum(terms) + self.convert(offset, where)))
        values = np.array(list(evaluations([e for row in rows for e in row], self.trials)))
        matrices = values.reshape(len(self.trials), len(rows), -1)
        if not np.isfinite(matrices).all() or (np.linalg.matrix_rank(matrices) < len(rows)).all():
            raise ModelError(
                "the kinematical equations cannot be solved for the rates of "
                f"{', '.join(map(str, model.q))}"
            )
        return solved_exactly(graph, rows, right, matrices)

    def changing(self, outputs: Sequence[Expr], where: str) -> dict[Expr, Expr]:
        """Rates of coordinates, of time, and of inputs as far as these are inputs themselves."""
        found = {**dict(zip(self.q, self.qdot)), self.t: self.graph.one}
        if self.inputs:
            rated = self._rated_inputs
            found.update(rated)
            for node in reachable(outputs):
                if node.op == "input" and node.entry[0] == "inputs" and node not in rated:
                    given = self.fed[node.entry[1]]
                    raise ModelError(
                        f"{where} depends on the input {given}, whose rate is needed: expected "
                        f"Derivative({given}, t) among the inputs"
                    )
        return found

    @cached_property
    def _rated_inputs(self) -> dict[Expr, Expr]:
        places = dict(zip(self.fed, self.inputs))
        rates = {x: each.diff(self._time) for each, x in places.items()}
        return {x: places[rate] for x, rate in rates.items() if rate in places}

    # ------------------------------------------------------------------------------------ nodes
    def nodes(self, bases: Bases) -> list[Node]:
        """Bodies and what loads act on; velocities of points in the inertial frame, or in others.

        Parameters
        ----------
        bases : str
            Whether velocities are given in the inertial frame, in frames that move along, or in
            those that are aligned with what turns in them.
        """
        found: list[Node] = []
        for body in self.model.bodies:
            if self._moves(body):  # of what stands still nothing need be known
                found.append(self._body(body, bases))
        for where, what in self.model.loads:
            self._load(found, where, what, bases)
        return [self._with_columns(node) for node in found]

    @property
    def has_aligned(self) -> bool:
        """Whether frames of bodies are not those in which what turns is oriented."""
        kinematics = self.kinematics
        frames = [each.frame for each in self.model.bodies if getattr(each, "frame", None)]
        oriented = map(kinematics.oriented, frames)
        return any(kinematics.aligned(each) != each for each in oriented)

    def held_point(self, point: Any, bases: Bases) -> Node:
        """A point that constraints hold."""
        node = self._point(f"point {point.name}", point, bases)
        return replace(self._with_columns(node), held=True)

    @cached_property
    def closure(self) -> Closure | None:
        """The point that constraints hold, if there is one."""
        return closure(self)

    def _is_still(self, where: Any) -> bool:
        """Whether a load acts on what never moves."""
        from sympy.physics.mechanics import Point, ReferenceFrame

        inertial, kinematics = self.kinematics.inertial, self.kinematics
        moved: Sequence[Expr] = [self.graph.one]
        if isinstance(where, Point):
            moved = kinematics.velocity(where, inertial)
        elif isinstance(where, ReferenceFrame):
            moved = kinematics.angular_velocity(where, kinematics.oriented(where))
        return all(each is self.graph.zero for each in moved)

    def _moves(self, body: Any) -> bool:
        if not hasattr(body, "mass") or not hasattr(body, "masscenter"):
            raise ArgumentError(f"bodies has {body!r}, expected RigidBody or Particle")
        inertial, kinematics = self.kinematics.inertial, self.kinematics
        velocity = list(kinematics.velocity(body.masscenter, inertial))
        frame = getattr(body, "frame", None)
        if frame is not None and frame != inertial:
            velocity += kinematics.angular_velocity(frame, kinematics.oriented(frame))
        return any(each is not self.graph.zero for each in velocity)

    def _body(self, body: Any, bases: Bases) -> Node:
        from sympy.physics.mechanics import Particle

        kinematics, name = self.kinematics, str(body.name)
        mass = self.convert(body.mass, f"the mass of {name}")
        if isinstance(body, Particle) or getattr(body, "frame", None) is None:
            return self._point(name, body.masscenter, bases, mass=mass)
        own = kinematics.oriented(body.frame)
        if all(e is self.graph.zero for e in kinematics.angular_velocity(body.frame, own)):
            # what does not turn needs no inertia but its mass
            return self._point(name, body.masscenter, bases, mass=mass)
        frame, inertia = self._inertia(body)
        if bases == "aligned":
            turns = frame == own == body.frame
            inward = kinematics.inward(own) if turns else None
            if inward is not None and self._is_same(inertia, frame, inward):
                frame = inward
            frame, inertia = self._aligned(frame, inertia)
        omega = kinematics.angular_velocity(body.frame, frame)
        basis = kinematics.inertial if bases == "inertial" else frame
        velocity = kinematics.velocity(body.masscenter, basis)
        return Node(name, body.masscenter, body.frame, frame, basis, omega, velocity, mass, inertia)

    def _inertia(self, body: Any) -> tuple[Any, Matrix]:
        """Central inertia, in the frame in which it is stated if the body is rigid that way."""
        dyadic, own = body.central_inertia, self.kinematics.oriented(body.frame)
        where = f"the inertia of {body.name}"
        stated = {axis.args[0][1] for _, *axes in dyadic.args for axis in axes}
        for frame in sorted(stated - {own}, key=str) if len(stated) == 1 else ():
            found = self._tensor(dyadic, frame, where)
            turn = self.kinematics.rotation(frame, own)
            flat = [e for row in turn for e in row] + [e for row in found for e in row]
            values = np.array(list(evaluations(flat, self.trials))).reshape(-1, 2, 3, 3)
            seen = values[:, 0] @ values[:, 1] @ np.swapaxes(values[:, 0], -1, -2)
            if np.ptp(seen, axis=0).max() <= 1e-12 * np.abs(seen).max():
                return frame, found
        return own, self._tensor(dyadic, own, where)

    def _is_same(self, inertia: Matrix, frame: Any, other: Any) -> bool:
        """Whether inertia has the same elements in another frame, as that of a wheel has."""
        turn = self.kinematics.rotation(frame, other)
        flat = [e for row in turn for e in row] + [e for row in inertia for e in row]
        values = np.array(list(evaluations(flat, self.trials))).reshape(-1, 2, 3, 3)
        seen = values[:, 0] @ values[:, 1] @ np.swapaxes(values[:, 0], -1, -2)
        return bool(np.abs(seen - values[:, 1]).max() <= 1e-12 * np.abs(seen).max())

    def _aligned(self, frame: Any, inertia: Matrix) -> tuple[Any, Matrix]:
        """Inertia in the frame that is aligned with what turns in its own."""
        other = self.kinematics.aligned(frame)
        if other == frame or not all(is_still(each) for row in inertia for each in row):
            return frame, inertia
        turn = self.kinematics.rotation(frame, other)
        rows = turn.times(inertia).times(turn.transposed)
        flat = [rows[min(i, j)][max(i, j)] for i in range(3) for j in range(3)]
        values = np.abs(np.array(list(evaluations(flat, self.trials)))).max(axis=0)
        noise, zero = 1e-15 * values.max(), self.graph.zero
        clean = [zero if value <= noise else e for e, value in zip(flat, values)]
        return other, Matrix(*(Vector(*clean[k : k + 3]) for k in (0, 3, 6)))

    def _tensor(self, dyadic: Any, frame: Any, where: str) -> Matrix:
        rows = dyadic.to_matrix(frame).tolist()
        return Matrix(*(Vector(*(self.convert(each, where) for each in row)) for row in rows))

    def _point(self, name: str, point: Any, bases: Bases, mass: Expr | None = None) -> Node:
        kinematics = self.kinematics
        basis = kinematics.inertial if bases == "inertial" else self._basis(point)
        basis = kinematics.aligned(basis) if bases == "aligned" else basis
        velocity = kinematics.velocity(point, basis)
        return Node(name, point, None, basis, basis, None, velocity, mass)

    def _basis(self, point: Any) -> Any:
        """The outermost frame in which a part of the velocity or of the position is given."""
        kinematics = self.kinematics
        given = list(point._pos_dict.values())
        stated = point._vel_dict.get(kinematics.inertial)
        given = [stated] if stated is not None and stated != 0 else given
        frames = [own for each in given for _, own in getattr(each, "args", ())]
        return max(
            [kinematics.inertial, *frames],
            key=lambda frame: kinematics.distance(frame, kinematics.inertial),
        )

    def _load(self, nodes: list[Node], where: Any, what: Any, bases: Bases) -> None:
        """Let a load act on the node that it belongs to."""
        from sympy.physics.mechanics import Point, ReferenceFrame
        from sympy.physics.vector import Vector as PhysicalVector

        kinematics = self.kinematics
        body_frame = getattr(where, "frame", None)
        if not isinstance(where, (Point, ReferenceFrame)) and body_frame is not None:
            where = body_frame
        text = f"the load at {getattr(where, 'name', where)}"
        if not isinstance(what, PhysicalVector) and what != 0:
            raise ArgumentError(f"{text} is {what!r}, expected a vector")
        if self._is_still(where):
            return
        if isinstance(where, Point):
            place = next((k for k, node in enumerate(nodes) if node.point == where), -1)
            if place < 0:
                nodes.append(self._point(f"point {where.name}", where, bases))
            node = nodes[place]
            force = kinematics.in_frame(what, node.basis, text) if what != 0 else kinematics.zero
            nodes[place] = replace(node, forces=(*node.forces, force))
        elif isinstance(where, ReferenceFrame):
            turning = [k for k, n in enumerate(nodes) if n.omega is not None and n.body == where]
            place = turning[0] if turning else -1
            if not turning:
                frame = kinematics.oriented(where)
                omega = kinematics.angular_velocity(where, frame)
                name = f"frame {where.name}"
                nodes.append(Node(name, None, where, frame, frame, omega, None))
            node = nodes[place]
            torque = kinematics.in_frame(what, node.frame, text) if what != 0 else kinematics.zero
            nodes[place] = replace(node, torques=(*node.torques, torque))
        else:
            raise ArgumentError(f"{text}: expected a point for a force, or a frame for a torque")

    def _with_columns(self, node: Node) -> Node:
        speeds = [*self.u, *self.aux]
        turns, moves = columns(node.omega, speeds), columns(node.velocity, speeds)
        for each in (*turns.values(), *moves.values()):
            for leaf in reachable(each):
                if leaf.op == "input" and leaf.entry[0] in ("u", "aux"):
                    speed = (self.model.u if leaf.entry[0] == "u" else self.model.auxiliary)[
                        leaf.entry[1]
                    ]
                    raise ModelError(
                        f"the velocity of {node.name} is not linear in the speed {speed}"
                    )
        still = {"aux": [self.graph.zero] * len(self.aux)}
        omega, velocity = (
            None if v is None else Vector(*substituted(self.graph, v, still))
            for v in (node.omega, node.velocity)
        )
        return replace(node, turns=turns, moves=moves, omega=omega, velocity=velocity)

    # ---------------------------------------------------------------------------------- numbers
    @cached_property
    def trials(self) -> list[dict[str, list[float]]]:
        """Inputs at which it is judged what is zero."""
        model, choose = self.model, Random(7)
        sizes = {"t": 1, "q": len(model.q), "u": len(model.u), "aux": len(model.auxiliary)}
        sizes.update(constants=len(self.adjustable), inputs=len(self.fed), unknown=64)
        return [
            {name: [choose.uniform(0.3, 1.4) for _ in range(n)] for name, n in sizes.items()}
            for _ in range(TRIALS)
        ]

    def _learn_unknown(self, expression: Any) -> None:
        from sympy.core.function import AppliedUndef

        if self.convert.knows(expression):
            return
        symbols = expression.atoms(AppliedUndef) | expression.free_symbols
        for symbol in sorted(symbols - {self._time}, key=str):
            if not self.convert.knows(symbol):
                self.unknown.append(symbol)
                place = self.graph.inputs("unknown", len(self.unknown))[-1]
                self.convert.learn(symbol, place)

    def _refuse_unknown(self, symbol: Any, where: str) -> Exception:
        if symbol.is_Derivative:
            base = symbol.expr
            if base in self.model.u or base in self.model.auxiliary or base in self.model.q:
                first = base in self.model.q and symbol.derivative_count == 1
                what = "rate" if first else "acceleration"
                return ModelError(
                    f"{where} has the {what} {symbol}, expected coordinates, speeds and time"
                )
        return ModelError(
            f"{where} has {symbol}, which is neither coordinate, speed, input nor constant: give "
            "its value in constants, or name it in inputs"
        )
