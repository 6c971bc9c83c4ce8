"""Numbers of arithmetic operations: of some robots beside the paper's, and of all that we have."""

from __future__ import annotations

from contextlib import suppress

import kane_dynamics as kd
from benchmarks.every_robot import robots
from benchmarks.report import Table
from benchmarks.robots import BUNDLED, PANDA, UR5

FUNCTIONS = (
    "inverse_dynamics",
    "gravity",
    "mass_matrix",
    "forward_dynamics",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)
ALL = (*FUNCTIONS[:4], "bias", "energy", "momentum", "pose", "jacobian")


def table() -> Table:
    """Of some robots, beside those of the paper."""
    head = ("robot", "function", "multiplications", "additions", "divisions", "sin, cos, …")
    rows = [("Stanford Arm, Kane and Levinson 1983", "inverse_dynamics", "646", "394", "", "")]
    stanford = kd.load(BUNDLED / "stanford_arm.urdf")
    for name, arm in {"Stanford Arm": stanford, "UR5": UR5.kane, "Panda": PANDA.kane}.items():
        for function in FUNCTIONS:
            n = arm.operations(function)
            counted = n.multiplications, n.additions, n.divisions, n.functions
            rows.append((name, function, *map(str, counted)))
    return Table("operations", head, rows, keys=2)


def totals(part: str = "") -> dict[str, int]:
    """Of all functions of robots of example-robot-data with `part` in their names, sines too."""
    found = {}
    for name, path, base in robots():
        if part not in name:
            continue
        arm = kd.load(path, base=base, joint_friction=False, backend="numpy", cache=False)
        for function in ALL:
            link = arm.link_names[-1] if function in ("pose", "jacobian") else None
            with suppress(kd.SingularError):  # of links without mass nothing says how they move
                found[f"{name}: {function}"] = arm.operations(function, link).total
    return found
