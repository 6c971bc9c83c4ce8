"""The loop of hardware: in real time, whatever else the machine does."""

from __future__ import annotations

import gc
import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState

from hardware.forward_commands import ForwardCommands
from hardware.joint_states import StateFault, StateMessages
from hardware.mechanism import TICK, Mechanism
from hardware.record import Recorder
from hardware.settings import STATES, Payload, Settings
from hardware.trajectory_controller import TrajectoryController

_TICK = round(1e9 * TICK)
_LATE = 5_000_000  # ns
_CLOCK_WAS_SET = 1_000_000  # ns between the system's clock and the steady one, all of a sudden


class Robot:
    """A mechanism that moves on with time, its controller and its joint states.

    Time is the machine's steady clock. The loop comes round when a joint state is due, and makes
    up for the ticks that have passed, each with the commands that had been received by then; for
    joint states that it has missed it does not make up.
    """

    def __init__(self, node: Node, settings: Settings) -> None:
        self.mechanism = Mechanism(settings)
        motors = settings.motors or settings.joints
        self.recorder = Recorder(len(settings.joints), len(motors))
        self._states = StateMessages(settings.joints)
        self._publisher = node.create_publisher(JointState, STATES, 10)
        self._controller: ForwardCommands | TrajectoryController
        if settings.controller == "trajectory":
            self._controller = TrajectoryController(node, settings)
        else:
            self._controller = ForwardCommands(node, len(motors), self.recorder)
        self._brakes_wait = self.mechanism.braked
        self._every = round(1.0 / (TICK * settings.rate))
        self._orders: deque[Callable[[], None]] = deque()
        self._ended = False

    # -------------------------------------------------------------- orders, from other threads
    def end(self) -> None:
        self._ended = True

    def wait_for_commander(self) -> None:
        while not self._controller.heard.get_publisher_count():
            time.sleep(0.01)

    def push(self, **arguments: Any) -> None:
        self._between_ticks(lambda: self.mechanism.push(**{"offset": (0, 0, 0), **arguments}))

    def brake(self, on: bool) -> None:
        """Brakes on, until they are taken off: commands do not open them any more."""

        def order() -> None:
            self.mechanism.braked, self._brakes_wait = on, False

        self._between_ticks(order)

    def carry(self, **payload: Any) -> None:
        self._between_ticks(lambda: self.mechanism.carry(Payload(**payload)))

    def disturb(self, messages: int = 0, seconds: float = 0.0, **fault: Any) -> None:
        """Have a fault of joint states for a number of messages, a time, or until the next."""
        until = time.monotonic() + seconds if seconds else float("inf")
        order = StateFault(**fault), messages or float("inf"), until
        self._between_ticks(lambda: self._states.disturb(*order))

    def _between_ticks(self, order: Callable[[], None]) -> None:
        """Have the loop do something; what it raises is raised here."""
        outcome: list[Exception | None] = []

        def followed() -> None:
            try:
                order()
                outcome.append(None)
            except Exception as error:
                outcome.append(error)

        self._orders.append(followed)
        while not outcome:
            time.sleep(TICK)
        if outcome[0] is not None:
            raise outcome[0]

    # ------------------------------------------------------------------------------------ loop
    def run(self, ready: Callable[[], None] | None) -> None:
        """Be a robot until `end` is called; `ready` is called after the first joint state."""
        gc.collect()
        gc.freeze()
        gc.disable()
        begin, ticks = time.monotonic_ns(), 0
        system = time.time_ns() - begin
        due = self._every
        while not self._ended:
            early = begin + due * _TICK - time.monotonic_ns()
            if early > 0:
                time.sleep(1e-9 * early)
            elif early < -_LATE:
                self.recorder.late.append(-1e-9 * early)
            while self._orders:
                self._orders.popleft()()
            self._controller.receive()
            now = time.monotonic_ns()
            ahead = time.time_ns() - now
            if abs(ahead - system) > _CLOCK_WAS_SET:
                system = ahead
            while begin + (ticks + 1) * _TICK <= now:
                self._tick(begin + ticks * _TICK + system)
                ticks += 1
            self._publish(1e-9 * now, begin + ticks * _TICK + system)
            due = ticks - ticks % self._every + self._every
            if ready is not None:
                ready()
                ready = None

    def _tick(self, now: int) -> None:
        mechanism = self.mechanism
        efforts = self._controller.efforts(now, mechanism.position, mechanism.velocity)
        if efforts is not None:
            mechanism.command(efforts)
            if self._brakes_wait and self._controller.commanded:
                mechanism.braked = self._brakes_wait = False
        mechanism.tick()
        self.recorder.tick(
            now + _TICK, mechanism.position, mechanism.velocity, mechanism.effort, mechanism.braked
        )

    def _publish(self, now: float, stamp: int) -> None:
        mechanism = self.mechanism
        state = mechanism.position, mechanism.velocity, mechanism.effort
        for message in self._states.due(now, stamp, *state):
            self._publisher.publish(message)


def claim_the_machine() -> None:
    """Run before what else wants the machine, as a robot does: it has a machine of its own."""
    with suppress(PermissionError):  # then it is late now and then, and the record says so
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
