"""The examples that model systems of the papers, each read once."""

from functools import cache
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import numpy as np

from kane_dynamics.arrays import Array

EXAMPLES = Path(__file__).parent.parent / "examples"


@cache
def example(name: str) -> SimpleNamespace:
    """What the file defines."""
    return SimpleNamespace(**run_path(str(EXAMPLES / f"{name}.py")))


def numbers(names: str, values: Array) -> dict[str, Array]:
    """Columns of values by names, with sines and cosines of those that begin with q."""
    columns = dict(zip(names.split(), np.moveaxis(np.asarray(values, dtype=float), -1, 0)))
    for name in [name for name in columns if name.startswith("q")]:
        columns["s" + name[1:]] = np.sin(columns[name])
        columns["c" + name[1:]] = np.cos(columns[name])
    return columns


def constants(system: SimpleNamespace) -> dict[str, float]:
    """The numbers of an example, by the names of their symbols without underscores."""
    return {str(symbol).replace("_", ""): value for symbol, value in system.CONSTANTS.items()}
