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
from kane_dynamics.symbolic.graph import Expr, reachable
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
        self._aligned: dict[Any, Any] = {}
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
        added = self.zero
        for measures, own in parts:
            axis = self._axis(measures)
            if axis is not None and own != frame:
                # other vectors are along the same axis
                size = measures[axis]
                unit = [self.graph.zero] * 3
                unit[axis] = self.graph.one
                added = added + size * self.gathered([(Vector(*unit), own)], frame)
                continue
            ways[own] = self._way(own, frame)
            waiting[own] = waiting[own] + measures if own in waiting else measures
        while True:
            away = [own for own in waiting if own != frame]
            if not away:
                return waiting.get(frame, self.zero) + added
            own = max(away, key=lambda each: len(ways[each]))
            measures, way = waiting.pop(own), ways[own]
            after = way[1]
            ways.setdefault(after, way[1:])
            turned = self.step(own, after) @ measures
            waiting[after] = waiting[after] + turned if after in waiting else turned

    def _axis(self, measures: Vector) -> int | None:
        """Of a vector along an axis of its frame, that does not depend on speeds, which axis."""
        there = [k for k in range(3) if measures[k] is not self.graph.zero]
        if len(there) != 1 or measures[there[0]] is self.graph.one:
            return None
        for node in reachable([measures[there[0]]]):
            if node.op == "input" and node.entry[0] in ("u", "aux"):
                return None
        return there[0]

    def _way(self, own: Any, frame: Any) -> list[Any]:
        """The frames between two; those left out that differ by an angle about the same axis."""
        way = self._path(own, frame, ORIENTATION)
        k = 1
        while k < len(way) - 1:
            a, b, c = way[k - 1 : k + 2]
            constant = [self._is_constant(a, b), self._is_constant(b, c)]
            if any(constant) and not all(constant):
                both = self.step(b, c).times(self.step(a, b))
                turning = self.step(b, c) if constant[0] else self.step(a, b)
                if _nonzero(both) <= _nonzero(turning):
                    self._steps[a, c], self._steps[c, a] = both, both.transposed
                    del way[k]
                    continue
            k += 1
        return way

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

    def aligned(self, frame: Any) -> Any:
        """A frame that stands still in this one, and in which what turns is oriented.

        So the orientations between the frames of bodies are rotations about single axes.
        """
        if frame not in self._aligned:
            self._aligned[frame] = self._aligned_frame(frame)
        return self._aligned[frame]

    def inward(self, frame: Any) -> Any:
        """The next frame towards the inertial one, None if there is none between."""
        if frame == self.inertial:
            return None
        after = self._path(frame, self.inertial, ORIENTATION)[1]
        return None if after == self.inertial else after

    def is_fixed(self, frame: Any, other: Any) -> bool:
        """Whether one frame is known to stand still in the other."""
        if frame == other:
            return True
        try:
            way = self._path(frame, other, ORIENTATION)
        except ModelError:
            return False
        return all(self._is_constant(a, b) for a, b in pairwise(way))

    def _aligned_frame(self, frame: Any) -> Any:
        fixed = [frame]
        for each in fixed:
            for other in each._dcm_dict:
                if other not in fixed and self._is_constant(each, other):
                    fixed.append(other)
        if self.inertial in fixed:
            return frame
        way = self._path(frame, self.inertial, ORIENTATION)
        inward = next(each for each, after in pairwise(way) if after not in fixed)
        outer = {
            each: sum(other not in fixed and other not in way for other in each._dcm_dict)
            for each in fixed
        }
        best = max(fixed, key=lambda each: outer[each])
        return best if outer[best] else inward

    def _is_constant(self, own: Any, after: Any) -> bool:
        return all(each.op == "const" for row in self.step(own, after) for each in row)

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


def _nonzero(matrix: Matrix) -> int:
    return sum(each.op != "const" or each.value != 0.0 for row in matrix for each in row)


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
