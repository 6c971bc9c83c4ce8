"""What Fast DDS is told before the node begins: to keep room for large answers, while they last."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PROFILE = Path(__file__).with_name("fastdds.xml")

_TOLD_BY = (
    "FASTDDS_DEFAULT_PROFILES_FILE",
    "FASTRTPS_DEFAULT_PROFILES_FILE",
    "FASTDDS_BUILTIN_TRANSPORTS",
    "ROS_DISCOVERY_SERVER",
)
_MEMORY = "RMW_FASTRTPS_USE_QOS_FROM_XML"
"""Whether ROS leaves to the profile how histories keep memory, and how messages are published."""

_TOLD_IN = ("DEFAULT_FASTDDS_PROFILES.xml", "DEFAULT_FASTRTPS_PROFILES.xml")


def make_room_for_large_answers() -> None:
    """Give Fast DDS our profile, unless the user has given it one, or chosen its transports."""
    if any(name in os.environ for name in _TOLD_BY) or any(map(os.path.exists, _TOLD_IN)):
        return
    os.environ[_variable()] = str(PROFILE)
    if "RMW_FASTRTPS_PUBLICATION_MODE" not in os.environ:
        os.environ.setdefault(_MEMORY, "1")


def _variable() -> str:
    """What the variable is called that names a profile: until ROS 2 Jazzy by its old name."""
    try:
        old = int(version("rclpy").partition(".")[0]) < 9
    except (PackageNotFoundError, ValueError):
        old = False
    return "FASTRTPS_DEFAULT_PROFILES_FILE" if old else "FASTDDS_DEFAULT_PROFILES_FILE"
