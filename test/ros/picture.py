"""The picture of the README: an arm under a trajectory controller, with and without the node.

    python test/ros/picture.py docs/closed_loop.png

The controller has feedback (gains 100 and 10) in both runs; in the second one the trajectory goes
through the node, which adds efforts to it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from hardware.process import Hardware
from hardware.record import Record
from hardware.robots import PANDA, TIMES
from hardware.settings import TRAJECTORIES
from robot_graph import Graph, trajectory
from trajectory_msgs.msg import JointTrajectory

BEFORE, AFTER = 1.0, 1.5  # s


def run(graph: Graph, place: Path, with_node: bool) -> tuple[Record, int]:
    """What an arm does, and when its motion began."""
    client = graph.client
    if with_node:
        remapping = ["-r", f"~/torque_trajectory:={TRAJECTORIES}"]
        graph.start(PANDA.urdf, remapping, joints=list(PANDA.joints), hold_at_start=True)
    start = {"initial": PANDA.initial, "controller": "trajectory", "braked": with_node}
    with Hardware(place, PANDA.urdf, PANDA.joints, **start) as hardware:
        topic = "/joint_trajectory" if with_node else TRAJECTORIES
        commands = client.speak(JointTrajectory, topic)
        hardware.connected()
        client.spin_for(2.0 + BEFORE)
        sent = time.time_ns()
        commands.publish(trajectory(PANDA.joints, TIMES, PANDA.points))
        client.spin_for(TIMES[-1] + AFTER)
        return hardware.record(), sent


def heard(record: Record, sent: int) -> int:
    """When the controller had heard of a motion, by what the arm did."""

    def error(begin: int) -> float:
        t = (record.time - begin) * 1e-9
        moving = (t > 0.0) & (t < TIMES[-1])
        wanted = PANDA.motion.sample(t[moving]).positions
        return float(np.abs(record.position[moving] - wanted).max())

    return min(range(sent, sent + 50_000_000, 500_000), key=error)


def draw(path: Path, runs: dict[str, tuple[Record, int]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    colors = {"controller alone": "tab:red", "with efforts of the node": "tab:blue"}
    joint = 1
    for name, (record, sent) in runs.items():
        begin = heard(record, sent)
        t = (record.time - begin) * 1e-9
        shown = (t >= -BEFORE) & (t <= TIMES[-1] + AFTER)
        wanted = PANDA.motion.sample(t[shown]).positions
        errors = np.abs(record.position[shown] - wanted).max(axis=1)
        left.plot(t[shown], record.position[shown, joint], color=colors[name], label=name)
        largest = 1e3 * errors[t[shown] > 0.0].max()
        right.semilogy(
            t[shown],
            1e3 * np.maximum(errors, 1e-6),
            color=colors[name],
            label=f"{name}: at most {largest:.3g} mrad",
        )
    times = np.linspace(-BEFORE, TIMES[-1] + AFTER, 500)
    left.plot(times, PANDA.motion.sample(times).positions[:, joint], "k:", label="wanted")
    left.set(xlabel="time [s]", ylabel="joint 2 [rad]", title="Panda in MuJoCo, gains 100 and 10")
    right.set(xlabel="time [s]", ylabel="farthest joint [mrad]", title="Distance from the path")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(
            fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3
        )
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    domain = int(os.environ.setdefault("ROS_DOMAIN_ID", "100"))
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, with_node in (("controller alone", False), ("with efforts of the node", True)):
            place = Path(folder) / str(with_node)
            place.mkdir()
            with Graph(domain, place) as graph:
                runs[name] = run(graph, place / "hardware", with_node)
    draw(Path(sys.argv[1]), runs)


if __name__ == "__main__":
    main()
