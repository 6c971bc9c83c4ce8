"""Rules about joints: what they carry, their friction and their limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kane_dynamics.arrays import Array
from kane_dynamics.robot.articulated import unresisted_joints
from kane_dynamics.robot.model import Joint, Limits
from kane_dynamics.robot.survey import Survey, Violation

_BOUNDED = ("revolute", "prismatic")


def no_inertia(survey: Survey) -> Iterator[Violation]:
    """Find joints that nothing resists, so that forces do not determine their acceleration."""
    singular = unresisted_joints(survey)
    held = _masters_with_inertia(survey, set(singular.values()))
    outboard = _outboard_mass(survey)
    told: set[int] = set()
    for i in sorted(singular):
        joint = survey.bodies.joint[i]
        if joint is None or joint.mimic is not None or joint.name in held:
            continue
        if outboard[i] == 0.0:
            told.add(i)
            if int(survey.bodies.parent[i]) in told:
                continue  # it is said of the whole chain, at its first joint
            yield survey.at_joint(
                joint,
                f"moves link {joint.child!r} and what it carries, all without mass:"
                " give these links mass and inertia, or make the joint fixed",
            )
        else:
            yield survey.at_joint(
                joint,
                f"moves {outboard[i]:.3g} kg that do not resist it, without inertia"
                f" {_toward(joint)} or because other joints give way:"
                f" give link {joint.child!r} its inertia",
            )


def massless_link(survey: Survey) -> Iterator[Violation]:
    """Find moving links that have a length or a shape but no mass, and carry others that have."""
    bodies, outboard, span = survey.bodies, _outboard_mass(survey), survey.bodies.span
    for i in range(1, len(bodies.mass)):
        if bodies.mass[i] == 0.0 < outboard[i] and span[i] > 1e-6:
            yield survey.at_link(
                bodies.main[i],
                f"moves and is {span[i]:.2g} m long but has no mass: give it mass and inertia",
            )


def negative_damping(survey: Survey) -> Iterator[Violation]:
    """Find joints that are driven by their own motion."""
    for joint in survey.robot.joints:
        if joint.damping < 0.0:
            yield survey.at_joint(
                joint,
                f"has damping {joint.damping:g}, which drives it faster and faster:"
                " expected none below zero",
            )


def negative_friction(survey: Survey) -> Iterator[Violation]:
    """Find joints whose dry friction drives them."""
    for joint in survey.robot.joints:
        if joint.friction < 0.0:
            yield survey.at_joint(
                joint,
                f"has friction {joint.friction:g}, which drives it instead of holding it:"
                " expected none below zero",
            )


def limits_reversed(survey: Survey) -> Iterator[Violation]:
    """Find joints with a lower limit above the upper one."""
    for joint, limits in _limited(survey, lambda limits: limits.lower > limits.upper):
        if joint.kind in _BOUNDED:
            yield survey.at_joint(
                joint,
                f"has the lower limit {limits.lower:g} above the upper limit {limits.upper:g}:"
                " exchange them",
            )


def no_range(survey: Survey) -> Iterator[Violation]:
    """Find joints whose limits leave them nothing to move."""
    for joint, limits in _limited(survey, lambda limits: limits.lower == limits.upper):
        if joint.kind in _BOUNDED:
            yield survey.at_joint(
                joint,
                f"is {joint.kind} but both of its limits are {limits.lower:g}:"
                " give its range, or make it fixed or continuous",
            )


def no_effort(survey: Survey) -> Iterator[Violation]:
    """Find joints that no torque or force may drive."""
    for joint, limits in _limited(survey, lambda limits: limits.effort <= 0.0):
        if joint.mimic is None:
            yield survey.at_joint(
                joint,
                f"has the effort limit {limits.effort:g}, so nothing may drive it:"
                " give the largest torque or force, unless it is passive",
            )


def no_velocity(survey: Survey) -> Iterator[Violation]:
    """Find joints that may not move at any speed."""
    for joint, limits in _limited(survey, lambda limits: limits.velocity <= 0.0):
        if joint.mimic is None:
            yield survey.at_joint(
                joint,
                f"has the velocity limit {limits.velocity:g}, so it may not move:"
                " give the largest speed",
            )


def _limited(survey: Survey, bad: Callable[[Limits], bool]) -> Iterator[tuple[Joint, Limits]]:
    for joint in survey.robot.joints:
        if joint.kind != "fixed" and joint.limits is not None and bad(joint.limits):
            yield joint, joint.limits


def _toward(joint: Joint) -> str:
    ways = {
        "prismatic": "along its axis",
        "floating": "in some direction",
        "planar": "in its plane",
        "ball": "about some axis",
    }
    return ways.get(joint.kind, "about its axis")


def _masters_with_inertia(survey: Survey, singular: set[str]) -> set[str]:
    """Return the joints that have followers with inertia, which they move along with."""
    joints = {joint.name: joint for joint in survey.robot.joints}
    masters = set()
    for joint in survey.robot.joints:
        master = joint
        while master.mimic is not None:
            master = joints[master.mimic.joint]
        if joint.name not in singular:
            masters.add(master.name)
    return masters


def _outboard_mass(survey: Survey) -> Array:
    """Return the mass that each body and those it carries have together, in kg."""
    mass = survey.bodies.mass.copy()
    for i in range(len(mass) - 1, 0, -1):
        mass[survey.bodies.parent[i]] += mass[i]
    return np.asarray(mass)
