"""Rules about the mass, centre of mass and inertia of single links.

With principal moments I₁ ≤ I₂ ≤ I₃, the mass of a real body is spread along its principal axes by
(I₂ + I₃ − I₁)/2 ≥ ... ≥ (I₁ + I₂ − I₃)/2 ≥ 0: the last is the triangle inequality, and the first,
divided by the mass, is the mean square distance from the centre of mass along the longest axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.arrays import Array
from kane_dynamics.robot.survey import Survey, Violation

_ROUNDING = 0.01  # what three printed digits can leave of I₁ + I₂ − I₃ = 0, relative to I₃
_POINT = 1e-6  # m, radius of gyration below which a body is a particle
_NEGLIGIBLE = 0.01  # of the mass or inertia of the whole body
_SLACK = 2.0  # links are larger than the box around their joints and shapes
_BEYOND_ANY_SIZE = 30.0
_SMALLEST_REACH = 0.02  # m
_OSMIUM = 22590.0  # kg/m³, the densest element
_STEEL = 7850.0  # kg/m³
_INERTIA_UNITS = {"kg cm^2": 1e4, "kg mm^2": 1e6, "g cm^2": 1e7, "g mm^2": 1e9}


def negative_body(survey: Survey) -> Iterator[Violation]:
    """Find links that leave the body they move with a negative principal moment of inertia."""
    yield from _negative(survey, _spoils_body(survey, _is_negative(survey)))


def negative_part(survey: Survey) -> Iterator[Violation]:
    """Find links with a negative principal moment that is outweighed, or does not move."""
    negative = _is_negative(survey)
    yield from _negative(survey, negative & ~_spoils_body(survey, negative))


def impossible_body(survey: Survey) -> Iterator[Violation]:
    """Find links that leave the body they move with one moment above the sum of the others."""
    yield from _impossible(survey, _spoils_body(survey, _is_impossible(survey)))


def impossible_part(survey: Survey) -> Iterator[Violation]:
    """Find links with one moment above the sum of the others, outweighed or not moving."""
    impossible = _is_impossible(survey)
    yield from _impossible(survey, impossible & ~_spoils_body(survey, impossible))


def gyration_beyond_any_size(survey: Survey) -> Iterator[Violation]:
    """Find links whose inertia is that of a body many times their size: a slip of units."""
    ratio = _gyration(survey) / _reach(survey)
    yield from _too_wide(survey, ratio > _BEYOND_ANY_SIZE)


def gyration_beyond_the_link(survey: Survey) -> Iterator[Violation]:
    """Find links whose mass lies, in the mean, farther out than the link reaches."""
    ratio = _gyration(survey) / _reach(survey)
    yield from _too_wide(survey, (ratio > _SLACK) & (ratio <= _BEYOND_ANY_SIZE))


def center_of_mass_astray(survey: Survey) -> Iterator[Violation]:
    """Find centres of mass many lengths away from their links: a slip of units."""
    outside, room = _outside(survey)
    yield from _off_center(survey, outside > 10.0 * room, outside, room)


def center_of_mass_outside(survey: Survey) -> Iterator[Violation]:
    """Find centres of mass farther from their links than these are long."""
    outside, room = _outside(survey)
    yield from _off_center(survey, (outside > room) & (outside <= 10.0 * room), outside, room)


def too_dense(survey: Survey) -> Iterator[Violation]:
    """Find moving bodies of so little inertia for their mass that no matter is dense enough.

    At given density and mass a ball has the least ∫ r² dm, so the ball of the same ∫ r² dm is the
    least dense body there can be.
    """
    bodies = survey.bodies
    square = np.trace(bodies.spread, axis1=1, axis2=2)
    least = 0.6 * bodies.mass * (bodies.mass / (4.0 / 3.0 * pi * _OSMIUM)) ** (2.0 / 3.0)
    for i in np.flatnonzero((square < least) & (square > 0.0) & ~_is_particle(survey)):
        if i > 0:
            ball = 0.4 * bodies.mass[i] * (bodies.mass[i] / (4.0 / 3.0 * pi * _STEEL)) ** (2 / 3)
            yield survey.at_link(
                bodies.main[i],
                f"has mass {bodies.mass[i]:.4g} kg and moments of inertia"
                f" {_moments(bodies.principal[i])}, which takes matter denser than osmium; a steel"
                f" ball of this mass has {ball:.2g} kg m^2:"
                " check that the inertia is in kg m^2 and the mass in kg",
            )


def point_mass(survey: Survey) -> Iterator[Violation]:
    """Find moving bodies that have mass but no extent at all."""
    bodies = survey.bodies
    for i in np.flatnonzero((bodies.mass > 0.0) & _is_particle(survey)):
        if i > 0:
            yield survey.at_link(
                bodies.main[i],
                f"has mass {bodies.mass[i]:.4g} kg but no moment of inertia, as a particle:"
                " if it is a real body, give its inertia about the centre of mass",
            )


def inertia_without_mass(survey: Survey) -> Iterator[Violation]:
    """Find links that have inertia but no mass."""
    parts = survey.parts
    for i in np.flatnonzero((parts.mass == 0.0) & (parts.body > 0) & _matters(survey)):
        yield survey.at_link(
            parts.link[i],
            f"has no mass but moments of inertia {_moments(parts.principal[i])}:"
            " give its mass, or no inertia",
        )


def _is_particle(survey: Survey) -> NDArray[np.bool_]:
    """Tell which bodies have no extent but for what rounding leaves."""
    bodies = survey.bodies
    return np.asarray(np.abs(bodies.principal).max(axis=1) <= bodies.mass * _POINT**2)


def _matters(survey: Survey) -> NDArray[np.bool_]:
    """Tell which links have a share in the inertia of their bodies."""
    parts = survey.parts
    whole = np.abs(survey.bodies.principal[parts.body]).max(axis=1)
    return np.asarray(np.abs(parts.principal).max(axis=1) > _NEGLIGIBLE * whole)


def _scale(principal: Array, mass: Array) -> Array:
    """Return the moment of inertia against which others count as zero, in kg m²."""
    return np.asarray(np.maximum(principal[:, 2], mass * _POINT**2))


def _is_negative(survey: Survey) -> NDArray[np.bool_]:
    parts = survey.parts
    least = parts.principal[:, 0] / _ROUNDING
    return np.asarray((least < -_scale(parts.principal, parts.mass)) & _matters(survey))


def _excess(principal: Array, mass: Array) -> Array:
    """Return by how much I₃ exceeds I₁ + I₂, relative to I₃."""
    return np.asarray(
        (principal[:, 2] - principal[:, 0] - principal[:, 1])
        / np.maximum(_scale(principal, mass), 1e-300)
    )


def _is_impossible(survey: Survey) -> NDArray[np.bool_]:
    parts = survey.parts
    wrong = _excess(parts.principal, parts.mass) > _ROUNDING
    return np.asarray(wrong & _matters(survey) & ~_is_negative(survey) & (parts.mass > 0.0))


def _spoils_body(survey: Survey, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of the wrong links, tell those whose body moves and is itself impossible."""
    bodies = survey.bodies
    impossible = _excess(bodies.principal, bodies.mass) > _ROUNDING
    impossible[0] = False
    return np.asarray(wrong & impossible[survey.parts.body])


