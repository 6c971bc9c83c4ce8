"""Starts the node for a robot.

    ros2 launch kane_dynamics dynamics.launch.py urdf:=panda.urdf
    ros2 launch kane_dynamics dynamics.launch.py urdf:=ur5.xacro namespace:=left config:=left.yaml

Topics are remapped as those of every node are: with SetRemap in a launch file that includes this
one.
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from kane_dynamics.robot.source import read_description
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

CONFIG = Path(__file__).resolve().parent.parent / "config" / "dynamics.yaml"


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "urdf",
                default_value="",
                description="Path of the robot's URDF or xacro file; without it, the node takes "
                "the URDF from the topic robot_description",
            ),
            DeclareLaunchArgument(
                "config", default_value=str(CONFIG), description="Path of the parameter file"
            ),
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of the node"
            ),
            DeclareLaunchArgument(
                "use_sim_time", default_value="false", description="Whether to follow /clock"
            ),
            OpaqueFunction(function=dynamics_node),
        ]
    )


def dynamics_node(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The node, with the robot description read here."""
    urdf = LaunchConfiguration("urdf").perform(context)
    parameters = [LaunchConfiguration("config"), {"use_sim_time": use_sim_time()}]
    if urdf:
        text = read_description(urdf).data.decode("utf-8", errors="replace")
        parameters.append({"robot_description": ParameterValue(text, value_type=str)})
    return [
        Node(
            package="kane_dynamics",
            executable="dynamics_node",
            namespace=LaunchConfiguration("namespace"),
            parameters=parameters,
            output="screen",
        )
    ]


def use_sim_time() -> ParameterValue:
    return ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
