"""Robot dynamics by Kane's method: equations formulated for one robot, compiled and cached.

>>> import kane_dynamics as kd
>>> arm = kd.load("panda.urdf")                # doctest: +SKIP
>>> arm.inverse_dynamics(q, u, udot)           # doctest: +SKIP

Names are imported when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kane_dynamics.constrained.dynamics import ConstrainedDynamics
    from kane_dynamics.dynamics import Dynamics
    from kane_dynamics.errors import (
        ArgumentError,
        CompileError,
        KaneDynamicsError,
        ModelError,
        SingularError,
    )
    from kane_dynamics.kane.linearize import Linearization, Mode
    from kane_dynamics.kane.speeds import ReducedSpeeds
    from kane_dynamics.loading import check, load
    from kane_dynamics.operational import OperationalSpace
    from kane_dynamics.quantities import (
        Energy,
        ForwardDynamicsDerivatives,
        InverseDynamicsDerivatives,
        JointLimits,
        Momentum,
    )
    from kane_dynamics.robot.check import Finding
    from kane_dynamics.robot.constraints import Contact, Coupling, Lock, Loop, Rolling, Weld
    from kane_dynamics.robot.model import Inertia, Joint, Limits, Link, Mimic, Robot
    from kane_dynamics.robot.urdf import read_urdf
    from kane_dynamics.simulation.checks import Checks
    from kane_dynamics.simulation.coupler import Passivity, VirtualCoupler
    from kane_dynamics.simulation.events import Event
    from kane_dynamics.simulation.inputs import (
        ComputedTorque,
        PDControl,
        TorqueHistory,
        WrenchHistory,
    )
    from kane_dynamics.simulation.motion import Motion
    from kane_dynamics.simulation.switches import StateMachine, Switch
    from kane_dynamics.simulation.trajectory import Trajectory, trajectory_through
    from kane_dynamics.simulation.watch import Progress
    from kane_dynamics.symbolic.program import Operations
    from kane_dynamics.system.system import System

__version__ = "0.2.0"

_HOMES = {
    "kane_dynamics.constrained.dynamics": ("ConstrainedDynamics",),
    "kane_dynamics.dynamics": ("Dynamics",),
    "kane_dynamics.errors": (
        "ArgumentError",
        "CompileError",
        "KaneDynamicsError",
        "ModelError",
        "SingularError",
    ),
    "kane_dynamics.kane.linearize": ("Linearization", "Mode"),
    "kane_dynamics.kane.speeds": ("ReducedSpeeds",),
    "kane_dynamics.loading": ("check", "load"),
    "kane_dynamics.operational": ("OperationalSpace",),
    "kane_dynamics.quantities": (
        "Energy",
        "ForwardDynamicsDerivatives",
        "InverseDynamicsDerivatives",
        "JointLimits",
        "Momentum",
    ),
    "kane_dynamics.robot.check": ("Finding",),
    "kane_dynamics.robot.constraints": (
        "Contact",
        "Coupling",
        "Lock",
        "Loop",
        "Rolling",
        "Weld",
    ),
    "kane_dynamics.robot.model": ("Inertia", "Joint", "Limits", "Link", "Mimic", "Robot"),
    "kane_dynamics.robot.urdf": ("read_urdf",),
    "kane_dynamics.simulation.checks": ("Checks",),
    "kane_dynamics.simulation.coupler": ("Passivity", "VirtualCoupler"),
    "kane_dynamics.simulation.events": ("Event",),
    "kane_dynamics.simulation.inputs": (
        "ComputedTorque",
        "PDControl",
        "TorqueHistory",
        "WrenchHistory",
    ),
    "kane_dynamics.simulation.motion": ("Motion",),
    "kane_dynamics.simulation.switches": ("StateMachine", "Switch"),
    "kane_dynamics.simulation.trajectory": ("Trajectory", "trajectory_through"),
    "kane_dynamics.simulation.watch": ("Progress",),
    "kane_dynamics.symbolic.program": ("Operations",),
    "kane_dynamics.system.system": ("System",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ArgumentError",
    "Checks",
    "CompileError",
    "ComputedTorque",
    "ConstrainedDynamics",
    "Contact",
    "Coupling",
    "Dynamics",
    "Energy",
    "Event",
    "Finding",
    "ForwardDynamicsDerivatives",
    "Inertia",
    "InverseDynamicsDerivatives",
    "Joint",
    "JointLimits",
    "KaneDynamicsError",
    "Limits",
    "Linearization",
    "Link",
    "Lock",
    "Loop",
    "Mimic",
    "Mode",
    "ModelError",
    "Momentum",
    "Motion",
    "OperationalSpace",
    "Operations",
    "PDControl",
    "Passivity",
    "Progress",
    "ReducedSpeeds",
    "Robot",
    "Rolling",
    "SingularError",
    "StateMachine",
    "Switch",
    "System",
    "TorqueHistory",
    "Trajectory",
    "VirtualCoupler",
    "Weld",
    "WrenchHistory",
    "check",
    "load",
    "read_urdf",
    "trajectory_through",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kane_dynamics' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
