"""The table of partial velocities, as vectors of SymPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kane_dynamics.kane.general.model import Model


@dataclass(frozen=True, eq=False)
class PartialVelocities(Mapping[str, Mapping[Any, Any]]):
    """For every point and frame the vector that belongs to each speed.

    ``table["P"][u1]`` is the partial velocity of point P for u1, ``table["B"][u1]`` the partial
    angular velocity of frame B. Printed it is a table, `latex` gives the same for a paper.

    Attributes
    ----------
    speeds : tuple
        Auxiliary ones last.
    rows : dict from str to dict from speed to Vector
    """

    speeds: tuple[Any, ...]
    rows: Mapping[str, Mapping[Any, Any]]

    def __getitem__(self, name: str) -> Mapping[Any, Any]:
        from kane_dynamics.names import unknown_name

        if name not in self.rows:
            raise unknown_name("point or frame", name, self.rows)
        return self.rows[name]

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        head = ["", *(_name(each) for each in self.speeds)]
        body = [
            [name, *(_text(row[speed]) for speed in self.speeds)] for name, row in self.rows.items()
        ]
        widths = [max(len(row[k]) for row in [head, *body]) for k in range(len(head))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)) for row in [head, *body]]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def latex(self) -> str:
        """The table as a ``tabular`` environment."""
        from sympy.physics.vector import vlatex

        head = " & ".join(["", *(f"${vlatex(each)}$" for each in self.speeds)])
        lines = [rf"\begin{{tabular}}{{l{'l' * len(self.speeds)}}}", rf"{head} \\ \hline"]
        for name, row in self.rows.items():
            cells = [name, *(f"${_latex(row[speed])}$" for speed in self.speeds)]
            lines.append(rf"{' & '.join(cells)} \\")
        return "\n".join([*lines, r"\end{tabular}", ""])


def partial_velocities(model: Model) -> PartialVelocities:
    """Of centres of mass, points and frames of bodies, and of those on which loads act."""
    rates = dict(model.solved)
    if model.stated:
        import sympy

        found = sympy.solve(
            [a - b for a, b in zip(model.chosen, model.u)], model.stated, dict=True, simplify=False
        )[0]
        rates = {key: value.xreplace(found) for key, value in rates.items()}
        rates.update(found)
    speeds = (*model.u, *model.auxiliary)
    rows: dict[str, Mapping[Any, Any]] = {}
    for thing in _things(model):
        is_frame = not hasattr(thing, "vel")
        velocity = thing.ang_vel_in(model.frame) if is_frame else thing.vel(model.frame)
        rows.setdefault(str(thing.name), _columns(velocity, speeds, rates))
    return PartialVelocities(speeds, rows)


def _things(model: Model) -> list[Any]:
    found: list[Any] = []
    for body in model.bodies:
        found += [body.masscenter, getattr(body, "frame", None)]
    found += [getattr(where, "frame", None) or where for where, _ in model.loads]
    known: list[Any] = []
    for each in found:
        if each is not None and each not in known and each != model.frame:
            known.append(each)
    return known


def _columns(velocity: Any, speeds: Sequence[Any], rates: Mapping[Any, Any]) -> dict[Any, Any]:
    """Coefficients of the speeds, in the frames in which the velocity is stated."""
    from sympy.physics.vector import Vector

    found = {speed: Vector(0) for speed in speeds}
    for measures, frame in velocity.args:
        inserted = measures.xreplace(rates)
        for speed in speeds:
            column = inserted.diff(speed)
            if any(each != 0 for each in column):
                found[speed] += Vector([(column, frame)])
    return found


def _name(symbol: Any) -> str:
    return str(getattr(symbol, "name", None) or symbol)


def _text(vector: Any) -> str:
    from sympy.physics.vector import vsstrrepr

    return str(vsstrrepr(vector)) if vector != 0 else "0"


def _latex(vector: Any) -> str:
    from sympy.physics.vector import vlatex

    return str(vlatex(vector)) if vector != 0 else "0"
