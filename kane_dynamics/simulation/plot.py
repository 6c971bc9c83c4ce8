"""A motion as a picture: positions, speeds, torques and energies over time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kane_dynamics.errors import KaneDynamicsError
from kane_dynamics.kane.equations import rated_coordinates

if TYPE_CHECKING:
    from kane_dynamics.simulation.motion import Motion

# Colours that can be told apart, also by those who do not see all of them (Okabe and Ito, 2008).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8B5A2B")
STYLES = ("-", "--", ":", "-.", (0, (1, 3)))
FREE_COLORS = ("#000000", "#999999")
"""Of the position and the orientation of bodies that move freely, such as a base."""

SIZE = (9.0, 10.0)  # inch
DOTS = 130  # per inch
MANY = 16  # curves, whose names must then be small
WIDTH = 1.2  # points
NAMED_EVENTS = 24  # at most, of those that a picture marks


class Curve(NamedTuple):
    """A joint, or a direction of a free body: how it looks, and what is known of it.

    `coordinate` and `speed` are columns of the motion, -1 where there is none.
    """

    name: str
    coordinate: int
    speed: int
    color: str
    style: Any


def plot(motion: Motion, path: str | os.PathLike[str]) -> None:
    """Draw a motion into a file; KaneDynamicsError if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise KaneDynamicsError(
            "plot needs matplotlib; install it with pip install matplotlib"
        ) from None
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots(4, 1, sharex=True)
    curves, labels = _free_curves(motion) + _joint_curves(motion), _units(motion)
    _draw(axes[0], motion.t, motion.q, curves, "coordinate", f"position ({labels[0]})")
    _draw(axes[1], motion.t, motion.u, curves, "speed", f"speed ({labels[1]})")
    _draw(axes[2], motion.t, motion.tau, curves, "speed", f"torque ({labels[2]})")
    _draw_energies(axes[3], motion)
    axes[3].set_xlabel("time (s)")
    axes[3].set_xlim(motion.t[0], max(motion.t[-1], np.nextafter(motion.t[0], np.inf)))
    figure.align_ylabels()
    _mark_events(axes, motion)
    _name_curves(figure, curves)
    if not motion.completed:
        figure.suptitle(motion.message, fontsize=9, wrap=True, parse_math=False)
    figure.savefig(path, dpi=DOTS)


# --------------------------------------------------------------------------------------- curves
def _joint_curves(motion: Motion) -> list[Curve]:
    """A look for each joint: a colour, and when all are used the next style of line."""
    rated = rated_coordinates(motion._functions.equations)
    joints = [(speed, own) for speed, own in enumerate(rated) if own is not None]
    curves = []
    for k, (speed, coordinate) in enumerate(joints):
        style = STYLES[k // len(COLORS) % len(STYLES)]
        color = COLORS[k % len(COLORS)]
        curves.append(Curve(motion.speed_names[speed], coordinate, speed, color, style))
    return curves


def _free_curves(motion: Motion) -> list[Curve]:
    """Coordinates that no speed is the rate of, each with the speed that belongs to it."""
    equations = motion._functions.equations
    rated = rated_coordinates(equations)
    speeds = iter([speed for speed, own in enumerate(rated) if own is None])
    quaternions = {first + k: k for first in equations.quaternions for k in range(4)}
    curves, place = [], 0
    for coordinate, name in enumerate(motion.coordinate_names):
        if coordinate in rated:
            continue
        k = quaternions.get(coordinate)
        own = -1 if k == 3 else next(speeds, -1)
        if own >= 0:
            name = f"{name}, {motion.speed_names[own]}"
        style = STYLES[(place if k is None else k) % len(STYLES)]
        place = place + 1 if k is None else 0
        curves.append(Curve(name, coordinate, own, FREE_COLORS[k is not None], style))
    return curves


def _draw(axes: Any, t: Any, values: Any, curves: list[Curve], column: str, label: str) -> None:
    for curve in curves:
        k = getattr(curve, column)
        if k >= 0:
            axes.plot(t, values[:, k], linestyle=curve.style, color=curve.color, linewidth=WIDTH)
    _finish(axes, label)


def _draw_energies(axes: Any, motion: Motion) -> None:
    total = motion.kinetic + motion.potential
    for values, name, color, style in (
        (motion.kinetic, "kinetic", COLORS[0], "-"),
        (motion.potential, "potential", COLORS[1], "-"),
        (total, "total", FREE_COLORS[0], "-"),
        (total[0] + motion.work, "start + work", COLORS[4], ":"),
    ):
        axes.plot(motion.t, values, linestyle=style, color=color, linewidth=WIDTH, label=name)
    _finish(axes, "energy (J)")
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.25), ncols=4, fontsize=8, frameon=False)


def _mark_events(axes: Any, motion: Motion) -> None:
    """A line for every event through all panels, and what it is above the first; crowds unnamed."""
    events = getattr(motion, "events", ())
    apart = max(float(motion.t[-1] - motion.t[0]), 1e-300) / NAMED_EVENTS
    named = -np.inf
    for each in events:
        for panel in axes:
            panel.axvline(each.t, color=FREE_COLORS[1], linewidth=0.6, linestyle=":", zorder=0)
        if each.t - named >= apart:
            named = each.t
            axes[0].text(
                each.t,
                1.01,
                " ".join(filter(None, (each.kind, each.constraint or each.state))),
                transform=axes[0].get_xaxis_transform(),
                rotation=30,
                fontsize=7,
                parse_math=False,
            )


# ----------------------------------------------------------------------------------- surroundings
def _name_curves(figure: Any, curves: list[Curve]) -> None:
    """One legend for all panels, or a note where there are more curves than looks."""
    from matplotlib.lines import Line2D

    looks = {(curve.color, curve.style) for curve in curves}
    if len(looks) < len(curves):
        note = f"{len(curves)} curves, too many to be told apart; to_array() names them"
        figure.text(1.0, 1.0, note, ha="right", va="top", fontsize=8)
        return
    lines = [
        Line2D([], [], linestyle=curve.style, color=curve.color, linewidth=WIDTH)
        for curve in curves
    ]
    # numbered at first: a name that begins with _ would be left out, and one with $ typeset
    legend = figure.legend(
        lines,
        [str(k) for k in range(len(curves))],
        loc="outside right upper",
        fontsize=8 if len(curves) <= MANY else 6.5,
        handlelength=2.5,
        frameon=False,
    )
    for text, curve in zip(legend.get_texts(), curves):
        text.set_parse_math(False)
        text.set_text(curve.name)


def _finish(axes: Any, label: str) -> None:
    axes.set_ylabel(label)
    axes.grid(True, linewidth=0.4, alpha=0.5)
    axes.margins(x=0.0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _units(motion: Motion) -> tuple[str, str, str]:
    """Units of positions, speeds and torques of the joints that there are."""
    measured = motion._functions.equations.units
    if len(measured) > 1:
        return "rad, m", "rad/s, m/s", "N m, N"
    return ("rad", "rad/s", "N m") if "rad" in measured else ("m", "m/s", "N")
