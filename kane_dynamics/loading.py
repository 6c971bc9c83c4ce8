"""From a robot description to its dynamics, and to what is wrong with it."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

from kane_dynamics.codegen import Backend, CacheChoice, begin
from kane_dynamics.dynamics import Dynamics
from kane_dynamics.errors import ArgumentError
from kane_dynamics.robot.check import Finding
from kane_dynamics.robot.check import check as check_robot
from kane_dynamics.robot.late import NOTHING
from kane_dynamics.robot.magnitude import LARGEST
from kane_dynamics.robot.model import Robot
from kane_dynamics.robot.tree import moving_tree, with_late
from kane_dynamics.robot.urdf import read_urdf

if TYPE_CHECKING:
    from kane_dynamics.robot.constraints import Constraint

Source = str | bytes | os.PathLike[str] | Robot

_logger = logging.getLogger("kane_dynamics")


def load(
    source: Source,
    joints: Iterable[str] | None = None,
    locked: Mapping[str, float] | None = None,
    base: str = "fixed",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    joint_friction: bool = True,
    backend: Backend = "auto",
    cache: CacheChoice = True,
    late: str | Iterable[str] = (),
    payload: str | Iterable[str] = (),
    constraints: str | os.PathLike[str] | Iterable[Constraint] | None = None,
    actuated: Iterable[str] | None = None,
) -> Dynamics:
    """The dynamics of a robot.

    Parameters
    ----------
    source : str, bytes, path or Robot
        Path to a .urdf or .xacro file, URDF text, or a robot.
    joints : iterable of str, optional
        The joints that move; by default all that can. The others are locked.
    locked : dict from str to float, optional
        Positions (rad, m) of locked joints; those not named are locked at zero.
    base : {"fixed", "floating"}
        A floating base puts seven coordinates first (position x y z, quaternion x y z w) and six
        speeds first (linear, then angular velocity of the base in its own frame).
    gravity : sequence of three floats
        Acceleration of gravity in the frame of the root link, m/s².
    joint_friction : bool
        Whether damping and friction of the URDF's ``<dynamics>`` are part of the torques.
    backend : {"auto", "c", "numpy"}
        Compiled C, or NumPy; ``"auto"`` takes C where there is a compiler.
    cache : bool or path
        Whether compiled equations are kept on disk, and in which directory; by default in the
        user's cache directory.
    late : str or iterable of str
        Links whose inertia may be changed by `Dynamics.set_inertia`; at first it is that of the
        description.
    payload : str or iterable of str
        Links that may carry something, whose inertia `Dynamics.set_payload` gives.
    constraints : path or list of constraints, optional
        What the description cannot say: `Loop`, `Rolling`, `Coupling`, `Lock`, `Weld`; in Python,
        or in a YAML file. The result is then a `ConstrainedDynamics`.
    actuated : iterable of str, optional
        With constraints: joints that have motors; by default all but a floating base. One that
        is named must have a motion that constraints which hold from the start leave.

    Raises
    ------
    ModelError
        If the description cannot be read or describes no robot.
    ArgumentError
        If another argument is wrong.
    """
    begin(backend, cache)
    if not isinstance(joint_friction, bool):
        raise ArgumentError(f"joint_friction must be True or False, got {joint_friction!r}")
    robot = _robot(source)
    tree = moving_tree(robot, joints, locked, base, joint_friction)
    for finding in check_robot(robot, tree):
        if finding.severity == "error":
            _logger.warning("%s: %s", robot.source, finding.message)
    tree = with_late(tree, robot, late, payload)
    given = [robot.link(name).inertia for name in tree.late] + [NOTHING] * len(tree.payload)
    made_of = robot, tree, _gravity(gravity), backend, cache, given
    if constraints is None:
        if actuated is not None:
            raise ArgumentError("actuated is given without constraints, expected both or neither")
        return Dynamics(*made_of)
    return _constrained(made_of, constraints, actuated)


def _constrained(
    made_of: tuple[Any, Any, Any, Any, Any, Any],
    constraints: str | os.PathLike[str] | Iterable[Constraint],
    actuated: Iterable[str] | None,
) -> Dynamics:
    # Imported here: what has no constraints does without.
    from kane_dynamics.constrained.dynamics import ConstrainedDynamics
    from kane_dynamics.robot.constraint_file import blamed_on_file, read_constraints
    from kane_dynamics.robot.constraints import constraints_from

    named = isinstance(constraints, (str, os.PathLike))
    found = read_constraints(constraints) if named else constraints_from(constraints)  # type: ignore[arg-type]
    if isinstance(actuated, (str, bytes)) or not isinstance(actuated, (Iterable, NoneType)):
        raise ArgumentError(f"actuated is {actuated!r}, expected a list of joint names")
    motors = None if actuated is None else tuple(actuated)
    try:
        return ConstrainedDynamics(*made_of, found, motors)
    except ArgumentError as error:
        if not named or not str(error).startswith("constraint "):
            raise
        raise blamed_on_file(constraints, error) from error  # type: ignore[arg-type]


def check(source: Source) -> tuple[Finding, ...]:
    """What is physically wrong or suspicious about a robot, worst first.

    Parameters
    ----------
    source : str, bytes, path or Robot
        As in `load`.

    Returns
    -------
    tuple of Finding
        Each has a severity (``"error"``, ``"warning"`` or ``"note"``), the name of a link or
        joint, the rule it breaks, and a message of one sentence.
    """
    return check_robot(_robot(source))


def _robot(source: Source) -> Robot:
    return source if isinstance(source, Robot) else read_urdf(source)


def _gravity(gravity: Sequence[float]) -> tuple[float, float, float]:
    try:
        if isinstance(gravity, (str, bytes)):
            raise TypeError
        x, y, z = (float(g) for g in gravity)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"gravity must be three numbers, got {gravity!r}") from None
    if not all(map(math.isfinite, (x, y, z))):
        raise ArgumentError(f"gravity must be three finite numbers, got {gravity!r}")
    if max(abs(x), abs(y), abs(z)) > LARGEST:
        raise ArgumentError(f"gravity must be at most {LARGEST:g} m/s², got {gravity!r}")
    return x, y, z
