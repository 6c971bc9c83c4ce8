"""A motion as a picture: positions, speeds, torques and energies over time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from kane_dynamics.errors import KaneDynamicsError

if TYPE_CHECKING:
    from kane_dynamics.simulation.motion import Motion

# Colours that can be told apart, also by those who do not see all of them (Okabe and Ito, 2008).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
STYLES = ("-", "--", ":", "-.")
SIZE = (9.0, 10.0)  # inch
DOTS = 130  # per inch
LEGEND_ROWS = 24


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
    kinds = _units(motion)
    _draw(axes[0], motion, motion.q, motion.coordinate_names, f"position ({kinds[0]})")
    _draw(axes[1], motion, motion.u, motion.speed_names, f"speed ({kinds[1]})")
    _draw(axes[2], motion, motion.tau, motion.speed_names, f"torque ({kinds[2]})")
    _draw_energies(axes[3], motion)
    axes[3].set_xlabel("time (s)")
    axes[3].set_xlim(motion.t[0], max(motion.t[-1], np.nextafter(motion.t[0], np.inf)))
    figure.align_ylabels()
    if not motion.completed:
        figure.suptitle(motion.message, fontsize=9, wrap=True)
    figure.savefig(path, dpi=DOTS)


def _draw(axes: Any, motion: Motion, values: Any, names: tuple[str, ...], label: str) -> None:
    known = motion.coordinate_names
    for k, name in enumerate(names):
        look = known.index(name) if name in known else k  # a joint looks the same everywhere
        style = STYLES[look // len(COLORS) % len(STYLES)]
        color = COLORS[look % len(COLORS)]
        axes.plot(motion.t, values[:, k], style, color=color, linewidth=1.2, label=name)
    axes.set_ylabel(label)
    _finish(axes, len(names))


def _draw_energies(axes: Any, motion: Motion) -> None:
    total = motion.kinetic + motion.potential
    for values, name, color, style in (
        (motion.kinetic, "kinetic", COLORS[0], "-"),
        (motion.potential, "potential", COLORS[1], "-"),
        (total, "total", COLORS[6], "-"),
        (total[0] + motion.work, "start + work", COLORS[4], ":"),
    ):
        axes.plot(motion.t, values, style, color=color, linewidth=1.2, label=name)
    axes.set_ylabel("energy (J)")
    _finish(axes, 4)


def _finish(axes: Any, entries: int) -> None:
    axes.grid(True, linewidth=0.4, alpha=0.5)
    axes.margins(x=0.0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        fontsize=8 if entries <= 10 else 6,
        ncols=1 + (entries - 1) // LEGEND_ROWS,
        frameon=False,
    )


def _units(motion: Motion) -> tuple[str, str, str]:
    """Units of positions, speeds and torques of the joints that there are."""
    bodies = motion._plant.dynamics.tree.bodies
    kinds = {body.kind for body in bodies}
    turns, slides = "revolute" in kinds, "prismatic" in kinds
    if "floating" in kinds or (turns and slides):
        return "rad, m", "rad/s, m/s", "N m, N"
    return ("rad", "rad/s", "N m") if turns else ("m", "m/s", "N")
