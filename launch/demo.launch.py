"""Shows the node at work: starts it, and a client that prints what it receives for a robot.

ros2 launch kane_dynamics demo.launch.py
ros2 launch kane_dynamics demo.launch.py urdf:=panda.urdf     # or a xacro file
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

HERE = Path(__file__).resolve().parent
STANFORD_ARM = HERE.parent / "urdf" / "stanford_arm.urdf"


def generate_launch_description() -> LaunchDescription:
    urdf, namespace = LaunchConfiguration("urdf"), LaunchConfiguration("namespace")
    node = PythonLaunchDescriptionSource(str(HERE / "dynamics.launch.py"))
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "urdf",
                default_value=str(STANFORD_ARM),
                description="Path of the robot's URDF or xacro file",
            ),
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of node and client"
            ),
            IncludeLaunchDescription(
                node, launch_arguments={"urdf": urdf, "namespace": namespace}.items()
            ),
            Node(
                package="kane_dynamics",
                executable="demo_client",
                namespace=namespace,
                output="screen",
                on_exit=Shutdown(reason="the demonstration is over"),
            ),
        ]
    )
