"""Orientations, positions and velocities of a SymPy model as vectors of the graph.

Every vector is given by its measure numbers in one frame of the model. What the model states, dcm
between neighbouring frames, angular velocities, positions and velocities, is taken as it stands;
what it does not state is derived from that. SymPy itself is never asked to multiply or to
differentiate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from kane_dynamics.errors import ModelError
from kane_dynamics.symbolic.derivative import rates
from kane_dynamics.symbolic.from_sympy import Conversion
from kane_dynamics.symbolic.graph import Expr
from kane_dynamics.symbolic.vector import Matrix, Vector, vector

ORIENTATION, ROTATION = 0, 1
"""Which of the relations between frames SymPy's paths are about."""


class Kinematics:
    """Frames and points of a model.

    Parameters
    ----------
    inertial : ReferenceFrame
    convert : Conversion
        Knows all symbols, and the rates of coordinates.
    changing : callable
        Rates of all inputs that some expressions depend on, as `rates` takes them.
    """

    def __init__(
        self,
        inertial: Any,
        convert: Conversion,
        changing: Callable[[Sequence[Expr], str], dict[Expr, Expr]],
    ) -> None:
        self.inertial, self.convert, self.graph = inertial, convert, convert.graph
        self._changing = changing
        self._steps: dict[tuple[Any, Any], Matrix] = {}
        self._velocities: dict[tuple[Any, Any], Vector] = {}
        self._spins: dict[tuple[Any, Any], Vector] = {}
        self.zero = vector(self.graph, (0, 0, 0))

    # ----------------------------------------------------------------------------- orientations
    def in_frame(self, given: Any, frame: Any, where: str) -> Vector:
        """A vector of SymPy by its measure numbers in a frame."""
        parts = [
            (Vector(*(self.convert(each, where) for each in measures)), own)
            for measures, own in given.args
        ]
        return self.gathered(parts, frame)

    def gathered(self, parts: Sequence[tuple[Vector, Any]], frame: Any) -> Vector:
        """The sum of vectors of several frames, in one: what comes the same way comes together."""
        waiting: dict[Any, Vector] = {}
        ways: dict[Any, list[Any]] = {}
        for measures, own in parts:
            ways[own] = self._path(own, frame, ORIENTATION)
            waiting[own] = waiting[own] + measures if own in waiting else measures
        while True:
            away = [own for own in waiting if own != frame]
            if not away:
                return waiting.get(frame, self.zero)
            own = max(away, key=lambda each: len(ways[each]))
            measures, way = waiting.pop(own), ways[own]
            after = way[1]
            ways.setdefault(after, way[1:])
            turned = self.step(own, after) @ measures
            waiting[after] = waiting[after] + turned if after in waiting else turned

    def turned(self, v: Vector, own: Any, frame: Any) -> Vector:
        """A vector of one frame in another."""
        return self.gathered([(v, own)], frame)

    def rotation(self, own: Any, frame: Any) -> Matrix:
        """What takes measure numbers of one frame to those of another."""
        columns = [self.turned(vector(self.graph, unit), own, frame) for unit in UNITS]
        return Matrix(*columns).transposed

    def step(self, own: Any, after: Any) -> Matrix:
        """The same for frames that the model has oriented against each other."""
        found = self._steps.get((own, after))
        if found is None:
            where = f"the orientation of frame {after} in frame {own}"
            elements = after.dcm(own).tolist()
            rows = (Vector(*(self.convert(each, where) for each in row)) for row in elements)
            found = self._steps[own, after] = Matrix(*rows)
            self._steps[after, own] = found.transposed
        return found

    def distance(self, own: Any, frame: Any) -> int:
        """How many orientations lie between two frames."""
        return len(self._path(own, frame, ORIENTATION)) - 1

    def oriented(self, frame: Any) -> Any:
        """The frame, or the nearest that carries it and whose orientation is stated."""
        for each in self._path(frame, self.inertial, ROTATION):
            try:
                self._path(each, self.inertial, ORIENTATION)
            except ModelError:
                continue
            return each
        return self.inertial

    def _path(self, own: Any, frame: Any, relation: int) -> list[Any]:
        if own == frame:
            return [own]
        try:
            return list(own._dict_list(frame, relation))
        except ValueError:
            what = "orientation" if relation == ORIENTATION else "angular velocity"
            raise ModelError(
                f"the {what} of frame {own} in frame {frame} is not defined, expected one"
            ) from None

    # ------------------------------------------------------------------------------- velocities
    def angular_velocity(self, frame: Any, basis: Any) -> Vector:
        """Of a frame in the inertial one, as stated."""
        if (frame, basis) not in self._spins:
            path = self._path(frame, self.inertial, ROTATION)
            parts = []
            for own, after in pairwise(path):
                where = f"the angular velocity of frame {own} in frame {after}"
                parts += self._parts(own._ang_vel_dict[after], where)
            self._spins[frame, basis] = self.gathered(parts, basis)
        return self._spins[frame, basis]

    def velocity(self, point: Any, basis: Any) -> Vector:
        """Of a point in the inertial frame: as stated, or derived from positions."""
        if (point, basis) not in self._velocities:
            self._velocities[point, basis] = self._velocity(point, basis)
        return self._velocities[point, basis]

    def _velocity(self, point: Any, basis: Any) -> Vector:
        path = self._to_known(point)
        if path is None:
            raise ModelError(
                f"the velocity of point {point} in frame {self.inertial} is not defined, nor its "
                "position from a point of known velocity"
            )
        known = path[-1]
        where = f"the velocity of point {known}"
        parts = self._parts(known._vel_dict[self.inertial], where)
        if len(path) > 1:
            parts += [
                (self.rate(measures, own, f"the position of point {point}"), own)
                for measures, own in self._position(path)
            ]
        return self.gathered(parts, basis)

    def rate(self, measures: Vector, frame: Any, where: str) -> Vector:
        """Derivative, in the inertial frame, of a vector given in some frame."""
        inner = Vector(*rates(self.graph, measures, self._changing(measures, where)))
        if frame == self.inertial:
            return inner
        return inner + self.angular_velocity(frame, frame).cross(measures)

    def inner_rate(self, measures: Sequence[Expr], where: str) -> list[Expr]:
        """Rates of measure numbers while no speed changes."""
        return rates(self.graph, measures, self._changing(measures, where))

    # -------------------------------------------------------------------------------- positions
    def position(self, start: Any, end: Any) -> list[tuple[Vector, Any]] | None:
        """From one point to another, in parts by frame; None where it is not stated."""
        path = _shortest(end, lambda point: point == start)
        return None if path is None else self._position(path)

    def _position(self, path: Sequence[Any]) -> list[tuple[Vector, Any]]:
        parts: list[tuple[Vector, Any]] = []
        for own, after in pairwise(path):
            where = f"the position of point {own} from point {after}"
            parts += self._parts(own._pos_dict[after], where)
        return parts

    def _to_known(self, point: Any) -> list[Any] | None:
        return _shortest(point, lambda each: self.inertial in each._vel_dict)

    def _parts(self, given: Any, where: str) -> list[tuple[Vector, Any]]:
        return [
            (Vector(*(self.convert(each, where) for each in measures)), own)
            for measures, own in getattr(given, "args", ())
        ]


UNITS = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def _shortest(point: Any, found: Callable[[Any], bool]) -> list[Any] | None:
    """The points that stated positions lead over, to the first that is what is looked for."""
    paths, seen = [[point]], {point}
    while paths:
        if (reached := next((path for path in paths if found(path[-1])), None)) is not None:
            return reached
        longer = []
        for path in paths:
            for after in path[-1]._pos_dict:
                if after not in seen:
                    seen.add(after)
                    longer.append([*path, after])
        paths = longer
    return None
