"""A client that plays a robot to the node, and prints what it receives.

It publishes the joint states of an arm, commands a trajectory, asks for the equations of motion,
and lets effort commands be enabled and trip. Started beside the node:

    python -m kane_dynamics.ros.main &
    python -m kane_dynamics.ros.demo_client urdf/stanford_arm.urdf

Given the path of a URDF, it publishes that on robot_description; without, the node has one.
"""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from kane_dynamics.ros.robot.description import LATCHED
from kane_dynamics_interfaces.srv import GetDynamics, Simulate

NODE = "kane_dynamics"
PATIENCE = 120.0
STATE_PERIOD = 0.01

_PLACES = np.array([[0.3], [0.45], [0.2]])  # of all joints at three points, rad or m


class DemoClient(Node):
    """Publishes joint states, and keeps the latest of what it hears."""

    def __init__(self) -> None:
        super().__init__("demo_client")
        self._spinner = SingleThreadedExecutor()
        self._spinner.add_node(self)
        self.status: dict[str, Any] = {}
        self.joints: list[str] = []
        self.positions = np.zeros(0)
        self.heard: dict[str, list[Any]] = {}
        self.states = self.create_publisher(JointState, "joint_states", 10)
        self.commands = self.create_publisher(JointTrajectory, "joint_trajectory", 10)
        self.description = self.create_publisher(String, "robot_description", LATCHED)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._diagnosed, 10)
        self._hear(JointState, "gravity_torques")
        self._hear(JointTrajectory, "torque_trajectory")
        self._hear(JointState, "torques")
        self._hear(Float64MultiArray, "effort_commands")

    def _hear(self, kind: type, topic: str) -> None:
        self.heard[topic] = []
        self.create_subscription(kind, f"{NODE}/{topic}", self.heard[topic].append, 100)

    def _diagnosed(self, message: DiagnosticArray) -> None:
        prefix = f"{self.get_namespace().rstrip('/')}/{NODE}: "
        for status in message.status:
            if status.name.startswith(prefix):
                self.status[status.name.removeprefix(prefix)] = status

    def publish_state(self) -> None:
        """Publish where the joints are."""
        message = JointState(name=self.joints)
        message.header.stamp = self.get_clock().now().to_msg()
        message.position = array("d", self.positions)
        message.velocity = array("d", np.zeros_like(self.positions))
        self.states.publish(message)

    def until(self, condition: Callable[[], Any], what: str, moving: bool = True) -> None:
        """Spin until a condition holds; meanwhile joint states are published, if `moving`."""
        end, due = time.monotonic() + PATIENCE, 0.0
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"waited {PATIENCE:g} s in vain for {what}; does the node run?")
            if moving and time.monotonic() >= due:
                due = time.monotonic() + STATE_PERIOD
                self.publish_state()
            self._spinner.spin_once(timeout_sec=0.002)

    def call(self, kind: type, name: str, request: Any) -> Any:
        """The response of a service of the node."""
        client = self.create_client(kind, f"{NODE}/{name}")
        self.until(client.service_is_ready, f"the service {name}")
        future = client.call_async(request)
        self.until(future.done, f"the response of {name}")
        return future.result()


def meet_the_node(client: DemoClient, urdf: str | None) -> None:
    """Give the node a robot, and print what it says of it."""
    if urdf is not None:
        client.description.publish(String(data=Path(urdf).read_text(encoding="utf-8")))

    def serving() -> bool:
        return "model" in client.status and client.status["model"].message == "serving"

    client.until(serving, "the node to serve a robot", moving=False)
    values = {entry.key: entry.value for entry in client.status["model"].values}
    client.joints = values["joints"].split(", ")
    client.positions = np.full(len(client.joints), _PLACES[0, 0])
    say("The node serves a robot, as /diagnostics says:")
    for key, value in values.items():
        if "time" not in key and "served" not in key:
            say(f"  {key:28} {value}")


def show_gravity_torques(client: DemoClient) -> None:
    """Print gravity torques for joint states."""
    heard = client.heard["gravity_torques"]
    client.until(lambda: len(heard) > 100, "gravity torques")
    say("\nFor every message on joint_states there is one on ~/gravity_torques:")
    say(row("position", client.positions))
    say(row("effort", heard[-1].effort))