def _negative(survey: Survey, wrong: NDArray[np.bool_]) -> Iterator[Violation]:
    for i in np.flatnonzero(wrong):
        yield survey.at_link(
            survey.parts.link[i],
            f"has principal moments of inertia {_moments(survey.parts.principal[i])}, expected"
            f" none below zero: {_tensor_advice(survey, int(i))}",
        )


def _impossible(survey: Survey, wrong: NDArray[np.bool_]) -> Iterator[Violation]:
    for i in np.flatnonzero(wrong):
        principal = survey.parts.principal[i]
        yield survey.at_link(
            survey.parts.link[i],
            f"has principal moments of inertia {_moments(principal)}, the largest of which exceeds"
            f" the sum of the others by {principal[2] - principal[0] - principal[1]:.2g}, which no"
            f" body can: {_tensor_advice(survey, int(i))}",
        )


def _tensor_advice(survey: Survey, part: int) -> str:
    """Return what to change in a tensor; many CAD programs print ∫ x y dm for ixy = −∫ x y dm."""
    tensor = survey.parts.tensor[part]
    mirrored = np.linalg.eigvalsh(2.0 * np.diag(np.diag(tensor)) - tensor)[None]
    if _excess(mirrored, survey.parts.mass[part : part + 1])[0] <= 0.0:
        return "give ixy, ixz and iyz the opposite sign, with which it is possible"
    return "compute the inertia anew, about the centre of mass, and print more digits"


