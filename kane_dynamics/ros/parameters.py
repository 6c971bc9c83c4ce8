"""Parameters of the node: one table of names, descriptions, ranges and read-only flags."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from kane_dynamics.errors import ArgumentError


@dataclass(frozen=True)
class Settings:
    """Values of all parameters; the table below says what each means."""

    robot_description: str = ""
    joints: tuple[str, ...] = ()
    locked_joints: tuple[str, ...] = ()
    base: str = "fixed"
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    joint_friction: bool = True
    backend: str = "auto"
    cache_dir: str = ""
    limits: str = "warn"
    rate: float = 100.0
    command_joints: tuple[str, ...] = ()
    state_timeout: float = 0.2
    ramp_time: float = 1.0
    path_tolerance: float = 0.0
    max_trajectory_points: int = 100_000
    max_simulation_steps: int = 10_000_000
    max_simulation_points: int = 50_000

    @property
    def locked(self) -> dict[str, float]:
        """Positions of the locked joints that `locked_joints` names."""
        return dict(_locked_joint(entry) for entry in self.locked_joints)


@dataclass(frozen=True)
class Entry:
    """One row of the table: what a user may set, and to what."""

    name: str
    description: str
    read_only: bool = False
    range: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    check: Callable[[Any], object] | None = None


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


def _locked_joints(entries: Sequence[str]) -> None:
    for entry in entries:
        _locked_joint(entry)


def _gravity(values: Sequence[float]) -> None:
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise ArgumentError(f"gravity must be three finite numbers in m/s^2, got {list(values)}")


TABLE = (
    Entry(
        "robot_description",
        "The URDF as text. Empty: it is taken from the topic robot_description.",
    ),
    Entry("joints", "Joints that move; the others are locked. Empty: all that can.", True),
    Entry(
        "locked_joints",
        "Joints that do not move, each as name=position in rad or m, or name alone for zero.",
        True,
        check=_locked_joints,
    ),
    Entry(
        "base",
        "Whether the root link is fixed to the world, or floating: then at its origin, upright.",
        True,
        choices=("fixed", "floating"),
    ),
    Entry(
        "gravity",
        "Acceleration of gravity in the frame of the root link, m/s^2.",
        True,
        check=_gravity,
    ),
    Entry(
        "joint_friction",
        "Whether damping and friction of the URDF are part of the torques.",
        True,
    ),
    Entry(
        "backend",
        "How torques are computed: c compiles, numpy does not, auto compiles where it can.",
        True,
        choices=("auto", "c", "numpy"),
    ),
    Entry("cache_dir", "Directory of compiled equations. Empty: in the user's cache.", True),
    Entry(
        "limits",
        "Torques beyond the effort limits of the URDF: warn publishes them, clamp cuts them off, "
        "reject publishes nothing and refuses the trajectory.",
        choices=("warn", "clamp", "reject"),
    ),
    Entry("rate", "Rate of torques while a trajectory runs, Hz.", range=(0.1, 10_000.0)),
    Entry(
        "command_joints",
        "Order of the joints in effort_commands. Empty: all moving joints, as in the URDF.",
        True,
    ),
    Entry(
        "state_timeout",
        "Age of joint states, in s, beyond which effort commands fall silent.",
        range=(1e-3, 60.0),
    ),
    Entry(
        "ramp_time",
        "Time in s over which effort commands rise from zero when they are enabled.",
        range=(0.0, 60.0),
    ),
    Entry(
        "path_tolerance",
        "Distance in rad or m between a joint and where the trajectory wants it, beyond which "
        "effort commands fall silent. 0: any.",
        range=(0.0, 1000.0),
    ),
    Entry(
        "max_trajectory_points",
        "Most points of a trajectory that is served, and of the efforts, references and wrenches "
        "of a simulation.",
        range=(1, 10_000_000),
    ),
    Entry(
        "max_simulation_steps",
        "Most steps of a simulation. One that would take more is refused; one with adaptive step, "
        "which cannot know, ends there.",
        range=(1, 10_000_000_000),
    ),
    Entry(
        "max_simulation_points",
        "Most points of the answer to a simulation. The node is busy while it sends them.",
        range=(1, 10_000_000),
    ),
)
_ROWS = {entry.name: entry for entry in TABLE}
_DEFAULTS = Settings()


class Parameters:
    """Declares the parameters, and holds their values: `values` is replaced when one changes.

    Parameters
    ----------
    node : Node
    changed : callable, optional
        Told the old and the new settings after a change at run time.

    Raises
    ------
    ArgumentError
        If a value given at the start is wrong.
    """

    def __init__(
        self, node: Node, changed: Callable[[Settings, Settings], None] | None = None
    ) -> None:
        self.values = _DEFAULTS
        self._changed = changed
        for entry in TABLE:
            self._declare(node, entry)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take)

    def _declare(self, node: Node, entry: Entry) -> None:
        default = getattr(_DEFAULTS, entry.name)
        value: Any = (list(default) or [""]) if isinstance(default, tuple) else default
        # It is looked at before rclpy does so by the descriptor, and says less well what is wrong.
        anything = ParameterDescriptor(dynamic_typing=True)
        self._set(entry.name, node.declare_parameter(entry.name, value, anything).value)
        node.set_descriptor(entry.name, _descriptor(entry, default))

    def _set(self, name: str, given: Any) -> None:
        self.values = replace(self.values, **{name: checked(name, given)})

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            for parameter in parameters:
                if parameter.name in _ROWS:
                    checked(parameter.name, parameter.value)
        except ArgumentError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _take(self, parameters: list[Parameter]) -> None:
        before = self.values
        for parameter in parameters:
            if parameter.name in _ROWS:
                self._set(parameter.name, parameter.value)
        if self._changed is not None and self.values != before:
            self._changed(before, self.values)


def checked(name: str, given: Any) -> Any:
    """The value of a parameter in the type of its default; ArgumentError if it cannot be one."""
    entry, default = _ROWS[name], getattr(_DEFAULTS, name)
    value = _typed(name, given, default)
    if entry.range is not None and not entry.range[0] <= value <= entry.range[1]:
        low, high = entry.range
        raise ArgumentError(f"{name} is {value:g}, expected a number from {low:g} to {high:g}")
    if entry.choices and value not in entry.choices:
        raise ArgumentError(f"{name} is {value!r}, expected one of {', '.join(entry.choices)}")
    if entry.check is not None:
        entry.check(value)
    return value


def _typed(name: str, given: Any, default: Any) -> Any:
    """A value in the type of the default: whole numbers are numbers, empty lists have no type."""
    if isinstance(default, tuple):
        kind = float if default else str
        listed = [] if given is None else given
        if isinstance(listed, (str, bytes)) or not hasattr(listed, "__iter__"):
            raise _wrong_type(name, given, f"a list of {_KINDS[kind]}s")
        return tuple(_typed(name, each, kind()) for each in listed if each != "")
    if isinstance(default, float) and isinstance(given, int) and not isinstance(given, bool):
        return float(given)
    if type(given) is not type(default):
        raise _wrong_type(name, given, f"a {_KINDS[type(default)]}")
    return given


_KINDS: dict[type, str] = {str: "string", float: "number", int: "whole number", bool: "boolean"}


def _wrong_type(name: str, given: Any, expected: str) -> ArgumentError:
    return ArgumentError(f"{name} is {given!r}, expected {expected}")


def _descriptor(entry: Entry, default: Any) -> ParameterDescriptor:
    choices = f" One of {', '.join(entry.choices)}." if entry.choices else ""
    # a number may be written without a decimal point, and an empty list has no type
    any_type = isinstance(default, (float, tuple))
    descriptor = ParameterDescriptor(
        name=entry.name,
        type=0 if any_type else Parameter.Type.from_parameter_value(default).value,
        description=entry.description + choices,
        read_only=entry.read_only,
        additional_constraints=choices.strip(),
        dynamic_typing=any_type,
    )
    if entry.range is not None and isinstance(default, float):
        low, high = entry.range
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
    elif entry.range is not None:
        low, high = (int(end) for end in entry.range)
        descriptor.integer_range = [IntegerRange(from_value=low, to_value=high, step=1)]
    return descriptor
