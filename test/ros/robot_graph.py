"""Processes of the node, and a client that speaks to them over DDS."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray
from python_path import python_path
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import kane_dynamics as kd

ROOT = Path(__file__).parents[2]
TWO_LINK = ROOT / "urdf" / "two_link_arm.urdf"
STANFORD = ROOT / "urdf" / "stanford_arm.urdf"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PATIENCE = 60.0  # s, for a machine that does other things too
LOOK = 0.02  # s between two looks at what no message tells


def _described(file: str) -> Path:
    """A URDF of the package example-robot-data."""
    place = distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data")
    (path,) = Path(str(place)).rglob(file)
    return path


def panda() -> tuple[Path, list[str]]:
    """The URDF of the Panda, and the joints of its arm."""
    return _described("panda.urdf"), [f"panda_joint{k}" for k in range(1, 8)]


def ur10() -> tuple[Path, list[str]]:
    """The URDF of the UR10, and its joints."""
    places = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
    return _described("ur10_robot.urdf"), [f"{place}_joint" for place in places]


def limited_arm(effort: float = 50.0, velocity: float = 10.0) -> str:
    """The two-link arm, as text, with limits of both joints."""
    limit = f'<limit effort="{effort}" velocity="{velocity}"/>'
    moving = '(<joint [^>]*type="continuous">)'
    text, count = re.subn(moving, lambda found: found[1] + limit, TWO_LINK.read_text())
    assert count == 2
    return text


def chain(joints: int) -> str:
    """A robot as text, whose axes alternate."""
    link = (
        '<link name="l{0}"><inertial><origin xyz="0.02 0.01 0.1"/><mass value="1"/><inertia '
        'ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>'
        '<joint name="j{0}" type="continuous"><parent link="l{1}"/><child link="l{0}"/>'
        '<origin xyz="0 0 0.2" rpy="0.3 0.2 0.1"/><axis xyz="{2}"/></joint>'
    )
    axes = ("1 0 0", "0 1 0", "0 0 1")
    parts = (link.format(k, k - 1, axes[k % 3]) for k in range(1, joints + 1))
    return f'<robot name="chain"><link name="l0"/>{"".join(parts)}</robot>'


class NodeProcess:
    """The node in a process of its own."""

    def __init__(self, place: Path, parameters: dict[str, Any], arguments: Sequence[str]) -> None:
        place.mkdir()
        file = place / "parameters.yaml"
        file.write_text(json.dumps({"/**": {"ros__parameters": parameters}}))  # which is YAML
        self._log = place / "output.txt"
        command = [sys.executable, "-m", "kane_dynamics.ros.main"]
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [*command, "--ros-args", "--params-file", str(file), *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, "ROS_HOME": str(place), "PYTHONPATH": python_path(ROOT)},
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def memory(self) -> float:
        """What the process holds in memory, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(float(line.split()[1]) / 1e3 for line in status if line.startswith("VmRSS"))

    def end(self, ending: signal.Signals = signal.SIGINT) -> int:
        """End the process by a signal; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(ending)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Client(Node):
    """What speaks to the node, and hears what it says."""

    def __init__(self, context: Context, namespace: str = "") -> None:
        super().__init__("client", context=context, namespace=namespace)
        self._spinner = SingleThreadedExecutor(context=context)
        self._spinner.add_node(self)
        self.watched: list[NodeProcess] = []
        self.status: dict[str, Any] = {}
        self._actions: dict[str, ActionClient] = {}
        self.create_subscription(DiagnosticArray, "/diagnostics", self._diagnosed, 100)

    def serve(self, node: Node) -> None:
        """Serve another node, too, whenever this one waits."""
        self._spinner.add_node(node)

    def _diagnosed(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.status[status.name] = status

    def hear(self, kind: type, topic: str, profile: Any = 1000) -> list[Any]:
        """Messages of a topic as they come, once its publisher is found."""
        messages: list[Any] = []
        heard = self.create_subscription(kind, topic, messages.append, profile)
        self.until(lambda: self.count_publishers(heard.topic_name) > 0, f"publisher of {topic}")
        return messages

    def speak(self, kind: type, topic: str, profile: Any = 100) -> Any:
        """A publisher that somebody listens to."""
        publisher = self.create_publisher(kind, topic, profile)
        self.until(lambda: publisher.get_subscription_count() > 0, f"subscriber of {topic}")
        return publisher

    def introduce(self, states: Any, heard: list[Any], message: JointState) -> None:
        """Publish joint states until they are answered, and forget the answers.

        What is published with best effort is lost until the node, too, has found the publisher.
        """
        sent = 0

        def publish() -> None:
            nonlocal sent
            sent += 1
            message.header.stamp = Time(sec=1, nanosec=sent)
            states.publish(message)

        self.until(lambda: heard, "an answer to joint states", publish, 0.05)
        self.until(lambda: heard[-1].header.stamp.nanosec == sent, "an answer to the last of them")
        heard.clear()

    def spin_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._spinner.spin_once(timeout_sec=left)

    def until(
        self,
        condition: Callable[[], Any],
        what: str,
        meanwhile: Callable[[], Any] | None = None,
        period: float = 0.01,
    ) -> Any:
        """Spin until a condition holds, doing something every period; what the condition gave."""
        end, due = time.monotonic() + PATIENCE, 0.0
        look = LOOK if meanwhile is None else min(LOOK, period / 2.0)
        while time.monotonic() < end:
            if meanwhile is not None and time.monotonic() >= due:
                due = time.monotonic() + period
                meanwhile()
            self._spinner.spin_once(timeout_sec=look)
            result = condition()
            if result:
                return result
            for node in self.watched:
                assert node.process.poll() is None, f"the node ended: {node.log}"
        shown = {name: status.message for name, status in self.status.items()}
        raise AssertionError(f"waited in vain for: {what}; diagnostics: {shown}")

    def action(self, kind: type, name: str) -> ActionClient:
        """A client of an action that is served: one for all goals.

        The middleware may not find a server again for a client that is made while another goes.
        """
        if name not in self._actions:
            self._actions[name] = ActionClient(self, kind, name)
        self.until(self._actions[name].server_is_ready, f"action {name}")
        return self._actions[name]

    def call(self, kind: type, name: str, request: Any, meanwhile: Any = None) -> Any:
        """The response of a service."""
        client = self.create_client(kind, name)
        self.until(client.service_is_ready, f"service {name}")
        future = client.call_async(request)
        self.until(future.done, f"response of {name}", meanwhile)
        self.destroy_client(client)
        return future.result()

    def enable(self, on: bool = True, name: str = "/kane_dynamics", meanwhile: Any = None) -> Any:
        service = f"{name}/enable_effort_commands"
        return self.call(SetBool, service, SetBool.Request(data=on), meanwhile)

    def diagnosis(self, subject: str, name: str = "/kane_dynamics") -> Any:
        """The newest status about a subject, None if there is none."""
        return self.status.get(f"{name}: {subject}")

    def fault_count(self, cause: str, name: str = "/kane_dynamics") -> int:
        status = self.diagnosis("faults", name)
        values = {} if status is None else {entry.key: entry.value for entry in status.values}
        return int(values.get(cause, 0))


class Graph:
    """Nodes and a client in one domain."""

    def __init__(self, domain: int, place: Path) -> None:
        self.domain, self._place = domain, place
        self.nodes: list[NodeProcess] = []
        self._ended: set[NodeProcess] = set()

    def __enter__(self) -> "Graph":
        self._context = Context()
        rclpy.init(context=self._context, domain_id=self.domain, args=[])
        self.client = Client(self._context)
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        statuses = [(node.end(), node) for node in self.nodes if node not in self._ended]
        self.client.destroy_node()
        rclpy.shutdown(context=self._context)
        for status, node in statuses:
            sys.stderr.write(node.log)  # which pytest shows if the test fails
            if kind is not None:
                continue
            assert status == 0, node.log
            assert "Traceback" not in node.log, node.log
            assert "internal error" not in node.log, node.log

    def start(
        self,
        urdf: Path | str | None = TWO_LINK,
        arguments: Sequence[str] = (),
        ready: bool = True,
        name: str = "/kane_dynamics",
        **parameters: Any,
    ) -> NodeProcess:
        """A node for a robot, with parameters; waits until it serves."""
        if urdf is not None:
            text = urdf if isinstance(urdf, str) else urdf.read_text()
            parameters["robot_description"] = text
        node = NodeProcess(self._place / f"node{len(self.nodes)}", parameters, arguments)
        self.nodes.append(node)
        self.client.watched.append(node)
        if ready:
            self.wait_until_serving(name)
        return node

    def wait_until_serving(self, name: str = "/kane_dynamics") -> None:
        def serving() -> bool:
            status = self.client.diagnosis("model", name)
            return status is not None and status.message == "serving"

        self.client.until(serving, f"{name} to serve")

    def end(self, node: NodeProcess, ending: signal.Signals = signal.SIGINT) -> int:
        """End a node before the test ends; its exit status."""
        self.client.watched.remove(node)
        self._ended.add(node)
        return node.end(ending)

    def status_of_refusal(self, node: NodeProcess) -> int:
        """Exit status of a node that ends by itself."""
        self.client.watched.remove(node)
        self._ended.add(node)
        return node.process.wait(PATIENCE)


# ------------------------------------------------------------------------------------- messages


def joint_state(
    names: Sequence[str],
    positions: Sequence[float] | np.ndarray,
    velocities: Sequence[float] | np.ndarray = (),
    stamp: Time | None = None,
) -> JointState:
    message = JointState(name=list(names))
    message.position = array("d", positions)
    message.velocity = array("d", velocities)
    if stamp is not None:
        message.header.stamp = stamp
    return message


def trajectory(
    names: Sequence[str],
    times: Sequence[float] | np.ndarray,
    positions: Any,
    velocities: Any = None,
    accelerations: Any = None,
    stamp: Time | None = None,
) -> JointTrajectory:
    message = JointTrajectory(joint_names=list(names))
    if stamp is not None:
        message.header.stamp = stamp
    for k, t in enumerate(times):
        point = JointTrajectoryPoint(positions=array("d", positions[k]))
        if velocities is not None:
            point.velocities = array("d", velocities[k])
        if accelerations is not None:
            point.accelerations = array("d", accelerations[k])
        point.time_from_start = duration(t)
        message.points.append(point)
    return message


def duration(seconds: float) -> Duration:
    whole = int(np.floor(seconds))
    return Duration(sec=whole, nanosec=round((seconds - whole) * 1e9))


def later(node: Node, seconds: float) -> Time:
    """The time in some seconds."""
    nanoseconds = node.get_clock().now().nanoseconds + round(seconds * 1e9)
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def seconds_of(stamp: Time | Duration) -> float:
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def seconds_between(first: Time, second: Time) -> float:
    """Exact to the nanosecond, which the difference of two times in seconds is not."""
    return float((second.sec - first.sec) + 1e-9 * (second.nanosec - first.nanosec))


def efforts_of(message: JointTrajectory) -> np.ndarray:
    return np.array([point.effort for point in message.points])


def arm_of(urdf: Path, **options: Any) -> kd.Dynamics:
    """What the node should compute."""
    return kd.load(urdf, **options)
