"""What a node reads: messages, settings, and requests for torques and simulations."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from robot_graph import STANFORD, arm_of
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from test_fuzz import Mutations
from test_fuzz_bytes import good_descriptions, good_states, good_trajectories
from trajectory_msgs.msg import JointTrajectory

from fuzz.targets import Target, outcome
from kane_dynamics.errors import ArgumentError, KaneDynamicsError
from kane_dynamics.ros.faults import Fault
from kane_dynamics.ros.messages.cdr import Malformed, read_string
from kane_dynamics.ros.parameters.settings import TABLE, Settings, checked
from kane_dynamics.ros.robot.model import Model, load_model
from kane_dynamics.ros.services import Services
from kane_dynamics.ros.simulate.requests import request_for
from kane_dynamics.ros.states.joint_state_bytes import read_state
from kane_dynamics.ros.states.joint_states import JointStates
from kane_dynamics.ros.trajectories.commanded import CommandedTable, read_commanded
from kane_dynamics_interfaces.srv import GetDynamics, InverseDynamics, Simulate


@cache
def model() -> Model:
    return load_model(STANFORD.read_text(), Settings(backend="numpy"))


@cache
def states() -> JointStates:
    made = JointStates()
    made.use(model())
    return made


def _beside_rclpy(kind: type, data: bytes) -> Any:
    """The message as the middleware reads it; None if it does not."""
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, UnicodeDecodeError, ValueError, SystemError):
        return None


def _texts(texts: Any) -> list[str]:
    """As C has them, and rclpy with it: up to the first zero."""
    return [text.partition("\0")[0] for text in texts]


def _same(a: Any, b: Any) -> bool:
    return np.asarray(a, float).tobytes() == np.asarray(b, float).tobytes()


# ---------------------------------------------------------------------------------- joint states
def _read_state(data: bytes) -> str:
    try:
        parsed = read_state(data)
    except Malformed as error:
        _refused_in_a_stream(data)
        return outcome(error)
    said = _beside_rclpy(JointState, data)
    if said is not None:
        stamp = said.header.stamp
        assert parsed.stamp == (stamp.sec, stamp.nanosec)
        assert _texts([parsed.frame_id]) == [said.header.frame_id]
        assert _texts(parsed.names) == list(said.name)
        for ours, theirs in (
            (parsed.position, said.position),
            (parsed.velocity, said.velocity),
            (parsed.effort, said.effort),
        ):
            assert _same(ours, theirs), (ours, theirs)
    try:
        states().update(data, 0.0)
    except Fault as error:
        return f"{said is not None} {outcome(error)}"
    for name, position in zip(parsed.names, parsed.position):
        if name in states().names:
            assert states().positions[states().names.index(name)] == position
    return f"{said is not None} taken"


def _refused_in_a_stream(data: bytes) -> None:
    """What is no joint state by itself is none behind others, whose layout is remembered."""
    try:
        states().update(data, 0.0)
    except Fault:
        return
    raise AssertionError("taken for what came before it")


# ---------------------------------------------------------------------------------- trajectories
_FIELDS = ("positions", "velocities", "accelerations", "effort")


def _read_trajectory(data: bytes) -> str:
    try:
        found = read_commanded(data)
    except Fault as error:
        return outcome(error)
    said = _beside_rclpy(JointTrajectory, data)
    if said is not None:
        if isinstance(found, CommandedTable):
            table = found._table
            assert _texts(table.names) == list(said.joint_names)
            times = [(p.time_from_start.sec, p.time_from_start.nanosec) for p in said.points]
            assert table.durations.tolist() == [list(each) for each in times]
            for name in _FIELDS:
                for k, point in enumerate(said.points):
                    assert _same(table.fields[name][k], getattr(point, name))
        else:
            message = found._message
            assert _texts(message.joint_names) == list(said.joint_names)
            assert len(message.points) == len(said.points)
            for ours, theirs in zip(message.points, said.points):
                assert ours.time_from_start == theirs.time_from_start
                for name in _FIELDS:
                    assert _same(getattr(ours, name), getattr(theirs, name))
    try:
        found.points(model(), 100)
    except (Fault, KaneDynamicsError) as error:
        return f"{type(found).__name__} {said is not None} {outcome(error)}"
    return f"{type(found).__name__} {said is not None} taken"


def _read_text(data: bytes) -> str:
    try:
        found = read_string(data)
    except Malformed as error:
        return outcome(error)
    said = _beside_rclpy(String, data)
    if said is not None:
        assert _texts([found]) == [said.data]
    return f"{said is not None}"


# -------------------------------------------------------------------------------------- settings
def _set(data: bytes) -> str:
    """A value for a parameter, made of the bytes."""
    draw = random.Random(data)
    name = draw.choice(sorted(TABLE))
    value = _value(draw, TABLE[name].default)
    try:
        made = checked(name, value)
    except ArgumentError as error:
        assert name in str(error), error  # noqa: PT017
        return outcome(error)
    settings = replace(Settings(), **{name: made})
    row = TABLE[name]
    if row.range is not None:
        for each in made if isinstance(made, tuple) else (made,):
            assert row.range[0] <= each <= row.range[1], (name, value)
    assert checked(name, getattr(settings, name)) == made
    return f"{name} is set"


def _value(draw: random.Random, default: Any) -> Any:
    words = ("", "0", "nan", "auto", "hold", "a=1", "=", "a=", "a=b=c", "Ω", " ", "a:1", "x" * 999)
    single = (
        lambda: draw.choice((0, 1, -1, 2**31, 2**63 - 1, -(2**63), 10**6)),
        lambda: draw.choice((0.0, -0.0, 1e308, -1e308, np.nan, np.inf, -np.inf, 5e-324, 0.5)),
        lambda: draw.choice(words),
        lambda: draw.random() < 0.5,
        lambda: draw.uniform(-10.0, 10.0),
        lambda: None,
        lambda: default,
        lambda: bytes(3),
    )
    one = draw.choice(single)
    if draw.random() < 0.4:
        return [
            draw.choice(single if draw.random() < 0.2 else (one,))()
            for _ in range(draw.randrange(9))
        ]
    return one()


# -------------------------------------------------------------------------------------- requests
def _ask(data: bytes) -> str:
    """A request made of the bytes, and its answer."""
    make = Mutations()
    make.random = random.Random(data)
    kind = make.random.randrange(3)
    if kind == 0:
        return _simulate(make.simulation())
    node = _node()
    if kind == 1:
        request = InverseDynamics.Request(trajectory=make.trajectory())
        given = deserialize_message(serialize_message(request), InverseDynamics.Request)
        answer = node.services._answer(node.services._torques, request, InverseDynamics.Response())
        if answer.success:
            _check_torques(given, answer)
    else:
        request = GetDynamics.Request(state=make.state())
        answer = node.services._answer(node.services._equations, request, GetDynamics.Response())
        if answer.success:
            q = np.array(answer.state.position)
            np.testing.assert_allclose(answer.gravity, _arm().gravity(q), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(answer.mass_matrix, _arm().mass_matrix(q).ravel())
    assert answer.success or answer.message, "refused without a sentence"
    return (
        f"{kind} {answer.success} {outcome(ValueError(answer.message)) if answer.message else ''}"
    )


def _simulate(request: Simulate.Request) -> str:
    try:
        made = request_for(request, model(), Settings(), states())
    except (Fault, KaneDynamicsError) as error:
        return f"simulation: {outcome(error)}"
    assert np.isfinite(made.duration)
    assert made.step > 0.0
    assert made.output_step > 0.0
    assert np.isfinite(made.q0).all()
    assert np.isfinite(made.u0).all()
    return "simulation"


def _check_torques(given: InverseDynamics.Request, answer: InverseDynamics.Response) -> None:
    """Where all is given, the efforts are those of the model."""
    names = list(given.trajectory.joint_names)
    if answer.message or sorted(names) != sorted(_arm().joint_names):
        return
    order = [names.index(name) for name in _arm().joint_names]
    for asked, answered in zip(given.trajectory.points, answer.trajectory.points):
        motion = [np.array(getattr(asked, name)) for name in _FIELDS[:3]]
        if all(len(each) == len(order) for each in motion):
            expected = _arm().inverse_dynamics(*(each[order] for each in motion))
            found = np.array(answered.effort)[order]
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@cache
def _arm() -> Any:
    return arm_of(STANFORD, backend="numpy", cache=False)


@cache
def _node() -> Any:
    """What services ask of a node."""
    known = states()
    known.update(good_states()[0], 0.0)
    node = SimpleNamespace(
        model=model(),
        states=known,
        parameters=SimpleNamespace(values=Settings()),
        faults=SimpleNamespace(record=lambda fault: None),
    )
    node.beside = SimpleNamespace(create_service=lambda *_: None, swapping=_Nothing())
    node.services = Services(node)
    return node


class _Nothing:
    """What is entered and left without consequence."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


TARGETS = {
    "joint_states": Target(_read_state, good_states),
    "joint_trajectory": Target(_read_trajectory, good_trajectories),
    "robot_description": Target(_read_text, good_descriptions),
    "parameters": Target(_set, lambda: [b"parameters"]),
    "requests": Target(_ask, lambda: [b"requests"]),
}
