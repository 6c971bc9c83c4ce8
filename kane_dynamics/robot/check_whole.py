"""Rules about the robot as a whole: numbers that were copied, guessed, or given in other units."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.robot.survey import Survey, Violation

_SHOWN = 5
_LIGHTEST, _HEAVIEST = 0.02, 2000.0
"""Bounds on mass over size cubed in kg/m³; real robots, drones to humanoids, have 2 to 300."""


def masses_too_large(survey: Survey) -> Iterator[Violation]:
    """Find robots heavier than if cast in one piece: masses given in gram."""
    mass, size = float(survey.bodies.mass.sum()), max(_length(survey), _width(survey))
    if 0.0 < size < (mass / _HEAVIEST) ** (1 / 3):
        yield survey.at_link(
            survey.bodies.main[0],
            f"is the base of a robot of {mass:.4g} kg that measures {size:.2g} m from end to end:"
            " give masses in kg, they look as if in g, and lengths in m",
        )


def lengths_too_large(survey: Survey) -> Iterator[Violation]:
    """Find robots too large for their mass: lengths given in millimetres."""
    mass, size = float(survey.bodies.mass.sum()), _length(survey)
    if 0.0 < (mass / _LIGHTEST) ** (1 / 3) < size:
        yield survey.at_link(
            survey.bodies.main[0],
            f"is the base of a robot of {mass:.4g} kg that measures {size:.3g} m from end to end:"
            " give lengths in m, they look as if in mm, and masses in kg",
        )


def inertia_about_origin(survey: Survey) -> Iterator[Violation]:
    """Find robots whose inertias are mostly so large that they contain m c cᵀ.

    Inertia about the origin of a link exceeds that about its centre of mass c by this term. A
    single link may look so by nature; of the links of a sound robot only few do.
    """
    parts, bodies = survey.parts, survey.bodies
    span = bodies.span[parts.body]
    chosen = np.flatnonzero(
        (parts.body > 0) & (parts.mass > 0.5 * bodies.mass[parts.body]) & (span > 0.0)
    )
    suspects: list[int] = []
    seen: set[tuple[float, float]] = set()
    for i in map(int, chosen):
        center, mass = parts.center[i], parts.mass[i]
        twin = (round(float(mass), 9), round(float(np.linalg.norm(center)), 6))
        if np.linalg.norm(center) < 0.3 * span[i] or twin in seen:
            continue
        seen.add(twin)
        rest = np.linalg.eigvalsh(parts.spread[i] - mass * np.outer(center, center))
        if rest[0] > -1e-3 * rest[2] and rest.sum() < 3.0 * mass * center @ center:
            suspects.append(i)
    if len(suspects) >= 3 and len(suspects) >= 0.6 * len(seen):
        yield survey.at_link(
            parts.link[suspects[0]],
            f"and {len(suspects) - 1} others ({_names(survey, suspects[1:])}) of {len(seen)} links"
            " have inertias that only make sense about the origin of the link:"
            " give them about the centre of mass",
        )


def identity_inertia(survey: Survey) -> Iterator[Violation]:
    """Find moving links whose inertia is the identity matrix, as a template left it."""
    yield from _placeholders(survey, lambda moment: moment == 1.0)


def round_inertia(survey: Survey) -> Iterator[Violation]:
    """Find moving links whose three moments of inertia are one and the same power of ten."""
    yield from _placeholders(survey, lambda moment: moment != 1.0)


def repeated_inertia(survey: Survey) -> Iterator[Violation]:
    """Find unlike links, three or more in one chain, with the same mass and inertia."""
    bodies = survey.bodies
    groups: dict[tuple[str, ...], list[int]] = {}
    for i in range(1, len(bodies.mass)):
        if bodies.mass[i] > 0.0:
            numbers = (bodies.mass[i], *bodies.principal[i])
            groups.setdefault(tuple(f"{number:.9g}" for number in numbers), []).append(i)
    for alike in groups.values():
        chains = ([j for j in _chain(survey, i) if j in alike] for i in alike)
        chain = max(chains, key=len)
        if len(chain) >= 3 and _lengths_differ(survey, chain):
            names = [survey.robot.links[bodies.main[j]].name for j in chain[:-1]]
            yield survey.at_link(
                bodies.main[chain[-1]],
                f"has the same mass {bodies.mass[chain[0]]:.4g} kg and inertia as {_some(names)}"
                " of the same chain, though their lengths differ: give each its own",
            )


def equal_masses(survey: Survey) -> Iterator[Violation]:
    """Find robots in which unlike links, three or more in a chain, all have one mass."""
    bodies = survey.bodies
    heavy = bodies.mass[1:][bodies.mass[1:] > 0.0]
    if len(heavy) < 3 or np.ptp(heavy) > 0.0:
        return
    longest = _chain(survey, int(np.argmax(_depth(survey))))
    if len(longest) >= 3 and _lengths_differ(survey, longest):
        yield survey.at_link(
            bodies.main[longest[-1]],
            f"has the mass {heavy[0]:.4g} kg, as all {len(heavy)} moving bodies have, though"
            " their lengths differ: give each its own",
        )


def _length(survey: Survey) -> float:
    """Return the length of the longest chain of joints, or of the largest link, in m."""
    bodies = survey.bodies
    along = np.linalg.norm(bodies.translation, axis=1)
    for i in range(1, len(along)):
        along[i] += along[bodies.parent[i]]
    return max(float(along.max()), float(bodies.span.max()))


def _width(survey: Survey) -> float:
    """Return the size that the inertia of the bodies takes, in m."""
    bodies = survey.bodies
    square = np.trace(bodies.spread, axis1=1, axis2=2)
    heavy = np.where(bodies.mass > 0.0, bodies.mass, np.inf)
    return 4.0 * float(np.sqrt(np.maximum(square, 0.0) / heavy).max())


def _placeholders(survey: Survey, chosen: Callable[[float], bool]) -> Iterator[Violation]:
    parts, bodies = survey.parts, survey.bodies
    groups: dict[float, list[int]] = {}
    for i in map(int, np.flatnonzero(_power_of_ten(survey) & (parts.body > 0))):
        if parts.mass[i] > 0.2 * bodies.mass[parts.body[i]]:
            groups.setdefault(float(f"{parts.principal[i, 2]:.3g}"), []).append(i)
    for moment, links in groups.items():
        if chosen(moment):
            more = f"and {len(links) - 1} more ({_names(survey, links[1:])}) have"
            yield survey.at_link(
                parts.link[links[0]],
                f"{more if links[1:] else 'has'} three equal moments of inertia of {moment:g}"
                " kg m^2, which looks like a number to be filled in later: give the inertia",
            )


def _power_of_ten(survey: Survey) -> NDArray[np.bool_]:
    principal = survey.parts.principal
    equal = np.ptp(principal, axis=1) < 1e-9 * principal[:, 2]
    exponent = np.log10(np.where(equal, principal[:, 2], 2.0))
    return np.asarray(np.abs(exponent - np.round(exponent)) < 1e-9)


def _chain(survey: Survey, body: int) -> list[int]:
    """Return the moving bodies from `body` inward that have mass."""
    chain = []
    while body > 0:
        if survey.bodies.mass[body] > 0.0:
            chain.append(body)
        body = int(survey.bodies.parent[body])
    return chain


def _depth(survey: Survey) -> NDArray[np.intp]:
    """Return how many moving bodies with mass there are from the ground to each body."""
    bodies = survey.bodies
    depth = (bodies.mass > 0.0).astype(np.intp)
    depth[0] = 0
    for i in range(1, len(depth)):
        depth[i] += depth[bodies.parent[i]]
    return depth


def _lengths_differ(survey: Survey, chain: list[int]) -> bool:
    span = survey.bodies.span[chain]
    return bool(np.ptp(span) > 0.05 * span.max())


def _names(survey: Survey, parts: list[int]) -> str:
    return _some([survey.robot.links[survey.parts.link[i]].name for i in parts])


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
