"""Parameters: what may be set to what, at the start and while the node runs."""

from dataclasses import fields

import pytest
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.parameter import Parameter
from robot_graph import STANFORD, TWO_LINK, Graph

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.parameters import TABLE, Settings, checked

NAMES = [entry.name for entry in TABLE]


def test_the_table_and_the_settings_have_the_same_names() -> None:
    assert sorted(NAMES) == sorted(field.name for field in fields(Settings))


@pytest.mark.parametrize("name", NAMES)
def test_every_default_is_allowed(name: str) -> None:
    default = getattr(Settings(), name)
    assert checked(name, default) == default


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("rate", 0.0, "rate is 0, expected a number from 0.1 to 10000"),
        ("rate", float("nan"), "rate is nan, expected a number from"),
        ("rate", "fast", "rate is 'fast', expected a number"),
        ("rate", True, "rate is True, expected a number"),
        ("base", "fluid", "base is 'fluid', expected one of fixed, floating"),
        ("gravity", [0.0, -9.81], "gravity must be three finite numbers"),
        ("gravity", [0.0, 0.0, float("inf")], "gravity must be three finite numbers"),
        ("gravity", ["down"], "gravity is 'down', expected a number"),
        ("joints", "joint1", "joints is 'joint1', expected a list of strings"),
        ("joints", [1, 2], "joints is 1, expected a string"),
        ("locked_joints", ["finger=wide"], "'finger=wide' must be a joint's name, or name=pos"),
        ("locked_joints", ["=0.1"], "'=0.1' must be a joint's name"),
        ("locked_joints", ["finger=nan"], "'finger=nan' must be"),
        ("max_trajectory_points", 0, "max_trajectory_points is 0, expected a number from 1"),
        ("max_trajectory_points", 1.5, "1.5, expected a whole number"),
        ("limits", "ignore", "limits is 'ignore', expected one of warn, clamp, reject"),
        ("joint_friction", 1, "joint_friction is 1, expected a boolean"),
    ],
)
def test_a_wrong_value_is_named(name: str, value: object, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        checked(name, value)


def test_whole_numbers_and_empty_lists_are_as_good_as_others() -> None:
    assert checked("rate", 500) == 500.0
    assert checked("gravity", [0, 0, -10]) == (0.0, 0.0, -10.0)
    assert checked("joints", [""]) == checked("joints", None) == checked("joints", []) == ()


def test_locked_joints_have_positions() -> None:
    settings = Settings(locked_joints=("finger=0.02", "wrist", "tail = -1e-3"))
    assert settings.locked == {"finger": 0.02, "wrist": 0.0, "tail": -1e-3}


# ------------------------------------------------------------------------------- with the node


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"rate": -1.0}, "rate is -1, expected a number from 0.1 to 10000"),
        ({"rate": "fast"}, "rate is 'fast', expected a number"),
        ({"base": "fluid"}, "base is 'fluid', expected one of fixed, floating"),
        ({"max_trajectory_points": 0}, "max_trajectory_points is 0, expected a number from 1"),
        ({"locked_joints": ["finger=wide"]}, "'finger=wide' must be a joint's name"),
    ],
)
def test_a_node_with_a_wrong_parameter_does_not_start_and_says_why(
    graph: Graph, parameters: dict[str, object], sentence: str
) -> None:
    node = graph.start(TWO_LINK, ready=False, **parameters)
    assert graph.status_of_refusal(node) == 1
    lines = [line for line in node.log.splitlines() if line.startswith("dynamics_node: ")]
    assert len(lines) == 1
    assert sentence in lines[0]
    assert "Traceback" not in node.log


def test_parameters_can_be_read_described_and_set_within_their_ranges(graph: Graph) -> None:
    graph.start(STANFORD, rate=200, joints=[], locked_joints=["joint6=0.1"], gravity=[0, 0, -1])
    client = graph.client

    def call(kind: type, name: str, request: object) -> object:
        return client.call(kind, f"/kane_dynamics/{name}", request)

    described = call(
        DescribeParameters, "describe_parameters", DescribeParameters.Request(names=NAMES)
    )
    for entry, descriptor in zip(TABLE, described.descriptors):
        assert descriptor.description.startswith(entry.description)
        assert descriptor.read_only == entry.read_only
        ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
        assert [(r.from_value, r.to_value) for r in ranges] == [entry.range] * bool(entry.range)

    def value_of(name: str) -> object:
        response = call(GetParameters, "get_parameters", GetParameters.Request(names=[name]))
        message = ParameterMessage(name=name, value=response.values[0])
        return Parameter.from_parameter_msg(message).value

    def set_to(name: str, value: object) -> tuple[bool, str]:
        message = Parameter(name, value=value).to_parameter_msg()
        request = SetParameters.Request(parameters=[message])
        result = call(SetParameters, "set_parameters", request).results[0]
        return result.successful, result.reason

    assert value_of("rate") == 200
    for name, value in (("rate", 50.0), ("rate", 60), ("state_timeout", 1.0), ("limits", "clamp")):
        assert set_to(name, value) == (True, "")
        assert value_of(name) == value
    for name, value, sentence in (
        ("rate", 1e9, "rate"),
        ("rate", 0, "rate is 0, expected a number from"),
        ("limits", "ignore", "limits is 'ignore', expected one of"),
        ("ramp_time", -0.1, "ramp_time"),
        ("max_trajectory_points", -5, "max_trajectory_points"),
        ("gravity", [0.0, 0.0, -9.0], "read-only"),
        ("base", "floating", "read-only"),
        ("command_joints", ["joint1"], "read-only"),
    ):
        before = value_of(name)
        done, reason = set_to(name, value)
        assert not done
        assert sentence in reason
        assert value_of(name) == before
