"""What is physically wrong or suspicious about a robot, link by link.

A file can be a valid URDF and still describe a body that cannot exist: the dynamics of such a robot
are computed without complaint, and are wrong. Every fault has a rule of its own; the rules are
listed in :data:`RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kane_dynamics.robot.body import Tree
from kane_dynamics.robot.check_inertia import (
    center_of_mass_astray,
    center_of_mass_outside,
    gyration_beyond_any_size,
    gyration_beyond_the_link,
    impossible_body,
    impossible_part,
    inertia_without_mass,
    negative_body,
    negative_part,
    point_mass,
    too_dense,
)
from kane_dynamics.robot.check_joint import (
    limits_reversed,
    massless_link,
    negative_damping,
    negative_friction,
    no_effort,
    no_inertia,
    no_range,
    no_velocity,
)
from kane_dynamics.robot.check_whole import (
    equal_masses,
    identity_inertia,
    inertia_about_origin,
    lengths_too_large,
    masses_too_large,
    repeated_inertia,
    round_inertia,
)
from kane_dynamics.robot.model import Robot
from kane_dynamics.robot.survey import Survey, Violation, survey
from kane_dynamics.robot.tree import whole_tree

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""From worst to mildest."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or suspicious.

    Parameters
    ----------
    severity : "error", "warning" or "note"
        "error": no such robot can exist, or its motion cannot be computed. "warning": hardly any
        real robot is like this. "note": unusual, and often a sign of forgotten numbers.
    link : str
        Name of the link or joint at fault; of the first one, if several are at fault together.
    rule : str
        Short name of the rule that is broken.
    message : str
        One sentence: the numbers found, what was expected, and how to repair it.
    """

    severity: Severity
    link: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.message} [{self.rule}]"


@dataclass(frozen=True, slots=True)
class Rule:
    """A name, how bad it is to break the rule, and the function that finds where it is broken."""

    name: str
    severity: Severity
    faults: Callable[[Survey], Iterator[Violation]]


RULES: tuple[Rule, ...] = (
    Rule("no-inertia", "error", no_inertia),
    Rule("negative-inertia", "error", negative_body),
    Rule("negative-inertia", "warning", negative_part),
    Rule("triangle-inequality", "error", impossible_body),
    Rule("triangle-inequality", "warning", impossible_part),
    Rule("gyration-radius", "error", gyration_beyond_any_size),
    Rule("gyration-radius", "warning", gyration_beyond_the_link),
    Rule("center-of-mass", "error", center_of_mass_astray),
    Rule("center-of-mass", "warning", center_of_mass_outside),
    Rule("density", "warning", too_dense),
    Rule("point-mass", "note", point_mass),
    Rule("inertia-without-mass", "warning", inertia_without_mass),
    Rule("massless-link", "warning", massless_link),
    Rule("inertia-about-origin", "warning", inertia_about_origin),
    Rule("mass-units", "warning", masses_too_large),
    Rule("length-units", "warning", lengths_too_large),
    Rule("placeholder-inertia", "warning", identity_inertia),
    Rule("placeholder-inertia", "note", round_inertia),
    Rule("repeated-inertia", "note", repeated_inertia),
    Rule("equal-masses", "note", equal_masses),
    Rule("negative-damping", "error", negative_damping),
    Rule("negative-friction", "error", negative_friction),
    Rule("limits-reversed", "error", limits_reversed),
    Rule("no-range", "note", no_range),
    Rule("zero-effort", "note", no_effort),
    Rule("zero-velocity", "note", no_velocity),
)
"""All rules, in the order in which the faults of one link are listed."""


def check(robot: Robot, tree: Tree | None = None) -> tuple[Finding, ...]:
    """Return what is wrong or suspicious about a robot: the worst first, then as in its file.

    Parameters
    ----------
    robot : Robot
        The robot to judge. Links that do not move against each other are judged together where
        only their sum matters, so massless frames behind fixed joints are no fault.
    tree : Tree, optional
        Those of its bodies that move, if only they are to be judged; by default all are, and what
        stands still, too.

    Returns
    -------
    tuple of Finding
        Empty for a robot that nothing speaks against.

    Examples
    --------
    >>> from kane_dynamics.robot.model import Inertia, Joint, Link, Robot
    >>> tensor = ((0.01, 0.0, 0.0), (0.0, 0.01, 0.0), (0.0, 0.0, 0.05))
    >>> plate = Inertia(1.0, (0.0, 0.0, 0.0), tensor)
    >>> robot = Robot(
    ...     "turntable",
    ...     links=(Link("ground"), Link("plate", plate)),
    ...     joints=(Joint("turn", "continuous", "ground", "plate", axis=(0.0, 0.0, 1.0)),),
    ... )
    >>> [(finding.severity, finding.link, finding.rule) for finding in check(robot)]
    [('error', 'plate', 'triangle-inequality')]
    """
    found: list[tuple[int, int, Finding]] = []
    with np.errstate(all="ignore"):  # absurd numbers may overflow: they are found all the same
        measured = survey(robot, tree or whole_tree(robot))
        for rule in RULES:
            for fault in rule.faults(measured):
                if tree is not None and not fault.moves:
                    continue
                finding = Finding(rule.severity, fault.name, rule.name, fault.message)
                found.append((SEVERITIES.index(rule.severity), fault.place, finding))
    return tuple(finding for *_, finding in sorted(found, key=lambda entry: entry[:2]))
