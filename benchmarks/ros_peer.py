"""A node in a process of its own, and a client of it that costs as little as rclpy allows."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from benchmarks.robots import PANDA

PATIENCE = 200.0  # s
PERIOD = 10  # ms, of joint states until one is answered
MILLISECOND = 1_000_000  # ns
PRIORITY = 50  # of a client that runs in real time, as controllers of robots do
STAMP = slice(4, 8)
"""Where a serialized joint state, sent and heard as bytes, has the seconds of its stamp."""


class Turn(NamedTuple):
    """What came of sending joint states for a while: seconds, and numbers of messages."""

    round_trips: np.ndarray
    cpu_time: float
    sent: int
    lost: int


@contextmanager
def dynamics_node(domain: int, **parameters: object) -> Iterator[Peer]:
    """Our node, for the joints of the Panda's arm."""
    given = {"joints": list(PANDA.joints), **parameters}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "parameters.yaml"
        file.write_text(json.dumps({"/**": {"ros__parameters": given}}))  # which is YAML
        with Peer("kane_dynamics.ros.main", ["--params-file", str(file)], domain) as peer:
            yield peer


def bare_node(domain: int) -> Peer:
    """A node that only copies."""
    return Peer("benchmarks.ros_bare_node", [], domain)


def state() -> JointState:
    """Where the Panda's arm is."""
    (q,), (u,), *_ = PANDA.states(1)
    names = list(PANDA.joints)
    return JointState(name=names, position=q.tolist(), velocity=u.tolist(), effort=[0.0] * len(q))


class Peer:
    """A node in a process that finds the package where it runs, and the client that measures it.

    Attributes
    ----------
    begun, answered : float
        When the process was started, and when it first answered a joint state, s.
    """

    def __init__(self, module: str, arguments: Sequence[str], domain: int) -> None:
        environment = {
            **os.environ,
            "ROS_DOMAIN_ID": str(domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        }
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain, args=[])
        self._node = rclpy.create_node(
            "client", context=self._context, start_parameter_services=False, enable_rosout=False
        )
        node = self._node
        self._states = node.create_publisher(JointState, "/joint_states", 100)
        self._commands = node.create_publisher(JointTrajectory, "/joint_trajectory", 1)
        self._torques = self._hear(JointState, "/kane_dynamics/gravity_torques", 1000)
        self._efforts = self._hear(JointTrajectory, "/kane_dynamics/torque_trajectory", 1)
        self._wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, self._context.handle)
        command = [sys.executable, "-m", module, "--ros-args", "--log-level", "warn", *arguments]
        self.begun = self.answered = time.perf_counter()
        self.process = subprocess.Popen(command, env=environment)

    def run_in_real_time(self) -> None:
        """Send and hear as a driver of a robot does: what it waits for is not the node's delay."""
        policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
        with contextlib.suppress(PermissionError):
            for task in Path("/proc/self/task").iterdir():
                os.sched_setscheduler(int(task.name), policy, os.sched_param(PRIORITY))

    def _hear(self, kind: type, topic: str, depth: int) -> Any:
        return self._node.create_subscription(kind, topic, lambda _: None, depth)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)

    def describe(self, urdf: str) -> None:
        """Give the node its robot, for the whole time that this client lives."""
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._node.create_publisher(String, "/robot_description", latched).publish(
            String(data=urdf)
        )

    def wait_for_answer(self, state: JointState) -> JointState:
        """The first answer to a joint state, which is sent until one comes."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self._states.publish(state)
            if self._wait(self._torques, PERIOD * MILLISECOND):
                self.answered = time.perf_counter()
                answer = self._torques.handle.take_message(JointState, False)[0]
                self._drain(0.5)
                return answer
        raise RuntimeError(f"no answer from {self.process.args!r}")

    def _drain(self, seconds: float) -> None:
        """Let late answers come, and forget them."""
        time.sleep(seconds)
        for heard in (self._torques, self._efforts):
            while heard.handle.take_message(heard.msg_type, True) is not None:
                pass

    def _wait(self, heard: Any, nanoseconds: int) -> bool:
        """Whether a message comes within some time."""
        self._wait_set.clear_entities()
        self._wait_set.add_subscription(heard.handle)
        self._wait_set.wait(max(nanoseconds, 0))
        return bool(self._wait_set.get_ready_entities("subscription"))

    # ------------------------------------------------------------------------------- measuring
    def send_states(
        self,
        state: JointState,
        rate: float,
        seconds: float,
        meanwhile: Callable[[int], None] = lambda number: None,
    ) -> Turn:
        """Send joint states at a rate, and hear the answers."""
        self._drain(0.05)
        count, period = round(rate * seconds), round(1e9 / rate)
        data = bytearray(serialize_message(state))
        sent = np.zeros(count, dtype=np.int64)
        heard = np.zeros(count, dtype=np.int64)
        gc.disable()
        cpu, due = self.cpu_time(), time.perf_counter_ns()
        for number in range(count):
            self._hear_until(due, heard)
            meanwhile(number)
            data[STAMP] = number.to_bytes(4, "little")
            message = bytes(data)
            sent[number] = time.perf_counter_ns()
            self._states.publish(message)
            # a driver that was held up does not make up for it by a burst
            due = max(due + period, time.perf_counter_ns())
        self._hear_until(due, heard)
        cpu = self.cpu_time() - cpu
        self._hear_until(time.perf_counter_ns() + 500 * MILLISECOND, heard)
        gc.enable()
        back = heard > 0
        return Turn(1e-9 * (heard - sent)[back], cpu, count, int((~back).sum()))

    def _hear_until(self, end: int, heard: np.ndarray) -> None:
        """Note when answers come, by the number in their stamps."""
        take = self._torques.handle.take_message
        while (left := end - time.perf_counter_ns()) > 0:
            self._wait(self._torques, left)
            while (taken := take(JointState, True)) is not None:
                heard[int.from_bytes(taken[0][STAMP], "little")] = time.perf_counter_ns()

    def send_trajectory(self, message: JointTrajectory) -> float:
        """Seconds until a trajectory is answered, without reading the answer."""
        self._drain(0.05)
        data = serialize_message(message)
        begin = time.perf_counter()
        self._commands.publish(data)
        if not self._wait(self._efforts, round(PATIENCE * 1e9)):
            raise RuntimeError("a trajectory was not answered")
        return time.perf_counter() - begin

    def cpu_time(self) -> float:
        """Seconds for which the threads of the node have run."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return 1e-9 * sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)

    def memory(self) -> float:
        """What the node holds in memory, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(float(line.split()[1]) / 1e3 for line in status if line.startswith("VmRSS"))
