"""Robots to play, each with a motion of 3 s through five points that is within its limits."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kane_dynamics.simulation.trajectory import Trajectory, trajectory_through

_ROBOTS = Path(
    str(
        distribution("example-robot-data").locate_file(
            "cmeel.prefix/share/example-robot-data/robots"
        )
    )
)
_BUNDLED = Path(__file__).parents[3] / "urdf"

TIMES = np.array([0.0, 0.7, 1.5, 2.2, 3.0])


@dataclass(frozen=True)
class Specimen:
    """A robot, and a motion for it.

    Attributes
    ----------
    urdf : Path or str
        A file, or its text.
    joints : tuple of str
        Those that move.
    hand : str
        A link at the end, to push and to load.
    points : array (5, n)
        Where the motion passes at `TIMES`; it begins and ends at rest.
    """

    urdf: Path | str
    joints: tuple[str, ...]
    hand: str
    points: NDArray[np.float64]

    @property
    def initial(self) -> list[float]:
        """Where the motion begins."""
        start: list[float] = self.points[0].tolist()
        return start

    @property
    def motion(self) -> Trajectory:
        """The cubic spline through the points."""
        return trajectory_through(TIMES, self.points)


def _through(start: list[float], steps: list[float]) -> NDArray[np.float64]:
    """Points about a start, with a step a joint; no two joints do the same."""
    count = len(start)
    swings = np.array([np.zeros(4), [1.0, 0.4, 1.0, 0.6], [0.3, 1.0, 1.2, -0.4]])
    rows = [swings[0], swings[1], swings[2], -0.5 * swings[1], 0.8 * swings[2]]
    shares = np.array([np.resize(row, count) for row in rows])
    return np.array(start) + shares * np.array(steps)


PANDA = Specimen(
    _ROBOTS / "panda_description/urdf/panda.urdf",
    tuple(f"panda_joint{k}" for k in range(1, 8)),
    "panda_hand",
    _through([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7], [0.5, 0.3, -0.4, 0.4, 0.5, -0.4, 0.5]),
)
UR5 = Specimen(
    _ROBOTS / "ur_description/urdf/ur5_robot.urdf",
    (
        "shoulder_pan_joint",
        "shoulder_lift_joint",
        "elbow_joint",
        "wrist_1_joint",
        "wrist_2_joint",
        "wrist_3_joint",
    ),
    "ee_link",
    _through([0.0, -1.0, 1.2, -0.6, 0.4, 0.0], [0.5, 0.3, -0.4, 0.5, 0.5, -0.5]),
)
STANFORD = Specimen(
    _BUNDLED / "stanford_arm.urdf",
    tuple(f"joint{k}" for k in range(1, 7)),
    "F",
    _through([0.3, 1.2, 0.2, 0.6, 0.1, 0.1], [0.4, 0.3, 0.5, -0.4, 0.5, 0.15]),
)


def _on_a_rail(urdf: Path) -> str:
    """An arm on a carriage that slides."""
    rail = """<link name="rail"/>
    <joint name="rail_joint" type="prismatic">
      <parent link="rail"/><child link="carriage"/><axis xyz="0 1 0"/>
      <limit lower="-1.0" upper="1.0" effort="600" velocity="1.5"/>
    </joint>"""
    arm = urdf.read_text().replace('"world"', '"carriage"')  # which MuJoCo takes for its own
    return arm.replace("</robot>", f"{rail}</robot>")


RAIL = Specimen(
    _on_a_rail(_ROBOTS / "ur_description/urdf/ur5_robot.urdf"),
    (*UR5.joints, "rail_joint"),
    "ee_link",
    _through([0.0, -1.0, 1.2, -0.6, 0.4, 0.0, 0.0], [0.5, 0.3, -0.4, 0.5, 0.5, -0.5, 0.2]),
)
ROBOTS = {"panda": PANDA, "ur5": UR5, "stanford": STANFORD, "rail": RAIL}