def show_trajectory(client: DemoClient) -> None:
    """Print torques of a commanded trajectory."""
    command = JointTrajectory(joint_names=client.joints)
    for k, place in enumerate(_PLACES[1:], 1):
        point = JointTrajectoryPoint(time_from_start=Duration(sec=k))
        point.positions = array("d", np.broadcast_to(place, len(client.joints)))
        command.points.append(point)
    answers, torques = client.heard["torque_trajectory"], client.heard["torques"]
    client.commands.publish(command)
    client.until(lambda: answers, "the answer to a trajectory")
    say("\nA trajectory on joint_trajectory, positions alone, comes back on ~/torque_trajectory,")
    say(f"with efforts, as {len(answers[0].points)} points, the last of which holds the robot:")
    given = [point.time_from_start for point in command.points]
    *points, last = answers[0].points
    for point in (*(point for point in points if point.time_from_start in given), last):
        say(f"  at {seconds(point):.2f} s")
        for field in ("positions", "velocities", "accelerations", "effort"):
            say(row(f"  {field}", getattr(point, field)))

    def at_the_end() -> bool:
        return bool(torques) and np.allclose(torques[-1].position, _PLACES[-1], atol=1e-9)

    client.until(at_the_end, "the end of the trajectory")
    largest = np.abs([message.effort for message in torques]).max(axis=0)
    say(f"and is streamed on ~/torques as it falls due: {len(torques)} messages, at most")
    say(row("effort", largest))


def show_equations(client: DemoClient) -> None:
    """Print the equations of motion at the present state."""
    answer = client.call(GetDynamics, "get_dynamics", GetDynamics.Request())
    mass = np.reshape(answer.mass_matrix, (len(client.joints), -1))
    say("\nThe service ~/get_dynamics gives the mass matrix where the robot is, and more:")
    for name, line in zip(answer.joint_names, mass):
        say(row(name, line))
    say(f"  potential energy {answer.potential_energy:.3f} J")


def show_simulation(client: DemoClient) -> None:
    """Print what the robot does when it is let go."""
    request = Simulate.Request(duration=1.0, output_step=0.5)
    answer = client.call(Simulate, "simulate", request)
    say("\nThe service ~/simulate tells what would happen if the joints were let go now:")
    for point in answer.motion.points:
        say(row(f"at {seconds(point):.1f} s", point.positions))
    say(f"  energy is conserved to {answer.checks.relative_energy_error:.0e}")


def show_effort_commands(client: DemoClient) -> None:
    """Print effort commands from their beginning to their end."""
    heard = client.heard["effort_commands"]
    say(f"\nOn ~/effort_commands there was nothing so far: {len(heard)} messages.")
    response = client.call(SetBool, "enable_effort_commands", SetBool.Request(data=True))
    say(f"~/enable_effort_commands answers: {response.message}")
    client.until(lambda: len(heard) > 150, "effort commands")
    for k in (0, 50, 100, 150):
        say(row(f"command {k + 1}", heard[k].data))
    say("Now the joint states stop coming, and the node brakes and holds by itself:")
    client.until(
        lambda: client.status["effort commands"].level != b"\x00", "the error", moving=False
    )
    say(f"  /diagnostics: {client.status['effort commands'].message}")


def seconds(point: JointTrajectoryPoint) -> float:
    """When a point is due, from the start of its trajectory."""
    return float(point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec)


def row(name: str, numbers: Iterable[float]) -> str:
    """Numbers in a line, with what they are."""
    return f"  {name:15}" + "".join(f"{number:10.3f}" for number in numbers)


def say(text: str) -> None:
    """Show a line to the user."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(args: list[str] | None = None) -> int:
    """Run the demonstration; the exit status."""
    words = remove_ros_args(sys.argv if args is None else args)[1:]
    rclpy.init(args=args)
    try:
        client = DemoClient()
        meet_the_node(client, words[0] if words else None)
        show_gravity_torques(client)
        show_trajectory(client)
        show_equations(client)
        show_simulation(client)
        show_effort_commands(client)
    except (TimeoutError, OSError) as error:
        sys.stderr.write(f"demo_client: {error}\n")
        return 1
    except KeyboardInterrupt:
        pass
    except Exception:
        if rclpy.ok():
            raise  # else it comes of the shutdown
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
