"""Installs kane_dynamics: with colcon as an ament_python package, or with pip."""

import re
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

NAME = "kane_dynamics"
HERE = Path(__file__).resolve().parent  # colcon may run a link to this file


def version() -> str:
    """The version, which stands in the package itself."""
    text = (HERE / NAME / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]


ROS_WHEELS = [
    "ros-rclpy[fastrtps]~=9.1.2",
    "ros-diagnostic-msgs~=5.5.1",
    "ros-sensor-msgs~=5.5.1",
    "ros-std-msgs~=5.5.1",
    "ros-std-srvs~=5.5.1",
    "ros-trajectory-msgs~=5.5.1",
]
WITH_ROS_WHEELS = "sys_platform == 'linux' and platform_machine == 'x86_64'"

setup(
    name=NAME,
    version=version(),
    description="Robot dynamics from a URDF by Kane's method: derived, compiled and cached",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    maintainer="kane_dynamics maintainers",
    maintainer_email="maintainers@users.noreply.example",
    keywords=["robotics", "dynamics", "URDF", "Kane's method", "ROS"],
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={"": ["*.c", "*.h", "*.xml", "py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/config", sorted(glob("config/*"))),
        (f"share/{NAME}/launch", sorted(glob("launch/*"))),
        (f"share/{NAME}/urdf", sorted(glob("urdf/*"))),
    ],
    entry_points={
        "console_scripts": [
            "demo_client = kane_dynamics.ros.demo_client:main",
            "dynamics_node = kane_dynamics.ros.main:main",
        ]
    },
    python_requires=">=3.10",
    install_requires=["numpy", "pyyaml", "scipy", "sympy", "urdf-parser-py"],
    extras_require={
        # ROS 2 Kilted as wheels, for machines without a ROS distribution
        "ros": [f"{wheel}; {WITH_ROS_WHEELS}" for wheel in ROS_WHEELS],
        "xacro": ["xacro"],
        "plot": ["matplotlib"],
        "test": [
            "example-robot-data",
            "hypothesis",
            "matplotlib",
            "mujoco",
            "mypy",
            "pin",
            "pytest",
            "pytest-xdist",
            "ruff",
            "setuptools",
            "wheel",
            "xacro",
        ],
    },
    zip_safe=False,
)
