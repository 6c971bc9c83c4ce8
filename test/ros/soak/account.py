"""Figures and a picture of a soak: what the node held, and how long its answers took."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot

SETTLED = 600.0
"""Seconds after which nothing should grow; in a short soak, the first third of it."""
HELD = {"memory": "MB", "maps": "", "files": "", "threads": "", "temporary": "files", "load": ""}

Table = dict[str, np.ndarray]


def read(path: Path) -> Table:
    """Columns of a file of numbers, by name."""
    names = path.read_text().partition("\n")[0].split(",")
    values = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    return dict(zip(names, values.T))


def growth(seconds: np.ndarray, values: np.ndarray) -> tuple[float, float, float]:
    """Medians of the first and the last quarter since it has settled, and their difference."""
    settled = min(SETTLED, seconds[-1] / 3.0)
    later, t = values[seconds >= settled], seconds[seconds >= settled]
    quarter = max(1, len(t) // 4)
    first, last = float(np.median(later[:quarter])), float(np.median(later[-quarter:]))
    return first, last, last - first


def figures(place: Path) -> Iterator[str]:
    """Lines that say what came of it."""
    latency, resources = read(place / "latency.csv"), read(place / "resources.csv")
    sent = 5000 * len(latency["lost"])
    yield f"{sent} joint states in {latency['seconds'][-1]:.0f} s, {latency['lost'].sum():.0f} lost"
    for name in ("median", "p99", "p999"):
        values = latency[name]
        yield (
            f"round trip, {name}: {np.nanmedian(values):.2f} ms in the median of five seconds, "
            f"{np.nanmax(values):.2f} ms in the worst"
        )
    yield f"round trip, longest: {np.nanmax(latency['longest']):.1f} ms"
    for name, unit in HELD.items():
        first, last, more = growth(resources["seconds"], resources[name])
        yield f"{name}: {first:.6g} to {last:.6g} {unit}, growth since it has settled {more:+.6g}"
    done = {name: int(values[-1]) for name, values in resources.items()}
    yield "done: " + ", ".join(f"{n} {done[n]}" for n in done if n not in {"seconds", *HELD})
    yield f"description serving at the end: {latency['serving'][-1]:.0f}"


def draw(place: Path) -> None:
    """The picture of both, beside the files."""
    latency, resources = read(place / "latency.csv"), read(place / "resources.csv")
    figure, axes = pyplot.subplots(6, 1, sharex=True, figsize=(10, 12), layout="constrained")
    minutes = latency["seconds"] / 60.0
    for name in ("median", "p99", "p999", "longest"):
        axes[0].semilogy(minutes, latency[name], label=name, linewidth=0.8)
    axes[0].set_ylabel("round trip [ms]")
    axes[0].legend(ncols=4, loc="upper right")
    lost = axes[0].twinx()
    lost.plot(minutes, latency["lost"], "k.", markersize=2)
    lost.set_ylabel("lost of 5000")
    for each, name in zip(axes[1:], ("memory", "maps", "files", "threads", "load")):
        each.plot(resources["seconds"] / 60.0, resources[name], linewidth=0.8)
        each.set_ylabel(f"{name} {HELD[name] and f'[{HELD[name]}]'}")
        each.axvline(SETTLED / 60.0, color="0.7")
    axes[-1].set_xlabel("minutes")
    figure.savefig(place / "soak.png", dpi=110)
