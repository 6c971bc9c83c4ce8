"""Parameters: what may be set to what, at the start and while the node runs."""

from array import array
from dataclasses import dataclass

import pytest
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.parameter import Parameter
from robot_graph import ROOT, STANFORD, TWO_LINK, Graph

from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.parameters.file import parameter_file
from kane_dynamics.ros.parameters.rows import parameter, rows_of
from kane_dynamics.ros.parameters.settings import TABLE, Settings, checked

NAMES = list(TABLE)


@dataclass(frozen=True)
class Gains:
    gains: tuple[float, ...] = parameter((), "Gains.", per_joint=True, unit="1/s", range=(0, 1e4))
    weights: tuple[float, ...] = parameter((0.5,), "Weights.", per_joint=True)


def test_the_parameter_file_is_what_the_table_gives() -> None:
    assert (ROOT / "config" / "dynamics.yaml").read_text() == parameter_file()


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


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (100, (100.0,)),
        (0.5, (0.5,)),
        ([1, 2.5], (1.0, 2.5)),
        (array("d", [3.0]), (3.0,)),
        ([], ()),
        (None, ()),
        ([""], ()),
    ],
)
def test_gains_are_one_number_or_a_list_of_them(given: object, value: tuple[float, ...]) -> None:
    assert rows_of(Gains)["gains"].checked(given) == value


def test_one_gain_for_all_joints_is_written_as_a_number() -> None:
    rows = rows_of(Gains)
    assert [row.written() for row in rows.values()] == [[], 0.5]
    assert "One for all joints, or a list with one for each." in rows["gains"].sentences()[0]


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("gains", -1, r"gains is -1, expected a number from 0 to 10000"),
        ("gains", [1.0, -2.0], r"gains\[1\] is -2, expected a number from 0 to 10000"),
        ("gains", [float("nan")], r"gains is nan, expected a number from"),
        ("gains", float("inf"), r"gains is inf, expected a number from"),
        ("gains", "stiff", r"gains is 'stiff', expected a number, or a list of numbers"),
        ("gains", True, r"gains is True, expected a number"),
        ("gains", [1.0, "2"], r"gains is '2', expected a number"),
        ("weights", [1.0, float("nan")], r"weights\[1\] is nan, expected a finite number"),
    ],
)
def test_wrong_gains_are_named(name: str, given: object, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        rows_of(Gains)[name].checked(given)


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


def test_parameters_that_do_not_exist_are_named_with_the_nearest_that_does(graph: Graph) -> None:
    qualities = {
        "/elsewhere": {"publisher": {"depth": 3}},  # of another node, as is the next
        "/joint_states": {"publisher": {"depth": 3}, "subscription": {"dept": 3}},
        "/joint_sates": {"subscription": {"reliability": "reliable"}},
    }
    node = graph.start(
        TWO_LINK, rte=50.0, weather="fine", use_sim_time=False, rate=60.0, qos_overrides=qualities
    )
    unknown = [line for line in node.log.splitlines() if "There is no parameter" in line]
    states = "qos_overrides./joint_states.subscription"
    assert [line.partition("There is no parameter ")[2] for line in unknown] == [
        f"qos_overrides./joint_sates.subscription.reliability: is {states}.reliability meant?",
        f"{states}.dept: is {states}.depth meant?",
        "rte: is rate meant?",
        "weather.",
    ]


def test_parameters_can_be_read_described_and_set_within_their_ranges(graph: Graph) -> None:
    graph.start(STANFORD, rate=200, joints=[], locked_joints=["joint6=0.1"], gravity=[0, 0, -1])
    client = graph.client

    def call(kind: type, name: str, request: object) -> object:
        return client.call(kind, f"/kane_dynamics/{name}", request)

    described = call(
        DescribeParameters, "describe_parameters", DescribeParameters.Request(names=NAMES)
    )
    for entry, descriptor in zip(TABLE.values(), described.descriptors):
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
