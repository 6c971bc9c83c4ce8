"""A graph of its own for each test: a domain id, nodes in processes, a client in the test's."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from ros_domain import own_domain

HERE = Path(__file__).parent

collect_ignore = ["hardware"]  # it has no tests in it, and is not there to be imported by pytest


def interfaces_are_built() -> bool:
    """Whether there is more of the interfaces than the folder with their sources."""
    try:
        return find_spec("kane_dynamics_interfaces.srv._simulate") is not None
    except ModuleNotFoundError:
        return False


if find_spec("rclpy") is None or not interfaces_are_built():
    collect_ignore_glob = ["test_*.py"]
elif find_spec("control_msgs") is None:
    collect_ignore_glob = ["test_goals*.py", "test_forwarding*.py", "test_history.py"]


def pytest_report_header() -> str | None:
    if find_spec("rclpy") is None:
        return "tests of the ROS node are left out: rclpy is not installed"
    if not interfaces_are_built():
        return "tests of the ROS node are left out: kane_dynamics_interfaces is not built"
    if find_spec("control_msgs") is None:
        return "tests of goals are left out: there is no control_msgs"
    return None


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A ROS domain id that no other test on this machine uses."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    with own_domain() as number:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
        yield number


@pytest.fixture
def graph(domain: int, tmp_path: Path) -> Iterator["Graph"]:  # noqa: F821
    """Nodes and a client; what was started is ended, and must have ended well."""
    from robot_graph import Graph

    with Graph(domain, tmp_path) as made:
        yield made
