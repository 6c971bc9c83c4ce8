"""Forces, or impulses, of contacts that push and rub: a complementarity problem.

Rows move by w = b + W λ. Rows that hold have w = 0. A contact is open (no force, w not negative) or
closed (a force that pushes, w = 0); its friction sticks (w = 0, within the limit), is at its limit
while others stick, or slides (at the kinetic force, against w). Found by changing what is wrong;
where that comes back to where it was, from sliding all at once, and then by relaxation (projected
Gauss-Seidel). Where rows are redundant, forces are those of least norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.kane.recombination import REDUNDANT

AGREES = 1e-9
"""Share of what there is of velocities and forces, within which conditions are satisfied."""

FREE = 1e-7
"""Share of its motion that a contact must be left by others, to slip."""

VANISHED = 1e-24
"""Share of what the most mobile row moves by, below which a row cannot move."""

EXCHANGES = 20
"""Changes for each contact before relaxation is tried."""

SWEEPS = 4000
SWINGS = 8
"""Turns of directions of slip, after which they are taken to overshoot."""

TURNS = 60
"""Of directions of slip, which depend on the slip itself."""


class Mode(IntEnum):
    """Of a contact."""

    OPEN = 0
    STICKS = 1
    SLIDES = 2
    LIMITED = 3
    """Does not slide, as others hold it, but its friction is at its static limit."""


@dataclass
class Rub:
    """One contact, or one limited force, and how it was found to be.

    Attributes
    ----------
    normal : int
        Row that is pressed; -1 for a limited force that is not pressed by any.
    tangents : tuple of int
        Rows in which it rubs; none without friction.
    static, kinetic : float
        Factors of the force of the normal row, or forces.
    one_sided : bool
        Whether the normal row only pushes.
    mode : Mode
    direction : array
        Of slip, of length one.
    given : bool
        Whether it slides already, in the direction given.
    """

    normal: int
    tangents: tuple[int, ...]
    static: float
    kinetic: float
    one_sided: bool
    mode: Mode = Mode.STICKS
    direction: Array | None = None
    given: bool = False


RUBBING = (Mode.SLIDES, Mode.LIMITED)


class Unsolved(Exception):
    """There are no such forces."""


def solve(W: Array, b: Array, holding: Sequence[int], rubs: Sequence[Rub]) -> Array:
    """λ; the modes of the contacts are put into them.

    Raises
    ------
    Unsolved
        If no forces have been found.
    """
    scale = float(np.abs(b).max(initial=0.0))
    if scale == 0.0:
        scale = 1e-300
    found = _exchanged(W, b, holding, rubs, scale)
    for begin_anew in (_slide_all, _relax):
        if found is None:
            begin_anew(W, b, holding, rubs)
            found = _exchanged(W, b, holding, rubs, scale)
    if found is None and not any(rub.given for rub in rubs):
        return _relax(W, b, holding, rubs)
    if found is None:
        raise Unsolved
    return found


def _exchanged(
    W: Array, b: Array, holding: Sequence[int], rubs: Sequence[Rub], scale: float
) -> Array | None:
    seen: set[tuple[tuple[int, ...], ...]] = set()
    for _ in range(EXCHANGES * (len(rubs) + 1)):
        found = _in_modes(W, b, holding, rubs, AGREES * scale)
        if found is None:
            return None
        if not _changed(W, b, holding, found, rubs, scale):
            return found
        state = tuple(_said(rub) for rub in rubs)
        if state in seen:
            return None
        seen.add(state)
    return None


def _said(rub: Rub) -> tuple[int, ...]:
    if rub.mode not in RUBBING or rub.direction is None:
        return (int(rub.mode),)
    return (int(rub.mode), *(round(1e3 * each) for each in rub.direction.tolist()))


def _in_modes(
    W: Array, b: Array, holding: Sequence[int], rubs: Sequence[Rub], none: float
) -> Array | None:
    """λ in the present modes, with directions of slip turned to where they lead."""
    for turn in range(TURNS):
        found = _linear(W, b, holding, rubs)
        if not np.isfinite(found).all():
            return None
        turned = 0.0
        for rub in rubs:
            if rub.mode not in RUBBING or rub.given or len(rub.tangents) < 2:
                continue
            assert rub.direction is not None
            w = b[list(rub.tangents)] + W[list(rub.tangents)] @ found
            size = float(np.linalg.norm(w))
            if size > none and w @ rub.direction > 0.0:
                turned = max(turned, float(np.abs(w / size - rub.direction).max()))
                # Who overshoots goes half the way.
                there = w / size + (rub.direction if turn > SWINGS else 0.0)
                rub.direction = there / np.linalg.norm(there)
        if turned < 1e-13:
            break
    return found


def _linear(
    W: Array, b: Array, holding: Sequence[int], rubs: Sequence[Rub], constant: float = 1.0
) -> Array:
    """Force of all rows: those asked for have no velocity, those that slide follow from others.

    Forces that are given count as often as `constant` says.
    """
    asked = list(holding)
    for rub in rubs:
        if rub.mode == Mode.OPEN:
            continue
        if rub.one_sided:
            asked.append(rub.normal)
        if rub.mode == Mode.STICKS:
            asked += rub.tangents
    follow = np.zeros((len(b), len(asked)))
    fixed = np.zeros(len(b))
    follow[asked, range(len(asked))] = 1.0
    for rub in rubs:
        if rub.mode not in RUBBING or rub.direction is None:
            continue
        rows = list(rub.tangents)
        factor = rub.kinetic if rub.mode == Mode.SLIDES else rub.static
        if rub.normal < 0:
            fixed[rows] = -constant * factor * rub.direction
        elif rub.normal in asked:
            follow[rows, asked.index(rub.normal)] = -factor * rub.direction
    if not asked:
        return fixed
    right = -(b[asked] + W[asked] @ fixed)
    matrix = W[asked] @ follow
    try:
        own = _solved(matrix, right)
    except np.linalg.LinAlgError:
        return np.full(len(b), np.nan)
    return np.asarray(follow @ own + fixed)


def _solved(matrix: Array, right: Array) -> Array:
    if len(right) == 1:
        return right / matrix[0] if matrix[0, 0] != 0.0 else 0.0 * right
    sizes = np.abs(np.diagonal(matrix))
    there = sizes > VANISHED * sizes.max()
    if not there.all():  # what cannot move has no share in combinations of rows that vanish
        found = np.zeros(len(right))
        if there.any():
            found[there] = _solved(matrix[np.ix_(there, there)], right[there])
        return found
    units = 1.0 / np.sqrt(sizes)
    scaled = matrix * units[:, None] * units
    left, s, across = np.linalg.svd(scaled)
    if s[-1] > 1e-8 * s[0]:
        return np.asarray(units * np.linalg.solve(scaled, units * right))
    # Of all solutions the one of least norm, which is another one in other units.
    rank = int((s > REDUNDANT * s[0]).sum())
    one = units * (across[:rank].T @ ((left[:, :rank].T @ (units * right)) / s[:rank]))
    none = units[:, None] * across[rank:].T
    return np.asarray(one - none @ np.linalg.lstsq(none, one, rcond=None)[0])


def _changed(
    W: Array, b: Array, holding: Sequence[int], found: Array, rubs: Sequence[Rub], scale: float
) -> bool:
    """Change modes that are wrong; whether there were any.

    Of contacts that pull or that overlap the worst one; then all that reach their limits, and all
    that slip there; then the one that slips backward the most.
    """
    w = b + W @ found
    speed = AGREES * scale
    most = AGREES * float(np.abs(found).max(initial=0.0))
    pulling = [(float(-found[r.normal]), r) for r in rubs if r.one_sided and r.mode != Mode.OPEN]
    overlapping = [(float(-w[r.normal]), r) for r in rubs if r.mode == Mode.OPEN]
    for wrong, none, mode in ((pulling, most, Mode.OPEN), (overlapping, speed, Mode.STICKS)):
        if wrong:
            value, rub = max(wrong, key=lambda pair: pair[0])
            if value > none:
                rub.mode = Mode.SLIDES if rub.given and mode == Mode.STICKS else mode
                rub.direction = rub.direction if rub.given else None
                return True
    beyond = [rub for rub in rubs if rub.mode == Mode.STICKS and _is_beyond(found, rub, most)]
    for rub in beyond:
        force = found[list(rub.tangents)]
        rub.mode, rub.direction = Mode.LIMITED, -force / np.linalg.norm(force)
    if beyond:
        return True
    along = [
        (float(w[list(rub.tangents)] @ rub.direction), rub)
        for rub in rubs
        if rub.mode in RUBBING and not rub.given and rub.direction is not None
    ]
    slips = [
        rub
        for value, rub in along
        if rub.mode == Mode.LIMITED and (value > speed or _is_free(W, holding, rubs, rub))
    ]
    for rub in slips:
        rub.mode = Mode.SLIDES
    if slips or not along:
        return bool(slips)
    value, rub = min(along, key=lambda pair: pair[0])
    if value < -speed:
        rub.mode, rub.direction = Mode.STICKS, None
        return True
    return False


def _is_beyond(found: Array, rub: Rub, most: float) -> bool:
    if not rub.tangents:
        return False
    pressed = 1.0 if rub.normal < 0 else abs(float(found[rub.normal]))
    size = float(np.linalg.norm(found[list(rub.tangents)]))
    return size > rub.static * pressed * (1.0 + 1e-12) + 1e-6 * most


def _is_free(W: Array, holding: Sequence[int], rubs: Sequence[Rub], rub: Rub) -> bool:
    """Whether nothing that holds or sticks keeps a contact from slipping at its limit."""
    assert rub.direction is not None
    push = np.zeros(len(W))
    push[list(rub.tangents)] = rub.direction
    pushed = W @ push
    answer = _linear(W, pushed, holding, rubs, constant=0.0)
    moved = pushed + W @ answer
    return bool(moved @ push > FREE * (pushed @ push))


def _slide_all(W: Array, b: Array, holding: Sequence[int], rubs: Sequence[Rub]) -> None:
    """Let all contacts slide to where they would without friction."""
    found = _linear(W, b, holding, [_smooth(rub) for rub in rubs])
    w = b + W @ found if np.isfinite(found).all() else b
    for rub in rubs:
        slip = w[list(rub.tangents)]
        size = float(np.linalg.norm(slip))
        if rub.given:
            rub.mode = Mode.SLIDES
            continue
        slides = size > 0.0
        rub.mode = Mode.SLIDES if slides else Mode.STICKS
        rub.direction = slip / size if slides else None


def _smooth(rub: Rub) -> Rub:
    return Rub(rub.normal, (), 0.0, 0.0, rub.one_sided)


def _relax(W: Array, b: Array, holding: Sequence[int], rubs: Sequence[Rub]) -> Array:
    """What projected Gauss-Seidel comes to: forces, which always exist where nothing slides yet."""
    found = np.zeros(len(b))
    blocks = [([row], None) for row in holding]
    for _ in range(SWEEPS):
        before = found.copy()
        for rows, _rub in blocks:
            i = rows[0]
            if W[i, i] > 0.0:
                found[i] -= (b[i] + W[i] @ found) / W[i, i]
        for rub in rubs:
            _relax_one(W, b, found, rub)
        if np.abs(found - before).max(initial=0.0) <= 1e-14 * np.abs(found).max(initial=0.0):
            break
    most = AGREES * float(np.abs(found).max(initial=0.0))
    for rub in rubs:
        tangents = list(rub.tangents)
        pressed = 1.0 if rub.normal < 0 else abs(float(found[rub.normal]))
        size = float(np.linalg.norm(found[tangents]))
        if rub.one_sided and pressed <= most:
            rub.mode = Mode.OPEN
        elif rub.given:
            rub.mode = Mode.SLIDES
        elif tangents and size >= rub.kinetic * pressed * (1.0 - 1e-6) and size > 0.0:
            rub.mode, rub.direction = Mode.SLIDES, -found[tangents] / size
        else:
            rub.mode, rub.direction = Mode.STICKS, None
    return found


def _relax_one(W: Array, b: Array, found: Array, rub: Rub) -> None:
    if rub.one_sided:
        i = rub.normal
        found[i] = max(0.0, found[i] - (b[i] + W[i] @ found) / W[i, i]) if W[i, i] > 0.0 else 0.0
    tangents = list(rub.tangents)
    if not tangents:
        return
    limit = rub.kinetic * (1.0 if rub.normal < 0 else abs(found[rub.normal]))
    if rub.given and rub.direction is not None:  # it slides already
        found[tangents] = -limit * rub.direction
        return
    share = float(np.trace(W[np.ix_(tangents, tangents)]))
    if share <= 0.0:
        return
    force = found[tangents] - (b[tangents] + W[tangents] @ found) / share
    size = float(np.linalg.norm(force))
    found[tangents] = force if size <= limit else force * (limit / size)
