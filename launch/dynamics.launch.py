"""Starts the node for a robot.

    ros2 launch kane_dynamics dynamics.launch.py urdf:=panda.urdf
    ros2 launch kane_dynamics dynamics.launch.py urdf:=ur.xacro xacro_args:="name:=ur ur_type:=ur5"
    ros2 launch kane_dynamics dynamics.launch.py urdf:=panda.urdf namespace:=left config:=left.yaml
    ros2 launch kane_dynamics dynamics.launch.py urdf:=gripper.urdf constraints:=gripper.yaml
    ros2 launch kane_dynamics dynamics.launch.py torque_trajectory:=/arm_controller/joint_trajectory
    ros2 launch kane_dynamics dynamics.launch.py urdf:=panda.urdf respawn:=false

Other topics are remapped as those of every node are: with SetRemap in a launch file that includes
this one.
"""

from pathlib import Path
from xml.etree import ElementTree

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from kane_dynamics.errors import ArgumentError
from kane_dynamics.robot.constraint_file import read_constraints
from kane_dynamics.robot.source import read_description
from kane_dynamics.robot.urdf import read_urdf
from kane_dynamics.robot.xacro import read_arguments
from kane_dynamics.ros.parameters.given import check_parameter_file
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

CONFIG = Path(__file__).resolve().parent.parent / "config" / "dynamics.yaml"

RESPAWN_DELAY = 1.0
"""Seconds after which a node that ended by itself is started again."""

TOPICS = {
    "joint_states": "Topic on which joint states come",
    "joint_trajectory": "Topic on which trajectories come",
    "robot_description": "Topic on which the URDF comes when urdf is not given",
    "~/torque_trajectory": "Topic of trajectories with efforts, for a joint_trajectory_controller "
    "such as /arm_controller/joint_trajectory",
    "~/effort_commands": "Topic of effort commands, for a forward_command_controller such as "
    "/effort_controller/commands",
}
"""Names that a launch argument, called as they are but for "~/", remaps."""


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
                "xacro_args",
                default_value="",
                description='Arguments of a xacro file, such as "mass:=2.0 side:=left"',
            ),
            DeclareLaunchArgument(
                "constraints",
                default_value="",
                description="Path of a YAML file with what the URDF cannot say: loops, wheels, "
                "gears, grasps; without it, the parameter file says which",
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
            DeclareLaunchArgument(
                "respawn",
                default_value="true",
                description="Whether the node is started again when it has ended by itself",
            ),
            *(
                DeclareLaunchArgument(argument_of(topic), default_value=topic, description=what)
                for topic, what in TOPICS.items()
            ),
            OpaqueFunction(function=dynamics_node),
        ]
    )


def dynamics_node(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The node, with files read here: an error in them ends the launch with a sentence."""

    def value(argument: str) -> str:
        return LaunchConfiguration(argument).perform(context)

    parameters = [parameter_file(value("config")), {"use_sim_time": use_sim_time()}]
    text = description(value("urdf"), value("xacro_args"))
    if text:
        parameters.append({"robot_description": ParameterValue(text, value_type=str)})
    constraints = constraint_file(value("constraints"))
    if constraints:
        parameters.append({"constraints": constraints})
    names = {topic: value(argument_of(topic)) for topic in TOPICS}
    return [
        Node(
            package="kane_dynamics",
            executable="dynamics_node",
            namespace=LaunchConfiguration("namespace"),
            parameters=parameters,
            remappings=[(topic, name) for topic, name in names.items() if name != topic],
            output="screen",
            respawn=truth("respawn", value("respawn")),
            respawn_delay=RESPAWN_DELAY,
        )
    ]


def argument_of(topic: str) -> str:
    """The launch argument that remaps a topic."""
    return topic.removeprefix("~/")


def description(path: str, xacro_args: str) -> str:
    """The URDF of a file that was looked at, so that a mistake in it is told with its name."""
    arguments = read_arguments(xacro_args)
    if not path:
        if arguments:
            raise ArgumentError("xacro_args is given without urdf, expected a xacro file there")
        return ""
    read = read_description(path, arguments)
    read_urdf(read)
    try:
        return read.data.decode("utf-8")
    except UnicodeDecodeError:  # the file says which other encoding it has
        return ElementTree.tostring(ElementTree.fromstring(read.data), encoding="unicode")


def constraint_file(path: str) -> str:
    """The whole path of a file of constraints that was looked at, as a description is."""
    if not path:
        return ""
    read_constraints(path)
    return str(Path(path).resolve())


def parameter_file(path: str) -> str:
    """The path of a parameter file that was looked at."""
    check_parameter_file(path)
    return path


def truth(argument: str, word: str) -> bool:
    """What true or false stands for."""
    if word.lower() not in ("true", "false"):
        raise ArgumentError(f"{argument} is {word!r}, expected true or false")
    return word.lower() == "true"


def use_sim_time() -> ParameterValue:
    return ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
