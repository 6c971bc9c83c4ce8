"""Inertia that is not known when equations are derived: numbers of links that come at run time.

Ten numbers say how the mass of a link is distributed: the elements of ∫(r, 1) (r, 1)ᵀ dm, r from
the origin of the link frame and along its axes. Equations of motion are linear in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.errors import ArgumentError
from kane_dynamics.names import unknown_name
from kane_dynamics.robot.body import GROUND, Frame
from kane_dynamics.robot.magnitude import LARGEST
from kane_dynamics.robot.model import ZERO, Inertia, Matrix, Vector

NUMBERS = 10
"""How many numbers say how the mass of a link is distributed."""

ELEMENTS = np.triu_indices(4)
"""Where they stand in ∫(r, 1) (r, 1)ᵀ dm: xx xy xz x, yy yz y, zz z, and last the mass."""

NOTHING = Inertia(0.0, ZERO, (ZERO, ZERO, ZERO))
"""A payload that is not there."""

_ROUNDING = 0.01  # of the largest moment of inertia, what printed digits leave of zero


def moving_links(
    argument: str, links: str | Iterable[str], frames: Mapping[str, Frame]
) -> tuple[str, ...]:
    """Return the links that an argument names.

    Raises
    ------
    ArgumentError
        If one of them does not exist, does not move, or is there twice.
    """
    if isinstance(links, str):
        links = (links,)
    if isinstance(links, bytes) or not isinstance(links, Iterable):
        raise ArgumentError(f"{argument} is {links!r}, expected names of links")
    found: list[str] = []
    for link in links:
        if not isinstance(link, str) or link not in frames:
            raise ArgumentError(f"{argument}: {unknown_name('link', link, frames)}")
        if link in found:
            raise ArgumentError(f"{argument}: link {link!r} is there twice, expected once")
        if frames[link].body == GROUND:
            raise ArgumentError(f"{argument}: link {link!r} does not move, expected one that does")
        found.append(link)
    return tuple(found)


def late_numbers(inertia: Inertia) -> Array:
    """Return the ten numbers of a link."""
    point = np.array([*inertia.center, 1.0])
    tensor = np.array(inertia.tensor)
    whole = inertia.mass * np.outer(point, point)
    whole[:3, :3] += np.trace(tensor) / 2 * np.eye(3) - tensor
    return whole[ELEMENTS]


def checked_inertia(link: str, mass: Any, com: Any, inertia: Any) -> Inertia:
    """Return the inertia that a user gives for a link.

    Parameters
    ----------
    link : str
    mass, com, inertia
        Mass, kg; centre of mass in the link frame, m; inertia (3, 3) about it along the axes of
        the link frame, kg m².

    Raises
    ------
    ArgumentError
        If a number is not finite, the mass or a moment of inertia negative, or a shape wrong.
    """
    weight = float(_numbers(link, "mass", mass, ()))
    center = _numbers(link, "com", com, (3,))
    tensor = _numbers(link, "inertia", inertia, (3, 3))
    if weight < 0.0:
        raise ArgumentError(f"link {link!r}: mass is {weight:g}, expected at least 0")
    if not np.allclose(tensor, tensor.T, rtol=0.0, atol=1e-9 * np.abs(tensor).max()):
        raise ArgumentError(f"link {link!r}: inertia is not symmetric, expected a symmetric matrix")
    tensor = (tensor + tensor.T) / 2
    least, _, most = np.linalg.eigvalsh(tensor)
    if least < -_ROUNDING * abs(most):
        raise ArgumentError(
            f"link {link!r}: inertia has the principal moment {least:g}, expected at least 0"
        )
    rows = cast("Matrix", tuple(tuple(row) for row in tensor.tolist()))
    return Inertia(weight, cast("Vector", tuple(center.tolist())), rows)


def _numbers(link: str, what: str, given: Any, shape: tuple[int, ...]) -> Array:
    try:
        array = np.array(given)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "fiu" or array.shape != shape:
        size = " x ".join(map(str, shape)) or "one"
        plural = "s" if shape else ""
        raise ArgumentError(f"link {link!r}: {what} is {given!r}, expected {size} number{plural}")
    if not np.all(np.abs(array) <= LARGEST):  # nor for nan
        raise ArgumentError(
            f"link {link!r}: {what} is {given!r}, expected finite numbers of at most {LARGEST:g}"
        )
    return array.astype(np.float64)
