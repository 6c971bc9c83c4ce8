"""Numbers of arithmetic operations, beside those of the paper."""

from __future__ import annotations

import kane_dynamics as kd
from benchmarks.robots import BUNDLED, PANDA, UR5

FUNCTIONS = ("inverse_dynamics", "gravity", "mass_matrix", "forward_dynamics")
PAPER = ("Stanford Arm, Kane and Levinson 1983", "inverse_dynamics", 646, 394)

Count = tuple[str, str, int, int, "int | None", "int | None"]


def counts() -> list[Count]:
    """Robot, function, multiplications, additions, divisions, and sines, cosines and the like."""
    robots = {
        "Stanford Arm": kd.load(BUNDLED / "stanford_arm.urdf"),
        "UR5": UR5.kane,
        "Panda": PANDA.kane,
    }
    rows: list[Count] = [(*PAPER, None, None)]
    for name, robot in robots.items():
        for function in FUNCTIONS:
            n = robot.operations(function)
            rows.append((name, function, n.multiplications, n.additions, n.divisions, n.functions))
    return rows
