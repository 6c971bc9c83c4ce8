"""The robots that are measured, as we and the peers load them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

import kane_dynamics as kd

ROBOTS = Path(
    str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data"))
)
BUNDLED = Path(__file__).parent.parent / "urdf"


@dataclass(frozen=True)
class Arm:
    """An arm of rigid links whose joints, fingers apart, move without friction."""

    name: str
    path: Path
    joints: tuple[str, ...]

    @cached_property
    def kane(self) -> kd.Dynamics:
        return kd.load(self.path, joints=self.joints, joint_friction=False)

    @cached_property
    def pinocchio(self) -> tuple[pin.Model, pin.Data]:
        whole = pin.buildModelFromUrdf(str(self.path))
        others = [whole.getJointId(name) for name in whole.names[1:] if name not in self.joints]
        model = pin.buildReducedModel(whole, others, pin.neutral(whole))
        return model, model.createData()

    @cached_property
    def mujoco(self) -> tuple[Any, Any]:
        model = mujoco.MjModel.from_xml_string(self._bare_urdf())
        return model, mujoco.MjData(model)

    def states(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates within the limits of the joints, speeds, accelerations and torques."""
        random = np.random.default_rng(7)
        limits = self.kane.limits
        lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
        margin = 0.1 * (upper - lower)
        q = random.uniform(lower + margin, upper - margin, (count, len(lower)))
        u, udot, tau = random.uniform(-1.0, 1.0, (3, *q.shape))
        return q, u, udot, tau

    def _bare_urdf(self) -> str:
        """The URDF without shapes, friction and moving fingers."""
        root = ElementTree.parse(self.path).getroot()
        for parent in (*root.findall("link"), *root.findall("joint")):
            for child in list(parent):
                if child.tag in ("visual", "collision", "dynamics", "mimic", "safety_controller"):
                    parent.remove(child)
            if parent.tag == "joint" and parent.get("name") not in self.joints:
                parent.set("type", "fixed")
        return ElementTree.tostring(root, encoding="unicode")


UR5 = Arm(
    "UR5",
    ROBOTS / "robots/ur_description/urdf/ur5_robot.urdf",
    (
        "shoulder_pan_joint",
        "shoulder_lift_joint",
        "elbow_joint",
        "wrist_1_joint",
        "wrist_2_joint",
        "wrist_3_joint",
    ),
)
PANDA = Arm(
    "Panda",
    ROBOTS / "robots/panda_description/urdf/panda.urdf",
    tuple(f"panda_joint{k}" for k in range(1, 8)),
)
