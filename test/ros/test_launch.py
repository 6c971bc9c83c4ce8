"""Launch files and the parameter file, as a user starts them."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import yaml
from robot_graph import (
    LATCHED,
    PATIENCE,
    ROOT,
    STANFORD,
    TWO_LINK,
    Graph,
    arm_of,
    efforts_of,
    joint_state,
    trajectory,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.parameters.given import check_parameter_file
from kane_dynamics.ros.parameters.settings import Settings, checked

LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import SetRemap

file, *words = sys.argv[1:]
arguments = dict(word.split(":=", 1) for word in words if not word.startswith("remap "))
remappings = [word.split()[1].split(":=") for word in words if word.startswith("remap ")]
source = PythonLaunchDescriptionSource(file)
service = LaunchService()
service.include_launch_description(LaunchDescription([GroupAction([
    *(SetRemap(src=a, dst=b) for a, b in remappings),
    IncludeLaunchDescription(source, launch_arguments=arguments.items()),
])]))
sys.exit(service.run())
"""


def installed() -> str:
    """Why launch files cannot be run here; empty if they can."""
    try:
        import launch_ros  # noqa: F401
        from ament_index_python.packages import get_package_prefix
    except ImportError:
        return "launch_ros is not installed"
    try:
        prefix = Path(get_package_prefix("kane_dynamics"))
    except LookupError:
        return "kane_dynamics is not installed where launch looks for it (colcon build does that)"
    if not (prefix / "lib" / "kane_dynamics" / "dynamics_node").exists():
        return "kane_dynamics has no lib/kane_dynamics/dynamics_node (colcon build makes it)"
    return ""


needs_launch = pytest.mark.skipif(bool(installed()), reason=installed())


