"""Where a robot is that nobody sees."""

import numpy as np
import pytest
from hardware.robots import PANDA
from robot_graph import STANFORD

from kane_dynamics.ros.commands.friction import Friction
from kane_dynamics.ros.commands.reckoning import Reckoning
from kane_dynamics.ros.commands.trust import Seen
from kane_dynamics.ros.messages.stamps import SECOND
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model, load_model

TICK = SECOND // 200
BEGIN = 10 * SECOND


def with_friction(text: str) -> str:
    return text.replace("<limit ", '<dynamics damping="1.0" friction="0.5"/><limit ')


ROBOTS = {
    "panda": (PANDA.urdf.read_text(), Settings(joints=tuple(PANDA.joints))),
    "stanford": (STANFORD.read_text(), Settings()),
    "rough": (with_friction(STANFORD.read_text()), Settings()),
}


class Models(dict[str, Model]):
    """Of the robots, each loaded when it is first asked for."""

    def __missing__(self, name: str) -> Model:
        self[name] = load_model(*ROBOTS[name])
        return self[name]


MODELS = Models()


def pushed_about(model: Model, seconds: float) -> tuple[Reckoning, Seen, np.ndarray, np.ndarray]:
    """A robot under other torques every tick: its reckoning, its beginning and its true end."""
    random = np.random.default_rng(1983)
    count = len(model.joint_names)
    q, u = random.uniform(-0.5, 0.5, count), random.uniform(-0.5, 0.5, count)
    seen = Seen(q, u, np.full(count, BEGIN))
    ticks = round(seconds * SECOND) // TICK
    weights = np.diagonal(model.mass_matrix(q))
    torques = model.gravity(q) + 3.0 * weights * random.uniform(-1.0, 1.0, (ticks, count))
    reckoning = Reckoning(model, Friction(model))
    for k, row in enumerate(torques):
        reckoning.commanded(row, BEGIN + k * TICK)
    motion = model.dynamics.simulate(
        seconds,
        q,
        u,
        torque=lambda t, q, u: torques[min(int(t * SECOND / TICK + 1e-6), ticks - 1)],
        step=2.5e-4,
    )
    return reckoning, seen, motion.q[-1], motion.u[-1]


@pytest.mark.parametrize("name", ROBOTS)
def test_the_model_moves_on_as_the_robot_does(name: str) -> None:
    model = MODELS[name]
    reckoning, seen, q, u = pushed_about(model, 0.3)
    moved = np.abs(q - seen.positions).max()
    assert moved > 0.05
    positions, velocities = reckoning.at(seen, BEGIN + 3 * SECOND // 10)
    assert np.abs(positions - q).max() < 0.01 * moved
    assert np.abs(velocities - u).max() < 0.01 * np.abs(u).max()


def test_asked_often_it_is_where_it_is_when_asked_once() -> None:
    once, seen, _, _ = pushed_about(MODELS["panda"], 0.2)
    often, _, _, _ = pushed_about(MODELS["panda"], 0.2)
    end = BEGIN + SECOND // 5
    for now in range(BEGIN, end, 1_700_000):
        often.at(seen, now)
    there, then = once.at(seen, end), often.at(seen, end)
    np.testing.assert_allclose(there, then, atol=1e-3)


def test_another_state_begins_anew_and_what_was_not_commanded_moves_nothing() -> None:
    reckoning, seen, _, _ = pushed_about(MODELS["panda"], 0.1)
    reckoning.at(seen, BEGIN + SECOND // 10)
    other = Seen(seen.positions + 0.1, seen.velocities, seen.times)
    positions, _ = reckoning.at(other, BEGIN)
    np.testing.assert_array_equal(positions, other.positions)
    positions, velocities = Reckoning(MODELS["panda"], Friction(MODELS["panda"])).at(
        seen, BEGIN + SECOND
    )
    np.testing.assert_array_equal((positions, velocities), seen[:2])


def test_a_robot_that_runs_away_is_not_followed_to_infinity() -> None:
    model = MODELS["panda"]
    reckoning, seen, _, _ = pushed_about(model, 0.1)
    reckoning.commanded(1e6 * model.effort_limits, BEGIN + SECOND // 10)
    positions, velocities = reckoning.at(seen, BEGIN + 5 * SECOND)
    assert np.isfinite((positions, velocities)).all()
