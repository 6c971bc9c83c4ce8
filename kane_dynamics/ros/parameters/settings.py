"""The table of parameters: everything that a user may set, in the order of the parameter file.

What the node declares and describes comes from here, and so does config/dynamics.yaml, which
``python -m kane_dynamics.ros.parameters.file`` writes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.parameters.rows import parameter, rows_of
from kane_dynamics.ros.robot.outside_names import read_name_map


def _locked_joint(entry: str) -> tuple[str, float]:
    name, _, position = entry.partition("=")
    try:
        value = float(position) if position.strip() else 0.0
    except ValueError:
        value = math.nan
    if not name.strip() or not math.isfinite(value):
        raise ArgumentError(
            f"locked_joints: {entry!r} must be a joint's name, or name=position in rad or m"
        )
    return name.strip(), value


def _check_locked_joints(entries: Sequence[str]) -> None:
    for entry in entries:
        _locked_joint(entry)


def _check_gravity(values: Sequence[float]) -> None:
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise ArgumentError(f"gravity must be three finite numbers in m/s^2, got {list(values)}")


@dataclass(frozen=True)
class Settings:
    """Values of all parameters."""

    robot_description: str = parameter(
        "",
        "The URDF as text, which the launch file fills from its argument urdf. Empty: it is taken "
        "from the topic robot_description.",
        heading="the robot",
        filed=False,
    )
    joints: tuple[str, ...] = parameter(
        (),
        "Joints that move; the others are locked. Empty: all that can.",
        read_only=True,
    )
    locked_joints: tuple[str, ...] = parameter(
        (),
        "Joints that do not move, each as name=position in rad or m, or its name alone for zero: "
        'such as ["panda_finger_joint1=0.02", "panda_finger_joint2=0.02"].',
        read_only=True,
        check=_check_locked_joints,
    )
    lock_silent_joints: bool = parameter(
        False,
        "Whether joints that no joint state has named within a second after the first ones came "
        "are locked by themselves: at zero, or at the limit nearest to it.",
        read_only=True,
    )
    joint_prefix: str = parameter(
        "",
        "What comes before the URDF's names of joints in all messages: left_ if they call joint1 "
        "left_joint1.",
        read_only=True,
    )
    joint_name_map: tuple[str, ...] = parameter(
        (),
        "Joints that messages call otherwise than the URDF, each as name in messages=name in the "
        'URDF: such as ["fer_joint1=panda_joint1"]. joint_prefix does not count for these.',
        read_only=True,
        check=read_name_map,
    )
    base: str = parameter(
        "fixed",
        "Whether the root link moves.",
        choices={
            "fixed": "it stands still",
            "floating": "it moves freely; torques are then those of a robot whose root link is "
            "upright and at rest",
        },
        read_only=True,
    )
    constraints: str = parameter(
        "",
        "Path of a YAML file with what the URDF cannot say: loops, wheels, gears, locks and welds. "
        "It calls links and joints as the URDF does. Empty: there are none.",
        read_only=True,
    )
    actuated: tuple[str, ...] = parameter(
        (),
        "With constraints: joints that have motors; torques of all others are zero. Empty: all.",
        read_only=True,
    )
    constraint_tolerance: float = parameter(
        0.005,
        "How far joint states and trajectories may be from constraints that hold. What is nearer "
        "is moved onto them; what is not is refused.",
        unit="rad or m",
        range=(1e-9, 1.0),
        read_only=True,
    )
    gravity: tuple[float, ...] = parameter(
        (0.0, 0.0, -9.81),
        "Acceleration of gravity in the frame of the root link. Change it for a robot that is "
        "mounted on a wall or ceiling.",
        unit="m/s^2",
        read_only=True,
        check=_check_gravity,
    )
    joint_friction: bool = parameter(
        True,
        "Whether damping and friction of the URDF are part of the torques of a motion.",
        read_only=True,
    )
    backend: str = parameter(
        "auto",
        "How torques are computed.",
        choices={
            "auto": "compiled where there is a compiler",
            "c": "compiled",
            "numpy": "not compiled",
        },
        read_only=True,
    )
    cache_dir: str = parameter(
        "",
        "Directory of compiled equations. Empty: kane_dynamics in the user's cache directory.",
        read_only=True,
    )
    derivation_timeout: float = parameter(
        120.0,
        "Longest time in which the equations of a description are derived and compiled; one that "
        "takes longer is refused, and the model before it serves on.",
        unit="s",
        range=(0.1, 86_400.0),
    )
    limits: str = parameter(
        "warn",
        "Motions and torques beyond the limits of the URDF. What is beyond limits of position or "
        "velocity, or needs more than twice an effort limit, is never commanded by this node.",
        choices={
            "warn": "trajectories are passed on with efforts cut off at the limit, and counted in "
            "the diagnostics; those that need more than twice the limit are refused",
            "clamp": "efforts are cut off at the limit",
            "reject": "trajectories are refused, and gravity torques not published",
        },
        heading="torques",
    )
    point_spacing: float = parameter(
        0.02,
        "Longest time between two points of ~/torque_trajectory: where the points given are "
        "farther apart, others are added on the same curve, because controllers interpolate "
        "efforts linearly. 0: none are added.",
        unit="s",
        range=(0.0, 10.0),
    )
    hold_at_start: bool = parameter(
        False,
        "Whether a trajectory that holds the arm where it is, with the efforts for that, is "
        "published on ~/torque_trajectory as soon as the arm and a subscriber are known, and again "
        "for 5 s, for a controller drops it until it is active; any other trajectory ends that. "
        "The service ~/hold publishes one at any time.",
    )
    robot_compensates_gravity: bool = parameter(
        False,
        "Whether the robot adds the torques against gravity by itself: then all torques but "
        "~/gravity_torques come without them.",
        read_only=True,
    )
    rate: float = parameter(
        100.0, "Rate of ~/torques while a trajectory runs.", unit="Hz", range=(0.1, 10_000.0)
    )
    max_trajectory_points: int = parameter(
        100_000,
        "Most points of a commanded trajectory; also of the trajectory of ~/inverse_dynamics, and "
        "of the efforts, the reference and the wrenches of a simulation. More are refused.",
        range=(1, 10_000_000),
        heading="bounds of what is served",
    )
    max_simulation_steps: int = parameter(
        10_000_000,
        "Most steps of a simulation. With a fixed step, more are refused; adaptive methods, which "
        "cannot know beforehand, end when they have taken so many, and give what they have.",
        range=(1, 10_000_000_000),
    )
    max_simulation_points: int = parameter(
        50_000,
        "Most points of the answer to a simulation: duration / output_step. More are refused. "
        "Sending 1000 points takes 2 to 4 ms, beside which torques go on.",
        range=(1, 10_000_000),
    )
    command_joints: tuple[str, ...] = parameter(
        (),
        "Order of the joints in ~/effort_commands: that of the controller's parameter joints. "
        "Empty: all moving joints, in the order of the URDF.",
        read_only=True,
        heading="effort commands: silent until the service ~/enable_effort_commands is called",
    )
    realtime_priority: int = parameter(
        10,
        "Priority of the node's threads under real-time scheduling, where the system allows it: "
        "what else the machine does then hardly delays commands. 0: none.",
        range=(0, 99),
        read_only=True,
    )
    idle: str = parameter(
        "float",
        "What a robot does that is enabled, and has not been given a trajectory yet.",
        choices={
            "float": "gravity torques and float_damping: it can be led by hand",
            "hold": "it is held where it is",
        },
    )
    control: str = parameter(
        "computed_torque",
        "How trajectories are followed.",
        choices={
            "feedforward": "torques of the model alone, which do not ask where the arm is; after a "
            "trajectory it floats",
            "pd": "torques of the model, and kp and kd times the errors; then it is held",
            "computed_torque": "M(q) (acceleration + kd velocity error + kp error) + bias at the "
            "measured state; then it is held",
        },
    )
    kp: tuple[float, ...] = parameter(
        (),
        "Gain of position errors, in 1/s^2 for computed_torque, in N m/rad or N/m for pd. Empty: "
        "from a bandwidth in rad/s, about a twelfth of the rate of joint states in Hz, at most 40; "
        "light joints are stiffer.",
        range=(0.0, 1e9),
        per_joint=True,
    )
    kd: tuple[float, ...] = parameter(
        (),
        "Gain of velocity errors, in 1/s or N m s/rad or N s/m. Empty: critically damped.",
        range=(0.0, 1e9),
        per_joint=True,
    )
    ki: tuple[float, ...] = parameter(
        (),
        "Gain of the integral of position errors, in 1/s^3 or N m/(rad s) or N/(m s), which stops "
        "where efforts are at their limits, and never gives more than half of these. 0: no "
        "integral. Empty: from the bandwidth.",
        range=(0.0, 1e9),
        per_joint=True,
    )
    float_damping: tuple[float, ...] = parameter(
        (3.0,),
        "How fast a floating arm loses its speed: by a factor of e in 1/float_damping s.",
        unit="1/s",
        range=(0.0, 100.0),
        per_joint=True,
    )
    effort_rate: tuple[float, ...] = parameter(
        (),
        "Most change of a commanded effort in a second, in N m/s or N/s. Empty: from zero to the "
        "effort limit in 20 ms.",
        range=(1e-6, 1e12),
        per_joint=True,
    )
    after_trip: str = parameter(
        "hold",
        "What follows when something was wrong and the arm has been braked, while joint states "
        "can be trusted.",
        choices={
            "hold": "it is held where it is",
            "float": "gravity torques and float_damping",
        },
    )
    state_timeout: float = parameter(
        0.2,
        "Age of the state of a joint, or time that its stamp is ahead of the clock, beyond which "
        "it cannot be trusted.",
        unit="s",
        range=(1e-3, 60.0),
    )
    start_tolerance: float = parameter(
        0.1,
        "Distance of a joint from where a trajectory begins, or is when it is taken up, beyond "
        "which it is not followed.",
        unit="rad or m",
        range=(0.0, 1000.0),
    )
    path_tolerance: float = parameter(
        0.2,
        "Distance of a joint from where a trajectory wants it, beyond which the arm is braked. "
        "0: any.",
        unit="rad or m",
        range=(0.0, 1000.0),
    )
    velocity_margin: float = parameter(
        0.1,
        "Share by which a joint may exceed the velocity limit of the URDF before it is braked.",
        range=(0.0, 10.0),
    )
    position_margin: float = parameter(
        0.02,
        "How far before its stops a floating arm is caught, and how far beyond them a joint may "
        "seem to be while it follows; at most a twentieth of its range.",
        unit="rad or m",
        range=(0.0, 1.0),
    )
    ramp_time: float = parameter(
        1.0,
        "Time over which torques take over from those that hold the arm still, with which effort "
        "commands begin.",
        unit="s",
        range=(0.0, 60.0),
    )
    goal_tolerance: float = parameter(
        0.0,
        "A goal is reached when all its joints are within this distance of the last point. 0: any.",
        unit="rad or m",
        range=(0.0, 1000.0),
        heading="goals of ~/follow_joint_trajectory, as far as they do not say otherwise",
    )
    stopped_velocity_tolerance: float = parameter(
        0.01,
        "A goal is reached when all its joints are slower than this. 0: any.",
        unit="rad/s or m/s",
        range=(0.0, 1000.0),
    )
    goal_time: float = parameter(
        0.0,
        "A goal is given up when it is not reached this long after the time of its last point. "
        "0: however long it takes.",
        unit="s",
        range=(0.0, 86_400.0),
    )
    forward_to: str = parameter(
        "",
        "The name of a controller's action, to which goals are passed on with efforts added: such "
        "as /arm_controller/follow_joint_trajectory. Empty: they are executed here.",
        read_only=True,
    )

    @property
    def name_map(self) -> dict[str, str]:
        """Names in messages that `joint_name_map` gives, by the joint's name in the URDF."""
        return read_name_map(self.joint_name_map)

    @property
    def locked(self) -> dict[str, float]:
        """Positions of the locked joints that `locked_joints` names."""
        return dict(_locked_joint(entry) for entry in self.locked_joints)


TABLE = rows_of(Settings)
"""Each parameter's row, by its name."""


def checked(name: str, given: Any) -> Any:
    """The value of a parameter in its type; ArgumentError if it cannot be one."""
    return TABLE[name].checked(given)
