"""Effort commands for loops that are closed in MuJoCo by equality constraints, motors only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hardware.robots import TIMES
from linkages import FIVE_BAR, FIVE_BAR_LOOP
from test_commander_on_mechanism import MS, Rig, Wish

import kane_dynamics as kd
from kane_dynamics.errors import ArgumentError
from kane_dynamics.ros.commands.commander import Commander
from kane_dynamics.ros.commands.state import State
from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import load_model
from kane_dynamics.simulation.trajectory import Trajectory, trajectory_through

URDF = Path(__file__).parents[2] / "urdf"
TIP = "{link1: fore1, link2: fore2, at1: [0.5, 0, 0], at2: [0.5, 0, 0]}"
STEPS = np.array([[0.0, 0.0], [0.3, -0.2], [0.2, 0.3], [-0.3, 0.1], [0.1, 0.1]])
PINS = {
    side: [(f"{side}_finger", (0.02, y, 0)), (f"{side}_follower", (0.05, 0, 0))]
    for side, y in (("left", -0.01), ("right", 0.01))
}


def five_bar(place: Path, motion: bool = True, text: str = FIVE_BAR, **options: Any) -> Rig:
    """The parallel robot in a vertical plane, on the way of its motors through some points."""
    file = place / "five_bar.yaml"
    file.write_text(f"tip: {{kind: loop, {TIP[1:]}")
    robot = kd.load(FIVE_BAR, constraints=[FIVE_BAR_LOOP], actuated=["m1", "m2"])
    given = {"constraints": str(file), "actuated": ("m1", "m2"), "gravity": (0.0, -9.81, 0.0)}
    ties = {"motors": ["m1", "m2"], "pins": [[("fore1", (0.5, 0, 0)), ("fore2", (0.5, 0, 0))]]}
    return rig(
        text, robot.assemble([2.0, -1.0, 1.0, 1.0]), [0, 2], STEPS, given, ties, motion, options
    )


def gripper(motion: bool = True, **options: Any) -> Rig:
    robot = kd.load(URDF / "parallel_gripper.urdf")
    signs = [
        (-1 if "right" in name else 1) * (-1 if "finger" in name else 1)
        for name in robot.joint_names
    ]
    motor = robot.joint_names.index("left_driver")
    given = {
        "constraints": str(URDF / "parallel_gripper.yaml"),
        "actuated": ("left_driver",),
        "gravity": (9.81, 0.0, 0.0),
    }
    ties = {
        "motors": ["left_driver"],
        "pins": list(PINS.values()),
        "gears": [("left_driver", "right_driver", -1.0)],
    }
    text = (URDF / "parallel_gripper.urdf").read_text()
    return rig(text, 0.6 * np.array(signs), [motor], STEPS[:, :1], given, ties, motion, options)


def rig(
    text: str,
    q: Any,
    motors: list[int],
    steps: Any,
    given: Any,
    ties: Any,
    motion: bool,
    options: Any,
) -> Rig:
    model = load_model(text, Settings(**given))
    part, times = trajectory_through(TIMES, q[motors] + steps), np.linspace(0.0, TIMES[-1], 301)
    states = model.completed(part.sample(times), np.array(motors), q, times)
    whole = Trajectory(times, *states) if motion else None
    joints = model.joint_names
    return Rig(text, joints, q, motion=whole, hardware=ties, **given, **options)


@pytest.mark.parametrize("control", ["computed_torque", "pd"])
@pytest.mark.parametrize("robot", [five_bar, gripper])
def test_motors_hold_a_loop_and_lead_it_along_its_way(
    robot: Any, control: str, tmp_path: Path
) -> None:
    options = {} if robot is gripper else {"place": tmp_path}
    driven = robot(control=control, **options)
    begin = driven.arm.position.copy()
    driven.run(0.5)
    assert np.abs(driven.arm.position - begin).max() <= 1e-6
    driven.run(TIMES[-1] + 0.5)
    assert driven.commander.state is State.HOLDING
    assert not driven.commander.tripped
    assert driven.wish.worst <= 1e-4
    assert (
        np.abs(driven.arm.position - driven.wish.motion.sample(TIMES[-1]).positions).max() <= 1e-6
    )


def test_gains_that_are_given_are_those_of_motors(tmp_path: Path) -> None:
    driven = five_bar(tmp_path, control="pd", kp=(50.0,), kd=(5.0,))
    driven.run(0.5 + TIMES[-1] + 0.5)
    assert not driven.commander.tripped
    assert driven.wish.worst <= 1e-3
    assert driven.commander.saturation == ""


def test_a_loop_is_braked_by_its_motors_on_its_way(tmp_path: Path) -> None:
    driven = five_bar(tmp_path)
    driven.run(0.9)
    assert np.abs(driven.arm.velocity).max() > 1.0
    driven.commander.stop(driven.now)
    driven.run(1.0)
    assert driven.commander.state is State.HOLDING
    assert np.abs(driven.arm.velocity).max() <= 1e-3


def test_a_loop_that_nobody_sees_is_braked_within_the_efforts_of_its_motors(tmp_path: Path) -> None:
    limit = '<limit effort="40" velocity="6"/></joint>'
    text = FIVE_BAR.replace('<axis xyz="0 0 1"/></joint>', f'<axis xyz="0 0 1"/>{limit}')
    driven = five_bar(tmp_path, text=text)
    driven.run(0.9)
    assert np.abs(driven.arm.velocity).max() > 1.0
    driven.lose_states()
    most, slowest = 0.0, np.inf
    for _ in range(100):
        driven.run(0.01)
        most = max(most, float(np.abs(driven.arm.effort).max()))
        slowest = min(slowest, float(np.abs(driven.arm.velocity).max()))
    assert driven.commander.tripped
    assert most <= 40.0
    assert slowest <= 0.1  # without friction no constant torque holds it upright for long


def test_a_pushed_loop_that_floats_comes_to_rest(tmp_path: Path) -> None:
    driven = five_bar(tmp_path, motion=False, float_damping=(3.0,))
    driven.run(0.2)
    assert driven.commander.state is State.FLOATING
    driven.arm.push("fore1", (20.0, 10.0, 0.0), 0.1, (0.5, 0.0, 0.0))
    driven.run(0.1)
    assert np.abs(driven.arm.velocity).max() > 0.3
    driven.run(3.0)
    assert np.abs(driven.arm.velocity).max() <= 0.01


def test_what_motors_cannot_move_is_not_commanded(tmp_path: Path) -> None:
    file = tmp_path / "five_bar.yaml"
    file.write_text(f"tip: {{kind: loop, {TIP[1:]}")
    settings = Settings(constraints=str(file), actuated=("m1",))
    model = load_model(FIVE_BAR, settings).commanded
    robot = kd.load(FIVE_BAR, constraints=[FIVE_BAR_LOOP])
    q = robot.assemble([2.0, -1.0, 1.0, 1.0])
    with pytest.raises(
        ArgumentError, match=r"nothing drives joint '..' here: the actuated joints are m1"
    ):
        model.check_driven(q)
    with pytest.raises(ArgumentError, match="violate constraint 'tip' by 0"):
        model.check_driven(q + np.array([0.2, 0.0, 0.0, 0.0]))


def test_no_callback_has_to_compile_anything(tmp_path: Path) -> None:
    file, cache = tmp_path / "five_bar.yaml", tmp_path / "cache"
    file.write_text(f"tip: {{kind: loop, {TIP[1:]}")
    given = Settings(constraints=str(file), actuated=("m1", "m2"), cache_dir=str(cache))
    model = load_model(FIVE_BAR, given)
    compiled = sorted(cache.rglob("*"))
    q = model.dynamics.assemble([2.0, -1.0, 1.0, 1.0])  # the one that no callback asks
    compiled_since = set(cache.rglob("*")) - set(compiled)
    model.commanded.check_driven(q)
    Commander(model.commanded, given, lambda now: None)
    times = np.linspace(0.0, 1.0, 11)
    part = trajectory_through(np.array([0.0, 1.0]), q[[0, 2]] + np.array([[0.0, 0.0], [0.1, 0.1]]))
    states = model.completed(part.sample(times), np.array([0, 2]), q, times)
    model.efforts(*states)
    model.gravity(q)
    for of in (states, [each[0] for each in states]):
        model.commanded.rigid_efforts(*of)
    model.commanded.mass_matrix(q)
    assert compiled
    assert set(cache.rglob("*")) - set(compiled) == compiled_since


def test_wheels_carry_a_base_and_its_arm_along_their_way() -> None:
    motors = ("left_wheel", "right_wheel", "shoulder", "elbow")
    file = URDF / "mobile_manipulator.yaml"
    given = Settings(constraints=str(file), actuated=motors, idle="hold")
    model = load_model((URDF / "mobile_manipulator.urdf").read_text(), given)
    joints, q, u = np.flatnonzero(model.actuated), np.zeros(7), np.zeros(7)
    points = q[joints] + np.array([[0, 0, 0, 0], [1.0, 1.5, 0.2, 0.1], [2.0, 2.2, -0.1, 0.1]])
    times = np.linspace(0.0, 0.8, 81)
    part = trajectory_through(np.array([0.0, 0.4, 0.8]), points)
    states = model.completed(part.sample(times), joints, q, times)
    now = 1000 * SECOND
    wish = Wish(Trajectory(times, *states), now + SECOND // 2)
    due = lambda t: wish if wish.begin <= t <= wish.end else None  # noqa: E731
    commander = Commander(model.commanded, given, due)
    commander.enable(Seen(q, u, np.full(7, now)), now)
    efforts, h = model.commanded.gravity(q), MS / SECOND
    for k in range(1600):
        came = commander.step(Seen(q, u, np.full(7, now)), now + MS // 2) if k % 2 == 0 else None
        middle = u + 0.5 * h * model.dynamics.forward_dynamics(q, u, efforts)
        after = model.dynamics.forward_dynamics(q + 0.5 * h * u, middle, efforts)
        q, u = q + h * middle, u + h * after
        efforts = efforts if came is None else came
        now += MS
    assert commander.state is State.HOLDING
    assert not commander.tripped
    assert wish.worst <= 1e-3
    assert np.abs(q - states.positions[-1])[joints].max() <= 1e-4
    assert np.abs(q - states.positions[-1]).max() <= 1e-3, "the base has come along"
