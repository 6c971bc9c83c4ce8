"""Launch files and the parameter file, as a user starts them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from robot_graph import PATIENCE, ROOT, STANFORD, TWO_LINK, Graph, joint_state
from sensor_msgs.msg import JointState

from kane_dynamics.ros.parameters import Settings, checked

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


def test_the_parameter_file_has_every_parameter_at_its_default() -> None:
    file = yaml.safe_load((ROOT / "config" / "dynamics.yaml").read_text())
    given = file["/**"]["ros__parameters"]
    defaults = Settings()
    assert {*given, "robot_description"} == set(vars(defaults))
    for name, value in given.items():
        assert checked(name, value) == getattr(defaults, name), name


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
def test_a_xacro_file_is_expanded_and_a_parameter_file_used(graph: Graph, tmp_path: Path) -> None:
    text = TWO_LINK.read_text().replace(
        '<robot name="two_link_arm"', '<robot xmlns:xacro="http://ros.org/wiki/xacro" name="arm"'
    )
    assert "xmlns:xacro" in text
    xacro = tmp_path / "arm.urdf.xacro"
    xacro.write_text(text)
    config = tmp_path / "config.yaml"
    config.write_text('/**: {ros__parameters: {joints: ["joint2"], rate: 50}}')
    words = (f"urdf:={xacro}", f"config:={config}", "use_sim_time:=true")
    with launched("dynamics.launch.py", *words, log=tmp_path / "log"):
        graph.wait_until_serving()
    values = {entry.key: entry.value for entry in graph.client.diagnosis("model").values}
    assert (values["robot"], values["joints"]) == ("arm", "joint2")


@needs_launch
def test_a_missing_file_is_named(graph: Graph, tmp_path: Path) -> None:
    with launched("dynamics.launch.py", "urdf:=nowhere.urdf", log=tmp_path / "log") as process:
        assert process.wait(PATIENCE) == 1
    assert "'nowhere.urdf' cannot be read: no such file" in (tmp_path / "log").read_text()


@needs_launch
def test_the_demonstration_shows_what_a_client_receives_and_ends(
    graph: Graph, tmp_path: Path
) -> None:
    with launched("demo.launch.py", log=tmp_path / "log") as process:
        assert process.wait(PATIENCE) == 0
    text = (tmp_path / "log").read_text()
    assert "stanford_arm" in text
    assert "/diagnostics: fell silent: the state of joint" in text
    assert "Traceback" not in text
    assert STANFORD.exists()
