"""The commander and an arm in MuJoCo under one clock, which passes as fast as they compute."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hardware.mechanism import Mechanism
from hardware.robots import PANDA, TIMES
from hardware.settings import Settings as Hardware

from kane_dynamics.ros.commands.commander import Commander
from kane_dynamics.ros.commands.state import State
from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import load_model
from kane_dynamics.ros.trajectories.verdicts import Code, Verdict
from kane_dynamics.simulation.trajectory import Trajectory

MS = SECOND // 1000
FRICTION = {"viscous": 1.0, "dry": 0.5}


class Wish:
    """A motion that is due at a time."""

    observer, trips = None, True

    def __init__(self, motion: Trajectory, begin: int) -> None:
        self.motion, self.begin = motion, begin
        self.end = begin + round(motion.end * SECOND)
        self.withdrawn = self.followed = False
        self.worst = 0.0

    def at(self, now: int) -> Any:
        return self.motion.sample((now - self.begin) / SECOND)

    def judged(self, now: int, wanted: Any, positions: Any, velocities: Any) -> Verdict | None:
        self.worst = max(self.worst, float(np.abs(wanted.positions - positions).max()))
        return Verdict(Code.SUCCESSFUL) if now > self.end else None

    def over(self, sentence: str) -> None:
        """Nobody waits."""


class Rig:
    """An arm and its commander; each joint is heard of every so many ms."""

    def __init__(
        self,
        urdf: Path | str,
        joints: Sequence[str],
        initial: Sequence[float],
        every: int | Sequence[int] = 2,
        motion: Trajectory | None = None,
        hardware: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        given = Settings(joints=tuple(joints), **settings)
        text = urdf.read_text() if isinstance(urdf, Path) else urdf
        self.model, self.now = load_model(text, given).commanded, 1000 * SECOND
        self.wish = Wish(motion, self.now + SECOND // 2) if motion else None
        self.commander = Commander(self.model, given, self._due)
        self.arm = Mechanism(
            Hardware(
                urdf=text,
                joints=list(joints),
                initial=list(initial),
                braked=False,
                gravity=given.gravity,
                **(hardware or {}),
            )
        )
        self._every = np.broadcast_to(every, len(joints))
        self._tick = 0
        self._q, self._v = self.arm.position.copy(), self.arm.velocity.copy()
        self._times = np.full(len(joints), self.now)
        self.commander.enable(self._seen(), self.now)
        self._command(self.model.gravity(self._q))
        self.fastest = np.zeros(len(joints))

    def _due(self, now: int) -> Wish | None:
        wish = self.wish
        return wish if wish is not None and wish.begin <= now <= wish.end else None

    def _command(self, efforts: Any) -> None:
        self.arm.command(efforts[self.model.actuated])

    def _seen(self) -> Seen:
        return Seen(self._q.copy(), self._v.copy(), self._times.copy())

    def run(self, seconds: float) -> None:
        """Let time pass; commands take a millisecond to the arm."""
        for _ in range(round(1000 * seconds)):
            command = None
            new = self._tick % self._every == 0
            if new.any():
                self._q[new], self._v[new] = self.arm.position[new], self.arm.velocity[new]
                self._times[new] = self.now
                command = self.commander.step(self._seen(), self.now + MS // 2)
            elif self._tick % 5 == 0:
                command = self.commander.tick(self.now + MS // 2)
            self.arm.tick()
            self.fastest = np.maximum(self.fastest, np.abs(self.arm.velocity))
            if command is not None:
                self._command(command)
            self.now, self._tick = self.now + MS, self._tick + 1

    def lose_states(self) -> None:
        """Hear of no joint any more."""
        self._every = np.full(len(self._times), np.iinfo(np.int64).max)
        self._tick = max(self._tick, 1)

    def assert_rests(self) -> None:
        assert (self.fastest <= 1.2 * self.model.velocity_limits).all()
        assert np.abs(self.arm.velocity).max() <= 0.06


def panda(**options: Any) -> Rig:
    return Rig(PANDA.urdf, PANDA.joints, PANDA.initial, **options)


@pytest.mark.parametrize("every", [[2] + [20] * 6, [2] * 3 + [20] * 4, [20] * 6 + [2]])
def test_joints_that_are_heard_of_at_different_rates_are_held(every: list[int]) -> None:
    rig = panda(every=every, idle="hold")
    rig.run(0.3)
    rig.arm.push("panda_hand", (0.0, 20.0, 0.0), 0.1, (0.0, 0.0, 0.0))
    rig.run(2.5)
    assert rig.commander.state is State.HOLDING
    rig.assert_rests()


def test_joints_that_are_heard_of_at_different_rates_follow() -> None:
    rig = panda(every=[2] + [20] * 6, motion=PANDA.motion)
    rig.run(0.5 + TIMES[-1] + 2.0)
    assert not rig.commander.tripped
    assert rig.commander.state is State.HOLDING
    rig.assert_rests()


@pytest.mark.parametrize("every", [50, 100, 150])
def test_an_arm_that_is_seldom_heard_of_comes_to_rest_after_a_push(every: int) -> None:
    rig = panda(every=every, idle="hold")
    rig.run(0.5)
    rig.arm.push("panda_hand", (0.0, 10.0, 0.0), 0.1, (0.0, 0.0, 0.0))
    rig.run(5.0)
    rig.assert_rests()


def test_an_arm_with_much_friction_in_its_urdf_follows(tmp_path: Path) -> None:
    """A joint with little inertia must not be driven by the friction of the speed that it had."""
    bare = re.sub(r"<dynamics[^>]*/>", "", PANDA.urdf.read_text())
    text = bare.replace("<limit ", '<dynamics damping="5" friction="1"/><limit ')
    path = tmp_path / "rough.urdf"
    path.write_text(text)
    rig = Rig(path, PANDA.joints, PANDA.initial, motion=PANDA.motion)
    rig.run(0.5 + TIMES[-1] + 0.5)
    assert rig.wish is not None
    assert rig.wish.worst <= 5e-3
    assert rig.commander.state is State.HOLDING


@pytest.mark.parametrize("hardware", [{}, FRICTION], ids=["smooth", "rough"])
def test_an_arm_that_is_switched_off_in_motion_stays_where_it_is_left(
    hardware: dict[str, float],
) -> None:
    """What friction has taught the integral in motion must not move the arm afterwards."""
    rig = panda(motion=PANDA.motion, hardware=hardware)
    rig.run(1.7)
    rig.commander.disable(rig.now)
    for _ in range(40):
        rig.run(0.1)
        if rig.commander.state is State.CLOSED:
            break
    assert rig.commander.state is State.CLOSED
    left = rig.arm.position.copy()
    rig.run(3.0 if hardware else 0.3)  # without friction nothing stays for long
    assert np.abs(rig.arm.position - left).max() <= 0.01


@pytest.mark.parametrize("given", [{"kp": (1e6,)}, {"kd": (5000.0,)}, {"kp": (1e9,), "kd": (1e9,)}])
def test_gains_that_are_too_high_trip_and_do_not_brake(given: dict[str, Any]) -> None:
    rig = panda(idle="hold", **given)
    rig.run(0.2)
    rig.arm.push("panda_hand", (0.0, 20.0, 0.0), 0.1, (0.0, 0.0, 0.0))
    rig.run(6.0)
    assert rig.commander.tripped
    assert np.abs(rig.arm.velocity).max() <= 0.06


@pytest.mark.parametrize("control", ["computed_torque", "pd"])
def test_a_trajectory_that_begins_near_the_arm_is_joined_without_a_step(control: str) -> None:
    off = np.array([0.09, -0.05, 0.0, 0.09, -0.09, 0.0, 0.09])
    rig = Rig(PANDA.urdf, PANDA.joints, PANDA.initial - off, motion=PANDA.motion, control=control)
    rig.run(0.5)
    before, most = rig.arm.effort.copy(), np.zeros(7)
    for _ in range(200):
        rig.run(0.002)
        most = np.maximum(most, np.abs(rig.arm.effort - before))
    along = PANDA.motion.sample(np.linspace(0.0, 0.4, 201))
    needed = np.abs(rig.model.efforts(*along) - before).max(axis=0)
    assert (most <= needed + 0.1 * rig.model.effort_limits).all()
    assert (
        rig.fastest <= np.abs(along.velocities).max(axis=0) + 0.25 * rig.model.usual_speeds
    ).all()
    rig.run(TIMES[-1] + 0.1)
    assert not rig.commander.tripped
    assert np.abs(rig.arm.position - PANDA.points[-1]).max() <= 2e-3


@pytest.mark.parametrize(("joint", "where", "speed"), [(5, 3.4, 1.5), (3, -2.8, -1.5)])
def test_a_floating_arm_that_is_flung_at_a_stop_does_not_reach_it(
    joint: int, where: float, speed: float
) -> None:
    begin = np.array(PANDA.initial)
    begin[joint] = where
    rig = Rig(PANDA.urdf, PANDA.joints, begin)
    rig.run(0.1)
    rig.arm._qvel[rig.arm._order[joint]] = speed
    limits, reached = rig.model.dynamics.limits, []
    for _ in range(150):
        rig.run(0.01)
        reached.append(rig.arm.position.copy())
    assert (np.array(reached) <= limits.upper).all()
    assert (np.array(reached) >= limits.lower).all()
    assert abs(reached[-1][joint] - where) > 0.1, "it was flung"


def test_friction_of_joints_is_learnt_while_they_move() -> None:
    rig = panda(motion=PANDA.motion, hardware=FRICTION)
    rig.run(0.5 + TIMES[-1])
    learnt = rig.commander._unseen.friction
    np.testing.assert_allclose(learnt.viscous, FRICTION["viscous"], atol=0.1)
    np.testing.assert_allclose(learnt.dry, FRICTION["dry"], atol=0.05)
    smooth = panda(motion=PANDA.motion)
    smooth.run(0.5 + TIMES[-1])
    learnt = smooth.commander._unseen.friction
    assert np.abs([learnt.viscous, learnt.dry]).max() <= 0.01


@pytest.mark.parametrize("after", [0.1, 0.2, 1.2, 2.5])
@pytest.mark.parametrize("hardware", [FRICTION, {"dry": 0.2}])
def test_an_arm_with_friction_that_nobody_sees_any_more_is_braked_and_stays(
    hardware: dict[str, float], after: float
) -> None:
    """The URDF does not know of the friction: the arm has shown it in the motion until then."""
    rig = panda(motion=PANDA.motion, hardware=hardware)
    rig.run(0.5 + after)
    rig.lose_states()
    rig.run(0.4)
    assert rig.commander.state is State.NOTHING
    left = rig.arm.position.copy()
    rig.run(3.0)
    assert np.abs(rig.arm.position - left).max() <= 0.02
    rig.assert_rests()
