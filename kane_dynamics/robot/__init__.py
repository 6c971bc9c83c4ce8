"""What a robot is: its links and joints, read from URDF, and the bodies that move.

Begin with `model`, the values that a robot is made of. `urdf` reads them from a file that `source`
finds and `xml` parses by the `grammar`; `tree` merges the links that do not move against each other
into the bodies that dynamics is about (`body`); `check` judges, on that tree, whether such a robot
can exist. Nothing here knows of Kane's method, of code, or of ROS.
"""

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