@contextmanager
def launched(file: str, *words: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A launch file that is started, and interrupted in the end as by Ctrl-C."""
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(ROOT / "launch" / file), *words],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "ROS_HOME": str(log.parent / "home")},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.wait(PATIENCE)


def started(log: Path) -> list[int]:
    """Process ids of what a launch has started."""
    return [int(pid) for pid in re.findall(r"process started with pid \[(\d+)\]", log.read_text())]


def test_the_parameter_file_has_every_parameter_at_its_default() -> None:
    file = yaml.safe_load((ROOT / "config" / "dynamics.yaml").read_text())
    given = file["/**"]["ros__parameters"]
    defaults = Settings()
    assert {*given, "robot_description"} == set(vars(defaults))
    for name, value in given.items():
        assert checked(name, value) == getattr(defaults, name), name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("/**: {ros__parameters: {rate: -1}}", "rate is -1, expected a number from 0.1"),
        ("/left/kane_dynamics: {ros__parameters: {kp: [1, two]}}", "kp is 'two', expected a"),
        ("/left: {kane_dynamics: {ros__parameters: {base: fluid}}}", "base is 'fluid', expected"),
        ("/**: {ros__parameters: {rate: }}", "rate is None, expected a number"),
        ("kane_dynamics: {rate: 5.0}", "5.0 is no parameter of rate, expected ros__parameters"),
        ("- rate", "['rate'] is no parameter there, expected ros__parameters"),
        ("/**: [", "cannot be read: while parsing a flow"),
    ],
)
def test_a_parameter_file_that_is_wrong_is_told_before_a_node_is_started(
    tmp_path: Path, text: str, sentence: str
) -> None:
    """Which would be started again and again."""
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=re.escape(sentence)) as caught:
        check_parameter_file(str(path))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/**: {ros__parameters: {rate: 1e2, kp: [1e3, 5], joints: [], qos_overrides: {a: b}}}",
        "/**: {ros__parameters: {weather: fine}}\nother: {ros__parameters: {rate: -1}}",
        "/left: {kane_dynamics: {ros__parameters: {joint_prefix: '1e2', gravity: [0, 0, -9]}}}",
    ],
)
def test_what_ros_takes_in_a_parameter_file_is_not_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    check_parameter_file(str(path))


@needs_launch
def test_a_robot_is_served_in_a_namespace_with_topics_remapped(
    graph: Graph, tmp_path: Path
) -> None:
    words = (f"urdf:={TWO_LINK}", "namespace:=left", "remap joint_states:=arm/states")
    with launched("dynamics.launch.py", *words, log=tmp_path / "log"):
        graph.wait_until_serving("/left/kane_dynamics")
        client = graph.client
        heard = client.hear(JointState, "/left/kane_dynamics/gravity_torques")
        states = client.speak(JointState, "/left/arm/states")
        client.introduce(states, heard, joint_state(["joint1", "joint2"], [0.1, 0.2]))
    text = (tmp_path / "log").read_text()
    assert "process has finished cleanly" in text
    assert "Traceback" not in text


@needs_launch
def test_arguments_remap_topics_to_those_of_controllers(graph: Graph, tmp_path: Path) -> None:
    words = (
        f"urdf:={TWO_LINK}",
        "joint_states:=/arm/states",
        "joint_trajectory:=/arm/plan",
        "torque_trajectory:=/arm_controller/joint_trajectory",
        "effort_commands:=/effort_controller/commands",
    )
    client, names, there = graph.client, ["joint1", "joint2"], [0.3, 0.4]
    with launched("dynamics.launch.py", *words, log=tmp_path / "log"):
        graph.wait_until_serving()
        torques = client.hear(JointTrajectory, "/arm_controller/joint_trajectory")
        commands = client.hear(Float64MultiArray, "/effort_controller/commands")
        states = client.speak(JointState, "/arm/states")
        plan = client.speak(JointTrajectory, "/arm/plan")

        def publish() -> None:
            states.publish(joint_state(names, there))

        client.until(lambda: client.enable(meanwhile=publish).success, "enabling", publish)
        client.until(lambda: commands, "effort commands", publish)
        plan.publish(trajectory(names, [0.0, 1.0], [there, there]))
        client.until(lambda: torques, "efforts of the trajectory", publish)
    efforts = np.array(efforts_of(torques[0]))
    holding = np.broadcast_to(arm_of(TWO_LINK).gravity(there), efforts.shape)
    np.testing.assert_allclose(efforts, holding, atol=1e-9)


@needs_launch
def test_the_description_comes_on_a_topic_that_an_argument_names(
    graph: Graph, tmp_path: Path
) -> None:
    words = ("robot_description:=/arm/description", "namespace:=left")
    with launched("dynamics.launch.py", *words, log=tmp_path / "log"):
        topic = graph.client.speak(String, "/arm/description", LATCHED)
        topic.publish(String(data=TWO_LINK.read_text()))
        graph.wait_until_serving("/left/kane_dynamics")
        status = graph.client.diagnosis("model", "/left/kane_dynamics")
        assert status.hardware_id == "two_link_arm"


@pytest.fixture
def xacro(tmp_path: Path) -> Path:
    """The two-link arm as a xacro file; its argument is the name of the second joint."""
    head = '<robot xmlns:xacro="http://ros.org/wiki/xacro" name="arm">'
    argument = '<xacro:arg name="elbow" default="joint2"/>'
    text = TWO_LINK.read_text()
    assert '<robot name="two_link_arm">' in text
    text = text.replace('<robot name="two_link_arm">', head + argument)
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(text.replace('<joint name="joint2"', '<joint name="$(arg elbow)"'))
    return path


@needs_launch
@pytest.mark.parametrize(
    ("arguments", "elbow"), [((), "joint2"), (("xacro_args:=elbow:=bend",), "bend")]
)
def test_a_xacro_file_is_expanded_and_a_parameter_file_used(
    graph: Graph, tmp_path: Path, xacro: Path, arguments: tuple[str, ...], elbow: str
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f'/**: {{ros__parameters: {{joints: ["{elbow}"], rate: 50}}}}')
    words = (f"urdf:={xacro}", f"config:={config}", "use_sim_time:=true", *arguments)
    with launched("dynamics.launch.py", *words, log=tmp_path / "log"):
        graph.wait_until_serving()
    values = {entry.key: entry.value for entry in graph.client.diagnosis("model").values}
    assert (values["robot"], values["joints"]) == ("arm", elbow)


@needs_launch
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("urdf:=nowhere.urdf",), "'nowhere.urdf' cannot be read: no such file"),
        ((f"urdf:={ROOT / 'setup.cfg'}",), "setup.cfg: is not XML: "),
        ((f"urdf:={ROOT / 'package.xml'}",), "package.xml: starts with <package>, expected <rob"),
        ((f"urdf:={TWO_LINK}", "config:=nowhere.yaml"), "config: 'nowhere.yaml' is no file"),
        ((f"urdf:={TWO_LINK}", f"config:={ROOT / 'setup.cfg'}"), "setup.cfg cannot be read: "),
        ((f"urdf:={TWO_LINK}", "xacro_args:=a:=1"), "two_link_arm.urdf: takes no xacro arguments"),
        ((f"urdf:={TWO_LINK}", "respawn:=twice"), "respawn is 'twice', expected true or false"),
        (("xacro_args:=a:=1",), "xacro_args is given without urdf"),
        (("xacro", "xacro_args:=knee:=bend"), "takes no argument 'knee', expected some of 'elbow'"),
        (("xacro", "xacro_args:=elbow=bend"), "'elbow=bend' is no argument, expected name:=value"),
    ],
)
def test_a_mistake_ends_the_launch_with_one_sentence(
    graph: Graph, tmp_path: Path, xacro: Path, words: tuple[str, ...], sentence: str
) -> None:
    given = [f"urdf:={xacro}" if word == "xacro" else word for word in words]
    with launched("dynamics.launch.py", *given, log=tmp_path / "log") as process:
        assert process.wait(PATIENCE) == 1
    text = (tmp_path / "log").read_text()
    (line,) = [line for line in text.splitlines() if not line.startswith("[INFO]")]
    assert sentence in line


@needs_launch
def test_a_node_that_is_killed_is_started_again_and_serves(graph: Graph, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with launched("dynamics.launch.py", f"urdf:={TWO_LINK}", log=log):
        graph.wait_until_serving()
        for _ in range(2):
            *_, killed = started(log)
            os.kill(killed, signal.SIGKILL)
            graph.client.until(lambda pid=killed: started(log)[-1] != pid, "a node started again")
            graph.client.status.clear()
            graph.wait_until_serving()
    assert "process has finished cleanly" in log.read_text()


@needs_launch
def test_a_node_that_is_killed_stays_so_without_respawn(graph: Graph, tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = (f"urdf:={TWO_LINK}", "respawn:=false")
    with launched("dynamics.launch.py", *words, log=log) as process:
        graph.wait_until_serving()
        os.kill(started(log)[0], signal.SIGKILL)
        process.wait(PATIENCE)
    assert len(started(log)) == 1


@needs_launch
def test_the_demonstration_shows_what_a_client_receives_and_ends(
    graph: Graph, tmp_path: Path
) -> None:
    with launched("demo.launch.py", log=tmp_path / "log") as process:
        assert process.wait(PATIENCE) == 0
    text = (tmp_path / "log").read_text()
    assert "stanford_arm" in text
    assert "/diagnostics: tripped: the state of joint" in text
    assert "Traceback" not in text
    shown = "".join(f"{torque:10.3f}" for torque in arm_of(STANFORD).gravity(np.full(6, 0.3)))
    assert shown in text
