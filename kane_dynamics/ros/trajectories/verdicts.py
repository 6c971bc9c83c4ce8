"""How a goal of ~/follow_joint_trajectory ends: a code of its result, and a sentence."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from kane_dynamics.ros.faults import Fault

CAUSE = "follow_joint_trajectory"


class Code(IntEnum):
    """The codes of the result of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class Verdict(NamedTuple):
    """That a goal is over, and why: with the code SUCCESSFUL it has been reached."""

    code: Code
    sentence: str = ""


class Refused(Fault):
    """A goal that is not begun."""

    def __init__(self, code: Code, sentence: str) -> None:
        super().__init__(CAUSE, sentence)
        self.verdict = Verdict(code, self.sentence)


def as_refused(fault: Fault) -> Refused:
    """A fault as a reason to refuse a goal."""
    return fault if isinstance(fault, Refused) else Refused(Code.INVALID_GOAL, fault.sentence)
