"""A soak of some hours: ``python -m soak HOURS PLACE``, in the folder of the tests of the node.

It ends with status 1 if a torque was wrong, the node ended or complained of itself, or something
is left in its temporary directory. The figures say what grew.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import rclpy
from python_path import python_path
from rclpy.context import Context
from rclpy.qos import DurabilityPolicy, QoSProfile
from robot_graph import NodeProcess, panda
from ros_domain import own_domain
from std_msgs.msg import String

import kane_dynamics as kd
from soak.account import draw, figures
from soak.driver import HEAVIER, Driver
from soak.nemesis import SWAP, Orders

HERE = Path(__file__).parents[1]
PATHS = [str(HERE), str(HERE.parents[1]), str(HERE.parent)]
Q = [0.3, -0.5, 0.2, -1.8, 0.4, 1.6, 0.7]
PATIENCE = 120.0  # s
PRIORITY = 50  # of the driver, which should not be what is measured


def description(urdf: str, number: int) -> str:
    """The robot with masses that no other description has."""

    def heavier(found: re.Match[str]) -> str:
        return f"{found[1]}{(1.0 + HEAVIER * number) * float(found[2])!r}"

    return re.sub('(<mass value=")([^"]*)', heavier, urdf)


@contextlib.contextmanager
def disturbed(orders: Orders, place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A nemesis in a process of its own."""
    file = place / "orders.json"
    file.write_text(json.dumps(asdict(orders)))
    with (place / "nemesis.txt").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "soak.nemesis", str(file)],
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": python_path(*PATHS)},
        )
    try:
        assert process.stdout is not None
        process.stdout.readline()  # it is ready
        yield process
    finally:
        process.kill()
        process.wait()


def in_real_time() -> None:
    """Run as the driver of a robot would, where the system allows it."""
    with contextlib.suppress(PermissionError):
        for task in Path("/proc/self/task").iterdir():
            policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(int(task.name), policy, os.sched_param(PRIORITY))


def soak(hours: float, place: Path) -> list[str]:
    """Soak a node; what was wrong."""
    path, joints = panda()
    urdf, seconds = path.read_text(), 3600.0 * hours
    folders = {name: place / name for name in ("descriptions", "cache", "temporary")}
    for folder in folders.values():
        folder.mkdir(mode=0o700, parents=True)
    for number in range(1, int(seconds / SWAP) + 1):
        name = f"{number:06d}.urdf"
        (folders["descriptions"] / name).write_text(description(urdf, number))
    gravity = kd.load(urdf, joints=joints, cache=False).gravity(np.array(Q))
    context = Context()
    rclpy.init(context=context, args=[])
    driver_node = rclpy.create_node("driver", context=context, enable_rosout=False)
    driver = Driver(driver_node, joints, np.array(Q), gravity)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    driver_node.create_publisher(String, "/robot_description", latched).publish(String(data=urdf))
    os.environ["TMPDIR"] = str(folders["temporary"])
    node = NodeProcess(place / "node", {"joints": joints, "cache_dir": str(folders["cache"])}, ())
    del os.environ["TMPDIR"]
    wrong: list[str] = []

    def going() -> None:
        if node.process.poll() is not None:
            raise AssertionError(f"the node ended with status {node.process.returncode}")
        if nemesis.poll() is not None:
            raise AssertionError(f"the nemesis ended: {(place / 'nemesis.txt').read_text()}")

    orders = Orders(
        process=node.process.pid,
        joints=joints,
        q=Q,
        record=str(place / "resources.csv"),
        **{name: str(folder) for name, folder in folders.items()},
    )
    try:
        driver.until_answered(PATIENCE)
        with disturbed(orders, place) as nemesis, (place / "latency.csv").open("w") as file:
            in_real_time()
            driver.run(seconds, file, going)
    except AssertionError as error:
        wrong.append(str(error))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(node.process.pid, signal.SIGCONT)
        if node.end() != 0:
            wrong.append(f"the node ended with status {node.process.returncode}")
        driver_node.destroy_node()
        rclpy.shutdown(context=context)
    wrong += [
        f"the log says {word}" for word in ("Traceback", "internal error") if word in node.log
    ]
    wrong += [f"{each} is left" for each in sorted(folders["temporary"].iterdir())]
    return wrong


def main() -> int:
    place = Path(sys.argv[2]).absolute()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    with own_domain() as domain:
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        wrong = soak(float(sys.argv[1]), place)
    draw(place)
    print("\n".join([*figures(place), *(f"WRONG: {each}" for each in wrong)]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
