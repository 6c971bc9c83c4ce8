"""What a robot is: its links and joints, read from URDF, and the bodies that move."""

from kane_dynamics.robot.model import (
    Inertia,
    Joint,
    Limits,
    Link,
    Material,
    Mesh,
    Mimic,
    Robot,
    Shape,
)
from kane_dynamics.robot.tree import Body, Frame, Tree, moving_tree
from kane_dynamics.robot.urdf import read_urdf

__all__ = [
    "Body",
    "Frame",
    "Inertia",
    "Joint",
    "Limits",
    "Link",
    "Material",
    "Mesh",
    "Mimic",
    "Robot",
    "Shape",
    "Tree",
    "moving_tree",
    "read_urdf",
]
