"""What disturbs the node of a soak, and writes down what that holds: a process of its own.

python -m soak.nemesis SETTINGS     which are JSON, as `Orders`
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from robot_graph import LATCHED, trajectory
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool
from test_fuzz_bytes import MutatedBytes, good_descriptions
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics_interfaces.srv import GetDynamics, InverseDynamics, Simulate

SAMPLE = 2.0  # s
PAUSE = 0.04  # s for which the node's process is stopped
SWAP = 30.0  # s between two descriptions


@dataclass(frozen=True)
class Orders:
    """What is disturbed.

    Attributes
    ----------
    process : int
        Of the node.
    joints, q : list
        Of the robot.
    descriptions : str
        Folder of the descriptions to come, in their order.
    cache, temporary, record : str
        Folders of the node, and the file for what it holds.
    """

    process: int
    joints: list[str]
    q: list[float]
    descriptions: str
    cache: str
    temporary: str
    record: str


class Nemesis:
    """Disturbances by name, each with its period in s and what it does."""

    def __init__(self, node: Node, orders: Orders) -> None:
        self._node, self._orders, self._random = node, orders, random.Random(1983)
        self._to_come = iter(sorted(Path(orders.descriptions).iterdir()))
        publish = node.create_publisher
        self._states = publish(JointState, "/joint_states", 100)
        self._commands = publish(JointTrajectory, "/joint_trajectory", 10)
        self._descriptions = publish(String, "/robot_description", LATCHED)
        self._clients: dict[str, Any] = {}
        self._mutated_states = MutatedBytes(self._good_states())
        self._mutated_commands = MutatedBytes(
            [serialize_message(self._trajectory(count)) for count in (1, 3, 20)]
        )
        self._mutated_descriptions = MutatedBytes(good_descriptions())
        self._enabled = False
        self.disturbances: dict[str, tuple[float, Callable[[], None]]] = {
            "flood": (1.0, lambda: self._flood(60, 8)),
            "burst": (31.0, lambda: self._flood(1000, 20)),
            "bad description": (SWAP, self._describe_badly),
            "description": (SWAP, self._describe),
            "trajectory": (2.0, lambda: self._commands.publish(self._trajectory(300))),
            "simulation": (6.0, self._simulate),
            "inverse dynamics": (4.0, self._ask_torques),
            "dynamics": (1.5, self._ask_dynamics),
            "enabling": (5.0, self._enable),
            "parameters": (7.0, self._set_parameters),
            "pause": (11.0, self._pause),
            "kill of a derivation": (71.0, self._kill_child),
            "damage of the cache": (13.0, self._damage),
        }
        self.done = dict.fromkeys(self.disturbances, 0)

    def run(self) -> None:
        """Disturb until the one who started this is gone."""
        parent, began = os.getppid(), time.monotonic()
        shift = {"bad description": 0.5 * SWAP, "kill of a derivation": SWAP + 1.0}
        due = {
            name: began + shift.get(name, period) for name, (period, _) in self.disturbances.items()
        }
        while os.getppid() == parent:
            for name, (period, do) in self.disturbances.items():
                if time.monotonic() >= due[name]:
                    do()
                    self.done[name] += 1
                    due[name] += period
            time.sleep(0.01)

    def _good_states(self) -> list[bytes]:
        names, q = self._orders.joints, self._orders.q
        whole = JointState(name=names, position=array("d", q), velocity=array("d", np.zeros(7)))
        part = JointState(name=names[2:5], position=array("d", q[2:5]))
        return [serialize_message(each) for each in (whole, part)]

    def _trajectory(self, points: int) -> JointTrajectory:
        q, t = np.array(self._orders.q), 0.002 * np.arange(1, points + 1)
        return trajectory(self._orders.joints, t, q + 0.01 * np.sin(t)[:, None])

    # -------------------------------------------------------------------------- messages
    def _flood(self, states: int, commands: int) -> None:
        for _ in range(states):
            self._states.publish(self._mutated_states.next())
        for _ in range(commands):
            self._commands.publish(self._mutated_commands.next())

    def _describe(self) -> None:
        path = next(self._to_come, None)
        if path is not None:
            self._descriptions.publish(String(data=path.read_text()))

    def _describe_badly(self) -> None:
        self._descriptions.publish(self._mutated_descriptions.next())

    # -------------------------------------------------------------------------- requests
    def _call(self, kind: Any, name: str, request: Any) -> None:
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self._node.create_client(kind, f"/kane_dynamics/{name}")
        client.call_async(request)

    def _simulate(self) -> None:
        request = Simulate.Request(duration=5.0, output_step=0.001, controller="pd_gravity")
        request.initial_state.position = array("d", self._orders.q)
        self._call(Simulate, "simulate", request)

    def _ask_torques(self) -> None:
        request = InverseDynamics.Request(trajectory=self._trajectory(1000))
        self._call(InverseDynamics, "inverse_dynamics", request)

    def _ask_dynamics(self) -> None:
        self._call(GetDynamics, "get_dynamics", GetDynamics.Request())

    def _enable(self) -> None:
        self._enabled = not self._enabled
        self._call(SetBool, "enable_effort_commands", SetBool.Request(data=self._enabled))

    def _set_parameters(self) -> None:
        rate, spacing = self._random.uniform(50.0, 500.0), self._random.choice((0.0, 0.02))
        values = [Parameter("rate", value=rate), Parameter("point_spacing", value=spacing)]
        request = SetParametersAtomically.Request(
            parameters=[each.to_parameter_msg() for each in values]
        )
        self._call(SetParametersAtomically, "set_parameters_atomically", request)

    # --------------------------------------------------------------------------- the system
    def _pause(self) -> None:
        os.kill(self._orders.process, signal.SIGSTOP)
        time.sleep(PAUSE)
        os.kill(self._orders.process, signal.SIGCONT)

    def _kill_child(self) -> None:
        for child in children(self._orders.process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def _damage(self) -> None:
        """Change a byte of an entry of the cache, in its place."""
        entries = sorted(Path(self._orders.cache).glob("*.entry"))
        with (
            contextlib.suppress(OSError, IndexError),
            self._random.choice(entries).open("r+b") as f,
        ):
            place = self._random.randrange(os.fstat(f.fileno()).st_size)
            f.seek(place)
            byte = f.read(1)
            f.seek(place)
            f.write(bytes([byte[0] ^ 0x55]))


def children(process: int) -> list[int]:
    """Processes that a process has started, by any of its threads."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def held(process: int, temporary: Path) -> dict[str, float]:
    """Memory in MB, maps of it, open files, threads, files in the temporary directory, load."""
    place = Path(f"/proc/{process}")
    status = dict(
        line.split(":", 1) for line in (place / "status").read_text().splitlines() if ":" in line
    )
    with (place / "maps").open("rb") as maps:
        return {
            "memory": float(status["VmRSS"].split()[0]) / 1e3,
            "maps": sum(1 for _ in maps),
            "files": len(os.listdir(place / "fd")),
            "threads": float(status["Threads"]),
            "temporary": sum(1 for _ in temporary.iterdir()),
            "load": os.getloadavg()[0],
        }


def watch(orders: Orders, nemesis: Nemesis) -> None:
    """Write down what the node holds, and how often what was done, as long as it lives."""
    began = time.monotonic()
    with open(orders.record, "w") as file, contextlib.suppress(FileNotFoundError):
        while True:
            row = held(orders.process, Path(orders.temporary)) | nemesis.done
            if file.tell() == 0:
                file.write(",".join(["seconds", *row]) + "\n")
            cells = (f"{each:g}" for each in (round(time.monotonic() - began, 1), *row.values()))
            file.write(",".join(cells) + "\n")
            file.flush()
            time.sleep(SAMPLE)


def main() -> None:
    orders = Orders(**json.loads(Path(sys.argv[1]).read_text()))
    rclpy.init()
    node = Node("nemesis")
    nemesis = Nemesis(node, orders)
    threading.Thread(target=rclpy.spin, args=(node,), daemon=True).start()
    threading.Thread(target=watch, args=(orders, nemesis), daemon=True).start()
    print("ready", flush=True)
    nemesis.run()
    os._exit(0)


if __name__ == "__main__":
    main()
