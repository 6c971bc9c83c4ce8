"""What hardware is told when it starts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

STATES = "joint_states"
COMMANDS = "/effort_controller/commands"
TRAJECTORIES = "/joint_trajectory_controller/joint_trajectory"


@dataclass(frozen=True)
class Payload:
    """A point mass in kg at an offset in m from the origin of a link; no mass, no payload."""

    link: str = ""
    mass: float = 0.0
    offset: Sequence[float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Settings:
    """A robot, and what its URDF does not say of it.

    Attributes
    ----------
    urdf : str
        As text.
    joints : sequence of str
        Joints that move, in the order of states and commands. The others are locked at zero.
    motors : sequence of str
        Those of them that have motors, in the order of commands; empty for all.
    pins : sequence of ((str, (x, y, z)), (str, (x, y, z)))
        Two links, and the point of each in its frame at which they are pinned together.
    gears : sequence of (str, str, float)
        A joint, and another that moves so many times as much.
    gravity : (x, y, z)
        m/s².
    initial : sequence of float
        Where the joints are at the beginning; empty for zero.
    viscous, dry : float or mapping
        Friction besides that of the URDF, of every joint or by name, in N m s/rad and N m (or
        N s/m and N).
    payload : Payload
    stops : bool
        Whether joints end at the position limits of the URDF. Else they go beyond, so that one
        sees that they would have.
    rate : float
        Of joint states, Hz; a divisor of 1000.
    controller : str
        "forward": efforts that come on `/effort_controller/commands` are applied until others
        come. "trajectory": see `hardware.trajectory_controller`.
    kp, kd, update_rate : float
        Gains of the trajectory controller, and how often it updates, Hz. The damping of 10 needs
        1000: at 500 the hand of the Panda is too light for it, and hums.
    braked : bool
        Whether brakes hold the joints until the first command or trajectory comes.
    record : str
        File that the record is written to at the end; empty for none.
    """

    urdf: str
    joints: Sequence[str]
    motors: Sequence[str] = ()
    pins: Sequence[Sequence[tuple[str, Sequence[float]]]] = ()
    gears: Sequence[tuple[str, str, float]] = ()
    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    initial: Sequence[float] = ()
    viscous: float | Mapping[str, float] = 0.0
    dry: float | Mapping[str, float] = 0.0
    payload: Payload = field(default_factory=Payload)
    stops: bool = False
    rate: float = 500.0
    controller: str = "forward"
    kp: float = 100.0
    kd: float = 10.0
    update_rate: float = 1000.0
    braked: bool = True
    record: str = ""

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Settings:
        entries = json.loads(path.read_text())
        return cls(**{**entries, "payload": Payload(**entries["payload"])})
