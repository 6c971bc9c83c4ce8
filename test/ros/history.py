"""A history of random goals, cancels, stops and parameters, with a nemesis, against hardware.

The nemesis stops the node's process and lets it go on, kills it, sets the system clock forth and
back, and spoils joint states. What was said is recorded; whether it was right others judge.
"""

from __future__ import annotations

import os
import signal
import time
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from follow_client import ACTION
from hardware.process import Hardware
from hardware.robots import UR5
from hardware.settings import COMMANDS
from history_messages import Enabling, Goal, History, Life, Motion, Setting
from history_recorder import Recorder
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.action import ActionClient
from rclpy.parameter import Parameter
from robot_graph import Graph, NodeProcess, trajectory
from set_clock import SystemClock
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

ROBOT = UR5
JOINTS = list(ROBOT.joints)
HOME = ROBOT.points[0]
EFFORTS = np.array([150.0, 150.0, 150.0, 28.0, 28.0, 28.0])
INERTIA = np.array([2.4, 3.1, 0.85, 0.24, 0.25, 0.017])  # kg m^2 at home, for the gains of pd

LAWS: list[dict[str, Any]] = [
    {"control": "computed_torque", "kp": [400.0], "kd": [40.0]},
    {"control": "computed_torque", "kp": [225.0], "kd": [30.0]},
    {"control": "pd", "kp": (225.0 * INERTIA).tolist(), "kd": (30.0 * INERTIA).tolist()},
    {"control": "feedforward", "kp": [400.0], "kd": [40.0]},
]
OTHERS: list[dict[str, Any]] = [
    {"float_damping": [1.5]},
    {"float_damping": [3.0]},
    {"float_damping": [6.0]},
    {"idle": "hold"},
    {"idle": "float"},
    {"after_trip": "hold"},
    {"after_trip": "float"},
    {"effort_rate": (EFFORTS / 0.02).tolist()},
    {"effort_rate": (EFFORTS / 0.05).tolist()},
]
AT_START: dict[str, Any] = {
    **LAWS[0],
    "ki": [0.0],
    "float_damping": [3.0],
    "idle": "float",
    "after_trip": "hold",
    "effort_rate": (EFFORTS / 0.02).tolist(),
    "ramp_time": 0.3,
    "state_timeout": 0.2,
    "goal_tolerance": 0.05,
    "goal_time": 1.0,
}

DEEP = {f"qos_overrides.{COMMANDS}.publisher.depth": 1000}
"""What a recorder has missed is sent again."""

FAULTS: list[dict[str, Any]] = [
    {"stopped": True, "seconds": 0.05},
    {"stopped": True, "seconds": 0.4},
    {"delay": 0.02, "seconds": 0.3},
    {"delay": 0.1, "seconds": 0.2},
    {"delay": 0.4, "seconds": 0.3},
    {"repeats": 2, "seconds": 0.5},
    {"reordered": True, "seconds": 0.5},
    {"unstamped": True, "seconds": 0.6},
    {"ahead": 0.1, "seconds": 0.2},
    {"ahead": 1.0, "seconds": 0.2},
    {"not_a_number": [JOINTS[1]], "messages": 3},
    {"not_a_number": [JOINTS[4]], "velocities": True, "messages": 1},
    {"offset": {JOINTS[2]: 0.4}, "messages": 20},
    {"offset": {JOINTS[0]: -0.2}, "seconds": 0.2},
]
_FLUNG = 2.5  # rad from home, where hardware is set up anew
_PAUSE = 0.08  # s between operations, on average
_UNDER_WAY = 2_000_000_000  # ns, in which a request is read, also by a process that was stopped
_SETTLED = (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)


@dataclass(frozen=True)
class Operation:
    """Something that is done now and then."""

    share: float
    do: Callable[[], None]


