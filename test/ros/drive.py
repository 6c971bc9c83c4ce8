"""The node drives hardware along a motion of 3 s: how well, in a few lines.

From the root of the repository:

    python test/ros/drive.py
    python test/ros/drive.py --robot ur5 --parameters '{"control": "computed_torque"}'
    python test/ros/drive.py --settings '{"viscous": 1.0, "dry": 0.5}' --save run.npz
    python test/ros/drive.py --controller trajectory
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from hardware.process import Hardware
from hardware.record import Record
from hardware.robots import ROBOTS, TIMES, Specimen
from hardware.settings import COMMANDS, TRAJECTORIES
from robot_graph import Graph, later, trajectory
from trajectory_msgs.msg import JointTrajectory

REMAPPED = {
    "forward": ["-r", f"~/effort_commands:={COMMANDS}"],
    "trajectory": ["-r", f"~/torque_trajectory:={TRAJECTORIES}"],
}


@dataclass(frozen=True)
class Driven:
    """What came of a motion: the record of hardware, and when what began, in ns.

    `moved` says how far each joint moved before the motion, `error` how far it was from where it
    was wanted in motion, and `off` how far from its last point in the time after, without the
    first half second.
    """

    robot: Specimen
    record: Record
    enabled: int
    begin: int
    end: int

    @property
    def moved(self) -> np.ndarray:
        return self.record.between(self.enabled, self.begin).moved()

    @property
    def error(self) -> np.ndarray:
        motion = self.robot.motion
        record = self.record.between(self.begin, self.begin + 1e9 * TIMES[-1])
        return record.tracking_error(lambda t: motion.sample(t).positions, self.begin)

    @property
    def off(self) -> np.ndarray:
        record = self.record.between(self.begin + 1e9 * (TIMES[-1] + 0.5), self.end)
        return np.abs(record.position - self.robot.points[-1]).max(axis=0)


def drive(
    graph: Graph,
    place: Path,
    robot: Specimen,
    parameters: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    controller: str = "forward",
    before: float = 1.0,
    after: float = 3.0,
) -> Driven:
    """Have the node drive hardware along the motion of a robot.

    Parameters
    ----------
    parameters : dict
        Of the node.
    settings : dict
        Of the hardware.
    controller : str
        "forward": the node's effort commands are applied. "trajectory": a trajectory controller
        follows, with efforts of the node.
    before, after : float
        Time in s for which the arm is at rest before the motion and after.
    """
    client = graph.client
    graph.start(
        robot.urdf,
        REMAPPED[controller],
        ready=False,  # the hardware starts at the same time
        joints=list(robot.joints),
        **(parameters or {}),
    )
    start = {"initial": robot.initial, "controller": controller, **(settings or {})}
    if controller == "trajectory":
        start.setdefault("braked", False)
    with Hardware(place, robot.urdf, robot.joints, **start) as hardware:
        graph.wait_until_serving()
        commands = client.speak(JointTrajectory, "/joint_trajectory")
        hardware.connected()
        client.spin_for(0.5)
        enabled = time.time_ns()
        if controller == "forward":
            answer = client.enable()
            assert answer.success, answer.message
        client.spin_for(before)
        stamp = later(client, 0.3)
        begin = stamp.sec * 10**9 + stamp.nanosec
        commands.publish(trajectory(robot.joints, TIMES, robot.points, stamp=stamp))
        client.spin_for(0.3 + TIMES[-1] + after)
        end = time.time_ns()
        record = hardware.record()
    return Driven(robot, record, enabled, begin, end)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--robot", choices=ROBOTS, default="panda")
    parser.add_argument("--controller", choices=REMAPPED, default="forward")
    parser.add_argument("--parameters", type=json.loads, default={}, help="of the node, as JSON")
    parser.add_argument("--settings", type=json.loads, default={}, help="of hardware, as JSON")
    parser.add_argument("--save", type=Path, help="a file for the record")
    parser.add_argument("--log", action="store_true", help="show what the node says")
    asked = parser.parse_args()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    domain = int(os.environ.setdefault("ROS_DOMAIN_ID", "100"))
    robot = ROBOTS[asked.robot]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "hardware"
        with Graph(domain, Path(folder)) as graph:
            driven = drive(graph, place, robot, asked.parameters, asked.settings, asked.controller)
            said = graph.nodes[0].log
        if asked.save:
            shutil.copy(place / "last.npz", asked.save)
    if asked.log:
        sys.stdout.write(said)
    sys.stdout.write(report(driven))


def report(driven: Driven) -> str:
    """Numbers of a drive, joint by joint."""
    record = driven.record
    numbers = "".join(f"{k + 1:9d}" for k in range(record.position.shape[1]))
    lines = [f"{'largest, in mrad or mm':31s}" + numbers]
    for name, values in (
        ("moved before the motion", driven.moved),
        ("from the path in motion", driven.error),
        ("from the last point at rest", driven.off),
    ):
        lines.append(f"{name:31s}" + "".join(f"{1e3 * value:9.3f}" for value in values))
    speeds = "".join(f"{value:9.3f}" for value in record.fastest())
    lines.append(f"{'fastest, in rad/s or m/s':31s}" + speeds)
    late = f"late {len(record.late)} times, by at most {1e3 * max(record.late, default=0.0):.0f} ms"
    delays = 1e-6 * (record.command_received - record.command_sent)
    if len(delays):
        late += f"; {len(delays)} commands, under way for at most {delays.max():.1f} ms"
    return "\n".join([*lines, late, ""])


if __name__ == "__main__":
    main()
