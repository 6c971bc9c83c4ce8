"""Simulations that cannot be done: one sentence says what is wrong with what was asked for."""

import re
from dataclasses import FrozenInstanceError
from inspect import signature

import numpy as np
import pytest
from oracle import BUNDLED, robot_path

import kane_dynamics as kd
from kane_dynamics.simulation import compiled
from kane_dynamics.simulation.request import Request

PENDULUM = BUNDLED / "two_link_arm.urdf"
START = np.array([0.3, -1.1]), np.array([0.5, 1.5])


@pytest.fixture(scope="module")
def arm() -> kd.Dynamics:
    return kd.load(PENDULUM)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, "long"])
@pytest.mark.parametrize("name", ["duration", "step", "output_step", "tolerance", "max_steps"])
def test_times_must_be_positive_numbers(arm: kd.Dynamics, name: str, value: object) -> None:
    options = {"duration": 1.0, "q0": START[0], "u0": START[1], name: value}
    with pytest.raises(kd.ArgumentError, match=f"{name} must be a positive, finite number"):
        arm.simulate(**options)


def test_a_duration_beyond_all_bounds_is_refused(arm: kd.Dynamics) -> None:
    with pytest.raises(kd.ArgumentError, match="longer output_step"):
        arm.simulate(1e6, *START)
    with pytest.raises(
        kd.ArgumentError, match="steps, more than the 1000000000 of max_steps; simulate a shorter"
    ):
        arm.simulate(1e9, *START, output_step=1e6)
    with pytest.raises(kd.ArgumentError, match="GB, more than 1; give a longer output_step"):
        arm.simulate(1e300, *START, method="dop853")
    with pytest.raises(kd.ArgumentError, match="longer output_step"):
        arm.simulate(1.0, *START, output_step=1e-300)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"q0": [0.0]}, r"simulate: q0 must have shape \(2,\)"),
        ({"q0": [[0.0, 0.0]]}, r"simulate: q0 must have shape \(2,\), got \(1, 2\)"),
        ({"u0": [0.0, np.nan]}, r"simulate: u0\[1\] is nan; every entry must be finite"),
        ({"method": "rk5"}, "method must be one of 'euler', 'rk4', 'dop853', 'radau', got 'rk5'"),
        ({"tolerance": 1.0}, "tolerance must lie between"),
        ({"torque": [1.0]}, r"torque must be None, 2 numbers, .* got shape \(1,\)"),
        ({"torque": "all"}, "torque must hold real numbers"),
        ({"torque": kd.TorqueHistory([0.0], [[1.0]])}, "the history has 1 torques .* 2 speeds"),
        ({"torque": kd.PDControl([0.0], 1.0, 1.0)}, "positions of 1 joints, the robot drives 2"),
        ({"torque": kd.PDControl([0.0, 0.0], [1.0] * 3, 1.0)}, "kp must be one number or 2, got 3"),
        ({"wrenches": {"B": [1.0]}}, r"wrenches\['B'\] must be six numbers"),
        ({"wrenches": {"hand": [0.0] * 6}}, "there is no link 'hand'"),
        ({"wrenches": [0.0] * 6}, "wrenches must be a dict"),
        ({"cancel": True}, "cancel must be a function without arguments"),
        ({"progress": "bar"}, "progress must be a function, a bool or None"),
    ],
)
def test_a_wrong_argument_is_named(arm: kd.Dynamics, options: dict, said: str) -> None:
    given = {"q0": START[0], "u0": START[1], **options}
    with pytest.raises(kd.ArgumentError, match=said):
        arm.simulate(1.0, given.pop("q0"), given.pop("u0"), **given)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: kd.TorqueHistory([], []), "times must be a list of at least one time"),
        (lambda: kd.TorqueHistory([0.0, 0.0], [[1], [2]]), "times must increase"),
        (lambda: kd.TorqueHistory([0.0, np.nan], [[1], [2]]), "point 1: its time is nan"),
        (lambda: kd.TorqueHistory(["0"], [[1]]), "times must hold real numbers"),
        (lambda: kd.TorqueHistory([0.0], [["1"]]), "torques must hold real numbers"),
        (lambda: kd.PDControl([0.0], "1", 1.0), "kp must hold real numbers"),
        (lambda: kd.TorqueHistory([0.0, 1.0], [[1.0]]), r"torques must have shape \(2, dof\)"),
        (lambda: kd.TorqueHistory([0.0], [["a"]]), "torques must hold real numbers"),
        (lambda: kd.TorqueHistory([0.0], [[1.0]], "cubic"), "hold must be 'zero' or 'linear'"),
        (lambda: kd.WrenchHistory([0.0], [[1.0]]), r"wrenches must have shape \(1, 6\)"),
        (lambda: kd.PDControl([[0.0]], 1.0, 1.0), "reference must be a Trajectory or one position"),
        (lambda: kd.PDControl([0.0], -1.0, 1.0), "kp must be a number .*, none negative"),
        (lambda: kd.ComputedTorque([0.0], 1.0, np.inf), "kd is inf; every entry must be finite"),
    ],
)
def test_a_wrong_input_is_named(make: object, said: str) -> None:
    with pytest.raises(kd.ArgumentError, match=said):
        make()  # type: ignore[operator]


