"""The integral of feedback: it makes up for lasting errors, and does not wind up."""

import numpy as np
import pytest
from robot_graph import limited_arm

from kane_dynamics.ros.commands.law import ControlLaw, Gains
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model, load_model
from kane_dynamics.simulation.trajectory import Sample

LIMIT = 50.0
NONE = np.zeros(2)
HERE = np.array([0.3, 0.4])
GAINS = Gains(NONE, NONE, np.array([100.0, 100.0]), False, (NONE, NONE, NONE))


@pytest.fixture(scope="module")
def arm() -> Model:
    return load_model(limited_arm(effort=LIMIT), Settings(backend="numpy"))


def wound(
    law: ControlLaw, error: list[float], seconds: float, saturation: np.ndarray = NONE
) -> None:
    """Have an error last for a while."""
    wanted = Sample(HERE + error, NONE, NONE)
    for _ in range(round(seconds / 0.01)):
        law.integrate(wanted, HERE, GAINS, 0.01, saturation)


def test_a_lasting_error_is_made_up_for(arm: Model) -> None:
    law = ControlLaw(arm)
    wound(law, [0.1, -0.05], 1.0)
    np.testing.assert_allclose(law.integral, [10.0, -5.0], rtol=1e-9)


def test_it_never_gives_more_than_half_the_effort_limit(arm: Model) -> None:
    law = ControlLaw(arm)
    wound(law, [1.0, -1.0], 60.0)
    np.testing.assert_allclose(law.integral, [0.5 * LIMIT, -0.5 * LIMIT])


def test_at_the_effort_limit_it_grows_no_more_but_comes_back(arm: Model) -> None:
    law = ControlLaw(arm)
    lacking = np.array([3.0, 0.0])  # torque of the first joint that could not be commanded
    wound(law, [0.1, 0.1], 1.0, lacking)
    np.testing.assert_allclose(law.integral, [0.0, 10.0], rtol=1e-9)
    wound(law, [-0.1, 0.0], 0.5, lacking)
    np.testing.assert_allclose(law.integral, [-5.0, 10.0], rtol=1e-9)