class Making:
    """Makes a history of so many operations.

    Parameters
    ----------
    graph : Graph
    place : Path
        A folder for files.
    seed : int
    """

    def __init__(self, graph: Graph, place: Path, seed: int) -> None:
        self._graph, self._client, self._place = graph, graph.client, place
        self._random = np.random.default_rng(seed)
        self._clock = SystemClock(place / "clock")
        self._recorder = Recorder(graph.domain, self._clock)
        self._settings: list[Setting] = []
        self._enablings: list[Enabling] = []
        self._motions: list[Motion] = []
        self._goals: list[Goal] = []
        self._handles: list[Any] = []
        self._lives: list[Life] = []
        self._done: Counter[str] = Counter()
        self._resume_at: float | None = None
        self._hardware_count = 0
        self._enable = self._client.create_client(SetBool, "/kane_dynamics/enable_effort_commands")
        self._stop = self._client.create_client(Trigger, "/kane_dynamics/stop")
        self._set = self._client.create_client(
            SetParametersAtomically, "/kane_dynamics/set_parameters_atomically"
        )
        self._follow = ActionClient(self._client, FollowJointTrajectory, ACTION)
        self._topic = self._client.create_publisher(JointTrajectory, "/joint_trajectory", 10)
        self._operations = {
            "goal": Operation(0.34, self._send_goal),
            "bad goal": Operation(0.03, self._send_bad_goal),
            "trajectory": Operation(0.07, self._send_trajectory),
            "cancel": Operation(0.1, self._cancel),
            "stop": Operation(0.06, self._ask_to_stop),
            "disable": Operation(0.02, lambda: self._ask_to_enable(False)),
            "enable": Operation(0.02, self._ask_to_enable),
            "parameters": Operation(0.14, self._set_parameters),
            "joint states": Operation(0.11, self._spoil_states),
            "pause": Operation(0.06, self._pause_process),
            "clock": Operation(0.04, self._set_clock),
            "kill": Operation(0.003, self._kill),
        }

    def make(self, count: int, seconds: float = np.inf) -> History:
        """Do so many operations, or as many as there is time for."""
        self._set_up_hardware()
        self._start_node()
        names, operations = list(self._operations), list(self._operations.values())
        shares = np.array([each.share for each in operations])
        end = time.monotonic() + seconds
        for _ in range(count):
            if time.monotonic() > end:
                break
            self._keep_going()
            name = names[int(self._random.choice(len(names), p=shares / shares.sum()))]
            self._done[name] += 1
            self._operations[name].do()
            long = self._random.random() < 0.06
            self._spin(2.0 if long else float(self._random.exponential(_PAUSE)))
        self._come_to_an_end()
        history = self._recorder.end(JOINTS)
        history.settings, history.enablings = self._settings, self._enablings
        history.motions, history.goals, history.lives = self._motions, self._goals, self._lives
        for motion in self._motions:  # its stamp may have been read after the clock was set
            known = self._clock.between(motion.asked, motion.asked + _UNDER_WAY)
            motion.references = [motion.references[0] + known[0] - ahead for ahead in known]
        history.done = dict(self._done)
        return history

    # ------------------------------------------------------------------------- node and hardware
    def _set_up_hardware(self) -> None:
        self._hardware_count += 1
        place = self._place / f"hardware{self._hardware_count}"
        with self._clock.held_by_processes():
            self._hardware = Hardware(place, ROBOT.urdf, JOINTS, initial=HOME.tolist())
        # meanwhile answers are heard: results of goals are not kept for long
        self._client.until(lambda: self._hardware.has_answered, "hardware")
        self._hardware.ready()

    def _start_node(self) -> None:
        self._begin = time.time_ns()
        with self._clock.held_by_processes():
            self._node: NodeProcess = self._graph.start(
                ROBOT.urdf, ["-r", f"~/effort_commands:={COMMANDS}"], **AT_START, **DEEP
            )
        self._settings.append(Setting(self._begin, self._begin, True, dict(AT_START)))
        self._hardware.connected()
        for waited in (self._enable, self._stop, self._set):
            self._client.until(waited.service_is_ready, "the services of the node")
        self._client.until(self._follow.server_is_ready, "the action")
        self._client.until(self._recorder.newest_state, "joint states")
        # those of a node that was killed seem to be there, too: what they were asked is forgotten
        goals, enablings = len(self._goals), len(self._enablings)
        self._client.until(
            lambda: any(goal.results for goal in self._goals[goals:]),
            "the end of a goal",
            self._send_bad_goal,
            0.5,
        )
        del self._goals[goals:]
        self._client.until(
            lambda: any(each.granted for each in self._enablings[enablings:]),
            "commands",
            self._ask_to_enable,
            0.5,
        )
        asked = self._enablings[enablings:]
        self._enablings[enablings:] = [each for each in asked if each.answered is not None]
        self._spin(0.2)

    def _end_life(self, killed: bool) -> None:
        self._lives.append(Life(self._begin, time.time_ns(), killed))

    def _kill(self) -> None:
        """Kill the node under brakes, and start another."""
        self._resume()
        self._hardware.disturb()
        self._hardware.brake(True)
        self._graph.end(self._node, signal.SIGKILL)
        self._end_life(killed=True)
        self._handles.clear()
        self._spin(0.2)  # what it has said before
        self._client.status.clear()
        self._start_node()
        self._hardware.brake(False)

    def _keep_going(self) -> None:
        """Enable what has tripped, mostly; set up anew what was flung away."""
        told = self._recorder.told
        if told is not None and told.state in ("closed", "tripped") and self._random.random() < 0.6:
            self._ask_to_enable()
            self._spin(0.05)
        if self._is_flung():
            self._set_up_anew()

    def _set_up_anew(self) -> None:
        """Other hardware at home; nothing is commanded until all have found it."""
        self._done["set up anew"] += 1
        self._resume()
        self._hardware.ask_to_end()
        self._client.until(lambda: self._hardware.process.poll() is not None, "its end")
        self._hardware.end()
        request = self._ask_to_enable(False)
        self._client.until(lambda: request.answered, "an answer to the wish to end commands")
        self._client.until(self._is_closed, "the end of commands")
        self._set_up_hardware()
        self._hardware.connected()
        self._client.until(lambda: not self._is_flung(), "states of other hardware")
        self._spin(0.5)

    def _is_closed(self) -> bool:
        return self._recorder.told is not None and self._recorder.told.state == "closed"

    def _is_flung(self) -> bool:
        state = self._recorder.newest_state()
        return state is not None and not np.abs(np.array(state.position) - HOME).max() < _FLUNG

    def _come_to_an_end(self) -> None:
        """Let all that is under way end, with nothing wrong any more."""
        self._resume()
        self._hardware.disturb()
        deadline = time.monotonic() + 15.0
        while time.monotonic() < deadline and any(map(self._is_open, self._goals)):
            self._spin(0.2)
        self._end_life(killed=False)
        self._graph.end(self._node)
        self._spin(0.3)
        self._hardware.end()

    def _is_open(self, goal: Goal) -> bool:
        return goal.asked >= self._begin and not goal.results

    def _spin(self, seconds: float) -> None:
        """Let time pass; what was stopped for a while goes on when that is over."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            if self._resume_at is not None and time.monotonic() >= self._resume_at:
                self._resume()
            self._client.spin_for(min(left, 0.02))

    # ------------------------------------------------------------------------------- the nemesis
    def _pause_process(self) -> None:
        if self._resume_at is None:
            os.kill(self._node.process.pid, signal.SIGSTOP)
            longest = 1.0 if self._random.random() < 0.2 else 0.25
            self._resume_at = time.monotonic() + float(self._random.uniform(0.02, longest))

    def _resume(self) -> None:
        if self._resume_at is not None:
            os.kill(self._node.process.pid, signal.SIGCONT)
            self._resume_at = None

    def _set_clock(self) -> None:
        step = float(self._random.uniform(0.3, 3.0)) * (1 if self._random.random() < 0.5 else -1)
        self._clock.set(self._clock.ahead + round(1e9 * step))

    def _spoil_states(self) -> None:
        fault = FAULTS[int(self._random.integers(len(FAULTS)))]
        self._done[f"states {next(iter(fault))}"] += 1
        self._hardware.disturb(**fault)

    # ---------------------------------------------------------------------------------- requests
    def _answer_of(self, future: Any, request: Any, granted: Callable[[Any], bool]) -> None:
        def answered(done: Any) -> None:
            request.granted = granted(done.result())
            request.answered = time.time_ns()

        future.add_done_callback(answered)

    def _ask_to_enable(self, on: bool = True) -> Enabling:
        request = Enabling(time.time_ns(), on=on)
        self._enablings.append(request)
        future = self._enable.call_async(SetBool.Request(data=on))
        self._answer_of(future, request, lambda answer: bool(answer.success))
        return request

    def _ask_to_stop(self) -> None:
        self._stop.call_async(Trigger.Request())

    def _set_parameters(self) -> None:
        group = LAWS if self._random.random() < 0.5 else OTHERS
        values = group[int(self._random.integers(len(group)))]
        request = Setting(time.time_ns(), values=values)
        self._settings.append(request)
        parameters = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        future = self._set.call_async(SetParametersAtomically.Request(parameters=parameters))
        self._answer_of(future, request, lambda answer: bool(answer.result.successful))

    # --------------------------------------------------------------------------------- motions
    def _motion(self) -> tuple[JointTrajectory, Motion]:
        """A motion from where the arm is to some place about home, by way of another."""
        state = self._recorder.newest_state()
        assert state is not None
        here, moving = np.array(state.position), np.array(state.velocity)
        moving = np.where(np.isfinite(moving), moving, 0.0)
        lead = float(self._random.uniform(0.005, 0.15))
        here = here + lead * moving if np.isfinite(here).all() else HOME
        there = HOME + self._random.uniform(-0.4, 0.4, len(HOME))
        seconds = max(float(np.abs(there - here).max()) / 0.8, 0.3) + self._random.uniform(0.0, 0.5)
        if self._random.random() < 0.5:
            times = np.array([0.0, seconds])
            positions, velocities = np.array([here, there]), np.array([moving, 0.0 * moving])
        else:
            swing = self._random.uniform(-0.1, 0.1, len(HOME))
            times = np.array([0.0, 0.5 * seconds, seconds])
            positions = np.array([here, 0.5 * (here + there) + swing, there])
            velocities = np.array([moving, (there - here) / seconds, 0.0 * moving])
        none = np.zeros_like(positions)
        asked = time.time_ns()
        reference = asked + round(1e9 * lead)
        message = trajectory(JOINTS, times, positions, velocities, none)
        stamp = reference + self._clock.ahead
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        motion = Motion(
            asked,
            references=[reference],
            times=times,
            positions=positions,
            velocities=velocities,
            accelerations=none,
        )
        self._motions.append(motion)
        return message, motion

    def _send_trajectory(self) -> None:
        self._topic.publish(self._motion()[0])

    def _send_goal(self) -> None:
        message, motion = self._motion()
        self._follow_goal(message, Goal(motion.asked, True, motion.positions[-1]))

    def _send_bad_goal(self) -> None:
        """A goal that nobody can follow."""
        message, motion = self._motion()
        del self._motions[-1]
        kind = int(self._random.integers(4))
        last = message.points[-1]
        if kind == 0:
            message.joint_names[0] = "no_such_joint"
        elif kind == 1:
            last.time_from_start.sec = -1
        elif kind == 2:
            last.positions = array("d", [np.nan] * len(JOINTS))
        else:
            last.positions = array("d", [7.0] * len(JOINTS))
        self._follow_goal(message, Goal(motion.asked, False, motion.positions[-1]))

    def _follow_goal(self, message: JointTrajectory, goal: Goal) -> None:
        self._goals.append(goal)

        def ended(future: Any) -> None:
            answer = future.result()
            code, sentence = answer.result.error_code, answer.result.error_string
            goal.results.append((time.time_ns(), answer.status, code, sentence))

        def answered(future: Any) -> None:
            handle = future.result()
            goal.accepted = handle.accepted
            goal.identity = bytes(handle.goal_id.uuid)
            if handle.accepted:
                self._handles.append(handle)
                handle.get_result_async().add_done_callback(ended)

        sent = self._follow.send_goal_async(FollowJointTrajectory.Goal(trajectory=message))
        sent.add_done_callback(answered)

    def _cancel(self) -> None:
        """Cancel the newest goal, or one of those before."""
        self._handles = [each for each in self._handles[-8:] if each.status not in _SETTLED]
        if self._handles:
            newest = self._random.random() < 0.8
            place = -1 if newest else int(self._random.integers(len(self._handles)))
            self._handles[place].cancel_goal_async()