def _gyration(survey: Survey) -> Array:
    """Return the root mean square distance of mass along the longest axis of each link, in m."""
    parts = survey.parts
    wide = (parts.principal[:, 1] + parts.principal[:, 2] - parts.principal[:, 0]) / 2.0
    heavy = np.where(parts.mass > 0.0, parts.mass, np.inf)
    share = wide > 0.1 * survey.bodies.principal[parts.body, 2]
    share &= parts.mass > _NEGLIGIBLE * survey.bodies.mass[parts.body]
    return np.asarray(np.sqrt(np.where(share, np.maximum(wide, 0.0), 0.0) / heavy))


def _reach(survey: Survey) -> Array:
    """Return how far from its centre of mass a link may reach, as its neighbours suggest, in m.

    Infinite where nothing tells a size.
    """
    parts, bodies = survey.parts, survey.bodies
    corner = np.maximum(
        np.abs(parts.center - bodies.low[parts.body]),
        np.abs(parts.center - bodies.high[parts.body]),
    )
    near = np.zeros(len(bodies.mass))
    np.maximum.at(near, bodies.parent[1:], bodies.span[1:])
    near[1:] = np.maximum(near[1:], bodies.span[bodies.parent[1:]])
    reach = np.maximum(np.linalg.norm(corner, axis=1), near[parts.body])
    known = (reach > 0.0) & _sized(survey)
    return np.where(known, np.maximum(reach, _SMALLEST_REACH), np.inf)


def _sized(survey: Survey) -> NDArray[np.bool_]:
    """Tell which links have neighbours that tell their size; a pedestal under one joint has not."""
    bodies = survey.bodies
    sized = np.ones(len(bodies.mass), dtype=np.bool_)
    sized[0] = bodies.shaped[0] or np.count_nonzero(bodies.parent == 0) > 1
    return np.asarray(sized[survey.parts.body])


def _too_wide(survey: Survey, wrong: NDArray[np.bool_]) -> Iterator[Violation]:
    parts, gyration, reach = survey.parts, _gyration(survey), _reach(survey)
    for i in np.flatnonzero(wrong):
        yield survey.at_link(
            parts.link[i],
            f"has mass {parts.mass[i]:.4g} kg and moments of inertia"
            f" {_moments(parts.principal[i])}, which puts the mass {gyration[i]:.2g} m from its"
            f" centre in the mean, where joints and shapes let the link reach {reach[i]:.2g} m:"
            f" {_inertia_advice(gyration[i], reach[i])}",
        )


def _inertia_advice(gyration: float, reach: float) -> str:
    for unit, factor in _INERTIA_UNITS.items():
        if 0.05 * reach < gyration / factor**0.5 < reach and gyration > _BEYOND_ANY_SIZE * reach:
            return f"give the inertia in kg m^2, it looks as if in {unit}"
    return f"expected moments of inertia some {(gyration / reach) ** 2:.3g} times smaller or less"


def _outside(survey: Survey) -> tuple[Array, Array]:
    """Return how far each centre of mass lies outside its body, and how far it may lie, in m."""
    parts, bodies = survey.parts, survey.bodies
    low, high = bodies.low[parts.body], bodies.high[parts.body]
    gap = np.maximum(0.0, np.maximum(low - parts.center, parts.center - high))
    longest = bodies.span.max()
    room = np.where(bodies.shaped, np.maximum(bodies.span, 0.2 * longest), longest)[parts.body]
    known = (room > 0.0) & _sized(survey) & (parts.mass > _NEGLIGIBLE * bodies.mass[parts.body])
    return np.linalg.norm(gap, axis=1), np.where(known, np.maximum(room, _SMALLEST_REACH), np.inf)


def _off_center(
    survey: Survey, wrong: NDArray[np.bool_], outside: Array, room: Array
) -> Iterator[Violation]:
    for i in np.flatnonzero(wrong):
        in_mm = 1e-3 * survey.parts.lever[i] < room[i] < 0.02 * outside[i]
        advice = "give it in m, it looks as if in mm" if in_mm else "check its signs and its frame"
        yield survey.at_link(
            survey.parts.link[i],
            f"has its centre of mass {outside[i]:.3g} m outside the box around its joints and"
            f" shapes, expected at most {room[i]:.2g} m: {advice}",
        )


def _moments(principal: Array) -> str:
    first, second, third = principal
    return f"{first:.3g}, {second:.3g} and {third:.3g} kg m^2"
