"""What is wrong about the part of a robot that moves, when only some of its joints do."""

from __future__ import annotations

from dataclasses import replace

from kane_dynamics.robot.body import GROUND, Tree
from kane_dynamics.robot.check import Finding, check
from kane_dynamics.robot.model import Joint, Robot


def check_moving(robot: Robot, tree: Tree) -> tuple[Finding, ...]:
    """Return what `check` finds where joints that stand still are fixed, but for the ground.

    Parameters
    ----------
    robot : Robot
        The robot to judge.
    tree : Tree
        Those of its bodies that move.
    """
    moving = {body.joint for body in tree.bodies}
    joints = tuple(joint if joint.name in moving else _fixed(joint) for joint in robot.joints)
    ground = {name for name, frame in tree.frames if frame.body == GROUND} - moving
    findings = check(replace(robot, joints=joints))
    return tuple(finding for finding in findings if finding.link not in ground)


def _fixed(joint: Joint) -> Joint:
    return replace(
        joint, kind="fixed", limits=None, damping=0.0, friction=0.0, mimic=None, pitch=0.0
    )