def test_computed_torque_needs_all_joints_to_be_driven() -> None:
    robot = kd.load(robot_path("ur5_robot"), base="floating")
    q0 = np.array([0.0] * 6 + [1.0] + [0.0] * 6)
    with pytest.raises(kd.ArgumentError, match=r"'base\.vx' is one of a free joint"):
        robot.simulate(1.0, q0, np.zeros(12), kd.ComputedTorque(np.zeros(6)))


def test_a_quaternion_must_be_a_unit() -> None:
    robot = kd.load(robot_path("ur5_robot"), base="floating")
    with pytest.raises(kd.ArgumentError, match=r"q0\[3:7\] must be a unit quaternion"):
        robot.simulate(1.0, np.zeros(13), np.zeros(12))


def test_a_robot_without_inertia_is_named() -> None:
    text = PENDULUM.read_text(encoding="utf-8").replace('<mass value="1"/>', '<mass value="0"/>')
    for backend in ("c", "numpy"):
        with pytest.raises(kd.SingularError, match="link 'B'"):
            kd.load(text, backend=backend).simulate(1.0, *START)


@pytest.mark.parametrize("name", ["duration", "step", "output_step", "tolerance", "max_steps"])
def test_a_string_is_no_number(arm: kd.Dynamics, name: str) -> None:
    options = {"duration": 1.0, "q0": START[0], "u0": START[1], name: "1"}
    with pytest.raises(kd.ArgumentError, match=f"{name} must be a positive, finite number"):
        arm.simulate(**options)


def test_strings_are_no_torques(arm: kd.Dynamics) -> None:
    with pytest.raises(kd.ArgumentError, match="torque must hold real numbers"):
        arm.simulate(1.0, *START, ["1", "2"])
    with pytest.raises(kd.ArgumentError, match=r"wrenches\['B'\] must hold real numbers"):
        arm.simulate(1.0, *START, wrenches={"B": ["1"] * 6})


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_what_is_too_large_for_numbers_is_named(backend: str) -> None:
    two = kd.load(PENDULUM, backend=backend)
    with pytest.raises(kd.ArgumentError, match="torque and wrenches at t = 0 s are too large"):
        two.simulate(1.0, *START, [1e308, 0.0])
    with pytest.raises(kd.ArgumentError, match=r"u0\[0\] is 1e\+300, expected less than 1e\+08"):
        two.simulate(1.0, START[0], [1e300, 0.0])
    with pytest.raises(kd.ArgumentError, match=r"q0\[1\] is -1e\+13, expected less than 1e\+12"):
        two.simulate(1.0, [0.0, -1e13], START[1])


def test_adaptive_steps_are_fewer_by_default() -> None:
    most = {
        method: Request(1.0, *START, method=method).max_steps
        for method in ("euler", "rk4", "dop853", "radau")
    }
    assert most == {"euler": 10**9, "rk4": 10**9, "dop853": 10**6, "radau": 10**6}


def test_a_robot_spells_out_the_options_of_a_simulation() -> None:
    face, request = (signature(each).parameters for each in (kd.Dynamics.simulate, Request))
    assert list(face) == ["self", *request, "progress", "cancel"]
    for name, each in request.items():
        assert (face[name].default, face[name].kind) == (each.default, each.kind)
        assert f"{name} : " in kd.Dynamics.simulate.__doc__ or name in ("q0", "u0")
    assert "{options}" not in kd.Dynamics.simulate.__doc__


def test_a_request_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Request(1.0, *START).step = 1.0  # type: ignore[misc]


def test_compiled_code_has_its_constants_from_python() -> None:
    defined = re.findall(r"^#define (\w+) ([-\d.].*)$", compiled.source(), re.MULTILINE)
    assert {name: float(value) for name, value in defined} == {
        name: getattr(home, name) for home, names in compiled.CONSTANTS.items() for name in names
    }
