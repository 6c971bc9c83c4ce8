"""What disturbs a node: descriptions, trajectories, simulations and requests, large ones."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from array import array
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmarks.robots import PANDA
from kane_dynamics_interfaces.srv import InverseDynamics, Simulate

TRAJECTORY_PERIOD, TRAJECTORY_POINTS = 2.0, 300  # s
SIMULATION_PERIOD, SIMULATION_POINTS = 6.0, 50_000
REQUEST_PERIOD, REQUEST_POINTS = 4.0, 5000
STEP = 0.001  # s between two points
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def heavier(number: int) -> str:
    """The Panda with other masses, so that no cache knows it."""
    scale = 1.0 + 1e-3 * number
    return re.sub(
        '(<mass value=")([^"]*)', lambda m: f"{m[1]}{scale * float(m[2])!r}", PANDA.path.read_text()
    )


def trajectory(points: int, complete: bool = True) -> JointTrajectory:
    """A smooth motion from rest to rest, with velocities and accelerations or without."""
    message = JointTrajectory(joint_names=list(PANDA.joints))
    (q,), *_ = PANDA.states(1)
    t = STEP * np.arange(points)[:, None]
    turns = max(1, round(float(t[-1, 0]) / (2.0 * np.pi)))
    rate = 2.0 * np.pi * turns / t[-1, 0]
    amplitude = np.full(len(q), 0.1 / max(1.0, rate**2))
    positions = q + amplitude * (1.0 - np.cos(rate * t))
    velocities = amplitude * rate * np.sin(rate * t)
    accelerations = amplitude * rate**2 * np.cos(rate * t)
    for k in range(points):
        point = JointTrajectoryPoint(positions=array("d", positions[k]))
        if complete:
            point.velocities = array("d", velocities[k])
            point.accelerations = array("d", accelerations[k])
        seconds, rest = divmod(round(1e9 * STEP) * k, 10**9)
        point.time_from_start = Duration(sec=seconds, nanosec=rest)
        message.points.append(point)
    return message


def main(swap_period: float) -> NoReturn:
    """Disturb the node until nobody is there any more who wants that."""
    rclpy.init()
    node = Node("disturber")
    threading.Thread(target=rclpy.spin, args=(node,), daemon=True).start()
    (q,), *_ = PANDA.states(1)
    simulation = Simulate.Request(duration=SIMULATION_POINTS * STEP, output_step=STEP)
    simulation.initial_state.position = array("d", q)
    simulation.controller = "pd_gravity"
    request = InverseDynamics.Request(trajectory=trajectory(REQUEST_POINTS))
    tasks = [
        (TRAJECTORY_PERIOD, _publish_trajectories(node)),
        (SIMULATION_PERIOD, _call(node, Simulate, "simulate", simulation)),
        (REQUEST_PERIOD, _call(node, InverseDynamics, "inverse_dynamics", request)),
        (swap_period, _swap(node)),
    ]
    for _, task in tasks:
        next(task)
    parent = os.getppid()
    print("ready", flush=True)
    began = time.monotonic()
    due = [began + period for period, _ in tasks]
    while os.getppid() == parent:
        for k, (period, task) in enumerate(tasks):
            if time.monotonic() >= due[k]:
                next(task)
                due[k] += period
        time.sleep(0.01)
    os._exit(0)


def _swap(node: Node) -> Iterator[None]:
    publisher = node.create_publisher(String, "/robot_description", LATCHED)
    number = 0
    while True:
        yield
        number += 1
        publisher.publish(String(data=heavier(number)))


def _publish_trajectories(node: Node) -> Iterator[None]:
    publisher = node.create_publisher(JointTrajectory, "/joint_trajectory", 1)
    data = serialize_message(trajectory(TRAJECTORY_POINTS))
    while True:
        yield
        publisher.publish(data)


def _call(node: Node, kind: Any, name: str, request: Any) -> Iterator[None]:
    """Call a service, and say what became of the call before."""
    client = node.create_client(kind, f"/kane_dynamics/{name}")
    future = None
    while True:
        yield
        if future is not None and not (future.done() and future.result().success):
            answer = future.result().message if future.done() else "no answer yet"
            print(f"{name}: {answer}", file=sys.stderr)
        future = client.call_async(request)


if __name__ == "__main__":
    main(float(sys.argv[1]))
